#include "substitutions/discover/applications.h"

#include <algorithm>

namespace isomer::substitutions {

Applications::Applications(const OperatorSet& set) : set_(set) {}

TypeId Applications::type_of(const Dims& dims) {
  const std::unique_lock lock(mutex_);
  const auto [at, is_new] = type_ids_.emplace(dims, static_cast<TypeId>(types_.size()));
  if (is_new) {
    CHECK(types_.size() < kNoType) << "types";
    types_.push_back({dims, element_count(dims), Sample::of(dims)});
  }
  return at->second;
}

const Type& Applications::type(TypeId id) const {
  const std::shared_lock lock(mutex_);
  return types_[id];
}

const std::vector<std::unique_ptr<Application>>& Applications::of(TypeId first, TypeId second) {
  const uint32_t key = uint32_t{first} << 16 | second;
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
  }
  auto made = record(first, second);
  const std::unique_lock lock(mutex_);
  return known_.try_emplace(key, std::move(made)).first->second;
}

std::vector<std::unique_ptr<Application>> Applications::record(TypeId first, TypeId second) {
  std::vector<Dims> operands;
  for (const TypeId id : {first, second})
    if (id != kNoType) operands.push_back(type(id).dims);
  std::vector<std::unique_ptr<Application>> result;
  for (size_t k = 0; k < set_.instances.size(); ++k) {
    const Instance& instance = set_.instances[k];
    if (instance.operands.size() != operands.size() || (instance.equal_types && first != second)) continue;
    const auto fits = [&](const Operand& operand, const Dims& dims) {
      if (operand.rank >= 0 && operand.rank != static_cast<int>(dims.size())) return false;
      return operand.accepts == Accepts::kFamily || dims.empty() == (operand.accepts == Accepts::kNumber);
    };
    if (!std::equal(operands.begin(), operands.end(), instance.operands.begin(),
                    [&](const Dims& dims, const Operand& operand) { return fits(operand, dims); }))
      continue;
    auto recorder = TermRecorder::make(instance.outputs, operands);
    if (!recorder.ok()) continue;
    auto application = std::make_unique<Application>();
    application->instance = static_cast<int>(k);
    application->operands = operands;
    bool is_recorded = true;
    for (size_t output = 0; output < instance.outputs.size() && is_recorded; ++output) {
      const int64_t count = element_count(recorder->dims(output));
      is_recorded = count > 0 && count <= set_.max_elements;
      if (!is_recorded) break;
      application->types.push_back(type_of(recorder->dims(output)));
      application->of_type.push_back(&type(application->types.back()));
      auto bytecode =
          Bytecode::record(*recorder, output, application->of_type.back()->sample.positions, set_.exponents);
      is_recorded = bytecode.ok();
      if (is_recorded) application->samples.push_back(std::move(*bytecode));
    }
    if (!is_recorded) continue;
    application->commutes = first == second && first != kNoType && commutes(*application, first);
    result.push_back(std::move(application));
  }
  return result;
}

bool Applications::commutes(const Application& application, TypeId id) const {
  const auto& operands = set_.instances[static_cast<size_t>(application.instance)].operands;
  if (application.types.size() != 1 || !(operands[0] == operands[1])) return false;
  const Universe universe(1, set_.exponents);
  const Elements a = universe.variable("a", type(id).count), b = universe.variable("b", type(id).count);
  const Bytecode& bytecode = application.samples[0];
  Elements registers(bytecode.registers(), set_.exponents);
  const auto hash = [&](const Elements& first, const Elements& second) {
    return bytecode.hash_output(bytecode.run(first.data(), second.data(), registers.data(), universe.arithmetic()),
                                application.of_type[0]->sample.keys.data());
  };
  return hash(a, b) == hash(b, a);
}

const Bytecode& Application::bytecode(const OperatorSet& set) const {
  std::call_once(once_, [&] {
    const auto& terms = set.instances[static_cast<size_t>(instance)].outputs;
    auto recorder = TermRecorder::make(terms, operands);
    CHECK(recorder.ok()) << recorder.error().message();
    auto bytecode = Bytecode::record(*recorder, terms.size(), set.exponents);
    CHECK(bytecode.ok()) << bytecode.error().message();
    bytecode_ = std::move(*bytecode);
  });
  return bytecode_;
}

}  // namespace isomer::substitutions
