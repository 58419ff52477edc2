// The C API of cuBLASLt 12 and 13, opened at run time: nothing of it is needed to build. Names and meanings are the
// library's; its objects are pointers that only it reads, its enumerations are int.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "graph/te/dtype.h"
#include "runtime/cuda/driver.h"

namespace isomer::backends::cublaslt {

using Status = int;    ///< cublasStatus_t; 0: done
using Object = void*;  ///< a handle or a descriptor

/// cudaDataType_t.
enum : int { kFloat = 0, kHalf = 2, kBFloat16 = 14 };
int type_of(DataType dtype);

/// cublasComputeType_t.
enum Compute : int { kComputeFloat = 68, kComputeTf32 = 77 };
/// cublasLtEpilogue_t, which sums of these are too.
enum Epilogue : unsigned { kNothing = 1, kRelu = 2, kBias = 4, kGelu = 32 };
/// cublasLtMatmulDescAttributes_t: int32_t, int32_t, uint32_t, an address.
enum class Product : int { kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8 };
/// cublasLtMatrixLayoutAttribute_t: int32_t, int64_t.
enum class Matrix : int { kBatchCount = 5, kBatchStride = 6 };
/// cublasLtMatmulPreferenceAttributes_t: uint64_t.
enum class Preference : int { kMostWorkspace = 1 };
/// cublasLtMatmulAlgoConfigAttributes_t: int32_t, uint32_t, int32_t, uint32_t.
enum class Configuration : int { kId = 0, kTile = 1, kSplits = 2, kStages = 6 };

struct Algorithm {
  std::array<uint64_t, 8> data = {};
};
/// cublasLtMatmulHeuristicResult_t.
struct Proposal {
  Algorithm algorithm;
  size_t workspace = 0;
  Status state = 0;
  float waves = 0;
  std::array<int, 4> reserved = {};
};
static_assert(sizeof(Proposal) == 96);

struct Library {
  /// Errors (kUnsupported): no such library, or another version.
  static Result<std::shared_ptr<const Library>> open(const std::string& file);

  std::string version;  ///< "13.1.0"

  size_t (*get_version)() = nullptr;
  const char* (*status_string)(Status) = nullptr;
  Status (*create)(Object* handle) = nullptr;
  Status (*destroy)(Object handle) = nullptr;
  Status (*create_product)(Object*, int compute, int scale_type) = nullptr;
  Status (*destroy_product)(Object) = nullptr;
  Status (*set_product)(Object, int attribute, const void* value, size_t bytes) = nullptr;
  Status (*create_matrix)(Object*, int type, uint64_t rows, uint64_t columns, int64_t stride) = nullptr;
  Status (*destroy_matrix)(Object) = nullptr;
  Status (*set_matrix)(Object, int attribute, const void* value, size_t bytes) = nullptr;
  Status (*create_preference)(Object*) = nullptr;
  Status (*destroy_preference)(Object) = nullptr;
  Status (*set_preference)(Object, int attribute, const void* value, size_t bytes) = nullptr;
  Status (*propose)(Object handle, Object product, Object a, Object b, Object c, Object d, Object preference, int most,
                    Proposal* proposals, int* count) = nullptr;
  Status (*get_configuration)(const Algorithm*, int attribute, void* value, size_t bytes, size_t* written) = nullptr;
  Status (*multiply)(Object handle, Object product, const void* alpha, const void* a, Object a_type, const void* b,
                     Object b_type, const void* beta, const void* c, Object c_type, void* d, Object d_type,
                     const Algorithm* algorithm, void* workspace, size_t workspace_bytes,
                     runtime::cuda::Stream stream) = nullptr;

  /// The error (kUnsupported) of `what` that failed; nothing where it did not.
  Result<void> check(Status status, std::string_view what) const;
};

}  // namespace isomer::backends::cublaslt
