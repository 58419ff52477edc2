// The recursive-descent parser of the text form; parse.cpp reads expressions with it, parse_program.cpp programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/te/expr.h"
#include "graph/te/syntax.h"
#include "util/result.h"

namespace isomer::te {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { advance(); }

  Result<Expr> expression();
  /// An int64 expression.
  Result<Expr> index_expression();
  /// "[a, b, …]" of int64 expressions.
  Result<std::vector<Expr>> index_list();
  Result<void> expect(std::string_view token);
  Result<int> expect_number();
  /// Takes the token if it comes next.
  bool accept(std::string_view token);
  bool at(std::string_view token) const { return kind_ != Kind::kString && token_ == token; }
  bool at_end() const { return kind_ == Kind::kEnd; }
  Result<DataType> data_type();
  /// "name12" with the given name: its number.
  Result<int> numbered(std::string_view prefix);
  bool at_numbered(std::string_view prefix) const;
  Result<std::string> quoted_text();
  Result<std::string> word();
  bool at_number() const { return kind_ == Kind::kNumber; }
  /// "line 2, column 7: expected …, found …"; "column 7: …" where the text is one line.
  Error expected(std::string_view what) const;

 private:
  enum class Kind { kWord, kNumber, kString, kSymbol, kEnd };
  /// A literal without a type takes that of its neighbour.
  struct Operand {
    Expr expr;
    bool takes_type = false;
  };
  class Nesting;

  void advance();
  /// An operand with all operators behind it that bind at least this tightly.
  Result<Operand> operand(Precedence least);
  Result<Operand> prefix();
  Result<Operand> primary();
  Result<Operand> number(bool negative);
  Result<Operand> from_word();
  Result<Operand> load_from(BufferRef buffer);
  Result<Operand> call(std::string_view function);
  Result<std::vector<Operand>> arguments(size_t count);
  Result<Operand> combine(BinaryOp op, Operand left, Operand right) const;
  Result<DataType> type_suffix(DataType otherwise);
  Error mistake(std::string_view what) const;

  std::string_view text_;
  size_t position_ = 0;  ///< behind the token
  size_t start_ = 0;     ///< of the token
  Kind kind_ = Kind::kEnd;
  std::string token_;
  int depth_ = 0;
};

}  // namespace isomer::te
