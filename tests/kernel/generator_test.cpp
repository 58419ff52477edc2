// Times that were measured are kept by the version of what makes schedules and code: whoever changes either must raise
// it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "kernel/default_schedule.h"
#include "kernel/examples.h"
#include "kernel/fingerprint.h"
#include "kernel/run_kernel.h"
#include "kernel/space/open_loops.h"

namespace isomer::kernel::test {
namespace {

constexpr const char* kFile = "tests/kernel/data/generated.txt";
constexpr size_t kTasks = 50;

/// Those of `examples` keep integers exact; functions of real numbers are code of ours as well.
const Example& elementary_functions() {
  static const Example example{"elementary functions",
                               "s0 = map [9, 70] { exp(in0[i0, i1]:float32) }\n"
                               "s1 = map [9, 70] { log(s0[i0, i1]:float32 + 1) }\n"
                               "s2 = map [9, 70] { tanh(s1[i0, i1]:float32) }\n"
                               "s3 = map [9, 70] { erf(s2[i0, i1]:float32)/float32(i0 + 3) }\n"
                               "s4 = map [9, 70] { max(s3[i0, i1]:float32, in1[i0, i1]:float32) }\noutput s4\n",
                               {{9, 70}, {9, 70}}};
  return example;
}

/// Numbers of 16 bits have code of their own.
Example halves(DataType type) {
  const std::string name(isomer::name(type));
  return {fmt::format("pooling of {}", name),
          fmt::format("s0 = reduce [4, 15, 32] over [2] with max:{0} {{ in0[i0, i1*2 + r0, i2]:{0} }}\n"
                      "s1 = map [4, 15, 32] {{ max(s0[i0, i1, i2]:{0}*in1[i2]:{0}, 0:{0}) }}\noutput s1\n",
                      name),
          {{4, 32, 32}, {32}},
          type};
}

std::vector<Example> tasks() {
  std::vector<Example> all = examples();
  all.push_back(elementary_functions());
  all.push_back(halves(DataType::kFloat16));
  all.push_back(halves(DataType::kBFloat16));
  for (uint64_t seed = 0; all.size() < kTasks; ++seed) {
    Random random(seed);
    all.push_back(random_example(random));
  }
  return all;
}

/// What the tasks become: traces and kernels; their machine code.
std::pair<std::string, std::string> generated() {
  Hasher schedules, code;
  for (const std::string cpu : {"x86-64", "haswell", "skylake-avx512", "znver4"}) {
    const CpuTarget target = *parse_cpu_target("cpu=" + cpu);
    const Machine machine{.vectors = target.vectors(),
                          .caches = caches_of(target.cpu),
                          .wide_multiply_adds = wide_multiply_adds_of(target.cpu),
                          .word_parts = target.word_parts(),
                          .threads = 2};
    const auto add = [&](std::string_view name, const Schedule& schedule) {
      schedules.add(hash(schedule.trace())).add(structural_hash(schedule.finish()));
      const auto made = compile(schedule.finish(), target);
      CHECK(made.ok()) << name << ": " << made.error().message();
      code.add(std::span<const std::byte>(made->image));
    };
    for (const Example& example : tasks())
      add(example.name, default_schedule(Schedule(lowered(example, {example.inputs.size() - 1})), machine));
    for (const OpenExample& example : open_examples())
      add(example.name, with_open_loops(Schedule(lowered_open(example)), machine));
  }
  return {schedules.finish().hex(), code.finish().hex()};
}

TEST(Generator, HasANewVersionWhereItMakesOtherKernels) {
  std::ifstream file(kFile);
  std::map<std::string, std::string> known;
  for (std::string key, value; file >> key && std::getline(file >> std::ws, value);) known[key] = value;
  const std::string version = generator_version();
  const size_t of_llvm = version.find(" LLVM");
  const auto [schedules, code] = generated();
  const std::string now = fmt::format("version {}\nschedules {}\nllvm {}\ncode {}\n", version.substr(0, of_llvm),
                                      schedules, version.substr(of_llvm + 1), code);
  const std::string advice = fmt::format(
      "other kernels than of version {}: raise kVersion in src/kernel/codegen_llvm/fingerprint.cpp, and let {} be\n{}",
      known["version"], kFile, now);
  EXPECT_EQ(known["version"], version.substr(0, of_llvm)) << advice;
  EXPECT_EQ(known["schedules"], schedules) << advice;
  // Another LLVM is another version anyway.
  if (known["llvm"] == version.substr(of_llvm + 1)) {
    EXPECT_EQ(known["code"], code) << advice;
  }
}

}  // namespace
}  // namespace isomer::kernel::test
