#include "substitutions/discover/root_rewrites.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace isomer::substitutions {
namespace {

uint32_t head_of(int instance, int output) {
  return static_cast<uint32_t>(instance) * 16 + static_cast<uint32_t>(output) + 1;
}
uint64_t key_of(uint32_t root, uint32_t first, uint32_t second) {
  return uint64_t{root} << 40 | uint64_t{first} << 20 | second;
}

}  // namespace

bool RootRewrites::Canonical::precedes(const Canonical& other) const {
  const auto order = [](const Canonical& c) {
    return std::tuple(c.item.driver, c.item.partner, c.item.application->instance, c.item.is_swapped, c.output);
  };
  return order(*this) < order(other);
}
bool RootRewrites::Canonical::is_same_item(const Canonical& other) const {
  return !precedes(other) && !other.precedes(*this);
}

Renaming RootRewrites::naming(const Reference& reference) const {
  return classes_.names().renaming(classes_.skeletons()[reference.skeleton].leaves, reference.leaves);
}

bool RootRewrites::is_same(const Reference& a, const Reference& b) const {
  if (a.skeleton != b.skeleton) return false;
  if (a.leaves == b.leaves) return true;
  const Leaves& leaves = classes_.skeletons()[a.skeleton].leaves;
  const auto& symmetries = classes_.symmetries(a.skeleton);
  const Renaming names = naming(a);
  return std::any_of(symmetries.begin(), symmetries.end(), [&](const Renaming& symmetry) {
    return classes_.names().renamed(leaves, composed(symmetry, names)) == b.leaves;
  });
}

const Application* RootRewrites::application(int instance, const std::array<Reference, 2>& operands, int count) const {
  const auto type = [&](int k) {
    return k < count ? classes_.skeletons()[operands[static_cast<size_t>(k)].skeleton].type : kNoType;
  };
  for (const auto& application : classes_.applications().of(type(0), type(1)))
    if (application->instance == instance) return application.get();
  return nullptr;
}

uint32_t RootRewrites::head(const Reference& reference) const {
  const Skeleton& skeleton = classes_.skeletons()[reference.skeleton];
  return skeleton.instance < 0 ? 0 : head_of(skeleton.instance, skeleton.output);
}

RootRewrites::Form RootRewrites::form(const Reference& at) const {
  const Skeleton& skeleton = classes_.skeletons()[at.skeleton];
  Form result{skeleton.instance, skeleton.output, 0, {}, false};
  if (skeleton.instance < 0) return result;
  const Renaming names = naming(at);
  for (const Member operand : skeleton.operands)
    if (operand != kNone) result.operands[static_cast<size_t>(result.count++)] = renamed(reference(operand), names);
  result.commutes = application(result.instance, result.operands, result.count)->commutes;
  return result;
}

RootRewrites::Form RootRewrites::form(const Side& side) const {
  const Item& item = side.item;
  if (!item.application)
    return form(renamed(Reference{item.driver, classes_.skeletons()[item.driver].leaves}, side.renaming));
  Form result{item.application->instance, side.output, 0, {}, item.application->commutes};
  const auto add = [&](uint32_t skeleton, const Leaves& leaves) {
    result.operands[static_cast<size_t>(result.count++)] = renamed(Reference{skeleton, leaves}, side.renaming);
  };
  if (item.driver != kNone) add(item.driver, classes_.skeletons()[item.driver].leaves);
  if (item.partner != kNone && item.partner & kSibling)
    add(item.partner & ~kSibling, classes_.skeletons()[item.driver].leaves);
  if (item.partner != kNone && !(item.partner & kSibling))
    add(classes_.skeleton_index(item.partner), classes_.leaves_of(item.partner));
  if (item.is_swapped) std::swap(result.operands[0], result.operands[1]);
  return result;
}

std::optional<RootRewrites::Canonical> RootRewrites::with_driver(const Form& form, const Application& application,
                                                                 size_t driver) const {
  const Reference& at = form.operands[driver];
  const Names& names = classes_.names();
  const Skeleton& skeleton = classes_.skeletons()[at.skeleton];
  Canonical result{
      {&application, at.skeleton, kNone, driver == 1}, form.output, names.renaming(at.leaves, skeleton.leaves)};
  if (form.count == 1) return result;
  const Reference& partner = form.operands[1 - driver];
  // The variables that the driver lacks get the next names.
  const Leaves all = names.joined(at.leaves, partner.leaves);
  result.names = names.renaming(all, names.canonical(all));
  const Skeleton& other = classes_.skeletons()[partner.skeleton];
  const Leaves leaves = names.renamed(partner.leaves, result.names);
  if (other.members == kNone) {
    if (other.first_output != skeleton.first_output || !(leaves == skeleton.leaves)) return std::nullopt;
    result.item.partner = partner.skeleton | kSibling;
    return result;
  }
  const Member member = classes_.member(other, leaves);
  result.item.partner = member;
  Renaming best = names.identity();
  for (const Renaming& symmetry : classes_.symmetries(at.skeleton))
    if (const Member by = classes_.renamed(member, symmetry); by < result.item.partner) {
      result.item.partner = by;
      best = symmetry;
    }
  result.names = composed(result.names, best);
  return result;
}

std::optional<RootRewrites::Canonical> RootRewrites::canonical(const Form& form) const {
  const Application* made = application(form.instance, form.operands, form.count);
  if (!made) return std::nullopt;
  if (form.count == 0) return Canonical{{made, kNone, kNone, false}, form.output, classes_.names().identity()};
  if (form.count == 1) return with_driver(form, *made, 0);
  const auto size = [&](size_t k) { return classes_.skeletons()[form.operands[k].skeleton].size; };
  if (!made->commutes) return with_driver(form, *made, size(1) > size(0) ? 1 : 0);
  // Of a commutative operator the driver is the first operand; of equally large ones, the later skeleton.
  std::optional<Canonical> best;
  for (const size_t driver : {size_t{0}, size_t{1}}) {
    const Reference &a = form.operands[driver], &b = form.operands[1 - driver];
    if (std::pair(size(driver), a.skeleton) < std::pair(size(1 - driver), b.skeleton)) continue;
    auto each = with_driver(form, *made, driver);
    if (!each) return std::nullopt;
    each->item.is_swapped = false;
    if (!best || each->precedes(*best)) best = each;
  }
  return best;
}

std::optional<RootRewrites::Reference> RootRewrites::known(const Form& form) const {
  const auto item = canonical(form);
  if (!item) return std::nullopt;
  const auto found = classes_.find(item->item, item->output);
  if (!found) return std::nullopt;
  return renamed(Reference{found->first, found->second}, inverse(item->names));
}

bool RootRewrites::is_of_size(const Canonical& canonical) const { return classes_.is_item(canonical.item, size_); }

// Matching

template <class Visit>
bool RootRewrites::match(const Form& pattern, const Form& target, const Bindings& bindings, Pairs rest,
                         const Visit& visit) const {
  if (pattern.instance != target.instance || pattern.output != target.output) return false;
  const size_t before = rest.size();
  for (int k = 0; k < pattern.count; ++k)
    rest.emplace_back(pattern.operands[static_cast<size_t>(k)], target.operands[static_cast<size_t>(k)]);
  if (match(bindings, rest, visit)) return true;
  if (!pattern.commutes || !target.commutes) return false;
  std::swap(rest[before].second, rest[before + 1].second);
  return match(bindings, std::move(rest), visit);
}

template <class Visit>
bool RootRewrites::match(Bindings bindings, Pairs rest, const Visit& visit) const {
  while (!rest.empty()) {
    const auto [pattern, target] = rest.back();
    rest.pop_back();
    if (classes_.skeletons()[pattern.skeleton].instance >= 0)
      return match(form(pattern), form(target), bindings, std::move(rest), visit);
    const Variable v = pattern.leaves.variable[0];
    if (bindings.bound >> v & 1) {
      if (!is_same(bindings.values[v], target)) return false;
      continue;
    }
    bindings.bound |= uint64_t{1} << v;
    bindings.values[v] = target;
  }
  return visit(bindings);
}

std::optional<RootRewrites::Form> RootRewrites::instantiate(const Form& form, const Bindings& bindings) const {
  Form result = form;
  for (int k = 0; k < form.count; ++k) {
    const auto operand = build(form.operands[static_cast<size_t>(k)], bindings);
    if (!operand) return std::nullopt;
    result.operands[static_cast<size_t>(k)] = *operand;
  }
  return result;
}

std::optional<RootRewrites::Reference> RootRewrites::build(const Reference& pattern, const Bindings& bindings) const {
  if (classes_.skeletons()[pattern.skeleton].instance < 0) {
    const Variable v = pattern.leaves.variable[0];
    return bindings.bound >> v & 1 ? std::optional(bindings.values[v]) : std::nullopt;
  }
  const auto made = instantiate(form(pattern), bindings);
  return made ? known(*made) : std::nullopt;
}

// Equations

void RootRewrites::add(const ClassEquation& equation) {
  const auto add_rule = [&](const Side& from, const Side& to) {
    Rule rule{form(from), form(to), {}};
    if (rule.from.instance < 0) return;
    if (rule.to.instance < 0)
      rule.variable = renamed(Reference{to.item.driver, classes_.skeletons()[to.item.driver].leaves}, to.renaming);
    rules_[key_of(head_of(rule.from.instance, rule.from.output), head(rule.from, 0), head(rule.from, 1))].push_back(
        rule);
  };
  add_rule(equation.left, equation.right);
  add_rule(equation.right, equation.left);
}

bool RootRewrites::follows(const ClassEquation& equation, Scratch& left, Scratch& right) const {
  const Form own_form = form(equation.right);
  const auto own = canonical(own_form);
  CHECK(own && is_of_size(*own)) << "an item is one of those that are enumerated";
  const auto is_equal = [&](const Side& side) { return classes_.are_equal({side, equation.right}, left, right); };
  const auto is_replaced = [&](const Rule& rule) {
    return match(rule.from, own_form, Bindings(), {},
                 [&](const Bindings& bindings) { return joins(rule, bindings, equation, own_form, *own, is_equal); });
  };
  // A variable of a rule stands for anything.
  const uint32_t root = head_of(own_form.instance, own_form.output), first = head(own_form, 0),
                 second = head(own_form, 1);
  std::set<uint64_t> keys = {key_of(root, first, second), key_of(root, first, 0), key_of(root, 0, second),
                             key_of(root, 0, 0)};
  if (own_form.commutes) keys.insert({key_of(root, second, first), key_of(root, second, 0), key_of(root, 0, first)});
  return std::any_of(keys.begin(), keys.end(), [&](uint64_t key) {
    const auto rules = rules_.find(key);
    return rules != rules_.end() && std::any_of(rules->second.begin(), rules->second.end(), is_replaced);
  });
}

template <class Equal>
bool RootRewrites::joins(const Rule& rule, const Bindings& bindings, const ClassEquation& equation,
                         const Form& own_form, const Canonical& own, const Equal& is_equal) const {
  const auto is_equal_to = [&](const Reference& reference) {
    return is_equal(Side{{nullptr, reference.skeleton, kNone, false}, 0, naming(reference)});
  };
  if (rule.to.instance < 0) {
    const auto value = build(rule.variable, bindings);
    return value && is_equal_to(*value);
  }
  const auto made = instantiate(rule.to, bindings);
  const auto item = made ? canonical(*made) : std::nullopt;
  if (!item) return false;
  if (!is_of_size(*item)) {
    const auto smaller = known(*made);
    return smaller && is_equal_to(*smaller);
  }
  if (item->precedes(own)) return is_equal(Side{item->item, item->output, inverse(item->names)});
  if (!item->is_same_item(own)) return false;
  // The same item in another naming: the symmetry that is claimed?
  const Form left = form(equation.left);
  const auto same = [&](size_t a, size_t b) {
    return is_same(left.operands[0], made->operands[a]) &&
           (made->count < 2 || is_same(left.operands[1], made->operands[b]));
  };
  return left.instance == own_form.instance && left.output == own_form.output && left.count == made->count &&
         (same(0, 1) || (made->commutes && same(1, 0)));
}

}  // namespace isomer::substitutions
