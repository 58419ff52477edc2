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
/// tell, the numbers must be such as draws make, no size may be 0, and nothing found that refutes the law there.
bool holds_at_numbers(const StatedAxiom& axiom, const Law& at, Bindings open, const VariableTypes& types,
                      bool is_filled) {
  if (!why_not_proved({at, types}, nullptr)) return true;
  std::erase_if(open.integers, [&](const auto& named) { return dim_named(named.first, types).has_value(); });
  return is_filled && std::ranges::all_of(open.integers, [](const auto& named) { return is_drawn(named.second); }) &&
         std::ranges::all_of(open.rests, [](const auto& named) { return has_drawn_values(named.second); }) &&
         !fails_at_numbers(axiom, open);
}

/// What is asked of these variables; names may be any, so that each says where it ends.
std::string question(const VariableTypes& types, std::string_view what, const Law& law, Signatures& signatures) {
  std::string of;
  for (const auto& [name, type] : types) of += fmt::format("{} {} {} ", signatures.type_id(type), name.size(), name);
  return fmt::format("{}{}: {}", of, what, law.text());
}

/// What a use without a law says.
Result<Law> equal_by_elements(const Bindings& bindings, const VariableTypes& types, Signatures& signatures) {
  const auto left = bindings.tensors.find("left"), right = bindings.tensors.find("right");
  if (left == bindings.tensors.end() || right == bindings.tensors.end())
    return invalid("", "a left and a right side expected");
  TRY(Law sides, spelled_claim({left->second, right->second, {}}, types, signatures));
  std::vector<ValueType> all_types;
  for (const auto& [name, type] : types) all_types.push_back(type);
  const bool holds = is_drawn("any of floats", all_types) &&
                     signatures.remembered(question(types, "elements", sides, signatures),
                                           [&] { return !why_not_proved({sides, types, {}, true, false}, nullptr); });
  if (!holds) return invalid(sides.text(), "floats, and the same elements on both sides expected");
  return sides;
}

}  // namespace

Result<Equations> equations_of(const Certificate& certificate, std::span<const StatedAxiom> axioms,
                               const VariableTypes& types, Signatures& signatures) {
  Equations result;
  for (const auto& [number, bindings] : certificate.uses) {
    const std::string place = fmt::format("use {}", result.size() + 1);
    if (number != kByElements && (number < 0 || number >= static_cast<int>(axioms.size())))
      return invalid(place, "one of {} laws expected, number {} found", axioms.size(), number);
    auto sides = number == kByElements ? equal_by_elements(bindings, types, signatures)
                                       : instance_of(axioms[static_cast<size_t>(number)], bindings, types, signatures);
    if (!sides.ok()) return std::move(sides).error().within(place);
    result.emplace_back(std::move(sides->left), std::move(sides->right));
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
  const ElementMaker sizes;
  bool is_filled = true;
  for (const std::string& name : variables({law.left, law.right})) {
    const auto found = bindings.tensors.find(name);
    if (found == bindings.tensors.end()) return invalid(law.text(), "a term for {} expected, none found", name);
    TRY(const TypedTerm typed, spelled_out(found->second, types, signatures));
    all_types.push_back(typed.type);
    variable_types.emplace(name, typed.type);
    for_each_dim(typed.type, [&](const Dim& d) { is_filled &= d.is_constant() || sizes.is_at_least_one(d.expr()); });
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
  // What does not fit together is refused before numbers are tried.
  TRY(Law sides, spelled_claim({substitute(law.left, all), substitute(law.right, all), {}}, types, signatures));
  // Laws were checked on sizes of at least 1, and for these names of integers and parameters on some.
  const Bindings numbers{{}, all.integers, all.rests};
  const Law at{substitute(law.left, numbers), substitute(law.right, numbers), {}};
  if ((!is_filled || !numbers.rests.empty() || !integer_names(law).empty()) &&
      !signatures.remembered(question(variable_types, axiom.name, at, signatures),
                             [&] { return holds_at_numbers(axiom, at, numbers, variable_types, is_filled); }))
    return invalid(law.text(), "numbers and sizes expected for which the law is proved, others found");
  return sides;
}

Result<void> replay(const Certificate& certificate, std::span<const StatedAxiom> axioms, const Law& claim,
                    const VariableTypes& types, Signatures& signatures) {
  TRY(const Equations equations, equations_of(certificate, axioms, types, signatures));
  TRY(const Law spelled, spelled_claim(claim, types, signatures));
  if (!follows(equations, spelled.left, spelled.right))
    return invalid("", "an equation that follows from the {} uses expected, '{}' does not", equations.size(),
                   spelled.text());
  return {};
}

}  // namespace isomer::verify
