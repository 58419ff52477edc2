// The buffers of a kernel as code sees them: arguments through the frame, caches in the thread's scratch memory,
// registers as local variables that optimization makes values of.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "kernel/codegen_llvm/site.h"

namespace isomer::kernel::codegen {

/// Elements of a buffer, one for each lane, by their row-major numbers.
struct Position {
  llvm::Value* base;                ///< int64, a scalar: of lane 0
  int64_t stride = 0;               ///< from one lane to the next
  llvm::Value* numbers = nullptr;   ///< where there is no such stride: of all lanes, instead of `base`
  int64_t multiple = 0;             ///< the base is a multiple of this; 0: the base is 0
  std::vector<int64_t> steps = {};  ///< of each lane from the base, where they are known but no multiples of a stride
  bool is_regular() const { return !numbers && steps.empty(); }
  bool is_uniform() const { return is_regular() && stride == 0; }
};

/// How far a lane's element lies from the base's; not where a position has `numbers`.
int64_t step_of(const Position& position, int k);
/// The element numbers of all lanes; of one of them.
llvm::Value* numbers_of(Builder& build, const Position& position, int lanes);
llvm::Value* number_of(Builder& build, const Position& position, int k);

class Memory {
 public:
  /// `entry` runs before all else in the part's function.
  Memory(const Site& site, const Kernel& kernel, llvm::BasicBlock* entry);

  /// One lane where the position is uniform. Lanes that the mask leaves out are not touched, and 0; nullptr: no mask.
  llvm::Value* load(int buffer, const Position& position, int lanes, llvm::Value* mask);
  /// Of words of 32 bits that begin at these elements: one where the position is uniform, else `lanes` of them, one
  /// behind the other.
  llvm::Value* load_words(int buffer, const Position& position, int lanes);
  /// The value has `lanes` lanes; of lanes with one position the last stays. `streams`: past the caches, where vectors
  /// are whole and aligned.
  void store(int buffer, const Position& position, llvm::Value* value, llvm::Value* mask, bool streams);
  /// Whether halves of the thread's own are the floats that they were computed as.
  bool is_kept_wide(int buffer) const { return stored_type(buffer) != kernel_.buffers[buffer].dtype; }
  /// Where the element of lane 0 lies.
  llvm::Value* pointer(int buffer, const Position& position) { return address(buffer, position.base); }
  /// Before a part ends: what it stored past the caches is there for whoever comes next.
  void finish();
  /// Asks for the cache line of an argument's element; nothing for buffers of the thread's own. `near`: into the first
  /// cache, else into the second.
  void prefetch(int buffer, llvm::Value* number, bool near);
  /// The turn of a part that takes turns.
  llvm::Value* turn();
  int rank(int buffer) const { return static_cast<int>(kernel_.buffers[buffer].shape.size()); }
  llvm::Value* extent(int buffer, int axis);
  /// As the caller gave it, or a resize.
  llvm::Value* given_extent(int buffer, int axis);
  /// Sets the extents and asks for memory; a condition: there was enough.
  llvm::Value* resize(int buffer, const std::vector<llvm::Value*>& extents);

  int64_t scratch_bytes() const { return scratch_bytes_; }
  /// Buffers of the thread's own.
  const std::set<int>& private_buffers() const { return private_; }

 private:
  llvm::Value* start(int buffer);
  /// What a buffer's elements are kept as: what is computed in registers and narrower than a float is one there, as all
  /// values are.
  DataType stored_type(int buffer) const;
  llvm::Value* address(int buffer, llvm::Value* number);
  llvm::Align alignment(int buffer, int64_t multiple) const;
  llvm::Value* load_field(llvm::Value* pointer, llvm::Type* type, int64_t offset);
  llvm::Value* load_private(int buffer, int64_t bytes);
  llvm::Value* extents_of(int buffer);
  llvm::MDNode* tag(const std::string& name);
  /// The scope of all elements of buffers.
  llvm::MDNode* elements();
  template <class T>
  T* tagged(int buffer, T* instruction);
  /// Lanes of a few vectors in an order that is known; nullptr: they are no such lanes.
  llvm::Value* load_shuffled(int buffer, const Position& position, int lanes, llvm::Value* mask);
  /// A vector of these elements, counted from the position's base.
  llvm::Value* load_windows(int buffer, const Position& position, const std::vector<int64_t>& elements);
  /// Elements side by side, zeros where the mask leaves them out.
  llvm::Value* load_masked(int buffer, const Position& position, int lanes, llvm::Value* mask);
  bool can_gather(int buffer, const Position& position, int lanes) const;
  llvm::Value* gathered(int buffer, llvm::Value* numbers, llvm::Type* type);
  bool is_inside_registers(int buffer, const Position& position, int lanes) const;

  const Site& site_;
  Builder& build_;
  const Kernel& kernel_;
  llvm::BasicBlock* entry_;
  std::map<int, llvm::Value*> starts_;
  std::map<std::string, llvm::MDNode*> tags_;
  llvm::MDNode* elements_ = nullptr;
  std::set<int> private_;
  std::set<int> computed_;  ///< that not only take elements of others
  int64_t scratch_bytes_ = 0;
  bool streamed_ = false;
};

}  // namespace isomer::kernel::codegen
