#include "verify/prover/bit_question.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>

#include "graph/node_program.h"
#include "graph/te/array.h"
#include "graph/te/integer_algebra.h"
#include "graph/te/print.h"
#include "graph/te/program.h"
#include "graph/te/simplify.h"

namespace isomer::verify {
namespace {

constexpr int64_t kMostExponent = 8;
constexpr size_t kMostElements = 256;  ///< of values, which a question may be of

struct Word {
  std::string text;
  std::optional<int64_t> number = {};  ///< which it is
};
using MaybeWord = std::optional<Word>;
using Indices = std::vector<te::Expr>;

bool has_bits(DataType dtype) { return is_int(dtype) || dtype == DataType::kBool; }

std::string sort_of(DataType dtype) {
  return dtype == DataType::kBool ? "Bool" : fmt::format("(_ BitVec {})", bit_width(dtype));
}

Word number_word(DataType dtype, int64_t number) {
  if (dtype == DataType::kBool) return {number != 0 ? "true" : "false", number != 0};
  const int width = bit_width(dtype);
  const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  return {fmt::format("(_ bv{} {})", static_cast<uint64_t>(number) & mask, width), te::wrap(dtype, number)};
}

std::string applied(std::string_view function, const Word& left, const Word& right) {
  return fmt::format("({} {} {})", function, left.text, right.text);
}

MaybeWord word_of(te::UnaryOp op, DataType dtype, const Word& operand) {
  const bool is_bool = dtype == DataType::kBool;
  switch (op) {
    case te::UnaryOp::kNot: return Word{fmt::format("({} {})", is_bool ? "not" : "bvnot", operand.text)};
    case te::UnaryOp::kNeg:
      if (is_bool) return std::nullopt;
      return Word{fmt::format("(bvneg {})", operand.text)};
    case te::UnaryOp::kAbs:
      if (is_bool) return std::nullopt;
      if (!is_signed_int(dtype)) return operand;
      return Word{fmt::format("(ite (bvslt {0} {1}) (bvneg {0}) {0})", operand.text, number_word(dtype, 0).text)};
    default: return std::nullopt;
  }
}

/// Of truth values, and what is known of both kinds.
std::string_view function_of(te::BinaryOp op, bool is_bool) {
  switch (op) {
    case te::BinaryOp::kAnd: return is_bool ? "and" : "bvand";
    case te::BinaryOp::kOr: return is_bool ? "or" : "bvor";
    case te::BinaryOp::kXor: return is_bool ? "xor" : "bvxor";
    case te::BinaryOp::kEqual: return "=";
    case te::BinaryOp::kAdd: return is_bool ? "" : "bvadd";
    case te::BinaryOp::kSub: return is_bool ? "" : "bvsub";
    case te::BinaryOp::kMul: return is_bool ? "" : "bvmul";
    default: return "";
  }
}

MaybeWord power_word(DataType dtype, const Word& base, std::optional<int64_t> exponent) {
  if (!exponent || *exponent < 0 || *exponent > kMostExponent) return std::nullopt;
  Word result = number_word(dtype, 1);
  for (int64_t k = 0; k < *exponent; ++k) result = {applied("bvmul", result, base)};
  return result;
}

/// Of integers, by a number that neither is nor may be what they have no quotient by.
MaybeWord quotient_word(te::BinaryOp op, DataType dtype, const Word& left, const Word& right) {
  if (!right.number || *right.number == 0 || *right.number == -1) return std::nullopt;
  const bool is_signed = is_signed_int(dtype);
  switch (op) {
    case te::BinaryOp::kDiv: return Word{applied(is_signed ? "bvsdiv" : "bvudiv", left, right)};
    case te::BinaryOp::kTruncMod: return Word{applied(is_signed ? "bvsrem" : "bvurem", left, right)};
    case te::BinaryOp::kFloorMod: return Word{applied(is_signed ? "bvsmod" : "bvurem", left, right)};
    case te::BinaryOp::kFloorDiv:
      if (!is_signed) return Word{applied("bvudiv", left, right)};
      return std::nullopt;
    default: return std::nullopt;
  }
}

/// `dtype`: of the operands.
MaybeWord word_of(te::BinaryOp op, DataType dtype, const Word& left, const Word& right) {
  const bool is_bool = dtype == DataType::kBool, is_signed = is_signed_int(dtype);
  if (const std::string_view function = function_of(op, is_bool); !function.empty())
    return Word{applied(function, left, right)};
  if (is_bool) return std::nullopt;
  const std::string_view less = is_signed ? "bvslt" : "bvult";
  switch (op) {
    case te::BinaryOp::kLess: return Word{applied(less, left, right)};
    case te::BinaryOp::kLessEqual: return Word{applied(is_signed ? "bvsle" : "bvule", left, right)};
    case te::BinaryOp::kMin: return Word{fmt::format("(ite ({0} {1} {2}) {1} {2})", less, left.text, right.text)};
    case te::BinaryOp::kMax: return Word{fmt::format("(ite ({0} {1} {2}) {2} {1})", less, left.text, right.text)};
    case te::BinaryOp::kShiftLeft:
    case te::BinaryOp::kShiftRight: {
      if (!right.number || *right.number < 0 || *right.number >= bit_width(dtype)) return std::nullopt;
      const std::string_view to_right = is_signed ? "bvashr" : "bvlshr";
      return Word{applied(op == te::BinaryOp::kShiftLeft ? "bvshl" : to_right, left, right)};
    }
    case te::BinaryOp::kPow: return power_word(dtype, left, right.number);
    default: return quotient_word(op, dtype, left, right);
  }
}

MaybeWord cast_word(DataType from, DataType to, const Word& operand) {
  if (operand.number) return number_word(to, *operand.number);
  if (to == DataType::kBool) {
    if (from == DataType::kBool) return operand;
    return Word{fmt::format("(not {})", applied("=", operand, number_word(from, 0)))};
  }
  if (from == DataType::kBool)
    return Word{fmt::format("(ite {} {} {})", operand.text, number_word(to, 1).text, number_word(to, 0).text)};
  const int had = bit_width(from), has = bit_width(to);
  if (has <= had) return Word{fmt::format("((_ extract {} 0) {})", has - 1, operand.text)};
  return Word{
      fmt::format("((_ {} {}) {})", is_signed_int(from) ? "sign_extend" : "zero_extend", has - had, operand.text)};
}

class BitWords {
 public:
  explicit BitWords(const Graph& graph) : graph_(graph) {}

  /// An element of the value.
  MaybeWord element(ValueId id, const Indices& at) {
    if (!id.valid() || !has_bits(graph_.value(id).type.dtype)) return std::nullopt;
    const Value& value = graph_.value(id);
    if (value.constant) return constant(te::Array::from(*value.constant), at);
    const std::string key = fmt::format("{} {}", id.index, text_of(at));
    if (const auto known = elements_.find(key); known != elements_.end()) return known->second;
    if (elements_.size() >= kMostElements) return std::nullopt;
    const MaybeWord made = value.producer.valid() ? computed(id, at) : declared(key, value.type.dtype);
    return elements_[key] = made ? named(*made, value.type.dtype) : made;
  }

  const std::string& declarations() const { return declarations_; }

 private:
  /// Where an expression stands: in a program of the node, at these indices of what its stage gives.
  struct Place {
    NodeId node;
    const te::Program& program;
    const Indices& at;
  };

  static std::string text_of(const Indices& at) {
    std::string result;
    for (const te::Expr& index : at) result += te::print(index) + ";";
    return result;
  }

  static te::Expr moved(const te::Expr& expr, const Indices& at) {
    return te::simplify_index(te::transform(expr, [&](const te::Expr& e) -> te::Expr {
      const te::Var* var = te::as<te::Var>(e);
      return var && var->kind == te::VarKind::kSpatial ? at[static_cast<size_t>(var->index)] : te::Expr();
    }));
  }

  /// Long words get names.
  Word named(const Word& word, DataType dtype) {
    if (word.number || word.text.front() != '(') return word;
    const std::string name = fmt::format("e{}", names_++);
    declarations_ += fmt::format("(define-fun {} () {} {})\n", name, sort_of(dtype), word.text);
    return {name};
  }

  Word declared(const std::string& of, DataType dtype) {
    const auto [known, is_new] = declared_.emplace(of, fmt::format("x{}", declared_.size()));
    if (is_new) declarations_ += fmt::format("(declare-const {} {})\n", known->second, sort_of(dtype));
    return {known->second};
  }

  static MaybeWord constant(const te::Array& array, const Indices& at) {
    int64_t place = 0;
    for (size_t k = 0; k < at.size(); ++k) {
      const auto index = array.count() == 1 ? std::optional<int64_t>(0) : te::as_constant(at[k]);
      if (!index || *index < 0 || *index >= array.dims()[k]) return std::nullopt;
      place = place * array.dims()[k] + *index;
    }
    return number_word(array.dtype(), array.integer(place));
  }

  MaybeWord computed(ValueId id, const Indices& at) {
    const NodeId producer = graph_.value(id).producer;
    const Node& node = graph_.node(producer);
    const auto program = program_of(graph_, producer);
    if (!program) return std::nullopt;
    for (size_t k = 0; k < node.outputs.size() && k < program->outputs.size(); ++k)
      if (node.outputs[k] == id) return stage_word({producer, *program, at}, program->outputs[k]);
    return std::nullopt;
  }

  MaybeWord stage_word(const Place& place, const te::StageValue& of) {
    if (of.stage < 0) return std::nullopt;
    const auto* map = std::get_if<te::MapReduce>(&place.program.stages[static_cast<size_t>(of.stage)].body);
    if (!map || !map->reduce.empty()) return std::nullopt;
    return word(map->bodies[static_cast<size_t>(of.component)], place);
  }

  MaybeWord word(const te::Expr& expr, const Place& place) {
    const DataType dtype = expr.dtype();
    if (!has_bits(dtype)) return std::nullopt;
    if (const auto* literal = te::as<te::Literal>(expr)) return number_word(dtype, literal->value.to_int64());
    if (const auto* load = te::as<te::Load>(expr)) return load_word(*load, place);
    // What hangs on places alone is the same on both sides where it has the same words.
    if (!te::has_load(expr)) {
      const te::Expr here = moved(expr, place.at);
      if (const auto* literal = te::as<te::Literal>(here)) return number_word(dtype, literal->value.to_int64());
      return declared(fmt::format("{} {}", name(dtype), te::print(here)), dtype);
    }
    if (const auto* unary = te::as<te::Unary>(expr)) {
      const MaybeWord operand = word(unary->operand, place);
      return operand ? word_of(unary->op, dtype, *operand) : std::nullopt;
    }
    if (const auto* cast = te::as<te::Cast>(expr)) {
      const MaybeWord operand = word(cast->operand, place);
      return operand ? cast_word(cast->operand.dtype(), dtype, *operand) : std::nullopt;
    }
    if (const auto* binary = te::as<te::Binary>(expr)) {
      const MaybeWord left = word(binary->left, place), right = left ? word(binary->right, place) : std::nullopt;
      return right ? word_of(binary->op, binary->left.dtype(), *left, *right) : std::nullopt;
    }
    const auto* select = te::as<te::Select>(expr);
    if (!select) return std::nullopt;
    const MaybeWord condition = word(select->condition, place), then = word(select->then, place),
                    otherwise = word(select->otherwise, place);
    if (!condition || !then || !otherwise) return std::nullopt;
    return Word{fmt::format("(ite {} {} {})", condition->text, then->text, otherwise->text)};
  }

  MaybeWord load_word(const te::Load& load, const Place& place) {
    Indices at;
    for (const te::Expr& index : load.index) {
      if (te::has_load(index)) return std::nullopt;
      at.push_back(moved(index, place.at));
    }
    if (load.buffer.kind == te::BufferRef::Kind::kInput)
      return element(graph_.node(place.node).inputs[static_cast<size_t>(load.buffer.index)], at);
    if (load.buffer.kind != te::BufferRef::Kind::kStage) return std::nullopt;
    return stage_word({place.node, place.program, at}, {load.buffer.index, load.buffer.component});
  }

  const Graph& graph_;
  std::map<std::string, MaybeWord> elements_;
  std::map<std::string, std::string> declared_;
  std::string declarations_;
  size_t names_ = 0;
};

}  // namespace

Result<bool> have_equal_bits(const Law& sides, const VariableTypes& types, ArithmeticSolver& solver) {
  const auto graph = graph_of({sides.left, sides.right}, types);
  if (!graph.ok()) return false;
  const ValueType& type = graph->value(graph->outputs()[0]).type;
  const ValueType& other = graph->value(graph->outputs()[1]).type;
  const auto dims = type.has_shape() ? constants(*type.shape) : std::nullopt;
  if (!dims || !other.has_shape() || constants(*other.shape) != dims || type.dtype != other.dtype) return false;
  Indices at;
  for (size_t k = 0; k < dims->size(); ++k)
    at.push_back((*dims)[k] == 1 ? te::index(0) : te::axis(static_cast<int>(k)));
  BitWords words(*graph);
  const MaybeWord left = words.element(graph->outputs()[0], at), right = words.element(graph->outputs()[1], at);
  if (!left || !right) return false;
  TRY(const ArithmeticSolver::Answer answer,
      solver.ask_thoroughly(words.declarations() + fmt::format("(assert (not {}))\n", applied("=", *left, *right))));
  return answer == ArithmeticSolver::Answer::kContradiction;
}

}  // namespace isomer::verify
