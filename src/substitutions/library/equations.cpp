#include "substitutions/library/equations.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "substitutions/library/counterexample_in_doubles.h"
#include "substitutions/library/rule_names.h"
#include "substitutions/library/rules_file.h"
#include "substitutions/library/smallest_counterexample.h"
#include "verify/prover/bind.h"
#include "verify/prover/prove_elements.h"

namespace isomer::substitutions {
namespace {

constexpr int kInputs = 8;  ///< on which both sides are compared before nothing is known
/// Small inputs, where cases meet, others, beyond limits that an equation may have, those between and at the ends, and
/// what 11 bits don't hold.
constexpr std::array<verify::DrawnInputs, 4> kDrawn = {
    {{.most = 6}, {.most = 300}, {.most = 6, .are_irregular = true}, {.most = 5000}}};
constexpr std::string_view kBlank = " \t\r";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// "x[2,4] n:int64[3]"
Result<verify::VariableTypes> parse_types(std::string_view text) {
  verify::VariableTypes result;
  while (!(text = trimmed(text)).empty()) {
    const size_t open = text.find('['), close = text.find(']');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open)
      return invalid("", "types such as x[2,4] expected, '{}' found", text);
    std::string_view name = text.substr(0, open);
    DataType dtype = DataType::kFloat32;
    if (const size_t colon = name.find(':'); colon != std::string_view::npos) {
      dtype = parse_data_type(name.substr(colon + 1));
      if (dtype == DataType::kUndefined)
        return invalid("", "an element type such as float32 expected, '{}' found", name.substr(colon + 1));
      name = name.substr(0, colon);
    }
    Shape shape;
    for (std::string_view dims = text.substr(open + 1, close - open - 1); !dims.empty();) {
      const std::string_view dim = dims.substr(0, dims.find(','));
      if (dim.empty() || dim.size() > 6 || dim.find_first_not_of("0123456789") != std::string_view::npos)
        return invalid("", "a size expected, '{}' found", dim);
      shape.emplace_back(int64_t{std::stoi(std::string(dim))});
      dims.remove_prefix(std::min(dims.size(), dim.size() + 1));
    }
    if (!result.emplace(name, ValueType::tensor(dtype, std::move(shape))).second)
      return invalid("", "one type for each variable expected, a second for '{}' found", name);
    text.remove_prefix(close + 1);
  }
  return result;
}

/// Errors of terms name the column in the line.
Result<StatedEquation> parse_line(std::string_view line) {
  constexpr std::string_view kBetween = " | ";
  const std::string_view whole = line;
  std::vector<std::string_view> fields;
  for (size_t at; (at = line.find(kBetween)) != std::string_view::npos; line.remove_prefix(at + kBetween.size()))
    fields.push_back(trimmed(line.substr(0, at)));
  if (fields.size() > 2) return invalid("", "label | types | equation expected, {} fields found", fields.size() + 1);
  StatedEquation result;
  TRY(result.outputs, parse_outputs(whole, trimmed(line)));
  if (!fields.empty() && (fields.size() == 2 || fields.back().ends_with(']'))) {
    TRY(result.types, parse_types(fields.back()));
    fields.pop_back();
  }
  if (!fields.empty()) result.label = fields.back();
  if (!is_rule_name(result.label))
    return invalid("", "a label without tabs, quotes and control characters expected, '{}' found", result.label);
  return result;
}

int64_t elements_of(const verify::VariableTypes& types) {
  return std::accumulate(types.begin(), types.end(), int64_t{0},
                         [](int64_t sum, const auto& type) { return sum + element_count(*type.second.shape).value(); });
}

/// What a proof by functions of elements does not see: they need not have values everywhere.
std::optional<verify::Counterexample> value_of_one_side(const StatedEquation& equation, Random& random) {
  constexpr int kDraws = 32;
  for (const Output& output : equations_at(equation, *equation.types))
    for (int draw = 0; draw < kDraws; ++draw)
      if (auto found = verify::value_of_one_side({{output.left, output.right, {}}, *equation.types}, random))
        return found;
  return std::nullopt;
}

}  // namespace

std::string StatedEquation::text() const {
  Rule rule;
  rule.outputs = outputs;
  return rule.text();
}

ParsedEquations parse_lines(std::string_view text) {
  ParsedEquations result;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    if (trimmed(line).empty() || trimmed(line).starts_with('#')) continue;
    auto equation = parse_line(line);
    if (!equation.ok()) {
      result.faults.emplace(number, std::move(equation).error().within(fmt::format("line {}", number)));
      continue;
    }
    equation->line = number;
    result.equations.push_back(*std::move(equation));
  }
  return result;
}

Result<std::vector<StatedEquation>> parse_equations(std::string_view text) {
  ParsedEquations parsed = parse_lines(text);
  if (!parsed.faults.empty()) return std::move(parsed.faults.begin()->second);
  return std::move(parsed.equations);
}

std::vector<Output> equations_at(const StatedEquation& equation, const verify::VariableTypes& types) {
  Rule rule;
  rule.outputs = equation.outputs;
  return equations_at(rule, {types, {}});
}

std::string_view Judgement::name() const {
  switch (verdict) {
    case Verdict::kProved: return "proved";
    case Verdict::kRefuted: return "refuted";
    case Verdict::kUnknown: return "unknown";
  }
  CHECK(false);
}

std::optional<verify::Counterexample> counterexample_of(const StatedEquation& equation, FloatClass float_class,
                                                        Random& random) {
  CHECK(equation.types.has_value());
  const std::vector<Output> outputs = equations_at(equation, *equation.types);
  std::vector<bool> is_rational(outputs.size(), true);
  const auto instance = [&](size_t k) {
    return verify::LawInstance{{outputs[k].left, outputs[k].right, {}}, *equation.types};
  };
  for (const verify::DrawnInputs& drawn : kDrawn)
    for (size_t k = 0; k < outputs.size(); ++k)
      for (int input = 0; input < kInputs; ++input) {
        auto check = verify::check_instance(instance(k), random, float_class, drawn);
        is_rational[k] = is_rational[k] && check && check->over_rationals;
        if (!check) break;
        if (check->counterexample && check->in_doubles)
          check->counterexample = stable_counterexample(instance(k), random);
        if (check->counterexample) return smallest(equation, k, *std::move(check->counterexample), random);
      }
  for (size_t k = 0; k < outputs.size(); ++k)
    if (!is_rational[k])
      if (auto found = far_counterexample(instance(k), random)) return found;
  return std::nullopt;
}

Result<Judgement> judge(const StatedEquation& equation, verify::Prover& prover, uint64_t seed) {
  Random random(seed);
  // To refute what is false takes less than to find that nothing proves it.
  if (auto counterexample = counterexample_of(equation, FloatClass::kUnsafe, random)) {
    Judgement result;
    result.verdict = Judgement::Verdict::kRefuted;
    result.counterexample = std::move(counterexample);
    return result;
  }
  return judge_unrefuted(equation, prover, random);
}

Result<Judgement> judge_unrefuted(const StatedEquation& equation, verify::Prover& prover, Random& random) {
  CHECK(equation.types.has_value());
  Judgement result;
  bool is_proved = true;
  for (const Output& output : equations_at(equation, *equation.types)) {
    const verify::Law claim{output.left, output.right, {}};
    TRY(const verify::Proof proof, verify::prove(claim, *equation.types, prover));
    if (proof.certificate) {
      result.proof.uses.insert(result.proof.uses.end(), proof.certificate->uses.begin(), proof.certificate->uses.end());
      continue;
    }
    result.stop = proof.stop;
    if (!prover.arithmetic) {
      TRY(verify::ArithmeticSolver arithmetic, verify::ArithmeticSolver::start());
      prover.arithmetic.emplace(std::move(arithmetic));
    }
    TRY(const verify::ByElements elements,
        verify::compare_elements(claim, *equation.types, prover.laws.signatures(), *prover.arithmetic));
    is_proved &= elements != verify::ByElements::kNot;
    result.by_elements |= elements == verify::ByElements::kByFunctions || elements == verify::ByElements::kBySolver;
    if (elements == verify::ByElements::kBySums)
      result.proof.uses.push_back(verify::use_by_elements(output.left, output.right));
  }
  // What has a proof is tried, too: a false law proves much.
  const FloatClass float_class = !is_proved           ? FloatClass::kExact
                                 : result.by_elements ? FloatClass::kUnsafe
                                                      : float_class_of(result.proof, prover.laws.axioms());
  if (float_class < FloatClass::kFinite)
    result.counterexample = counterexample_of(equation, float_class, random);
  else if (result.by_elements)
    result.counterexample = value_of_one_side(equation, random);
  if (result.counterexample)
    result.verdict = Judgement::Verdict::kRefuted;
  else if (is_proved)
    result.verdict = Judgement::Verdict::kProved;
  if (result.verdict != Judgement::Verdict::kProved) result.proof = {};
  return result;
}

std::vector<StatedEquation> with_drawn_types(const StatedEquation& equation, int draws, uint64_t seed) {
  const Output& first = equation.outputs.front();
  const std::vector<std::string> needed = verify::variables(sides(equation.outputs));
  Random random(seed);
  std::multimap<int64_t, StatedEquation, std::greater<>> by_size;
  for (const std::string_view family : {"equal", "broadcast", "ranked", "matrices", "images"})
    for (int draw = 0; draw < draws; ++draw) {
      const auto drawn = verify::draw_instance({first.left, first.right, {}}, family, random, 20);
      if (!drawn) continue;
      verify::Bindings names;
      if (!verify::bind(first.left, drawn->law.left, names) || !verify::bind(first.right, drawn->law.right, names))
        continue;
      if (!std::all_of(needed.begin(), needed.end(),
                       [&](const std::string& name) { return drawn->types.contains(name); }))
        continue;
      names.tensors.clear();
      StatedEquation typed = equation;
      typed.types = drawn->types;
      for (Output& output : typed.outputs) output = {substitute(output.left, names), substitute(output.right, names)};
      by_size.emplace(elements_of(drawn->types), std::move(typed));
    }
  std::vector<StatedEquation> result;
  for (auto& [size, each] : by_size) result.push_back(std::move(each));
  return result;
}

}  // namespace isomer::substitutions
