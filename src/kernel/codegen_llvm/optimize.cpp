#include "kernel/codegen_llvm/optimize.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Passes/PassBuilder.h>

#include "util/check.h"

namespace isomer::kernel::codegen {
namespace {

constexpr const char* kPasses =
    "always-inline,function(sroa<modify-cfg>,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-mssa(loop-rotate,licm),gvn,sroa<modify-cfg>,instcombine<no-verify-fixpoint>,loop-mssa(licm),"
    "early-cse<memssa>,dse,adce,simplifycfg)";

}  // namespace

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(&machine);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager pipeline;
  llvm::Error error = passes.parsePassPipeline(pipeline, kPasses);
  CHECK(!error) << llvm::toString(std::move(error));
  pipeline.run(module, modules);
}

std::string emitted(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  CHECK(!machine.addPassesToEmitFile(passes, stream, nullptr, type)) << "LLVM can't write this kind of file";
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace isomer::kernel::codegen
