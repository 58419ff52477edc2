// Machine code of kernels by LLVM: the only door to it. Code is a flat image: position-independent, with the constants
// that it reads, without imports and relocations, called as runtime/kernel_abi.h says. Tests: tests/kernel.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "kernel/loop_nest.h"
#include "kernel/target.h"
#include "runtime/kernel_abi.h"
#include "runtime/memory.h"
#include "util/result.h"

namespace isomer::kernel {

/// The machine that this runs on.
CpuTarget host_target();
/// LLVM tells processors apart by model numbers, and virtual machines make them up: one with AMX and 2 MB of
/// second-level cache called itself a Rocket Lake. A target that has more extensions than the CPU it is named after is
/// called after the first known one ("Intel" or "AMD") that has most of them.
std::string name_by_extensions(const CpuTarget& named, std::string_view maker);
/// "cpu=haswell", a CPU that LLVM knows; "cpu=host" and "cpu" for this machine.
Result<CpuTarget> parse_cpu_target(std::string_view text);
/// Whether this machine has the target's extensions.
bool runs_here(const CpuTarget& target);

/// The code of a root statement of a kernel, or of a statement in one whose statements take turns.
using runtime::Part;

struct MachineCode {
  std::vector<std::byte> image;            ///< to be mapped at a multiple of 64 bytes, readable and executable
  std::vector<std::vector<Part>> kernels;  ///< of kernel k, in their order
};

/// Errors are of kind kUnsupported: what no code is generated for; of several kernels, which may take long, kStopped
/// too (util/stop.h). A loop nest that breaks the rules of loop_nest.h is a bug.
Result<MachineCode> compile(std::span<const Kernel* const> kernels, const CpuTarget& target);
Result<MachineCode> compile(const Kernel& kernel, const CpuTarget& target);

/// For people: LLVM's text before optimization, assembly after it.
Result<std::string> emit_ir(const Kernel& kernel, const CpuTarget& target);
Result<std::string> emit_assembly(const Kernel& kernel, const CpuTarget& target);

}  // namespace isomer::kernel
