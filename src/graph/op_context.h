// What a row may ask about the node that it is applied to: types, attributes (with the row's defaults), contents of
// inputs. The same view serves shape inference on symbolic graphs and the interpreter on concrete arrays.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/op_def.h"
#include "graph/te/program.h"

namespace isomer {

class OpContext {
 public:
  struct Input {
    bool present = false;
    ValueType type;
    const Content* content = nullptr;  ///< symbolic elements, when known
    const Tensor* constant = nullptr;  ///< actual elements, when known
  };
  /// Infers a subgraph whose formal inputs have these types; gives its outputs' types.
  using InferBody =
      std::function<Result<std::vector<ValueType>>(const Graph& body, const std::vector<ValueType>& inputs)>;

  OpContext(const OpDef& op, const Attributes& attributes, std::string label, std::vector<Input> inputs,
            std::vector<std::string> output_names, InferBody infer_body = nullptr);

  /// The same with these elements of input i, which outlive it.
  OpContext with_elements(int i, const Content& content, const Tensor& constant) const;
  /// The same where no more than this content of input i is known, which outlives it.
  OpContext with_content(int i, const Content& content) const;

  const OpDef& op() const { return *op_; }
  const std::string& label() const { return label_; }

  // Inputs
  int input_count() const { return static_cast<int>(inputs_.size()); }
  bool has_input(int i) const { return i < input_count() && inputs_[i].present; }
  /// Of the schema; all of a variadic one have its name.
  std::string_view input_name(int i) const { return op_->inputs[std::min<size_t>(i, op_->inputs.size() - 1)].name; }
  const ValueType& type(int i) const;
  DataType dtype(int i) const { return type(i).dtype; }
  const Shape& shape(int i) const;
  int rank(int i) const { return static_cast<int>(shape(i).size()); }
  const Dim& dim(int i, int axis) const { return shape(i)[axis]; }
  /// Elements of an integer or bool input: fully known dims; nothing if absent, unknown or partly unknown.
  std::optional<std::vector<Dim>> dims(int i) const;
  /// The same with unknown elements kept; nullptr when nothing is known.
  const Content* content(int i) const;
  /// Elements as plain integers; nothing unless all are constants.
  std::optional<std::vector<int64_t>> ints(int i) const;
  std::optional<int64_t> scalar_int(int i) const;
  /// The elements of an input of any type when they are known at this time.
  const Tensor* constant(int i) const { return has_input(i) ? inputs_[i].constant : nullptr; }
  /// Elements of a float input when known, as exact doubles.
  std::optional<std::vector<double>> reals(int i) const;

  // Outputs
  int output_count() const { return static_cast<int>(output_names_.size()); }
  bool wants_output(int i) const { return i < output_count() && !output_names_[i].empty(); }
  /// A dim that only data decide, and that may be 0: a symbol of its own, the same each time it is asked for.
  Dim fresh(int output, int axis) const;

  // Attributes; kind and presence were checked against the row. Those with defaults or required always have a value.
  bool has_attribute(std::string_view name) const { return find(name) != nullptr; }
  int64_t get_int(std::string_view name) const;
  double get_float(std::string_view name) const;  ///< the float32's exact value
  const std::string& get_string(std::string_view name) const;
  const std::vector<int64_t>& get_ints(std::string_view name) const;
  const std::vector<float>& get_floats(std::string_view name) const;
  const std::vector<std::string>& get_strings(std::string_view name) const;
  const Tensor& get_tensor(std::string_view name) const;
  const Graph& get_graph(std::string_view name) const;
  Result<std::vector<ValueType>> infer_body(const Graph& body, const std::vector<ValueType>& inputs) const;

  // Expressions
  /// Element `index` of input i, in the input's dtype.
  te::Expr load(int i, std::vector<te::Expr> index) const;
  /// Element of input i that broadcasts to position axis(0…) of an output of `out` (right-aligned, numpy's rule).
  te::Expr load_broadcast(int i, const Shape& out) const;

  // Sentences
  template <class... Args>
  Error invalid(fmt::format_string<Args...> format, Args&&... args) const {
    return isomer::invalid(label_, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  Error unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    return isomer::unsupported(label_, format, std::forward<Args>(args)...);
  }
  /// axis in [-rank, rank) made non-negative, or an error that names `what`.
  Result<int> normalize_axis(int64_t axis, int rank, std::string_view what = "axis") const;
  Result<std::vector<int>> normalize_axes(const std::vector<int64_t>& axes, int rank,
                                          std::string_view what = "axes") const;

 private:
  const Attribute* find(std::string_view name) const;
  template <class T>
  const T& get(std::string_view name) const;
  const OpDef* op_;
  const Attributes* attributes_;
  std::string label_;
  std::vector<Input> inputs_;
  std::vector<std::string> output_names_;
  InferBody infer_body_;
};

/// numpy's broadcast of two shapes; of two different symbols their maximum (one of them is 1 or both are equal).
Result<Shape> broadcast(const OpContext& context, const Shape& a, const Shape& b);

}  // namespace isomer
