// A model file without its weights: raw_data of all tensors are cut out of the wire format, so that protobuf never
// copies them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/onnx/limits.h"
#include "util/result.h"

namespace isomer {

/// A range of bytes of the file.
struct Payload {
  uint64_t offset = 0;
  uint64_t size = 0;
};

struct CutModel {
  std::string remainder;          ///< a ModelProto whose tensors have `payload` in place of raw_data
  std::vector<Payload> payloads;  ///< by that number
};

/// Walks the whole file once and enforces the limits while doing so: what passes can be parsed without using more
/// memory than `ImportLimits` allow.
Result<CutModel> cut_payloads(std::span<const std::byte> file, const ImportLimits& limits);

}  // namespace isomer
