// A quantized operator of two inputs on all pairs of bytes: uint8[256,1] and uint8[1,256], with zero points 120, 7
// and 60.
#pragma once

#include <fmt/format.h>

#include <numeric>
#include <string>
#include <vector>

#include "graph/te/array.h"

namespace isomer::test {

/// The scales as text: "0.03".
inline std::string quantized_pair(const std::string& op, const std::string& a, const std::string& b,
                                  const std::string& c) {
  return fmt::format(R"(opset 17
graph g(a: uint8[256,1], b: uint8[1,256]) -> (y: uint8[256,256]) {{
  sa: float32[] = {{{}}}
  za: uint8[] = {{120}}
  sb: float32[] = {{{}}}
  zb: uint8[] = {{7}}
  sc: float32[] = {{{}}}
  zc: uint8[] = {{60}}
  y = "com.microsoft"::{}(a, sa, za, b, sb, zb, sc, zc)
}})",
                     a, b, c, op);
}

inline std::vector<te::Array> all_pairs_of_bytes() {
  std::vector<int64_t> bytes(256);
  std::iota(bytes.begin(), bytes.end(), 0);
  return {te::Array::integers(DataType::kUInt8, {256, 1}, bytes),
          te::Array::integers(DataType::kUInt8, {1, 256}, bytes)};
}

}  // namespace isomer::test
