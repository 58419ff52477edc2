// Loops around a block, and how what it reads and writes moves with them: what all features are made of.
// Test: tests/tune/features_test.cpp
#pragma once

#include <array>
#include <vector>

#include "kernel/loop_nest.h"
#include "kernel/tree.h"

namespace isomer::tune {

/// The binary logarithm of 1 + a count.
float logarithm(double count);

/// Loops around a block, the outermost first, with their extents; what data decide counts as 1.
struct Nest {
  std::vector<const kernel::Loop*> loops;
  std::vector<double> extents;

  explicit Nest(const std::vector<const kernel::Loop*>& around);
  double iterations(size_t from, size_t to) const;
  /// Of all loops.
  double points() const { return iterations(0, loops.size()); }
  double product(kernel::LoopKind kind) const;
  /// The loops from here on are written out: a tile in registers.
  size_t tile() const;
};

/// How an access moves as the loops around it do.
struct AccessPattern {
  int buffer = -1;
  double element_bytes = 0, buffer_bytes = 0;
  bool is_write = false;
  std::vector<double> strides;  ///< of elements, by loop

  /// Elements that the loops from `first` on touch.
  double elements(const Nest& nest, size_t first) const;
  /// Bytes of the lines of cache that they lie in.
  double touched(const Nest& nest, size_t first) const;
};

/// Of what the block writes, then of what it reads.
std::vector<AccessPattern> accesses_of(const kernel::Kernel& kernel, const kernel::Block& block, const Nest& nest);
/// The most telling first: what is written, then what touches most.
void put_in_order(std::vector<AccessPattern>& accesses, const Nest& nest);

/// Of a point: sums and products, divisions, functions, comparisons, those of integers.
std::array<double, 5> operations_of(const kernel::Block& block);

}  // namespace isomer::tune
