// Tensor expressions as C++ text. Values are of the type that `register_type` says; what is used more than once gets a
// name of its own in a line before.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "kernel/access_plan.h"

namespace isomer::kernel::cuda {

class Expressions {
 public:
  /// `name_of_buffer(b)`; lines are given to `write`.
  Expressions(const Kernel& kernel, const LoopRanges& ranges, AccessPlans& plans,
              std::function<std::string(int)> name_of_buffer, std::function<void(std::string)> write)
      : kernel_(kernel),
        ranges_(ranges),
        plans_(plans),
        name_of_buffer_(std::move(name_of_buffer)),
        write_(std::move(write)) {}

  /// Names that lines before have given are forgotten, those of expressions that will be asked for together may be
  /// made. Loads that are `inside` of their buffers need no condition around them.
  void begin(const std::vector<Expr>& together, const std::vector<Expr>& inside = {});
  std::string value(const Expr& expr);
  /// A number that the expression's type has, where that is computed with as a wider one (narrow_floats.h).
  std::string rounded_value(const Expr& expr);
  /// What is dear in the expressions and the same in all iterations of a loop gets a name here, for its body: what
  /// `is_same` says so of. Compilers do that too, but not where a function is written in PTX.
  void hoist(const std::vector<Expr>& bodies, const std::function<bool(const Expr&)>& is_same);
  void forget_hoisted() { hoisted_.clear(); }
  /// What a load has read before.
  struct Loaded {
    Expr load;
    std::string stored, value;  ///< as in memory, and of its register type
  };
  /// From now on loads that are equal to one of these are not from memory; none: all are.
  void use_loaded(std::vector<Loaded> loaded) { loaded_ = std::move(loaded); }
  /// An int64 expression without loads: in 32 bits where it and all parts of it fit into them.
  std::string index(const Expr& expr);
  /// Where a multiple of so many elements is added, they lie as far from each other in memory: 1, but where the buffer
  /// is swizzled.
  int64_t turn_of(int buffer) const;
  /// "buffer[place]".
  std::string element(const AccessPlan& access);
  /// What a load reads, as in memory.
  std::string stored(const Expr& load);
  /// The number of an element in its buffer.
  std::string position(const AccessPlan& access);
  /// The components of a monoid's operands, by name.
  void operands(std::vector<std::string> left, std::vector<std::string> right);
  /// A new name.
  std::string fresh(std::string_view hint) { return std::string(hint) + std::to_string(count_++); }

 private:
  static constexpr int64_t kBytesOfPiece = 16, kPiecesOfLine = 8;  ///< of swizzled buffers

  static int64_t elements_of_piece(const Buffer& buffer);
  std::string text(const Expr& expr);
  /// nullptr: it reads memory.
  const Loaded* loaded(const Expr& load) const;
  std::string binary(const te::Binary& e);
  std::string integer(const Expr& expr, bool is_wide);
  bool may_fault(const Expr& expr);
  void mark(const Expr& expr);
  /// A side of a select, which its condition alone decides about.
  std::string side_of_select(const Expr& expr);
  bool is_index(const Expr& expr) const;
  bool is_narrow(const Expr& expr) const;

  const Kernel& kernel_;
  const LoopRanges& ranges_;
  AccessPlans& plans_;
  std::vector<Loaded> loaded_;
  std::function<std::string(int)> name_of_buffer_;
  std::function<void(std::string)> write_;
  // By structure: what is bound and simplified shares no nodes.
  std::unordered_map<Hash128, int> uses_;
  std::unordered_set<Hash128> always_;  ///< evaluated whatever conditions give that are not around
  std::unordered_map<Hash128, bool> faults_;
  std::unordered_map<Hash128, std::string> known_, hoisted_;
  std::vector<std::string> left_, right_;
  int count_ = 0;
};

}  // namespace isomer::kernel::cuda
