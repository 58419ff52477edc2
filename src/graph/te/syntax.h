// The words and precedences of the text form, for its printer and its parser.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "graph/te/expr.h"

namespace isomer::te {

enum class Precedence : int { kOr = 1, kXor, kAnd, kCompare, kShift, kSum, kProduct, kUnary, kPrimary };
constexpr Precedence tighter(Precedence p) { return static_cast<Precedence>(static_cast<int>(p) + 1); }

struct BinarySyntax {
  BinaryOp op;
  std::string_view text;          ///< the infix operator, or the function's name
  std::string_view text_of_bool;  ///< on bool, where that differs
  Precedence precedence;          ///< kPrimary: written as a function
};
const BinarySyntax& syntax_of(BinaryOp op);
/// The operation that an infix operator or a function's name stands for.
const BinarySyntax* find_binary(std::string_view text);

std::string_view name_of(UnaryOp op);
std::optional<UnaryOp> find_unary(std::string_view name);

/// "i", "r", "t", "left", "right", "k": followed by the variable's number.
std::string_view prefix_of(VarKind kind);
/// "in", "s", "inner", "state", "local": followed by the buffer's number.
std::string_view prefix_of(BufferRef::Kind kind);

/// A word and a number: "in12".
struct Numbered {
  std::string_view prefix;
  int number;
};
std::optional<Numbered> split_number(std::string_view word);
std::optional<VarKind> find_var(std::string_view prefix);
std::optional<BufferRef::Kind> find_buffer(std::string_view prefix);

/// True for a word that means something in the text form, and so can't be a symbol without quotes.
bool is_reserved(std::string_view word);

/// In double quotes; quotes, backslashes and every byte outside printable ASCII escaped as \xHH.
std::string quoted(std::string_view text);

}  // namespace isomer::te
