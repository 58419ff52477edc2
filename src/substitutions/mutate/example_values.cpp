#include "substitutions/mutate/example_values.h"

#include <numeric>

#include "verify/prover/bind.h"

namespace isomer::substitutions {
namespace {

constexpr uint64_t kUniverse = 0x6d7574616e74;

Result<TermRecorder> recorder_of(const verify::Term& term, const std::array<Dims, 2>& dims) {
  verify::Bindings operands;
  operands.tensors = {{"x", verify::Term::variable("a")}, {"w", verify::Term::variable("b")}};
  const verify::Term renamed = substitute(term, operands);
  return TermRecorder::make({&renamed, 1}, dims);
}

}  // namespace

std::vector<uint32_t> all_positions(const Dims& dims) {
  std::vector<uint32_t> result(static_cast<size_t>(element_count(dims)));
  std::iota(result.begin(), result.end(), uint32_t{0});
  return result;
}

ExampleValues::ExampleValues(Dims x, Dims w, uint64_t seed)
    : universe_(seed ^ kUniverse, false),
      dims_{std::move(x), std::move(w)},
      x_(universe_.variable("x", element_count(dims_[0]))),
      w_(universe_.variable("w", element_count(dims_[1]))) {}

std::optional<Dims> ExampleValues::dims(const verify::Term& term) const {
  const auto recorder = recorder_of(term, dims_);
  return recorder.ok() ? std::optional(recorder->dims(0)) : std::nullopt;
}

std::optional<Elements> ExampleValues::of(const verify::Term& term, const Dims& dims,
                                          std::span<const uint32_t> positions) const {
  auto recorder = recorder_of(term, dims_);
  if (!recorder.ok() || recorder->dims(0) != dims) return std::nullopt;
  const auto bytecode = Bytecode::record(*recorder, 0, positions, false);
  if (!bytecode.ok()) return std::nullopt;
  Elements registers(bytecode->registers(), false), result(positions.size(), false);
  bytecode->copy_output(0, bytecode->run(x_.data(), w_.data(), registers.data(), universe_.arithmetic()),
                        result.data());
  return result;
}

std::optional<std::vector<bool>> ExampleValues::equal(const verify::Term& a, const verify::Term& b,
                                                      const Dims& dims) const {
  const std::vector<uint32_t> positions = all_positions(dims);
  const auto first = of(a, dims, positions), second = of(b, dims, positions);
  if (!first || !second) return std::nullopt;
  std::vector<bool> result;
  for (size_t k = 0; k < positions.size(); ++k)
    result.push_back(same_elements(first->data() + k * kSeeds, second->data() + k * kSeeds, 1, false));
  return result;
}

}  // namespace isomer::substitutions
