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

/// The numbers of a box, as they are stored.
Box box_of(const std::function<Expr(Expr)>& value) {
  return {value(te::index(0)), value(te::index(1)), value(te::index(2)), value(te::index(3)), value(te::index(4))};
}

/// Of each class the candidates are a heap with the highest score on top; they are taken from it until enough boxes
/// are selected.
class SuppressionNest {
 public:
  explicit SuppressionNest(const OpContext& context)
      : context_(context),
        batches_(context.dim(1, 0)),
        classes_(context.dim(1, 1)),
        boxes_(context.dim(1, 2)),
        most_(context.has_input(2) ? te::max(load_scalar(context, 2), 0) : te::index(0)),
        threshold_(context.has_input(3) ? load_scalar(context, 3) : te::literal(0, DataType::kFloat32)),
        per_class_(most_of_class()),
        result_(writer_.buffer(DataType::kInt64, {context.fresh(0, 0), 3})),
        selected_(writer_.buffer(DataType::kInt64, {batches_ * classes_ * per_class_, 3})),
        sorter_(writer_, boxes_, context.dtype(1), highest_last),
        kept_(writer_.buffer(DataType::kFloat32, {per_class_, kBoxValues})),
        candidate_(writer_.buffer(DataType::kFloat32, {kBoxValues})),
        number_(writer_.counter()),
        left_(writer_.counter()),
        count_(writer_.counter()),
        of_class_(writer_.counter()),
        other_(writer_.counter()),
        keep_(writer_.scalar(DataType::kBool)) {}

  te::Program finish() && {
    Statement of_all = writer_.loop(batches_.expr(), [&](const Expr& batch) {
      return Block{writer_.loop(classes_.expr(), [&](const Expr& kind) { return select_of_class(batch, kind); })};
    });
    Statement copy = writer_.loop(count_.get(), [&](const Expr& i) {
      Block row;
      for (int64_t k = 0; k < 3; ++k) row.push_back(result_.put({i, te::index(k)}, selected_.at({i, te::index(k)})));
      return row;
    });
    return writer_.finish(context_,
                          {std::move(of_all), te::resize(result_.local, {count_.get(), te::index(3)}), std::move(copy)},
                          {result_});
  }

 private:
  Dim most_of_class() const {
    const auto known = context_.has_input(2) ? context_.scalar_int(2) : 0;
    return known ? min(boxes_, std::max<int64_t>(*known, 0)) : boxes_;
  }

  /// The first of the order, thus on top, is the last of this one.
  static std::pair<Block, Expr> highest_last(const SortedElement& a, const SortedElement& b) {
    return {Block(), comes_before(b, a, true)};
  }

  Block select_of_class(const Expr& batch, const Expr& kind) {
    Block block = {left_.set(te::index(0)), of_class_.set(te::index(0))};
    block.push_back(collect(batch, kind));
    append(block, sorter_.build(left_.get()));
    Block take = take_best(batch);
    take.push_back(te::if_then(keep_.get(), select(batch, kind)));
    block.push_back(te::while_loop(te::index(0) < left_.get() && of_class_.get() < most_, std::move(take)));
    return block;
  }

  /// Boxes whose scores are high enough.
  Statement collect(const Expr& batch, const Expr& kind) {
    const auto score = [&](const Expr& i) { return context_.load(1, {batch, kind, i}); };
    return writer_.loop(boxes_.expr(), [&](const Expr& i) {
      const Expr high = context_.has_input(4) ? load_scalar(context_, 4) < score(i) : te::truth(true);
      // Written without asking: a candidate overwrites what is none.
      Block write = sorter_.put(left_.get(), {i, score(i)});
      write.push_back(left_.set(left_.get() + te::cast(DataType::kInt64, high)));
      return write;
    });
  }

  /// Takes the candidate on top, and compares it with those selected of the class: whether it is to be kept.
  Block take_best(const Expr& batch) {
    Block take = {number_.set(sorter_.at(te::index(0)).position), left_.set(left_.get() - 1)};
    append(take, sorter_.replace_top(sorter_.at(left_.get()), left_.get()));
    const std::vector<Expr> values = box_at(context_, batch, number_.get()).values();
    for (int64_t k = 0; k < kBoxValues; ++k) take.push_back(candidate_.put(te::index(k), values[k]));
    const Box one = box_of([&](Expr k) { return candidate_.at(std::move(k)); });
    const Box chosen = box_of([&](Expr k) { return kept_.at({other_.get(), std::move(k)}); });
    append(take, {keep_.set(te::truth(true)), other_.set(te::index(0)),
                  te::while_loop(keep_.get() && other_.get() < of_class_.get(),
                                 {keep_.set(te::logical_not(overlap(one, chosen, threshold_))), other_.increment()})});
    return take;
  }

  Block select(const Expr& batch, const Expr& kind) const {
    Block select = {selected_.put({count_.get(), te::index(0)}, batch),
                    selected_.put({count_.get(), te::index(1)}, kind),
                    selected_.put({count_.get(), te::index(2)}, number_.get())};
    for (int64_t k = 0; k < kBoxValues; ++k)
      select.push_back(kept_.put({of_class_.get(), te::index(k)}, candidate_.at(te::index(k))));
    append(select, {count_.increment(), of_class_.increment()});
    return select;
  }

  const OpContext& context_;
  const Dim batches_, classes_, boxes_;
  const Expr most_, threshold_;
  const Dim per_class_;
  Writer writer_;
  const Buffer result_, selected_;
  Sorter sorter_;
  const Buffer kept_;                ///< those selected of this class
  const Buffer candidate_, number_;  ///< its box, and which one
  const Buffer left_, count_, of_class_, other_, keep_;
};

Result<te::Program> suppression_compute(const OpContext& context) { return SuppressionNest(context).finish(); }

}  // namespace

std::vector<OpDef> suppression() {
  return {
      {.name = "NonMaxSuppression",
       .since = 11,
       .inputs = {"boxes:float32", "scores:float32", "max_output_boxes_per_class?:int64", "iou_threshold?:float32",
                  "score_threshold?:float32"},
       .outputs = {"selected_indices:int64"},
       .types = {},
       .attributes = {zero_or_one("center_point_box", 0)},
       .versions = {{10}},
       .infer = suppression_infer,
       .compute = suppression_compute},
  };
}

}  // namespace isomer::ops
