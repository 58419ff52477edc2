#include "graph/te/interpret/matrix_product.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace isomer::te::interpreter {
namespace {

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

std::unique_ptr<double[], void (*)(double*)> allocate(int64_t count) {
  auto* memory = static_cast<double*>(std::aligned_alloc(64, round_up(count * 8, 64)));
  if (!memory) throw std::bad_alloc();
  return {memory, [](double* p) { std::free(p); }};
}

bool all_finite(const double* values, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += values[i] * 0.0;
  return sum == 0;
}

}  // namespace

MatrixProduct::MatrixProduct(const Packer& left, const Packer& right, int64_t depth, const ResultPlaces& places,
                             bool check_left, bool check_right)
    : left_(left),
      right_(right),
      kernel_(micro_kernel()),
      depth_(depth),
      places_(places),
      check_left_(check_left),
      check_right_(check_right) {
  constexpr int64_t kRows = 96, kColumns = 1536, kDepth = 256;  // multiples of all kernels' rows and columns
  row_block_ = std::min(kRows, round_up(row_count(), kernel_.rows));
  column_block_ = std::min(kColumns, round_up(column_count(), kernel_.columns));
  // Blocks of equal depth rather than a thin last one.
  depth_block_ = (depth + (depth + kDepth - 1) / kDepth - 1) / ((depth + kDepth - 1) / kDepth);
  for (int64_t column = 0; column < column_count(); column += kernel_.columns) {
    const int64_t last = std::min<int64_t>(column + kernel_.columns, column_count()) - 1;
    bool contiguous = true;
    for (int64_t j = column; j < last; ++j) contiguous &= places.columns[j + 1] == places.columns[j] + 1;
    contiguous_.push_back(contiguous);
  }
}

MatrixProduct::Thread MatrixProduct::make_thread() const {
  return {left_.make_thread(), right_.make_thread(), allocate(row_block_ * depth_block_),
          allocate(column_block_ * depth_block_), allocate(kernel_.rows * kernel_.columns)};
}

ProductEnd MatrixProduct::pack_left(Thread& thread, Block rows, Block depth) const {
  if (!left_.pack(thread.left, rows.begin, rows.end, depth.begin, depth.end, thread.left_panels.get()))
    return ProductEnd::kFailed;
  const bool finite =
      !check_left_ || all_finite(thread.left_panels.get(), round_up(rows.size(), kernel_.rows) * depth.size());
  return finite ? ProductEnd::kDone : ProductEnd::kNotFinite;
}

ProductEnd MatrixProduct::pack_right(Thread& thread, Block columns, Block depth, double* panels) const {
  if (!right_.pack(thread.right, columns.begin, columns.end, depth.begin, depth.end, panels))
    return ProductEnd::kFailed;
  const bool finite = !check_right_ || all_finite(panels, round_up(columns.size(), kernel_.columns) * depth.size());
  return finite ? ProductEnd::kDone : ProductEnd::kNotFinite;
}

void MatrixProduct::add_tile(const double* tile, Block rows, Block columns, bool first, double* result) const {
  const int64_t count = columns.size();
  const bool contiguous = contiguous_[columns.begin / kernel_.columns];
  const int64_t* places = places_.columns.data() + columns.begin;
  for (int64_t row = rows.begin; row < rows.end; ++row, tile += kernel_.columns) {
    double* to = result + places_.rows[row];
    if (contiguous) {
      to += places[0];
      if (first)
        for (int64_t j = 0; j < count; ++j) to[j] = tile[j];
      else
        for (int64_t j = 0; j < count; ++j) to[j] += tile[j];
    } else {
      for (int64_t j = 0; j < count; ++j) to[places[j]] = first ? tile[j] : to[places[j]] + tile[j];
    }
  }
}

void MatrixProduct::multiply(Thread& thread, Block rows, Block columns, Block depth, const double* right_panels,
                             double* result) const {
  for (int64_t column = columns.begin; column < columns.end; column += kernel_.columns) {
    const double* right = right_panels + (column - columns.begin) * depth.size();
    const Block tile_columns{column, std::min<int64_t>(column + kernel_.columns, columns.end)};
    for (int64_t row = rows.begin; row < rows.end; row += kernel_.rows) {
      const double* left = thread.left_panels.get() + (row - rows.begin) * depth.size();
      kernel_.run(depth.size(), left, right, thread.tile.get());
      add_tile(thread.tile.get(), {row, std::min<int64_t>(row + kernel_.rows, rows.end)}, tile_columns,
               depth.begin == 0, result);
    }
  }
}

ProductEnd MatrixProduct::run(Thread& thread, double* result) const {
  for (int64_t column = 0; column < column_count(); column += column_block_) {
    const Block columns{column, std::min(column + column_block_, column_count())};
    for (int64_t k = 0; k < depth_; k += depth_block_) {
      const Block depth{k, std::min(k + depth_block_, depth_)};
      if (const auto end = pack_right(thread, columns, depth, thread.right_panels.get()); end != ProductEnd::kDone)
        return end;
      for (int64_t row = 0; row < row_count(); row += row_block_) {
        const Block rows{row, std::min(row + row_block_, row_count())};
        if (const auto end = pack_left(thread, rows, depth); end != ProductEnd::kDone) return end;
        multiply(thread, rows, columns, depth, thread.right_panels.get(), result);
      }
    }
  }
  return ProductEnd::kDone;
}

ProductEnd MatrixProduct::run_shared(std::vector<Thread>& threads, ThreadPool& pool, double* result) const {
  std::atomic<ProductEnd> end = ProductEnd::kDone;
  const auto note = [&](ProductEnd one) {
    if (one != ProductEnd::kDone) end = one;
  };
  double* const panels = threads[0].right_panels.get();
  const int64_t row_blocks = (row_count() + row_block_ - 1) / row_block_;
  for (int64_t column = 0; column < column_count() && end == ProductEnd::kDone; column += column_block_) {
    const Block columns{column, std::min(column + column_block_, column_count())};
    const int64_t panel_count = (columns.size() + kernel_.columns - 1) / kernel_.columns;
    // Parts of the columns: to pack, and to multiply where there are not rows enough for all threads.
    const auto part = [&](int64_t k, int64_t count) {
      const int64_t first = columns.begin + panel_count * k / count * kernel_.columns;
      return Block{first, std::min(columns.begin + panel_count * (k + 1) / count * kernel_.columns, columns.end)};
    };
    const int64_t pack_parts = std::min<int64_t>(panel_count, 4 * pool.threads());
    const int64_t multiply_parts = std::min<int64_t>(panel_count, (3 * pool.threads() + row_blocks - 1) / row_blocks);
    for (int64_t k = 0; k < depth_ && end == ProductEnd::kDone; k += depth_block_) {
      const Block depth{k, std::min(k + depth_block_, depth_)};
      const auto panels_of = [&](Block some) { return panels + (some.begin - columns.begin) * depth.size(); };
      pool.run(pack_parts, [&](int64_t task, int thread) {
        const Block some = part(task, pack_parts);
        note(pack_right(threads[thread], some, depth, panels_of(some)));
      });
      pool.run(row_blocks * multiply_parts, [&](int64_t task, int thread) {
        const int64_t row = task / multiply_parts * row_block_;
        const Block rows{row, std::min(row + row_block_, row_count())};
        const Block some = part(task % multiply_parts, multiply_parts);
        const ProductEnd packed = pack_left(threads[thread], rows, depth);
        note(packed);
        if (packed == ProductEnd::kDone) multiply(threads[thread], rows, some, depth, panels_of(some), result);
      });
    }
  }
  return end;
}

}  // namespace isomer::te::interpreter
