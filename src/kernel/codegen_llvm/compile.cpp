#include <llvm/IR/Verifier.h>

#include <algorithm>
#include <map>

#include "kernel/access.h"
#include "kernel/codegen_llvm.h"
#include "kernel/codegen_llvm/image.h"
#include "kernel/codegen_llvm/optimize.h"
#include "kernel/codegen_llvm/part.h"
#include "kernel/codegen_llvm/site.h"
#include "kernel/codegen_llvm/target.h"
#include "kernel/tree.h"
#include "util/check.h"
#include "util/parallel.h"
#include "util/stop.h"
#include "util/threads.h"

namespace isomer::kernel {
namespace codegen {
namespace {

/// Its statements are parts that take turns.
bool takes_turns(const Loop& loop) {
  return loop.ordered && te::as_constant(loop.extent) &&
         std::any_of(loop.body.begin(), loop.body.end(), [](const Statement& statement) {
           const auto* inner = std::get_if<Loop>(&statement.node);
           return inner && inner->kind == LoopKind::kParallel;
         });
}

/// Operations that are worth the claim of some iterations: about five microseconds.
constexpr int64_t kGrainWork = 100'000;
/// What moving an element costs, in operations.
constexpr int64_t kMove = 8;

/// Iterations of a part that are worth a claim.
int64_t grain(const Statement& part, int64_t iterations) {
  int64_t work = 0;
  for_each_block(part, [&](const Block& block, const std::vector<const Loop*>& loops) {
    auto count = points(block);
    for (const Loop* loop : loops)
      if (count && loop->ordered) count = *count * te::as_constant(loop->extent).value_or(1);
    if (count)
      work += *count * (block.is_reduction() ? 1 : std::max<int64_t>(kMove, count_operations(block.bodies[0])));
  });
  return work == 0 ? 0
                   : std::max<int64_t>(1, kGrainWork / std::max<int64_t>(1, work / std::max<int64_t>(1, iterations)));
}

/// A module has so few that a stop is soon seen to and threads have about as much to do, and so many that what each
/// module costs is little. How many threads there are changes nothing in the code.
constexpr size_t kKernelsOfModule = 4;
/// Each module in the making takes some tens of megabytes.
constexpr int kModulesAtOnce = 8;

std::string part_name(size_t kernel, size_t part) { return fmt::format("kernel{}.part{}", kernel, part); }

/// The parts of some kernels on their way to code.
class Compilation {
 public:
  explicit Compilation(const CpuTarget& target)
      : target_(target),
        machine_(machine_for(target)),
        module_("kernels", context_),
        micro_kernels_(module_, *machine_, target) {
    module_.setTargetTriple(machine_->getTargetTriple().str());
    module_.setDataLayout(machine_->createDataLayout());
    module_.setPICLevel(llvm::PICLevel::SmallPIC);
  }

  Result<void> add(const Kernel& kernel) {
    std::vector<Part> parts;
    std::map<int, size_t> owners;
    const auto add_part = [&](const Statement& statement, const Loop* turns) -> Result<void> {
      const size_t number = parts.size();
      const PartCode code =
          emit_part(module_, target_, micro_kernels_, kernel, statement, turns, part_name(kernels_.size(), number));
      parts.push_back({.iterations = code.iterations,
                       .grain = grain(statement, code.iterations),
                       .scratch_bytes = code.scratch_bytes});
      for (const int buffer : code.private_buffers)
        if (owners.emplace(buffer, number).first->second != number)
          return unsupported(kernel.buffers[buffer].name,
                             "a thread's own buffer in one part expected, it is used in two");
      return {};
    };
    try {
      for (const Statement& root : kernel.body) {
        const auto* turns = std::get_if<Loop>(&root.node);
        if (!turns || !takes_turns(*turns)) {
          TRY_VOID(add_part(root, nullptr));
          continue;
        }
        const size_t first = parts.size();
        for (const Statement& statement : turns->body) TRY_VOID(add_part(statement, turns));
        parts[first].turns = *te::as_constant(turns->extent);
        parts[first].followers = static_cast<int64_t>(turns->body.size()) - 1;
      }
    } catch (Unsupported& failure) {
      return std::move(failure.error);
    }
    kernels_.push_back(std::move(parts));
    return {};
  }

  std::string text() {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module_.print(stream, nullptr);
    return text;
  }
  std::string assembly() { return optimized(llvm::CodeGenFileType::AssemblyFile); }
  MachineCode code() {
    Image image = link(optimized(llvm::CodeGenFileType::ObjectFile));
    for (size_t k = 0; k < kernels_.size(); ++k)
      for (size_t p = 0; p < kernels_[k].size(); ++p) kernels_[k][p].entry = image.functions.at(part_name(k, p));
    return {std::move(image.bytes), std::move(kernels_)};
  }

 private:
  std::string optimized(llvm::CodeGenFileType type) {
    verify();
    optimize(module_, *machine_);
    return emitted(module_, *machine_, type);
  }
  void verify() {
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    CHECK(!llvm::verifyModule(module_, &stream)) << problem;
  }

  const CpuTarget& target_;
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  llvm::Module module_;
  LinkedMicroKernels micro_kernels_;
  std::vector<std::vector<Part>> kernels_;
};

void append(MachineCode& all, MachineCode code) {
  const size_t start = (all.image.size() + kImageAlignment - 1) / kImageAlignment * kImageAlignment;
  all.image.resize(start);
  all.image.insert(all.image.end(), code.image.begin(), code.image.end());
  for (std::vector<Part>& parts : code.kernels) {
    for (Part& part : parts) part.entry += start;
    all.kernels.push_back(std::move(parts));
  }
}

}  // namespace
}  // namespace codegen

Result<MachineCode> compile(std::span<const Kernel* const> kernels, const CpuTarget& target) {
  const auto module = [&](size_t number) -> Result<MachineCode> {
    TRY_VOID(check_stop());
    const auto rest = kernels.subspan(number * codegen::kKernelsOfModule);
    codegen::Compilation compilation(target);
    for (const Kernel* kernel : rest.first(std::min(rest.size(), codegen::kKernelsOfModule)))
      TRY_VOID(compilation.add(*kernel));
    return compilation.code();
  };
  std::vector<Result<MachineCode>> modules((kernels.size() + codegen::kKernelsOfModule - 1) / codegen::kKernelsOfModule,
                                           MachineCode());
  const auto count = static_cast<int64_t>(modules.size());
  ThreadPool pool(
      static_cast<int>(std::clamp<int64_t>(count, 1, std::min(available_threads(), codegen::kModulesAtOnce))));
  pool.run(count, [&](int64_t m, int) { modules[static_cast<size_t>(m)] = module(static_cast<size_t>(m)); });
  MachineCode all;
  for (Result<MachineCode>& made : modules) {
    TRY(MachineCode code, std::move(made));
    codegen::append(all, std::move(code));
  }
  return all;
}

Result<MachineCode> compile(const Kernel& kernel, const CpuTarget& target) {
  codegen::Compilation compilation(target);
  TRY_VOID(compilation.add(kernel));
  return compilation.code();
}

Result<std::string> emit_ir(const Kernel& kernel, const CpuTarget& target) {
  codegen::Compilation compilation(target);
  TRY_VOID(compilation.add(kernel));
  return compilation.text();
}

Result<std::string> emit_assembly(const Kernel& kernel, const CpuTarget& target) {
  codegen::Compilation compilation(target);
  TRY_VOID(compilation.add(kernel));
  return compilation.assembly();
}

}  // namespace isomer::kernel
