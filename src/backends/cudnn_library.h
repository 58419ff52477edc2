// The C API of cuDNN 9, opened at run time: nothing of it is needed to build. Names and meanings are the library's;
// its objects are pointers that only it reads, its enumerations are int.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "graph/te/dtype.h"
#include "runtime/cuda/driver.h"

namespace isomer::backends::cudnn {

using Status = int;    ///< cudnnStatus_t; 0: done
using Object = void*;  ///< a handle or a descriptor
using Stream = runtime::cuda::Stream;

/// cudnnDataType_t.
enum : int { kFloat = 0, kHalf = 2, kBFloat16 = 9 };
/// cudnnConvolutionMode_t.
enum : int { kCrossCorrelation = 1 };
int type_of(DataType dtype);

struct Library {
  /// Errors (kUnsupported): no such library, or another major version.
  static Result<std::shared_ptr<const Library>> open(const std::string& file);

  std::string version;  ///< "9.28.1"

  size_t (*get_version)() = nullptr;
  const char* (*error_string)(Status) = nullptr;
  void (*last_error)(char* text, size_t size) = nullptr;
  Status (*create)(Object* handle) = nullptr;
  Status (*destroy)(Object handle) = nullptr;
  Status (*set_stream)(Object handle, Stream) = nullptr;

  Status (*create_tensor)(Object*) = nullptr;
  Status (*destroy_tensor)(Object) = nullptr;
  Status (*set_tensor)(Object, int type, int rank, const int* dims, const int* strides) = nullptr;
  Status (*create_filter)(Object*) = nullptr;
  Status (*destroy_filter)(Object) = nullptr;
  Status (*set_filter)(Object, int type, int format, int rank, const int* dims) = nullptr;
  Status (*create_convolution)(Object*) = nullptr;
  Status (*destroy_convolution)(Object) = nullptr;
  Status (*set_convolution)(Object, int axes, const int* pads, const int* strides, const int* dilations, int mode,
                            int compute_type) = nullptr;
  Status (*set_math)(Object convolution, int math) = nullptr;
  Status (*set_groups)(Object convolution, int groups) = nullptr;
  Status (*convolution_output)(Object convolution, Object input, Object filter, int rank, int* dims) = nullptr;
  Status (*create_activation)(Object*) = nullptr;
  Status (*destroy_activation)(Object) = nullptr;
  Status (*set_activation)(Object, int mode, int nan, double limit) = nullptr;
  Status (*create_pooling)(Object*) = nullptr;
  Status (*destroy_pooling)(Object) = nullptr;
  Status (*set_pooling)(Object, int mode, int nan, int axes, const int* window, const int* pads,
                        const int* strides) = nullptr;
  Status (*pooling_output)(Object pooling, Object input, int rank, int* dims) = nullptr;

  Status (*workspace_size)(Object handle, Object input, Object filter, Object convolution, Object output, int algorithm,
                           size_t* bytes) = nullptr;
  Status (*convolve)(Object handle, const void* alpha, Object input_type, const void* input, Object filter_type,
                     const void* filter, Object convolution, int algorithm, void* workspace, size_t workspace_bytes,
                     const void* beta, Object output_type, void* output) = nullptr;
  Status (*convolve_bias_activation)(Object handle, const void* alpha1, Object input_type, const void* input,
                                     Object filter_type, const void* filter, Object convolution, int algorithm,
                                     void* workspace, size_t workspace_bytes, const void* alpha2, Object added_type,
                                     const void* added, Object bias_type, const void* bias, Object activation,
                                     Object output_type, void* output) = nullptr;
  Status (*softmax)(Object handle, int algorithm, int mode, const void* alpha, Object input_type, const void* input,
                    const void* beta, Object output_type, void* output) = nullptr;
  Status (*pool)(Object handle, Object pooling, const void* alpha, Object input_type, const void* input,
                 const void* beta, Object output_type, void* output) = nullptr;

  Status (*backend_create)(int type, Object*) = nullptr;
  Status (*backend_destroy)(Object) = nullptr;
  Status (*backend_set)(Object, int name, int type, int64_t count, const void* elements) = nullptr;
  Status (*backend_get)(Object, int name, int type, int64_t most, int64_t* count, void* elements) = nullptr;
  Status (*backend_finalize)(Object) = nullptr;
  Status (*backend_execute)(Object handle, Object plan, Object variant_pack) = nullptr;

  /// "CUDNN_STATUS_BAD_PARAM (what the library adds)".
  std::string describe(Status status) const;
  /// The error (kUnsupported) of `what` that failed; nothing where it did not.
  Result<void> check(Status status, std::string_view what) const;
};

/// Released by the library.
using Descriptor = std::shared_ptr<void>;

}  // namespace isomer::backends::cudnn
