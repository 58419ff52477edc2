// NonMaxSuppression: the best boxes that do not overlap, written as a loop nest since data decide how many there are.
#include "graph/infer.h"
#include "graph/ops/common.h"
#include "graph/ops/indexing.h"
#include "graph/ops/operand.h"
#include "graph/ops/registry.h"
#include "graph/ops/sorter.h"
#include "util/append.h"

namespace isomer::ops {
namespace {

using te::Block;
using te::Expr;
using te::Statement;

Result<std::vector<ValueType>> suppression_infer(const OpContext& context) {
  const int64_t center = context.get_int("center_point_box");
  if (center != 0 && center != 1) return context.invalid("center_point_box of 0 or 1 expected, {} found", center);
  if (context.rank(1) != 3) return context.invalid("scores of rank 3 expected, shape {} found", text(context.shape(1)));
  TRY_VOID(expect_shape(context, 0, {context.dim(1, 0), context.dim(1, 2), 4}));
  for (int i = 2; i < 5; ++i)
    if (context.has_input(i)) TRY_VOID(expect_scalar(context, i));
  return one(DataType::kInt64, {context.fresh(0, 0), Dim(3)});
}

/// Corners, the lower ones first, and the area between them.
struct Box {
  Expr top, left, bottom, right, area;

  std::vector<Expr> values() const { return {top, left, bottom, right, area}; }
};
constexpr int64_t kBoxValues = 5;

Box box_at(const OpContext& context, const Expr& batch, const Expr& i) {
  const auto coordinate = [&](int64_t k) { return context.load(0, {batch, i, te::index(k)}); };
  Box box;
  if (context.get_int("center_point_box") == 0) {
    box = {te::min(coordinate(0), coordinate(2)),
           te::min(coordinate(1), coordinate(3)),
           te::max(coordinate(0), coordinate(2)),
           te::max(coordinate(1), coordinate(3)),
           {}};
  } else {
    const te::Number half = te::Number::fraction(1, 2);
    box = {coordinate(1) - coordinate(3) * half,
           coordinate(0) - coordinate(2) * half,
           coordinate(1) + coordinate(3) * half,
           coordinate(0) + coordinate(2) * half,
           {}};
  }
  box.area = (box.bottom - box.top) * (box.right - box.left);
  return box;
}

/// intersection / union > threshold, where all of them are positive areas.
Expr overlap(const Box& a, const Box& b, const Expr& threshold) {
  const Expr height = te::min(a.bottom, b.bottom) - te::max(a.top, b.top);
  const Expr width = te::min(a.right, b.right) - te::max(a.left, b.left);
  const Expr common = height * width, joint = a.area + b.area - common;
  const te::Number none = 0;
  return none < height && none < width && none < a.area && none < b.area && none < joint && threshold * joint < common;
}

/// Of each class the candidates are a heap with the highest score on top; they are taken from it until enough boxes
/// are selected.
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
  // The first of the order, thus on top, is the last of this one.
  Sorter sorter(writer, boxes, context.dtype(1), [](const SortedElement& a, const SortedElement& b) {
    return std::pair(Block(), comes_before(b, a, true));
  });
  const Buffer kept = writer.buffer(DataType::kFloat32, {per_class, kBoxValues});  // those selected of this class
  const Buffer candidate = writer.buffer(DataType::kFloat32, {kBoxValues}), number = writer.counter();
  const Buffer left = writer.counter(), count = writer.counter(), of_class = writer.counter(), other = writer.counter();
  const Buffer keep = writer.scalar(DataType::kBool);
  const auto box_of = [](const std::function<Expr(Expr)>& value) {
    return Box{value(te::index(0)), value(te::index(1)), value(te::index(2)), value(te::index(3)), value(te::index(4))};
  };
  const Box one = box_of([&](Expr k) { return candidate.at(std::move(k)); });
  const Box chosen = box_of([&](Expr k) { return kept.at({other.get(), std::move(k)}); });
  Statement of_all = writer.loop(batches.expr(), [&](Expr batch) {
    return Block{writer.loop(classes.expr(), [&](Expr kind) {
      const auto score = [&](const Expr& i) { return context.load(1, {batch, kind, i}); };
      Block block = {left.set(te::index(0)), of_class.set(te::index(0))};
      block.push_back(writer.loop(boxes.expr(), [&](Expr i) {
        const Expr high = context.has_input(4) ? load_scalar(context, 4) < score(i) : te::truth(true);
        // Written without asking: a candidate overwrites what is none.
        Block write = sorter.put(left.get(), {i, score(i)});
        write.push_back(left.set(left.get() + te::cast(DataType::kInt64, high)));
        return write;
      }));
      append(block, sorter.build(left.get()));
      Block take = {number.set(sorter.at(te::index(0)).position), left.set(left.get() - 1)};
      append(take, sorter.replace_top(sorter.at(left.get()), left.get()));
      const std::vector<Expr> values = box_at(context, batch, number.get()).values();
      for (int64_t k = 0; k < kBoxValues; ++k) take.push_back(candidate.put(te::index(k), values[k]));
      append(take, {keep.set(te::truth(true)), other.set(te::index(0)),
                    te::while_loop(keep.get() && other.get() < of_class.get(),
                                   {keep.set(te::logical_not(overlap(one, chosen, threshold))), other.increment()})});
      Block select = {selected.put({count.get(), te::index(0)}, batch), selected.put({count.get(), te::index(1)}, kind),
                      selected.put({count.get(), te::index(2)}, number.get())};
      for (int64_t k = 0; k < kBoxValues; ++k)
        select.push_back(kept.put({of_class.get(), te::index(k)}, candidate.at(te::index(k))));
      append(select, {count.increment(), of_class.increment()});
      take.push_back(te::if_then(keep.get(), std::move(select)));
      block.push_back(te::while_loop(te::index(0) < left.get() && of_class.get() < most, std::move(take)));
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

std::vector<OpDef> suppression() {
  return {
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
