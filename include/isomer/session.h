// Isomer's C++ interface to artifacts (.iso): the C interface of isomer.h with owners, spans and Expected. It needs
// libisomer.so (isomer::runtime) and C++20's library alone.
#ifndef ISOMER_SESSION_H
#define ISOMER_SESSION_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "isomer/expected.h"
#include "isomer/isomer.h"

namespace isomer {

/// What a session takes or gives.
struct Port {
  std::string name;
  isomer_dtype type = ISOMER_FLOAT32;
  std::vector<int64_t> shape;  ///< -1: data decide
};

/// The isomer_dtype of elements of a C++ type.
template <class T>
struct ElementType;
template <>
struct ElementType<float> : std::integral_constant<isomer_dtype, ISOMER_FLOAT32> {};
template <>
struct ElementType<double> : std::integral_constant<isomer_dtype, ISOMER_FLOAT64> {};
template <>
struct ElementType<bool> : std::integral_constant<isomer_dtype, ISOMER_BOOL> {};
template <>
struct ElementType<int8_t> : std::integral_constant<isomer_dtype, ISOMER_INT8> {};
template <>
struct ElementType<uint8_t> : std::integral_constant<isomer_dtype, ISOMER_UINT8> {};
template <>
struct ElementType<int16_t> : std::integral_constant<isomer_dtype, ISOMER_INT16> {};
template <>
struct ElementType<uint16_t> : std::integral_constant<isomer_dtype, ISOMER_UINT16> {};
template <>
struct ElementType<int32_t> : std::integral_constant<isomer_dtype, ISOMER_INT32> {};
template <>
struct ElementType<uint32_t> : std::integral_constant<isomer_dtype, ISOMER_UINT32> {};
template <>
struct ElementType<int64_t> : std::integral_constant<isomer_dtype, ISOMER_INT64> {};
template <>
struct ElementType<uint64_t> : std::integral_constant<isomer_dtype, ISOMER_UINT64> {};

/// Elements that lie elsewhere, row-major without gaps; what has no C++ type (float16) names its type.
class TensorView {
 public:
  template <class T>
  TensorView(std::span<const T> elements, std::vector<int64_t> shape)
      : TensorView(elements.data(), elements.size_bytes(), ElementType<T>::value, std::move(shape)) {}
  template <class T>
  TensorView(const std::vector<T>& elements, std::vector<int64_t> shape)
      : TensorView(std::span<const T>(elements), std::move(shape)) {}
  TensorView(const void* data, size_t bytes, isomer_dtype type, std::vector<int64_t> shape)
      : data_(data), bytes_(bytes), type_(type), shape_(std::move(shape)) {}

  isomer_dtype type() const { return type_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  const void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  /// NoValue where elements are of another type.
  template <class T>
  std::span<const T> elements() const {
    if (type_ != ElementType<T>::value) throw NoValue("elements of the tensor's own type expected, others asked for");
    return {static_cast<const T*>(data_), bytes_ / sizeof(T)};
  }

 private:
  const void* data_;
  size_t bytes_;
  isomer_dtype type_;
  std::vector<int64_t> shape_;
};

struct SessionOptions {
  std::map<std::string, int64_t> dims;  ///< all symbolic dims, or none where the artifact has one variant only
  int threads = 0;                      ///< 0: as many as this process may use
  std::string device;                   ///< "cpu", "cuda:1"; empty: what the artifact prefers of what is here
};

/// A variant of an artifact, ready to run. For one thread at a time, which is done with what a run gave: several take a
/// session each, or memory of their own for outputs (isomer_session_run).
class Session {
 public:
  /// Header, plan and code are checked, the weights mapped. An artifact is a program, which is run with the rights of
  /// this process: open only what you would execute.
  static Expected<Session> open(const std::string& artifact, const SessionOptions& options = {}) {
    isomer_model* model = nullptr;
    if (const isomer_status status = isomer_model_open(artifact.c_str(), &model)) return failure(status);
    const std::unique_ptr<isomer_model, void (*)(isomer_model*)> owner(model, isomer_model_close);
    std::vector<isomer_binding> bindings;
    for (const auto& [name, value] : options.dims) bindings.push_back({name.c_str(), value});
    const isomer_options given = {options.threads, bindings.data(), bindings.size()};
    isomer_session* session = nullptr;
    const isomer_status status = options.device.empty()
                                     ? isomer_session_create(model, &given, &session)
                                     : isomer_session_create_on(model, options.device.c_str(), &given, &session);
    if (status) return failure(status);
    Session made(session);
    if (const isomer_status listed = made.list()) return failure(listed);
    return made;
  }

  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }

  /// Runs on inputs in the order of inputs(), which are only read. What it gives, in the order of outputs(), lies in
  /// the session's memory on the CPU and stays until its next run, which may take it as inputs.
  Expected<std::vector<TensorView>> run(const std::vector<TensorView>& inputs) {
    std::vector<isomer_tensor> given, made(outputs_.size());
    for (const TensorView& input : inputs) {
      given.push_back(tensor(input));
      if (isomer_tensor_bytes(&given.back()) != static_cast<int64_t>(input.bytes()))
        return Failure{"as many bytes as the shape has elements expected, " + std::to_string(input.bytes()) + " found",
                       FailureKind::usage};
    }
    const isomer_status status =
        isomer_session_run(session_.get(), given.data(), given.size(), made.data(), made.size());
    if (status) return failure(status);
    std::vector<TensorView> outputs;
    for (const isomer_tensor& each : made)
      outputs.emplace_back(each.data, static_cast<size_t>(isomer_tensor_bytes(&each)),
                           static_cast<isomer_dtype>(each.dtype),
                           std::vector<int64_t>(each.dims, each.dims + each.rank));
    return outputs;
  }

  /// The same by name.
  Expected<std::vector<TensorView>> run_by_name(const std::map<std::string, TensorView>& inputs) {
    std::vector<TensorView> in_order;
    for (const Port& port : inputs_) {
      const auto found = inputs.find(port.name);
      if (found == inputs.end())
        return Failure{"an input '" + port.name + "' expected, none found", FailureKind::usage};
      in_order.push_back(found->second);
    }
    if (inputs.size() != inputs_.size())
      return Failure{std::to_string(inputs_.size()) + " inputs expected, " + std::to_string(inputs.size()) + " found",
                     FailureKind::usage};
    return run(in_order);
  }

  /// For what is not here: outputs in memory of the caller's, tensors on a GPU.
  isomer_session* get() const { return session_.get(); }

 private:
  explicit Session(isomer_session* session) : session_(session, isomer_session_close) {}

  static Failure failure(isomer_status status) {
    const auto kind = [&] {
      switch (status) {
        case ISOMER_INVALID_ARGUMENT: return FailureKind::usage;
        case ISOMER_UNSUPPORTED: return FailureKind::unsupported;
        case ISOMER_RUN_FAILED: return FailureKind::mismatch;
        case ISOMER_INTERNAL: return FailureKind::bug;
        default: return FailureKind::invalid;
      }
    }();
    return {isomer_last_error(), kind};
  }

  static isomer_tensor tensor(const TensorView& view) {
    return {view.type(),         static_cast<int32_t>(view.shape().size()),
            view.shape().data(), const_cast<void*>(view.data()),
            ISOMER_CPU,          nullptr};
  }

  isomer_status list() {
    const auto add = [&](auto count_of, auto port_of, std::vector<Port>& ports) {
      size_t count = 0;
      isomer_status status = count_of(session_.get(), &count);
      for (size_t k = 0; k < count && status == ISOMER_OK; ++k) {
        const char* name = nullptr;
        isomer_tensor tensor;
        status = port_of(session_.get(), k, &name, &tensor);
        if (status == ISOMER_OK)
          ports.push_back({name, static_cast<isomer_dtype>(tensor.dtype),
                           std::vector<int64_t>(tensor.dims, tensor.dims + tensor.rank)});
      }
      return status;
    };
    const isomer_status status = add(isomer_session_input_count, isomer_session_input, inputs_);
    return status ? status : add(isomer_session_output_count, isomer_session_output, outputs_);
  }

  std::unique_ptr<isomer_session, void (*)(isomer_session*)> session_;
  std::vector<Port> inputs_, outputs_;
};

}  // namespace isomer

#endif
