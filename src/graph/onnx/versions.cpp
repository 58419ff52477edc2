#include "graph/onnx/versions.h"

#include <iterator>

namespace isomer {
namespace {

/// The newest version of each of ONNX's own domains at which an ir_version was current (the specification's table of
/// releases). Files mix them freely, so only the ends of the ranges count.
struct Release {
  int64_t ir, onnx, ml, training;
};
constexpr Release kReleases[] = {
    {3, 8, 1, 0},  {4, 9, 1, 0},   {5, 10, 2, 0},  {6, 11, 2, 0},  {7, 14, 2, 1},  {8, 18, 3, 1},
    {9, 20, 4, 1}, {10, 22, 5, 1}, {11, 23, 5, 1}, {12, 24, 5, 1}, {13, 27, 5, 1}, {14, 28, 6, 1},
};
constexpr const Release& kNewest = kReleases[std::size(kReleases) - 1];

/// 0: the domain is another's.
int64_t newest(std::string_view domain) {
  if (domain.empty() || domain == "ai.onnx") return kNewest.onnx;
  if (domain == "ai.onnx.ml") return kNewest.ml;
  if (domain == "ai.onnx.training" || domain == "ai.onnx.preview.training") return kNewest.training;
  return 0;
}

}  // namespace

Result<void> check_ir_version(int64_t version) {
  if (version < 1 || version > kNewest.ir)
    return invalid("ir_version", "1 to {} expected, {} found", kNewest.ir, version);
  return {};
}

Result<void> check_opset(std::string_view domain, int64_t version) {
  if (newest(domain) == 0 || (version >= 1 && version <= newest(domain))) return {};
  return invalid(fmt::format("opset of {}", domain.empty() ? "ai.onnx" : domain), "1 to {} expected, {} found",
                 newest(domain), version);
}

}  // namespace isomer
