#include "kernel/codegen_llvm/micro_kernels.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>

#include "kernel/codegen_llvm/optimize.h"
#include "kernel/codegen_llvm/part.h"
#include "kernel/codegen_llvm/site.h"
#include "util/check.h"

namespace isomer::kernel::codegen {
namespace {

/// Those that every CPU has instructions for, or sequences of them. Where LLVM has a name for what one CPU alone can,
/// it gives up the whole process on others; where it calls a library, undefined_symbols() sees that.
constexpr llvm::Intrinsic::ID kIntrinsics[] = {
    llvm::Intrinsic::abs,
    llvm::Intrinsic::assume,
    llvm::Intrinsic::copysign,
    llvm::Intrinsic::experimental_noalias_scope_decl,
    llvm::Intrinsic::fabs,
    llvm::Intrinsic::fma,
    llvm::Intrinsic::fmuladd,
    llvm::Intrinsic::lifetime_end,
    llvm::Intrinsic::lifetime_start,
    llvm::Intrinsic::masked_gather,
    llvm::Intrinsic::masked_load,
    llvm::Intrinsic::masked_scatter,
    llvm::Intrinsic::masked_store,
    llvm::Intrinsic::maxnum,
    llvm::Intrinsic::minnum,
    llvm::Intrinsic::prefetch,
    llvm::Intrinsic::smax,
    llvm::Intrinsic::smin,
    llvm::Intrinsic::umax,
    llvm::Intrinsic::umin,
    llvm::Intrinsic::vector_extract,
    llvm::Intrinsic::vector_insert,
    llvm::Intrinsic::vector_reduce_add,
    llvm::Intrinsic::vector_reduce_fadd,
};

/// Of what code can be made on every CPU.
bool is_plain(llvm::Type* type) {
  if (type->isVoidTy() || type->isLabelTy() || type->isMetadataTy() || type->isFloatTy() || type->isDoubleTy())
    return true;
  if (type->isPointerTy()) return type->getPointerAddressSpace() == 0;
  if (type->isIntegerTy()) return type->getIntegerBitWidth() <= 64;
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
    return vector->getNumElements() <= 256 && is_plain(vector->getElementType());
  return type->isAggregateType() && std::all_of(type->subtype_begin(), type->subtype_end(), is_plain);
}

/// One text on its way into a module.
class Text {
 public:
  Text(const MicroKernel& micro_kernel, llvm::Module& into, llvm::TargetMachine& machine, const CpuTarget& target)
      : micro_kernel_(micro_kernel), into_(into), machine_(machine), target_(target) {}

  llvm::Function* link() {
    for (const std::string& need : micro_kernel_.needs)
      if (!target_.has(need)) fail("a CPU with {} expected, {} has none", need, target_.cpu);
    parse();
    find_function();
    for (const llvm::Instruction& instruction : llvm::instructions(*function_)) check(instruction);
    prepare();
    check_object();
    const std::string name = function_->getName().str();
    CHECK(!llvm::Linker::linkModules(into_, std::move(module_))) << name;
    llvm::Function* const linked = into_.getFunction(name);
    linked->setLinkage(llvm::GlobalValue::InternalLinkage);
    return linked;
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    fail_unsupported("{}: {}", micro_kernel_.name, fmt::format(format, std::forward<Args>(args)...));
  }

  void parse() {
    llvm::SMDiagnostic problem;
    module_ = llvm::parseAssemblyString(micro_kernel_.text, problem, into_.getContext());
    if (!module_) fail("LLVM's assembly expected, line {}: {}", problem.getLineNo(), std::string(problem.getMessage()));
    std::string broken;
    llvm::raw_string_ostream stream(broken);
    if (llvm::verifyModule(*module_, &stream))
      fail("LLVM's assembly expected: {}", broken.substr(0, broken.find('\n')));
    if (!module_->getModuleInlineAsm().empty() || !module_->global_empty() || !module_->alias_empty() ||
        !module_->ifunc_empty())
      fail("a function without global variables expected");
  }

  void find_function() {
    for (llvm::Function& function : *module_) {
      if (function.isDeclaration()) continue;
      if (function_)
        fail("one function expected, {} and {} found", function_->getName().str(), function.getName().str());
      function_ = &function;
    }
    llvm::LLVMContext& context = into_.getContext();
    llvm::Type *const pointer = llvm::PointerType::get(context, 0), *const step = llvm::Type::getInt64Ty(context);
    auto* const type = llvm::FunctionType::get(
        llvm::Type::getVoidTy(context), {pointer, step, step, pointer, step, step, pointer, step, step, step}, false);
    constexpr std::string_view kSignature = "void (ptr, i64, i64, ptr, i64, i64, ptr, i64, i64, i64)";
    if (!function_) fail("one function of type {} expected, none found", kSignature);
    if (function_->getFunctionType() != type) {
      std::string found;
      llvm::raw_string_ostream(found) << *function_->getFunctionType();
      fail("a function of type {} expected, {} is a {}", kSignature, function_->getName().str(), found);
    }
  }

  void check(const llvm::Instruction& instruction) const {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call) {
      const llvm::Function* const called = call->getCalledFunction();
      if (!llvm::isa<llvm::CallInst>(call) || !called || !called->isIntrinsic())
        fail("calls of intrinsics alone expected, another one found");
      if (std::find(std::begin(kIntrinsics), std::end(kIntrinsics), called->getIntrinsicID()) == std::end(kIntrinsics))
        fail("an intrinsic that every CPU has code for expected, {} found", called->getName().str());
    }
    const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (variable && !variable->isStaticAlloca()) fail("variables of fixed size expected, others found");
    if (llvm::isa<llvm::IndirectBrInst, llvm::VAArgInst, llvm::ResumeInst, llvm::LandingPadInst, llvm::FuncletPadInst,
                  llvm::CatchSwitchInst>(instruction))
      fail("arithmetic, memory and branches expected, {} found", instruction.getOpcodeName());
    bool is_possible = is_plain(instruction.getType());
    for (const llvm::Use& operand : instruction.operands())
      is_possible &= is_plain(operand->getType()) && (call || !llvm::isa<llvm::Function>(operand));
    if (!is_possible)
      fail("integers and floats of up to 64 bits, their pointers and vectors expected, {} has others",
           instruction.getOpcodeName());
  }

  /// What the text says of itself goes; the function is one of ours.
  void prepare() {
    llvm::StripDebugInfo(*module_);
    while (!module_->named_metadata_empty()) module_->eraseNamedMetadata(&*module_->named_metadata_begin());
    module_->setTargetTriple(into_.getTargetTriple());
    module_->setDataLayout(into_.getDataLayout());
    function_->setAttributes({});
    function_->setCallingConv(llvm::CallingConv::C);
    function_->setComdat(nullptr);
    function_->setSection("");
    function_->setLinkage(llvm::GlobalValue::ExternalLinkage);
    function_->setVisibility(llvm::GlobalValue::DefaultVisibility);
    function_->setDSOLocal(true);
    function_->setName("micro_kernel." + micro_kernel_.name);
    set_attributes(*function_, target_);
    for (llvm::Argument& argument : function_->args())
      if (argument.getType()->isPointerTy()) argument.addAttr(llvm::Attribute::NoAlias);
    function_->addFnAttr(llvm::Attribute::AlwaysInline);
  }

  /// What it becomes for the target stands for itself: no calls where there is no instruction.
  void check_object() const {
    const std::unique_ptr<llvm::Module> copy = llvm::CloneModule(*module_);
    const std::string bytes = emitted(*copy, machine_, llvm::CodeGenFileType::ObjectFile);
    auto object =
        llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef({bytes.data(), bytes.size()}, "text"));
    CHECK(object) << llvm::toString(object.takeError());
    for (const llvm::object::SymbolRef& symbol : (*object)->symbols()) {
      const uint32_t flags = llvm::cantFail(symbol.getFlags());
      const std::string name = llvm::cantFail(symbol.getName()).str();
      if ((flags & llvm::object::SymbolRef::SF_Undefined) && !name.empty())
        fail("instructions of {} alone expected, it would have to call {}", target_.cpu, name);
    }
  }

  const MicroKernel& micro_kernel_;
  llvm::Module& into_;
  llvm::TargetMachine& machine_;
  const CpuTarget& target_;
  std::unique_ptr<llvm::Module> module_;
  llvm::Function* function_ = nullptr;
};

}  // namespace

llvm::Function* LinkedMicroKernels::function_of(const MicroKernel& micro_kernel) {
  llvm::Function*& known = known_[micro_kernel.name];
  if (!known) known = Text(micro_kernel, module_, machine_, target_).link();
  return known;
}

}  // namespace isomer::kernel::codegen
