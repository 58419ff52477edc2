// Where each value of a variant lies now, and the dims of those whose size data decide. Tests:
// tests/runtime/value_table_test.cpp, tests/runtime/session_test.cpp
#pragma once

#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/device.h"
#include "util/memory_limit.h"

namespace isomer::runtime {

class ValueTable {
 public:
  /// Takes memory for the arena. `weights` are those of the model by number, where the device has them. Variant and
  /// device outlive it.
  static Result<ValueTable> create(const Variant& variant, std::span<const std::byte* const> weights, Device& device,
                                   MemoryLimit limit = {});

  const Value& value(int32_t number) const { return variant_->values[number]; }
  std::byte* data(int32_t number) const { return data_[number]; }
  std::span<const int64_t> dims(int32_t number) const { return dims_[number]; }
  /// Of its memory, padding included.
  int64_t bytes(int32_t number) const;
  /// It or what it is a view of is Dynamic.
  bool is_open(int32_t number) const;
  /// Whether it points into the memory of an open value.
  bool holds(int32_t number, const void* data) const;
  /// For kernels: where they read and write the dims of an open value; null for others.
  int64_t* extents(int32_t number) { return is_open(number) ? dims_[number].data() : nullptr; }

  /// From now on `*slot` is data(number).
  void watch(int32_t number, void** slot);
  /// Of an input or output.
  void place(int32_t number, void* data);

  /// New memory for a Dynamic value of these dims, with any content. False, and `problem` says why: no memory, or a
  /// view that can't have the elements. It has none then.
  bool resize(int32_t number, std::span<const int64_t> dims);
  /// The same for a kernel that has set the extents: at least `bytes`, all zero. Threads may call it at the same time.
  bool resize_cleared(int32_t number, int64_t bytes);
  /// `resize` that leaves what was there in front: only the first dim has grown.
  bool grow(int32_t number, std::span<const int64_t> dims);
  const std::string& problem() const { return problem_; }
  /// Grows whenever a value is put elsewhere.
  int64_t moves() const { return moves_; }

  /// That the values hold, the model's weights aside.
  int64_t memory_bytes() const;

 private:
  struct Slot {
    void** where;
    int64_t offset;
  };
  ValueTable(const Variant& variant, std::span<const std::byte* const> weights, Device& device);
  bool fail(std::string problem);
  bool set_dims(int32_t number, std::span<const int64_t> dims);
  bool fit_views(int32_t base, int64_t bytes);
  void empty(int32_t number);
  enum class Content { kAny, kKept };
  bool resize(int32_t number, std::span<const int64_t> dims, int64_t least_bytes, Content content);
  bool take_memory(int32_t number, int64_t bytes, Content content);

  const Variant* variant_;
  Device* device_;
  int64_t moves_ = 0;
  DeviceMemory arena_;
  std::vector<std::byte*> data_;
  std::vector<std::vector<int64_t>> dims_;
  std::vector<DeviceMemory> dynamic_;        ///< of Dynamic values; kept for their next size
  std::vector<std::vector<Slot>> slots_;     ///< by number of the value that is no view
  std::vector<std::vector<int32_t>> views_;  ///< by number of their base
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  std::string problem_;
  MemoryLimit limit_;
};

}  // namespace isomer::runtime
