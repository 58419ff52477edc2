// The file of an artifact: what is written comes back, what is damaged is refused with a sentence.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "runtime/artifact_check.h"
#include "runtime/artifact_file.h"
#include "runtime/cpu_features.h"
#include "runtime/plan_builder.h"
#include "runtime/session.h"
#include "support/files.h"
#include "support/long_run.h"
#include "util/random.h"

namespace isomer::runtime::test {
namespace {

using isomer::test::read_file;
using isomer::test::ScratchFolder;
using isomer::test::write_file;
using testing::HasSubstr;

/// Every kind of place and step.
Artifact everything() {
  PlanBuilder plan;
  const auto kInt64 = ElementType::kInt64;
  const int32_t n = plan.input("n", kInt64, {});
  const int32_t y = plan.output("y", kInt64, {1});
  const int32_t z = plan.dynamic_output("z", kInt64, {-1, -1});
  const int32_t counted = plan.dynamic("counted", kInt64, {-1});
  const int32_t row = plan.view(counted, 0, {1, -1});
  const int32_t sum = plan.arena("sum", kInt64, {});
  const int32_t smaller = plan.arena("smaller", ElementType::kBool, {});
  const int32_t two = plan.weight<int64_t>(kInt64, {}, {2});
  const int32_t i = plan.arena("i", kInt64, {});
  return plan.build({
      plan.kernel(entries().less, {n, two, smaller}),
      PlanBuilder::branch({smaller, {{plan.kernel(entries().add_integers, {n, two, sum})}, {}}, {{}, {{n, sum}}}}),
      plan.kernel(entries().count_up, {sum, counted}),
      PlanBuilder::loop({two, -1, i, {{PlanBuilder::copy(n, sum)}, {}}, {{counted, z}}}),
      PlanBuilder::shape(row, plan.arena("shape", kInt64, {2})),
      PlanBuilder::shape(counted, y),
  });
}

/// For a GPU.
Artifact launches() {
  PlanBuilder plan;
  const auto kFloat = ElementType::kFloat32;
  const int32_t x = plan.input("x", kFloat, {8});
  const int32_t y = plan.output("y", kFloat, {8});
  const int32_t sum = plan.arena("sum", kFloat, {8});
  const int32_t rows = plan.dynamic("rows", kFloat, {-1, 8});
  const int32_t two = plan.weight<int64_t>(ElementType::kInt64, {}, {2});
  Artifact artifact = plan.build({
      plan.launch({x, sum}),
      PlanBuilder::loop({two, -1, -1, {{plan.launch({sum, y})}, {}}, {{y, rows}}}),
  });
  artifact.kernels[1].launches.push_back(artifact.kernels[1].launches[0]);
  artifact.kernels[1].launches[0].turns = 5;
  artifact.kernels[1].launches[0].followers = 1;
  artifact.kernels[1].launches[0].shared_bytes = 65536;
  artifact.kernels[1].launches[0].takes_turn = true;
  return artifact;
}

class ArtifactFile : public testing::Test {
 protected:
  std::filesystem::path write(const Artifact& artifact) {
    const auto path = scratch_.path() / "model.iso";
    const auto written = write_artifact(artifact, path);
    EXPECT_TRUE(written.ok()) << written.error().message();
    return path;
  }
  void forge(const Artifact& artifact);
  void change_each_byte(const Artifact& artifact);
  ScratchFolder scratch_;
};

std::string sentence_of(const auto& result) { return result.ok() ? "" : result.error().message(); }

void expect_sentence(const std::string& sentence) {
  EXPECT_FALSE(sentence.empty());
  EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
}

TEST_F(ArtifactFile, holds_what_was_written) {
  for (const Artifact& artifact : {sums({8, 20}), everything(), launches()}) {
    const auto back = read_artifact(write(artifact));
    ASSERT_TRUE(back.ok()) << back.error().message();
    EXPECT_EQ(back->provenance, artifact.provenance);
    EXPECT_EQ(back->code, artifact.code);
    EXPECT_EQ(back->modules, artifact.modules);
    EXPECT_EQ(back->kernels, artifact.kernels);
    EXPECT_EQ(back->variants, artifact.variants);
    ASSERT_EQ(back->weights.size(), artifact.weights.size());
    for (size_t k = 0; k < artifact.weights.size(); ++k) {
      EXPECT_TRUE(std::ranges::equal(back->weights[k], artifact.weights[k]));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(back->weights[k].data()) % kAlignment, 0U);
    }
  }
}

TEST_F(ArtifactFile, has_the_same_bytes_each_time) {
  const std::string first = read_file(write(everything()));
  EXPECT_EQ(read_file(write(everything())), first);
  const auto back = read_artifact(write(everything()));
  const auto copy = scratch_.path() / "copy.iso";
  ASSERT_TRUE(write_artifact(*back, copy).ok());
  EXPECT_EQ(read_file(copy), first);
}

void ArtifactFile::change_each_byte(const Artifact& artifact) {
  const auto path = write(artifact);
  const std::string content = read_file(path);
  Header header;
  std::memcpy(static_cast<void*>(&header), content.data(), sizeof header);
  const size_t weights = content.size() - header.weight_bytes;
  ASSERT_TRUE(verify_weights(path).ok());
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  for (size_t place = 0; place < content.size(); ++place) {
    for (const int change : {0x01, 0x80, 0xff}) {
      const char changed = static_cast<char>(content[place] ^ change);
      ASSERT_EQ(pwrite(fd, &changed, 1, static_cast<off_t>(place)), 1);
      const auto read = read_artifact(path);
      ASSERT_EQ(read.ok(), place >= weights) << place;
      if (!read.ok()) expect_sentence(sentence_of(read));
      const auto verified = verify_weights(path);
      ASSERT_FALSE(verified.ok()) << place;
      expect_sentence(sentence_of(verified));
    }
    ASSERT_EQ(pwrite(fd, &content[place], 1, static_cast<off_t>(place)), 1);
  }
  close(fd);
  EXPECT_TRUE(verify_weights(path).ok());
}

TEST_F(ArtifactFile, with_any_byte_changed_is_refused_or_found_by_verify) {
  change_each_byte(sums({8, 20}));
  change_each_byte(launches());
}

TEST_F(ArtifactFile, names_the_chunk_of_weights_that_changed) {
  PlanBuilder plan;
  plan.weight<float>(ElementType::kFloat32, {1 << 20}, std::vector<float>(1 << 20, 1.0F));
  const auto path = write(plan.build({}));
  std::string content = read_file(path);
  content[content.size() - 5] = 1;
  write_file(path, content);
  ASSERT_TRUE(read_artifact(path).ok());
  EXPECT_THAT(sentence_of(verify_weights(path)), HasSubstr("from byte 3145728 on"));
}

TEST_F(ArtifactFile, cut_short_or_longer_is_refused) {
  const auto path = write(everything());
  const std::string content = read_file(path);
  for (size_t size = 0; size < content.size(); size += size < 300 ? 1 : 61) {
    write_file(path, content.substr(0, size));
    expect_sentence(sentence_of(read_artifact(path)));
  }
  write_file(path, content + "x");
  expect_sentence(sentence_of(read_artifact(path)));
}

TEST_F(ArtifactFile, that_is_none_is_refused) {
  EXPECT_THAT(sentence_of(read_artifact(scratch_.path())), HasSubstr("a folder found"));
  EXPECT_THAT(sentence_of(read_artifact(scratch_.path() / "none")), HasSubstr("No such file"));
  const auto path = scratch_.path() / "model.onnx";
  write_file(path, std::string(4096, 'x'));
  EXPECT_THAT(sentence_of(read_artifact(path)), HasSubstr("an artifact of Isomer expected"));
}

/// The file with another plan and hashes that fit: what only a forger would write.
std::string reseal(std::string content) {
  Header header;
  std::memcpy(static_cast<void*>(&header), content.data(), sizeof header);
  const size_t code = (sizeof header + header.plan_bytes + 63) / 64 * 64;
  header.plan_hash =
      Hasher().add(std::as_bytes(std::span(content)).subspan(sizeof header, code - sizeof header)).finish();
  header.hash = hash_of(header);
  std::memcpy(content.data(), &header, sizeof header);
  return content;
}

void ArtifactFile::forge(const Artifact& artifact) {
  const auto path = write(artifact);
  const std::string content = read_file(path);
  Header header;
  std::memcpy(static_cast<void*>(&header), content.data(), sizeof header);
  const int64_t interesting[] = {
      -2, -1, 0, 1, 2, 63, 64, 65, 1 << 20, int64_t{1} << 45, int64_t{1} << 46, int64_t{1} << 62, INT64_MAX, INT64_MIN};
  // Written over, not truncated: some file systems wait for the disk then.
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  int accepted = 0;
  const int rounds = isomer::test::is_long_run() ? 200'000 : 5'000;
  for (int round = 0; round < rounds; ++round) {
    Random random(round);
    std::string forged = content;
    for (int changes = static_cast<int>(random.below(3)); changes >= 0; --changes) {
      const size_t place = sizeof header + random.below(header.plan_bytes - 8);
      if (random.below(2) == 0)
        forged[place] = static_cast<char>(random.below(256));
      else
        std::memcpy(&forged[place], &interesting[random.below(std::size(interesting))], 8);
    }
    forged = reseal(std::move(forged));
    ASSERT_EQ(pwrite(fd, forged.data(), forged.size(), 0), std::ssize(forged));
    auto read = read_artifact(path);
    if (!read.ok()) {
      expect_sentence(sentence_of(read));
      continue;
    }
    ++accepted;
    const auto model = Model::load(*std::move(read));
    if (!model.ok()) continue;
    const auto session = Session::create(*model, {.threads = 1, .bindings = {}});
    if (!session.ok()) expect_sentence(sentence_of(session));
  }
  close(fd);
  EXPECT_GT(accepted, 0);
}

TEST_F(ArtifactFile, with_a_forged_plan_is_refused_or_makes_a_session) {
  forge(everything());
  forge(launches());
}

TEST_F(ArtifactFile, for_a_gpu_says_what_it_needs_where_there_is_none) {
  setenv("ISOMER_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
  const auto model = Model::open(write(launches()));
  EXPECT_THAT(sentence_of(model), HasSubstr("a GPU that runs code for sm_90a expected, found: cuda: NVIDIA's driver"));
  expect_sentence(sentence_of(model));
}

TEST_F(ArtifactFile, for_a_better_machine_is_read_but_not_run) {
  Artifact artifact = sums({8});
  artifact.variants[0].target = {"future", {"sse2", "teleport", "telepathy"}};
  const auto path = write(artifact);
  EXPECT_TRUE(read_artifact(path).ok());
  const auto model = Model::open(path);
  EXPECT_THAT(sentence_of(model), HasSubstr("a processor with teleport expected ('future' needs it)"));
}

TEST_F(ArtifactFile, of_several_targets_runs_the_first_that_the_machine_can) {
  Artifact artifact = sums({8});
  Variant better = artifact.variants[0];
  better.target = {"future", {"teleport"}};
  artifact.variants.insert(artifact.variants.begin(), better);
  const auto model = Model::open(write(artifact));
  ASSERT_TRUE(model.ok()) << sentence_of(model);
  ASSERT_EQ((*model)->variants().size(), 1U);
  EXPECT_EQ((*model)->variants()[0]->target.name, "x86-64");
}

TEST(CpuFeatures, are_those_that_the_compiler_sees) {
  __builtin_cpu_init();
  EXPECT_TRUE(has_cpu_feature("sse2"));
  EXPECT_EQ(has_cpu_feature("sse4.2"), __builtin_cpu_supports("sse4.2") != 0);
  EXPECT_EQ(has_cpu_feature("avx"), __builtin_cpu_supports("avx") != 0);
  EXPECT_EQ(has_cpu_feature("avx2"), __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(has_cpu_feature("fma"), __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ(has_cpu_feature("bmi2"), __builtin_cpu_supports("bmi2") != 0);
  EXPECT_EQ(has_cpu_feature("popcnt"), __builtin_cpu_supports("popcnt") != 0);
  EXPECT_EQ(has_cpu_feature("avx512f"), __builtin_cpu_supports("avx512f") != 0);
  EXPECT_EQ(has_cpu_feature("avx512vl"), __builtin_cpu_supports("avx512vl") != 0);
  EXPECT_EQ(has_cpu_feature("avx512vnni"), __builtin_cpu_supports("avx512vnni") != 0);
  EXPECT_FALSE(has_cpu_feature("teleport"));
}

/// A rule of artifact_check.h and an artifact that breaks it.
struct Broken {
  const char* name;
  const char* sentence;
  void (*damage)(Artifact&);
  Artifact (*whole)() = everything;
};
Launch& launch(Artifact& artifact) { return artifact.kernels[0].launches[0]; }
class ArtifactCheck : public testing::TestWithParam<Broken> {};
Value& value(Artifact& artifact, const char* name) {
  for (Value& value : artifact.variants[0].values)
    if (value.name == name) return value;
  throw std::runtime_error(name);
}

TEST_P(ArtifactCheck, refuses) {
  Artifact artifact = GetParam().whole();
  ASSERT_TRUE(check_artifact(artifact).ok()) << sentence_of(check_artifact(artifact));
  GetParam().damage(artifact);
  const auto checked = check_artifact(artifact);
  EXPECT_THAT(sentence_of(checked), HasSubstr(GetParam().sentence));
  ScratchFolder scratch;
  EXPECT_FALSE(write_artifact(artifact, scratch.path() / "model.iso").ok());
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

INSTANTIATE_TEST_SUITE_P(
    Rules, ArtifactCheck,
    testing::Values(
        Broken{"entry", "an entry inside of", [](Artifact& a) { a.kernels[0].parts[0].entry = a.code.size(); }},
        Broken{"iterations", "sensible counts", [](Artifact& a) { a.kernels[0].parts[0].iterations = -1; }},
        Broken{"turns", "turns of parts that are there", [](Artifact& a) { a.kernels[0].parts[0].followers = 1; }},
        Broken{"no_variant", "at least one variant", [](Artifact& a) { a.variants.clear(); }},
        Broken{"type", "a type with elements in memory",
               [](Artifact& a) { value(a, "sum").type = ElementType::kString; }},
        Broken{"arena_place", "an aligned place in the arena",
               [](Artifact& a) { value(a, "sum").place = InArena{1 << 20}; }},
        Broken{"arena_alignment", "an aligned place in the arena",
               [](Artifact& a) { value(a, "smaller").place = InArena{8}; }},
        Broken{"memory", "memory for int64[]", [](Artifact& a) { value(a, "sum").bytes = 7; }},
        Broken{"weight", "weights of 16 bytes",
               [](Artifact& a) {
                 value(a, "w").dims = {2};
                 value(a, "w").bytes = 16;
               }},
        Broken{"view", "a view of a value that is none itself",
               [](Artifact& a) {
                 value(a, "view").place = ViewOf{5, 0};
                 value(a, "sum").place = ViewOf{4, 0};
               }},
        Broken{"open_dim", "memory for int64[?]", [](Artifact& a) { value(a, "counted").place = InArena{0}; }},
        Broken{"dynamic_size", "a dynamic value with open dims and no size",
               [](Artifact& a) { value(a, "counted").dims = {1000}; }},
        Broken{"port", "input 0: a value in its place", [](Artifact& a) { a.variants[0].inputs[0].value = 1; }},
        Broken{"kernel", "one of 3 kernels",
               [](Artifact& a) { std::get<KernelStep>(a.variants[0].steps[0].action).kernel = 3; }},
        Broken{"argument", "step 0: one of",
               [](Artifact& a) { std::get<KernelStep>(a.variants[0].steps[0].action).arguments[0] = 99; }},
        Broken{"condition", "a condition of one bool",
               [](Artifact& a) { std::get<BranchStep>(a.variants[0].steps[1].action).condition = 0; }},
        Broken{"move", "a move between values of one type and shape",
               [](Artifact& a) { std::get<BranchStep>(a.variants[0].steps[1].action).else_body.moves[0].to = 1; }},
        Broken{"written_input", "a value that may be written",
               [](Artifact& a) { std::get<LoopStep>(a.variants[0].steps[3].action).iteration = 0; }},
        Broken{"trip_count", "a trip count of one int64",
               [](Artifact& a) { std::get<LoopStep>(a.variants[0].steps[3].action).trip_count = 99; }},
        Broken{"body_argument", "step 1: step 0: one of",
               [](Artifact& a) {
                 std::get<BranchStep>(a.variants[0].steps[1].action).then_body.steps = {a.variants[0].steps[0]};
                 std::get<KernelStep>(std::get<BranchStep>(a.variants[0].steps[1].action).then_body.steps[0].action)
                     .arguments[0] = -2;
               }},
        Broken{"stacked_outside", "one of",
               [](Artifact& a) { std::get<LoopStep>(a.variants[0].steps[3].action).stacks[0].to = 99; }},
        Broken{"stack", "a stack of int64[]",
               [](Artifact& a) { std::get<LoopStep>(a.variants[0].steps[3].action).stacks[0].from = 5; }},
        Broken{"copy_of_itself", "a view of it found",
               [](Artifact& a) {
                 value(a, "view").dims = {-1};
                 a.variants[0].steps = {PlanBuilder::copy(4, 3)};
               }},
        Broken{"depth", "bodies inside of each other",
               [](Artifact& a) {
                 for (int depth = 0; depth < 40; ++depth)
                   a.variants[0].steps = {PlanBuilder::loop({-1, -1, -1, {a.variants[0].steps, {}}, {}})};
               }},
        Broken{"module", "one of 1 modules or none", [](Artifact& a) { a.kernels[0].module = 1; }, launches},
        Broken{"module_of_parts", "parts, or launches of a module", [](Artifact& a) { a.kernels[0].module = 0; },
               [] {
                 Artifact whole = everything();
                 whole.modules = launches().modules;
                 return whole;
               }},
        Broken{"empty_module", "code for an architecture", [](Artifact& a) { a.modules[0].image.clear(); }, launches},
        Broken{"other_module", "a module for sm_90a", [](Artifact& a) { a.modules[0].arch = "sm_80"; }, launches},
        Broken{"device", "a CPU or a GPU",
               [](Artifact& a) { a.variants[0].target.device = static_cast<DeviceKind>(7); }, launches},
        Broken{"kernel_of_a_cpu", "a kernel for the variant's device",
               [](Artifact& a) { a.variants[0].target.device = DeviceKind::kCpu; }, launches},
        Broken{"function", "the name of a function", [](Artifact& a) { launch(a).function = "f\n"; }, launches},
        Broken{"no_blocks", "a grid that GPUs have", [](Artifact& a) { launch(a).blocks[1] = 0; }, launches},
        Broken{"many_blocks", "a grid that GPUs have", [](Artifact& a) { launch(a).blocks[2] = 65536; }, launches},
        Broken{"many_threads", "a grid that GPUs have", [](Artifact& a) { launch(a).threads = {512, 4, 1}; }, launches},
        Broken{"shared_memory", "bytes of shared memory", [](Artifact& a) { launch(a).shared_bytes = -1; }, launches},
        Broken{"launched_turns", "turns of an int32", [](Artifact& a) { launch(a).turns = int64_t{1} << 31; },
               launches},
        Broken{"launched_followers", "turns of parts that are there", [](Artifact& a) { launch(a).followers = 1; },
               launches},
        Broken{"launched_buffer", "an argument of known size", [](Artifact& a) { launch(a).buffers = {2}; }, launches},
        Broken{"launched_dynamic", "an argument of known size",
               [](Artifact& a) { std::get<KernelStep>(a.variants[0].steps[0].action).arguments[0] = 3; }, launches}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace isomer::runtime::test
