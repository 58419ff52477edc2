// TopK NonZero Unique Compress: what data select. They are written as loop nests, since neither the order of their
// elements nor their number is an expression of indices.
#include "graph/infer.h"
#include "graph/ops/common.h"
#include "graph/ops/indexing.h"
#include "graph/ops/operand.h"
#include "graph/ops/registry.h"
#include "graph/ops/sorter.h"
#include "graph/ops/writer.h"
#include "util/append.h"

namespace isomer::ops {
namespace {

using te::Block;
using te::Expr;
using te::Statement;

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

/// So many neighbours along the axis are skipped together, where none of them is among the first.
constexpr int64_t kBlock = 16;
/// Shorter rows, or those of which more than a quarter is chosen, are read element by element.
constexpr int64_t kLeastLength = 128;

/// The best of each block of neighbours, as a stage; nothing where it would not pay.
std::optional<te::StageValue> best_of_blocks(te::Program& program, const OpContext& context, const Selection& selection,
                                             bool largest) {
  const Dim& length = context.dim(0, selection.axis);
  const std::optional<Dim>& count = selection.count;
  if (!length.is_constant() || length.value() < kLeastLength) return std::nullopt;
  if (count && !(count->is_constant() && count->value() <= length.value() / 4)) return std::nullopt;
  Shape blocks = context.shape(0);
  blocks[selection.axis] = length.value() / kBlock;
  std::vector<Expr> index = te::axes(static_cast<int>(blocks.size()));
  index[selection.axis] = index[selection.axis] * kBlock + te::reduce_axis(0);
  const DataType dtype = context.dtype(0);
  return program.reduce(blocks, {kBlock}, largest ? te::maximum(dtype) : te::minimum(dtype),
                        context.load(0, std::move(index)));
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

  te::Program program;
  const std::optional<te::StageValue> best = best_of_blocks(program, context, selection, largest);
  Writer writer;
  const Buffer values = writer.buffer(context.dtype(0), shape), indices = writer.buffer(DataType::kInt64, shape);
  Sorter sorter(writer, shape[axis], context.dtype(0), Sorter::by_key(largest));
  const Buffer given = writer.counter();  // where data decide K
  const Expr k = selection.count ? selection.count->expr() : given.get();
  Block rows = writer.loops(shape, axis, [&](std::vector<Expr> row) {
    const auto at = [&](const Expr& i) {
      row[axis] = i;
      return row;
    };
    const auto element = [&](const Expr& i) { return SortedElement{i, context.load(0, at(i))}; };
    // Whether a value comes before the top of the heap, all of whose positions are lower.
    const auto is_better = [&](const Expr& value) {
      const Expr top = sorter.at(te::index(0)).key;
      return largest ? is_less(top, value) : is_less(value, top);
    };
    const auto offer = [&](const Expr& i) {
      return Block{te::if_then(is_better(element(i).key), sorter.replace_top(element(i), k))};
    };
    const auto offer_all = [&](const Expr& begin, const Expr& end) {
      return writer.loop(te::max(end - begin, 0), [&](Expr i) { return offer(begin + i); });
    };
    Block others;
    if (best) {
      const int64_t blocks = context.dim(0, axis).value() / kBlock;
      const Expr first = te::floor_div(k + (kBlock - 1), te::index(kBlock)), begin = te::min(first * kBlock, n);
      others.push_back(offer_all(k, begin));
      others.push_back(writer.loop(te::max(te::index(blocks) - first, 0), [&](Expr i) {
        const Expr block = first + i, value = program.load(*best, at(block));
        // The best of numbers and a NaN is NaN.
        const Expr may_hold_one = largest || !is_float(value.dtype())
                                      ? is_better(value)
                                      : is_better(value) || te::unary(te::UnaryOp::kIsNan, value);
        return Block{te::if_then(may_hold_one,
                                 {writer.loop(te::index(kBlock), [&](Expr r) { return offer(block * kBlock + r); })})};
      }));
      others.push_back(offer_all(te::max(te::index(blocks * kBlock), begin), n));
    } else {
      others.push_back(offer_all(k, n));
    }
    Block block = {writer.loop(k, [&](Expr i) { return sorter.put(i, element(i)); })};
    append(block, sorter.build(k));
    block.push_back(te::if_then(te::index(0) < k, std::move(others)));
    append(block, sorter.sort(k));
    block.push_back(writer.loop(k, [&](Expr i) {
      const SortedElement chosen = sorter.at(i);
      return Block{indices.put(at(i), chosen.position), values.put(at(i), chosen.key)};
    }));
    return block;
  });
  if (selection.count) return writer.finish(context, std::move(rows), {values, indices}, std::move(program));
  std::vector<Expr> extents;
  for (const Dim& dim : shape) extents.push_back(dim.expr());
  extents[axis] = k;
  Block block = {given.set(context.load(1, std::vector<Expr>(context.rank(1), te::index(0)))),
                 te::resize(values.local, extents), te::resize(indices.local, extents)};
  append(block, sorter.resize(k));
  append(block, rows);
  return writer.finish(context, std::move(block), {values, indices}, std::move(program));
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
  const Buffer run_of = writer.buffer(DataType::kInt64, parts);
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
  // Elements are sorted as they are, slices by their positions.
  const Sorter::Compare by_slice = [&](const SortedElement& a, const SortedElement& b) {
    return std::pair(relate(a.position, b.position),
                     relation.get() < 0 || (te::equal(relation.get(), 0) && a.position < b.position));
  };
  const std::optional<DataType> key = axis < 0 ? std::optional(types[0].dtype) : std::nullopt;
  Sorter sorter(writer, parts[0], key, key ? Sorter::by_key(false) : by_slice);
  const auto part = [&](const Expr& i) { return SortedElement{i, key ? element(i, te::index(0)) : Expr()}; };
  const auto compare_with_last = [&](const Expr& i) {
    const SortedElement last = sorter.at(i - 1), here = sorter.at(i);
    if (!key) return relate(last.position, here.position);
    return Block{relation.set(te::select(is_less(last.key, here.key), te::index(-1), te::index(0)))};
  };

  Block block = {writer.loop(total, [&](Expr i) { return sorter.put(i, part(i)); })};
  append(block, sorter.build(total));
  append(block, sorter.sort(total));
  block.push_back(writer.loop(total, [&](Expr i) {
    const Expr here = sorter.at(i).position, last = runs.get() - 1;
    return Block{
        te::if_then(te::index(0) < i, compare_with_last(i), {relation.set(te::index(-1))}),
        te::if_then(te::logical_not(te::equal(relation.get(), 0)), {first.put(runs.get(), here), runs.increment()}),
        run_of.put(here, last), size.put(last, size.at(last) + 1)};
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
  };
}

}  // namespace isomer::ops
