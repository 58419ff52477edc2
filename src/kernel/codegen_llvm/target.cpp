#include "kernel/codegen_llvm/target.h"

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>

#include "kernel/machine.h"
#include "runtime/cpu_features.h"
#include "util/check.h"

namespace isomer::kernel {
namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";
/// Extensions with instructions that LLVM may choose for what we write.
constexpr const char* kExtensions[] = {
    "sse3",
    "ssse3",
    "sse4.1",
    "sse4.2",
    "popcnt",
    "movbe",
    "sse4a",
    "lzcnt",
    "bmi",
    "bmi2",
    "tbm",
    "xop",
    "fma4",
    "avx",
    "f16c",
    "fma",
    "avx2",
    "gfni",
    "avxvnni",
    "avxifma",
    "avx512f",
    "avx512cd",
    "avx512dq",
    "avx512bw",
    "avx512vl",
    "avx512ifma",
    "avx512vbmi",
    "avx512vbmi2",
    "avx512vnni",
    "avx512bitalg",
    "avx512vpopcntdq",
    "avx512bf16",
    "avx512fp16",
};

const llvm::Target& x86() {
  static const llvm::Target* const target = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    std::string error;
    const llvm::Target* const found = llvm::TargetRegistry::lookupTarget(kTriple, error);
    CHECK(found) << error;
    return found;
  }();
  return *target;
}

/// Fills in what follows from CPU and features.
CpuTarget described(CpuTarget target) {
  const std::unique_ptr<llvm::MCSubtargetInfo> info(x86().createMCSubtargetInfo(kTriple, target.cpu, target.features));
  for (const char* extension : kExtensions)
    if (info->checkFeatures(std::string("+") + extension)) target.extensions.push_back(extension);
  target.vector_bits = target.has("avx512vl") && target.has("avx512bw") ? 512 : target.has("avx2") ? 256 : 128;
  return target;
}

}  // namespace

bool CpuTarget::has(std::string_view extension) const {
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

VectorUnit CpuTarget::vectors() const {
  VectorUnit unit = has("avx512f") ? kAvx512 : has("fma") ? kAvx2 : has("avx") ? kAvx : kBaseline;
  unit.bits = vector_bits;
  return unit;
}

bool CpuTarget::has_vnni(int bits) const {
  return bits == 512 ? has("avx512vnni") : has("avxvnni") || (has("avx512vnni") && has("avx512vl"));
}

int CpuTarget::word_parts() const { return has_vnni(vector_bits) ? 4 : 2; }

CpuTarget host_target() {
  std::vector<std::string> features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    features.push_back((feature.getValue() ? "+" : "-") + feature.getKey().str());
  std::sort(features.begin(), features.end());
  CpuTarget target;
  target.cpu = llvm::sys::getHostCPUName().str();
  for (const std::string& feature : features) target.features += (target.features.empty() ? "" : ",") + feature;
  target = described(std::move(target));
  using Vendor = llvm::sys::detail::x86::VendorSignatures;
  const Vendor vendor = llvm::sys::detail::x86::getVendorSignature();
  target.cpu = name_by_extensions(target, vendor == Vendor::GENUINE_INTEL   ? "Intel"
                                          : vendor == Vendor::AUTHENTIC_AMD ? "AMD"
                                                                            : "");
  return target;
}

std::string name_by_extensions(const CpuTarget& named, std::string_view maker) {
  const auto has_all = [](const CpuTarget& a, const CpuTarget& b) {
    return std::all_of(b.extensions.begin(), b.extensions.end(),
                       [&](const std::string& extension) { return a.has(extension); });
  };
  const auto of_name = [](std::string_view cpu) {
    CpuTarget target;
    target.cpu = cpu;
    return described(std::move(target));
  };
  CpuTarget best = of_name(named.cpu);
  if (has_all(best, named)) return named.cpu;
  for (const std::string_view cpu : known_cpus(maker))
    if (CpuTarget other = of_name(cpu); has_all(named, other) && other.extensions.size() > best.extensions.size())
      best = std::move(other);
  return best.cpu;
}

Result<CpuTarget> parse_cpu_target(std::string_view text) {
  if (text == "cpu" || text == "cpu=host") return host_target();
  constexpr std::string_view kPrefix = "cpu=";
  const auto wrong = [&] {
    return Error{
        ErrorKind::kUsage, "target",
        fmt::format(
            "'cpu', 'cpu=host' or 'cpu=' and a CPU that LLVM knows (haswell, skylake-avx512, …) expected, '{}' found",
            text)};
  };
  if (!text.starts_with(kPrefix)) return wrong();
  CpuTarget target;
  target.cpu = text.substr(kPrefix.size());
  // Of names that it does not know, LLVM would tell the user itself.
  const std::unique_ptr<llvm::MCSubtargetInfo> any(x86().createMCSubtargetInfo(kTriple, "", ""));
  llvm::SmallVector<llvm::StringRef> names;
  for (const llvm::SubtargetSubTypeKV& cpu : any->getAllProcessorDescriptions()) names.push_back(cpu.Key);
  const auto* const description = std::find(names.begin(), names.end(), target.cpu);
  if (description == names.end()) return wrong();
  target = described(std::move(target));
  const std::unique_ptr<llvm::MCSubtargetInfo> info(x86().createMCSubtargetInfo(kTriple, target.cpu, ""));
  if (!info->checkFeatures("+64bit"))
    return Error{ErrorKind::kUsage, "target", fmt::format("a CPU of 64 bits expected, '{}' found", target.cpu)};
  return target;
}

bool runs_here(const CpuTarget& target) { return !runtime::first_missing_feature(target.extensions); }

namespace codegen {

std::unique_ptr<llvm::TargetMachine> machine_for(const CpuTarget& target) {
  return std::unique_ptr<llvm::TargetMachine>(
      x86().createTargetMachine(kTriple, target.cpu, target.features, llvm::TargetOptions(), llvm::Reloc::PIC_,
                                llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

}  // namespace codegen
}  // namespace isomer::kernel
