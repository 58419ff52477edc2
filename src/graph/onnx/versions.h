// Which versions of the format and of its operator sets we know.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "util/result.h"

namespace isomer {

/// The newest version of ONNX's own operator set that the rows know all forms of.
inline constexpr int64_t kNewestRowOpset = 22;

/// ONNX's own domain has two names; this is the empty one, of both.
inline std::string normal_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

/// An ir_version from 1 to the newest known.
Result<void> check_ir_version(int64_t version);

/// A version of a domain's operator set: in the known range for ONNX's own domains, any for others.
Result<void> check_opset(std::string_view domain, int64_t version);

}  // namespace isomer
