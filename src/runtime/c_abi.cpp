// include/isomer/isomer.h over Model and Session. No exception leaves this file.
#include <isomer/isomer.h>

#include <exception>
#include <new>

#include "runtime/artifact_file.h"
#include "runtime/session.h"

using isomer::Error;
using isomer::ErrorKind;
using isomer::Result;
using isomer::runtime::DeviceKind;
using isomer::runtime::ElementType;
using isomer::runtime::Model;
using isomer::runtime::Port;
using isomer::runtime::Session;
using isomer::runtime::Tensor;
using isomer::runtime::Value;

struct isomer_model {
  std::shared_ptr<const Model> model;
};
struct isomer_session {
  std::unique_ptr<Session> session;
};

namespace {

thread_local std::string last_error;

Error wrong_argument(std::string where, std::string what) {
  return {ErrorKind::kUsage, std::move(where), std::move(what)};
}

/// What comes of an error of these kinds depends on whether a file or a run had it.
isomer_status status_of(ErrorKind kind, isomer_status invalid) {
  switch (kind) {
    case ErrorKind::kUsage: return ISOMER_INVALID_ARGUMENT;
    case ErrorKind::kUnsupported: return ISOMER_UNSUPPORTED;
    case ErrorKind::kInvalid:
    case ErrorKind::kMismatch:
    case ErrorKind::kStopped: break;
  }
  return invalid;
}

/// Runs `body`, which returns Result<void>.
template <class Body>
isomer_status guarded(isomer_status invalid, Body body) noexcept {
  try {
    try {
      const Result<void> done = body();
      if (done.ok()) return ISOMER_OK;
      last_error = done.error().message();
      return status_of(done.error().kind, invalid);
    } catch (const std::bad_alloc&) {
      last_error = "memory expected, none found";
      return ISOMER_UNSUPPORTED;
    } catch (const std::exception& bug) {
      last_error = bug.what();
      return ISOMER_INTERNAL;
    }
  } catch (...) {
    return ISOMER_INTERNAL;  // not even memory for the sentence
  }
}
template <class Body>
isomer_status guarded(Body body) noexcept {
  return guarded(ISOMER_INVALID_ARGUMENT, std::move(body));
}

/// An error that names the first null pointer.
template <class... T>
Result<void> check_pointers(const std::pair<const char*, T>&... named) {
  const char* null = nullptr;
  ((named.second == nullptr && null == nullptr ? void(null = named.first) : void()), ...);
  if (null == nullptr) return {};
  return wrong_argument(null, "a pointer expected, NULL found");
}
/// With its name as the caller wrote it.
#define POINTER(p) std::pair(#p, static_cast<const void*>(p))

Result<void> check_index(const char* what, size_t k, size_t count) {
  if (k < count) return {};
  return wrong_argument(what, fmt::format("a number below {} expected, {} found", count, k));
}

isomer_tensor to_c(const Tensor& tensor) {
  return {static_cast<int32_t>(tensor.type),
          static_cast<int32_t>(tensor.dims.size()),
          tensor.dims.data(),
          tensor.data,
          tensor.device == DeviceKind::kCuda ? ISOMER_CUDA : ISOMER_CPU,
          tensor.stream};
}

Result<Tensor> from_c(const isomer_tensor& tensor) {
  const bool is_cuda = tensor.device == ISOMER_CUDA;
  if (!is_cuda && (tensor.device != ISOMER_CPU || tensor.stream != nullptr))
    return wrong_argument(
        "", fmt::format("a tensor of the CPU without a stream, or of a GPU expected, device {}{} found", tensor.device,
                        tensor.stream != nullptr ? " with a stream" : ""));
  if (tensor.rank < 0 || tensor.rank > 64 || (tensor.rank > 0 && tensor.dims == nullptr))
    return wrong_argument("", fmt::format("a rank and its dims expected, rank {}{} found", tensor.rank,
                                          tensor.dims ? "" : " without dims"));
  const bool is_type = tensor.dtype > 0 && tensor.dtype <= ISOMER_INT2;
  return Tensor{is_type ? static_cast<ElementType>(tensor.dtype) : ElementType::kUndefined,
                {tensor.dims, static_cast<size_t>(tensor.rank)},
                tensor.data,
                is_cuda ? DeviceKind::kCuda : DeviceKind::kCpu,
                tensor.stream};
}

Result<std::vector<Tensor>> inputs_from_c(const isomer_tensor* tensors, size_t count) {
  std::vector<Tensor> converted;
  for (size_t k = 0; k < count; ++k) {
    auto tensor = from_c(tensors[k]);
    if (!tensor.ok()) return std::move(tensor).error().within(fmt::format("inputs[{}]", k));
    converted.push_back(*tensor);
  }
  return converted;
}

/// Where the session supplies the memory, fields other than the device may hold anything.
Result<std::vector<Tensor>> outputs_from_c(const Session& session, const isomer_tensor* tensors, size_t count) {
  std::vector<Tensor> converted(count);
  for (size_t k = 0; k < count; ++k) {
    const bool is_open = k < session.variant().outputs.size() &&
                         std::holds_alternative<isomer::runtime::Dynamic>(session.output(k).place);
    if (is_open || tensors[k].data == nullptr) {
      if (tensors[k].device == ISOMER_CUDA) converted[k].device = DeviceKind::kCuda;
      continue;
    }
    auto tensor = from_c(tensors[k]);
    if (!tensor.ok()) return std::move(tensor).error().within(fmt::format("outputs[{}]", k));
    converted[k] = *tensor;
  }
  return converted;
}

void describe_port(const Port& port, const Value& value, const char** name, isomer_tensor* tensor) {
  if (name != nullptr) *name = port.name.c_str();
  if (tensor != nullptr) *tensor = to_c({value.type, value.dims, nullptr});
}

/// `device` may be empty.
Result<void> create_session(const isomer_model* model, const std::string& device, const isomer_options* options,
                            isomer_session** session) {
  TRY_VOID(check_pointers(POINTER(model), POINTER(session)));
  *session = nullptr;
  isomer::runtime::SessionOptions chosen;
  TRY(chosen.device, isomer::runtime::parse_device(device));
  if (options != nullptr) {
    chosen.threads = options->threads;
    if (options->binding_count > 0) TRY_VOID(check_pointers(POINTER(options->bindings)));
    for (size_t k = 0; k < options->binding_count; ++k) {
      TRY_VOID(check_pointers(POINTER(options->bindings[k].name)));
      chosen.bindings[options->bindings[k].name] = options->bindings[k].value;
    }
  }
  TRY(auto created, Session::create(model->model, chosen));
  *session = new isomer_session{std::move(created)};
  return {};
}

}  // namespace

extern "C" {

const char* isomer_version(void) { return ISOMER_VERSION; }
const char* isomer_last_error(void) { return last_error.c_str(); }

isomer_status isomer_model_open(const char* path, isomer_model** model) {
  return guarded(ISOMER_INVALID_FILE, [&]() -> Result<void> {
    TRY_VOID(check_pointers(POINTER(path), POINTER(model)));
    *model = nullptr;
    auto opened = Model::open(path);
    if (!opened.ok()) return std::move(opened).error().within(path);
    *model = new isomer_model{*std::move(opened)};
    return {};
  });
}

void isomer_model_close(isomer_model* model) { delete model; }

isomer_status isomer_artifact_verify(const char* path) {
  return guarded(ISOMER_INVALID_FILE, [&]() -> Result<void> {
    TRY_VOID(check_pointers(POINTER(path)));
    auto verified = isomer::runtime::verify_weights(path);
    if (!verified.ok()) return std::move(verified).error().within(path);
    return {};
  });
}

isomer_status isomer_model_variant_count(const isomer_model* model, size_t* count) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_pointers(POINTER(model), POINTER(count)));
    *count = model->model->variants().size();
    return {};
  });
}

isomer_status isomer_model_binding_count(const isomer_model* model, size_t variant, size_t* count) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_pointers(POINTER(model), POINTER(count)));
    TRY_VOID(check_index("variant", variant, model->model->variants().size()));
    *count = model->model->variants()[variant]->bindings.size();
    return {};
  });
}

isomer_status isomer_model_binding(const isomer_model* model, size_t variant, size_t k, isomer_binding* binding) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_pointers(POINTER(model), POINTER(binding)));
    TRY_VOID(check_index("variant", variant, model->model->variants().size()));
    const auto& bindings = model->model->variants()[variant]->bindings;
    TRY_VOID(check_index("k", k, bindings.size()));
    const auto& [name, value] = *std::next(bindings.begin(), static_cast<ptrdiff_t>(k));
    *binding = {name.c_str(), value};
    return {};
  });
}

isomer_status isomer_session_create(const isomer_model* model, const isomer_options* options,
                                    isomer_session** session) {
  return guarded([&] { return create_session(model, "", options, session); });
}

isomer_status isomer_session_create_on(const isomer_model* model, const char* device, const isomer_options* options,
                                       isomer_session** session) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_pointers(POINTER(device)));
    return create_session(model, device, options, session);
  });
}

void isomer_session_close(isomer_session* session) { delete session; }

isomer_status isomer_session_input_count(const isomer_session* session, size_t* count) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_pointers(POINTER(session), POINTER(count)));
    *count = session->session->variant().inputs.size();
    return {};
  });
}

isomer_status isomer_session_output_count(const isomer_session* session, size_t* count) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_pointers(POINTER(session), POINTER(count)));
    *count = session->session->variant().outputs.size();
    return {};
  });
}

isomer_status isomer_session_input(const isomer_session* session, size_t k, const char** name, isomer_tensor* tensor) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_pointers(POINTER(session)));
    TRY_VOID(check_index("k", k, session->session->variant().inputs.size()));
    describe_port(session->session->variant().inputs[k], session->session->input(k), name, tensor);
    return {};
  });
}

isomer_status isomer_session_output(const isomer_session* session, size_t k, const char** name, isomer_tensor* tensor) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_pointers(POINTER(session)));
    TRY_VOID(check_index("k", k, session->session->variant().outputs.size()));
    describe_port(session->session->variant().outputs[k], session->session->output(k), name, tensor);
    return {};
  });
}

int64_t isomer_tensor_bytes(const isomer_tensor* tensor) {
  if (tensor == nullptr || tensor->rank < 0 || (tensor->rank > 0 && tensor->dims == nullptr) || tensor->dtype <= 0 ||
      tensor->dtype > ISOMER_INT2 || tensor->dtype == static_cast<int32_t>(ElementType::kString))
    return -1;
  return isomer::runtime::byte_size(static_cast<ElementType>(tensor->dtype),
                                    {tensor->dims, static_cast<size_t>(tensor->rank)})
      .value_or(-1);
}

isomer_status isomer_session_run(isomer_session* session, const isomer_tensor* inputs, size_t input_count,
                                 isomer_tensor* outputs, size_t output_count) {
  return guarded(ISOMER_RUN_FAILED, [&]() -> Result<void> {
    TRY_VOID(check_pointers(POINTER(session)));
    if (input_count > 0) TRY_VOID(check_pointers(POINTER(inputs)));
    if (output_count > 0) TRY_VOID(check_pointers(POINTER(outputs)));
    TRY(const std::vector<Tensor> given, inputs_from_c(inputs, input_count));
    TRY(std::vector<Tensor> wanted, outputs_from_c(*session->session, outputs, output_count));
    TRY_VOID(session->session->run(given, wanted));
    for (size_t k = 0; k < output_count; ++k) outputs[k] = to_c(wanted[k]);
    return {};
  });
}

}  // extern "C"
