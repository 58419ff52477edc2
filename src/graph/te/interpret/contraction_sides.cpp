#include "graph/te/interpret/contraction_sides.h"

#include <algorithm>

#include "graph/te/interpret/node_builder.h"

namespace isomer::te::interpreter {
namespace {

bool is_sum(const Monoid& monoid) {
  if (monoid.arity() != 1 || monoid.combine.size() != 1) return false;
  const Binary* sum = as<Binary>(monoid.combine[0]);
  if (!sum || sum->op != BinaryOp::kAdd) return false;
  const Var* left = as<Var>(sum->left);
  const Var* right = as<Var>(sum->right);
  return left && right && left->kind == VarKind::kLeft && right->kind == VarKind::kRight;
}

bool is_zero(const Node& node) {
  return (node.kind == Node::Kind::kReal && node.real == 0) || (node.kind == Node::Kind::kInteger && node.integer == 0);
}

class Divider {
 public:
  Divider(Lowered& lowered, const MapReduce& stage) : lowered_(lowered), builder_(lowered), stage_(stage) {}

  std::optional<Sides> divide() {
    if (!is_sum(stage_.combine)) return std::nullopt;
    int body = lowered_.bodies[0];
    for (; node(body).kind == Node::Kind::kSelect && is_zero(node(node(body).c)); body = node(body).b)
      add_conditions(node(body).a);
    collect(body);
    if (factors_.size() < 2) return std::nullopt;
    if (!choose_sides()) return std::nullopt;
    Sides sides;
    for (const bool right : {false, true}) {
      const std::optional<int> node = make_side(right);
      if (!node) return std::nullopt;
      (right ? sides.right : sides.left) = *node;
      (right ? sides.right_must_be_finite : sides.left_must_be_finite) = !has_all_conditions_[right];
    }
    divide_iterators(sides);
    if (is_float(stage_.bodies[0].dtype())) return sides;
    return fits_doubles(sides) ? std::optional(to_reals(sides)) : std::nullopt;
  }

 private:
  const Node& node(int id) const { return lowered_.nodes[id]; }

  /// The factors of a product.
  void collect(int id) {
    const Node& n = node(id);
    if (n.kind == Node::Kind::kBinary && n.binary == BinaryOp::kMul) {
      const int b = n.b;
      collect(n.a);
      collect(b);
    } else if (n.kind == Node::Kind::kRetype && !n.unwrapped) {
      collect(n.a);
    } else {
      factors_.push_back(id);
    }
  }
  /// The conjuncts of a condition outside of which the product is 0.
  void add_conditions(int id) {
    const Node& n = node(id);
    if (n.kind == Node::Kind::kBinary && n.binary == BinaryOp::kAnd) {
      const int b = n.b;
      add_conditions(n.a);
      add_conditions(b);
    } else {
      conditions_.push_back(id);
    }
  }

  uint64_t role_mask(Role role) const {
    uint64_t mask = 0;
    for (size_t k = 0; k < lowered_.iterators.size(); ++k)
      if (lowered_.iterators[k].role == role) mask |= uint64_t{1} << k;
    return mask;
  }
  double extent_of(uint64_t mask) const {
    double product = 1;
    for (size_t k = 0; k < lowered_.iterators.size(); ++k)
      if ((mask >> k) & 1) product *= static_cast<double>(lowered_.iterators[k].extent);
    return product;
  }
  uint64_t spatial(int factor) const { return node(factor).depends & role_mask(Role::kSpatial); }

  /// Starts from the two factors that share least and lets each of the others join the side that it enlarges least. So
  /// do conditions on what no side reads: one of the sides has to be 0 where they fail.
  bool choose_sides() {
    double most = 1;
    size_t first = 0, second = 0;
    for (size_t i = 0; i < factors_.size(); ++i)
      for (size_t j = i + 1; j < factors_.size(); ++j) {
        const uint64_t a = spatial(factors_[i]), b = spatial(factors_[j]);
        const double product = std::min(extent_of(a & ~b), extent_of(b & ~a));
        if (product <= most) continue;
        most = product;
        first = i;
        second = j;
      }
    if (first == second) return false;
    side_of_.assign(factors_.size(), false);
    uint64_t depends[2] = {node(factors_[first]).depends, node(factors_[second]).depends};
    side_of_[second] = true;
    for (size_t i = 0; i < factors_.size(); ++i) {
      if (i == first || i == second) continue;
      const uint64_t own = node(factors_[i]).depends;
      const auto growth = [&](int side) { return extent_of(depends[side] | own) / extent_of(depends[side]); };
      side_of_[i] = growth(1) < growth(0);
      depends[side_of_[i]] |= own;
    }
    for (const int condition : conditions_) {
      const uint64_t own = node(condition).depends & role_mask(Role::kSpatial);
      if (!(own & ~depends[0]) || !(own & ~depends[1])) continue;
      const auto growth = [&](int side) { return extent_of(depends[side] | own) / extent_of(depends[side]); };
      depends[growth(1) < growth(0)] |= own;
    }
    depends_[0] = depends[0];
    depends_[1] = depends[1];
    return true;
  }

  /// The product of a side's factors, 0 where one of the conditions that the side can decide fails.
  std::optional<int> make_side(bool right) {
    int product = -1;
    for (size_t i = 0; i < factors_.size(); ++i)
      if (side_of_[i] == right)
        product = product < 0 ? factors_[i] : builder_.binary(BinaryOp::kMul, product, factors_[i]);
    int condition = -1;
    has_all_conditions_[right] = true;
    for (const int one : conditions_) {
      if (node(one).depends & role_mask(Role::kSpatial) & ~depends_[right])
        has_all_conditions_[right] = false;
      else
        condition = condition < 0 ? one : builder_.binary(BinaryOp::kAnd, condition, one);
    }
    // Without all its conditions a side may be asked for where it must not fail.
    if (!has_all_conditions_[right] && may_fail(product)) return std::nullopt;
    if (condition < 0) return product;
    const DataType dtype = node(product).dtype;
    return builder_.select(condition, product, is_float(dtype) ? builder_.real(0, dtype) : builder_.integer(0, dtype));
  }
  bool may_fail(int root) const {
    const std::vector<bool> reached = reachable(lowered_, {root});
    for (size_t id = 0; id < reached.size(); ++id)
      if (reached[id] && (lowered_.nodes[id].checked || !lowered_.nodes[id].checks.empty())) return true;
    return false;
  }

  void divide_iterators(Sides& sides) const {
    for (const int k : iterators_of(lowered_, Role::kSpatial)) {
      const bool left = (depends_[0] >> k) & 1, right = (depends_[1] >> k) & 1;
      (right ? (left ? sides.batch : sides.columns) : sides.rows).push_back(k);
    }
    sides.depth = iterators_of(lowered_, Role::kReduce);
    // Tiles are stored along columns.
    const bool rows_are_contiguous =
        std::any_of(sides.rows.begin(), sides.rows.end(), [&](int k) { return lowered_.output.factor_of(k) == 1; });
    if (!rows_are_contiguous) return;
    std::swap(sides.left, sides.right);
    std::swap(sides.left_must_be_finite, sides.right_must_be_finite);
    std::swap(sides.rows, sides.columns);
  }

  bool fits_doubles(const Sides& sides) const {
    double largest = 1;
    for (const int k : sides.depth) largest *= static_cast<double>(lowered_.iterators[k].extent);
    for (const int side : {sides.left, sides.right}) {
      const Node& n = node(side);
      if (n.unwrapped || !n.range.is_bounded() || (n.dtype == DataType::kUInt64 && n.range.low < 0)) return false;
      largest *= static_cast<double>(node(side).range.magnitude());
    }
    return largest < 0x1p53;
  }
  Sides to_reals(Sides sides) {
    sides.left = builder_.cast(DataType::kFloat64, sides.left);
    sides.right = builder_.cast(DataType::kFloat64, sides.right);
    return sides;
  }

  Lowered& lowered_;
  NodeBuilder builder_;
  const MapReduce& stage_;
  std::vector<int> factors_, conditions_;
  std::vector<bool> side_of_;  ///< by factor: on the right
  uint64_t depends_[2] = {};
  bool has_all_conditions_[2] = {};
};

}  // namespace

std::optional<Sides> find_sides(Lowered& lowered, const MapReduce& stage) { return Divider(lowered, stage).divide(); }

}  // namespace isomer::te::interpreter
