// Operator instances applied to operands of given shapes: their bytecode, recorded when first asked for.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "substitutions/discover/fingerprint.h"
#include "substitutions/discover/operator_set.h"

namespace isomer::substitutions {

/// Of tensors: dims, with what is sampled of them. Numbered in the order in which they occur, which threads may change:
/// no result depends on the numbers.
using TypeId = uint16_t;
inline constexpr TypeId kNoType = 0xffff;

struct Type {
  Dims dims;
  int64_t count = 0;
  Sample sample;
};

/// An instance on operands of two types.
struct Application {
  int instance = 0;
  std::vector<Bytecode> samples;     ///< of each output
  std::vector<TypeId> types;         ///< of each output
  std::vector<const Type*> of_type;  ///< the same
  bool commutes = false;             ///< the operands, of one type, may be swapped
  std::vector<Dims> operands;
  /// Of all elements of all outputs; recorded when first asked for.
  const Bytecode& bytecode(const OperatorSet& set) const;

 private:
  mutable std::once_flag once_;
  mutable Bytecode bytecode_;
};

/// Any thread may ask.
class Applications {
 public:
  explicit Applications(const OperatorSet& set);

  const OperatorSet& set() const { return set_; }
  TypeId type_of(const Dims& dims);
  const Type& type(TypeId id) const;
  /// All that fit, in the order of the instances; `second` is kNoType for one operand, both are for none. What
  /// instances accept beside types is not looked at.
  const std::vector<std::unique_ptr<Application>>& of(TypeId first, TypeId second);

 private:
  std::vector<std::unique_ptr<Application>> record(TypeId first, TypeId second);
  bool commutes(const Application& application, TypeId type) const;

  const OperatorSet& set_;
  mutable std::shared_mutex mutex_;
  std::deque<Type> types_;
  std::map<Dims, TypeId> type_ids_;
  std::unordered_map<uint32_t, std::vector<std::unique_ptr<Application>>> known_;
};

}  // namespace isomer::substitutions
