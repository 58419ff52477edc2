#include "graph/te/print.h"

#include <fmt/format.h>

#include <cctype>

#include "graph/te/syntax.h"

namespace isomer::te {
namespace {

bool is_plain_word(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  for (const char c : text)
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_') return false;
  return !is_reserved(text);
}

bool is_literal(const Expr& expr) { return as<Literal>(expr) != nullptr; }

std::string plain_name(const BufferRef& buffer) {
  std::string text = fmt::format("{}{}", prefix_of(buffer.kind), buffer.index);
  if (buffer.component != 0) text += fmt::format(".{}", buffer.component);
  return text;
}

class Printer {
 public:
  explicit Printer(const BufferNames& buffer_name) : buffer_name_(buffer_name) {}

  std::string text;

  /// `implied` is the type that the parser gives to a literal without one at this place.
  void print(const Expr& expr, Precedence around, DataType implied = DataType::kInt64) {
    visit(
        expr, [&](const Literal& e) { print_literal(e, expr.dtype(), implied); },
        [&](const Var& e) {
          text += fmt::format("{}{}", prefix_of(e.kind), e.index);
          print_type(expr.dtype());
        },
        [&](const Symbol& e) { text += is_plain_word(e.name) ? e.name : quoted(e.name); },
        [&](const Unary& e) { print_unary(e); }, [&](const Binary& e) { print_binary(e, around); },
        [&](const Select& e) {
          const DataType of_then = is_literal(e.otherwise) ? DataType::kInt64 : e.otherwise.dtype();
          call("select", {{e.condition, DataType::kInt64}, {e.then, of_then}, {e.otherwise, e.then.dtype()}});
        },
        [&](const Cast& e) { call(name(expr.dtype()), {{e.operand, DataType::kInt64}}); },
        [&](const Load& e) {
          text += buffer_name_(e.buffer);
          text += '[';
          for (size_t i = 0; i < e.index.size(); ++i) {
            if (i) text += ", ";
            print(e.index[i], Precedence::kOr);
          }
          text += ']';
          print_type(expr.dtype());
        });
  }

 private:
  void print_type(DataType dtype) {
    if (dtype != DataType::kInt64) text += fmt::format(":{}", name(dtype));
  }

  void print_literal(const Literal& e, DataType dtype, DataType implied) {
    if (dtype == DataType::kBool && (e.value.equals(0) || e.value.equals(1))) {
      text += e.value.equals(1) ? "true" : "false";
      return;
    }
    text += e.value.text();
    if (dtype != implied) text += fmt::format(":{}", name(dtype));
  }

  void call(std::string_view function, std::initializer_list<std::pair<Expr, DataType>> arguments) {
    text += function;
    text += '(';
    bool first = true;
    for (const auto& [argument, implied] : arguments) {
      if (!first) text += ", ";
      first = false;
      print(argument, Precedence::kOr, implied);
    }
    text += ')';
  }

  void print_unary(const Unary& e) {
    const bool prefix = e.op == UnaryOp::kNeg || e.op == UnaryOp::kNot;
    if (!prefix) return call(name_of(e.op), {{e.operand, DataType::kInt64}});
    text += e.op == UnaryOp::kNeg ? '-' : '!';
    // -(3) is the negation of a literal, -3 a literal.
    if (is_literal(e.operand)) return call("", {{e.operand, DataType::kInt64}});
    print(e.operand, Precedence::kUnary);
  }

  void print_binary(const Binary& e, Precedence around) {
    const BinarySyntax& syntax = syntax_of(e.op);
    const DataType of_left = is_literal(e.right) ? DataType::kInt64 : e.right.dtype();
    if (syntax.precedence == Precedence::kPrimary)
      return call(syntax.text, {{e.left, of_left}, {e.right, e.left.dtype()}});
    const bool enclosed = syntax.precedence < around;
    const bool compares = syntax.precedence == Precedence::kCompare;
    if (enclosed) text += '(';
    print(e.left, compares ? tighter(syntax.precedence) : syntax.precedence, of_left);
    const std::string_view op = e.left.dtype() == DataType::kBool ? syntax.text_of_bool : syntax.text;
    text += op == "*" ? "*" : fmt::format(" {} ", op);
    print(e.right, tighter(syntax.precedence), e.left.dtype());
    if (enclosed) text += ')';
  }

  const BufferNames& buffer_name_;
};

}  // namespace

std::string print(const Expr& expr) { return print(expr, plain_name); }

std::string print(const Expr& expr, const BufferNames& buffer_name) {
  Printer printer(buffer_name);
  printer.print(expr, Precedence::kOr);
  return std::move(printer.text);
}

}  // namespace isomer::te
