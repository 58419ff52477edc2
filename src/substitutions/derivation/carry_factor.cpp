#include "substitutions/derivation/carry_factor.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "graph/element_map.h"
#include "graph/movement.h"
#include "graph/te/simplify.h"
#include "substitutions/rewrite/rewrite.h"
#include "util/check.h"
#include "verify/proof/term_graph.h"

namespace isomer::substitutions {
namespace {

using te::Expr;

/// Operators that move, one above the other, and of all values together.
constexpr int kHighest = 16;
constexpr size_t kMostMoving = 64;

const OpDef& row(std::string_view name) {
  const OpDef* op = find_op("", name);
  CHECK(op) << "a row expected for " << name;
  return *op;
}

bool is_mul(const OpDef* op) {
  static const OpDef& mul = row("Mul");
  return op == &mul;
}

const ValueType& type_of(const Program& program, int value) {
  return program.theory().signatures().type(program.value(value).type);
}

bool is_one_number(const Program& program, int value) {
  const ValueType& type = type_of(program, value);
  return program.value(value).is_constant && type.has_shape() && type.shape->size() <= 1 &&
         element_count(*type.shape).is(1);
}

using Positions = std::pair<int64_t, int64_t>;  ///< first and last

/// The positions along an axis of the source that are read; nothing where there are no bounds.
std::optional<Positions> positions(const Expr& index, const Shape& extents) {
  const te::Interval bounds = te::bounds(index, [&](const Expr& leaf) -> te::Interval {
    const te::Var* var = te::as<te::Var>(leaf);
    if (!var || var->kind != te::VarKind::kSpatial || !extents[static_cast<size_t>(var->index)].is_constant())
      return {0, std::nullopt};
    return {0, std::max<int64_t>(extents[static_cast<size_t>(var->index)].value() - 1, 0)};
  });
  if (!bounds.low || !bounds.high) return std::nullopt;
  return Positions(*bounds.low, *bounds.high);
}

/// Does the step beside what is there.
class Carry {
 public:
  Carry(Program& program, const CarriedFactor& step) : program_(program), step_(step), rewrite_(program) {}

  Result<void> run(Rewritten& result) {
    int factors = step_.factor;
    if (step_.axis) {
      TRY(factors, along(*step_.axis));
    }
    TRY(const int scaled, apply("Mul", {}, {step_.source, factors}));
    if (program_.value(scaled).type != program_.value(step_.source).type)
      return invalid("", "a product of the source's type expected, one of {} found", type_of(program_, scaled).text());
    std::map<int, int> now = {{step_.source, scaled}};
    for (const int moving : step_.moving) {
      std::vector<Rewrite::Operand> operands;
      for (const int argument : program_.arguments(moving)) {
        const auto known = now.find(argument);
        operands.push_back({known == now.end() ? argument : known->second});
      }
      const Program::Application there = program_.application(moving);
      for (int k = 0; k < there.value_count; ++k) {
        TRY(const int made, checked(rewrite_.application(there.operation, operands, k), program_.op(moving)->name));
        now.emplace(there.first_value + k, made);
      }
    }
    std::vector<int> roots = step_.ends, targets;
    roots.push_back(step_.product);
    for (const int end : step_.ends) targets.push_back(now.at(end));
    targets.push_back(now.at(step_.moved));
    result.built = {program_.value(scaled).producer};
    result.changed = rewrite_.replace(roots, targets);
    if (!program_.order()) return invalid("", "no cycle expected, one found behind %{}", step_.product);
    return {};
  }

 private:
  /// The factor at the positions along the source's axis, one elsewhere.
  Result<int> along(size_t axis) {
    const ValueType& type = type_of(program_, step_.source);
    const int64_t extent = (*type.shape)[axis].value();
    const auto rank = static_cast<int64_t>(type.shape->size());
    const int one = program_.add_number(te::Number(1), type.dtype);
    std::vector<int> parts;
    for (const auto& [number, count] :
         {std::pair(one, step_.first), {step_.factor, step_.last + 1 - step_.first}, {one, extent - step_.last - 1}}) {
      if (count <= 0) continue;
      TRY(const int part, apply("Expand", {{"shape", std::vector<Dim>{Dim(count)}}}, {number}));
      parts.push_back(part);
    }
    int result = parts[0];
    if (parts.size() > 1) {
      TRY(result, apply("Concat", {{"axis", Dim(0)}}, parts));
    }
    std::vector<Dim> axes;
    for (int64_t k = 1; k < rank - static_cast<int64_t>(axis); ++k) axes.emplace_back(k);
    if (!axes.empty()) {
      TRY(result, apply("Unsqueeze", {{"axes", axes}}, {result}));
    }
    return result;
  }

  Result<int> apply(std::string_view op, verify::Parameters parameters, const std::vector<int>& arguments) {
    std::vector<Rewrite::Operand> operands;
    for (const int argument : arguments) operands.push_back({argument});
    const int operation = program_.theory().signatures().operation_id(row(op), std::move(parameters));
    return checked(rewrite_.application(operation, operands, 0), op);
  }

  static Result<int> checked(std::optional<int> made, std::string_view op) {
    if (!made) return invalid("", "operands that {} accepts expected, others found", op);
    return *made;
  }

  Program& program_;
  const CarriedFactor& step_;
  Rewrite rewrite_;
};

/// An element of a constant of the graph.
std::optional<int64_t> integer(const Program& program, int value, const std::vector<Expr>& index) {
  const Program::Value& there = program.value(value);
  if (there.producer >= 0 || !there.is_constant) return std::nullopt;
  const Leaf& leaf = program.origin().leaves[static_cast<size_t>(there.index)];
  const Tensor* tensor = leaf.value.valid() ? &*program.origin().graph.value(leaf.value).constant : nullptr;
  if (!tensor || is_float(tensor->dtype()) || !is_computable(tensor->dtype())) return std::nullopt;
  int64_t at = 0;
  for (size_t k = 0; k < index.size(); ++k) {
    const auto position = te::as_constant(index[k]);
    if (!position || *position < 0 || *position >= tensor->dims()[k]) return std::nullopt;
    at = at * tensor->dims()[k] + *position;
  }
  return static_cast<int64_t>(tensor->real(at));
}

}  // namespace

/// The ways of one product's operand, and of all others that are moved from the same source.
class FactorCarrier::Search {
 public:
  Search(FactorCarrier& owner, const Program& program, int product, const std::function<bool(int)>& may_touch)
      : owner_(owner), program_(program), product_(product), may_touch_(may_touch), uses_(program.uses()) {}

  std::optional<CarriedFactor> run() {
    if (!find_operands()) return std::nullopt;
    step_.source = step_.moved;
    for (int height = 0; height < kHighest; ++height) {
      const auto above = moved_from(step_.source);
      if (!above) break;
      step_.source = *above;
    }
    if (step_.source == step_.moved || program_.value(step_.source).producer < 0 ||
        !type_of(program_, step_.source).has_shape())
      return std::nullopt;
    const Shape& shape = *type_of(program_, step_.source).shape;
    if (!follow(step_.source, te::axes(static_cast<int>(shape.size())))) return std::nullopt;
    if (others_.empty()) return step_;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const auto read = shape[axis].is_constant() ? positions_of_ours(axis) : std::nullopt;
      if (!read) continue;
      step_.axis = axis;
      std::tie(step_.first, step_.last) = *read;
      return step_;
    }
    return std::nullopt;
  }

 private:
  /// What is read of the source: its element at index, over the axes of these extents.
  struct View {
    std::vector<Expr> index;
    Shape extents;
  };

  bool find_operands() {
    if (!is_product(program_, product_) || !may_touch_(product_)) return false;
    const auto arguments = program_.arguments(product_);
    const size_t side = is_one_number(program_, arguments[1]) ? 1 : 0;
    step_.product = program_.application(product_).first_value;
    step_.factor = arguments[side];
    step_.moved = arguments[1 - side];
    return true;
  }

  std::optional<int> moved_from(int value) {
    const int producer = program_.value(value).producer;
    if (producer < 0 || !may_touch_(producer)) return std::nullopt;
    const auto& map = owner_.map_of(program_, value);
    if (!map) return std::nullopt;
    return program_.arguments(producer)[map->argument];
  }

  bool is_output(int value) const {
    return std::find(program_.outputs().begin(), program_.outputs().end(), value) != program_.outputs().end();
  }

  /// The reader moves the value to each of its outputs.
  bool moves(int reader, int value) {
    const Program::Application& there = program_.application(reader);
    for (int k = 0; k < there.value_count; ++k)
      if (moved_from(there.first_value + k) != value) return false;
    return there.value_count > 0;
  }

  /// All that is moved from the value, which is the source's element at index. False: too much.
  bool follow(int value, const std::vector<Expr>& index) {
    if (!type_of(program_, value).has_shape()) return false;
    const View view{index, *type_of(program_, value).shape};
    bool is_read = is_output(value);
    for (const int reader : uses_.of(value)) {
      if (reader == product_ && value == step_.moved) {
        ours_ = view;
        continue;
      }
      if (!moves(reader, value)) {
        is_read = true;
        continue;
      }
      if (step_.moving.size() == kMostMoving) return false;
      step_.moving.push_back(reader);
      const Program::Application& there = program_.application(reader);
      for (int k = 0; k < there.value_count; ++k) {
        const int made = there.first_value + k;
        if (!type_of(program_, made).has_shape()) return false;
        std::vector<Expr> above;
        for (const Expr& position : index)
          above.push_back(
              normal_index(with_axes(position, owner_.map_of(program_, made)->index), *type_of(program_, made).shape));
        if (!follow(made, above)) return false;
      }
    }
    if (is_read) {
      others_.push_back(view);
      step_.ends.push_back(value);
    }
    return true;
  }

  /// Those that only our value reads.
  std::optional<Positions> positions_of_ours(size_t axis) const {
    if (!ours_) return std::nullopt;
    const auto ours = positions(ours_->index[axis], ours_->extents);
    if (!ours) return std::nullopt;
    for (const View& other : others_) {
      const auto theirs = positions(other.index[axis], other.extents);
      if (!theirs || (theirs->first <= ours->second && ours->first <= theirs->second)) return std::nullopt;
    }
    return ours;
  }

  FactorCarrier& owner_;
  const Program& program_;
  const int product_;
  const std::function<bool(int)>& may_touch_;
  const Program::Uses uses_;
  CarriedFactor step_;
  std::vector<View> others_;
  std::optional<View> ours_;
};

Result<Rewritten> take_step(const Program& program, const CarriedFactor& step) {
  Rewritten result{program, {}, {}};
  TRY_VOID(Carry(result.program, step).run(result));
  return result;
}

bool FactorCarrier::is_product(const Program& program, int application) {
  if (!is_mul(program.op(application))) return false;
  const auto arguments = program.arguments(application);
  const int type = program.value(program.application(application).first_value).type;
  const auto is_moved = [&](int value) {
    return !program.value(value).is_constant && program.value(value).type == type;
  };
  return (is_one_number(program, arguments[1]) && is_moved(arguments[0])) ||
         (is_one_number(program, arguments[0]) && is_moved(arguments[1]));
}

std::optional<CarriedFactor> FactorCarrier::find(const Program& program, int product,
                                                 const std::function<bool(int)>& may_touch) {
  return Search(*this, program, product, may_touch).run();
}

const std::optional<FactorCarrier::Map>& FactorCarrier::map_of(const Program& program, int value) {
  const Program::Value& there = program.value(value);
  std::vector<int> key = {program.application(there.producer).operation, there.index};
  for (const int argument : program.arguments(there.producer)) {
    const bool is_leaf = argument >= 0 && program.value(argument).is_constant && program.value(argument).producer < 0;
    key.push_back(is_leaf ? program.value(argument).index : -1);
    key.push_back(argument < 0 ? -1 : program.value(argument).type);
  }
  const auto known = maps_.find(key);
  return known != maps_.end() ? known->second : maps_[key] = find_map(program, value);
}

std::optional<FactorCarrier::Map> FactorCarrier::find_map(const Program& program, int value) {
  const Program::Value& there = program.value(value);
  const Program::Application& made = program.application(there.producer);
  if (made.operation == Program::kOpaque) return std::nullopt;
  const auto& [op, parameters] = program.theory().signatures().operation(made.operation);
  const auto arguments = program.arguments(there.producer);
  std::vector<ValueType> types;
  for (const int argument : arguments) types.push_back(type_of(program, argument));
  const auto known = verify::program_of(
      {op, there.index, parameters, "", std::vector<verify::Term>(types.size(), verify::Term::variable("x"))}, types);
  const auto moved = known.ok() ? pointwise_of(known->program, there.index) : std::nullopt;
  if (!moved) return std::nullopt;
  const auto& [extents, body] = *moved;
  FloatClass float_class = FloatClass::kExact;
  const Expr element = without_neutral(body, float_class);
  const te::Load* load = te::as<te::Load>(element);
  if (!load || load->buffer.kind != te::BufferRef::Kind::kInput || float_class != FloatClass::kExact)
    return std::nullopt;
  const auto argument_of = [&](const te::Load& read) {
    return known->arguments[static_cast<size_t>(read.buffer.index)];
  };
  const auto source = argument_of(*load);
  if (!source) return std::nullopt;
  Map result{*source, {}};
  bool is_known = true;
  for (const Expr& position : load->index) {
    // What is picked is known where the indices are: an element of a constant.
    const Expr bound = te::transform(position, [&](const Expr& expr) -> Expr {
      const te::Load* read = te::as<te::Load>(expr);
      if (!read) return {};
      const auto argument = argument_of(*read);
      auto number = argument ? integer(program, arguments[*argument], read->index) : std::nullopt;
      is_known = is_known && number;
      return number ? te::index(*number) : Expr();
    });
    result.index.push_back(normal_index(bound, extents));
  }
  return is_known ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace isomer::substitutions
