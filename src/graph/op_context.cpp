#include "graph/op_context.h"

#include <algorithm>

#include "graph/ops/operand.h"
#include "graph/te/symbols.h"
#include "util/check.h"

namespace isomer {

OpContext::OpContext(const OpDef& op, const Attributes& attributes, std::string label, std::vector<Input> inputs,
                     std::vector<std::string> output_names, InferBody infer_body)
    : op_(&op),
      attributes_(&attributes),
      label_(std::move(label)),
      inputs_(std::move(inputs)),
      output_names_(std::move(output_names)),
      infer_body_(std::move(infer_body)) {}

const ValueType& OpContext::type(int i) const {
  CHECK(has_input(i)) << label_ << " input " << i;
  return inputs_[i].type;
}

const Shape& OpContext::shape(int i) const {
  CHECK(type(i).has_shape()) << label_ << " input " << i;
  return *inputs_[i].type.shape;
}

OpContext OpContext::with_elements(int i, const Content& content, const Tensor& constant) const {
  OpContext result = with_content(i, content);
  result.inputs_[i].constant = &constant;
  return result;
}

OpContext OpContext::with_content(int i, const Content& content) const {
  OpContext result = *this;
  result.inputs_[i].content = &content;
  result.inputs_[i].constant = nullptr;
  return result;
}

const Content* OpContext::content(int i) const { return has_input(i) ? inputs_[i].content : nullptr; }

std::optional<std::vector<Dim>> OpContext::dims(int i) const {
  const Content* known = content(i);
  if (!known) {
    const auto integers = ints(i);
    return integers ? std::optional(std::vector<Dim>(integers->begin(), integers->end())) : std::nullopt;
  }
  std::vector<Dim> dims;
  for (const auto& element : *known) {
    if (!element) return std::nullopt;
    dims.push_back(*element);
  }
  return dims;
}

std::optional<std::vector<int64_t>> OpContext::ints(int i) const {
  if (const Tensor* tensor = constant(i); tensor && (is_int(tensor->dtype()) || tensor->dtype() == DataType::kBool))
    return tensor->integers();
  const Content* known = content(i);
  if (!known) return std::nullopt;
  std::vector<int64_t> values;
  for (const auto& element : *known) {
    if (!element || !element->is_constant()) return std::nullopt;
    values.push_back(element->value());
  }
  return values;
}

std::optional<int64_t> OpContext::scalar_int(int i) const {
  const auto values = ints(i);
  return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
}

std::optional<std::vector<double>> OpContext::reals(int i) const {
  const Tensor* tensor = constant(i);
  if (!tensor || !is_computable(tensor->dtype())) return std::nullopt;
  std::vector<double> values(tensor->count());
  for (size_t k = 0; k < values.size(); ++k) values[k] = tensor->real(static_cast<int64_t>(k));
  return values;
}

Dim OpContext::fresh(int output, int axis) const {
  const bool named = output < output_count() && !output_names_[output].empty();
  return Dim::symbol(size_by_data(named ? output_names_[output] : fmt::format("{} output {}", label_, output), axis));
}

const Attribute* OpContext::find(std::string_view name) const {
  if (const auto found = attributes_->find(name); found != attributes_->end()) return &found->second;
  for (const AttributeDef& def : op_->attributes)
    if (def.name == name) return def.fallback ? &*def.fallback : nullptr;
  return nullptr;
}

template <class T>
const T& OpContext::get(std::string_view name) const {
  const Attribute* attribute = find(name);
  CHECK(attribute && std::holds_alternative<T>(*attribute)) << label_ << " attribute " << name;
  return std::get<T>(*attribute);
}

int64_t OpContext::get_int(std::string_view name) const { return get<int64_t>(name); }
double OpContext::get_float(std::string_view name) const { return get<float>(name); }
const std::string& OpContext::get_string(std::string_view name) const { return get<std::string>(name); }
const std::vector<int64_t>& OpContext::get_ints(std::string_view name) const { return get<std::vector<int64_t>>(name); }
const std::vector<float>& OpContext::get_floats(std::string_view name) const { return get<std::vector<float>>(name); }
const std::vector<std::string>& OpContext::get_strings(std::string_view name) const {
  return get<std::vector<std::string>>(name);
}
const Tensor& OpContext::get_tensor(std::string_view name) const { return get<Tensor>(name); }
const Graph& OpContext::get_graph(std::string_view name) const { return *get<GraphPtr>(name); }

Result<std::vector<ValueType>> OpContext::infer_body(const Graph& body, const std::vector<ValueType>& inputs) const {
  CHECK(infer_body_ != nullptr) << label_;
  return infer_body_(body, inputs);
}

te::Expr OpContext::load(int i, std::vector<te::Expr> index) const {
  CHECK(static_cast<int>(index.size()) == rank(i)) << label_ << " input " << i;
  return te::load({te::BufferRef::Kind::kInput, i, 0}, dtype(i), std::move(index));
}

te::Expr OpContext::load_broadcast(int i, const Shape& out) const {
  const Shape& in = shape(i);
  const size_t offset = out.size() - in.size();
  std::vector<te::Expr> index;
  for (size_t k = 0; k < in.size(); ++k) {
    const te::Expr position = te::axis(static_cast<int>(k + offset));
    if (in[k].is(1))
      index.push_back(te::index(0));
    else if (in[k] == out[k + offset])
      index.push_back(position);
    else
      index.push_back(te::select(te::equal(in[k].expr(), 1), te::index(0), position));
  }
  return load(i, std::move(index));
}

Result<int> OpContext::normalize_axis(int64_t axis, int rank, std::string_view what) const {
  if (axis < -rank || axis >= rank) return invalid("{} in [{}, {}) expected, {} found", what, -rank, rank, axis);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Result<std::vector<int>> OpContext::normalize_axes(const std::vector<int64_t>& axes, int rank,
                                                   std::string_view what) const {
  std::vector<int> result;
  for (const int64_t axis : axes) {
    TRY(const int normal, normalize_axis(axis, rank, what));
    if (std::find(result.begin(), result.end(), normal) != result.end())
      return invalid("distinct {} expected, {} found twice", what, axis);
    result.push_back(normal);
  }
  return result;
}

Result<Shape> broadcast(const OpContext& context, const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()));
  for (size_t k = 0; k < out.size(); ++k) {
    const Dim one = 1;
    const Dim& left = k + a.size() >= out.size() ? a[k + a.size() - out.size()] : one;
    const Dim& right = k + b.size() >= out.size() ? b[k + b.size() - out.size()] : one;
    std::optional<Dim> both = ops::broadcast_dim(left, right);
    if (!both) return context.invalid("shapes that broadcast expected, {} and {} found", text(a), text(b));
    out[k] = *std::move(both);
  }
  return out;
}

}  // namespace isomer
