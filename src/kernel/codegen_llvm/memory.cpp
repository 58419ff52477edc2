#include "kernel/codegen_llvm/memory.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>

#include "kernel/access_plan.h"
#include "kernel/codegen_llvm/convert.h"
#include "kernel/narrow_floats.h"
#include "kernel/tree.h"
#include "util/check.h"

namespace isomer::kernel::codegen {
namespace {

constexpr int64_t kAlignment = 64;
/// Of a buffer in registers: what is larger would not fit there, and soon not on the stack.
constexpr int64_t kMaxRegisterBytes = 16384;

/// Vectors that lanes are taken from; more of them are no better than their elements one by one.
constexpr int64_t kMostWindows = 4;

int64_t bytes_of(DataType dtype) { return dtype == DataType::kBool ? 1 : bit_width(dtype) / 8; }

/// Elements `first` to `last` as vectors of one width that reads none beyond them; the last two may overlap.
struct Windows {
  int64_t first = 0, last = 0, width = 1;
  int64_t count() const { return (last - first + width) / width; }
  int64_t start(int64_t k) const { return std::min(first + k * width, last - width + 1); }
};

Windows windows_over(std::span<const int64_t> elements) {
  const auto [first, last] = std::minmax_element(elements.begin(), elements.end());
  const auto span = static_cast<uint64_t>(*last - *first + 1);
  return {*first, *last, static_cast<int64_t>(std::bit_floor(std::min<uint64_t>(span, elements.size())))};
}

}  // namespace

int64_t step_of(const Position& position, int k) {
  return position.steps.empty() ? k * position.stride : position.steps[static_cast<size_t>(k)];
}

llvm::Value* numbers_of(Builder& build, const Position& position, int lanes) {
  if (position.numbers) return position.numbers;
  llvm::Value* const base = spread(build, position.base, lanes);
  if (!position.steps.empty()) {
    const std::vector<uint64_t> steps(position.steps.begin(), position.steps.end());
    return build.CreateAdd(base, llvm::ConstantDataVector::get(build.getContext(), steps));
  }
  if (position.stride == 0) return base;
  llvm::Value* const steps = build.CreateStepVector(base->getType());
  return build.CreateAdd(base, build.CreateMul(steps, llvm::ConstantInt::get(steps->getType(), position.stride, true)));
}

llvm::Value* number_of(Builder& build, const Position& position, int k) {
  if (position.numbers) return lane(build, position.numbers, k);
  return build.CreateAdd(position.base, build.getInt64(static_cast<uint64_t>(step_of(position, k))));
}

Memory::Memory(const Site& site, const Kernel& kernel, llvm::BasicBlock* entry)
    : site_(site), build_(site.build), kernel_(kernel), entry_(entry) {
  for_each_block(kernel.body, [&](const Block& block, const auto&) {
    for (size_t k = 0; k < block.writes.size(); ++k)
      if (block.is_reduction() || !te::as<te::Load>(block.bodies[k])) computed_.insert(block.writes[k].buffer);
  });
}

/// Different buffers never overlap: each is a type of its own to type-based alias analysis.
llvm::MDNode* Memory::tag(const std::string& name) {
  llvm::MDNode*& tag = tags_[name];
  if (!tag) {
    llvm::MDBuilder metadata(build_.getContext());
    llvm::MDNode* const type = metadata.createTBAAScalarTypeNode(name, metadata.createTBAARoot("isomer"));
    tag = metadata.createTBAAStructTagNode(type, type, 0);
  }
  return tag;
}

template <class T>
T* Memory::tagged(int buffer, T* instruction) {
  instruction->setMetadata(llvm::LLVMContext::MD_tbaa, tag(kernel_.buffers[buffer].name));
  instruction->setMetadata(llvm::LLVMContext::MD_alias_scope, elements());
  return instruction;
}

llvm::MDNode* Memory::elements() {
  if (!elements_) {
    llvm::MDBuilder metadata(build_.getContext());
    elements_ = llvm::MDNode::get(build_.getContext(),
                                  {metadata.createAnonymousAliasScope(metadata.createAnonymousAliasScopeDomain())});
  }
  return elements_;
}

llvm::Value* Memory::load_field(llvm::Value* pointer, llvm::Type* type, int64_t offset) {
  llvm::Value* const field = build_.CreateConstGEP1_64(build_.getInt8Ty(), pointer, offset);
  llvm::LoadInst* const load = build_.CreateAlignedLoad(type, field, llvm::Align(8));
  load->setMetadata(llvm::LLVMContext::MD_tbaa, tag("of the frame"));
  return load;
}

DataType Memory::stored_type(int buffer) const {
  const Buffer& target = kernel_.buffers[buffer];
  if (target.scope != Scope::kRegister || !is_narrow_float(target.dtype) || !computed_.contains(buffer))
    return target.dtype;
  const bool fits = element_count(target.shape).value() * bytes_of(DataType::kFloat32) <= kMaxRegisterBytes;
  return fits ? DataType::kFloat32 : target.dtype;
}

llvm::Value* Memory::turn() { return load_field(site_.frame, build_.getInt64Ty(), offsetof(runtime::Frame, turn)); }

llvm::Value* Memory::load_private(int buffer, int64_t bytes) {
  const Buffer& target = kernel_.buffers[buffer];
  private_.insert(buffer);
  if (target.scope == Scope::kRegister) {
    if (bytes > kMaxRegisterBytes) fail_unsupported("'{}' has {} bytes: too many for registers", target.name, bytes);
    const DataType dtype = stored_type(buffer);
    llvm::Type* const type = llvm::ArrayType::get(memory_type(build_, dtype), bytes / bytes_of(dtype));
    llvm::AllocaInst* const variable = build_.CreateAlloca(type, nullptr, target.name);
    variable->setAlignment(llvm::Align(kAlignment));
    return variable;
  }
  llvm::Value* const scratch = load_field(site_.frame, build_.getPtrTy(), offsetof(runtime::Frame, scratch));
  llvm::Value* const result = build_.CreateConstGEP1_64(build_.getInt8Ty(), scratch, scratch_bytes_);
  scratch_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return result;
}

/// The pointers of the frame are read once; those that a resize may change, at each use.
llvm::Value* Memory::start(int buffer) {
  const Buffer& target = kernel_.buffers[buffer];
  const bool is_static = has_static_shape(target);
  const int64_t field = buffer * static_cast<int64_t>(sizeof(void*));
  const auto argument = [&] {
    llvm::Value* const buffers = load_field(site_.frame, build_.getPtrTy(), offsetof(runtime::Frame, buffers));
    return load_field(buffers, build_.getPtrTy(), field);
  };
  if (!is_static) {
    if (target.scope != Scope::kArgument) fail_unsupported("'{}' is a thread's own but has no fixed size", target.name);
    return argument();
  }
  llvm::Value*& known = starts_[buffer];
  if (known) return known;
  const Builder::InsertPointGuard guard(build_);
  build_.SetInsertPoint(entry_, entry_->getFirstInsertionPt());
  const int64_t bytes = element_count(target.shape).value() * bytes_of(stored_type(buffer));
  return known = target.scope == Scope::kArgument ? argument() : load_private(buffer, bytes);
}

llvm::Value* Memory::address(int buffer, llvm::Value* number) {
  return build_.CreateGEP(memory_type(build_, stored_type(buffer)), start(buffer), number);
}

llvm::Align Memory::alignment(int buffer, int64_t multiple) const {
  const int64_t bytes = bytes_of(stored_type(buffer));
  return llvm::Align(multiple == 0 ? kAlignment : std::gcd(kAlignment, multiple * bytes));
}

/// Masked accesses keep variables in memory; those of registers may touch all lanes, as long as they are there.
bool Memory::is_inside_registers(int buffer, const Position& position, int lanes) const {
  const Buffer& target = kernel_.buffers[buffer];
  const auto* base = llvm::dyn_cast<llvm::ConstantInt>(position.base);
  return target.scope == Scope::kRegister && base && base->getSExtValue() >= 0 &&
         base->getSExtValue() + lanes <= element_count(target.shape).value();
}

llvm::Value* Memory::load_shuffled(int buffer, const Position& position, int lanes, llvm::Value* mask) {
  const DataType dtype = kernel_.buffers[buffer].dtype;
  const auto read = mask ? integers_of(mask) : std::vector<int64_t>(static_cast<size_t>(lanes), 1);
  // A register's lanes at a time.
  const int width = std::min(lanes, site_.target.vector_bits / std::max(32, bit_width(dtype)));
  // Vectors across those that variables become would keep them in memory.
  if (position.numbers || !read || width < 4 || !std::has_single_bit(static_cast<unsigned>(lanes)) ||
      kernel_.buffers[buffer].scope == Scope::kRegister)
    return nullptr;
  std::vector<std::vector<int64_t>> elements;  // by vector; of a lane that is not read, those of another
  for (int k = 0; k < lanes; k += width) {
    const auto begin = read->begin() + k, end = begin + width;
    const auto any = std::find_if(begin, end, [](int64_t is_read) { return is_read != 0; }) - begin;
    if (any == width) return nullptr;
    elements.emplace_back();
    for (int lane = 0; lane < width; ++lane)
      elements.back().push_back(step_of(position, k + (begin[lane] != 0 ? lane : static_cast<int>(any))));
    if (windows_over(elements.back()).count() > std::min<int64_t>(kMostWindows, width / 2)) return nullptr;
  }
  std::vector<llvm::Value*> vectors;
  for (const std::vector<int64_t>& each : elements) vectors.push_back(load_windows(buffer, position, each));
  llvm::Value* const result = joined(build_, vectors);
  return mask ? build_.CreateSelect(mask, result, llvm::Constant::getNullValue(result->getType())) : result;
}

llvm::Value* Memory::load_windows(int buffer, const Position& position, const std::vector<int64_t>& elements) {
  const Windows from = windows_over(elements);
  llvm::Type* const type =
      llvm::FixedVectorType::get(memory_type(build_, kernel_.buffers[buffer].dtype), static_cast<unsigned>(from.width));
  std::vector<llvm::Value*> windows;
  for (int64_t k = 0; k < from.count(); ++k) {
    const int64_t start = from.start(k);
    llvm::Value* const number = build_.CreateAdd(position.base, build_.getInt64(static_cast<uint64_t>(start)));
    llvm::Value* const pointer = address(buffer, number);
    const llvm::Align align = alignment(buffer, std::gcd(position.multiple, start));
    windows.push_back(tagged(buffer, build_.CreateAlignedLoad(type, pointer, align)));
  }
  // Two windows at a time, and of the results both.
  std::vector<int> first(elements.size(), -1), second = first, both = first;
  for (size_t lane = 0; lane < elements.size(); ++lane) {
    const int64_t window = std::min((elements[lane] - from.first) / from.width, from.count() - 1);
    (window < 2 ? first : second)[lane] =
        static_cast<int>(elements[lane] - from.start(window) + window % 2 * from.width);
    both[lane] = static_cast<int>(lane + (window < 2 ? 0 : elements.size()));
  }
  const auto picked = [&](size_t k, const std::vector<int>& lanes) {
    llvm::Value* const next = k + 1 < windows.size() ? windows[k + 1] : llvm::PoisonValue::get(type);
    return build_.CreateShuffleVector(windows[k], next, lanes);
  };
  llvm::Value* const result = picked(0, first);
  if (windows.size() <= 2) return result;
  llvm::Value* const others = picked(2, second);
  return build_.CreateShuffleVector(result, others, both);
}

/// Elements of 32 bits for each of which a vector of 512 bits has a lane.
constexpr int kGathered = 16;

/// Whether an instruction loads them faster than one by one.
bool Memory::can_gather(int buffer, const Position& position, int lanes) const {
  const Buffer& source = kernel_.buffers[buffer];
  const auto count = element_count(source.shape).constant();
  return position.numbers && bit_width(source.dtype) == 32 && lanes % kGathered == 0 &&
         site_.target.vector_bits == 512 && count && *count < int64_t{1} << 29;
}

/// By numbers of 32 bits, half as long as pointers are.
llvm::Value* Memory::gathered(int buffer, llvm::Value* numbers, llvm::Type* type) {
  const bool is_real = is_float(kernel_.buffers[buffer].dtype);
  const llvm::Intrinsic::ID id =
      is_real ? llvm::Intrinsic::x86_avx512_mask_gather_dps_512 : llvm::Intrinsic::x86_avx512_mask_gather_dpi_512;
  llvm::Type* const piece = widened(llvm::cast<llvm::VectorType>(type)->getElementType(), kGathered);
  llvm::Constant* const all = llvm::Constant::getAllOnesValue(widened(build_.getInt1Ty(), kGathered));
  llvm::Value* const narrow = build_.CreateTrunc(numbers, widened(build_.getInt32Ty(), lanes_of(numbers)));
  llvm::Value* const base = address(buffer, build_.getInt64(0));
  std::vector<llvm::Value*> pieces;
  for (int first = 0; first < lanes_of(numbers); first += kGathered) {
    llvm::Value* const of_piece = lanes_from(build_, narrow, first, kGathered);
    pieces.push_back(
        build_.CreateIntrinsic(id, {}, {llvm::Constant::getNullValue(piece), base, of_piece, all, build_.getInt32(4)}));
  }
  return joined(build_, pieces);
}

/// Without instructions for it the lanes are loaded one by one. Those of a vector that lies inside of its buffer may be
/// loaded all, whatever is done with them: but at the ends of a buffer they are, beside paddings too.
llvm::Value* Memory::load_masked(int buffer, const Position& position, int lanes, llvm::Value* mask) {
  llvm::Type* const type = widened(memory_type(build_, stored_type(buffer)), lanes);
  llvm::Value *const pointer = address(buffer, position.base), *const none = llvm::Constant::getNullValue(type);
  const llvm::Align align = alignment(buffer, position.multiple);
  const auto masked = [&] { return tagged(buffer, build_.CreateMaskedLoad(type, pointer, align, mask, none)); };
  const auto count = element_count(kernel_.buffers[buffer].shape).constant();
  if (type->getScalarSizeInBits() >= 32 || site_.target.has("avx512bw") || llvm::isa<llvm::Constant>(mask) || !count)
    return masked();
  llvm::Function* const function = build_.GetInsertBlock()->getParent();
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(build_.getContext(), name, function); };
  llvm::BasicBlock *const inside = block("load.inside"), *const end = block("load.end"), *const done = block("loaded");
  llvm::Value* const is_inside =
      *count < lanes ? static_cast<llvm::Value*>(build_.getFalse())
                     : build_.CreateICmpULE(position.base, build_.getInt64(static_cast<uint64_t>(*count - lanes)));
  build_.CreateCondBr(is_inside, inside, end, llvm::MDBuilder(build_.getContext()).createLikelyBranchWeights());
  build_.SetInsertPoint(inside);
  llvm::Value* const all = tagged(buffer, build_.CreateAlignedLoad(type, pointer, align));
  llvm::Value* const some = build_.CreateSelect(mask, all, none);
  build_.CreateBr(done);
  build_.SetInsertPoint(end);
  llvm::Value* const few = masked();
  build_.CreateBr(done);
  build_.SetInsertPoint(done);
  llvm::PHINode* const result = build_.CreatePHI(type, 2);
  result->addIncoming(some, inside);
  result->addIncoming(few, end);
  return result;
}

llvm::Value* Memory::load(int buffer, const Position& position, int lanes, llvm::Value* mask) {
  const DataType dtype = stored_type(buffer);
  llvm::Type* const scalar = memory_type(build_, dtype);
  llvm::Type* const type = widened(scalar, position.is_uniform() ? 1 : lanes);
  const llvm::Align one(bytes_of(dtype));
  llvm::Value* result = nullptr;
  if (position.is_uniform()) {
    result = tagged(
        buffer, build_.CreateAlignedLoad(type, address(buffer, position.base), alignment(buffer, position.multiple)));
  } else if (position.is_regular() && position.stride == 1) {
    llvm::Value* const pointer = address(buffer, position.base);
    const llvm::Align align = alignment(buffer, position.multiple);
    if (!mask || is_inside_registers(buffer, position, lanes))
      result = tagged(buffer, build_.CreateAlignedLoad(type, pointer, align));
    else
      result = load_masked(buffer, position, lanes, mask);
  } else if (llvm::Value* const shuffled = load_shuffled(buffer, position, lanes, mask)) {
    result = shuffled;
  } else if (!mask && can_gather(buffer, position, lanes)) {
    result = gathered(buffer, position.numbers, type);
  } else if (mask) {
    llvm::Value* const numbers = numbers_of(build_, position, lanes);
    result = tagged(buffer, build_.CreateMaskedGather(type, address(buffer, numbers), one, mask,
                                                      llvm::Constant::getNullValue(type)));
  } else {
    result = llvm::PoisonValue::get(type);
    for (int k = 0; k < lanes; ++k) {
      llvm::Value* const pointer = address(buffer, number_of(build_, position, k));
      llvm::Value* const element = tagged(buffer, build_.CreateAlignedLoad(scalar, pointer, one));
      result = build_.CreateInsertElement(result, element, k);
    }
  }
  return from_memory(site_, dtype, result);
}

llvm::Value* Memory::load_words(int buffer, const Position& position, int lanes) {
  llvm::Type* const type = widened(build_.getInt32Ty(), position.is_uniform() ? 1 : lanes);
  return tagged(buffer,
                build_.CreateAlignedLoad(type, address(buffer, position.base), alignment(buffer, position.multiple)));
}

void Memory::finish() {
  if (streamed_) build_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
}

void Memory::store(int buffer, const Position& position, llvm::Value* value, llvm::Value* mask, bool streams) {
  const DataType dtype = stored_type(buffer);
  const int lanes = lanes_of(value);
  const llvm::Align one(bytes_of(dtype));
  llvm::Value* stored = to_memory(site_, dtype, value);
  if (lanes == 1) {
    tagged(buffer,
           build_.CreateAlignedStore(stored, address(buffer, position.base), alignment(buffer, position.multiple)));
    return;
  }
  if (position.is_regular() && position.stride == 1) {
    llvm::Value* const pointer = address(buffer, position.base);
    const llvm::Align align = alignment(buffer, position.multiple);
    if (mask && !is_inside_registers(buffer, position, lanes)) {
      tagged(buffer, build_.CreateMaskedStore(stored, pointer, align, mask));
      return;
    }
    if (mask)
      stored = build_.CreateSelect(mask, stored,
                                   tagged(buffer, build_.CreateAlignedLoad(stored->getType(), pointer, align)));
    llvm::StoreInst* const store = tagged(buffer, build_.CreateAlignedStore(stored, pointer, align));
    if (streams && !mask && kernel_.buffers[buffer].scope == Scope::kArgument &&
        align.value() * 8 >= static_cast<uint64_t>(site_.target.vector_bits)) {
      store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                         llvm::MDNode::get(build_.getContext(), llvm::ConstantAsMetadata::get(build_.getInt32(1))));
      streamed_ = true;
    }
    return;
  }
  for (int k = 0; k < lanes; ++k) {
    llvm::Value* const pointer = address(buffer, number_of(build_, position, k));
    llvm::Value* const element = lane(build_, stored, k);
    if (!mask) {
      tagged(buffer, build_.CreateAlignedStore(element, pointer, one));
      continue;
    }
    // A masked store of one lane is a branch that optimization may see through.
    llvm::Type* const single = llvm::FixedVectorType::get(element->getType(), 1);
    llvm::Value* const bit =
        build_.CreateBitCast(lane(build_, mask, k), llvm::FixedVectorType::get(build_.getInt1Ty(), 1));
    tagged(buffer, build_.CreateMaskedStore(build_.CreateBitCast(element, single), pointer, one, bit));
  }
}

void Memory::prefetch(int buffer, llvm::Value* number, bool near) {
  if (kernel_.buffers[buffer].scope != Scope::kArgument) return;
  constexpr uint32_t kRead = 0, kFirst = 3, kSecond = 2, kData = 1;
  auto* const asked = build_.CreateIntrinsic(llvm::Intrinsic::prefetch, {build_.getPtrTy()},
                                             {address(buffer, number), build_.getInt32(kRead),
                                              build_.getInt32(near ? kFirst : kSecond), build_.getInt32(kData)});
  // It changes no element: what is loaded and stored around it may stay in registers.
  asked->setMetadata(llvm::LLVMContext::MD_noalias, elements());
}

llvm::Value* Memory::extents_of(int buffer) {
  llvm::Value* const extents = load_field(site_.frame, build_.getPtrTy(), offsetof(runtime::Frame, extents));
  return load_field(extents, build_.getPtrTy(), buffer * static_cast<int64_t>(sizeof(int64_t*)));
}

llvm::Value* Memory::extent(int buffer, int axis) {
  const Buffer& target = kernel_.buffers[buffer];
  if (target.shape[axis].is_constant()) return build_.getInt64(target.shape[axis].value());
  return given_extent(buffer, axis);
}

llvm::Value* Memory::given_extent(int buffer, int axis) {
  return load_field(extents_of(buffer), build_.getInt64Ty(), axis * static_cast<int64_t>(sizeof(int64_t)));
}

llvm::Value* Memory::resize(int buffer, const std::vector<llvm::Value*>& extents) {
  llvm::Value* const target = extents_of(buffer);
  llvm::Value* bytes = build_.getInt64(bytes_of(kernel_.buffers[buffer].dtype));
  llvm::Value* overflows = build_.getFalse();
  llvm::Value* is_empty = build_.getFalse();
  for (size_t k = 0; k < extents.size(); ++k) {
    llvm::Value* const field = build_.CreateConstGEP1_64(build_.getInt64Ty(), target, static_cast<int64_t>(k));
    llvm::StoreInst* const store = build_.CreateAlignedStore(extents[k], field, llvm::Align(8));
    store->setMetadata(llvm::LLVMContext::MD_tbaa, tag("of the frame"));
    is_empty = build_.CreateOr(is_empty, build_.CreateICmpEQ(extents[k], build_.getInt64(0)));
    llvm::Value* const product = build_.CreateBinaryIntrinsic(llvm::Intrinsic::smul_with_overflow, bytes, extents[k]);
    bytes = build_.CreateExtractValue(product, 0);
    overflows = build_.CreateOr(overflows, build_.CreateExtractValue(product, 1));
  }
  // What is too much is asked for as such: the runtime has less than 2^62 bytes.
  bytes = build_.CreateSelect(overflows, build_.getInt64(int64_t{1} << 62), bytes);
  bytes = build_.CreateSelect(is_empty, build_.getInt64(0), bytes);
  auto* const type =
      llvm::FunctionType::get(build_.getInt8Ty(), {build_.getPtrTy(), build_.getInt32Ty(), build_.getInt64Ty()}, false);
  llvm::Value* const callee = load_field(site_.frame, build_.getPtrTy(), offsetof(runtime::Frame, resize));
  llvm::CallInst* const call = build_.CreateCall(type, callee, {site_.frame, build_.getInt32(buffer), bytes});
  call->setDoesNotThrow();
  return build_.CreateICmpNE(call, build_.getInt8(0));
}

}  // namespace isomer::kernel::codegen
