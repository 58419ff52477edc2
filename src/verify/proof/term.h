// Terms: tensors as expressions over variables and operators, the language of laws, rules and proofs. The text form:
//
//   Conv(Concat(x,y){axis=1},w){group=1,..p} = … if x_1 == y_1
//
// In braces stands what an operator is told beside tensors, by the names of its row: attributes, and inputs that hold
// integers known beforehand (axes, pads, a shape). `..p` stands for all those not named, the same wherever p stands.
// Integers are arithmetic, in the text form of tensor expressions, over numbers and the names that a law leaves open;
// `x_1` is dim 1 of the variable x, `x_back1` its last one, `x_rank` its rank. `Split(x){axis=0,split=[a,b]}.1` is the
// second output. A number is a tensor without dims.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/each_dim.h"
#include "graph/op_def.h"
#include "util/result.h"

namespace isomer::verify {

using Parameter = std::variant<Dim, std::vector<Dim>, float, std::string>;
using Parameters = std::map<std::string, Parameter, std::less<>>;
/// Calls `look` with each integer in it.
template <IsOf<Parameter> Some, class F>
void for_each_dim(Some& parameter, F&& look) {
  if (auto* one = std::get_if<Dim>(&parameter)) look(*one);
  if (auto* several = std::get_if<std::vector<Dim>>(&parameter))
    for (auto& each : *several) look(each);
}
template <IsOf<Parameters> Some, class F>
void for_each_dim(Some& parameters, F&& look) {
  for (auto& [name, value] : parameters) for_each_dim(value, look);
}

/// Immutable; copies share.
class Term {
 public:
  struct Variable {
    std::string name;
    bool operator==(const Variable&) const = default;
  };
  struct Number {
    te::Number value;
    bool operator==(const Number&) const = default;
  };
  struct Application {
    const OpDef* op = nullptr;
    int output = 0;
    Parameters parameters;
    std::string rest;  ///< the name behind `..`; empty: what is not named has its default
    std::vector<Term> arguments;
    bool operator==(const Application&) const = default;
  };
  using Form = std::variant<Variable, Number, Application>;

  Term(Form form);
  static Term variable(std::string name) { return Term(Variable{std::move(name)}); }

  const Form& form() const { return node_->form; }
  const Variable* as_variable() const { return std::get_if<Variable>(&form()); }
  const Application* as_application() const { return std::get_if<Application>(&form()); }
  size_t hash() const { return node_->hash; }
  bool operator==(const Term& other) const;
  std::string text() const;

 private:
  struct Node {
    Form form;
    size_t hash = 0;
  };
  std::shared_ptr<const Node> node_;
};

struct Law {
  Term left, right;
  te::Expr condition;  ///< over integers; empty: none
  bool operator==(const Law&) const = default;
  std::string text() const;
};

/// Errors name line and column, and what was expected there.
Result<Term> parse_term(std::string_view text);
Result<Law> parse_law(std::string_view text);

struct OpenParameters {
  Parameters named;
  std::string rest;  ///< empty: these are all
};
/// "{axis=1,..p}", of an operator's application; of none: all names are of integers.
Result<OpenParameters> parse_parameters(std::string_view text, const OpDef* op);

std::string text(const Parameter& parameter);

/// The variables of tensors, in the order in which they first stand.
std::vector<std::string> variables(const std::vector<Term>& terms);

struct TermHash {
  size_t operator()(const Term& term) const { return term.hash(); }
};

}  // namespace isomer::verify
