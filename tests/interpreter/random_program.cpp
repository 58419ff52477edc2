#include "interpreter/random_program.h"

#include <algorithm>
#include <numeric>

namespace isomer::te::test {
namespace {

constexpr DataType kI64 = DataType::kInt64;

template <class T>
const T& pick(Random& random, const std::vector<T>& from) {
  return from[random.below(from.size())];
}

/// An index expression with the values that it may take.
struct Index {
  Expr expr;
  int64_t low, high;
};

class Generator {
 public:
  explicit Generator(Random& random) : random_(random) {}

  Random& random() { return random_; }
  RandomProgram take() { return std::move(result_); }
  Program& program() { return result_.program; }

  int64_t extent() {
    return random_.chance(0.02) ? 0 : pick<int64_t>(random_, {1, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 24});
  }
  Shape shape(int most, int64_t most_elements) {
    Shape shape;
    int64_t count = 1;
    for (int k = static_cast<int>(random_.below(most + 1)); k > 0; --k) {
      int64_t dim = extent();
      if (count * dim > most_elements) dim = 2;
      count *= std::max<int64_t>(dim, 1);
      shape.push_back(dim);
    }
    return shape;
  }

  void set_iterators(const Shape& axes, const Shape& reduce) {
    iterators_.clear();
    add_iterators(axes, VarKind::kSpatial);
    add_iterators(reduce, VarKind::kReduce);
  }
  void add_iterators(const Shape& extents, VarKind kind) {
    for (size_t k = 0; k < extents.size(); ++k)
      if (!extents[k].is(0)) iterators_.push_back({var(kind, static_cast<int>(k)), 0, extents[k].value() - 1});
  }
  void add_iterator(Index iterator) { iterators_.push_back(std::move(iterator)); }

  Index sum_of_iterators() {
    Index sum{index(0), 0, 0};
    if (iterators_.empty()) return sum;
    for (int64_t k = random_.between(1, 2); k > 0; --k) {
      const Index& i = pick(random_, iterators_);
      const int64_t factor = pick<int64_t>(random_, {1, 1, 1, 2, 3, -1, -2});
      sum.expr = sum.expr + i.expr * index(factor);
      sum.low += std::min(factor * i.low, factor * i.high);
      sum.high += std::max(factor * i.low, factor * i.high);
    }
    return sum;
  }

  Index any_index() {
    Index base = sum_of_iterators();
    const int64_t divisor = pick<int64_t>(random_, {2, 3, 4, 6});
    switch (random_.below(6)) {
      case 0: {
        const auto floor = [&](int64_t x) { return x >= 0 ? x / divisor : -((-x + divisor - 1) / divisor); };
        return {floor_div(base.expr, index(divisor)), floor(base.low), floor(base.high)};
      }
      case 1: return {floor_mod(base.expr, index(divisor)), 0, divisor - 1};
      case 2: {
        const Expr from = load_from(kI64, {base});
        return {floor_mod(from, index(divisor)), 0, divisor - 1};
      }
      case 3: return {min(max(base.expr, index(1)), index(3)), 1, 3};
      default: return base;
    }
  }

  /// A load from a new input whose dims are what the indices need.
  Expr load_from(DataType dtype, std::vector<Index> indices) {
    Dims dims;
    std::vector<Expr> exprs;
    for (const Index& i : indices) {
      exprs.push_back(i.expr - index(i.low));
      dims.push_back(i.high - i.low + 1 + static_cast<int64_t>(random_.below(2)));
    }
    return input(dtype, dims, exprs);
  }
  Expr input(DataType dtype, const Dims& dims, std::vector<Expr> exprs) {
    const int id = static_cast<int>(result_.inputs.size());
    const int64_t count = element_count(dims);
    if (is_float(dtype)) {
      std::vector<double> values(count);
      for (double& value : values) value = static_cast<double>(random_.between(-12, 12)) / 4;
      result_.inputs.push_back(Tensor::from_doubles(dtype, dims, values));
    } else {
      std::vector<int64_t> values(count);
      for (int64_t& value : values)
        value = dtype == DataType::kBool ? random_.between(0, 1) : random_.between(is_signed_int(dtype) ? -9 : 0, 100);
      result_.inputs.push_back(Tensor::from_ints(dtype, dims, values));
    }
    return te::load({BufferRef::Kind::kInput, id, 0}, dtype, std::move(exprs));
  }

  Expr any_load(DataType dtype) {
    std::vector<Index> indices;
    for (int64_t k = random_.between(0, 3); k > 0; --k) indices.push_back(any_index());
    return load_from(dtype, std::move(indices));
  }

  /// A load that reaches beyond its input where the condition around it fails.
  Expr guarded_load(DataType dtype) {
    const Index at = random_.chance(0.7) ? sum_of_iterators() : any_index();
    const int64_t pad = random_.between(0, 2);
    const int64_t size = std::max<int64_t>(1, at.high - at.low + 1 - pad);
    const Expr shifted = at.expr - index(at.low + pad);
    std::vector<Index> rest = {sum_of_iterators()};
    const Index& other = rest[0];
    const Expr loaded = input(dtype, {size, other.high - other.low + 1}, {shifted, other.expr - index(other.low)});
    const Expr inside = index(0) <= shifted && shifted < index(size);
    const Expr outside = literal(0, dtype);
    if (random_.chance(0.3)) return select(shifted < index(0) || index(size) <= shifted, outside, loaded);
    return random_.chance(0.2) ? select(inside && random_condition(1), loaded, outside)
                               : select(inside, loaded, outside);
  }

  Expr random_condition(int depth) {
    switch (random_.below(5)) {
      case 0: return any_index().expr < any_index().expr;
      case 1: return equal(sum_of_iterators().expr, index(random_.between(-2, 4)));
      case 2: return depth > 0 ? logical_not(random_condition(depth - 1)) : truth(true);
      case 3:
        return depth > 0 ? random_condition(depth - 1) || random_condition(depth - 1)
                         : sum_of_iterators().expr < index(2);
      default: return any_load(DataType::kFloat32) <= literal(Number(0.5), DataType::kFloat32);
    }
  }

  Expr value(DataType dtype, int depth) {
    if (depth == 0) {
      switch (random_.below(6)) {
        case 0: return literal(Number(random_.between(-3, 3)), dtype == DataType::kBool ? kI64 : dtype);
        case 1: return dtype == kI64 ? any_index().expr : any_load(dtype);
        case 2: return guarded_load(dtype);
        default: return any_load(dtype);
      }
    }
    switch (random_.below(9)) {
      case 0: return value(dtype, depth - 1) + value(dtype, depth - 1);
      case 1: return value(dtype, depth - 1) - value(dtype, depth - 1);
      case 2: return value(dtype, depth - 1) * value(dtype, depth - 1);
      case 3: return max(value(dtype, depth - 1), value(dtype, depth - 1));
      case 4: return min(value(dtype, depth - 1), value(dtype, depth - 1));
      case 5: return select(random_condition(1), value(dtype, depth - 1), value(dtype, depth - 1));
      case 6: return -value(dtype, depth - 1);
      case 7: return is_float(dtype) ? random_unary(dtype, depth) : random_integer_operation(dtype, depth);
      default: {
        const DataType from = pick<DataType>(random_, {DataType::kFloat32, kI64, DataType::kInt8, DataType::kUInt8,
                                                       DataType::kInt32, DataType::kFloat64, DataType::kFloat16});
        return cast(dtype, value(from, depth - 1));
      }
    }
  }

  Expr random_unary(DataType dtype, int depth) {
    const UnaryOp op = pick<UnaryOp>(random_, {UnaryOp::kAbs, UnaryOp::kFloor, UnaryOp::kCeil, UnaryOp::kRound,
                                               UnaryOp::kTanh, UnaryOp::kSin, UnaryOp::kSqrt});
    Expr operand = value(dtype, depth - 1);
    return op == UnaryOp::kSqrt ? sqrt(abs(operand)) : unary(op, operand);
  }
  Expr random_integer_operation(DataType dtype, int depth) {
    const Expr a = value(dtype, depth - 1);
    const Expr b = literal(Number(random_.between(1, 5)), dtype);
    return binary(pick<BinaryOp>(random_, {BinaryOp::kDiv, BinaryOp::kFloorDiv, BinaryOp::kFloorMod,
                                           BinaryOp::kTruncMod, BinaryOp::kAnd, BinaryOp::kOr, BinaryOp::kXor,
                                           BinaryOp::kShiftRight, BinaryOp::kShiftLeft}),
                  a, b);
  }

 private:
  Random& random_;
  RandomProgram result_;
  std::vector<Index> iterators_;
};

DataType random_type(Random& random) {
  return pick<DataType>(
      random, {DataType::kFloat32, DataType::kFloat32, DataType::kFloat64, DataType::kFloat16, DataType::kBFloat16,
               kI64, kI64, DataType::kInt32, DataType::kInt8, DataType::kUInt8, DataType::kUInt16, DataType::kUInt64});
}

/// A monoid with bodies for it.
std::pair<Monoid, std::vector<Expr>> random_reduction(Generator& g, DataType dtype) {
  Random& random = g.random();
  const int depth = static_cast<int>(random.between(0, 3));
  switch (random.below(is_float(dtype) ? 8 : 6)) {
    case 0: return {maximum(dtype), {g.value(dtype, depth)}};
    case 1: return {minimum(dtype), {g.value(dtype, depth)}};
    case 2: return {argmax(dtype, random.chance(0.5)), {g.value(dtype, depth), g.sum_of_iterators().expr + index(50)}};
    case 3: return {argmin(dtype, random.chance(0.5)), {g.value(dtype, depth), g.sum_of_iterators().expr + index(50)}};
    case 6: return {welford(dtype), {literal(1, dtype), g.value(dtype, depth), literal(0, dtype)}};
    case 7: return {online_softmax(dtype), {tanh(g.value(dtype, depth)), literal(1, dtype), g.value(dtype, depth)}};
    default: return {sum(dtype), {g.value(dtype, depth)}};
  }
}

}  // namespace

RandomProgram random_map_reduce(Random& random) {
  Generator g(random);
  const DataType dtype = random_type(random);
  const Shape axes = g.shape(4, 3000);
  StageValue value;
  if (random.chance(0.5)) {
    g.set_iterators(axes, {});
    std::vector<Expr> bodies = {g.value(dtype, static_cast<int>(random.between(0, 4)))};
    if (random.chance(0.2)) bodies.push_back(g.value(random_type(random), 2));
    g.program().stages.push_back({MapReduce{axes, {}, {}, bodies}});
    value = {0, 0};
  } else {
    const Shape reduce = g.shape(3, 300);
    g.set_iterators(axes, reduce);
    auto [monoid, bodies] = random_reduction(g, dtype);
    value = g.program().reduce(axes, reduce, monoid, bodies);
  }
  for (int k = 0; k < g.program().stages[0].components(); ++k) g.program().outputs.push_back({0, k});
  if (random.chance(0.3)) {
    // Turned around, so that its loads are strided.
    const Shape shape = g.program().shape(value);
    std::vector<Expr> at = te::axes(static_cast<int>(shape.size()));
    std::reverse(at.begin(), at.end());
    const Expr loaded = g.program().load(value, at);
    g.program().outputs.push_back(g.program().map(Shape(shape.rbegin(), shape.rend()), loaded + loaded));
  }
  return g.take();
}

RandomProgram random_contraction(Random& random) {
  Generator g(random);
  const auto extents = [&](int least, int most, int64_t most_points) {
    Shape shape;
    int64_t points = 1;
    for (int64_t k = random.between(least, most); k > 0; --k) {
      const int64_t extent = pick<int64_t>(random, {1, 2, 3, 5, 7, 8, 13, 24, 33});
      shape.push_back(points * extent <= most_points ? extent : 2);
      points *= shape.back().value();
    }
    return shape;
  };
  // Roles of spatial axes: 0 batch, 1 rows, 2 columns.
  const Shape axes = extents(1, 4, 1000), reduce = extents(1, 3, 100);
  std::vector<int> roles;
  for (size_t k = 0; k < axes.size(); ++k) roles.push_back(static_cast<int>(random.below(3)));
  const bool integers = random.chance(0.25);
  const DataType dtype = integers
                             ? DataType::kInt32
                             : pick<DataType>(random, {DataType::kFloat32, DataType::kFloat64, DataType::kFloat16});
  const auto factor = [&](int role) {
    std::vector<Index> indices;
    for (size_t k = 0; k < axes.size(); ++k)
      if (roles[k] == 0 || roles[k] == role) indices.push_back({axis(static_cast<int>(k)), 0, axes[k].value() - 1});
    for (size_t k = 0; k < reduce.size(); ++k)
      indices.push_back({reduce_axis(static_cast<int>(k)), 0, reduce[k].value() - 1});
    for (size_t k = indices.size(); k > 1; --k) std::swap(indices[k - 1], indices[random.below(k)]);
    if (indices.size() >= 2 && random.chance(0.4)) {
      // A window: two iterators on one axis, with padding.
      const Index a = indices[indices.size() - 1], b = indices[indices.size() - 2];
      indices.resize(indices.size() - 2);
      const int64_t stride = random.between(1, 2), pad = random.between(0, 2);
      const Expr at = a.expr * index(stride) + b.expr - index(pad);
      const int64_t size = std::max<int64_t>(1, a.high * stride + b.high + 1 - 2 * pad);
      std::vector<Expr> exprs;
      Dims dims;
      for (const Index& i : indices) {
        exprs.push_back(i.expr);
        dims.push_back(i.high + 1);
      }
      exprs.push_back(at);
      dims.push_back(size);
      return select(index(0) <= at && at < index(size), g.input(dtype, dims, exprs), literal(0, dtype));
    }
    if (integers) {
      const DataType narrow = pick<DataType>(random, {DataType::kInt8, DataType::kUInt8});
      return cast(dtype, g.load_from(narrow, indices)) - literal(Number(random.between(0, 9)), dtype);
    }
    return g.load_from(dtype, indices);
  };
  Expr body = factor(1) * factor(2);
  if (random.chance(0.2)) body = body * factor(static_cast<int>(random.between(1, 2)));
  if (random.chance(0.2)) body = body * literal(Number(3), dtype);
  g.program().outputs.push_back(g.program().reduce(axes, reduce, sum(dtype), body));
  return g.take();
}

RandomProgram random_scan(Random& random) {
  Generator g(random);
  const int64_t trip = random.between(0, 6);
  const Shape shape = g.shape(2, 200);
  const DataType dtype = pick<DataType>(random, {DataType::kFloat32, kI64});
  g.set_iterators(shape, {});
  Scan scan;
  scan.trip = trip;
  const int states = static_cast<int>(random.between(1, 2));
  for (int k = 0; k < states; ++k) scan.states.push_back({shape, g.value(dtype, 1)});
  if (trip > 0) g.add_iterator({time_step(), 0, trip - 1});
  const std::vector<Expr> here = axes(static_cast<int>(shape.size()));
  const auto state = [&] { return load_state(static_cast<int>(random.below(states)), dtype, here); };
  scan.steps.push_back({shape, {}, {}, {g.value(dtype, 2)}});
  std::vector<Expr> reversed;
  for (size_t k = 0; k < shape.size(); ++k) reversed.push_back(shape[k].expr() - index(1) - here[k]);
  scan.steps.push_back({shape, {}, {}, {state() + load_inner(0, dtype, here)}});
  scan.steps.push_back({shape, {}, {}, {load_inner(1, dtype, reversed) - state()}});
  for (int k = 0; k < states; ++k) scan.next.push_back(static_cast<int>(random.between(0, 2)));
  g.program().scan(std::move(scan));
  for (int k = 0; k < states; ++k) g.program().outputs.push_back({0, k});
  return g.take();
}

RandomProgram random_update(Random& random) {
  Generator g(random);
  const DataType dtype = random_type(random);
  const Shape shape = g.shape(3, 500), updates = g.shape(3, 500);
  g.set_iterators(shape, {});
  const Expr init = g.value(dtype, 1);
  g.set_iterators({}, updates);
  std::vector<Expr> at;
  for (const Dim& dim : shape) {
    const int64_t extent = std::max<int64_t>(dim.value(), 1);
    const Expr wrapped = floor_mod(random.chance(0.5) ? g.value(kI64, 1) : g.sum_of_iterators().expr, index(extent));
    at.push_back(random.chance(0.05) ? wrapped + index(1) : wrapped);
  }
  const Monoid combine = random.chance(0.5)
                             ? Monoid()
                             : pick<Monoid>(random, {sum(dtype), product(dtype), maximum(dtype), minimum(dtype)});
  g.program().outputs.push_back(g.program().update({shape, init, updates, at, g.value(dtype, 2), combine}));
  return g.take();
}

}  // namespace isomer::te::test
