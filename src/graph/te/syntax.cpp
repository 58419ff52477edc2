#include "graph/te/syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace isomer::te {
namespace {

constexpr std::array<BinarySyntax, 18> kBinary = {{
    {BinaryOp::kAdd, "+", "+", Precedence::kSum},
    {BinaryOp::kSub, "-", "-", Precedence::kSum},
    {BinaryOp::kMul, "*", "*", Precedence::kProduct},
    {BinaryOp::kDiv, "/", "/", Precedence::kProduct},
    {BinaryOp::kFloorDiv, "floordiv", "floordiv", Precedence::kProduct},
    {BinaryOp::kFloorMod, "floormod", "floormod", Precedence::kProduct},
    {BinaryOp::kTruncMod, "%", "%", Precedence::kProduct},
    {BinaryOp::kPow, "pow", "pow", Precedence::kPrimary},
    {BinaryOp::kMin, "min", "min", Precedence::kPrimary},
    {BinaryOp::kMax, "max", "max", Precedence::kPrimary},
    {BinaryOp::kAnd, "&", "&&", Precedence::kAnd},
    {BinaryOp::kOr, "|", "||", Precedence::kOr},
    {BinaryOp::kXor, "^", "^", Precedence::kXor},
    {BinaryOp::kShiftLeft, "<<", "<<", Precedence::kShift},
    {BinaryOp::kShiftRight, ">>", ">>", Precedence::kShift},
    {BinaryOp::kEqual, "==", "==", Precedence::kCompare},
    {BinaryOp::kLess, "<", "<", Precedence::kCompare},
    {BinaryOp::kLessEqual, "<=", "<=", Precedence::kCompare},
}};

constexpr std::array<std::string_view, 23> kUnary = {"neg",  "abs",   "floor", "ceil",  "round", "sqrt", "exp",  "log",
                                                     "sin",  "cos",   "tan",   "asin",  "acos",  "atan", "sinh", "cosh",
                                                     "tanh", "asinh", "acosh", "atanh", "erf",   "not",  "isnan"};
constexpr std::array<std::string_view, 6> kVars = {"i", "r", "t", "left", "right", "k"};
constexpr std::array<std::string_view, 5> kBuffers = {"in", "s", "inner", "state", "local"};
constexpr std::array<std::string_view, 25> kWords = {
    "true",       "false", "inf",   "nan",  "select", "map",    "reduce", "scan", "update",
    "imperative", "over",  "with",  "from", "at",     "state",  "step",   "next", "output",
    "none",       "for",   "while", "if",   "else",   "resize", "ordered"};

template <class Table>
std::optional<size_t> position(const Table& table, std::string_view word) {
  const auto found = std::find(table.begin(), table.end(), word);
  return found == table.end() ? std::nullopt : std::optional(static_cast<size_t>(found - table.begin()));
}

}  // namespace

const BinarySyntax& syntax_of(BinaryOp op) { return kBinary[static_cast<size_t>(op)]; }

const BinarySyntax* find_binary(std::string_view text) {
  for (const BinarySyntax& syntax : kBinary)
    if (syntax.text == text || syntax.text_of_bool == text) return &syntax;
  return nullptr;
}

std::string_view name_of(UnaryOp op) { return kUnary[static_cast<size_t>(op)]; }

std::optional<UnaryOp> find_unary(std::string_view name) {
  const auto found = position(kUnary, name);
  return found ? std::optional(static_cast<UnaryOp>(*found)) : std::nullopt;
}

std::string_view prefix_of(VarKind kind) { return kVars[static_cast<size_t>(kind)]; }
std::string_view prefix_of(BufferRef::Kind kind) { return kBuffers[static_cast<size_t>(kind)]; }

std::optional<Numbered> split_number(std::string_view word) {
  const size_t digits = word.find_last_not_of("0123456789") + 1;
  if (digits == 0 || digits == word.size()) return std::nullopt;
  Numbered result{word.substr(0, digits), 0};
  const auto parsed = std::from_chars(word.data() + digits, word.data() + word.size(), result.number);
  return parsed.ec == std::errc() ? std::optional(result) : std::nullopt;
}

std::optional<VarKind> find_var(std::string_view prefix) {
  const auto found = position(kVars, prefix);
  return found ? std::optional(static_cast<VarKind>(*found)) : std::nullopt;
}

std::optional<BufferRef::Kind> find_buffer(std::string_view prefix) {
  const auto found = position(kBuffers, prefix);
  return found ? std::optional(static_cast<BufferRef::Kind>(*found)) : std::nullopt;
}

bool is_reserved(std::string_view word) {
  if (position(kWords, word) || find_unary(word) || find_binary(word)) return true;
  if (parse_data_type(word) != DataType::kUndefined) return true;
  const std::string_view letters = word.substr(0, word.find_last_not_of("0123456789") + 1);
  return letters != word && (find_var(letters) || find_buffer(letters));
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      result += {'\\', c};
    else if (c >= ' ' && c <= '~')
      result += c;
    else
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return result + '"';
}

}  // namespace isomer::te
