#include "verify/prover/pattern.h"

#include <algorithm>

#include "graph/te/symbols.h"
#include "verify/proof/law_family.h"

namespace isomer::verify {
namespace {

Dim at(const Dim& integer, const std::string& one, const std::set<std::string>& all) {
  Bindings bindings;
  for (const std::string& name : all) bindings.integers.emplace(name, Dim(name == one ? 1 : 0));
  return substitute(integer, bindings);
}

/// Adds what the integers of one parameter are; false where they are other numbers.
bool read_integers(const Pattern::Named& named, const Parameter& value, Extraction& result) {
  const auto* one = std::get_if<Dim>(&value);
  const auto* several = std::get_if<std::vector<Dim>>(&value);
  if (value.index() != named.written.index() || (several && several->size() != named.integers.size())) return false;
  if (!one && !several) return value == named.written;
  for (size_t k = 0; k < named.integers.size(); ++k) {
    const Integer& integer = named.integers[k];
    const Dim& there = one ? *one : (*several)[k];
    // A negative number counts axes from the back: compared when all is spelled out.
    if (integer.slots.empty() && integer.constant < 0) continue;
    if (!integer.slots.empty())
      result.integers.emplace_back(&integer, there);
    else if (!there.is(integer.constant))
      return false;
  }
  return true;
}

}  // namespace

void Slots::find_dims() {
  is_dim.resize(integers.size());
  for (size_t slot = 0; slot < integers.size(); ++slot) {
    const auto dim = dim_name(integers[slot], tensors);
    if (!dim) continue;
    is_dim[slot] = true;
    dims.push_back({static_cast<int>(slot), slot_of(tensors, dim->variable), dim->axis});
  }
}

SlotValues Slots::unbound() const {
  return {std::vector<int>(tensors.size(), -1), std::vector<std::optional<Dim>>(integers.size()),
          std::vector<int>(rests.size(), -1)};
}

int slot_of(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  names.push_back(name);
  return static_cast<int>(names.size()) - 1;
}

std::optional<Dim> Integer::value(const SlotValues& values, const std::vector<std::string>& names) const {
  if (other) {
    Bindings bindings;
    for (const int slot : slots) {
      const auto& known = values.integers[static_cast<size_t>(slot)];
      if (!known) return std::nullopt;
      bindings.integers.emplace(names[static_cast<size_t>(slot)], *known);
    }
    return substitute(Dim(other), bindings);
  }
  Dim result = constant;
  for (const auto& [slot, factor] : terms) {
    const auto& known = values.integers[static_cast<size_t>(slot)];
    if (!known) return std::nullopt;
    result = result + (factor == 1 ? *known : *known * Dim(factor));
  }
  return result;
}

Integer integer_of(const Dim& written, Slots& slots) {
  Integer result;
  const std::set<std::string> all = names(written);
  for (const std::string& name : all) result.slots.push_back(slot_of(slots.integers, name));
  result.other = written.expr();
  const Dim constant = at(written, "", all);
  if (!constant.is_constant()) return result;
  Integer linear{constant.value(), {}, {}, result.slots};
  Dim sum = constant;
  for (const std::string& name : all) {
    const Dim there = at(written, name, all);
    if (!there.is_constant()) return result;
    const int64_t factor = there.value() - constant.value();
    linear.terms.emplace_back(slot_of(slots.integers, name), factor);
    sum = sum + Dim(factor) * Dim::symbol(name);
  }
  return sum == written ? linear : result;
}

bool solve(const IntegerEquations& equations, SlotValues& values) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [integer, number] : equations) {
      const auto is_unknown = [&](const std::pair<int, int64_t>& term) {
        return !values.integers[static_cast<size_t>(term.first)];
      };
      if (std::count_if(integer->terms.begin(), integer->terms.end(), is_unknown) != 1) continue;
      const auto [unknown, factor] = *std::find_if(integer->terms.begin(), integer->terms.end(), is_unknown);
      Dim rest = *number - Dim(integer->constant);
      for (const auto& [slot, times] : integer->terms)
        if (slot != unknown) rest = rest - *values.integers[static_cast<size_t>(slot)] * Dim(times);
      if (factor != 1 && (factor == 0 || !rest.is_constant() || rest.value() % factor != 0)) return false;
      values.integers[static_cast<size_t>(unknown)] = factor == 1 ? rest : Dim(rest.value() / factor);
      changed = true;
    }
  }
  return true;
}

bool hold(const IntegerEquations& equations, const SlotValues& values, const std::vector<std::string>& names) {
  return std::all_of(equations.begin(), equations.end(),
                     [&](const auto& equation) { return equation.first->value(values, names) == *equation.second; });
}

Pattern pattern_of(const Term& term, Slots& slots, int& next_id) {
  Pattern result;
  if (const auto* variable = term.as_variable()) {
    result.variable = slot_of(slots.tensors, variable->name);
    return result;
  }
  const auto* application = term.as_application();
  if (!application) {
    result.kind = Pattern::Kind::kNumber;
    result.number = std::get<Term::Number>(term.form()).value;
    return result;
  }
  result.kind = Pattern::Kind::kApplication;
  result.op = application->op;
  result.output = application->output;
  result.id = next_id++;
  result.operators = 1;
  for (const auto& [name, written] : application->parameters) {
    Pattern::Named named{name, written, {}};
    if (const auto* one = std::get_if<Dim>(&written)) named.integers = {integer_of(*one, slots)};
    if (const auto* several = std::get_if<std::vector<Dim>>(&written))
      for (const Dim& each : *several) named.integers.push_back(integer_of(each, slots));
    result.named.push_back(std::move(named));
  }
  if (!application->rest.empty()) result.rest = slot_of(slots.rests, application->rest);
  for (const Term& argument : application->arguments) {
    result.arguments.push_back(pattern_of(argument, slots, next_id));
    result.operators += result.arguments.back().operators;
  }
  return result;
}

int operation_of(const Pattern& pattern, const SlotValues& values, const std::vector<std::string>& integers,
                 Signatures& signatures) {
  Parameters parameters;
  for (const Pattern::Named& named : pattern.named) {
    std::vector<Dim> numbers;
    for (const Integer& each : named.integers) numbers.push_back(*each.value(values, integers));
    if (std::holds_alternative<Dim>(named.written))
      parameters.emplace(named.name, numbers[0]);
    else if (std::holds_alternative<std::vector<Dim>>(named.written))
      parameters.emplace(named.name, std::move(numbers));
    else
      parameters.emplace(named.name, named.written);
  }
  if (pattern.rest >= 0) {
    const Parameters& rest = signatures.operation(values.rests[static_cast<size_t>(pattern.rest)]).parameters;
    parameters.insert(rest.begin(), rest.end());
  }
  return signatures.operation_id(*pattern.op, std::move(parameters));
}

const Extraction& Extractions::of(const Pattern& pattern, int operation, Signatures& signatures) {
  const uint64_t key = static_cast<uint64_t>(pattern.id) << 32 | static_cast<uint32_t>(operation);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  return known_.emplace(key, read(pattern, operation, signatures)).first->second;
}

Extraction Extractions::read(const Pattern& pattern, int operation, Signatures& signatures) const {
  Extraction result;
  Parameters rest = signatures.operation(operation).parameters;
  for (const Pattern::Named& named : pattern.named) {
    const auto found = rest.find(named.name);
    if (found == rest.end()) {
      if (reading_ == Reading::kAsDrawn) return {};
      continue;
    }
    if (!read_integers(named, found->second, result)) return {};
    rest.erase(found);
  }
  if (pattern.rest >= 0) {
    if (reading_ == Reading::kAsDrawn && !is_drawn(*pattern.op, rest)) return {};
    result.rest = signatures.operation_id(*pattern.op, std::move(rest));
  }
  result.fits = true;
  return result;
}

}  // namespace isomer::verify
