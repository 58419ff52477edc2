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

Shape top_shape(const OpContext& context, const Selection& selection) {
  Shape shape = context.shape(0);
  shape[selection.axis] = selection.count.value_or(context.fresh(0, selection.axis));
  return shape;
}

Result<std::vector<ValueType>> top_k_infer(const OpContext& context) {
  TRY(const Selection selection, top_selection(context));
  const Shape shape = top_shape(context, selection);
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
class TopKNest {
 public:
  TopKNest(const OpContext& context, const Selection& selection)
      : context_(context),
        axis_(selection.axis),
        count_(selection.count),
        n_(context.dim(0, axis_).expr()),
        largest_(context.get_int("largest") != 0),
        shape_(top_shape(context, selection)),
        best_(best_of_blocks(program_, context, selection, largest_)),
        values_(writer_.buffer(context.dtype(0), shape_)),
        indices_(writer_.buffer(DataType::kInt64, shape_)),
        sorter_(writer_, shape_[axis_], context.dtype(0), Sorter::by_key(largest_)),
        given_(writer_.counter()),
        k_(count_ ? count_->expr() : given_.get()) {}

  te::Program finish() && {
    Block rows = writer_.loops(shape_, axis_, [&](const Position& row) { return choose_of(row); });
    if (count_) return writer_.finish(context_, std::move(rows), {values_, indices_}, std::move(program_));
    std::vector<Expr> extents;
    for (const Dim& dim : shape_) extents.push_back(dim.expr());
    extents[axis_] = k_;
    Block block = {given_.set(context_.load(1, Position(context_.rank(1), te::index(0)))),
                   te::resize(values_.local, extents), te::resize(indices_.local, extents)};
    append(block, sorter_.resize(k_));
    append(block, rows);
    return writer_.finish(context_, std::move(block), {values_, indices_}, std::move(program_));
  }

 private:
  using Position = std::vector<Expr>;

  Position at(Position row, const Expr& i) const {
    row[axis_] = i;
    return row;
  }
  SortedElement element(const Position& row, const Expr& i) const { return {i, context_.load(0, at(row, i))}; }

  Block choose_of(const Position& row) {
    Block others = offer_others(row);
    Block block = {writer_.loop(k_, [&](Expr i) { return sorter_.put(i, element(row, i)); })};
    append(block, sorter_.build(k_));
    block.push_back(te::if_then(te::index(0) < k_, std::move(others)));
    append(block, sorter_.sort(k_));
    block.push_back(writer_.loop(k_, [&](Expr i) {
      const SortedElement chosen = sorter_.at(i);
      return Block{indices_.put(at(row, i), chosen.position), values_.put(at(row, i), chosen.key)};
    }));
    return block;
  }

  /// Those behind the first k: each, or each of the blocks that may hold one of the first.
  Block offer_others(const Position& row) {
    if (!best_) return {offer_all(row, k_, n_)};
    const int64_t blocks = context_.dim(0, axis_).value() / kBlock;
    const Expr first = te::floor_div(k_ + (kBlock - 1), te::index(kBlock)), begin = te::min(first * kBlock, n_);
    Block others = {offer_all(row, k_, begin)};
    others.push_back(writer_.loop(te::max(te::index(blocks) - first, 0), [&](Expr i) {
      const Expr block = first + i, value = program_.load(*best_, at(row, block));
      // The best of numbers and a NaN is NaN.
      const Expr may_hold_one = largest_ || !is_float(value.dtype())
                                    ? is_better(value)
                                    : is_better(value) || te::unary(te::UnaryOp::kIsNan, value);
      return Block{te::if_then(
          may_hold_one, {writer_.loop(te::index(kBlock), [&](Expr r) { return offer(row, block * kBlock + r); })})};
    }));
    others.push_back(offer_all(row, te::max(te::index(blocks * kBlock), begin), n_));
    return others;
  }

  Statement offer_all(const Position& row, const Expr& begin, const Expr& end) {
    return writer_.loop(te::max(end - begin, 0), [&](Expr i) { return offer(row, begin + i); });
  }

  Block offer(const Position& row, const Expr& i) {
    return {te::if_then(is_better(element(row, i).key), sorter_.replace_top(element(row, i), k_))};
  }

  /// Whether a value comes before the top of the heap, all of whose positions are lower.
  Expr is_better(const Expr& value) const {
    const Expr top = sorter_.at(te::index(0)).key;
    return largest_ ? is_less(top, value) : is_less(value, top);
  }

  const OpContext& context_;
  const int axis_;
  const std::optional<Dim> count_;
  const Expr n_;
  const bool largest_;
  const Shape shape_;
  te::Program program_;
  const std::optional<te::StageValue> best_;
  Writer writer_;
  const Buffer values_, indices_;
  Sorter sorter_;
  const Buffer given_;  ///< where data decide K
  const Expr k_;
};

Result<te::Program> top_k_compute(const OpContext& context) {
  TRY(const Selection selection, top_selection(context));
  return TopKNest(context, selection).finish();
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
  const Shape& shape = context.shape(0);
  te::Program program;
  std::vector<Expr> all;
  for (int k = 0; k < rank; ++k) all.push_back(te::reduce_axis(k));
  const Expr count =
      program.load(program.reduce({}, shape, te::sum(DataType::kInt64), te::cast(DataType::kInt64, is_set(all))), {});
  Writer writer;
  const Buffer found = writer.buffer(DataType::kInt64, {Dim(rank), context.fresh(0, 1)});
  const Buffer next = writer.counter();
  Block block = {te::resize(found.local, {te::index(rank), count})};
  // Each place is written where the next one goes that is set, which takes it over: no branch is taken by chance.
  append(block, writer.loops(shape, -1, [&](const std::vector<Expr>& position) {
    Block write;
    for (int k = 0; k < rank; ++k) write.push_back(found.put({te::index(k), next.get()}, position[k]));
    write.push_back(next.set(next.get() + te::cast(DataType::kInt64, is_set(position))));
    return Block{te::if_then(next.get() < count, std::move(write))};
  }));
  return writer.finish(context, std::move(block), {found}, std::move(program));
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
class UniqueNest {
 public:
  /// `axis`: -1: of all elements in a row. `types`: of the outputs.
  UniqueNest(const OpContext& context, int axis, const std::vector<ValueType>& types)
      : context_(context),
        axis_(axis),
        from_(context.shape(0)),
        parts_(*types[2].shape),
        total_(parts_[0].expr()),
        slice_(slice_along(from_, axis)),
        inner_(element_count(slice_)),
        outputs_(buffers_for(types)),
        run_of_(by_part()),
        first_(by_part()),
        size_(by_part()),
        place_(by_part()),
        runs_(writer_.counter()),
        next_(writer_.counter()),
        offset_(writer_.counter()),
        relation_(writer_.counter()),
        unravelled_(axis < 0 ? reshaped_index(from_, {parts_[0]}) : reshaped_index(slice_, {inner_})),
        key_(axis < 0 ? std::optional(types[0].dtype) : std::nullopt),
        sorter_(writer_, parts_[0], key_, key_ ? Sorter::by_key(false) : by_slice()) {}
  UniqueNest(const UniqueNest&) = delete;
  UniqueNest& operator=(const UniqueNest&) = delete;

  te::Program finish() && {
    Block block = {writer_.loop(total_, [&](Expr i) { return sorter_.put(i, part(i)); })};
    append(block, sorter_.build(total_));
    append(block, sorter_.sort(total_));
    block.push_back(number_runs());
    block.push_back(context_.get_int("sorted") != 0 ? place_in_order() : place_as_found());
    append(block, write_outputs());
    return writer_.finish(context_, std::move(block), outputs_);
  }

 private:
  static Shape slice_along(Shape shape, int axis) {
    if (axis < 0) return {};
    shape[axis] = 1;
    return shape;
  }

  std::vector<Buffer> buffers_for(const std::vector<ValueType>& types) {
    std::vector<Buffer> buffers;
    for (const ValueType& type : types) buffers.push_back(writer_.buffer(type.dtype, *type.shape));
    return buffers;
  }
  Buffer by_part() { return writer_.buffer(DataType::kInt64, parts_); }

  /// Element `e` of part `i`, both in row-major order.
  Expr element(const Expr& i, const Expr& e) const {
    std::vector<Expr> index = unravelled_;
    for (Expr& expr : index)
      expr = te::transform(expr, [&](const Expr& x) { return te::as<te::Var>(x) ? (axis_ < 0 ? i : e) : Expr(); });
    if (axis_ >= 0) index[axis_] = i;
    return context_.load(0, std::move(index));
  }

  SortedElement part(const Expr& i) const { return {i, key_ ? element(i, te::index(0)) : Expr()}; }

  /// relation = -1, 0, 1 where part a is below, equal to, above part b at the first element in which they differ.
  Block relate(const Expr& a, const Expr& b) const {
    const Expr x = element(a, offset_.get()), y = element(b, offset_.get());
    return {offset_.set(te::index(0)), relation_.set(te::index(0)),
            te::while_loop(te::equal(relation_.get(), 0) && offset_.get() < inner_.expr(),
                           {relation_.set(te::select(is_less(x, y), te::index(-1),
                                                     te::select(is_less(y, x), te::index(1), te::index(0)))),
                            offset_.increment()})};
  }

  /// Elements are sorted as they are, slices by their positions.
  Sorter::Compare by_slice() const {
    return [this](const SortedElement& a, const SortedElement& b) {
      return std::pair(relate(a.position, b.position),
                       relation_.get() < 0 || (te::equal(relation_.get(), 0) && a.position < b.position));
    };
  }

  Block compare_with_last(const Expr& i) const {
    const SortedElement last = sorter_.at(i - 1), here = sorter_.at(i);
    if (!key_) return relate(last.position, here.position);
    return {relation_.set(te::select(is_less(last.key, here.key), te::index(-1), te::index(0)))};
  }

  Statement number_runs() {
    return writer_.loop(total_, [&](Expr i) {
      const Expr here = sorter_.at(i).position, last = runs_.get() - 1;
      return Block{te::if_then(te::index(0) < i, compare_with_last(i), {relation_.set(te::index(-1))}),
                   te::if_then(te::logical_not(te::equal(relation_.get(), 0)),
                               {first_.put(runs_.get(), here), runs_.increment()}),
                   run_of_.put(here, last), size_.put(last, size_.at(last) + 1)};
    });
  }

  Statement place_in_order() {
    return writer_.loop(runs_.get(), [&](Expr i) { return Block{place_.put(i, i)}; });
  }

  /// Runs, by the first part of each.
  Statement place_as_found() {
    return writer_.loop(total_, [&](Expr i) {
      return Block{te::if_then(te::equal(first_.at(run_of_.at(i)), i),
                               {place_.put(run_of_.at(i), next_.get()), next_.increment()})};
    });
  }

  Block write_outputs() {
    const Buffer &values = outputs_[0], &indices = outputs_[1], &inverse = outputs_[2], &counts = outputs_[3];
    std::vector<Expr> extents;
    if (axis_ < 0) {
      extents.push_back(runs_.get());
    } else {
      for (const Dim& dim : from_) extents.push_back(dim.expr());
      extents[axis_] = runs_.get();
    }
    Block block = {te::resize(values.local, std::move(extents)), te::resize(indices.local, {runs_.get()}),
                   te::resize(counts.local, {runs_.get()})};
    block.push_back(writer_.loop(total_, [&](Expr i) { return Block{inverse.put(i, place_.at(run_of_.at(i)))}; }));
    block.push_back(writer_.loop(runs_.get(), [&](Expr run) {
      Block write = {indices.put(place_.at(run), first_.at(run)), counts.put(place_.at(run), size_.at(run))};
      append(write, write_part(run));
      return write;
    }));
    return block;
  }

  /// The first of a run.
  Block write_part(const Expr& run) {
    const Buffer& values = outputs_[0];
    if (axis_ < 0) return {values.put(place_.at(run), element(first_.at(run), te::index(0)))};
    return writer_.loops(from_, axis_, [&](std::vector<Expr> to) {
      std::vector<Expr> index = to;
      index[axis_] = first_.at(run);
      to[axis_] = place_.at(run);
      return Block{values.put(std::move(to), context_.load(0, std::move(index)))};
    });
  }

  const OpContext& context_;
  const int axis_;
  const Shape from_, parts_;
  const Expr total_;  ///< parts
  const Shape slice_;
  const Dim inner_;  ///< elements of a part
  Writer writer_;
  const std::vector<Buffer> outputs_;
  const Buffer run_of_, first_, size_, place_;  ///< of a part, its run; of a run, its first part, its parts, its place
  const Buffer runs_, next_, offset_, relation_;
  const std::vector<Expr> unravelled_;
  const std::optional<DataType> key_;
  Sorter sorter_;
};

Result<te::Program> unique_compute(const OpContext& context) {
  TRY(const std::vector<ValueType> types, unique_infer(context));
  int axis = -1;
  if (context.has_attribute("axis")) {
    TRY(axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
  }
  return UniqueNest(context, axis, types).finish();
}

}  // namespace

std::vector<OpDef> selection() {
  const Version unsorted = without(10, {"largest", "sorted"});
  return {
      {.name = "TopK",
       .since = 24,
       .inputs = {"X", "K:int64"},
       .outputs = {"Values", "Indices:int64"},
       .types = {{"T", kNumeric}},
       .attributes = {with_default("axis", -1), zero_or_one("largest", 1), zero_or_one("sorted", 1)},
       .versions = {{11}, unsorted, {1, k_to_input, in_turn({unsorted.from_newest, k_to_attribute})}},
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
       .attributes = {optional("axis", AttributeKind::kInt), zero_or_one("sorted", 1)},
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
