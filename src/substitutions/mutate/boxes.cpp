#include "substitutions/mutate/boxes.h"

#include <fmt/ranges.h>

namespace isomer::substitutions {
namespace {

/// Boxes of the axes from `axis` on, of the part of the positions that begins at `at`. Along an axis, neighbours with
/// the same boxes below are one.
std::vector<Box> boxes_from(size_t axis, size_t at, const std::vector<bool>& positions, const Dims& dims) {
  if (axis == dims.size()) return positions[at] ? std::vector<Box>(1) : std::vector<Box>();
  size_t below = 1;
  for (size_t k = axis + 1; k < dims.size(); ++k) below *= static_cast<size_t>(dims[k]);
  std::vector<Box> result;
  std::vector<Box> running;
  int64_t begin = 0;
  const auto end_at = [&](int64_t end) {
    for (Box& box : running) {
      box.begin.insert(box.begin.begin(), begin);
      box.end.insert(box.end.begin(), end);
      result.push_back(std::move(box));
    }
  };
  for (int64_t k = 0; k < dims[axis]; ++k) {
    std::vector<Box> here = boxes_from(axis + 1, at + static_cast<size_t>(k) * below, positions, dims);
    if (k > 0 && here == running) continue;
    end_at(k);
    running = std::move(here);
    begin = k;
  }
  end_at(dims[axis]);
  return result;
}

}  // namespace

std::vector<Box> boxes_of(const std::vector<bool>& positions, const Dims& dims) {
  return boxes_from(0, 0, positions, dims);
}

std::string text(const Box& box, const Dims& dims) {
  std::vector<std::string> axes;
  for (size_t k = 0; k < dims.size(); ++k) {
    const bool is_whole = box.begin[k] == 0 && box.end[k] == dims[k];
    axes.push_back(is_whole                         ? ":"
                   : box.end[k] - box.begin[k] == 1 ? fmt::format("{}", box.begin[k])
                                                    : fmt::format("{}:{}", box.begin[k], box.end[k]));
  }
  return fmt::format("[{}]", fmt::join(axes, ", "));
}

}  // namespace isomer::substitutions
