// TopK NonZero Unique Compress NonMaxSuppression: what data select. They are written as loop nests, since neither the
// order of their elements nor their number is an expression of indices.
#include <functional>

#include "graph/infer.h"
#include "graph/ops/common.h"
#include "graph/ops/indexing.h"
#include "graph/ops/operand.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

using te::Block;
using te::Expr;
using te::Statement;

/// A buffer of the procedure under construction.
struct Buffer {
  int local;
  DataType dtype;
  Expr at(std::vector<Expr> index) const { return te::load_local(local, dtype, std::move(index)); }
  Expr at(Expr index) const { return at(std::vector{std::move(index)}); }
  Expr get() const { return at(std::vector<Expr>()); }
  Statement put(std::vector<Expr> index, Expr value) const {
    return te::store(local, std::move(index), std::move(value));
  }
  Statement put(Expr index, Expr value) const { return put(std::vector{std::move(index)}, std::move(value)); }
  Statement set(Expr value) const { return put(std::vector<Expr>(), std::move(value)); }
  Statement increment() const { return set(get() + 1); }
};

class Writer {
 public:
  Buffer buffer(DataType dtype, Shape shape) {
    procedure_.locals.push_back({dtype, std::move(shape)});
    return {static_cast<int>(procedure_.locals.size()) - 1, dtype};
  }
  Buffer counter() { return buffer(DataType::kInt64, {}); }
  /// for (variable from 0 to extent) body(variable)
  Statement loop(const Expr& extent, const std::function<Block(Expr)>& body) {
    const int variable = loops_++;
    return te::for_loop(variable, extent, body(te::loop_var(variable)));
  }
  /// Loops over all positions of a shape, the first axis outermost; `except` is left out.
  Block loops(const Shape& shape, int except, const std::function<Block(std::vector<Expr>)>& body) {
    std::vector<Expr> position(shape.size());
    return nest(shape, except, 0, position, body);
  }
  te::Program finish(const OpContext& context, Block block, const std::vector<Buffer>& outputs) {
    procedure_.block = std::move(block);
    te::Imperative imperative{std::move(procedure_), {}};
    for (const Buffer& output : outputs) imperative.outputs.push_back(output.local);
    te::Program program;
    const te::StageValue stage = program.imperative(std::move(imperative));
    for (int i = 0; i < context.output_count(); ++i)
      program.outputs.push_back(context.wants_output(i) ? te::StageValue{stage.stage, i} : te::StageValue{});
    return program;
  }

 private:
  Block nest(const Shape& shape, int except, int axis, std::vector<Expr>& position,
             const std::function<Block(std::vector<Expr>)>& body) {
    if (axis == static_cast<int>(shape.size())) return body(position);
    if (axis == except) return nest(shape, except, axis + 1, position, body);
    return {loop(shape[axis].expr(), [&](Expr variable) {
      position[axis] = std::move(variable);
      return nest(shape, except, axis + 1, position, body);
    })};
  }

  te::Procedure procedure_;
  int loops_ = 0;
};

void append(Block& block, Block more) {
  for (Statement& statement : more) block.push_back(std::move(statement));
}

/// a < b in a total order: NaN is above all numbers, false below true.
Expr is_less(const Expr& a, const Expr& b) {
  if (a.dtype() == DataType::kBool) return te::logical_not(a) && b;
  if (!is_float(a.dtype())) return a < b;
  const auto is_nan = [](const Expr& x) { return te::unary(te::UnaryOp::kIsNan, x); };
  return a < b || (is_nan(b) && te::logical_not(is_nan(a)));
}

/// Sorts numbers of elements by heaps in place. `compare(a, b)` gives statements to run first and then whether the
/// element of number a comes before that of b.
class Sorter {
 public:
  using Compare = std::function<std::pair<Block, Expr>(Expr a, Expr b)>;

  Sorter(Writer& writer, Buffer heap, Compare compare)
      : writer_(writer),
        heap_(heap),
        hole_(writer.counter()),
        child_(writer.counter()),
        moved_(writer.counter()),
        compare_(std::move(compare)) {}

  /// Makes the first `size` elements a heap with the last of the order on top.
  Block build(const Expr& size) {
    const Expr inner = te::floor_div(size, te::index(2));
    return {writer_.loop(inner, [&](Expr i) { return sift(inner - 1 - i, size); })};
  }
  /// Lets `candidate` replace the top if it comes before it; the heap has at least one element.
  Block offer(const Expr& candidate, const Expr& size) {
    auto [block, before] = compare_(candidate, heap_.at(te::index(0)));
    Block replace = {heap_.put(te::index(0), candidate)};
    append(replace, sift(te::index(0), size));
    block.push_back(te::if_then(before, std::move(replace)));
    return std::move(block);
  }
  /// Brings a heap into order, first elements first.
  Block sort(const Expr& size) {
    return {writer_.loop(te::max(size - 1, 0), [&](Expr i) {
      const Expr last = size - 1 - i;
      Block block = {moved_.set(heap_.at(last)), heap_.put(last, heap_.at(te::index(0))),
                     heap_.put(te::index(0), moved_.get())};
      append(block, sift(te::index(0), last));
      return block;
    })};
  }

 private:
  /// Moves the element at `start` down until no child comes after it.
  Block sift(const Expr& start, const Expr& size) {
    const Expr child = child_.get();
    auto [compare_children, left_first] = compare_(heap_.at(child), heap_.at(child + 1));
    compare_children.push_back(te::if_then(left_first, {child_.increment()}));
    auto [compare_moved, moved_first] = compare_(moved_.get(), heap_.at(child));
    Block round = {te::if_then(child + 1 < size, std::move(compare_children))};
    append(round, std::move(compare_moved));
    round.push_back(te::if_then(moved_first,
                                {heap_.put(hole_.get(), heap_.at(child)), hole_.set(child), child_.set(child * 2 + 1)},
                                {child_.set(size)}));
    return {hole_.set(start), moved_.set(heap_.at(start)), child_.set(start * 2 + 1),
            te::while_loop(child < size, std::move(round)), heap_.put(hole_.get(), moved_.get())};
  }

  Writer& writer_;
  Buffer heap_, hole_, child_, moved_;
  Compare compare_;
};

// TopK

struct Selection {
  int axis;
  std::optional<Dim> count;
};

Result<Selection> top_selection(const OpContext& context) {
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
  TRY_VOID(expect_scalar(context, 1));
  const auto known = context.dims(1);
  if (!known) return Selection{axis, std::nullopt};
  const Dim& count = known->front();
  const Dim& dim = context.dim(0, axis);
  if (count.is_constant() && (count.value() < 0 || (dim.is_constant() && count.value() > dim.value())))
    return context.invalid("K in [0, {}] expected, {} found", dim.text(), count.text());
  return Selection{axis, count};
}

Result<std::vector<ValueType>> top_k_infer(const OpContext& context) {
  TRY(const Selection selection, top_selection(context));
  Shape shape = context.shape(0);
  shape[selection.axis] = selection.count.value_or(context.fresh(0, selection.axis));
  return std::vector{ValueType::tensor(context.dtype(0), shape), ValueType::tensor(DataType::kInt64, shape)};
}

/// The k first of each row are kept in a heap, so that long rows cost little where k is small. Equal values are taken
/// in the order of their positions.
Result<te::Program> top_k_compute(const OpContext& context) {
  TRY(const Selection selection, top_selection(context));
  const int axis = selection.axis;
  const Expr n = context.dim(0, axis).expr();
  const bool largest = context.get_int("largest") != 0;
  Shape shape = context.shape(0);
  shape[axis] = selection.count.value_or(context.fresh(0, axis));

  Writer writer;
  const Buffer values = writer.buffer(context.dtype(0), shape), indices = writer.buffer(DataType::kInt64, shape);
  const Buffer heap = writer.buffer(DataType::kInt64, {shape[axis]});
  const Buffer given = writer.counter();  // where data decide K
  const Expr k = selection.count ? selection.count->expr() : given.get();
  Block rows = writer.loops(shape, axis, [&](std::vector<Expr> row) {
    const auto element = [&](const Expr& i) {
      std::vector<Expr> index = row;
      index[axis] = i;
      return context.load(0, std::move(index));
    };
    Sorter sorter(writer, heap, [&](Expr a, Expr b) {
      const Expr first = largest ? is_less(element(b), element(a)) : is_less(element(a), element(b));
      const Expr second = largest ? is_less(element(a), element(b)) : is_less(element(b), element(a));
      return std::pair(Block(), first || (te::logical_not(second) && a < b));
    });
    Block block = {writer.loop(k, [&](Expr i) { return Block{heap.put(i, i)}; })};
    append(block, sorter.build(k));
    block.push_back(
        te::if_then(te::index(0) < k, {writer.loop(n - k, [&](Expr i) { return sorter.offer(k + i, k); })}));
    append(block, sorter.sort(k));
    block.push_back(writer.loop(k, [&](Expr i) {
      std::vector<Expr> place = row;
      place[axis] = i;
      return Block{indices.put(place, heap.at(i)), values.put(place, element(heap.at(i)))};
    }));
    return block;
  });
  if (selection.count) return writer.finish(context, std::move(rows), {values, indices});
  std::vector<Expr> extents;
  for (const Dim& dim : shape) extents.push_back(dim.expr());
  extents[axis] = k;
  Block block = {given.set(context.load(1, std::vector<Expr>(context.rank(1), te::index(0)))),
                 te::resize(values.local, extents), te::resize(indices.local, extents), te::resize(heap.local, {k})};
  append(block, std::move(rows));
  return writer.finish(context, std::move(block), {values, indices});
}

/// Opset 1 had k as an attribute.
Result<void> k_to_input(NodeForm& form) {
  TRY(const auto k, form.take_int("k"));
  if (!k) return form.invalid("attribute 'k' expected, none found");
  form.set_input(1, form.ints({*k}, "k"));
  return {};
}

Result<void> k_to_attribute(NodeForm& form) {
  const auto k = form.ints(1);
  if (!k || k->size() != 1) return form.unsupported("a constant K expected where the opset has it as an attribute");
  form.drop_inputs_from(1);
  form.set("k", k->front());
  return {};
}

// NonZero

Result<std::vector<ValueType>> non_zero_infer(const OpContext& context) {
  return one(DataType::kInt64, {Dim(context.rank(0)), context.fresh(0, 1)});
}

Result<te::Program> non_zero_compute(const OpContext& context) {
  const int rank = context.rank(0);
  const auto is_set = [&](const std::vector<Expr>& position) {
    const Expr element = context.load(0, position);
    return element.dtype() == DataType::kBool ? element : te::logical_not(te::equal(element, 0));
  };
  Writer writer;
  const Buffer found = writer.buffer(DataType::kInt64, {Dim(rank), context.fresh(0, 1)});
  const Buffer count = writer.counter(), next = writer.counter();
  const Shape& shape = context.shape(0);
  Block block = writer.loops(shape, -1, [&](const std::vector<Expr>& position) {
    return Block{te::if_then(is_set(position), {count.increment()})};
  });
  block.push_back(te::resize(found.local, {te::index(rank), count.get()}));
  append(block, writer.loops(shape, -1, [&](const std::vector<Expr>& position) {
    Block write;
    for (int k = 0; k < rank; ++k) write.push_back(found.put({te::index(k), next.get()}, position[k]));
    write.push_back(next.increment());
    return Block{te::if_then(is_set(position), std::move(write))};
  }));
  return writer.finish(context, std::move(block), {found});
}

// Compress

/// The axis that is thinned out; -1: of all elements in a row.
Result<int> compress_axis(const OpContext& context) {
  TRY_VOID(vector_length(context, 1));
  int axis = -1;
  if (context.has_attribute("axis")) {
    TRY(axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
  }
  const Dim whole = axis < 0 ? element_count(context.shape(0)) : context.dim(0, axis);
  const Dim& given = context.dim(1, 0);
  if (whole.is_constant() && given.is_constant() && given.value() > whole.value())
    return context.invalid("a condition of at most {} elements expected, {} found", whole.text(), given.text());
  return axis;
}

Result<Shape> compressed_shape(const OpContext& context, int axis) {
  if (axis < 0) return Shape{context.fresh(0, 0)};
  Shape shape = context.shape(0);
  shape[axis] = context.fresh(0, axis);
  return shape;
}

Result<std::vector<ValueType>> compress_infer(const OpContext& context) {
  TRY(const int axis, compress_axis(context));
  TRY(Shape shape, compressed_shape(context, axis));
  return one(context.dtype(0), std::move(shape));
}

Result<te::Program> compress_compute(const OpContext& context) {
  TRY(const int axis, compress_axis(context));
  TRY(const Shape shape, compressed_shape(context, axis));
  const Shape& from = context.shape(0);
  const Expr length = context.dim(1, 0).expr();
  Writer writer;
  const Buffer kept = writer.buffer(context.dtype(0), shape), count = writer.counter(), next = writer.counter();
  const auto chosen = [&](const Expr& i) { return context.load(1, {i}); };
  Statement counting = writer.loop(length, [&](Expr i) { return Block{te::if_then(chosen(i), {count.increment()})}; });
  std::vector<Expr> extents;
  for (size_t k = 0; k < shape.size(); ++k)
    extents.push_back(static_cast<int>(k) == axis || axis < 0 ? count.get() : shape[k].expr());
  Statement listing = writer.loop(length, [&](Expr i) {
    Block copy;
    if (axis < 0) {
      std::vector<Expr> index = reshaped_index(from, {element_count(from)});
      for (Expr& expr : index)
        expr = te::transform(expr, [&](const Expr& e) { return te::as<te::Var>(e) ? i : Expr(); });
      copy.push_back(kept.put(next.get(), context.load(0, std::move(index))));
    } else {
      append(copy, writer.loops(from, axis, [&](std::vector<Expr> place) {
        std::vector<Expr> index = place;
        index[axis] = i;
        place[axis] = next.get();
        return Block{kept.put(std::move(place), context.load(0, std::move(index)))};
      }));
    }
    copy.push_back(next.increment());
    return Block{te::if_then(chosen(i), std::move(copy))};
  });
  return writer.finish(context, {std::move(counting), te::resize(kept.local, std::move(extents)), std::move(listing)},
                       {kept});
}

// Unique

Result<std::vector<ValueType>> unique_infer(const OpContext& context) {
  const Dim count = context.fresh(0, 0);
  Shape shape = {count}, inverse = {element_count(context.shape(0))};
  if (context.has_attribute("axis")) {
    TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
    shape = context.shape(0);
    shape[axis] = count;
    inverse = {context.dim(0, axis)};
  }
  return std::vector{ValueType::tensor(context.dtype(0), shape), ValueType::tensor(DataType::kInt64, {count}),
                     ValueType::tensor(DataType::kInt64, inverse), ValueType::tensor(DataType::kInt64, {count})};
}

/// Sorts the parts (elements, or slices along the axis), numbers the runs of equal ones, and writes one of each run.
Result<te::Program> unique_compute(const OpContext& context) {
  TRY(const std::vector<ValueType> types, unique_infer(context));
  int axis = -1;
  if (context.has_attribute("axis")) {
    TRY(axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
  }
  const Shape& from = context.shape(0);
  const Shape parts = *types[2].shape;
  const Expr total = parts[0].expr();
  Shape slice = axis < 0 ? Shape() : from;
  if (axis >= 0) slice[axis] = 1;
  const Dim inner = element_count(slice);

  Writer writer;
  std::vector<Buffer> outputs;
  for (const ValueType& type : types) outputs.push_back(writer.buffer(type.dtype, *type.shape));
  const Buffer order = writer.buffer(DataType::kInt64, parts), run_of = writer.buffer(DataType::kInt64, parts);
  const Buffer first = writer.buffer(DataType::kInt64, parts), size = writer.buffer(DataType::kInt64, parts);
  const Buffer place = writer.buffer(DataType::kInt64, parts);
  const Buffer runs = writer.counter(), next = writer.counter(), offset = writer.counter(), relation = writer.counter();

  // Element `e` of part `i`, both in row-major order.
  const Shape order_of_parts = axis < 0 ? Shape{parts[0]} : Shape{inner};
  const std::vector<Expr> unravelled = reshaped_index(axis < 0 ? from : slice, order_of_parts);
  const auto element = [&](const Expr& i, const Expr& e) {
    std::vector<Expr> index = unravelled;
    for (Expr& expr : index)
      expr = te::transform(expr, [&](const Expr& x) { return te::as<te::Var>(x) ? (axis < 0 ? i : e) : Expr(); });
    if (axis >= 0) index[axis] = i;
    return context.load(0, std::move(index));
  };
  // relation = -1, 0, 1 where part a is below, equal to, above part b at the first element in which they differ.
  const auto relate = [&](const Expr& a, const Expr& b) {
    const Expr x = element(a, offset.get()), y = element(b, offset.get());
    return Block{offset.set(te::index(0)), relation.set(te::index(0)),
                 te::while_loop(te::equal(relation.get(), 0) && offset.get() < inner.expr(),
                                {relation.set(te::select(is_less(x, y), te::index(-1),
                                                         te::select(is_less(y, x), te::index(1), te::index(0)))),
                                 offset.increment()})};
  };
  Sorter sorter(writer, order, [&](Expr a, Expr b) {
    return std::pair(relate(a, b), relation.get() < 0 || (te::equal(relation.get(), 0) && a < b));
  });

  Block block = {writer.loop(total, [&](Expr i) { return Block{order.put(i, i)}; })};
  append(block, sorter.build(total));
  append(block, sorter.sort(total));
  block.push_back(writer.loop(total, [&](Expr i) {
    return Block{te::if_then(te::index(0) < i, relate(order.at(i - 1), order.at(i)), {relation.set(te::index(-1))}),
                 te::if_then(te::logical_not(te::equal(relation.get(), 0)),
                             {first.put(runs.get(), order.at(i)), runs.increment()}),
                 run_of.put(order.at(i), runs.get() - 1), size.put(runs.get() - 1, size.at(runs.get() - 1) + 1)};
  }));
  if (context.get_int("sorted") != 0) {
    block.push_back(writer.loop(runs.get(), [&](Expr i) { return Block{place.put(i, i)}; }));
  } else {
    block.push_back(writer.loop(total, [&](Expr i) {
      return Block{
          te::if_then(te::equal(first.at(run_of.at(i)), i), {place.put(run_of.at(i), next.get()), next.increment()})};
    }));
  }
  std::vector<Expr> extents;
  for (size_t k = 0; k < types[0].shape->size(); ++k)
    extents.push_back(axis < 0 || static_cast<int>(k) == axis ? runs.get() : from[k].expr());
  block.push_back(te::resize(outputs[0].local, std::move(extents)));
  block.push_back(te::resize(outputs[1].local, {runs.get()}));
  block.push_back(te::resize(outputs[3].local, {runs.get()}));
  block.push_back(writer.loop(total, [&](Expr i) { return Block{outputs[2].put(i, place.at(run_of.at(i)))}; }));
  block.push_back(writer.loop(runs.get(), [&](Expr run) {
    Block write = {outputs[1].put(place.at(run), first.at(run)), outputs[3].put(place.at(run), size.at(run))};
    if (axis < 0) {
      write.push_back(outputs[0].put(place.at(run), element(first.at(run), te::index(0))));
    } else {
      append(write, writer.loops(from, axis, [&](std::vector<Expr> to) {
        std::vector<Expr> index = to;
        index[axis] = first.at(run);
        to[axis] = place.at(run);
        return Block{outputs[0].put(std::move(to), context.load(0, std::move(index)))};
      }));
    }
    return write;
  }));
  return writer.finish(context, std::move(block), outputs);
}

// NonMaxSuppression

Result<std::vector<ValueType>> suppression_infer(const OpContext& context) {
  const int64_t center = context.get_int("center_point_box");
  if (center != 0 && center != 1) return context.invalid("center_point_box of 0 or 1 expected, {} found", center);
  if (context.rank(1) != 3) return context.invalid("scores of rank 3 expected, shape {} found", text(context.shape(1)));
  TRY_VOID(expect_shape(context, 0, {context.dim(1, 0), context.dim(1, 2), 4}));
  for (int i = 2; i < 5; ++i)
    if (context.has_input(i)) TRY_VOID(expect_scalar(context, i));
  return one(DataType::kInt64, {context.fresh(0, 0), Dim(3)});
}

struct Box {
  Expr top, left, bottom, right;
  Expr area() const { return (bottom - top) * (right - left); }
};

Box box_at(const OpContext& context, const Expr& batch, const Expr& i) {
  const auto coordinate = [&](int64_t k) { return context.load(0, {batch, i, te::index(k)}); };
  if (context.get_int("center_point_box") == 0)
    return {te::min(coordinate(0), coordinate(2)), te::min(coordinate(1), coordinate(3)),
            te::max(coordinate(0), coordinate(2)), te::max(coordinate(1), coordinate(3))};
  const te::Number half = te::Number::fraction(1, 2);
  return {coordinate(1) - coordinate(3) * half, coordinate(0) - coordinate(2) * half,
          coordinate(1) + coordinate(3) * half, coordinate(0) + coordinate(2) * half};
}

/// intersection / union > threshold, where all of them are positive areas.
Expr overlap(const Box& a, const Box& b, const Expr& threshold) {
  const Expr height = te::min(a.bottom, b.bottom) - te::max(a.top, b.top);
  const Expr width = te::min(a.right, b.right) - te::max(a.left, b.left);
  const Expr common = height * width, joint = a.area() + b.area() - common;
  const te::Number none = 0;
  return none < height && none < width && none < a.area() && none < b.area() && none < joint &&
         threshold * joint < common;
}

Result<te::Program> suppression_compute(const OpContext& context) {
  const Dim& batches = context.dim(1, 0);
  const Dim& classes = context.dim(1, 1);
  const Dim& boxes = context.dim(1, 2);
  const Expr most = context.has_input(2) ? te::max(load_scalar(context, 2), 0) : te::index(0);
  const Expr threshold = context.has_input(3) ? load_scalar(context, 3) : te::literal(0, DataType::kFloat32);
  const auto known_most = context.has_input(2) ? context.scalar_int(2) : 0;
  const Dim per_class = known_most ? min(boxes, std::max<int64_t>(*known_most, 0)) : boxes;

  Writer writer;
  const Buffer result = writer.buffer(DataType::kInt64, {context.fresh(0, 0), 3});
  const Buffer selected = writer.buffer(DataType::kInt64, {batches * classes * per_class, 3});
  const Buffer order = writer.buffer(DataType::kInt64, {boxes}), candidates = writer.counter();
  const Buffer count = writer.counter(), begin = writer.counter(), other = writer.counter();
  const Buffer keep = writer.buffer(DataType::kBool, {});
  Statement of_all = writer.loop(batches.expr(), [&](Expr batch) {
    return Block{writer.loop(classes.expr(), [&](Expr kind) {
      const auto score = [&](const Expr& i) { return context.load(1, {batch, kind, i}); };
      Sorter sorter(writer, order, [&](Expr a, Expr b) {
        return std::pair(Block(),
                         is_less(score(b), score(a)) || (te::logical_not(is_less(score(a), score(b))) && a < b));
      });
      Block block = {candidates.set(te::index(0)), begin.set(count.get())};
      block.push_back(writer.loop(boxes.expr(), [&](Expr i) {
        const Expr high = context.has_input(4) ? load_scalar(context, 4) < score(i) : te::truth(true);
        return Block{te::if_then(high, {order.put(candidates.get(), i), candidates.increment()})};
      }));
      append(block, sorter.build(candidates.get()));
      append(block, sorter.sort(candidates.get()));
      block.push_back(writer.loop(candidates.get(), [&](Expr i) {
        const Box box = box_at(context, batch, order.at(i));
        const Box chosen = box_at(context, batch, selected.at({other.get(), te::index(2)}));
        return Block{te::if_then(
            count.get() - begin.get() < most,
            {keep.set(te::truth(true)), other.set(begin.get()),
             te::while_loop(
                 keep.get() && other.get() < count.get(),
                 {te::if_then(overlap(box, chosen, threshold), {keep.set(te::truth(false))}), other.increment()}),
             te::if_then(keep.get(), {selected.put({count.get(), te::index(0)}, batch),
                                      selected.put({count.get(), te::index(1)}, kind),
                                      selected.put({count.get(), te::index(2)}, order.at(i)), count.increment()})})};
      }));
      return block;
    })};
  });
  Statement copy = writer.loop(count.get(), [&](Expr i) {
    Block row;
    for (int64_t k = 0; k < 3; ++k) row.push_back(result.put({i, te::index(k)}, selected.at({i, te::index(k)})));
    return row;
  });
  return writer.finish(
      context, {std::move(of_all), te::resize(result.local, {count.get(), te::index(3)}), std::move(copy)}, {result});
}

}  // namespace

std::vector<OpDef> selection() {
  const TypeSet without_bfloat16 = DataType::kFloat16 | DataType::kFloat32 | TypeSet(DataType::kFloat64) | kInts;
  const Version unsorted = without(10, {"largest", "sorted"});
  return {
      {.name = "TopK",
       .since = 11,
       .inputs = {"X", "K:int64"},
       .outputs = {"Values", "Indices:int64"},
       .types = {{"T", without_bfloat16}},
       .attributes = {with_default("axis", -1), with_default("largest", 1), with_default("sorted", 1)},
       .versions = {unsorted, {1, k_to_input, in_turn({unsorted.from_newest, k_to_attribute})}},
       .infer = top_k_infer,
       .compute = top_k_compute},
      {.name = "NonZero",
       .since = 13,
       .inputs = {"X"},
       .outputs = {"Y:int64"},
       .types = {{"T", kPlain}},
       .versions = {{9}},
       .infer = non_zero_infer,
       .compute = non_zero_compute},
      {.name = "Unique",
       .since = 11,
       .inputs = {"X"},
       .outputs = {"Y", "indices?:int64", "inverse_indices?:int64", "counts?:int64"},
       .types = {{"T", kPlain}},
       .attributes = {optional("axis", AttributeKind::kInt), with_default("sorted", 1)},
       .infer = unique_infer,
       .compute = unique_compute},
      {.name = "Compress",
       .since = 11,
       .inputs = {"input", "condition:bool"},
       .outputs = {"output"},
       .types = {{"T", kPlain}},
       .attributes = {optional("axis", AttributeKind::kInt)},
       .versions = {{9, nullptr, count_from_front("axis")}},
       .infer = compress_infer,
       .compute = compress_compute},
      {.name = "NonMaxSuppression",
       .since = 11,
       .inputs = {"boxes:float32", "scores:float32", "max_output_boxes_per_class?:int64", "iou_threshold?:float32",
                  "score_threshold?:float32"},
       .outputs = {"selected_indices:int64"},
       .types = {},
       .attributes = {with_default("center_point_box", 0)},
       .versions = {{10}},
       .infer = suppression_infer,
       .compute = suppression_compute},
  };
}

}  // namespace isomer::ops
