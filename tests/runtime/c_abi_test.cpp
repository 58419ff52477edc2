// The C interface as its users see it: nothing but isomer.h, and the example of docs/ as a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <isomer/isomer.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "runtime/artifact_file.h"
#include "runtime/plan_builder.h"
#include "support/files.h"
#include "support/process.h"

namespace isomer::runtime::test {
namespace {

using isomer::test::run_program;
using isomer::test::ScratchFolder;
using isomer::test::tool_path;
using testing::ElementsAre;
using testing::HasSubstr;

class CInterface : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_artifact(sums({8, 20}), path_).ok());
    ASSERT_EQ(isomer_model_open(path_.c_str(), &model_), ISOMER_OK) << isomer_last_error();
    const isomer_binding binding = {"n", 8};
    const isomer_options options = {1, &binding, 1};
    ASSERT_EQ(isomer_session_create(model_, &options, &session_), ISOMER_OK) << isomer_last_error();
  }
  void TearDown() override {
    isomer_session_close(session_);
    isomer_model_close(model_);
  }
  isomer_status run(isomer_tensor input, size_t outputs = 1) {
    isomer_tensor output = {};
    return isomer_session_run(session_, &input, 1, &output, outputs);
  }

  ScratchFolder scratch_;
  std::filesystem::path path_ = scratch_.path() / "sums.iso";
  isomer_model* model_ = nullptr;
  isomer_session* session_ = nullptr;
  const int64_t eight_ = 8, nine_ = 9;
  float x_[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
};

TEST_F(CInterface, says_what_a_model_takes_and_gives) {
  size_t count = 0;
  EXPECT_EQ(isomer_model_variant_count(model_, &count), ISOMER_OK);
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(isomer_model_binding_count(model_, 1, &count), ISOMER_OK);
  EXPECT_EQ(count, 1U);
  isomer_binding binding;
  EXPECT_EQ(isomer_model_binding(model_, 1, 0, &binding), ISOMER_OK);
  EXPECT_STREQ(binding.name, "n");
  EXPECT_EQ(binding.value, 20);
  EXPECT_EQ(isomer_session_input_count(session_, &count), ISOMER_OK);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(isomer_session_output_count(session_, &count), ISOMER_OK);
  EXPECT_EQ(count, 1U);
  const char* name = nullptr;
  isomer_tensor tensor;
  EXPECT_EQ(isomer_session_input(session_, 0, &name, &tensor), ISOMER_OK);
  EXPECT_STREQ(name, "x");
  EXPECT_EQ(tensor.dtype, ISOMER_FLOAT32);
  ASSERT_EQ(tensor.rank, 1);
  EXPECT_EQ(tensor.dims[0], 8);
  EXPECT_EQ(isomer_tensor_bytes(&tensor), 32);
  EXPECT_EQ(isomer_session_output(session_, 0, &name, nullptr), ISOMER_OK);
  EXPECT_STREQ(name, "y");
}

TEST_F(CInterface, runs_into_memory_of_the_caller_or_of_the_session) {
  const isomer_tensor input = {ISOMER_FLOAT32, 1, &eight_, x_, ISOMER_CPU, nullptr};
  float y[8] = {};
  isomer_tensor outputs[1] = {{ISOMER_FLOAT32, 1, &eight_, y, ISOMER_CPU, nullptr}};
  ASSERT_EQ(isomer_session_run(session_, &input, 1, outputs, 1), ISOMER_OK) << isomer_last_error();
  EXPECT_THAT(y, ElementsAre(1, 3, 5, 7, 9, 11, 13, 15));
  outputs[0] = {};
  ASSERT_EQ(isomer_session_run(session_, &input, 1, outputs, 1), ISOMER_OK) << isomer_last_error();
  EXPECT_EQ(outputs[0].dtype, ISOMER_FLOAT32);
  EXPECT_EQ(outputs[0].dims[0], 8);
  EXPECT_EQ(static_cast<const float*>(outputs[0].data)[7], 15);
}

TEST_F(CInterface, a_session_outlives_its_model) {
  isomer_model_close(model_);
  model_ = nullptr;
  EXPECT_EQ(run({ISOMER_FLOAT32, 1, &eight_, x_, ISOMER_CPU, nullptr}), ISOMER_OK);
}

TEST_F(CInterface, answers_wrong_calls_with_a_status_and_a_sentence) {
  const auto expect = [](isomer_status status, isomer_status expected, const char* sentence) {
    EXPECT_EQ(status, expected);
    EXPECT_THAT(isomer_last_error(), HasSubstr(sentence));
  };
  isomer_model* model = nullptr;
  expect(isomer_model_open(nullptr, &model), ISOMER_INVALID_ARGUMENT, "path: a pointer expected, NULL found");
  expect(isomer_model_open(path_.c_str(), nullptr), ISOMER_INVALID_ARGUMENT, "model: a pointer expected");
  expect(isomer_model_open("/nowhere", &model), ISOMER_INVALID_FILE, "/nowhere: a readable file expected");
  expect(isomer_artifact_verify("/nowhere"), ISOMER_INVALID_FILE, "/nowhere");
  EXPECT_EQ(isomer_artifact_verify(path_.c_str()), ISOMER_OK);
  isomer_session* session = nullptr;
  expect(isomer_session_create(model_, nullptr, &session), ISOMER_INVALID_ARGUMENT, "one of (n=8; n=20) expected");
  expect(isomer_session_input(session_, 1, nullptr, nullptr), ISOMER_INVALID_ARGUMENT,
         "k: a number below 1 expected, 1 found");
  expect(isomer_session_input_count(nullptr, nullptr), ISOMER_INVALID_ARGUMENT, "session: a pointer");
  const isomer_tensor good = {ISOMER_FLOAT32, 1, &eight_, x_, ISOMER_CPU, nullptr};
  expect(run(good, 0), ISOMER_INVALID_ARGUMENT, "outputs: 1 expected, 0 found");
  expect(isomer_session_run(session_, nullptr, 1, nullptr, 0), ISOMER_INVALID_ARGUMENT, "inputs: a pointer");
  expect(isomer_session_run(session_, nullptr, 0, nullptr, 0), ISOMER_INVALID_ARGUMENT, "inputs: 1 expected, 0 found");
  expect(run({ISOMER_INT64, 1, &eight_, x_, 0, nullptr}), ISOMER_INVALID_ARGUMENT,
         "input 'x': float32[8] expected, int64[8] found");
  expect(run({99, 1, &eight_, x_, 0, nullptr}), ISOMER_INVALID_ARGUMENT, "undefined[8] found");
  expect(run({ISOMER_FLOAT32, 1, &nine_, x_, 0, nullptr}), ISOMER_INVALID_ARGUMENT, "float32[9] found");
  expect(run({ISOMER_FLOAT32, 1, nullptr, x_, 0, nullptr}), ISOMER_INVALID_ARGUMENT, "inputs[0]: a rank and its dims");
  expect(run({ISOMER_FLOAT32, -1, &eight_, x_, 0, nullptr}), ISOMER_INVALID_ARGUMENT, "rank -1 found");
  expect(run({ISOMER_FLOAT32, 1, &eight_, x_, 1, nullptr}), ISOMER_INVALID_ARGUMENT, "a tensor of the CPU");
  expect(run({ISOMER_FLOAT32, 1, &eight_, nullptr, 0, nullptr}), ISOMER_INVALID_ARGUMENT, "a pointer to its elements");
  EXPECT_EQ(run(good), ISOMER_OK);
}

TEST_F(CInterface, says_that_the_file_of_the_weights_has_changed) {
  const isomer_tensor good = {ISOMER_FLOAT32, 1, &eight_, x_, ISOMER_CPU, nullptr};
  const auto expect_refusal = [&] {
    EXPECT_EQ(run(good), ISOMER_RUN_FAILED);
    EXPECT_THAT(isomer_last_error(), HasSubstr("a file that changed while it was in use found"));
  };
  // A new file under the name is none of the session's business.
  const auto kept = scratch_.path() / "kept.iso";
  std::filesystem::copy_file(path_, kept);
  std::filesystem::rename(kept, path_);
  EXPECT_EQ(run(good), ISOMER_OK);

  TearDown();
  SetUp();
  ASSERT_EQ(run(good), ISOMER_OK) << isomer_last_error();
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 8);
  expect_refusal();

  TearDown();
  SetUp();
  const auto later = std::filesystem::last_write_time(path_) + std::chrono::seconds(1);
  std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary).seekp(-8, std::ios::end).write("12345678", 8);
  std::filesystem::last_write_time(path_, later);
  expect_refusal();
}

TEST_F(CInterface, keeps_the_last_error_by_thread) {
  EXPECT_NE(isomer_model_open("/nowhere", nullptr), ISOMER_OK);
  const std::string here = isomer_last_error();
  std::thread([] { EXPECT_STREQ(isomer_last_error(), ""); }).join();
  EXPECT_EQ(isomer_last_error(), here);
  EXPECT_STREQ(isomer_version(), ISOMER_VERSION);
}

TEST_F(CInterface, is_what_the_example_of_the_docs_uses) {
  const std::string program = tool_path("run_artifact");
  auto ran = run_program({program, path_, "n=20"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, "y: type 1, shape [20]: 2 3 4 5 6 7 8 9\n");
  ran = run_program({program, path_, "n=21"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(ran.err, "run_artifact: bindings: one of (n=8; n=20) expected, (n=21) found\n");
}

TEST(Library, shows_nothing_but_its_interface_and_needs_no_compiler) {
  const std::string library = tool_path("").parent_path().parent_path() / "lib/libisomer.so";
  const auto needed = run_program({"ldd", library});
  ASSERT_EQ(needed.exit_code, 0) << needed.err;
  for (const char* heavy : {"LLVM", "protobuf", "z3", "onnx", "sqlite"})
    EXPECT_EQ(needed.out.find(heavy), std::string::npos) << needed.out;
  const auto symbols = run_program({"nm", "-D", "--defined-only", "-f", "posix", library});
  ASSERT_EQ(symbols.exit_code, 0) << symbols.err;
  for (size_t start = 0; start < symbols.out.size(); start = symbols.out.find('\n', start) + 1)
    EXPECT_EQ(symbols.out.substr(start, 7), "isomer_");
}

}  // namespace
}  // namespace isomer::runtime::test
