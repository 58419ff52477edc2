#include "verify/check/inputs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>

#include "graph/bind.h"
#include "graph/infer.h"
#include "graph/interpret.h"
#include "graph/minifloat.h"
#include "graph/node_program.h"
#include "graph/te/integer.h"
#include "graph/te/integer_algebra.h"
#include "util/random.h"

namespace isomer {
namespace {

constexpr int64_t kDefaultIntegers = 8, kMasks = 2, kBytes = 256;
/// How many readers deep a value is followed.
constexpr int kMaxDepth = 16;
/// Of parameters that decide shapes, such as axes.
constexpr int64_t kMostParameters = 64;
/// So often inputs are drawn anew where an integer would be divided by zero; far from the seeds that callers count up.
constexpr int kMostDraws = 16;
constexpr uint64_t kSeedStep = uint64_t{1} << 32;

void tighten(Demand& demand, const Demand& other) {
  if (other.below) demand.below = demand.below ? std::min(*demand.below, *other.below) : *other.below;
  demand.not_zero |= other.not_zero;
}

bool loads_input(const te::Expr& expr, int input) {
  return te::any_node(expr, [&](const te::Expr& e) {
    const te::Load* load = te::as<te::Load>(e);
    return load && load->buffer.kind == te::BufferRef::Kind::kInput && load->buffer.index == input;
  });
}

bool divides_integers(const te::Expr& expr) {
  const te::Binary* binary = te::as<te::Binary>(expr);
  if (!binary || !is_int(expr.dtype())) return false;
  switch (binary->op) {
    case te::BinaryOp::kDiv:
    case te::BinaryOp::kFloorDiv:
    case te::BinaryOp::kFloorMod:
    case te::BinaryOp::kTruncMod: return true;
    default: return false;
  }
}

bool shifts_bits(const te::Expr& expr) {
  const te::Binary* binary = te::as<te::Binary>(expr);
  return binary && (binary->op == te::BinaryOp::kShiftLeft || binary->op == te::BinaryOp::kShiftRight);
}

/// The program of a node, as far as it maps elements to elements.
class ElementMaps {
 public:
  explicit ElementMaps(const te::Program& program) : program_(program) {
    for_each_body([&](const te::Expr& body) {
      te::for_each_node(body, [&](const te::Expr& e) {
        divides_ = divides_ || divides_integers(e);
        shifts_ = shifts_ || shifts_bits(e);
        const te::Load* load = te::as<te::Load>(e);
        indexes_ = indexes_ || (load && std::any_of(load->index.begin(), load->index.end(), te::has_load));
      });
    });
  }

  /// Elements of some input say which elements of another are read.
  bool indexes() const { return indexes_; }

  /// Bits are shifted by elements of some input.
  bool shifts() const { return shifts_; }

  /// Some output has elements of more than a byte that were cast to integers, one by one.
  bool widens() const {
    return std::ranges::any_of(program_.stages, [](const te::Stage& stage) {
      const auto* map = std::get_if<te::MapReduce>(&stage.body);
      return map && map->reduce.empty() && std::ranges::any_of(map->bodies, [](const te::Expr& body) {
               return is_int(body.dtype()) && bit_width(body.dtype()) > 8 && te::any_node(body, [](const te::Expr& e) {
                        const te::Cast* cast = te::as<te::Cast>(e);
                        return cast && te::has_load(cast->operand);
                      });
             });
    });
  }

  template <class Visit>
  void for_each_body(const Visit& visit) const {
    for (const te::Stage& stage : program_.stages)
      if (const auto* map = std::get_if<te::MapReduce>(&stage.body))
        for (const te::Expr& body : map->bodies) visit(body);
  }

  /// The value may be an element of the input, moved or cast.
  bool carries(const te::StageValue& value, int input) const { return follows(value, input, false); }
  /// It may be zero because an element of the input is.
  bool vanishes(const te::StageValue& value, int input) const { return follows(value, input, true); }

  /// Integers are divided by elements of the input.
  bool divides_by(int input) const {
    bool found = false;
    if (!divides_) return found;
    for_each_body([&](const te::Expr& body) {
      te::for_each_node(body, [&](const te::Expr& e) {
        found = found || (divides_integers(e) && follows(te::as<te::Binary>(e)->right, input, true));
      });
    });
    return found;
  }

 private:
  bool follows(const te::Expr& expr, int input, bool with_factors) const {
    const auto goes_on = [&](const te::Expr& part) { return follows(part, input, with_factors); };
    if (const te::Cast* cast = te::as<te::Cast>(expr)) return goes_on(cast->operand);
    if (const te::Select* select = te::as<te::Select>(expr)) return goes_on(select->then) || goes_on(select->otherwise);
    if (const te::Unary* unary = te::as<te::Unary>(expr); unary && with_factors)
      return (unary->op == te::UnaryOp::kNeg || unary->op == te::UnaryOp::kAbs) && goes_on(unary->operand);
    if (const te::Binary* binary = te::as<te::Binary>(expr); binary && with_factors)
      return binary->op == te::BinaryOp::kMul && (goes_on(binary->left) || goes_on(binary->right));
    const te::Load* load = te::as<te::Load>(expr);
    if (!load) return false;
    if (load->buffer.kind == te::BufferRef::Kind::kInput) return load->buffer.index == input;
    return load->buffer.kind == te::BufferRef::Kind::kStage &&
           follows(te::StageValue{load->buffer.index, load->buffer.component}, input, with_factors);
  }

  bool follows(const te::StageValue& value, int input, bool with_factors) const {
    if (value.stage < 0) return false;
    const auto* map = std::get_if<te::MapReduce>(&program_.stages[value.stage].body);
    return map && map->reduce.empty() && follows(map->bodies[value.component], input, with_factors);
  }

  const te::Program& program_;
  /// A node may have a hundred thousand inputs: each is looked at only if so.
  bool divides_ = false, indexes_ = false, shifts_ = false;
};

/// Whether the node's types allow for this number as every element of an integer input of these dims.
bool accepts(const OpContext& context, int input, const Dims& dims, int64_t number) {
  const std::vector<int64_t> numbers(static_cast<size_t>(element_count(dims)), number);
  const Tensor tensor = Tensor::from_ints(context.dtype(input), dims, numbers);
  const Content content(numbers.begin(), numbers.end());
  return infer_types(context.with_elements(input, content, tensor)).ok();
}

/// What numbers a parameter may have that decides shapes, an axis or the number of elements that TopK takes: those from
/// 0 or 1 on that the node's types allow for. Nothing where all are allowed, or neither of the two.
Demand accepted(const OpContext& context, int input) {
  const ValueType& type = context.type(input);
  const auto dims = is_int(type.dtype) && type.has_shape() ? constants(*type.shape) : std::nullopt;
  if (!dims || element_count(*dims) < 1 || element_count(*dims) > kMostParameters) return {};
  const int64_t low = accepts(context, input, *dims, 0) ? 0 : 1;
  int64_t below = low;
  while (below < kDefaultIntegers && accepts(context, input, *dims, below)) ++below;
  if (below == low || (low == 0 && below == kDefaultIntegers)) return {};
  return {below, low == 1};
}

class DemandSearch {
 public:
  explicit DemandSearch(const Graph& graph) : graph_(graph), consumers_(graph.consumers()) {}

  Demand of(ValueId value, int depth = 0) {
    if (const auto known = known_.find(value); known != known_.end()) return known->second;
    Demand demand;
    if (depth > kMaxDepth) return demand;
    for (const NodeId reader : consumers_[value.index]) tighten(demand, through(reader, value, depth));
    known_.emplace(value, demand);
    return demand;
  }

  /// Whether a byte may be any: as far as its readers and theirs are looked at, nothing that is computed of it becomes
  /// an integer of a wider type but by a sum, as indices and sizes do, indexes something, shifts something, or goes
  /// into a body.
  bool may_be_any(ValueId value) {
    std::set<NodeId> seen;
    std::vector<ValueId> values = {value};
    for (int depth = 0; depth < kMaxDepth && !values.empty(); ++depth) {
      std::vector<ValueId> made;
      for (const ValueId read : values)
        for (const NodeId reader : consumers_[read.index]) {
          if (!seen.insert(reader).second) continue;
          const auto program = program_of(graph_, reader);
          if (!program) return false;
          const ElementMaps maps(*program);
          if (maps.indexes() || maps.shifts() || maps.widens()) return false;
          for (const ValueId output : graph_.node(reader).outputs)
            if (output.valid()) made.push_back(output);
        }
      values = std::move(made);
    }
    return true;
  }

 private:
  Demand through(NodeId reader, ValueId value, int depth) {
    Demand demand;
    const Node& node = graph_.node(reader);
    if (node.is_opaque()) return demand;
    for (const auto& [name, attribute] : node.attributes)
      if (const auto* body = std::get_if<GraphPtr>(&attribute)) tighten(demand, within(**body, node, value, depth));
    const OpContext context = context_of(graph_, reader);
    for (int i = 0; i < context.input_count(); ++i)
      if (node.inputs[i] == value) tighten(demand, accepted(context, i));
    const auto program = program_of(graph_, reader);
    if (!program) return demand;
    const ElementMaps maps(*program);
    for (int i = 0; i < context.input_count(); ++i) {
      if (node.inputs[i] != value) continue;
      if (maps.indexes())
        maps.for_each_body([&](const te::Expr& body) { tighten(demand, {indexed_axis(context, body, i), false}); });
      for (const te::Stage& stage : program->stages)
        if (const auto* update = std::get_if<te::Update>(&stage.body))
          tighten(demand, {updated_axis(*update, i), false});
      demand.not_zero |= maps.divides_by(i);
      for (size_t k = 0; k < node.outputs.size() && k < program->outputs.size(); ++k) {
        if (!node.outputs[k].valid() || !maps.vanishes(program->outputs[k], i)) continue;
        Demand further = of(node.outputs[k], depth + 1);
        if (!maps.carries(program->outputs[k], i)) further.below.reset();
        tighten(demand, further);
      }
    }
    return demand;
  }

  /// What is captured is asked of by the body's nodes.
  Demand within(const Graph& body, const Node& node, ValueId value, int depth) {
    Demand demand;
    for (size_t k = 0; k < node.captures.size() && k < body.captures().size(); ++k) {
      if (node.captures[k] != value) continue;
      std::unique_ptr<DemandSearch>& search = bodies_[&body];
      if (!search) search = std::make_unique<DemandSearch>(body);
      tighten(demand, search->of(body.captures()[k], depth + 1));
    }
    return demand;
  }

  static std::optional<int64_t> indexed_axis(const OpContext& context, const te::Expr& body, int input) {
    Demand demand;
    te::for_each_node(body, [&](const te::Expr& e) {
      const te::Load* load = te::as<te::Load>(e);
      if (!load || load->buffer.kind != te::BufferRef::Kind::kInput) return;
      for (size_t axis = 0; axis < load->index.size(); ++axis)
        if (loads_input(load->index[axis], input))
          tighten(demand, {context.dim(load->buffer.index, static_cast<int>(axis)).constant(), false});
    });
    return demand.below;
  }

  static std::optional<int64_t> updated_axis(const te::Update& update, int input) {
    Demand demand;
    for (size_t axis = 0; axis < update.index.size(); ++axis)
      if (loads_input(update.index[axis], input)) tighten(demand, {update.shape[axis].constant(), false});
    return demand.below;
  }

  const Graph& graph_;
  std::vector<std::vector<NodeId>> consumers_;
  std::map<ValueId, Demand> known_;
  std::map<const Graph*, std::unique_ptr<DemandSearch>> bodies_;  ///< of nodes
};

/// Values that nodes compute and integers are divided by.
std::vector<ValueId> computed_divisors(const Graph& graph) {
  std::vector<ValueId> divisors;
  for (const NodeId id : graph.nodes()) {
    const std::vector<ValueId>& inputs = graph.node(id).inputs;
    const auto may_be = [&](ValueId input) {
      return input.valid() && graph.value(input).producer.valid() && is_int(graph.value(input).type.dtype);
    };
    if (std::none_of(inputs.begin(), inputs.end(), may_be)) continue;
    const auto program = program_of(graph, id);
    if (!program) continue;
    const ElementMaps maps(*program);
    for (size_t i = 0; i < inputs.size(); ++i)
      if (may_be(inputs[i]) && maps.divides_by(static_cast<int>(i))) divisors.push_back(inputs[i]);
  }
  return divisors;
}

/// Whether these inputs lead to a division by zero. False where that can't be found out.
bool divides_by_zero(const Graph& graph, const std::vector<ValueId>& divisors, const std::vector<Tensor>& inputs,
                     MemoryLimit memory) {
  Graph cone = graph;
  cone.set_outputs(divisors);
  const auto values = interpret(cone, te::to_arrays(inputs), {.memory = memory});
  if (!values.ok()) return values.error().kind == ErrorKind::kInvalid;
  for (const te::Array& array : *values)
    for (int64_t i = 0; i < array.count(); ++i)
      if (array.integer(i) == 0) return true;
  return false;
}

/// A tensor of what `value` says of each element's position, written by `encode`.
template <class Encode, class Value>
Tensor filled(DataType dtype, const Dims& dims, const Encode& encode, const Value& value) {
  const int64_t count = element_count(dims), width = bit_width(dtype) / 8;
  std::vector<std::byte> bytes(static_cast<size_t>(byte_size(dtype, count)));
  for (int64_t i = 0; i < count; ++i) encode(dtype, value(i), &bytes[static_cast<size_t>(i * width)]);
  return Tensor(dtype, dims, std::move(bytes));
}

/// Those that integers are divided by, once they are cast, are at least 1 away from zero.
Tensor fill_floats(DataType dtype, const Dims& dims, const std::pair<double, double>* range, Fill fill, bool not_zero,
                   Random& random) {
  const auto encode = [](DataType type, double value, std::byte* out) {
    is_minifloat(type) ? encode_integer(type, nearest_minifloat(type, value), out) : encode_real(type, value, out);
  };
  return filled(dtype, dims, encode, [&](int64_t i) -> double {
    switch (fill) {
      case Fill::kRandom: {
        if (range && std::isfinite(range->second - range->first)) return random.uniform(range->first, range->second);
        if (range) return 2 * random.uniform(range->first / 2, range->second / 2);
        const double number = random.normal();
        return not_zero ? number + std::copysign(1, number) : number;
      }
      case Fill::kZeros: return 0;
      case Fill::kOnes: return 1;
      case Fill::kArange: return static_cast<double>(i);
    }
    return 0;
  });
}

/// One of so many from `low` on.
int64_t integer_from(DataType dtype, __int128 low, __int128 count, Random& random) {
  const bool is_any = count > std::numeric_limits<uint64_t>::max();
  const auto bound = static_cast<uint64_t>(std::max<__int128>(count, 1));
  return te::wrap(dtype, low + (is_any ? random.next() : random.below(bound)));
}

Tensor fill_integers(DataType dtype, const Dims& dims, __int128 low, __int128 count, Fill fill, Random& random) {
  return filled(dtype, dims, encode_integer, [&](int64_t i) -> int64_t {
    switch (fill) {
      case Fill::kRandom: return integer_from(dtype, low, count, random);
      case Fill::kZeros: return 0;
      case Fill::kOnes: return 1;
      case Fill::kArange: return i;
    }
    return 0;
  });
}

Error not_in_type(const Value& value, const std::pair<double, double>& range) {
  return {ErrorKind::kUsage, value.name,
          fmt::format("a range of numbers that {} has expected, [{},{}] found", name(value.type.dtype), range.first,
                      range.second)};
}

/// The first and the last integer in a range; an error unless the type has both.
Result<std::pair<__int128, __int128>> integers_in(const Value& value, const std::pair<double, double>& range) {
  const DataType dtype = value.type.dtype;
  const auto has = [&](__int128 number) { return te::unwrap(dtype, te::wrap(dtype, number)) == number; };
  const auto whole = [](double number) { return static_cast<__int128>(std::clamp(number, -0x1p100, 0x1p100)); };
  const __int128 low = whole(std::ceil(range.first));
  __int128 high = whole(std::floor(range.second));
  // No double is the last of 64 bits: the next integer is what is read for it.
  if (bit_width(dtype) == 64 && !has(high) && has(high - 1)) --high;
  if (low > high || !has(low) || !has(high)) return not_in_type(value, range);
  return std::pair(low, high);
}

Result<void> check_reals_in(const Value& value, const std::pair<double, double>& range) {
  const DataType dtype = value.type.dtype;
  for (const double end : {range.first, range.second})
    if (is_minifloat(dtype) ? std::fabs(end) > decode_minifloat(dtype, minifloat_of(dtype).largest)
                            : !std::isfinite(round_to(dtype, end)))
      return not_in_type(value, range);
  return {};
}

/// Bytes of the inputs that have to be made.
int64_t bytes_to_make(const Graph& graph) {
  int64_t bytes = 0;
  for (const ValueId id : graph.inputs()) {
    const ValueType& type = graph.value(id).type;
    if (graph.value(id).constant || !type.has_shape() || !is_computable(type.dtype)) continue;
    const int64_t count = element_count(*type.shape).constant().value_or(0);
    bytes = te::saturating_add(bytes, te::saturating_mul(count, bit_width(type.dtype) / 8));
  }
  return bytes;
}

Result<std::vector<Tensor>> inputs_once(const Graph& graph, const FillOptions& options) {
  if (const auto unbound = free_dims(graph); !unbound.empty())
    return unsupported("inputs", "concrete dims expected, {} found; bind them with --dim {}=SIZE",
                       fmt::join(unbound, ", "), unbound.front());
  TRY_VOID(options.memory.check(bytes_to_make(graph), "inputs"));
  DemandSearch demands(graph);
  std::vector<Tensor> tensors;
  uint64_t stream = 0;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& value = graph.value(graph.inputs()[i]);
    if (value.constant) {
      tensors.push_back(*value.constant);
      continue;
    }
    if (!value.type.has_shape())
      return unsupported(value.name, "an input of known shape expected, {} found; give it with --input-shapes",
                         value.type.text());
    const DataType dtype = value.type.dtype;
    if (!is_computable(dtype))
      return unsupported(value.name, "an input of a number type expected, {} found", name(dtype));
    Random random(options.seed * 0x100000001b3ULL + stream++);
    const Dims dims = *constants(*value.type.shape);
    auto range = options.ranges.find(value.name);
    const bool is_real = is_float(dtype) || is_minifloat(dtype);
    if (range == options.ranges.end() && is_real) range = options.ranges.find("");
    const bool ranged = range != options.ranges.end();
    if (is_real) {
      if (ranged) TRY_VOID(check_reals_in(value, range->second));
      const bool not_zero = demands.of(graph.inputs()[i]).not_zero;
      tensors.push_back(fill_floats(dtype, dims, ranged ? &range->second : nullptr, options.fill, not_zero, random));
    } else if (ranged) {
      TRY(const auto ends, integers_in(value, range->second));
      tensors.push_back(fill_integers(dtype, dims, ends.first, ends.second - ends.first + 1, options.fill, random));
    } else {
      Demand demand = demands.of(graph.inputs()[i]);
      if (const auto known = options.demands.find(value.name); known != options.demands.end())
        tighten(demand, known->second);
      if (dtype == DataType::kBool) demand = {2, false};
      const bool is_odd = options.seed % 2 == 1 && !demand.not_zero;
      const bool is_mask = options.masks && is_odd && (dtype == DataType::kInt32 || dtype == DataType::kInt64);
      const bool is_any = options.bytes && is_odd && !demand.below && is_int(dtype) && bit_width(dtype) == 8 &&
                          demands.may_be_any(graph.inputs()[i]);
      const int64_t usual = is_mask ? kMasks : (is_any ? kBytes : kDefaultIntegers);
      const int64_t bound = demand.below.value_or(usual), low = demand.not_zero && bound > 1 ? 1 : 0;
      const bool is_even = options.even && options.fill == Fill::kRandom;
      const int64_t number = is_even ? integer_from(dtype, low, bound - low, random) : 0;
      tensors.push_back(is_even ? filled(dtype, dims, encode_integer, [&](int64_t) { return number; })
                                : fill_integers(dtype, dims, low, bound - low, options.fill, random));
    }
  }
  return tensors;
}

}  // namespace

Demand demand_on(const Graph& graph, ValueId value) { return DemandSearch(graph).of(value); }

Result<std::vector<Tensor>> generate_inputs(const Graph& graph, const FillOptions& options) {
  TRY(std::vector<Tensor> tensors, inputs_once(graph, options));
  if (options.fill != Fill::kRandom) return tensors;
  const std::vector<ValueId> divisors = computed_divisors(graph);
  if (divisors.empty() || !divides_by_zero(graph, divisors, tensors, options.memory)) return tensors;
  FillOptions other = options;
  for (int i = 1; i < kMostDraws; ++i) {
    other.seed = options.seed + static_cast<uint64_t>(i) * kSeedStep;
    // What large tensors leave no chance, single numbers do.
    other.even |= 2 * i > kMostDraws;
    TRY(std::vector<Tensor> others, inputs_once(graph, other));
    if (!divides_by_zero(graph, divisors, others, options.memory)) return others;
  }
  return tensors;
}

}  // namespace isomer
