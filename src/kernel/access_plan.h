// Where in memory an element lies, worked out before code is written: an access is planned once, however often loops
// that are written out repeat it.
#pragma once

#include <unordered_map>

#include "graph/te/polynomial.h"
#include "kernel/loop_nest.h"
#include "kernel/open_sizes.h"

namespace isomer::kernel {

/// The element of a buffer at an index, as a sum: `offset` plus, for each of `axes`, index times the axis's pitch.
struct AccessPlan {
  struct Axis {
    int axis;
    te::Polynomial index;
    bool is_checked;  ///< it may be out of range
  };
  int buffer = -1;
  te::Polynomial offset;
  std::vector<Axis> axes;
  /// In range wherever the loop variables are in theirs; else it may be so only where a condition around it holds.
  bool is_proved = true;
};

bool has_static_shape(const Buffer& buffer);
/// Kinds of integer division, which need a divisor other than 0.
bool divides(te::BinaryOp op);

/// The polynomials and accesses of a kernel's expressions. An expression over loop variables is asked for when they
/// have been entered in `ranges`, which outlives this.
class AccessPlans {
 public:
  AccessPlans(const Kernel& kernel, const LoopRanges& ranges)
      : kernel_(kernel), sizes_(kernel), loops_(ranges), ranges_(with_bytes(ranges.ranges())) {}

  AccessPlan plan(int buffer, const std::vector<Expr>& index) const;
  /// The plan of a load, kept.
  const AccessPlan& of_load(const Expr& load);
  /// right - left, kept.
  const te::Polynomial& difference(const Expr& comparison);
  /// Whether evaluating it where nobody asked for it could fault: it holds a load that is not proved, or a division.
  bool may_fault(const Expr& expr);
  const OpenSizes& sizes() const { return sizes_; }
  /// Indices and conditions in normal form.
  Expr simplified(const Expr& expr) const;

 private:
  bool is_decided_by_data(const Expr& expr) const;
  /// And that a byte is one.
  static te::Ranges with_bytes(te::Ranges ranges);

  const Kernel& kernel_;
  const OpenSizes sizes_;
  const LoopRanges& loops_;
  const te::Ranges ranges_;
  // By node; the expressions are kept alive with what is known of them.
  std::unordered_map<const te::ExprNode*, std::pair<Expr, AccessPlan>> loads_;
  std::unordered_map<const te::ExprNode*, std::pair<Expr, te::Polynomial>> differences_;
  std::unordered_map<const te::ExprNode*, std::pair<Expr, bool>> faults_;
};

}  // namespace isomer::kernel
