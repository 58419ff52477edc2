#include "backends/cudnn.h"

#include "backends/cudnn_calls.h"
#include "backends/cudnn_graph.h"

namespace isomer::backends {
namespace {

Tensor with_height(const Tensor& tensor) {
  Dims dims = tensor.dims();
  dims.insert(dims.begin() + 2, 1);
  return tensor.reshaped(std::move(dims));
}

gpu::Window with_height(gpu::Window window) {
  for (Dims* const ones : {&window.kernel, &window.strides, &window.dilations}) ones->insert(ones->begin(), 1);
  for (Dims* const zeros : {&window.begin, &window.end}) zeros->insert(zeros->begin(), 0);
  return window;
}

/// What slides along one axis as what slides over planes of height 1: the library has no windows of one axis.
gpu::Operation over_planes(gpu::Operation operation) {
  if (operation.output.size() != 3) return operation;
  auto* const convolution = std::get_if<gpu::Convolution>(&operation.core);
  auto* const pooling = std::get_if<gpu::Pooling>(&operation.core);
  if (!convolution && !pooling) return operation;
  if (convolution) convolution->weights = with_height(convolution->weights);
  gpu::Window& window = convolution ? convolution->window : pooling->window;
  Tensor& input = convolution ? convolution->input : pooling->input;
  window = with_height(std::move(window));
  input = with_height(input);
  operation.output.insert(operation.output.begin() + 2, 1);
  return operation;
}

/// Products have another library.
bool has_ways(const gpu::Operation& operation) { return !std::holds_alternative<gpu::Product>(operation.core); }

}  // namespace

Result<GpuPeers> open_cudnn(const std::string& library, const GpuPeerRequest& request) {
  TRY(const auto opened, cudnn::Library::open(library));
  gpu::Ways ways(request.device);
  const auto found = gpu::operation_of(request.graph, request.inputs);
  if (!found || !has_ways(*found)) return std::move(ways).take(opened->version);
  const gpu::Operation operation = over_planes(*found);
  TRY(const auto session, cudnn::Session::open(opened, request.device));
  cudnn::add_calls(*session, operation, request.tf32, ways);
  cudnn::add_graphs(*session, operation, request.tf32, ways);
  return std::move(ways).take(opened->version);
}

Result<int> describe_for_cudnn(const std::string& library, const Graph& graph, const std::vector<Tensor>& inputs) {
  TRY(const auto opened, cudnn::Library::open(library));
  const auto found = gpu::operation_of(graph, inputs);
  if (!found) return 0;
  const gpu::Operation operation = over_planes(*found);
  TRY(const int of_calls, cudnn::describe_calls(*opened, operation));
  TRY(const int of_graphs, cudnn::describe_graphs(*opened, operation));
  return of_calls + of_graphs;
}

}  // namespace isomer::backends
