// Descriptors of cuDNN's graph API, filled attribute by attribute.
#pragma once

#include <vector>

#include "backends/cudnn_library.h"
#include "graph/tensor.h"

namespace isomer::backends::cudnn::backend {

/// cudnnBackendDescriptorType_t.
enum class Kind : int {
  kPointwise = 0,
  kConvolution = 1,
  kEngine = 2,
  kEngineConfiguration = 3,
  kHeuristic = 4,
  kPlan = 5,
  kKnobChoice = 7,
  kConvolutionForward = 10,
  kPointwiseOperation = 13,
  kGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kNormForward = 29,
};

/// cudnnBackendAttributeType_t.
enum class Type : int {
  kHandle = 0,
  kDataType = 1,
  kBool = 2,
  kInt64 = 3,
  kFloat = 4,
  kPointer = 6,
  kConvolutionMode = 7,
  kHeuristicMode = 8,
  kKnobType = 9,
  kNumericalNote = 11,
  kPointwiseMode = 14,
  kDescriptor = 15,
  kNormMode = 27,
  kNormPhase = 28,
};

/// cudnnBackendAttributeName_t.
enum class Name : int {
  kPointwiseMode = 0,
  kPointwisePrecision = 1,
  kReluLower = 3,
  kReluUpper = 4,
  kConvolutionType = 100,
  kConvolutionMode = 101,
  kDilations = 102,
  kStrides = 103,
  kPaddingAfter = 104,
  kPaddingBefore = 105,
  kSpatialAxes = 106,
  kHeuristicMode = 200,
  kHeuristicGraph = 201,
  kHeuristicResults = 202,
  kConfigurationEngine = 300,
  kConfigurationKnobs = 302,
  kPlanHandle = 400,
  kPlanConfiguration = 401,
  kPlanWorkspace = 402,
  kKnobType = 600,
  kKnobValue = 601,
  kForwardAlpha = 700,
  kForwardBeta = 701,
  kForwardConvolution = 702,
  kForwardWeights = 703,
  kForwardInput = 704,
  kForwardOutput = 705,
  kPointwiseDescriptor = 750,
  kPointwiseInput = 751,
  kPointwiseSecond = 752,
  kPointwiseOutput = 753,
  kGraphHandle = 800,
  kGraphOperations = 801,
  kTensorAlignment = 900,
  kTensorType = 901,
  kTensorDims = 902,
  kTensorStrides = 903,
  kTensorId = 906,
  kTensorVirtual = 907,
  kTensorByValue = 908,
  kPackIds = 1000,
  kPackPointers = 1001,
  kPackWorkspace = 1003,
  kEngineIndex = 1301,
  kEngineNotes = 1303,
  kNormMode = 2000,
  kNormPhase = 2001,
  kNormInput = 2002,
  kNormScale = 2005,
  kNormShift = 2006,
  kNormEpsilon = 2007,
  kNormOutput = 2013,
};

/// Attributes are set in turn; the first that is refused is told at the end.
class Builder {
 public:
  Builder(const Library& library, Kind kind);

  /// An element as the library sees it: int for its enumerations, int64_t, float, bool, a pointer.
  template <class T>
  Builder& set(Name name, Type type, const T& element) {
    return set_all(name, type, 1, static_cast<const void*>(&element));
  }
  Builder& set(Name name, const Dims& elements) {
    return set_all(name, Type::kInt64, static_cast<int64_t>(elements.size()), elements.data());
  }
  Builder& set(Name name, const Descriptor& one) { return set(name, Type::kDescriptor, one.get()); }
  Builder& set(Name name, const std::vector<Descriptor>& all);
  Builder& set(Name name, const std::vector<void*>& pointers) {
    return set_all(name, Type::kPointer, static_cast<int64_t>(pointers.size()),
                   static_cast<const void*>(pointers.data()));
  }
  Result<Descriptor> finalize();

 private:
  Builder& set_all(Name name, Type type, int64_t count, const void* elements);

  const Library& library_;
  Kind kind_;
  Descriptor made_;
  Status status_ = 0;
  int failed_ = -1;  ///< the name of what was refused
};

/// An element of a finalized descriptor.
template <class T>
Result<T> get(const Library& library, const Descriptor& from, Name name, Type type) {
  T element{};
  int64_t count = 0;
  TRY_VOID(library.check(
      library.backend_get(from.get(), static_cast<int>(name), static_cast<int>(type), 1, &count, &element),
      "an attribute"));
  return element;
}

/// Descriptors that a descriptor gives: `most` of them at most.
Result<std::vector<Descriptor>> get_all(const Library& library, const Descriptor& from, Name name, Kind kind,
                                        int64_t most);

}  // namespace isomer::backends::cudnn::backend
