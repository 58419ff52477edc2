// One side of a contraction, computed into the panels that the matrix kernel reads.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/te/interpret/axes.h"
#include "graph/te/interpret/loops.h"
#include "graph/te/interpret/lowered.h"
#include "graph/te/interpret/strip_compile.h"

namespace isomer::te::interpreter {

/// A side is a matrix of `rows` × `depth` for each point of `batch`, each counted through a group of iterators. A panel
/// holds `width` rows: element (row, k) at k * width + row % width. Rows beyond the last are zeros.
class Packer {
 public:
  Packer(const Lowered& lowered, const std::vector<Storage>& storages, int root, const std::vector<Level>& rows,
         const std::vector<Level>& depth, int width);
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  /// The state of one thread.
  struct Thread {
    Frame frame;
    std::vector<double> lanes;
  };
  Thread make_thread() const;
  const std::vector<BufferRef>& buffers() const { return program_.buffers; }

  /// Packs rows [row, row_end) of depths [k, k_end), row a multiple of the width; panels lie one after the other. The
  /// frame stands at the batch's point. False after a failure.
  bool pack(Thread& thread, int64_t row, int64_t row_end, int64_t k, int64_t k_end, double* panels) const;

  /// Expected nanoseconds an element.
  double cost() const { return cost_; }

 private:
  bool pack_along_rows(Thread& thread, int64_t row, int64_t row_end, int64_t k, int64_t k_end, double* panels) const;
  bool pack_along_depth(Thread& thread, int64_t row, int64_t row_end, int64_t k, int64_t k_end, double* panels) const;

  Lowered lowered_;
  int width_;
  std::vector<Level> rows_, depth_;  ///< without the iterators that were joined
  bool along_depth_ = false;
  int64_t max_lanes_ = 1;
  StripProgram program_;
  double cost_ = 0;
};

}  // namespace isomer::te::interpreter
