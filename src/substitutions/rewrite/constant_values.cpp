#include "substitutions/rewrite/constant_values.h"

#include <algorithm>
#include <limits>

#include "graph/interpret.h"

namespace isomer::substitutions {
namespace {

using verify::Term;

/// Of one value: in doubles it takes eight times as many bytes.
constexpr int64_t kMostElements = int64_t{1} << 25;

int64_t count_of(const Program& program, int value) {
  const ValueType& type = program.theory().signatures().type(program.value(value).type);
  const auto dims = type.has_shape() ? constants(*type.shape) : std::nullopt;
  return dims ? element_count(*dims) : std::numeric_limits<int64_t>::max();
}

template <class Visit>
void for_each_constant(const Program& program, const Visit& visit) {
  for (int id = 0; id < program.application_count(); ++id) {
    if (!program.contains(id)) continue;
    const Program::Application& there = program.application(id);
    const bool is_constant = there.value_count > 0 && program.value(there.first_value).is_constant;
    if (is_constant) continue;
    for (const int argument : program.arguments(id))
      if (argument >= 0 && program.value(argument).is_constant) visit(argument);
  }
  for (const int output : program.outputs())
    if (program.value(output).is_constant) visit(output);
}

template <class Is>
std::vector<int> constants_that(const Program& program, const Is& is) {
  std::vector<int> result;
  for_each_constant(program, [&](int value) {
    if (is(value)) result.push_back(value);
  });
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace

Result<te::Array> ConstantValues::of(const Program& program, int value) {
  if (const auto known = known_.find(value); known != known_.end()) return known->second;
  TRY(te::Array made, compute(program, value));
  return known_.emplace(value, std::move(made)).first->second;
}

Result<te::Array> ConstantValues::compute(const Program& program, int value) {
  const Program::Value& there = program.value(value);
  if (there.producer < 0) {
    const Leaf& leaf = program.origin().leaves[static_cast<size_t>(there.index)];
    const DataType dtype = program.theory().signatures().type(leaf.type).dtype;
    return te::Array::from(leaf.value.valid() ? *program.origin().graph.value(leaf.value).constant
                                              : Tensor::scalar(dtype, leaf.number->to_double()));
  }
  if (count_of(program, value) > kMostElements) return unsupported("", "fewer elements of a constant expected");
  std::vector<te::Array> arguments;
  for (const int argument : program.arguments(there.producer)) {
    TRY(te::Array array, of(program, argument));
    arguments.push_back(std::move(array));
  }
  const Graph* alone = graph_of(program, there.producer, there.index);
  if (!alone)
    return unsupported("", "numbers for the parameters of a constant expected, sizes that are not known found");
  InterpretOptions options;
  options.threads = threads_;
  TRY(std::vector<te::Array> results, interpret(*alone, arguments, options));
  return std::move(results.front());
}

const Graph* ConstantValues::graph_of(const Program& program, int application, int output) {
  const Program::Application& there = program.application(application);
  Theory& theory = program.theory();
  std::vector<int> key = {there.operation, output}, types;
  for (const int argument : program.arguments(application)) types.push_back(program.value(argument).type);
  key.insert(key.end(), types.begin(), types.end());
  const auto [known, is_new] = graphs_.try_emplace(std::move(key));
  if (!is_new) return known->second ? &*known->second : nullptr;
  const auto form = theory.constant_form(there.operation, types);
  if (!form) return nullptr;
  verify::VariableTypes variables;
  std::vector<Term> terms;
  for (const int type : types) {
    const std::string name = fmt::format("x{:06}", terms.size());
    variables.emplace(name, theory.signatures().type(type));
    terms.push_back(Term::variable(name));
  }
  const auto& operation = theory.signatures().operation(*form);
  auto made = verify::graph_of(
      {Term(Term::Application{operation.op, output, operation.parameters, "", std::move(terms)})}, variables);
  if (!made.ok()) return nullptr;
  known->second = *std::move(made);
  return &*known->second;
}

std::vector<int> computed_constants(const Program& program) {
  return constants_that(program, [&](int value) { return program.value(value).producer >= 0; });
}

std::vector<int> given_constants(const Program& program) {
  return constants_that(program, [&](int value) { return program.value(value).producer < 0; });
}

}  // namespace isomer::substitutions
