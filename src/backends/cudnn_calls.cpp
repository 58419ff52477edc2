#include "backends/cudnn_calls.h"

#include <algorithm>
#include <array>
#include <limits>

namespace isomer::backends::cudnn {
namespace {

using gpu::Layout;
using gpu::Operation;

// cudnnMathType_t, cudnnNanPropagation_t, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t.
enum Math : int { kTensorOps = 1, kFma = 3 };
enum : int { kNoNan = 0 };
enum : int { kAccurate = 1 };
enum : int { kOfInstance = 0, kOfChannel = 1 };
// cudnnPoolingMode_t.
enum : int { kMaximum = 0, kMeanWithPadding = 1, kMeanInside = 2 };
// cudnnActivationMode_t.
enum : int { kRelu = 1, kClippedRelu = 3, kIdentity = 5 };
// cudnnConvolutionFwdAlgo_t.
constexpr std::array<const char*, 8> kAlgorithms = {
    "IMPLICIT_GEMM", "IMPLICIT_PRECOMP_GEMM", "GEMM", "DIRECT", "FFT", "FFT_TILING", "WINOGRAD", "WINOGRAD_NONFUSED"};
constexpr int kImplicitPrecompGemm = 1;

constexpr float kOne = 1, kZero = 0;
constexpr std::array kLayouts = {Layout::kPlain, Layout::kChannelsLast};

const char* name_of(Layout layout) { return layout == Layout::kPlain ? "NCHW" : "NHWC"; }

std::vector<int> ints(const Dims& dims) { return {dims.begin(), dims.end()}; }

/// A descriptor, made and filled: `set` gives a status.
template <class Set>
Result<Descriptor> make(const Library& library, Status (*create)(Object*), Status (*destroy)(Object), const char* what,
                        const Set& set) {
  Object object = nullptr;
  TRY_VOID(library.check(create(&object), what));
  Descriptor made(object, destroy);
  TRY_VOID(library.check(set(object), what));
  return made;
}

Result<Descriptor> tensor(const Library& library, DataType dtype, const Dims& dims, Layout layout) {
  if (element_count(dims) > std::numeric_limits<int>::max())
    return unsupported("cudnn", "a tensor of 2^31 elements at most expected, {} found", element_count(dims));
  const std::vector<int> sizes = ints(dims), steps = ints(gpu::strides(dims, layout));
  return make(library, library.create_tensor, library.destroy_tensor, "a tensor", [&](Object made) {
    return library.set_tensor(made, type_of(dtype), static_cast<int>(sizes.size()), sizes.data(), steps.data());
  });
}

Result<Descriptor> filter(const Library& library, DataType dtype, const Dims& dims, Layout layout) {
  const std::vector<int> sizes = ints(dims);
  return make(library, library.create_filter, library.destroy_filter, "a filter", [&](Object made) {
    const int format = layout == Layout::kPlain ? 0 : 1;
    return library.set_filter(made, type_of(dtype), format, static_cast<int>(sizes.size()), sizes.data());
  });
}

Result<Descriptor> convolution(const Library& library, const gpu::Window& window, int64_t groups, Math math) {
  const std::vector<int> pads = ints(window.begin), strides = ints(window.strides), dilations = ints(window.dilations);
  return make(library, library.create_convolution, library.destroy_convolution, "a convolution", [&](Object made) {
    Status status = library.set_convolution(made, static_cast<int>(pads.size()), pads.data(), strides.data(),
                                            dilations.data(), kCrossCorrelation, kFloat);
    if (status == 0) status = library.set_math(made, math);
    return status != 0 ? status : library.set_groups(made, static_cast<int>(groups));
  });
}

Result<Descriptor> activation(const Library& library, gpu::Activation kind) {
  using gpu::Activation;
  if (kind == Activation::kGelu || kind == Activation::kGeluTanh)
    return unsupported("cudnn", "an activation that a call can take expected, Gelu found");
  const int mode = kind == Activation::kNone ? kIdentity : kind == Activation::kRelu ? kRelu : kClippedRelu;
  return make(library, library.create_activation, library.destroy_activation, "an activation",
              [&](Object made) { return library.set_activation(made, mode, kNoNan, 6); });
}

Result<Descriptor> pooling(const Library& library, const gpu::Pooling& pooling) {
  const gpu::Window& window = pooling.window;
  if (std::any_of(window.dilations.begin(), window.dilations.end(), [](int64_t one) { return one != 1; }))
    return unsupported("cudnn", "pooling without dilations expected");
  using Mode = gpu::Pooling::Mode;
  const int mode = pooling.mode == Mode::kMaximum           ? kMaximum
                   : pooling.mode == Mode::kMeanWithPadding ? kMeanWithPadding
                                                            : kMeanInside;
  const std::vector<int> sizes = ints(window.kernel), pads = ints(window.begin), strides = ints(window.strides);
  return make(library, library.create_pooling, library.destroy_pooling, "a pooling", [&](Object made) {
    return library.set_pooling(made, mode, kNoNan, static_cast<int>(sizes.size()), sizes.data(), pads.data(),
                               strides.data());
  });
}

/// Padding is given once for both ends; where another one at the end gives other dims the operation is not the same.
Result<void> check_dims(const Library& library, Status status, const std::vector<int>& found, const Dims& expected) {
  TRY_VOID(library.check(status, "the dims of a result"));
  if (found == ints(expected)) return {};
  return unsupported("cudnn", "a result of [{}] expected, [{}] found", fmt::join(expected, ","), fmt::join(found, ","));
}

struct ConvolutionParts {
  Descriptor input, filter, convolution, output;
};

Result<ConvolutionParts> parts_of(const Library& library, const Operation& operation, Layout layout, Math math) {
  const auto& core = std::get<gpu::Convolution>(operation.core);
  const Dims &input = core.input.dims(), &weights = core.weights.dims();
  ConvolutionParts parts;
  TRY(parts.input, tensor(library, operation.dtype, input, layout));
  TRY(parts.filter, filter(library, operation.dtype, weights, layout));
  TRY(parts.convolution, convolution(library, core.window, input[1] / weights[1], math));
  TRY(parts.output, tensor(library, operation.dtype, operation.output, layout));
  std::vector<int> dims(input.size());
  const Status status = library.convolution_output(parts.convolution.get(), parts.input.get(), parts.filter.get(),
                                                   static_cast<int>(dims.size()), dims.data());
  TRY_VOID(check_dims(library, status, dims, operation.output));
  return parts;
}

struct PoolingParts {
  Descriptor input, pooling, output;
};

Result<PoolingParts> parts_of(const Library& library, const Operation& operation, Layout layout) {
  const auto& core = std::get<gpu::Pooling>(operation.core);
  PoolingParts parts;
  TRY(parts.input, tensor(library, operation.dtype, core.input.dims(), layout));
  TRY(parts.pooling, pooling(library, core));
  TRY(parts.output, tensor(library, operation.dtype, operation.output, layout));
  std::vector<int> dims(operation.output.size());
  const Status status =
      library.pooling_output(parts.pooling.get(), parts.input.get(), static_cast<int>(dims.size()), dims.data());
  TRY_VOID(check_dims(library, status, dims, operation.output));
  return parts;
}

/// The axis of a softmax as channels.
Result<Descriptor> softmax_tensor(const Library& library, const Operation& operation) {
  const auto& core = std::get<gpu::Softmax>(operation.core);
  return tensor(library, operation.dtype, {core.outer, core.length, core.inner, 1}, Layout::kPlain);
}

/// Bias and activation of a fused call; the bias is zeros where the operation has none.
struct FusedParts {
  Descriptor bias_type, activation;
  void* bias = nullptr;
};

Result<FusedParts> fused_parts(Session& session, const Operation& operation) {
  FusedParts parts;
  Dims dims(operation.output.size(), 1);
  dims[1] = operation.output[1];
  TRY(parts.bias_type, tensor(session.library(), operation.dtype, dims, Layout::kPlain));
  TRY(parts.activation, activation(session.library(), operation.activation));
  const std::vector<double> zeros(static_cast<size_t>(dims[1]));
  TRY(parts.bias, session.operands().upload(operation.bias ? *operation.bias
                                                           : Tensor::from_doubles(operation.dtype, {dims[1]}, zeros)));
  return parts;
}

Result<void> add_convolution(Session& session, const Operation& operation, Layout layout, Math math, int algorithm,
                             const std::string& name, gpu::Ways& ways) {
  const auto& core = std::get<gpu::Convolution>(operation.core);
  TRY(const ConvolutionParts parts, parts_of(session.library(), operation, layout, math));
  TRY(void* const x, session.operands().upload(core.input, layout));
  TRY(void* const w, session.operands().upload(core.weights, layout));
  size_t bytes = 0;
  const Status status =
      session.library().workspace_size(session.handle(), parts.input.get(), parts.filter.get(), parts.convolution.get(),
                                       parts.output.get(), algorithm, &bytes);
  TRY_VOID(session.library().check(status, "a workspace"));
  if (bytes > static_cast<size_t>(Session::kWorkspace))
    return unsupported("cudnn", "{} bytes of workspace at most expected, {} found", Session::kWorkspace, bytes);
  TRY(gpu::Output output, gpu::Output::allocate(session.device(), operation.dtype, operation.output, layout));
  void* const y = output.data();
  // A call borrows the session, which its way keeps.
  Session* const with = &session;
  const bool is_fused = operation.bias || operation.activation != gpu::Activation::kNone;
  if (!is_fused) {
    Call call = [=] {
      return with->library().convolve(with->handle(), &kOne, parts.input.get(), x, parts.filter.get(), w,
                                      parts.convolution.get(), algorithm, with->workspace(), bytes, &kZero,
                                      parts.output.get(), y);
    };
    ways.add(name, session.in_stream(std::move(call)), std::move(output));
    return {};
  }
  TRY(const FusedParts fused, fused_parts(session, operation));
  Call call = [=] {
    return with->library().convolve_bias_activation(with->handle(), &kOne, parts.input.get(), x, parts.filter.get(), w,
                                                    parts.convolution.get(), algorithm, with->workspace(), bytes,
                                                    &kZero, parts.output.get(), y, fused.bias_type.get(), fused.bias,
                                                    fused.activation.get(), parts.output.get(), y);
  };
  ways.add(name, session.in_stream(std::move(call)), std::move(output));
  return {};
}

void add_convolutions(Session& session, const Operation& operation, bool tf32, gpu::Ways& ways) {
  const bool is_fused = operation.bias || operation.activation != gpu::Activation::kNone;
  std::vector<Math> maths = {kFma};
  if (tf32 || operation.dtype != DataType::kFloat32) maths.push_back(kTensorOps);
  for (const Layout layout : kLayouts)
    for (const Math math : maths)
      for (int algorithm = 0; algorithm < static_cast<int>(kAlgorithms.size()); ++algorithm) {
        // The library's rule: without an activation a bias is added by this one alone.
        if (is_fused && operation.activation == gpu::Activation::kNone && algorithm != kImplicitPrecompGemm) continue;
        const std::string name = fmt::format(
            "{} {} {} {}", is_fused ? "ConvolutionBiasActivationForward" : "ConvolutionForward",
            kAlgorithms[static_cast<size_t>(algorithm)], name_of(layout), math == kFma ? "FMA" : "TENSOR_OP");
        const auto done = add_convolution(session, operation, layout, math, algorithm, name, ways);
        if (!done.ok()) ways.leave_out(name, done.error());
      }
}

Result<void> add_pooling(Session& session, const Operation& operation, Layout layout, const std::string& name,
                         gpu::Ways& ways) {
  TRY(const PoolingParts parts, parts_of(session.library(), operation, layout));
  TRY(void* const x, session.operands().upload(std::get<gpu::Pooling>(operation.core).input, layout));
  TRY(gpu::Output output, gpu::Output::allocate(session.device(), operation.dtype, operation.output, layout));
  Call call = [=, with = &session, y = output.data()] {
    return with->library().pool(with->handle(), parts.pooling.get(), &kOne, parts.input.get(), x, &kZero,
                                parts.output.get(), y);
  };
  ways.add(name, session.in_stream(std::move(call)), std::move(output));
  return {};
}

Result<void> add_softmax(Session& session, const Operation& operation, int mode, const std::string& name,
                         gpu::Ways& ways) {
  TRY(const Descriptor type, softmax_tensor(session.library(), operation));
  TRY(void* const x, session.operands().upload(std::get<gpu::Softmax>(operation.core).input));
  TRY(gpu::Output output, gpu::Output::allocate(session.device(), operation.dtype, operation.output, Layout::kPlain));
  Call call = [=, with = &session, y = output.data()] {
    return with->library().softmax(with->handle(), kAccurate, mode, &kOne, type.get(), x, &kZero, type.get(), y);
  };
  ways.add(name, session.in_stream(std::move(call)), std::move(output));
  return {};
}

}  // namespace

void add_calls(Session& session, const Operation& operation, bool tf32, gpu::Ways& ways) {
  const auto keep_reason = [&](const std::string& name, const Result<void>& done) {
    if (!done.ok()) ways.leave_out(name, done.error());
  };
  if (std::holds_alternative<gpu::Convolution>(operation.core)) add_convolutions(session, operation, tf32, ways);
  if (std::holds_alternative<gpu::Pooling>(operation.core))
    for (const Layout layout : kLayouts) {
      const std::string name = fmt::format("PoolingForward {}", name_of(layout));
      keep_reason(name, add_pooling(session, operation, layout, name, ways));
    }
  if (const auto* const core = std::get_if<gpu::Softmax>(&operation.core)) {
    const std::string name = "SoftmaxForward ACCURATE ";
    keep_reason(name + "CHANNEL", add_softmax(session, operation, kOfChannel, name + "CHANNEL", ways));
    if (core->inner == 1)
      keep_reason(name + "INSTANCE", add_softmax(session, operation, kOfInstance, name + "INSTANCE", ways));
  }
}

Result<int> describe_calls(const Library& library, const Operation& operation) {
  int taken = 0;
  for (const Layout layout : kLayouts) {
    if (std::holds_alternative<gpu::Convolution>(operation.core)) {
      TRY_VOID(parts_of(library, operation, layout, kFma));
      TRY_VOID(activation(library, operation.activation));
      taken += 5;
    }
    if (std::holds_alternative<gpu::Pooling>(operation.core)) {
      TRY_VOID(parts_of(library, operation, layout));
      taken += 3;
    }
  }
  if (!std::holds_alternative<gpu::Softmax>(operation.core)) return taken;
  TRY_VOID(softmax_tensor(library, operation));
  return 1;
}

}  // namespace isomer::backends::cudnn
