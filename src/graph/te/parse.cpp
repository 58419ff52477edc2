
#include "graph/te/parser.h"
#include "graph/te/print.h"
#include "util/parse_number.h"

namespace isomer::te {
namespace {

constexpr int kMaxExprDepth = 300;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

Expr retyped(const Expr& expr, DataType dtype) { return literal(as<Literal>(expr)->value, dtype); }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

/// Counts how deep the parser is nested, while it lives.
class Parser::Nesting {
 public:
  explicit Nesting(int& depth) : depth_(depth), before_(depth++) {}
  ~Nesting() { depth_ = before_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  int& depth_;
  const int before_;
};

Error Parser::mistake(std::string_view what) const {
  size_t line = 1, column = 1;
  for (size_t i = 0; i < start_ && i < text_.size(); ++i) {
    ++column;
    if (text_[i] == '\n') ++line, column = 1;
  }
  const bool has_lines = text_.find('\n') != std::string_view::npos;
  return invalid(has_lines ? fmt::format("line {}, column {}", line, column) : fmt::format("column {}", column), "{}",
                 what);
}

Error Parser::expected(std::string_view what) const {
  return mistake(fmt::format("expected {}, found {}", what, at_end() ? "the end" : quoted(token_)));
}

void Parser::advance() {
  while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) ++position_;
  start_ = position_;
  token_.clear();
  kind_ = Kind::kEnd;
  if (position_ == text_.size()) return;
  const auto take_while = [&](auto holds) {
    while (position_ < text_.size() && holds(text_[position_])) token_ += text_[position_++];
  };
  const char first = text_[position_];
  const auto next_is = [&](char c) { return position_ + 1 < text_.size() && text_[position_ + 1] == c; };
  if (is_letter(first)) {
    kind_ = Kind::kWord;
    take_while([](char c) { return is_letter(c) || is_digit(c); });
  } else if (is_digit(first)) {
    // 12, 1/3, 5/1p-40, 0.5, 1e-3
    kind_ = Kind::kNumber;
    take_while(is_digit);
    const auto digit_at = [&](size_t position) { return position < text_.size() && is_digit(text_[position]); };
    if (position_ < text_.size() && text_[position_] == '.' && digit_at(position_ + 1)) {
      token_ += text_[position_++];
      take_while(is_digit);
    }
    if (position_ < text_.size() && text_[position_] == 'e') {
      const bool is_signed = next_is('-') || next_is('+');
      if (digit_at(position_ + (is_signed ? 2 : 1))) {
        token_ += text_[position_++];
        if (is_signed) token_ += text_[position_++];
        take_while(is_digit);
      }
    }
    if (position_ + 1 < text_.size() && text_[position_] == '/' && is_digit(text_[position_ + 1])) {
      token_ += text_[position_++];
      take_while(is_digit);
    }
    if (position_ < text_.size() && text_[position_] == 'p') {
      token_ += text_[position_++];
      take_while([&](char c) { return is_digit(c) || (c == '-' && token_.back() == 'p'); });
    }
  } else if (first == '"') {
    kind_ = Kind::kString;
    for (++position_; position_ < text_.size() && text_[position_] != '"'; ++position_) {
      if (text_[position_] == '\\') {
        const bool is_hex = next_is('x') && position_ + 3 < text_.size() && hex_value(text_[position_ + 2]) >= 0 &&
                            hex_value(text_[position_ + 3]) >= 0;
        if (is_hex) {
          token_ += static_cast<char>(hex_value(text_[position_ + 2]) * 16 + hex_value(text_[position_ + 3]));
          position_ += 3;
          continue;
        }
        if (++position_ == text_.size()) break;
      }
      token_ += text_[position_];
    }
    if (position_ < text_.size()) ++position_;
  } else {
    kind_ = Kind::kSymbol;
    token_ = first;
    ++position_;
    for (const std::string_view two : {"<=", "<<", ">>", "==", "&&", "||"})
      if (first == two[0] && position_ < text_.size() && text_[position_] == two[1]) {
        token_ += two[1];
        ++position_;
        break;
      }
  }
}

bool Parser::accept(std::string_view token) {
  if (at_end() || !at(token)) return false;
  advance();
  return true;
}

Result<void> Parser::expect(std::string_view token) {
  if (!accept(token)) return expected(quoted(token));
  return {};
}

Result<std::string> Parser::quoted_text() {
  if (kind_ != Kind::kString) return expected("a text in quotes");
  std::string result = std::move(token_);
  advance();
  return result;
}

Result<std::string> Parser::word() {
  if (kind_ != Kind::kWord) return expected("a word");
  std::string result = std::move(token_);
  advance();
  return result;
}

Result<int> Parser::expect_number() {
  const auto value = parse_number<int>(token_);
  if (kind_ != Kind::kNumber || !value) return expected("a number");
  advance();
  return *value;
}

Result<DataType> Parser::data_type() {
  const DataType type = kind_ == Kind::kWord ? parse_data_type(token_) : DataType::kUndefined;
  if (!is_computable(type)) return expected("a computable type");
  advance();
  return type;
}

bool Parser::at_numbered(std::string_view prefix) const {
  const auto split = kind_ == Kind::kWord ? split_number(token_) : std::nullopt;
  return split && split->prefix == prefix;
}

Result<int> Parser::numbered(std::string_view prefix) {
  if (!at_numbered(prefix)) return expected(fmt::format("\"{}\" with a number", prefix));
  const int number = split_number(token_)->number;
  advance();
  return number;
}

Result<DataType> Parser::type_suffix(DataType otherwise) {
  if (!accept(":")) return otherwise;
  return data_type();
}

Result<Expr> Parser::expression() {
  TRY(Operand result, operand(Precedence::kOr));
  return std::move(result.expr);
}

Result<Expr> Parser::index_expression() {
  TRY(Expr result, expression());
  if (result.dtype() != DataType::kInt64)
    return mistake(fmt::format("expected an int64 index, found {}", name(result.dtype())));
  return result;
}

Result<std::vector<Expr>> Parser::index_list() {
  std::vector<Expr> list;
  TRY_VOID(expect("["));
  while (!at("]")) {
    if (!list.empty()) TRY_VOID(expect(","));
    TRY(Expr item, index_expression());
    list.push_back(std::move(item));
  }
  TRY_VOID(expect("]"));
  return list;
}

Result<Parser::Operand> Parser::combine(BinaryOp op, Operand left, Operand right) const {
  if (left.takes_type && !right.takes_type) left.expr = retyped(left.expr, right.expr.dtype());
  if (right.takes_type) right.expr = retyped(right.expr, left.expr.dtype());
  if (left.expr.dtype() != right.expr.dtype())
    return mistake(fmt::format("the operands of {} have types {} and {}", syntax_of(op).text, name(left.expr.dtype()),
                               name(right.expr.dtype())));
  return Operand{binary(op, std::move(left.expr), std::move(right.expr))};
}

Result<Parser::Operand> Parser::operand(Precedence least) {
  const Nesting nesting(depth_);
  if (depth_ > kMaxExprDepth) return mistake("the expression is nested too deeply");
  TRY(Operand left, prefix());
  for (Precedence most = Precedence::kProduct;;) {
    const BinarySyntax* syntax = kind_ == Kind::kWord || kind_ == Kind::kSymbol ? find_binary(token_) : nullptr;
    if (!syntax || syntax->precedence < least || syntax->precedence > most) return left;
    // Each link of a + b + c is one more around the first.
    if (++depth_ > kMaxExprDepth) return mistake("the expression is nested too deeply");
    advance();
    TRY(Operand right, operand(tighter(syntax->precedence)));
    TRY(left, combine(syntax->op, std::move(left), std::move(right)));
    // Sums go on to the left; a < b < c is none.
    most = syntax->precedence == Precedence::kCompare ? Precedence::kAnd : syntax->precedence;
  }
}

Result<Parser::Operand> Parser::prefix() {
  if (at("-") && kind_ == Kind::kSymbol) {
    const size_t behind = position_;
    advance();
    if (start_ == behind && (kind_ == Kind::kNumber || at("inf"))) return number(true);
    TRY(Operand inner, operand(Precedence::kPrimary));
    return Operand{-inner.expr};
  }
  if (at("!") && kind_ == Kind::kSymbol) {
    advance();
    TRY(Operand inner, operand(Precedence::kPrimary));
    return Operand{logical_not(inner.expr)};
  }
  return primary();
}

Result<Parser::Operand> Parser::primary() {
  if (kind_ == Kind::kNumber) return number(false);
  if (kind_ == Kind::kString) {
    Expr result = symbol(token_);
    advance();
    return Operand{result};
  }
  if (kind_ == Kind::kWord) return from_word();
  if (!accept("(")) return expected("an expression");
  TRY(Operand inner, operand(Precedence::kOr));
  TRY_VOID(expect(")"));
  inner.takes_type = false;
  return inner;
}

Result<Parser::Operand> Parser::number(bool negative) {
  Number value;
  if (!Number::parse(fmt::format("{}{}", negative ? "-" : "", token_), value)) return expected("a number");
  advance();
  if (!at(":")) return Operand{literal(value, DataType::kInt64), true};
  TRY(const DataType type, type_suffix(DataType::kInt64));
  return Operand{literal(value, type)};
}

Result<Parser::Operand> Parser::from_word() {
  if (at("inf") || at("nan")) return number(false);
  if (at("true") || at("false")) {
    const bool value = at("true");
    advance();
    return Operand{truth(value)};
  }
  const std::string word = token_;
  if (!is_reserved(word)) {
    advance();
    return Operand{symbol(word)};
  }
  const auto split = split_number(word);
  if (split) {
    if (const auto kind = find_var(split->prefix)) {
      advance();
      TRY(const DataType type, type_suffix(DataType::kInt64));
      return Operand{te::operand(*kind, split->number, type)};
    }
    if (const auto kind = find_buffer(split->prefix)) {
      advance();
      BufferRef buffer{*kind, split->number, 0};
      if (accept(".")) {
        TRY(buffer.component, expect_number());
      }
      return load_from(buffer);
    }
  }
  return call(word);
}

Result<Parser::Operand> Parser::load_from(BufferRef buffer) {
  TRY(std::vector<Expr> index, index_list());
  TRY(const DataType type, type_suffix(DataType::kInt64));
  return Operand{load(buffer, type, std::move(index))};
}

Result<std::vector<Parser::Operand>> Parser::arguments(size_t count) {
  std::vector<Operand> result;
  TRY_VOID(expect("("));
  while (result.size() < count) {
    if (!result.empty()) TRY_VOID(expect(","));
    TRY(Operand argument, operand(Precedence::kOr));
    result.push_back(std::move(argument));
  }
  TRY_VOID(expect(")"));
  return result;
}

Result<Parser::Operand> Parser::call(std::string_view function) {
  const DataType type = parse_data_type(function);
  const auto unary_op = find_unary(function);
  const BinarySyntax* binary_syntax = find_binary(function);
  if (binary_syntax && binary_syntax->precedence != Precedence::kPrimary) binary_syntax = nullptr;
  if (!is_computable(type) && !unary_op && !binary_syntax && function != "select") return expected("an expression");
  advance();
  if (function == "select") {
    TRY(std::vector<Operand> parts, arguments(3));
    Operand &condition = parts[0], &then = parts[1], &otherwise = parts[2];
    if (condition.expr.dtype() != DataType::kBool) return mistake("the condition of select is not bool");
    if (then.takes_type && !otherwise.takes_type) then.expr = retyped(then.expr, otherwise.expr.dtype());
    if (otherwise.takes_type) otherwise.expr = retyped(otherwise.expr, then.expr.dtype());
    if (then.expr.dtype() != otherwise.expr.dtype()) return mistake("the sides of select have different types");
    return Operand{te::select(condition.expr, then.expr, otherwise.expr)};
  }
  if (binary_syntax) {
    TRY(std::vector<Operand> parts, arguments(2));
    return combine(binary_syntax->op, parts[0], parts[1]);
  }
  TRY(std::vector<Operand> parts, arguments(1));
  return Operand{unary_op ? unary(*unary_op, parts[0].expr) : cast(type, parts[0].expr)};
}

Result<Expr> parse_expr(std::string_view text) {
  Parser parser(text);
  TRY(Expr result, parser.expression());
  if (!parser.at_end()) return parser.expected("an operator or the end");
  return result;
}

}  // namespace isomer::te
