// What a session costs beyond its kernels: fork and join of its threads, the steps of a tiny model.
//
//   build/bin/bench/fork_join                   (on an idle machine; DESIGN.md 8 asks for 2 us at two threads)
#include <benchmark/benchmark.h>

#include <array>

#include "runtime/session.h"

namespace isomer::runtime {
namespace {

void fork_and_join(benchmark::State& state) {
  Workers workers(static_cast<int>(state.range(0)));
  for (auto _ : state)
    workers.share(workers.threads(), 0, [](int, int64_t begin, int64_t) { benchmark::DoNotOptimize(begin); });
}
BENCHMARK(fork_and_join)->ArgName("threads")->Arg(1)->Arg(2)->MinTime(1)->UseRealTime();

/// Steps whose kernels return at once; two iterations each, so that each is a fork at two threads.
void tiny_model(benchmark::State& state) {
  constexpr std::array<uint8_t, 3> kReturnZero = {0x31, 0xc0, 0xc3};  // xor eax, eax; ret
  const std::vector<int64_t> dims = {16};
  Artifact artifact;
  artifact.code.assign(reinterpret_cast<const std::byte*>(kReturnZero.begin()),
                       reinterpret_cast<const std::byte*>(kReturnZero.end()));
  artifact.kernels = {{{Part{.entry = 0, .iterations = 2}}}};
  Variant variant;
  variant.values = {{"x", ElementType::kFloat32, dims, 64, InInput{0}},
                    {"y", ElementType::kFloat32, dims, 64, InOutput{0}}};
  variant.inputs = {{"x", 0}};
  variant.outputs = {{"y", 1}};
  for (int64_t k = 0; k < state.range(1); ++k) variant.steps.push_back({"kernel", {}, 0, KernelStep{0, {0, 1}}});
  artifact.variants = {std::move(variant)};
  const auto model = Model::load(std::move(artifact));
  const auto session = Session::create(*model, {.threads = static_cast<int>(state.range(0)), .bindings = {}});
  alignas(64) std::array<float, 16> x{}, y{};
  const Tensor inputs[] = {{ElementType::kFloat32, dims, x.data()}};
  Tensor outputs[] = {{ElementType::kFloat32, dims, y.data()}};
  for (auto _ : state)
    if (!(*session)->run(inputs, outputs).ok()) state.SkipWithError("run failed");
}
BENCHMARK(tiny_model)
    ->ArgNames({"threads", "steps"})
    ->Args({1, 1})
    ->Args({1, 10})
    ->Args({2, 1})
    ->Args({2, 10})
    ->MinTime(1)
    ->UseRealTime();

}  // namespace
}  // namespace isomer::runtime

BENCHMARK_MAIN();
