#include "backends/cudnn_library.h"

#include <array>

#include "backends/foreign_functions.h"

namespace isomer::backends::cudnn {

int type_of(DataType dtype) {
  if (dtype == DataType::kFloat32) return kFloat;
  CHECK(dtype == DataType::kFloat16 || dtype == DataType::kBFloat16) << "an element type of operands";
  return dtype == DataType::kFloat16 ? kHalf : kBFloat16;
}

Result<std::shared_ptr<const Library>> Library::open(const std::string& file) {
  TRY(auto find, backends::ForeignFunctions::open(file, "cudnn"));
  auto made = std::make_shared<Library>();
  find(made->get_version, "cudnnGetVersion");
  TRY_VOID(find.are_all_there());
  const size_t version = made->get_version();
  made->version = fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  // Before 9 versions are counted in thousands.
  if (version / 10000 != 9) return unsupported("cudnn", "version 9 expected, the number {} found", version);
  find(made->error_string, "cudnnGetErrorString");
  find(made->last_error, "cudnnGetLastErrorString");
  find(made->create, "cudnnCreate");
  find(made->destroy, "cudnnDestroy");
  find(made->set_stream, "cudnnSetStream");
  find(made->create_tensor, "cudnnCreateTensorDescriptor");
  find(made->destroy_tensor, "cudnnDestroyTensorDescriptor");
  find(made->set_tensor, "cudnnSetTensorNdDescriptor");
  find(made->create_filter, "cudnnCreateFilterDescriptor");
  find(made->destroy_filter, "cudnnDestroyFilterDescriptor");
  find(made->set_filter, "cudnnSetFilterNdDescriptor");
  find(made->create_convolution, "cudnnCreateConvolutionDescriptor");
  find(made->destroy_convolution, "cudnnDestroyConvolutionDescriptor");
  find(made->set_convolution, "cudnnSetConvolutionNdDescriptor");
  find(made->set_math, "cudnnSetConvolutionMathType");
  find(made->set_groups, "cudnnSetConvolutionGroupCount");
  find(made->convolution_output, "cudnnGetConvolutionNdForwardOutputDim");
  find(made->create_activation, "cudnnCreateActivationDescriptor");
  find(made->destroy_activation, "cudnnDestroyActivationDescriptor");
  find(made->set_activation, "cudnnSetActivationDescriptor");
  find(made->create_pooling, "cudnnCreatePoolingDescriptor");
  find(made->destroy_pooling, "cudnnDestroyPoolingDescriptor");
  find(made->set_pooling, "cudnnSetPoolingNdDescriptor");
  find(made->pooling_output, "cudnnGetPoolingNdForwardOutputDim");
  find(made->workspace_size, "cudnnGetConvolutionForwardWorkspaceSize");
  find(made->convolve, "cudnnConvolutionForward");
  find(made->convolve_bias_activation, "cudnnConvolutionBiasActivationForward");
  find(made->softmax, "cudnnSoftmaxForward");
  find(made->pool, "cudnnPoolingForward");
  find(made->backend_create, "cudnnBackendCreateDescriptor");
  find(made->backend_destroy, "cudnnBackendDestroyDescriptor");
  find(made->backend_set, "cudnnBackendSetAttribute");
  find(made->backend_get, "cudnnBackendGetAttribute");
  find(made->backend_finalize, "cudnnBackendFinalize");
  find(made->backend_execute, "cudnnBackendExecute");
  TRY_VOID(find.are_all_there());
  return std::shared_ptr<const Library>(std::move(made));
}

std::string Library::describe(Status status) const {
  const char* const name = error_string(status);
  std::array<char, 512> text = {};
  last_error(text.data(), text.size() - 1);
  const std::string more(text.data());
  const std::string said = name ? name : fmt::format("status {}", status);
  return more.empty() ? said : fmt::format("{} ({})", said, more);
}

Result<void> Library::check(Status status, std::string_view what) const {
  if (status == 0) return {};
  return unsupported("cudnn", "{} expected, {} found", what, describe(status));
}

}  // namespace isomer::backends::cudnn
