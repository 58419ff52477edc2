// Items of Classes: which operands a term of some size may have, each in one naming and one order.
#include <algorithm>

#include "substitutions/discover/classes.h"

namespace isomer::substitutions {

bool Classes::accepts(const Operand& operand, const Skeleton& skeleton) const {
  const int family = skeleton.instance < 0 ? names_.family(skeleton.leaves.variable[0]) : -1;
  switch (operand.accepts) {
    case Accepts::kTensor:
    case Accepts::kNumber: return true;
    case Accepts::kData: return family < 0 || !set().families[static_cast<size_t>(family)].is_weight;
    case Accepts::kFamily: return family == operand.family;
  }
  return false;
}

bool Classes::is_allowed(const Item& item) const {
  const Instance& instance = set().instances[static_cast<size_t>(item.application->instance)];
  const Skeleton& driver = skeletons_[item.driver];
  const size_t driver_operand = item.is_swapped ? 1 : 0;
  if (!accepts(instance.operands[driver_operand], driver)) return false;
  if (item.partner == kNone) return true;
  const Skeleton& partner = partner_skeleton(item.partner);
  if (!accepts(instance.operands[1 - driver_operand], partner)) return false;
  if (!item.application->commutes) return true;
  if (item.is_swapped) return false;
  if (partner.size < driver.size) return true;
  if (item.partner & kSibling) return (item.partner & ~kSibling) <= item.driver;
  const uint32_t other = values_[item.partner].skeleton;
  return other < item.driver || (other == item.driver && !is_swap_first(driver, item.partner));
}

bool Classes::is_swap_first(const Skeleton& skeleton, Member partner) const {
  Renaming back = names_.identity();
  const Leaves& leaves = leaves_of(partner);
  for (int k = 0; k < leaves.count; ++k) back[leaves.variable[k]] = skeleton.leaves.variable[k];
  int family = -1;
  Variable next = 0;
  for (const Variable v : skeleton.leaves) {
    if (names_.family(v) != family) {
      family = names_.family(v);
      next = static_cast<Variable>(names_.first(family) + std::count_if(leaves.begin(), leaves.end(), [&](Variable u) {
                                     return names_.family(u) == family;
                                   }));
    }
    if (!leaves.contains(v)) back[v] = next++;
  }
  Member swapped = member(skeleton, names_.renamed(skeleton.leaves, back));
  const auto at = static_cast<uint32_t>(&skeleton - skeletons_.data());
  const Member found = swapped;
  for (const Renaming& symmetry : symmetries(at)) swapped = std::min(swapped, renamed(found, symmetry));
  return swapped < partner;
}

bool Classes::is_first_of_its_symmetries(uint32_t driver, Member partner) const {
  const auto& all = symmetries(driver);
  return std::none_of(all.begin(), all.end(),
                      [&](const Renaming& symmetry) { return renamed(partner, symmetry) < partner; });
}

/// Of a skeleton whose members are not kept without the last one.
Operators Classes::operators_of(const Skeleton& skeleton) const {
  if (skeleton.members != kNone) return values_[member(skeleton, skeleton.leaves)].operators;
  Operators result;
  for (const Member operand : skeleton.operands)
    if (operand != kNone) result = joined(result, values_[operand].operators);
  return result;
}

bool Classes::is_item(const Item& item, int size) const {
  if (item.driver == kNone) return size == 1;
  if (!is_allowed(item)) return false;
  const Skeleton& driver = skeletons_[item.driver];
  const int own = driver.members == kNone ? 1 : 0;
  if (item.partner == kNone || item.partner & kSibling) return driver.size + 1 == size;
  return joined(operators_of(driver), values_[item.partner].operators).count + own + 1 == size;
}

std::vector<uint32_t> Classes::partners(uint32_t driver, int size) const {
  const Skeleton& skeleton = skeletons_[driver];
  const int disjoint = size - 1 - skeleton.size;
  std::vector<uint32_t> result;
  const bool is_kept = skeleton.members != kNone;
  const Operators operators = operators_of(skeleton);
  const auto consider = [&](Member partner) {
    if (names_.continues(skeleton.leaves, leaves_of(partner)) && is_first_of_its_symmetries(driver, partner))
      result.push_back(partner);
  };
  if (disjoint == 0) {
    for (const uint32_t node : operators)
      for (const Member member : outputs_[node]) consider(member);
    for (uint32_t other = skeleton.first_output;
         !is_kept && other < skeletons_.size() && skeletons_[other].first_output == skeleton.first_output; ++other)
      result.push_back(other | kSibling);
  } else {
    for (const uint32_t node : operators)
      for (const Member member : containing_[node]) {
        const int other = skeleton_of(member).size;
        if (other > disjoint && other <= skeleton.size &&
            joined(operators, values_[member].operators).count == size - 1)
          consider(member);
      }
  }
  if (disjoint <= skeleton.size && disjoint < levels_)
    for (const Member member : of_size_[static_cast<size_t>(disjoint)])
      if (joined(operators, values_[member].operators).count == size - 1 - (is_kept ? 0 : 1)) consider(member);
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

Leaves Classes::leaves_of(const Item& item) const {
  if (item.driver == kNone) return {};
  const Leaves& leaves = skeletons_[item.driver].leaves;
  return item.partner == kNone || item.partner & kSibling ? leaves : names_.joined(leaves, leaves_of(item.partner));
}

}  // namespace isomer::substitutions
