// Rules with something changed: each mutant of a side, of a place or of a proof is rejected, or is as true as the rule
// was, which exact execution shows.
#include <gtest/gtest.h>

#include <array>

#include "substitutions/generated.h"
#include "support/long_run.h"
#include "verify/proof/refute/check_instance.h"
#include "verify/prover/prove.h"

namespace isomer::substitutions::test {
namespace {

using verify::Parameter;
using verify::Parameters;
using verify::Term;

/// Inputs that mutants are tried on; the share of places that are.
const int kInputs = isomer::test::is_long_run() ? 5 : 1;
const double kPlaces = isomer::test::is_long_run() ? 1 : 0.15;

constexpr std::array<std::array<std::string_view, 2>, 14> kRelatives = {{{"MaxPool", "AveragePool"},
                                                                         {"Add", "Mul"},
                                                                         {"Add", "Sub"},
                                                                         {"Add", "Max"},
                                                                         {"Mul", "Div"},
                                                                         {"Mul", "MatMul"},
                                                                         {"Relu", "Sigmoid"},
                                                                         {"Relu", "Abs"},
                                                                         {"Relu", "Neg"},
                                                                         {"Max", "Min"},
                                                                         {"Sub", "Div"},
                                                                         {"MatMul", "Add"},
                                                                         {"ReduceSum", "ReduceMean"},
                                                                         {"Sigmoid", "Tanh"}}};
constexpr std::array<std::array<std::string_view, 2>, 3> kWords = {
    {{"constant", "edge"}, {"constant", "reflect"}, {"NOTSET", "SAME_UPPER"}}};

std::vector<Parameter> changed(const Parameter& value) {
  std::vector<Parameter> result;
  if (const auto* one = std::get_if<Dim>(&value)) {
    for (const int64_t by : {-1, 1}) result.emplace_back(*one + Dim(by));
  } else if (const auto* list = std::get_if<std::vector<Dim>>(&value)) {
    for (size_t k = 0; k < list->size(); ++k) {
      for (const int64_t by : {-1, 1}) {
        std::vector<Dim> other = *list;
        other[k] = other[k] + Dim(by);
        result.emplace_back(std::move(other));
      }
      for (size_t j = k + 1; j < list->size(); ++j) {
        if ((*list)[j] == (*list)[k]) continue;
        std::vector<Dim> other = *list;
        std::swap(other[k], other[j]);
        result.emplace_back(std::move(other));
      }
    }
  } else if (const auto* number = std::get_if<float>(&value)) {
    result.emplace_back(*number + 1);
  } else {
    for (const auto& [one, other] : kWords)
      if (std::get<std::string>(value) == one) result.emplace_back(std::string(other));
  }
  return result;
}

/// The term with one thing changed, in all ways.
std::vector<Term> mutants(const Term& term) {
  std::vector<Term> result;
  if (std::holds_alternative<Term::Number>(term.form())) return {Term(Term::Number{te::Number::fraction(7, 2)})};
  const auto* application = term.as_application();
  if (!application) return result;
  const auto with = [&](const auto& change) {
    Term::Application other = *application;
    change(other);
    result.emplace_back(std::move(other));
  };
  for (const auto& [name, value] : application->parameters)
    for (Parameter& other : changed(value)) with([&](Term::Application& a) { a.parameters[name] = std::move(other); });
  for (size_t k = 0; k < application->arguments.size(); ++k) {
    for (size_t j = k + 1; j < application->arguments.size(); ++j)
      with([&](Term::Application& a) { std::swap(a.arguments[k], a.arguments[j]); });
    for (Term& other : mutants(application->arguments[k]))
      with([&](Term::Application& a) { a.arguments[k] = std::move(other); });
  }
  if (application->op->outputs.size() > 1 || application->op->name == "Split")
    with([](Term::Application& a) { a.output = 1 - a.output; });
  if (!application->arguments.empty()) result.push_back(application->arguments.front());
  for (const auto& [one, other] : kRelatives) {
    if (application->op->name == one) with([&](Term::Application& a) { a.op = find_op("", other); });
    if (application->op->name == other) with([&](Term::Application& a) { a.op = find_op("", one); });
  }
  return result;
}

struct Counts {
  int mutants = 0, ill_typed = 0, unproved = 0, refuted = 0, equivalent = 0;
  std::string text() const {
    return fmt::format("{} mutants: {} ill typed, {} not proved ({} of them refuted), {} equivalent", mutants,
                       ill_typed, unproved, refuted, equivalent);
  }
};

class Mutations : public testing::Test {
 protected:
  static void SetUpTestSuite() { rules_ = generated("taso", isomer::test::is_long_run() ? 3 : 2).rules; }

  /// A counterexample on some inputs.
  std::optional<verify::Counterexample> differs(const Output& output, const verify::VariableTypes& types,
                                                FloatClass float_class) {
    for (int trial = 0; trial < kInputs; ++trial)
      if (const auto check = verify::check_instance({{output.left, output.right, {}}, types}, random_, float_class);
          check && check->counterexample)
        return check->counterexample;
    return std::nullopt;
  }

  bool is_equation(const Output& output, const verify::VariableTypes& types) {
    const auto left = verify::spelled_out(output.left, types, laws_.signatures()),
               right = verify::spelled_out(output.right, types, laws_.signatures());
    return left.ok() && right.ok() && left->type == right->type;
  }

  bool holds(const Rule& rule, const RuleInstance& at) {
    return holds_at(rule, at, laws_.axioms(), laws_.signatures()).ok();
  }

  /// The rule at this place: rejected, or true there.
  void try_place(const Rule& rule, const RuleInstance& at, double share = kPlaces) {
    if (!random_.chance(share)) return;
    ++counts_.mutants;
    if (!holds(rule, at)) {
      ++counts_.unproved;
      return;
    }
    for (const Output& output : equations_at(rule, at))
      if (const auto counterexample = differs(output, at.types, float_class_of(rule.proof, laws_.axioms())))
        ADD_FAILURE() << rule.text() << "\n" << counterexample->text();
    ++counts_.equivalent;
  }

  static std::vector<Rule> rules_;
  verify::Prover prover_ = *verify::Prover::start();
  verify::LawSet& laws_ = prover_.laws;
  Random random_{1};
  Counts counts_;
};
std::vector<Rule> Mutations::rules_;

/// One number, operand, operator or output of a side.
TEST_F(Mutations, OfSidesAreRejectedOrTrue) {
  for (const Rule& rule : rules_)
    for (const Output& output : equations_at(rule, rule.example)) {
      const Output whole{verify::spelled_out(output.left, rule.example.types, laws_.signatures())->term,
                         verify::spelled_out(output.right, rule.example.types, laws_.signatures())->term};
      std::vector<Output> changed;
      for (Term& left : mutants(whole.left)) changed.push_back({std::move(left), whole.right});
      for (Term& right : mutants(whole.right)) changed.push_back({whole.left, std::move(right)});
      for (const Output& mutant : changed) {
        if (mutant == whole || (!isomer::test::is_long_run() && random_.chance(0.5))) continue;
        ++counts_.mutants;
        if (!is_equation(mutant, rule.example.types)) {
          ++counts_.ill_typed;
          continue;
        }
        const auto proof = verify::prove({mutant.left, mutant.right, {}}, rule.example.types, prover_);
        ASSERT_TRUE(proof.ok()) << proof.error().message();
        if (!proof->certificate) {
          ++counts_.unproved;
          counts_.refuted += differs(mutant, rule.example.types, FloatClass::kExact) ? 1 : 0;
          continue;
        }
        ++counts_.equivalent;
        const auto counterexample =
            differs(mutant, rule.example.types, float_class_of(*proof->certificate, laws_.axioms()));
        EXPECT_FALSE(counterexample) << counterexample->text();
      }
    }
  fmt::print("{} rules: {}\n", rules_.size(), counts_.text());
  EXPECT_EQ(counts_.ill_typed + counts_.unproved + counts_.equivalent, counts_.mutants);
}

/// A dim, a name or a parameter of the place where a rule is used: its guard.
TEST_F(Mutations, OfPlacesAreRejectedOrTrue) {
  for (const Rule& rule : rules_) {
    for (const auto& [name, type] : rule.example.types)
      for (size_t axis = 0; axis < type.shape->size(); ++axis)
        for (const int64_t by : {-1, 1}) {
          RuleInstance at = rule.example;
          Dim& dim = (*at.types.find(name)->second.shape)[axis];
          dim = dim + Dim(by);
          try_place(rule, at);
        }
    for (const auto& [name, value] : rule.example.names.integers)
      for (const int64_t by : {-1, 1}) {
        RuleInstance at = rule.example;
        at.names.integers.find(name)->second = value + Dim(by);
        try_place(rule, at);
      }
    for (const auto& [name, parameters] : rule.example.names.rests)
      for (const auto& [parameter, value] : parameters)
        for (Parameter& other : changed(value)) {
          RuleInstance at = rule.example;
          at.names.rests.find(name)->second.insert_or_assign(parameter, std::move(other));
          try_place(rule, at);
        }
  }
  fmt::print("{} rules: {}\n", rules_.size(), counts_.text());
}

/// Without a use, with one of another law, or of other terms and numbers; what is accepted still proves a rule that is
/// true.
TEST_F(Mutations, OfProofsAreRejectedOrProofs) {
  for (const Rule& rule : rules_) {
    const auto try_proof = [&](const auto& change) {
      Rule mutant = rule;
      change(mutant.proof.uses);
      try_place(mutant, mutant.example, 1);
    };
    for (size_t use = 0; use < rule.proof.uses.size(); ++use) {
      const verify::Bindings& bindings = rule.proof.uses[use].bindings;
      try_proof([&](auto& uses) { uses.erase(uses.begin() + static_cast<std::ptrdiff_t>(use)); });
      for (const int by : {-1, 1})
        if (const int other = rule.proof.uses[use].law + by;
            other >= 0 && other < static_cast<int>(laws_.axioms().size()))
          try_proof([&](auto& uses) { uses[use].law = other; });
      for (const auto& [name, term] : bindings.tensors) {
        for (const auto& [variable, type] : rule.example.types)
          if (!(term == Term::variable(variable)))
            try_proof([&](auto& uses) { uses[use].bindings.tensors.insert_or_assign(name, Term::variable(variable)); });
        for (const Term& other : mutants(term))
          try_proof([&](auto& uses) { uses[use].bindings.tensors.insert_or_assign(name, other); });
        try_proof([&](auto& uses) { uses[use].bindings.tensors.erase(name); });
      }
      for (const auto& [name, value] : bindings.integers)
        for (const int64_t by : {-1, 1})
          try_proof([&](auto& uses) { uses[use].bindings.integers.insert_or_assign(name, value + Dim(by)); });
      for (const auto& [name, parameters] : bindings.rests)
        for (const auto& [parameter, value] : parameters)
          for (const Parameter& other : changed(value))
            try_proof(
                [&](auto& uses) { uses[use].bindings.rests.find(name)->second.insert_or_assign(parameter, other); });
    }
  }
  fmt::print("{} rules: {}\n", rules_.size(), counts_.text());
}

}  // namespace
}  // namespace isomer::substitutions::test
