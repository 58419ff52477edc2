#include "backends/onnxruntime.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "backends/run_watch.h"

namespace isomer::backends {
namespace {

namespace fs = std::filesystem;

// The C API is a table of functions whose places never change (onnxruntime_c_api.h, version 1).
enum Function : size_t {
  kGetErrorMessage = 2,
  kCreateEnv = 3,
  kCreateSession = 7,
  kRun = 9,
  kCreateSessionOptions = 10,
  kSetGraphOptimizationLevel = 23,
  kSetIntraOpThreads = 24,
  kSetInterOpThreads = 25,
  kCreateRunOptions = 39,
  kSetTerminate = 46,
  kUnsetTerminate = 47,
  kCreateTensorWithData = 49,
  kIsTensor = 50,
  kGetTensorData = 51,
  kGetElementType = 60,
  kGetRank = 61,
  kGetDims = 62,
  kGetTypeAndShape = 65,
  kCreateCpuMemoryInfo = 69,
  kReleaseEnv = 92,
  kReleaseStatus = 93,
  kReleaseMemoryInfo = 94,
  kReleaseSession = 95,
  kReleaseValue = 96,
  kReleaseRunOptions = 97,
  kReleaseTypeAndShape = 99,
  kReleaseSessionOptions = 100,
};
constexpr uint32_t kApiVersion = 1;
constexpr int kAllOptimizations = 99;
/// Of what it logs on standard error: errors are said by whoever calls it.
constexpr int kFatalOnly = 4;

struct ApiBase {
  void* const* (*api)(uint32_t version);
  const char* (*version)();
};

/// An object of the library with the function that releases it.
class Handle {
 public:
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (object) reinterpret_cast<void (*)(void*)>(release)(object);
  }
  void* object = nullptr;
  void* release = nullptr;
};

class Session final : public Peer {
  // Before what calls them: their types are deduced.
  template <class R, Function f, class... Arguments>
  auto function() const {
    return reinterpret_cast<R (*)(Arguments...)>(table_[f]);
  }

  /// A call that gives a status: null, or what went wrong.
  template <Function f, class... Arguments>
  Result<void> call(Arguments... arguments) const {
    void* const status = function<void*, f, Arguments...>()(arguments...);
    if (!status) return {};
    const std::string message = function<const char*, kGetErrorMessage, void*>()(status);
    function<void, kReleaseStatus, void*>()(status);
    return unsupported("onnxruntime", "a model that it runs expected, it says: {}", message);
  }

  template <Function create, Function release, class... Arguments>
  Result<void> make(Handle& handle, Arguments... arguments) const {
    handle.release = table_[release];
    return call<create>(arguments..., &handle.object);
  }

 public:
  Session(const ApiBase& base, std::vector<Tensor> inputs)
      : table_(base.api(kApiVersion)), version_(base.version()), tensors_(std::move(inputs)) {}

  Result<void> load(const std::string& model, const Graph& interface, int threads, double most_seconds) {
    if (!table_)
      return unsupported("onnxruntime", "version {} of its C API expected, {} lacks it", kApiVersion, version_);
    TRY_VOID(make<kCreateEnv, kReleaseEnv>(env_, kFatalOnly, "isomer"));
    TRY_VOID(make<kCreateSessionOptions, kReleaseSessionOptions>(options_));
    TRY_VOID(call<kSetGraphOptimizationLevel>(options_.object, kAllOptimizations));
    TRY_VOID(call<kSetIntraOpThreads>(options_.object, threads));
    TRY_VOID(call<kSetInterOpThreads>(options_.object, 1));
    TRY_VOID(make<kCreateSession, kReleaseSession>(session_, env_.object, model.c_str(), options_.object));
    TRY_VOID(make<kCreateRunOptions, kReleaseRunOptions>(run_options_));
    watch_.emplace("onnxruntime", most_seconds, [this] { (void)call<kSetTerminate>(run_options_.object); });
    TRY_VOID(make<kCreateCpuMemoryInfo, kReleaseMemoryInfo>(memory_, 1, 0));
    values_ = std::vector<Handle>(tensors_.size());
    for (size_t k = 0; k < tensors_.size(); ++k) {
      const Value& input = interface.value(interface.inputs()[k]);
      const Tensor& tensor = tensors_[k];
      input_names_.push_back(input.name);
      TRY_VOID((make<kCreateTensorWithData, kReleaseValue>(
          values_[k], memory_.object, const_cast<std::byte*>(tensor.bytes().data()), tensor.bytes().size(),
          tensor.dims().data(), tensor.dims().size(), static_cast<int>(tensor.dtype()))));
      inputs_.push_back(values_[k].object);
    }
    for (const ValueId output : interface.outputs()) output_names_.push_back(interface.value(output).name);
    return {};
  }

  const std::string& version() const override { return version_; }

  Result<void> run() override {
    std::vector<Handle> outputs(output_names_.size());
    return run_into(outputs);
  }

  Result<std::vector<Tensor>> outputs() override {
    std::vector<Handle> outputs(output_names_.size());
    TRY_VOID(run_into(outputs));
    std::vector<Tensor> tensors;
    for (const Handle& output : outputs) {
      TRY(Tensor tensor, tensor_of(output));
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }

 private:
  /// `outputs`: as many as the model has, none of them anything yet.
  Result<void> run_into(std::vector<Handle>& outputs) {
    std::vector<const char*> input_names, output_names;
    for (const std::string& name : input_names_) input_names.push_back(name.c_str());
    for (const std::string& name : output_names_) output_names.push_back(name.c_str());
    std::vector<void*> given(outputs.size(), nullptr);
    watch_->begin();
    auto done = call<kRun>(session_.object, run_options_.object, input_names.data(), inputs_.data(), inputs_.size(),
                           output_names.data(), output_names.size(), given.data());
    if (auto ended = watch_->finish(); !ended.ok()) {
      TRY_VOID(call<kUnsetTerminate>(run_options_.object));
      done = std::move(ended);
    }
    for (size_t k = 0; k < outputs.size(); ++k) {
      outputs[k].object = given[k];
      outputs[k].release = table_[kReleaseValue];
    }
    return done;
  }

  /// A copy; no tensor where the value is none of a plain type.
  Result<Tensor> tensor_of(const Handle& value) const {
    int is_tensor = 0, type = 0;
    TRY_VOID(call<kIsTensor>(value.object, &is_tensor));
    if (is_tensor == 0) return Tensor();
    Handle described;
    TRY_VOID((make<kGetTypeAndShape, kReleaseTypeAndShape>(described, value.object)));
    TRY_VOID(call<kGetElementType>(described.object, &type));
    const auto dtype = is_known_data_type(type) ? static_cast<DataType>(type) : DataType::kUndefined;
    if (!kPlain.contains(dtype)) return Tensor();
    size_t rank = 0;
    TRY_VOID(call<kGetRank>(described.object, &rank));
    Dims dims(rank);
    TRY_VOID(call<kGetDims>(described.object, dims.data(), rank));
    void* data = nullptr;
    TRY_VOID(call<kGetTensorData>(value.object, &data));
    const auto* const bytes = static_cast<const std::byte*>(data);
    std::vector<std::byte> copy(bytes, bytes + byte_size(dtype, element_count(dims)));
    return Tensor(dtype, std::move(dims), std::move(copy));
  }

  void* const* table_;
  std::string version_;
  std::vector<Tensor> tensors_;
  // Released in the opposite order.
  Handle env_, options_, memory_, session_, run_options_;
  std::vector<Handle> values_;
  std::vector<void*> inputs_;
  std::vector<std::string> input_names_, output_names_;
  std::optional<RunWatch> watch_;  ///< of runs with these options
};

Result<const ApiBase*> base_of(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) return unsupported("onnxruntime", "its shared library expected, {}", dlerror());
  auto* const base = reinterpret_cast<const ApiBase* (*)()>(dlsym(handle, "OrtGetApiBase"));
  if (!base) return unsupported("onnxruntime", "a library with OrtGetApiBase expected, {} lacks it", library);
  return base();
}

}  // namespace

Result<std::string> onnxruntime_version(const std::string& library) {
  TRY(const ApiBase* const base, base_of(library));
  return std::string(base->version());
}

Result<std::unique_ptr<Peer>> open_onnxruntime(const std::string& library, const std::string& model,
                                               const Graph& interface, const std::vector<Tensor>& inputs, int threads,
                                               double most_seconds) {
  TRY(const ApiBase* const base, base_of(library));
  auto session = std::make_unique<Session>(*base, inputs);
  TRY_VOID(session->load(model, interface, threads, most_seconds));
  return std::unique_ptr<Peer>(std::move(session));
}

}  // namespace isomer::backends
