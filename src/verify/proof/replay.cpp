#include "verify/proof/replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/te/expr.h"
#include "verify/proof/equal_sides.h"
#include "verify/proof/law_family.h"
#include "verify/proof/refute/check_instance.h"

namespace isomer::verify {
namespace {

/// Whether exact arithmetic on small tensors refutes the law at these numbers.
bool fails_at_numbers(const StatedAxiom& axiom, const Bindings& numbers) {
  constexpr int kTrials = 6, kDraws = 100;
  Random random(0);
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto instance = draw_instance(axiom.law, axiom.axiom->shapes, random, kDraws, numbers);
    if (!instance) return false;
    const auto check = check_instance(*instance, random, axiom.axiom->float_class);
    if (check && check->counterexample) return true;
  }
  return false;
}

/// Whether a law holds at these numbers for its open integers and parameters, on these types. It was proved for numbers
/// that were drawn, not for these, so both sides' elements are compared here, without a solver. Where that does not
/// tell, the numbers must be such as draws make, and nothing found that refutes the law there.
bool holds_at_numbers(const StatedAxiom& axiom, const Bindings& numbers, const VariableTypes& types) {
  const Law at{substitute(axiom.law.left, numbers), substitute(axiom.law.right, numbers), {}};
  if (!why_not_proved({at, types}, nullptr)) return true;
  Bindings open = numbers;
  std::erase_if(open.integers, [&](const auto& named) { return dim_named(named.first, types).has_value(); });
  const auto is_drawn_integer = [](const auto& named) { return is_drawn(named.second); };
  const auto is_drawn_rest = [](const auto& named) { return has_drawn_values(named.second); };
  return std::all_of(open.integers.begin(), open.integers.end(), is_drawn_integer) &&
         std::all_of(open.rests.begin(), open.rests.end(), is_drawn_rest) && !fails_at_numbers(axiom, open);
}

std::string question(const StatedAxiom& axiom, const Bindings& numbers, const VariableTypes& types) {
  std::string result(axiom.axiom->law);
  for (const auto& [name, integer] : numbers.integers) result += fmt::format(";{}={}", name, integer.text());
  for (const auto& [name, parameters] : numbers.rests)
    for (const auto& [parameter, value] : parameters) result += fmt::format(";{}.{}={}", name, parameter, text(value));
  for (const auto& [name, type] : types) result += fmt::format(";{}:{}", name, type.text());
  return result;
}

}  // namespace

Result<GroundUses> ground(const Certificate& certificate, std::span<const StatedAxiom> axioms,
                          const VariableTypes& types, Signatures& signatures) {
  GroundUses result;
  for (size_t k = 0; k < certificate.uses.size(); ++k) {
    const LawUse& use = certificate.uses[k];
    const std::string place = fmt::format("use {}", k + 1);
    if (use.law < 0 || use.law >= static_cast<int>(axioms.size()))
      return invalid(place, "one of {} laws expected, number {} found", axioms.size(), use.law);
    auto instance = instance_of(axioms[static_cast<size_t>(use.law)], use.bindings, types, signatures);
    if (!instance.ok()) return std::move(instance).error().within(place);
    result.laws.push_back(*std::move(instance));
    result.certificate.uses.push_back({static_cast<int>(k), {}});
  }
  return result;
}

Result<Law> spelled_claim(const Law& claim, const VariableTypes& types, Signatures& signatures) {
  if (claim.condition) return unsupported(claim.text(), "a claim without condition expected");
  TRY(TypedTerm left, spelled_out(claim.left, types, signatures));
  TRY(TypedTerm right, spelled_out(claim.right, types, signatures));
  if (left.type != right.type)
    return invalid(claim.text(), "sides of one type expected, {} and {} found", left.type.text(), right.type.text());
  return Law{std::move(left.term), std::move(right.term), {}};
}

Result<Law> instance_of(const StatedAxiom& axiom, const Bindings& bindings, const VariableTypes& types,
                        Signatures& signatures) {
  const Law& law = axiom.law;
  const auto ranks = ranks_said(law);
  std::vector<ValueType> all_types, bound;
  VariableTypes variable_types;
  for (const std::string& name : variables({law.left, law.right})) {
    const auto found = bindings.tensors.find(name);
    if (found == bindings.tensors.end()) return invalid(law.text(), "a term for {} expected, none found", name);
    TRY(const TypedTerm typed, spelled_out(found->second, types, signatures));
    all_types.push_back(typed.type);
    variable_types.emplace(name, typed.type);
    if (!ranks.contains(name)) bound.push_back(typed.type);
  }
  if (!is_drawn(axiom.axiom->shapes, all_types))
    return invalid(law.text(), "sizes of at least 1 and one element type that '{}' has expected", axiom.axiom->shapes);
  if (!is_of_family(axiom.axiom->shapes, bound))
    return invalid(law.text(), "types of the family '{}' expected", axiom.axiom->shapes);
  for (const auto& [name, integer] : bindings.integers) {
    if (integer.is_constant() && integer.value() < 0)
      return invalid(law.text(), "{} of at least 0 expected, {} found", name, integer.text());
    if (const auto dim = dim_named(name, variable_types); dim && integer != *dim)
      return invalid(law.text(), "{} = {} expected, {} found", name, dim->text(), integer.text());
  }
  Bindings all = bindings;
  for (const std::string& name : integer_names(law))
    if (auto dim = dim_named(name, variable_types)) all.integers.emplace(name, *std::move(dim));
  for (const auto& [name, op] : rest_names({law.left, law.right}))
    if (const auto rest = bindings.rests.find(name); rest != bindings.rests.end() && !is_drawn(*op, rest->second))
      return invalid(law.text(), "parameters for ..{} that the law is checked with expected", name);
  if (law.condition && substitute(law.condition, all) != te::truth(true))
    return invalid(law.text(), "the condition expected to hold");
  Bindings numbers{{}, all.integers, all.rests};
  const bool has_numbers = !numbers.rests.empty() || !integer_names(law).empty();
  if (has_numbers && !signatures.remembered(question(axiom, numbers, variable_types),
                                            [&] { return holds_at_numbers(axiom, numbers, variable_types); }))
    return invalid(law.text(), "numbers expected for which the law is proved, others found");
  return spelled_claim({substitute(law.left, all), substitute(law.right, all), {}}, types, signatures);
}

Result<void> replay(const Certificate& certificate, std::span<const StatedAxiom> axioms, const Law& claim,
                    const VariableTypes& types, Signatures& signatures) {
  TRY(const GroundUses uses, ground(certificate, axioms, types, signatures));
  TRY(const Law spelled, spelled_claim(claim, types, signatures));
  return replay(uses.certificate, uses.laws, spelled);
}

}  // namespace isomer::verify
