#include "substitutions/discover/fingerprint.h"

#include <algorithm>
#include <cstring>

#include "util/random.h"

namespace isomer::substitutions {
namespace {

constexpr size_t kSampled = 12;

uint64_t hash_of(const Dims& dims) {
  Hasher hasher;
  for (const int64_t dim : dims) hasher.add(static_cast<uint64_t>(dim));
  return hasher.add(dims.size()).finish().low;
}

/// Evaluates terms one application at a time, as bytecode have two operands only.
class TermEvaluator {
 public:
  struct Value {
    Dims dims;
    Elements elements;
  };

  TermEvaluator(const std::map<std::string, Dims>& variables, const Universe& universe, bool wide)
      : variables_(variables), universe_(universe), wide_(wide) {}

  Result<Value> evaluate(const verify::Term& term) const {
    if (const auto* variable = term.as_variable()) {
      const auto found = variables_.find(variable->name);
      if (found == variables_.end())
        return invalid(variable->name, "dims of each variable expected, this one has none");
      return Value{found->second, universe_.variable(variable->name, element_count(found->second))};
    }
    const auto* application = term.as_application();
    if (!application) return unsupported(term.text(), "an operator or a variable expected, a number found");
    verify::Term::Application shallow = *application;
    std::vector<Value> operands;
    for (verify::Term& argument : shallow.arguments) {
      if (std::holds_alternative<verify::Term::Number>(argument.form())) continue;
      if (operands.size() == 2) return unsupported(term.text(), "at most two operands expected");
      TRY(Value operand, evaluate(argument));
      operands.push_back(std::move(operand));
      argument = verify::Term::variable(operands.size() == 1 ? "a" : "b");
    }
    std::vector<Dims> dims;
    for (const Value& operand : operands) dims.push_back(operand.dims);
    const verify::Term recorded(std::move(shallow));
    TRY(TermRecorder recorder, TermRecorder::make({&recorded, 1}, dims));
    TRY(const Bytecode bytecode, Bytecode::record(recorder, 1, wide_));
    Value result{bytecode.outputs()[0].dims,
                 Elements(static_cast<size_t>(element_count(bytecode.outputs()[0].dims)), wide_)};
    Elements registers(bytecode.registers(), wide_);
    const auto words = [&](size_t k) { return k < operands.size() ? operands[k].elements.data() : nullptr; };
    bytecode.copy_output(0, bytecode.run(words(0), words(1), registers.data(), universe_.arithmetic()),
                         result.elements.data());
    return result;
  }

 private:
  const std::map<std::string, Dims>& variables_;
  const Universe& universe_;
  bool wide_;
};

}  // namespace

Elements Universe::variable(std::string_view name, int64_t count) const {
  const Hash128 hash = Hasher().add(seed_).add(name).finish();
  Random random(hash.low);
  Elements result(static_cast<size_t>(count), wide_);
  uint32_t* word = result.data();
  for (int64_t k = 0; k < count; ++k)
    for (int j = 0; j < element_words(wide_); ++j)
      *word++ = static_cast<uint32_t>(random.below(j < kSeeds ? kPrime : kExponents));
  return result;
}

Hash128 fingerprint(const Dims& dims, const uint32_t* elements, bool wide) {
  Hasher hasher;
  hasher.add(hash_of(dims));
  for (int64_t k = element_count(dims); k > 0; --k, elements += element_words(wide))
    for (int j = 0; j < kSeeds; j += 2) hasher.add(uint64_t{elements[j]} << 32 | elements[j + 1]);
  return hasher.finish();
}

bool same_elements(const uint32_t* a, const uint32_t* b, int64_t count, bool wide) {
  const auto words = element_words(wide);
  for (int64_t k = 0; k < count; ++k, a += words, b += words)
    if (std::memcmp(a, b, kSeeds * sizeof(uint32_t)) != 0) return false;
  return true;
}

Sample Sample::of(const Dims& dims) {
  Sample result;
  result.salt = hash_of(dims);
  Random random(result.salt);
  const auto count = static_cast<uint32_t>(element_count(dims));
  // One of each of as many equal parts, the corners among them.
  const auto parts = static_cast<uint32_t>(std::min<size_t>(count, kSampled));
  for (uint32_t k = 0; k < parts; ++k) {
    const auto begin = static_cast<uint32_t>(uint64_t{count} * k / parts),
               end = static_cast<uint32_t>(uint64_t{count} * (k + 1) / parts);
    result.positions.push_back(k == 0           ? 0
                               : k + 1 == parts ? count - 1
                                                : begin + static_cast<uint32_t>(random.below(end - begin)));
  }
  for (size_t k = 0; k < kSeeds * result.positions.size(); ++k)
    result.keys.push_back(static_cast<uint32_t>(random.next()) | 1);
  return result;
}

Result<Hash128> fingerprint(const verify::Term& term, const std::map<std::string, Dims>& variables,
                            const Universe& universe, bool wide) {
  TRY(const auto value, TermEvaluator(variables, universe, wide).evaluate(term));
  return fingerprint(value.dims, value.elements.data(), wide);
}

}  // namespace isomer::substitutions
