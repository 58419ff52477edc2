// Independent definitions of the main operators: plain loops over doubles, written from the ONNX texts and not from our
// rows. Used to test the rows' tensor expressions.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "ops/instance.h"

namespace isomer::test {

/// A tensor of doubles; what references compute on.
struct Plain {
  Dims dims;
  std::vector<double> values;

  Plain() = default;
  explicit Plain(Dims dims, double fill = 0) : dims(std::move(dims)), values(element_count(this->dims), fill) {}
  explicit Plain(const Tensor& tensor);
  int64_t count() const { return static_cast<int64_t>(values.size()); }
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  /// Row-major position of an index; one per axis.
  int64_t offset(const Dims& index) const;
  double& at(const Dims& index) { return values[offset(index)]; }
  double at(const Dims& index) const { return values[offset(index)]; }
  /// The index of element i.
  Dims index(int64_t i) const;
};

/// What a reference may ask of the node.
struct Call {
  const Instance& instance;
  bool has(size_t i) const { return i < instance.inputs.size() && instance.inputs[i].present; }
  Plain input(size_t i) const { return Plain(instance.inputs[i].tensor); }
  size_t inputs() const { return instance.inputs.size(); }
  int64_t integer(std::string_view name, int64_t fallback) const;
  double real(std::string_view name, double fallback) const;
  std::string text(std::string_view name, std::string fallback) const;
  std::vector<int64_t> integers(std::string_view name, std::vector<int64_t> fallback) const;
  std::vector<float> reals(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  /// An axis attribute made non-negative.
  int64_t axis(int64_t fallback, int64_t rank) const;
};

/// The outputs that the reference defines, first ones first.
using Reference = std::function<std::vector<Plain>(const Call&)>;

/// Σ of products over windows, as Conv's attributes say.
Plain convolved(const Call& call, const Plain& x, const Plain& w);
/// b behind a along the axis.
Plain appended(const Plain& a, const Plain& b, int64_t axis);
/// As MatMul.
Plain multiplied(Plain a, Plain b);

/// nullptr where there is none.
const Reference* reference_for(const OpDef& op);

using References = std::map<std::string_view, Reference>;
void add_pointwise_references(References& references);
void add_movement_references(References& references);
void add_shape_references(References& references);
void add_index_references(References& references);
void add_quantized_references(References& references);
void add_axis_references(References& references);
void add_window_references(References& references);
void add_product_references(References& references);
void add_recurrent_references(References& references);
void add_attention_references(References& references);
void add_contrib_references(References& references);

/// The element of `x` that broadcasts to a place of an output.
double broadcast_element(const Plain& x, const Dims& at);

/// The nearest number of the type, of two the one with an even code; powers of two as `round_mode` says.
double as_minifloat(DataType dtype, double value, bool saturates, const std::string& round_mode);

}  // namespace isomer::test
