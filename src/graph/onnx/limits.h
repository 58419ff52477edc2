// How much a model file may ask for (reliability.md 2.6).
#pragma once

#include <cstdint>

namespace isomer {

struct ImportLimits {
  int64_t file_bytes = (int64_t{1} << 31) - 1;  ///< of the model itself; weights beside it are not counted
  int64_t nodes = 1'000'000;                    ///< bodies and functions included, calls expanded
  int64_t body_depth = 32;                      ///< bodies within bodies
  int64_t call_depth = 32;                      ///< functions called by functions
  int64_t message_depth = 200;
  int64_t name_bytes = 4096;
  int64_t attributes_per_node = 256;
  int64_t list_elements = 1'000'000;  ///< of a node's inputs, of its outputs
  /// Of all nodes with several bodies: what some of a node's bodies read of the graph around, once for each of the
  /// others.
  int64_t unread_captures = 100'000;
  /// What the parsed model may occupy besides its nodes: so much, and so many times the file's size.
  int64_t memory_bytes = int64_t{128} << 20;
  int64_t memory_factor = 8;
};

}  // namespace isomer
