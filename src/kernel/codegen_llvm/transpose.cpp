#include "kernel/codegen_llvm/transpose.h"

#include "util/check.h"

namespace isomer::kernel::codegen {
namespace {

/// Lanes that an instruction shuffles among themselves at no price, for elements of four bytes.
constexpr int kChunk = 4;

/// Of two vectors, side by side: lane k is lane from(k) of both.
template <class From>
llvm::Value* shuffled(Builder& build, llvm::Value* a, llvm::Value* b, int lanes, const From& from) {
  std::vector<int> mask(static_cast<size_t>(lanes));
  for (int k = 0; k < lanes; ++k) mask[static_cast<size_t>(k)] = from(k);
  return build.CreateShuffleVector(a, b, mask);
}

}  // namespace

std::vector<llvm::Value*> transposed(Builder& build, const std::vector<llvm::Value*>& rows) {
  const int lanes = static_cast<int>(rows.size());
  CHECK(lanes == 4 || lanes == 8 || lanes == 16) << lanes << " rows";
  std::vector<llvm::Value*> next(rows.size());
  // Inside of chunks: pairs of neighbours, then pairs of pairs. Lane j of chunk c of vector 4g + m is then row 4g + j,
  // lane 4c + m.
  for (int group = 0; group < lanes; group += kChunk) {
    llvm::Value* const* const r = &rows[static_cast<size_t>(group)];
    const auto interleaved = [&](int a, int b, int half) {
      return shuffled(build, r[a], r[b], lanes,
                      [&](int k) { return k / kChunk * kChunk + 2 * half + k % kChunk / 2 + (k % 2) * lanes; });
    };
    llvm::Value* const pairs[] = {interleaved(0, 1, 0), interleaved(0, 1, 1), interleaved(2, 3, 0),
                                  interleaved(2, 3, 1)};
    for (int m = 0; m < kChunk; ++m)
      next[static_cast<size_t>(group + m)] = shuffled(build, pairs[m / 2], pairs[2 + m / 2], lanes, [&](int k) {
        return k / kChunk * kChunk + 2 * (m % 2) + k % 2 + (k % kChunk / 2) * lanes;
      });
  }
  // Chunks between groups: those on the other side of the diagonal change places, in blocks of 1, 2, … chunks.
  for (int block = kChunk; block < lanes; block *= 2) {
    for (int i = 0; i < lanes; ++i) {
      if ((i & block) != 0) continue;
      llvm::Value *&low = next[static_cast<size_t>(i)], *&high = next[static_cast<size_t>(i + block)];
      llvm::Value* const first =
          shuffled(build, low, high, lanes, [&](int k) { return (k & block) != 0 ? k - block + lanes : k; });
      high = shuffled(build, low, high, lanes, [&](int k) { return (k & block) != 0 ? k + lanes : k + block; });
      low = first;
    }
  }
  return next;
}

}  // namespace isomer::kernel::codegen
