#include "kernel/codegen_llvm/types.h"

#include "kernel/narrow_floats.h"
#include "util/check.h"

namespace isomer::kernel::codegen {
namespace {

const llvm::Constant* as_constant(const llvm::Value* value) { return llvm::dyn_cast<llvm::Constant>(value); }

}  // namespace

llvm::Type* register_type(Builder& build, DataType dtype) {
  if (dtype == DataType::kBool) return build.getInt1Ty();
  if (dtype == DataType::kFloat64) return build.getDoubleTy();
  if (is_float(dtype)) return build.getFloatTy();
  CHECK(is_computable(dtype)) << name(dtype);
  return build.getIntNTy(bit_width(dtype));
}

llvm::Type* memory_type(Builder& build, DataType dtype) {
  if (dtype == DataType::kBool) return build.getInt8Ty();
  if (is_narrow_float(dtype)) return build.getInt16Ty();
  return register_type(build, dtype);
}

int lanes_of(const llvm::Value* value) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector ? static_cast<int>(vector->getNumElements()) : 1;
}

llvm::Type* widened(llvm::Type* scalar, int lanes) {
  return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, lanes);
}

llvm::Value* spread(Builder& build, llvm::Value* value, int lanes) {
  if (lanes_of(value) == lanes) return value;
  CHECK(lanes_of(value) == 1) << lanes_of(value) << " lanes instead of " << lanes;
  return build.CreateVectorSplat(lanes, value);
}

llvm::Value* lanes_from(Builder& build, llvm::Value* value, int first, int count) {
  if (count == lanes_of(value)) return value;
  return build.CreateShuffleVector(value, llvm::createSequentialMask(first, count, 0));
}

llvm::Value* joined(Builder& build, const std::vector<llvm::Value*>& vectors) {
  return vectors.size() == 1 ? vectors[0] : llvm::concatenateVectors(build, vectors);
}

llvm::Value* lane(Builder& build, llvm::Value* value, int k) {
  return lanes_of(value) == 1 ? value : build.CreateExtractElement(value, k);
}

void match_lanes(Builder& build, llvm::Value*& a, llvm::Value*& b) {
  const int lanes = std::max(lanes_of(a), lanes_of(b));
  a = spread(build, a, lanes);
  b = spread(build, b, lanes);
}

std::optional<std::vector<int64_t>> integers_of(const llvm::Value* vector) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(vector);
  std::vector<int64_t> result;
  for (int k = 0; constant && k < lanes_of(vector); ++k) {
    const auto* integer = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant->getAggregateElement(unsigned(k)));
    if (!integer) return std::nullopt;
    result.push_back(integer->getSExtValue());
  }
  return constant ? std::optional(std::move(result)) : std::nullopt;
}

bool is_always(const llvm::Value* condition) {
  return as_constant(condition) && as_constant(condition)->isAllOnesValue();
}
bool is_never(const llvm::Value* condition) { return as_constant(condition) && as_constant(condition)->isNullValue(); }

}  // namespace isomer::kernel::codegen
