#include "graph/onnx/sequences.h"

#include <algorithm>

#include "graph/infer.h"
#include "graph/sequence_ops.h"

namespace isomer {
namespace {

constexpr int64_t kMostPieces = 4096;
/// Of all sequences of a graph together: a list that is appended to element by element is as many lists.
constexpr size_t kMostElements = 1 << 20;

/// `axis` of a tensor of this rank, counted from the first.
std::optional<int64_t> axis_of(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

}  // namespace

const Sequences::Elements* Sequences::elements(ValueId id) const {
  const auto found = known_.find(id);
  return found == known_.end() ? nullptr : &found->second;
}

/// That input `input` counts from the first or the last element; the last one where it is left out. Less than `end`.
std::optional<size_t> Sequences::position(const NodeForm& form, int input, size_t end) const {
  const auto count = static_cast<int64_t>(end);
  if (!form.has_input(input)) return count == 0 ? std::nullopt : std::optional(end - 1);
  const auto given = form.ints(input);
  const auto at = given && given->size() == 1 ? axis_of(given->front(), count) : std::nullopt;
  return at ? std::optional(static_cast<size_t>(*at)) : std::nullopt;
}

bool Sequences::replaces(const Node& node) {
  const bool makes =
      node.op_type == "SequenceConstruct" || node.op_type == "SequenceEmpty" || node.op_type == "SplitToSequence";
  if (!node.domain.empty() || node.outputs.empty()) return false;
  if (!makes && (node.inputs.empty() || !known_.contains(node.inputs[0]))) return false;
  const Graph::Mark before = graph_.mark();
  NodeForm form(graph_, node);
  if (!makes) {
    const auto read = read_by(form);
    if (read.ok() && *read && form.finish().ok()) return true;
    graph_.roll_back(before);
  }
  auto made = made_by(form);
  if (made.ok() && *made && elements_ + (*made)->size() <= kMostElements) {
    elements_ += (*made)->size();
    order_.push_back(node.outputs[0]);
    known_.emplace(node.outputs[0], std::move(**made));
  } else {
    graph_.roll_back(before);
  }
  return false;
}

Result<std::optional<Sequences::Elements>> Sequences::made_by(NodeForm& form) {
  const std::string& op = form.node().op_type;
  if (op == "SequenceEmpty") return std::optional(Elements());
  if (op == "SequenceConstruct") return std::optional(form.node().inputs);
  if (op == "SplitToSequence") return pieces(form);
  const Elements* known = elements(form.input(0));
  if (!known) return std::optional<Elements>();
  Elements result = *known;
  if (op == "Identity") return std::optional(std::move(result));
  if (op == "SequenceInsert") {
    // Behind the last element, too, and there where no place is given.
    auto at = form.has_input(2) ? position(form, 2, result.size()) : std::optional(result.size());
    if (const auto given = form.ints(2); given && *given == std::vector{static_cast<int64_t>(result.size())})
      at = result.size();
    if (!at || !form.has_input(1)) return std::optional<Elements>();
    result.insert(result.begin() + static_cast<std::ptrdiff_t>(*at), form.input(1));
    return std::optional(std::move(result));
  }
  const auto at = op == "SequenceErase" ? position(form, 1, result.size()) : std::nullopt;
  if (!at) return std::optional<Elements>();
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(*at));
  return std::optional(std::move(result));
}

/// SplitToSequence: pieces of given sizes, of one size but for the last, or single elements of an axis, which goes
/// unless it is kept.
Result<std::optional<Sequences::Elements>> Sequences::pieces(NodeForm& form) {
  const std::optional<Elements> unknown;
  TRY(const auto axis, form.take_int("axis"));
  TRY(const auto keeps, form.take_int("keepdims"));
  const auto at = form.has_rank(0) ? axis_of(axis.value_or(0), form.rank(0)) : std::nullopt;
  if (!at) return unknown;
  const Dim& dim = (*form.type(0).shape)[static_cast<size_t>(*at)];
  const auto given = form.ints(1);
  if (!dim.is_constant() || (form.has_input(1) && (!given || given->empty()))) return unknown;
  std::vector<int64_t> sizes;
  const bool is_list = given && form.type(1).has_shape() && form.rank(1) == 1;
  const int64_t size = given ? given->front() : 1;
  if (is_list) {
    sizes = *given;
  } else {
    if (size < 1 || dim.value() / size >= kMostPieces) return unknown;
    for (int64_t left = dim.value(); left > 0; left -= size) sizes.push_back(std::min(size, left));
  }
  if (static_cast<int64_t>(sizes.size()) > kMostPieces || sizes.empty() || !add_up_to(sizes, dim.value()))
    return unknown;
  Node split;
  split.op = find_op("Split");
  split.op_type = split.op->name;
  split.name = form.node().name.empty() ? "" : form.node().name + "/Split";
  split.inputs = {form.input(0), form.ints(sizes, "split")};
  split.attributes = {{"axis", *at}};
  for (size_t k = 0; k < sizes.size(); ++k) {
    Value piece;
    piece.name = graph_.fresh_name(graph_.value(form.node().outputs[0]).name);
    split.outputs.push_back(graph_.add_value(std::move(piece)));
  }
  Elements result = split.outputs;
  TRY_VOID(infer_node(graph_, graph_.add_node(std::move(split))));
  if (given || keeps.value_or(1) != 0) return std::optional(std::move(result));
  for (ValueId& piece : result) {
    TRY(piece, form.emit("Squeeze", {piece, form.ints({*at}, "axes")}));
  }
  return std::optional(std::move(result));
}

Result<bool> Sequences::read_by(NodeForm& form) {
  const Elements* known = elements(form.input(0));
  if (!known) return false;
  const std::string& op = form.node().op_type;
  if (op == "ConcatFromSequence") return concatenated(form, *known);
  if (op == "SequenceLength") {
    TRY_VOID(
        form.emit_as(0, "Identity", {form.scalar(DataType::kInt64, static_cast<double>(known->size()), "length")}));
    return true;
  }
  const auto at = op == "SequenceAt" && form.has_input(1) ? position(form, 1, known->size()) : std::nullopt;
  if (!at) return false;
  TRY_VOID(form.emit_as(0, "Identity", {(*known)[*at]}));
  return true;
}

/// Along an axis of the elements, or along a new one.
Result<bool> Sequences::concatenated(NodeForm& form, const Elements& elements) {
  TRY(const auto axis, form.take_int("axis"));
  TRY(const auto is_new, form.take_int("new_axis"));
  if (!axis || elements.empty()) return false;
  Elements parts = elements;
  if (is_new.value_or(0) != 0)
    for (ValueId& part : parts) {
      TRY(part, form.emit("Unsqueeze", {part, form.ints({*axis}, "axes")}));
    }
  TRY_VOID(form.emit_as(0, "Concat", std::move(parts), {{"axis", *axis}}));
  return true;
}

void Sequences::remove_unread() {
  std::map<ValueId, int> reads;
  for (const ValueId output : graph_.outputs()) ++reads[output];
  for (const NodeId id : graph_.nodes())
    for (const auto* list : {&graph_.node(id).inputs, &graph_.node(id).captures})
      for (const ValueId input : *list) ++reads[input];
  for (size_t k = order_.size(); k-- > 0;) {
    const NodeId maker = graph_.value(order_[k]).producer;
    if (reads[order_[k]] > 0 || !maker.valid()) continue;
    for (const ValueId input : graph_.node(maker).inputs) --reads[input];
    graph_.remove_node(maker);
  }
}

}  // namespace isomer
