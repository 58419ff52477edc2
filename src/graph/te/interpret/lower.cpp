#include "graph/te/interpret/lower.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "graph/te/interpret/node_builder.h"
#include "util/check.h"

namespace isomer::te::interpreter {
namespace {

/// For each axis the strides at which it is cut into iterators: ascending, each a divisor of the next and of the
/// extent.
struct Cuts {
  std::vector<std::vector<int64_t>> spatial, reduce;
};

class Lowerer {
 public:
  Lowerer(const Domain& domain, const Buffers& buffers, const Cuts& cuts) : buffers_(buffers), builder_(lowered_) {
    for (size_t k = 0; k < domain.axes.size(); ++k)
      spatial_.push_back(add_axis(Role::kSpatial, k, domain.axes[k], cuts.spatial[k]));
    for (size_t k = 0; k < domain.reduce.size(); ++k)
      reduce_.push_back(add_axis(Role::kReduce, k, domain.reduce[k], cuts.reduce[k]));
    time_ = Linear::of(static_cast<Atom>(lowered_.iterators.size()));
    lowered_.iterators.push_back({Role::kTime, 0, std::max<int64_t>(domain.trip, 1), 1});
    int64_t stride = 1;
    for (size_t k = domain.axes.size(); k-- > 0;) {
      lowered_.output = add_scaled(lowered_.output, spatial_[k], stride);
      stride *= domain.axes[k];
    }
  }

  void lower_stage(const std::vector<Expr>& bodies, const Monoid& combine, const std::vector<bool>& unwrapped) {
    unwrapped_ = unwrapped;
    for (const Expr& body : bodies) lowered_.bodies.push_back(lower(body));
    if (combine.combine.empty()) {
      for (const int body : lowered_.bodies) lowered_.results.push_back(builder_.wrapped(body));
      return;
    }
    for (const Expr& component : combine.combine) lowered_.results.push_back(lower(component));
  }

  const NodeBuilder& builder() const { return builder_; }
  const std::optional<Error>& error() const { return error_; }
  Lowered& lowered() { return lowered_; }

 private:
  Linear add_axis(Role role, size_t axis, int64_t extent, const std::vector<int64_t>& cuts) {
    Linear sum;
    for (size_t part = cuts.size(); part-- > 0;) {
      const int64_t length = (part + 1 < cuts.size() ? cuts[part + 1] : extent) / cuts[part];
      if (length <= 1) continue;
      sum.terms.push_back({static_cast<Atom>(lowered_.iterators.size()), cuts[part]});
      lowered_.iterators.push_back({role, static_cast<int>(axis), length, cuts[part]});
    }
    return sum;
  }

  int lower(const Expr& expr) {
    const auto known = memo_.find(expr);
    if (known != memo_.end()) return known->second;
    const int node = visit(
        expr, [&](const Literal& e) { return literal(e.value, expr.dtype()); },
        [&](const Var& e) { return variable(e, expr.dtype()); },
        [&](const Symbol& e) { return fail(unsupported("", "the dim {} has no value", e.name)); },
        [&](const Unary& e) { return builder_.unary(e.op, lower(e.operand)); },
        [&](const Binary& e) {
          const int left = lower(e.left);
          return builder_.binary(e.op, left, lower(e.right));
        },
        [&](const Select& e) { return select(e); },
        [&](const Cast& e) { return builder_.cast(expr.dtype(), lower(e.operand)); },
        [&](const Load& e) { return load(e, expr.dtype()); });
    memo_.emplace(expr, node);
    // What relies on the conditions around it means something else elsewhere.
    if (lowered_.nodes[node].conditional) scoped_.push_back(expr);
    return node;
  }

  int literal(const Number& value, DataType dtype) {
    return is_float(dtype) ? builder_.real(value.to_double(), dtype)
                           : builder_.integer(wrap(value.to_int64(), IntegerType(dtype)), dtype);
  }

  int variable(const Var& var, DataType dtype) {
    switch (var.kind) {
      case VarKind::kSpatial: return axis(spatial_, var.index);
      case VarKind::kReduce: return axis(reduce_, var.index);
      case VarKind::kTime: return builder_.linear(time_);
      case VarKind::kLeft: return builder_.accumulator(var.index, dtype, unwrapped_.at(var.index % unwrapped_.size()));
      case VarKind::kRight: return lowered_.bodies.at(var.index);
      case VarKind::kLoop: break;
    }
    CHECK(false) << "a loop variable outside of a procedure";
    return 0;
  }

  int axis(const std::vector<Linear>& axes, int index) {
    CHECK(index < static_cast<int>(axes.size()));
    return builder_.linear(axes[index]);
  }

  int select(const Select& e) {
    const int condition = lower(e.condition);
    if (const auto value = builder_.constant(condition)) return lower(*value ? e.then : e.otherwise);
    const int then = lower_under(condition, true, e.then);
    const int otherwise = lower_under(condition, false, e.otherwise);
    return builder_.select(condition, then, otherwise);
  }

  int lower_under(int condition, bool truth, const Expr& expr) {
    const size_t facts = facts_.size(), scoped = scoped_.size();
    assume(condition, truth);
    const int node = lower(expr);
    for (size_t i = scoped; i < scoped_.size(); ++i) memo_.erase(scoped_[i]);
    scoped_.resize(scoped);
    facts_.resize(facts);
    return node;
  }

  /// Adds the sums that a condition shows to be negative.
  void assume(int condition, bool truth) {
    const Node& node = lowered_.nodes[condition];
    if (node.kind == Node::Kind::kPredicate) {
      const Linear not_positive = shifted(scaled(node.linear, -1), -1);  // form >= 0, as -form - 1 < 0
      if (!node.equality) {
        facts_.push_back(truth ? node.linear : not_positive);
      } else if (truth) {
        facts_.push_back(not_positive);
        facts_.push_back(shifted(node.linear, -1));
      }
    } else if (node.kind == Node::Kind::kUnary && node.unary == UnaryOp::kNot) {
      assume(node.a, !truth);
    } else if (node.kind == Node::Kind::kBinary && node.binary == (truth ? BinaryOp::kAnd : BinaryOp::kOr)) {
      assume(node.a, truth);
      assume(lowered_.nodes[condition].b, truth);
    }
  }

  bool is_known_negative(const Linear& form) const {
    return std::any_of(facts_.begin(), facts_.end(),
                       [&](const Linear& fact) { return fact.terms == form.terms && form.constant <= fact.constant; });
  }

  int load(const Load& e, DataType dtype) {
    const Array& array = buffers_(e.buffer);
    const Dims& dims = array.dims();
    CHECK(dims.size() == e.index.size()) << "a load with " << e.index.size() << " indices from rank " << dims.size();
    CHECK(array.dtype() == dtype) << "a load of " << name(dtype) << " from " << name(array.dtype());
    Linear offset;
    std::vector<Check> checks;
    bool conditional = false;
    int64_t stride = 1;
    for (size_t k = dims.size(); k-- > 0;) {
      const int index = lower(e.index[k]);
      const Linear linear = builder_.as_linear(index);
      const Range range = intersection(lowered_.nodes[index].range, builder_.range_of(linear));
      const bool bounded = range.is_bounded();
      const bool above = range.low >= 0, below = range.high < dims[k];
      if (!above || !below) {
        const bool proven = bounded && (above || is_known_negative(shifted(scaled(linear, -1), -1))) &&
                            (below || is_known_negative(shifted(linear, -dims[k])));
        if (!proven) checks.push_back({linear, dims[k], static_cast<int>(k), bounded});
        conditional = true;
      }
      offset = add_scaled(offset, linear, stride);
      stride *= dims[k];
    }
    return builder_.load(buffer(e.buffer), dtype, std::move(offset), std::move(checks), conditional);
  }

  int buffer(const BufferRef& ref) {
    const auto [numbered, is_new] =
        numbers_.emplace(std::tuple(ref.kind, ref.index, ref.component), static_cast<int>(lowered_.buffers.size()));
    if (is_new) lowered_.buffers.push_back(ref);
    return numbered->second;
  }

  int fail(Error error) {
    if (!error_) error_ = std::move(error);
    return builder_.integer(0, DataType::kInt64);
  }

  const Buffers& buffers_;
  std::map<std::tuple<BufferRef::Kind, int, int>, int> numbers_;  ///< where a buffer stands in lowered_.buffers
  Lowered lowered_;
  NodeBuilder builder_;
  std::vector<Linear> spatial_, reduce_;
  Linear time_;
  std::vector<bool> unwrapped_;  ///< by component of the monoid: accumulators hold unwrapped integers
  std::unordered_map<Expr, int> memo_;
  std::vector<Expr> scoped_;   ///< keys of memo_ that hold only under the facts around them
  std::vector<Linear> facts_;  ///< sums known to be negative here
  std::optional<Error> error_;
};

/// Cuts each axis where the first request for one of its iterators wants it; false if there is none.
bool apply_requests(const Lowered& lowered, const std::vector<std::pair<int, int64_t>>& requests, Cuts& cuts) {
  uint64_t done = 0;
  for (const auto& [id, part] : requests) {
    if ((done >> id) & 1) continue;
    done |= uint64_t{1} << id;
    const Iterator& iterator = lowered.iterators[id];
    auto& axis = (iterator.role == Role::kSpatial ? cuts.spatial : cuts.reduce)[iterator.axis];
    axis.push_back(iterator.stride * part);
    std::sort(axis.begin(), axis.end());
  }
  return done != 0;
}

}  // namespace

Result<Lowered> lower(const std::vector<Expr>& bodies, const Monoid& combine, const Domain& domain,
                      const Buffers& buffers) {
  constexpr size_t kMaxAxes = 30;  // leaves room for splits
  if (domain.axes.size() + domain.reduce.size() > kMaxAxes)
    return unsupported("", "a value of {} axes has more than {}", domain.axes.size() + domain.reduce.size(), kMaxAxes);
  Cuts cuts{std::vector<std::vector<int64_t>>(domain.axes.size(), {1}),
            std::vector<std::vector<int64_t>>(domain.reduce.size(), {1})};
  std::vector<bool> unwrapped(combine.combine.size(), false);
  constexpr int kMaxRounds = 8;
  for (int round = 0;; ++round) {
    Lowerer lowerer(domain, buffers, cuts);
    lowerer.lower_stage(bodies, combine, unwrapped);
    if (lowerer.error()) return *lowerer.error();
    Lowered& lowered = lowerer.lowered();
    bool again = false;
    for (size_t k = 0; k < combine.combine.size(); ++k) {
      if (!lowered.nodes[lowered.results[k]].unwrapped || unwrapped[k]) continue;
      unwrapped[k] = true;
      again = true;
    }
    if (round < kMaxRounds && lowered.iterators.size() + 4 < kMaxIterators)
      again |= apply_requests(lowered, lowerer.builder().split_requests(), cuts);
    if (!again) return std::move(lowered);
  }
}

}  // namespace isomer::te::interpreter
