#include "tune/draft.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace isomer::tune {
namespace {

/// Multiply-adds that start in a cycle, the cycles that one takes; vectors that are loaded and stored in a cycle; bytes
/// that come from beyond the second level in one.
constexpr double kStarts = 2, kLatency = 4, kLoads = 1, kStores = 0.5, kBeyondSecond = 12;
/// Cycles of a function, a division, a comparison, an integer's operation.
constexpr double kFunction = 12, kDivision = 16, kComparison = 0.5, kInteger = 0.05;
/// Of the less of arithmetic and accesses, what the other does not hide; cycles of a round, and of a block.
constexpr double kUnhidden = 0.6, kRound = 4, kBlock = 2;
/// Cycles of a vector of results for which no register is left; of one that is transposed in registers; of a lane that
/// is loaded alone.
constexpr double kSpilled = 12, kTransposed = 30, kGathered = 0.8;
/// Cycles of a condition, by how deep it differs: in each round, for each vector, for each lane.
constexpr double kInRound = 1, kInVectors = 30, kInLanes = 2.25;
/// Registers that a tile needs beside its results.
constexpr double kOperands = 2;
/// Vectors that are written out in all: more is code that takes long to make and lies in no cache.
constexpr double kMostVectors = 4096;

double counted(float logarithm) { return std::exp2(static_cast<double>(logarithm)) - 1; }

/// Vectors that a block's round of what is written out loads and stores.
struct RoundAccesses {
  double loads = 0, stores = 0, transposed = 0;
  double gathered = 0;  ///< lanes
};

class DraftedBlock {
 public:
  DraftedBlock(const FeatureRow& row, const kernel::Machine& machine)
      : row_(row),
        machine_(machine),
        vector_bytes_(machine.vectors.bits / 8.0),
        lanes_(std::max(counted(row[kLanes]), 1.0)),
        unrolled_(std::max(counted(row[kUnrolled]), 1.0)) {}

  /// That are written out.
  double vectors() const { return unrolled_ * std::max(1.0, lanes_ * row_[kBits] / 8 / vector_bytes_); }

  double cycles() const {
    const double rounds = counted(row_[kPoints]) / (unrolled_ * lanes_);
    const RoundAccesses accesses = this->accesses();
    const double moved = accesses.loads / kLoads + accesses.stores / kStores;
    const double computed = arithmetic();
    const double round = std::max(computed, moved) + kUnhidden * std::min(computed, moved) + kRound +
                         accesses.transposed * kTransposed + accesses.gathered * kGathered + spilled() + conditions();
    return rounds * round + kBlock + counted(row_[kPastFirst]) * machine_.caches.cycles_of_vector / 64 +
           counted(row_[kPastSecond]) / kBeyondSecond;
  }

 private:
  double results() const { return counted(row_[kResults]) * 64 / vector_bytes_; }

  double arithmetic() const {
    const bool is_reduction = row_[kIsReduction] > 0;
    // A product and a sum are one operation.
    const double simple = std::max(is_reduction ? row_[kSums] / 2.0 : row_[kSums], 0.5);
    const double cycles = vectors() * (simple / kStarts + row_[kDivisions] * kDivision + row_[kFunctions] * kFunction +
                                       row_[kComparisons] * kComparison + row_[kIntegers] * kInteger);
    return is_reduction ? std::max(cycles, kLatency * vectors() / std::max(results(), 1.0)) : cycles;
  }

  RoundAccesses accesses() const {
    RoundAccesses all;
    for (size_t k = 0; k < kAccessesOfARow; ++k) {
      const float* const access = row_.data() + column_of(k, kAccessScope);
      if (access[kAccessScope] == 0 || access[kAccessScope] == kInRegisters) continue;
      // Lanes along two loops are a square, which is read by rows and turned.
      if (access[kAccessStride] > 1 && lanes_ * row_[kBits] / 8 > 4 * vector_bytes_)
        all.transposed += vectors();
      else if (access[kAccessStride] > 1 && lanes_ > 1)
        all.gathered += lanes_ * unrolled_ / std::max(counted(access[kAccessReuse]), 1.0);
      else
        (k == 0 ? all.stores : all.loads) += std::max(counted(access[kAccessTile]) / vector_bytes_, 1.0);
    }
    return all;
  }

  double spilled() const {
    const double registers = machine_.vectors.registers - kOperands;
    return unrolled_ > 1 ? kSpilled * std::max(0.0, results() - registers) : 0;
  }

  double conditions() const {
    const float depth = row_[kCondition];
    if (depth > 2) return kInLanes * unrolled_ * lanes_;
    return depth > 1 ? kInVectors * unrolled_ : depth > 0 ? kInRound : 0;
  }

  static constexpr float kInRegisters = 1 + static_cast<float>(kernel::Scope::kRegister);

  const FeatureRow& row_;
  const kernel::Machine& machine_;
  const double vector_bytes_, lanes_, unrolled_;
};

}  // namespace

double drafted_cycles(const Features& features, const kernel::Machine& machine) {
  double cycles = 0, vectors = 0;
  for (const FeatureRow& row : features) {
    const DraftedBlock block(row, machine);
    cycles += block.cycles();
    vectors += block.vectors();
  }
  return vectors > kMostVectors ? std::numeric_limits<double>::infinity() : cycles;
}

}  // namespace isomer::tune
