#include "kernel/codegen_llvm/words.h"

#include <bit>
#include <optional>

namespace isomer::kernel::codegen {
namespace {

using Id = llvm::Intrinsic::ID;
using llvm::Intrinsic::x86_avx2_pmadd_wd;
using llvm::Intrinsic::x86_avx512_pmaddw_d_512;
using llvm::Intrinsic::x86_avx512_vpdpbusd_128;
using llvm::Intrinsic::x86_avx512_vpdpbusd_256;
using llvm::Intrinsic::x86_avx512_vpdpbusd_512;
using llvm::Intrinsic::x86_avx512_vpdpwssd_128;
using llvm::Intrinsic::x86_avx512_vpdpwssd_256;
using llvm::Intrinsic::x86_avx512_vpdpwssd_512;
using llvm::Intrinsic::x86_sse2_pmadd_wd;

/// An instruction for vectors of 4, 8 or 16 words.
struct Instruction {
  Id id;
  bool adds;  ///< to what its first operand is
};

std::optional<Instruction> instruction_for(const CpuTarget& target, int parts, int lanes) {
  const bool has_vnni = target.has_vnni(32 * lanes);
  const auto of_lanes = [&](Id narrow, Id middle, Id wide) { return lanes == 4 ? narrow : lanes == 8 ? middle : wide; };
  if (parts == 4 && has_vnni)
    return Instruction{of_lanes(x86_avx512_vpdpbusd_128, x86_avx512_vpdpbusd_256, x86_avx512_vpdpbusd_512), true};
  if (parts == 2 && has_vnni)
    return Instruction{of_lanes(x86_avx512_vpdpwssd_128, x86_avx512_vpdpwssd_256, x86_avx512_vpdpwssd_512), true};
  if (parts == 2 && (lanes == 4 || target.has(lanes == 8 ? "avx2" : "avx512bw")))
    return Instruction{of_lanes(x86_sse2_pmadd_wd, x86_avx2_pmadd_wd, x86_avx512_pmaddw_d_512), false};
  return std::nullopt;
}

}  // namespace

llvm::Value* add_dot_of_words(const Site& site, int parts, llvm::Value* sums, llvm::Value* a, llvm::Value* b) {
  Builder& build = site.build;
  const int lanes = lanes_of(sums), width = std::min(lanes, site.target.vector_bits / 32);
  if (width < 4 || !std::has_single_bit(static_cast<unsigned>(width)) || lanes % width != 0) return nullptr;
  const auto instruction = instruction_for(site.target, parts, width);
  if (!instruction) return nullptr;
  std::vector<llvm::Value*> results;
  for (int first = 0; first < lanes; first += width) {
    const auto piece = [&](llvm::Value* whole) { return lanes_from(build, whole, first, width); };
    llvm::Value *const sum = piece(sums), *left = piece(a), *right = piece(b);
    if (instruction->adds) {
      results.push_back(build.CreateIntrinsic(instruction->id, {}, {sum, left, right}));
      continue;
    }
    auto* const halves = llvm::FixedVectorType::get(build.getInt16Ty(), static_cast<unsigned>(2 * width));
    left = build.CreateBitCast(left, halves);
    right = build.CreateBitCast(right, halves);
    results.push_back(build.CreateAdd(sum, build.CreateIntrinsic(instruction->id, {}, {left, right})));
  }
  return joined(build, results);
}

}  // namespace isomer::kernel::codegen
