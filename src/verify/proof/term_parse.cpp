#include <algorithm>

#include "graph/te/parser.h"
#include "verify/proof/term.h"

namespace isomer::verify {
namespace {

class TermParser {
 public:
  explicit TermParser(std::string_view text) : parser_(text) {}

  Result<Term> whole_term() {
    TRY(Term result, term());
    if (!parser_.at_end()) return parser_.expected("nothing more");
    return result;
  }

  Result<OpenParameters> whole_parameters(const OpDef* op) {
    OpenParameters result;
    TRY_VOID(parser_.expect("{"));
    TRY_VOID(parameters(op, result.named, result.rest));
    if (!parser_.at_end()) return parser_.expected("nothing more");
    return result;
  }

  Result<Law> whole_law() {
    TRY(Term left, term());
    TRY_VOID(parser_.expect("="));
    TRY(Term right, term());
    Law law{std::move(left), std::move(right), {}};
    if (parser_.accept("if")) {
      TRY(law.condition, parser_.expression());
      if (law.condition.dtype() != DataType::kBool) return parser_.expected("a condition before this");
    }
    if (!parser_.at_end()) return parser_.expected("nothing more");
    return law;
  }

 private:
  static constexpr int kDeepest = 256;

  Result<Term> term() {
    if (++depth_ > kDeepest) return parser_.expected("terms that are not so deep");
    auto result = shallow_term();
    --depth_;
    return result;
  }

  Result<Term> shallow_term() {
    if (parser_.at_number() || parser_.at("-")) {
      TRY(const te::Expr value, parser_.expression());
      const auto* literal = te::as<te::Literal>(value);
      if (!literal) return parser_.expected("a number before this");
      return Term(Term::Number{literal->value});
    }
    TRY(std::string word, parser_.word());
    if (!parser_.accept("(")) return Term::variable(std::move(word));
    Term::Application application;
    application.op = find_op(word);
    if (!application.op) return invalid("", "an operator expected before '(', '{}' found", word);
    while (!parser_.accept(")")) {
      if (!application.arguments.empty()) TRY_VOID(parser_.expect(","));
      TRY(Term argument, term());
      application.arguments.push_back(std::move(argument));
    }
    if (parser_.accept("{")) TRY_VOID(parameters(application.op, application.parameters, application.rest));
    if (parser_.accept(".")) {
      TRY(application.output, parser_.expect_number());
    }
    return Term(std::move(application));
  }

  Result<void> parameters(const OpDef* op, Parameters& named, std::string& rest) {
    for (bool is_first = true; !parser_.accept("}"); is_first = false) {
      if (!is_first) TRY_VOID(parser_.expect(","));
      if (parser_.accept(".")) {
        TRY_VOID(parser_.expect("."));
        TRY(rest, parser_.word());
        TRY_VOID(parser_.expect("}"));
        return {};
      }
      TRY(const std::string name, parser_.word());
      TRY_VOID(parser_.expect("="));
      TRY(Parameter value, parameter(op, name));
      if (!named.emplace(name, std::move(value)).second)
        return invalid("", "each parameter once expected, '{}' stands there again", name);
    }
    return {};
  }

  Result<Parameter> parameter(const OpDef* op, const std::string& name) {
    if (!op) return integers();
    const auto attribute = std::ranges::find_if(op->attributes, [&](const AttributeDef& a) { return a.name == name; });
    const bool is_input = std::ranges::any_of(op->inputs, [&](const isomer::Parameter& p) { return p.name == name; });
    if (attribute == op->attributes.end() && !is_input)
      return invalid("", "a parameter of {} expected, '{}' found", op->name, name);
    if (!is_input && attribute->kind == AttributeKind::kString) {
      TRY(std::string text, parser_.quoted_text());
      return Parameter(std::move(text));
    }
    if (!is_input && attribute->kind == AttributeKind::kFloat) {
      TRY(const te::Expr value, parser_.expression());
      const auto* literal = te::as<te::Literal>(value);
      if (!literal) return parser_.expected("a number before this");
      return Parameter(static_cast<float>(literal->value.to_double()));
    }
    return integers();
  }

  Result<Parameter> integers() {
    if (!parser_.at("[")) {
      TRY(const te::Expr integer, parser_.index_expression());
      return Parameter(Dim(integer));
    }
    TRY(const std::vector<te::Expr> integers, parser_.index_list());
    return Parameter(std::vector<Dim>(integers.begin(), integers.end()));
  }

  te::Parser parser_;
  int depth_ = 0;
};

}  // namespace

Result<Term> parse_term(std::string_view text) { return TermParser(text).whole_term(); }
Result<Law> parse_law(std::string_view text) { return TermParser(text).whole_law(); }
Result<OpenParameters> parse_parameters(std::string_view text, const OpDef* op) {
  return TermParser(text).whole_parameters(op);
}

}  // namespace isomer::verify
