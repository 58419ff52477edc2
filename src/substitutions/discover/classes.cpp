#include "substitutions/discover/classes.h"

#include <algorithm>

#include "verify/proof/substitute.h"

namespace isomer::substitutions {
namespace {

constexpr uint64_t kSecondUniverse = 0x9d2c5680;

}  // namespace

uint32_t* Scratch::room(int slot, uint32_t count, bool wide) {
  Elements& elements = slot == 0 ? registers : slot == 3 ? result : operands[slot - 1];
  if (count > capacity[slot]) {
    capacity[slot] = std::max(count, 2 * capacity[slot]);
    elements = Elements(capacity[slot], wide);
  }
  return elements.data();
}

size_t Classes::NodeHash::operator()(const Node& node) const {
  return mix64((uint64_t{node.operands[0]} << 32 | node.operands[1]) +
               static_cast<uint64_t>(node.instance) * 0x9e3779b97f4a7c15ULL);
}

size_t Classes::ItemHash::operator()(const ItemKey& key) const {
  return mix64((uint64_t{key.driver} << 32 | key.partner) + key.application * 0x9e3779b97f4a7c15ULL);
}

Classes::ItemKey Classes::key_of(const Item& item, int output) {
  return {item.driver, item.partner,
          static_cast<uint32_t>(item.application->instance) << 16 | static_cast<uint32_t>(output) << 1 |
              (item.is_swapped ? 1 : 0)};
}

std::optional<std::pair<uint32_t, Leaves>> Classes::find(const Item& item, int output) const {
  const auto found = items_.find(key_of(item, output));
  if (found == items_.end()) return std::nullopt;
  const auto skeleton = static_cast<uint32_t>(found->second >> 32);
  const Leaves& leaves = skeletons_[skeleton].leaves;
  return std::pair(skeleton, names_.renamed(leaves, names_.renaming(leaves, static_cast<uint32_t>(found->second))));
}

Classes::Classes(const OperatorSet& set, int levels, uint64_t seed)
    : levels_(levels),
      applications_(set),
      names_(set),
      universes_{Universe(seed, set.exponents), Universe(seed ^ kSecondUniverse, set.exponents)},
      of_size_(static_cast<size_t>(levels)) {
  CHECK(levels > 0 && levels <= Operators::kMax) << levels;
  add_variables();
}

// Members

Member Classes::renamed(Member member, const Renaming& renaming) const {
  const Value& value = values_[member];
  return this->member(skeletons_[value.skeleton], names_.renamed(value.leaves, renaming));
}

Member Classes::add_member(uint32_t skeleton, const Leaves& leaves, const Operators& operators,
                           std::array<Elements, 2> tensors) {
  const auto member = static_cast<Member>(values_.size());
  values_.push_back({skeleton, leaves, operators});
  for (size_t universe = 0; universe < 2; ++universe) tensors_[universe].push_back(std::move(tensors[universe]));
  of_size_[skeletons_[skeleton].size].push_back(member);
  for (const uint32_t node : operators) containing_[node].push_back(member);
  return member;
}

void Classes::add_variables() {
  for (size_t family = 0; family < set().families.size(); ++family) {
    const Family& f = set().families[family];
    const Variable first = names_.first(static_cast<int>(family));
    Skeleton skeleton;
    skeleton.type = applications_.type_of(f.dims);
    skeleton.leaves = {1, {first}};
    skeleton.members = static_cast<uint32_t>(members_.size());
    skeletons_.push_back(skeleton);
    const Type& type = applications_.type(skeleton.type);
    for (int k = 0; k < f.count; ++k) {
      const auto v = static_cast<Variable>(first + k);
      std::array<Elements, 2> tensors;
      for (size_t universe = 0; universe < 2; ++universe)
        tensors[universe] = universes_[universe].variable(names_.text(v), type.count);
      members_.push_back(add_member(static_cast<uint32_t>(skeletons_.size()) - 1, {1, {v}}, {}, std::move(tensors)));
      // A copy of the variable, as if an operator gave it.
      std::vector<Location> elements;
      for (const uint32_t position : type.sample.positions) elements.push_back(location(Space::kFirst, position));
      const Operands operands = {{nullptr, tensor(members_.back(), 0), nullptr, nullptr}};
      const uint64_t hash =
          element_loops(set().exponents)
              .hash(elements.data(), static_cast<uint32_t>(elements.size()), operands, type.sample.keys.data());
      index_.insert(hash ^ type.sample.salt, uint64_t{skeletons_.size() - 1} << 32 | static_cast<uint32_t>(k));
    }
  }
}

uint32_t Classes::node_of(int16_t instance, const std::array<Member, 2>& operands) {
  const auto [at, is_new] = nodes_.emplace(Node{instance, operands}, static_cast<uint32_t>(outputs_.size()));
  if (is_new) {
    outputs_.emplace_back();
    containing_.emplace_back();
  }
  return at->second;
}

Operators Classes::joined(const Operators& a, const Operators& b) const {
  Operators result;
  const uint32_t *x = a.begin(), *y = b.begin();
  while (x != a.end() || y != b.end()) {
    const uint32_t next = y == b.end() || (x != a.end() && *x <= *y) ? *x : *y;
    if (x != a.end() && *x == next) ++x;
    if (y != b.end() && *y == next) ++y;
    if (result.count == Operators::kMax) {
      result.count = Operators::kMax + 1;  // too many, whichever
      return result;
    }
    result.node[result.count++] = next;
  }
  return result;
}

const std::vector<Renaming>& Classes::symmetries(uint32_t skeleton) const {
  static const std::vector<Renaming> kNoSymmetries;
  const auto found = symmetries_.find(skeleton);
  return found == symmetries_.end() ? kNoSymmetries : found->second;
}

Side Classes::known(uint64_t word) const {
  const auto skeleton = static_cast<uint32_t>(word >> 32);
  return {
      {nullptr, skeleton, kNone, false}, 0, names_.renaming(skeletons_[skeleton].leaves, static_cast<uint32_t>(word))};
}

std::optional<Side> Classes::find(uint64_t hash, const Side& side, Scratch& left, Scratch& right, int64_t& false_hits) {
  for (;; hash = next_hash(hash), ++false_hits) {
    const auto word = index_.find(hash);
    if (!word) return std::nullopt;
    const Side other = known(*word);
    if (are_equal({other, side}, left, right)) return other;
  }
}

Elements Classes::copy(uint32_t skeleton, const Renaming& renaming, Scratch& scratch) {
  const auto count = static_cast<size_t>(applications_.type(skeletons_[skeleton].type).count);
  const uint32_t* from = evaluate(skeleton, renaming, 0, 3, scratch);
  Elements result(count, set().exponents);
  std::copy(from, from + count * static_cast<size_t>(element_words(set().exponents)), result.data());
  return result;
}

// Values

const uint32_t* Classes::evaluate(uint32_t at, const Renaming& renaming, int universe, int slot, Scratch& scratch) {
  const Skeleton& skeleton = skeletons_[at];
  if (skeleton.members != kNone) return tensor(member(skeleton, names_.renamed(skeleton.leaves, renaming)), universe);
  const Application& application = application_of(skeleton);
  const auto operand = [&](size_t k) {
    return skeleton.operands[k] == kNone ? nullptr : tensor(renamed(skeleton.operands[k], renaming), universe);
  };
  const bool wide = set().exponents;
  const Operands operands = application.bytecode(set()).run(
      operand(0), operand(1), scratch.room(0, application.bytecode(set()).registers(), wide),
      universes_[universe].arithmetic());
  uint32_t* result = scratch.room(slot, static_cast<uint32_t>(application.of_type[skeleton.output]->count), wide);
  application.bytecode(set()).copy_output(skeleton.output, operands, result);
  return result;
}

const uint32_t* Classes::evaluate(const Side& side, int universe, Scratch& scratch) {
  const Item& item = side.item;
  if (!item.application) return evaluate(item.driver, side.renaming, universe, 3, scratch);
  const uint32_t* driver = item.driver == kNone ? nullptr : evaluate(item.driver, side.renaming, universe, 1, scratch);
  const uint32_t* partner = nullptr;
  if (item.partner != kNone)
    partner = item.partner & kSibling ? evaluate(item.partner & ~kSibling, side.renaming, universe, 2, scratch)
                                      : tensor(renamed(item.partner, side.renaming), universe);
  if (item.is_swapped) std::swap(driver, partner);
  const Bytecode& bytecode = item.application->bytecode(set());
  const bool wide = set().exponents;
  const Operands operands =
      bytecode.run(driver, partner, scratch.room(0, bytecode.registers(), wide), universes_[universe].arithmetic());
  uint32_t* result = scratch.room(3, static_cast<uint32_t>(item.application->of_type[side.output]->count), wide);
  bytecode.copy_output(side.output, operands, result);
  return result;
}

const Application& Classes::application_of(const Skeleton& skeleton) {
  TypeId types[2] = {kNoType, kNoType};
  for (size_t k = 0; k < 2; ++k)
    if (skeleton.operands[k] != kNone) types[k] = skeleton_of(skeleton.operands[k]).type;
  for (const auto& application : applications_.of(types[0], types[1]))
    if (application->instance == skeleton.instance) return *application;
  CHECK(false) << "an application that was made before";
  return *applications_.of(types[0], types[1])[0];
}

uint64_t Classes::hash(const Application& application, int output, const uint32_t* first, const uint32_t* second,
                       Scratch& scratch) const {
  const Bytecode& bytecode = application.samples[static_cast<size_t>(output)];
  const Sample& sample = application.of_type[static_cast<size_t>(output)]->sample;
  const Operands operands =
      bytecode.run(first, second, scratch.room(0, bytecode.registers(), set().exponents), universes_[0].arithmetic());
  return bytecode.hash_output(operands, sample.keys.data()) ^ sample.salt;
}

bool Classes::are_equal(const ClassEquation& equation, Scratch& left, Scratch& right) {
  const auto type = [&](const Side& side) {
    return side.item.application ? side.item.application->types[static_cast<size_t>(side.output)]
                                 : skeletons_[side.item.driver].type;
  };
  if (type(equation.left) != type(equation.right)) return false;
  return same_elements(evaluate(equation.left, 1, left), evaluate(equation.right, 1, right),
                       applications_.type(type(equation.left)).count, set().exponents);
}

Hash128 Classes::fingerprint(const Side& side, Scratch& scratch) {
  const TypeId type = side.item.application ? side.item.application->types[static_cast<size_t>(side.output)]
                                            : skeletons_[side.item.driver].type;
  return substitutions::fingerprint(applications_.type(type).dims, evaluate(side, 1, scratch), set().exponents);
}

// Terms

verify::Term Classes::instantiate(int instance, int output, std::span<const verify::Term> operands) const {
  static constexpr const char* kNames[] = {"a", "b"};
  verify::Bindings bindings;
  for (size_t k = 0; k < operands.size(); ++k) bindings.tensors.emplace(kNames[k], operands[k]);
  return verify::substitute(set().instances[static_cast<size_t>(instance)].outputs[static_cast<size_t>(output)],
                            bindings);
}

verify::Term Classes::term(Member member, uint64_t used) const {
  const Value& value = values_[member];
  return term(value.skeleton, names_.renaming(skeletons_[value.skeleton].leaves, value.leaves), used);
}

verify::Term Classes::term(uint32_t at, Renaming renaming, uint64_t used) const {
  const Skeleton& skeleton = skeletons_[at];
  if (skeleton.instance < 0) return verify::Term::variable(names_.text(renaming[skeleton.leaves.variable[0]]));
  Leaves all;
  for (const Member operand : skeleton.operands)
    if (operand != kNone) all = names_.joined(all, values_[operand].leaves);
  for (const Variable v : all) {
    const Variable name = renaming[v];
    if (skeleton.leaves.contains(v) || !(used >> name & 1)) continue;
    for (Variable other = names_.first(names_.family(v));
         other < names_.variables() && names_.family(other) == names_.family(v); ++other) {
      if (used >> other & 1) continue;
      for (Variable& each : renaming) each = each == name ? other : each == other ? name : each;
      break;
    }
  }
  std::vector<verify::Term> operands;
  for (const Member operand : skeleton.operands)
    if (operand != kNone) operands.push_back(term(renamed(operand, renaming), used));
  return instantiate(skeleton.instance, skeleton.output, operands);
}

verify::Term Classes::term(const Side& side, uint64_t used) const {
  const Item& item = side.item;
  if (!item.application) return term(item.driver, side.renaming, used);
  std::vector<verify::Term> operands;
  if (item.driver != kNone) operands.push_back(term(item.driver, side.renaming, used));
  if (item.partner != kNone) {
    operands.push_back(item.partner & kSibling ? term(item.partner & ~kSibling, side.renaming, used)
                                               : term(renamed(item.partner, side.renaming), used));
    if (item.is_swapped) std::swap(operands[0], operands[1]);
  }
  return instantiate(item.application->instance, side.output, operands);
}

std::pair<verify::Term, verify::Term> Classes::terms(const ClassEquation& equation) const {
  uint64_t used = 0;
  for (const Side* side : {&equation.left, &equation.right}) {
    const Leaves leaves = side->item.application ? leaves_of(side->item) : skeletons_[side->item.driver].leaves;
    for (const Variable v : leaves) used |= uint64_t{1} << side->renaming[v];
  }
  return {term(equation.left, used), term(equation.right, used)};
}

}  // namespace isomer::substitutions
