// Blocked matrix products over packed panels, after Goto and van de Geijn (2008): a block of the right side stays in
// the last-level cache, one of the left in the second, a panel of the right in the first.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/te/interpret/micro_kernels.h"
#include "graph/te/interpret/packer.h"
#include "util/parallel.h"

namespace isomer::te::interpreter {

/// Where the elements of a result lie: element (row, column) at rows[row] + columns[column].
struct ResultPlaces {
  std::vector<int64_t> rows, columns;
};

/// How a product ended.
enum class ProductEnd : uint8_t { kDone, kFailed, kNotFinite };

class MatrixProduct {
 public:
  /// Packers with the kernel's rows and columns as widths; they outlive the product. `check_…`: end with kNotFinite
  /// where that side has elements that are not finite.
  MatrixProduct(const Packer& left, const Packer& right, int64_t depth, const ResultPlaces& places, bool check_left,
                bool check_right);

  /// One thread's state: packers' frames and panels.
  struct Thread {
    Packer::Thread left, right;
    std::unique_ptr<double[], void (*)(double*)> left_panels, right_panels, tile;
  };
  Thread make_thread() const;

  /// result = left · right, with all the work in this thread.
  ProductEnd run(Thread& thread, double* result) const;
  /// The same with the work divided among the threads; the right panels are shared.
  ProductEnd run_shared(std::vector<Thread>& threads, ThreadPool& pool, double* result) const;

 private:
  struct Block {
    int64_t begin, end;
    int64_t size() const { return end - begin; }
  };
  ProductEnd pack_left(Thread& thread, Block rows, Block depth) const;
  ProductEnd pack_right(Thread& thread, Block columns, Block depth, double* panels) const;
  void multiply(Thread& thread, Block rows, Block columns, Block depth, const double* right_panels,
                double* result) const;
  void add_tile(const double* tile, Block rows, Block columns, bool first, double* result) const;
  int64_t row_count() const { return static_cast<int64_t>(places_.rows.size()); }
  int64_t column_count() const { return static_cast<int64_t>(places_.columns.size()); }

  const Packer& left_;
  const Packer& right_;
  const MicroKernel& kernel_;
  const int64_t depth_;
  const ResultPlaces& places_;
  const bool check_left_, check_right_;
  int64_t row_block_, column_block_, depth_block_;
  std::vector<bool> contiguous_;  ///< by panel of columns
};

}  // namespace isomer::te::interpreter
