// Files cut at every offset, with a bit flipped, or changing while they are read.
#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <thread>

#include "graph/onnx/import.h"
#include "hostile/bytes.h"
#include "hostile/case.h"
#include "hostile/command.h"
#include "support/files.h"
#include "support/long_run.h"
#include "util/file.h"
#include "util/random.h"

namespace isomer::test {
namespace {

namespace fs = std::filesystem;

/// Accepted cases of every class, and the smallest real models.
std::vector<std::string> seeds() {
  std::vector<std::string> seeds;
  for (const char* model : {"models/mlp.onnx", "models/gru.onnx"}) seeds.push_back(read_file(source_path(model)));
  for (const char* name :
       {"control_if", "control_scan", "control_loop_0_trips", "control_function", "control_function_without_attribute",
        "size_sparse", "size_strings", "size_type_of_map", "size_int4_odd_count", "size_float16_in_int32_data",
        "graph_training_info", "graph_value_info_of_other_rank", "opset_opaque_with_body", "opset_ml_operator",
        "value_gather_index_beyond", "value_lstm_lengths_beyond", "text_in_graph_escape_sequence",
        "wire_unknown_group"})
    seeds.push_back(read_file(source_path("tests/hostile/files") / (std::string(name) + ".onnx")));
  return seeds;
}

/// Accepted, or refused with a sentence.
void expect_answer(const std::string& bytes, const std::string& what) {
  const auto owner = std::make_shared<const std::string>(bytes);
  try {
    const auto graph = import_model(std::as_bytes(std::span(*owner)), owner);
    EXPECT_TRUE(graph.ok() || !graph.error().what.empty()) << what;
  } catch (const std::exception& bug) {
    ADD_FAILURE() << what << ": " << bug.what();
  }
}

TEST(BrokenFile, CutAtEveryOffsetGetsAnAnswer) {
  int seed = 0;
  for (const std::string& bytes : seeds()) {
    for (size_t size = 0; size < bytes.size(); ++size)
      expect_answer(bytes.substr(0, size), "seed " + std::to_string(seed) + " cut at " + std::to_string(size));
    ++seed;
  }
  EXPECT_GE(seed, 20);
}

TEST(BrokenFile, WithFlippedBitsGetsAnAnswer) {
  Random random(1);
  const std::vector<std::string> all = seeds();
  for (int i = 0; i < (is_long_run() ? 100'000 : 5'000); ++i) {
    const size_t seed = random.below(all.size());
    std::string bytes = all[seed];
    std::string what = "seed " + std::to_string(seed) + " with flipped bits";
    for (uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
      const size_t at = random.below(bytes.size());
      const auto bit = random.below(8);
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      what += " " + std::to_string(at) + "." + std::to_string(bit);
    }
    expect_answer(bytes, what);
  }
}

/// y = Relu(x) and 20,000 more of them: long enough to read that something can happen meanwhile.
std::string long_model() {
  std::string nodes;
  for (int i = 0; i < 20'000; ++i)
    nodes += bytes_field(1, bytes_field(4, "Relu") + bytes_field(1, "x") + bytes_field(2, "v" + std::to_string(i)));
  return from_notation("y = Relu(x: f32[2])") + bytes_field(7, nodes);
}

class Meanwhile {
 public:
  explicit Meanwhile(std::function<void()> step)
      : thread_([this, step = std::move(step)] {
          while (!done_) step();
        }) {}
  ~Meanwhile() {
    done_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

TEST(ChangingFile, ThatShrinksAndGrowsWhileItIsReadGetsAnAnswer) {
  const ScratchFolder scratch;
  const fs::path file = scratch.path() / "model.onnx";
  const std::string bytes = long_model();
  write_file(file, bytes);
  Random random(2);
  const Meanwhile changing([&] {
    const bool grows = random.chance(0.5);
    fs::resize_file(file, grows ? bytes.size() + random.below(100'000) : random.below(bytes.size()));
    usleep(static_cast<useconds_t>(random.below(5'000)));
    write_file(file, bytes);
    usleep(static_cast<useconds_t>(random.below(5'000)));
  });
  for (int i = 0; i < (is_long_run() ? 500 : 25); ++i) {
    const Outcome outcome = run_isomer({"inspect", file.string()});
    EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 3) << outcome.exit_code << ": " << outcome.err;
  }
}

TEST(ChangingFile, ExchangedForALinkIsNeverFollowed) {
  const ScratchFolder scratch;
  const fs::path folder = scratch.path() / "model", weights = folder / "w.bin", secret = scratch.path() / "secret.bin";
  fs::create_directory(folder);
  write_file(secret, "secret");
  write_file(folder / "honest", "honest");
  fs::create_symlink(secret, folder / "link");
  fs::copy_file(folder / "honest", weights);
  const Meanwhile changing([&] {
    fs::copy_symlink(folder / "link", folder / "next");
    fs::rename(folder / "next", weights);
    fs::copy_file(folder / "honest", folder / "next");
    fs::rename(folder / "next", weights);
  });
  const auto opened = Folder::open(folder);
  ASSERT_TRUE(opened.ok());
  int followed = 0, refused = 0;
  // On a busy machine the other thread may not get a turn for long.
  const int enough = is_long_run() ? 100'000 : 10'000;
  for (int i = 0; i < enough || ((followed == 0 || refused == 0) && i < 100 * enough); ++i) {
    const auto file = opened->map_file("w.bin");
    if (!file.ok()) {
      ++refused;
    } else {
      ++followed;
      ASSERT_EQ(static_cast<char>((*file)->bytes().front()), 'h');
    }
  }
  EXPECT_GT(followed, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace isomer::test
