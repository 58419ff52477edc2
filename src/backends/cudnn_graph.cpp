#include "backends/cudnn_graph.h"

#include <algorithm>
#include <array>
#include <set>

#include "backends/cudnn_backend.h"

namespace isomer::backends::cudnn {
namespace {

using backend::Builder;
using backend::Kind;
using backend::Name;
using backend::Type;
using gpu::Activation;
using gpu::Layout;
using gpu::Operation;

// cudnnPointwiseMode_t.
enum class Pointwise : int { kAdd = 0, kRelu = 100, kGelu = 104, kGeluTanh = 107 };
// cudnnBackendNormMode_t, cudnnBackendNormFwdPhase_t.
enum : int { kLayerNorm = 0, kInference = 0 };
// cudnnBackendNumericalNote_t.
enum : int { kTensorCore = 0, kDownConvertInputs = 1, kMostNotes = 16 };
// cudnnBackendHeurMode_t.
enum : int { kInstant = 0, kNeuralNet = 1, kFallback = 2, kDecisionTree = 3 };

/// Of a layout or a set of element types: plans take time to be built, also those that fail.
constexpr size_t kMostPlans = 8, kMostTries = 24;
constexpr int64_t kMostProposals = 128, kMostKnobs = 32;

/// A tensor of a graph; the number is its name.
struct Named {
  int64_t id = 0;
  Descriptor descriptor;
};

/// The operations of a graph with the tensors that they read and write.
struct Nodes {
  std::string name;  ///< "convolution NHWC"
  std::vector<Named> inputs;
  Named output;
  std::vector<Descriptor> operations;
  std::vector<Descriptor> parts;  ///< all other descriptors: what is made of them may refer to them
};

/// What stands for a tensor: memory of the GPU, nothing (between two operations), or a number of the host.
enum class Place : uint8_t { kMemory, kBetween, kHost };

Result<Named> add_tensor(const Library& library, Nodes& nodes, int type, const Dims& dims, Layout layout,
                         Place place = Place::kMemory) {
  Named made{static_cast<int64_t>(nodes.parts.size()) + 1, nullptr};
  Builder builder(library, Kind::kTensor);
  builder.set(Name::kTensorId, Type::kInt64, made.id)
      .set(Name::kTensorType, Type::kDataType, type)
      .set(Name::kTensorDims, dims)
      .set(Name::kTensorStrides, gpu::strides(dims, layout))
      .set(Name::kTensorAlignment, Type::kInt64, int64_t{16});
  if (place == Place::kBetween) builder.set(Name::kTensorVirtual, Type::kBool, true);
  if (place == Place::kHost) builder.set(Name::kTensorByValue, Type::kBool, true);
  TRY(made.descriptor, builder.finalize());
  nodes.parts.push_back(made.descriptor);
  return made;
}

/// Between two operations all is float.
Result<Named> add_between(const Library& library, Nodes& nodes, const Dims& dims, Layout layout) {
  return add_tensor(library, nodes, kFloat, dims, layout, Place::kBetween);
}

Builder pointwise(const Library& library, Pointwise mode) {
  Builder builder(library, Kind::kPointwise);
  builder.set(Name::kPointwiseMode, Type::kPointwiseMode, static_cast<int>(mode))
      .set(Name::kPointwisePrecision, Type::kDataType, int{kFloat});
  return builder;
}

Result<void> add_bias(const Library& library, Nodes& nodes, const Named& from, const Named& bias, const Named& to) {
  TRY(const Descriptor kind, pointwise(library, Pointwise::kAdd).finalize());
  nodes.parts.push_back(kind);
  TRY(nodes.operations.emplace_back(), Builder(library, Kind::kPointwiseOperation)
                                           .set(Name::kPointwiseDescriptor, kind)
                                           .set(Name::kPointwiseInput, from.descriptor)
                                           .set(Name::kPointwiseSecond, bias.descriptor)
                                           .set(Name::kPointwiseOutput, to.descriptor)
                                           .finalize());
  return {};
}

Result<void> add_activation(const Library& library, Nodes& nodes, Activation activation, const Named& from,
                            const Named& to) {
  const Pointwise mode = activation == Activation::kGelu       ? Pointwise::kGelu
                         : activation == Activation::kGeluTanh ? Pointwise::kGeluTanh
                                                               : Pointwise::kRelu;
  Builder builder = pointwise(library, mode);
  if (activation == Activation::kRelu6)
    builder.set(Name::kReluLower, Type::kFloat, 0.0F).set(Name::kReluUpper, Type::kFloat, 6.0F);
  TRY(const Descriptor kind, builder.finalize());
  nodes.parts.push_back(kind);
  TRY(nodes.operations.emplace_back(), Builder(library, Kind::kPointwiseOperation)
                                           .set(Name::kPointwiseDescriptor, kind)
                                           .set(Name::kPointwiseInput, from.descriptor)
                                           .set(Name::kPointwiseOutput, to.descriptor)
                                           .finalize());
  return {};
}

Result<void> add_convolve(const Library& library, Nodes& nodes, const gpu::Window& window, const Named& x,
                          const Named& w, const Named& y) {
  TRY(const Descriptor kind, Builder(library, Kind::kConvolution)
                                 .set(Name::kConvolutionType, Type::kDataType, int{kFloat})
                                 .set(Name::kConvolutionMode, Type::kConvolutionMode, int{kCrossCorrelation})
                                 .set(Name::kSpatialAxes, Type::kInt64, static_cast<int64_t>(window.kernel.size()))
                                 .set(Name::kDilations, window.dilations)
                                 .set(Name::kStrides, window.strides)
                                 .set(Name::kPaddingBefore, window.begin)
                                 .set(Name::kPaddingAfter, window.end)
                                 .finalize());
  nodes.parts.push_back(kind);
  TRY(nodes.operations.emplace_back(), Builder(library, Kind::kConvolutionForward)
                                           .set(Name::kForwardConvolution, kind)
                                           .set(Name::kForwardInput, x.descriptor)
                                           .set(Name::kForwardWeights, w.descriptor)
                                           .set(Name::kForwardOutput, y.descriptor)
                                           .set(Name::kForwardAlpha, Type::kFloat, 1.0F)
                                           .set(Name::kForwardBeta, Type::kFloat, 0.0F)
                                           .finalize());
  return {};
}

/// Inputs: x, w and the bias, where there is one.
Result<Nodes> convolution_nodes(const Library& library, const Operation& operation, Layout layout) {
  const auto& core = std::get<gpu::Convolution>(operation.core);
  const int type = type_of(operation.dtype);
  Nodes nodes;
  nodes.name = layout == Layout::kPlain ? "convolution NCHW" : "convolution NHWC";
  TRY(const Named x, add_tensor(library, nodes, type, core.input.dims(), layout));
  TRY(const Named w, add_tensor(library, nodes, type, core.weights.dims(), layout));
  nodes.inputs = {x, w};
  TRY(nodes.output, add_tensor(library, nodes, type, operation.output, layout));
  const bool has_activation = operation.activation != Activation::kNone;
  Named last = nodes.output;
  if (operation.bias || has_activation) {
    TRY(last, add_between(library, nodes, operation.output, layout));
  }
  TRY_VOID(add_convolve(library, nodes, core.window, x, w, last));
  if (operation.bias) {
    Dims dims(operation.output.size(), 1);
    dims[1] = operation.output[1];
    TRY(nodes.inputs.emplace_back(), add_tensor(library, nodes, type, dims, layout));
    Named sum = nodes.output;
    if (has_activation) {
      TRY(sum, add_between(library, nodes, operation.output, layout));
    }
    TRY_VOID(add_bias(library, nodes, last, nodes.inputs.back(), sum));
    last = sum;
  }
  if (has_activation) TRY_VOID(add_activation(library, nodes, operation.activation, last, nodes.output));
  return nodes;
}

/// Inputs: x, scale, shift and epsilon. Rows are images of one point each.
Result<Nodes> normalization_nodes(const Library& library, const Operation& operation, DataType scale_type) {
  const auto& core = std::get<gpu::LayerNormalization>(operation.core);
  Nodes nodes;
  nodes.name = scale_type == operation.dtype ? "layer norm" : "layer norm with a scale in float32";
  const Dims rows = {core.rows, core.columns, 1, 1}, columns = {1, core.columns, 1, 1}, one(4, 1);
  const Layout layout = Layout::kChannelsLast;
  TRY(const Named x, add_tensor(library, nodes, type_of(operation.dtype), rows, layout));
  TRY(const Named scale, add_tensor(library, nodes, type_of(scale_type), columns, layout));
  TRY(const Named shift, add_tensor(library, nodes, type_of(scale_type), columns, layout));
  TRY(const Named epsilon, add_tensor(library, nodes, kFloat, one, layout, Place::kHost));
  TRY(nodes.output, add_tensor(library, nodes, type_of(operation.dtype), rows, layout));
  nodes.inputs = {x, scale, shift, epsilon};
  TRY(nodes.operations.emplace_back(), Builder(library, Kind::kNormForward)
                                           .set(Name::kNormMode, Type::kNormMode, int{kLayerNorm})
                                           .set(Name::kNormPhase, Type::kNormPhase, int{kInference})
                                           .set(Name::kNormInput, x.descriptor)
                                           .set(Name::kNormScale, scale.descriptor)
                                           .set(Name::kNormShift, shift.descriptor)
                                           .set(Name::kNormEpsilon, epsilon.descriptor)
                                           .set(Name::kNormOutput, nodes.output.descriptor)
                                           .finalize());
  return nodes;
}

/// "engine 37, knobs 2=3 5=0".
Result<std::string> name_of(const Library& library, const Descriptor& engine, const Descriptor& configuration) {
  TRY(const auto index, backend::get<int64_t>(library, engine, Name::kEngineIndex, Type::kInt64));
  TRY(const auto knobs,
      backend::get_all(library, configuration, Name::kConfigurationKnobs, Kind::kKnobChoice, kMostKnobs));
  std::string name = fmt::format("engine {}", index);
  for (const Descriptor& knob : knobs) {
    TRY(const auto type, backend::get<int>(library, knob, Name::kKnobType, Type::kKnobType));
    TRY(const auto value, backend::get<int64_t>(library, knob, Name::kKnobValue, Type::kInt64));
    name += fmt::format("{}{}={}", &knob == &knobs.front() ? ", knobs " : " ", type, value);
  }
  return name;
}

/// Whether it may round inputs of float32 to tf32 or less.
Result<bool> rounds_inputs(const Library& library, const Descriptor& engine) {
  std::array<int, kMostNotes> notes = {};
  int64_t count = 0;
  TRY_VOID(library.check(library.backend_get(engine.get(), static_cast<int>(Name::kEngineNotes),
                                             static_cast<int>(Type::kNumericalNote), kMostNotes, &count, notes.data()),
                         "an engine's notes"));
  const auto end = notes.begin() + std::min<int64_t>(count, kMostNotes);
  return std::any_of(notes.begin(), end, [](int note) { return note == kTensorCore || note == kDownConvertInputs; });
}

/// What stands for the tensors of a graph: addresses, in the order of its inputs, then of its output.
struct Operands {
  std::vector<void*> inputs;
  Layout output_layout = Layout::kPlain;
  std::shared_ptr<const float> number;  ///< of the host, where an input is one
};

/// One way: a plan with its operands.
Result<void> add_plan(Session& session, const Operation& operation, const Nodes& nodes, const Operands& operands,
                      const Descriptor& graph, const Descriptor& configuration, const std::string& name,
                      gpu::Ways& ways) {
  const Library& library = session.library();
  TRY(const Descriptor plan, Builder(library, Kind::kPlan)
                                 .set(Name::kPlanHandle, Type::kHandle, session.handle())
                                 .set(Name::kPlanConfiguration, configuration)
                                 .finalize());
  TRY(const auto bytes, backend::get<int64_t>(library, plan, Name::kPlanWorkspace, Type::kInt64));
  if (bytes > Session::kWorkspace)
    return unsupported("cudnn", "{} bytes of workspace at most expected, {} found", Session::kWorkspace, bytes);
  TRY(gpu::Output output,
      gpu::Output::allocate(session.device(), operation.dtype, operation.output, operands.output_layout));
  Dims ids;
  for (const Named& input : nodes.inputs) ids.push_back(input.id);
  ids.push_back(nodes.output.id);
  std::vector<void*> pointers = operands.inputs;
  pointers.push_back(output.data());
  TRY(const Descriptor pack, Builder(library, Kind::kVariantPack)
                                 .set(Name::kPackIds, ids)
                                 .set(Name::kPackPointers, pointers)
                                 .set(Name::kPackWorkspace, Type::kPointer, session.workspace())
                                 .finalize());
  // Descriptors that the plan is made of, and the number, whose address is in the pack, live as long as the call.
  Call call = [with = &session, plan, pack, nodes, graph, configuration, number = operands.number] {
    return with->library().backend_execute(with->handle(), plan.get(), pack.get());
  };
  ways.add(name, session.in_stream(std::move(call)), std::move(output));
  return {};
}

Result<std::vector<Descriptor>> proposals(const Library& library, const Descriptor& graph, int mode) {
  TRY(const Descriptor heuristic, Builder(library, Kind::kHeuristic)
                                      .set(Name::kHeuristicGraph, graph)
                                      .set(Name::kHeuristicMode, Type::kHeuristicMode, mode)
                                      .finalize());
  return backend::get_all(library, heuristic, Name::kHeuristicResults, Kind::kEngineConfiguration, kMostProposals);
}

Result<void> add_plans(Session& session, const Operation& operation, const Nodes& nodes, const Operands& operands,
                       bool tf32, gpu::Ways& ways) {
  const Library& library = session.library();
  TRY(const Descriptor graph, Builder(library, Kind::kGraph)
                                  .set(Name::kGraphHandle, Type::kHandle, session.handle())
                                  .set(Name::kGraphOperations, nodes.operations)
                                  .finalize());
  std::set<std::string> tried;
  size_t added = 0;
  for (const int mode : {int{kNeuralNet}, int{kDecisionTree}, int{kInstant}, int{kFallback}}) {
    const auto found = proposals(library, graph, mode);
    if (!found.ok()) {
      ways.leave_out(nodes.name, found.error());
      continue;
    }
    for (const Descriptor& configuration : *found) {
      if (added == kMostPlans || tried.size() == kMostTries) return {};
      TRY(const auto engines, backend::get_all(library, configuration, Name::kConfigurationEngine, Kind::kEngine, 1));
      if (engines.empty()) continue;
      if (operation.dtype == DataType::kFloat32 && !tf32) {
        TRY(const bool rounds, rounds_inputs(library, engines[0]));
        if (rounds) continue;
      }
      TRY(const std::string engine, name_of(library, engines[0], configuration));
      if (!tried.insert(engine).second) continue;
      const std::string name = fmt::format("graph of {}: {}", nodes.name, engine);
      const auto done = add_plan(session, operation, nodes, operands, graph, configuration, name, ways);
      if (done.ok())
        ++added;
      else
        ways.leave_out(name, done.error());
    }
  }
  return {};
}

Result<void> add_convolution(Session& session, const Operation& operation, Layout layout, bool tf32, gpu::Ways& ways) {
  const auto& core = std::get<gpu::Convolution>(operation.core);
  TRY(const Nodes nodes, convolution_nodes(session.library(), operation, layout));
  Operands operands;
  operands.output_layout = layout;
  TRY(operands.inputs.emplace_back(), session.operands().upload(core.input, layout));
  TRY(operands.inputs.emplace_back(), session.operands().upload(core.weights, layout));
  if (operation.bias) {
    TRY(operands.inputs.emplace_back(), session.operands().upload(*operation.bias));
  }
  return add_plans(session, operation, nodes, operands, tf32, ways);
}

Tensor as_type(const Tensor& tensor, DataType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  std::vector<double> elements(static_cast<size_t>(tensor.count()));
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = tensor.real(static_cast<int64_t>(i));
  return Tensor::from_doubles(dtype, tensor.dims(), elements);
}

Result<void> add_normalization(Session& session, const Operation& operation, DataType scale_type, bool tf32,
                               gpu::Ways& ways) {
  const auto& core = std::get<gpu::LayerNormalization>(operation.core);
  TRY(const Nodes nodes, normalization_nodes(session.library(), operation, scale_type));
  Operands operands;
  operands.number = std::make_shared<const float>(core.epsilon);
  TRY(operands.inputs.emplace_back(), session.operands().upload(core.input));
  TRY(operands.inputs.emplace_back(), session.operands().upload(as_type(core.scale, scale_type)));
  TRY(operands.inputs.emplace_back(), session.operands().upload(as_type(core.shift, scale_type)));
  // The library only reads it.
  operands.inputs.push_back(const_cast<float*>(operands.number.get()));
  return add_plans(session, operation, nodes, operands, tf32, ways);
}

std::vector<DataType> scale_types(DataType dtype) {
  return dtype == DataType::kFloat32 ? std::vector{dtype} : std::vector{dtype, DataType::kFloat32};
}

int count(const Nodes& nodes) { return static_cast<int>(nodes.parts.size() + nodes.operations.size()); }

}  // namespace

void add_graphs(Session& session, const Operation& operation, bool tf32, gpu::Ways& ways) {
  const auto keep_reason = [&](const std::string& name, const Result<void>& done) {
    if (!done.ok()) ways.leave_out(name, done.error());
  };
  if (std::holds_alternative<gpu::Convolution>(operation.core))
    for (const Layout layout : {Layout::kChannelsLast, Layout::kPlain})
      keep_reason("graph of convolution", add_convolution(session, operation, layout, tf32, ways));
  if (std::holds_alternative<gpu::LayerNormalization>(operation.core))
    for (const DataType type : scale_types(operation.dtype))
      keep_reason("graph of layer norm", add_normalization(session, operation, type, tf32, ways));
}

Result<int> describe_graphs(const Library& library, const Operation& operation) {
  int taken = 0;
  if (std::holds_alternative<gpu::Convolution>(operation.core))
    for (const Layout layout : {Layout::kChannelsLast, Layout::kPlain}) {
      TRY(const Nodes nodes, convolution_nodes(library, operation, layout));
      taken += count(nodes);
    }
  if (std::holds_alternative<gpu::LayerNormalization>(operation.core))
    for (const DataType type : scale_types(operation.dtype)) {
      TRY(const Nodes nodes, normalization_nodes(library, operation, type));
      taken += count(nodes);
    }
  return taken;
}

}  // namespace isomer::backends::cudnn
