#include "graph/sequence_ops.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "graph/infer.h"
#include "graph/te/array_parts.h"

namespace isomer {
namespace {

using te::Array;
using Elements = std::vector<Array>;

/// Of one tensor: a tensor without elements may have more positions than memory has bytes.
constexpr int64_t kMostPieces = int64_t{1} << 20;

/// What a node is given and makes, with sentences about it.
class SequenceOp {
 public:
  SequenceOp(const Node& node, const std::string& place, std::span<const Array> inputs, BodyRunner& bodies)
      : node_(node), place_(place), inputs_(inputs), bodies_(bodies) {}

  Result<Elements> identity() { return as_it_is(0); }

  Result<Elements> construct() {
    Elements elements;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      TRY(Array element, tensor(i));
      elements.push_back(std::move(element));
    }
    return sequence_of(std::move(elements));
  }

  Result<Elements> empty() { return sequence_of({}); }

  Result<Elements> insert() {
    TRY(const Elements* const given, sequence(0));
    TRY(Array element, tensor(1));
    Elements elements = *given;
    auto at = static_cast<int64_t>(elements.size());
    if (has(2)) {
      TRY(at, position(2, at, at + 1));
    }
    elements.insert(elements.begin() + at, std::move(element));
    return sequence_of(std::move(elements));
  }

  Result<Elements> erase() {
    TRY(const Elements* const given, sequence(0));
    Elements elements = *given;
    const auto count = static_cast<int64_t>(elements.size());
    if (count == 0) return invalid("an element to erase expected, an empty sequence found");
    int64_t at = count - 1;
    if (has(1)) {
      TRY(at, position(1, count, count));
    }
    elements.erase(elements.begin() + at);
    return sequence_of(std::move(elements));
  }

  Result<Elements> at() {
    TRY(const Elements* const elements, sequence(0));
    const auto count = static_cast<int64_t>(elements->size());
    TRY(const int64_t at, position(1, count, count));
    return Elements{(*elements)[at]};
  }

  Result<Elements> length() {
    TRY(const Elements* const elements, sequence(0));
    return integer(DataType::kInt64, static_cast<int64_t>(elements->size()));
  }

  /// Pieces of given sizes, of one size but for the last, or single positions of an axis, which goes unless it is kept.
  Result<Elements> split() {
    TRY(const Array whole, tensor(0));
    TRY(const int64_t axis, axis_of(integer_attribute("axis", 0), whole.dims().size()));
    TRY(const std::vector<int64_t> sizes, sizes_of(whole.dims()[axis]));
    const bool keeps = has(1) || integer_attribute("keepdims", 1) != 0;
    Elements pieces;
    int64_t begin = 0;
    for (const int64_t size : sizes) {
      TRY(const Array piece, te::slice(whole, axis, begin, size));
      pieces.push_back(keeps ? piece : te::without_axis(piece, axis));
      begin += size;
    }
    return sequence_of(std::move(pieces));
  }

  Result<Elements> concatenate() {
    TRY(const Elements* const given, sequence(0));
    Elements elements = *given;
    if (elements.empty()) return invalid("at least one element expected, an empty sequence found");
    if (!std::ranges::all_of(elements, &Array::is_tensor)) return invalid("a sequence of tensors expected");
    if (!node_.attributes.contains("axis")) return invalid("attribute 'axis' expected, none found");
    const bool is_new = integer_attribute("new_axis", 0) != 0;
    TRY(const int64_t axis, axis_of(integer_attribute("axis", 0), elements[0].dims().size() + (is_new ? 1 : 0)));
    if (is_new)
      for (Array& element : elements) element = te::with_axis(element, axis);
    const auto around = [&](const Array& array) {
      Dims dims = array.dims();
      if (axis < static_cast<int64_t>(dims.size())) dims[axis] = 0;
      return dims;
    };
    int64_t extent = 0;
    for (const Array& element : elements) {
      if (element.dtype() != elements[0].dtype() || around(element) != around(elements[0]))
        return invalid("elements that can be concatenated along axis {} expected, {} and {} found", axis,
                       text(elements[0]), text(element));
      extent += element.dims()[axis];
      if (extent > kMaxDim) return invalid("dims in [0, 2^40] expected, {} found", extent);
    }
    TRY(Array whole, te::concatenate(elements, axis));
    return Elements{std::move(whole)};
  }

  /// The body on each element; further inputs that are sequences give it theirs, tensors go into each of its runs.
  Result<Elements> map() {
    const auto found = node_.attributes.find("body");
    const auto* const body = found == node_.attributes.end() ? nullptr : std::get_if<GraphPtr>(&found->second);
    if (!body) return invalid("attribute 'body' of type graph expected, none found");
    if ((*body)->inputs().size() != inputs_.size())
      return invalid("a body with {} inputs expected, {} found", inputs_.size(), (*body)->inputs().size());
    TRY(const Elements* const first, sequence(0));
    for (size_t i = 1; i < inputs_.size(); ++i)
      if (const auto* more = inputs_[i].sequence_elements(); more && more->size() != first->size())
        return invalid("sequences of one length expected, {} and {} elements found", first->size(), more->size());
    std::vector<Elements> made((*body)->outputs().size());
    for (size_t k = 0; k < first->size(); ++k) {
      Elements actual;
      for (const Array& input : inputs_) {
        const Elements* const elements = input.sequence_elements();
        actual.push_back(elements ? (*elements)[k] : input);
      }
      TRY(Elements outputs, bodies_.run(**body, actual));
      for (size_t i = 0; i < made.size(); ++i) {
        if (!outputs[i].is_tensor()) return invalid("a body that makes tensors expected, {} found", text(outputs[i]));
        made[i].push_back(std::move(outputs[i]));
      }
    }
    Elements result;
    for (Elements& elements : made) result.push_back(Array::sequence(std::move(elements)));
    return result;
  }

  Result<Elements> optional() { return has(0) ? as_it_is(0) : Elements{Array::none()}; }

  Result<Elements> has_element() { return integer(DataType::kBool, has(0) && !inputs_[0].is_none() ? 1 : 0); }

  Result<Elements> get_element() {
    TRY(Elements element, as_it_is(0));
    if (element[0].is_none()) return invalid("an optional that has a value expected, one without found");
    return element;
  }

 private:
  template <class... Args>
  Error invalid(fmt::format_string<Args...> format, Args&&... args) const {
    return isomer::invalid(place_, format, std::forward<Args>(args)...);
  }

  Error too_many(int64_t pieces) const {
    return unsupported(place_, "a sequence of at most {} pieces expected, {} found", kMostPieces, pieces);
  }

  static std::string text(const Array& array) {
    if (array.sequence_elements()) return "a sequence";
    if (array.is_none()) return "an optional without a value";
    return fmt::format("{}[{}]", name(array.dtype()), fmt::join(array.dims(), ","));
  }

  static Elements sequence_of(Elements elements) { return {Array::sequence(std::move(elements))}; }
  static Elements integer(DataType dtype, int64_t value) { return {Array::integers(dtype, {}, {&value, 1})}; }

  bool has(size_t input) const { return input < inputs_.size() && !inputs_[input].empty(); }

  Result<Elements> as_it_is(size_t input) const {
    if (!has(input)) return invalid("input {} expected, none found", input);
    return Elements{inputs_[input]};
  }

  Result<Array> tensor(size_t input) const {
    if (!has(input)) return invalid("input {} expected, none found", input);
    if (!inputs_[input].is_tensor())
      return invalid("a tensor as input {} expected, {} found", input, text(inputs_[input]));
    return inputs_[input];
  }

  Result<const Elements*> sequence(size_t input) const {
    if (!has(input)) return invalid("input {} expected, none found", input);
    const Elements* const elements = inputs_[input].sequence_elements();
    if (!elements) return invalid("a sequence as input {} expected, {} found", input, text(inputs_[input]));
    return elements;
  }

  /// What a scalar says, counted from the first: in [-count, end).
  Result<int64_t> position(size_t input, int64_t count, int64_t end) const {
    TRY(const Array given, tensor(input));
    if (given.count() != 1 || is_float(given.dtype())) return invalid("a position expected, {} found", text(given));
    const int64_t at = given.integer(0);
    if (at < -count || at >= end)
      return invalid("a position in [{}, {}) of a sequence of {} elements expected, {} found", -count, end, count, at);
    return at < 0 ? at + count : at;
  }

  int64_t integer_attribute(std::string_view name, int64_t fallback) const {
    const auto found = node_.attributes.find(name);
    const auto* const value = found == node_.attributes.end() ? nullptr : std::get_if<int64_t>(&found->second);
    return value ? *value : fallback;
  }

  Result<int64_t> axis_of(int64_t axis, size_t rank) const {
    const auto count = static_cast<int64_t>(rank);
    if (axis < -count || axis >= count) return invalid("an axis in [{}, {}) expected, {} found", -count, count, axis);
    return axis < 0 ? axis + count : axis;
  }

  Result<std::vector<int64_t>> sizes_of(int64_t extent) const {
    std::vector<int64_t> sizes;
    int64_t size = 1;
    if (has(1)) {
      TRY(const Array given, tensor(1));
      if (is_float(given.dtype()) || given.dims().size() > 1)
        return invalid("sizes or one size of pieces expected, {} found", text(given));
      if (given.dims().size() == 1) {
        if (given.count() > kMostPieces) return too_many(given.count());
        for (int64_t k = 0; k < given.count(); ++k) sizes.push_back(given.integer(k));
        if (!add_up_to(sizes, extent))
          return invalid("sizes of pieces that are {} together expected, {} found", extent, text(given));
        return sizes;
      }
      size = given.integer(0);
      if (size < 1) return invalid("pieces of at least one position expected, {} found", size);
    }
    if (extent / size >= kMostPieces) return too_many(extent / size);
    for (int64_t left = extent; left > 0; left -= sizes.back()) sizes.push_back(std::min(size, left));
    return sizes;
  }

  const Node& node_;
  const std::string& place_;
  std::span<const Array> inputs_;
  BodyRunner& bodies_;
};

using Run = Result<Elements> (SequenceOp::*)();

const std::map<std::string_view, Run>& sequence_ops() {
  static const std::map<std::string_view, Run> ops = {
      {"ConcatFromSequence", &SequenceOp::concatenate},
      {"Identity", &SequenceOp::identity},
      {"Optional", &SequenceOp::optional},
      {"OptionalGetElement", &SequenceOp::get_element},
      {"OptionalHasElement", &SequenceOp::has_element},
      {"SequenceAt", &SequenceOp::at},
      {"SequenceConstruct", &SequenceOp::construct},
      {"SequenceEmpty", &SequenceOp::empty},
      {"SequenceErase", &SequenceOp::erase},
      {"SequenceInsert", &SequenceOp::insert},
      {"SequenceLength", &SequenceOp::length},
      {"SequenceMap", &SequenceOp::map},
      {"SplitToSequence", &SequenceOp::split},
  };
  return ops;
}

}  // namespace

bool add_up_to(std::span<const int64_t> sizes, int64_t whole) {
  for (const int64_t size : sizes) {
    if (size < 0 || size > whole) return false;
    whole -= size;
  }
  return whole == 0;
}

bool is_sequence_op(const Node& node) { return node.domain.empty() && sequence_ops().contains(node.op_type); }

Result<std::vector<Array>> run_sequence_op(const Node& node, const std::string& place, std::span<const Array> inputs,
                                           BodyRunner& bodies) {
  SequenceOp op(node, place, inputs, bodies);
  return (op.*sequence_ops().at(node.op_type))();
}

}  // namespace isomer
