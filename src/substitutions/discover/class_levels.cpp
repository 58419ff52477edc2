// Levels of Classes: the terms of one size, made of smaller classes.
#include <algorithm>

#include "substitutions/discover/classes.h"
#include "util/stop.h"

namespace isomer::substitutions {

Result<LevelCounts> Classes::add_level(int size, const std::function<void(const ClassEquation&)>& report,
                                       const std::function<void(double, int64_t)>& progress) {
  LevelCounts counts;
  const auto drivers = static_cast<uint32_t>(skeletons_.size());
  if (size == 1)
    for (const auto& application : applications_.of(kNoType, kNoType))
      process({application.get(), kNone, kNone, false}, size, counts, report);
  for (uint32_t driver = 0; driver < drivers; ++driver) {
    for_each_item(driver, size, [&](const Item& item) { process(item, size, counts, report); });
    if (driver % 64 != 0) continue;
    TRY_VOID(check_stop());
    progress(static_cast<double>(driver) / drivers, counts.terms);
  }
  return counts;
}

void Classes::process(const Item& item, int size, LevelCounts& counts,
                      const std::function<void(const ClassEquation&)>& report) {
  for (int output = 0; output < static_cast<int>(item.application->types.size()); ++output) {
    ++counts.terms;
    enter(item, output, size, counts, report);
  }
}

void Classes::enter(const Item& item, int output, int size, LevelCounts& counts,
                    const std::function<void(const ClassEquation&)>& report) {
  CHECK(item.partner == kNone || !(item.partner & kSibling)) << "operands are kept";
  const Application& application = *item.application;
  const std::array<Member, 2> operands = operands_of(item);
  const Side side = {item, output, names_.identity()};
  const uint64_t own = hash(application, output, operands);
  if (const auto same = find(own, side, scratch_[0], scratch_[1], counts.false_hits)) {
    const Leaves& canonical = skeletons_[same->item.driver].leaves;
    items_.emplace(key_of(item, output),
                   uint64_t{same->item.driver} << 32 | names_.number(names_.renamed(canonical, same->renaming)));
    ++counts.equations;
    report({*same, side});
    return;
  }
  ++counts.classes;
  const auto is_same = [&](const Renaming& by) {
    return hash(application, output, renamed(operands, by)) == own &&
           are_equal({side, Side{item, output, by}}, scratch_[0], scratch_[1]);
  };
  const Leaves leaves = item.driver == kNone ? Leaves() : leaves_of(item);
  const Leaves live = names_.live(leaves, is_same), canonical = names_.canonical(live);
  const Renaming to_canonical = names_.renaming(live, canonical);
  items_.emplace(key_of(item, output), uint64_t{skeletons_.size()} << 32 | names_.number(live));
  add_skeleton(item, output, size, renamed(operands, to_canonical), canonical);
  std::vector<Renaming> symmetries = add_namings(item, output, operands, to_canonical);
  if (symmetries.empty()) return;
  symmetries_.emplace(static_cast<uint32_t>(skeletons_.size() - 1), symmetries);
  // Of the item in its own naming.
  for (Renaming& symmetry : symmetries) symmetry = composed(composed(to_canonical, symmetry), inverse(to_canonical));
  for (const ClassEquation& equation : generating_equations(item, output, symmetries)) {
    ++counts.equations;
    report(equation);
  }
}

std::array<Member, 2> Classes::operands_of(const Item& item) const {
  std::array<Member, 2> operands = {kNone, item.partner};
  if (item.driver != kNone) operands[0] = member(skeletons_[item.driver], skeletons_[item.driver].leaves);
  if (item.is_swapped) std::swap(operands[0], operands[1]);
  return operands;
}

std::array<Member, 2> Classes::renamed(std::array<Member, 2> operands, const Renaming& renaming) const {
  for (Member& operand : operands)
    if (operand != kNone) operand = renamed(operand, renaming);
  return operands;
}

void Classes::add_skeleton(const Item& item, int output, int size, const std::array<Member, 2>& operands,
                           const Leaves& leaves) {
  const Application& application = *item.application;
  const auto at = static_cast<uint32_t>(skeletons_.size());
  Skeleton skeleton{static_cast<int16_t>(application.instance),
                    static_cast<uint8_t>(output),
                    static_cast<uint8_t>(size),
                    application.types[static_cast<size_t>(output)],
                    operands,
                    leaves,
                    kNone,
                    at};
  if (skeletons_[at - 1].instance == skeleton.instance && skeletons_[at - 1].operands == skeleton.operands)
    skeleton.first_output = skeletons_[at - 1].first_output;
  if (keeps(size)) skeleton.members = static_cast<uint32_t>(members_.size());
  skeletons_.push_back(skeleton);
}

std::vector<Renaming> Classes::add_namings(const Item& item, int output, const std::array<Member, 2>& operands,
                                           const Renaming& to_canonical) {
  const Application& application = *item.application;
  const auto at = static_cast<uint32_t>(skeletons_.size() - 1);
  const Skeleton skeleton = skeletons_[at];
  const Leaves& canonical = skeleton.leaves;
  std::vector<Renaming> symmetries;
  const uint32_t namings = names_.count(canonical);
  for (uint32_t number = 0; number < namings; ++number) {
    const Renaming renaming = names_.renaming(canonical, number), whole = composed(to_canonical, renaming);
    const auto named = renamed(operands, whole);
    const auto twin = add_naming(hash(application, output, named), at, number, Side{item, output, whole});
    if (keeps(skeleton.size))
      members_.push_back(twin ? members_[skeleton.members + *twin]
                              : make_member(application, output, at, names_.renamed(canonical, renaming), named));
    const bool is_permutation =
        std::all_of(canonical.begin(), canonical.end(), [&](Variable v) { return canonical.contains(renaming[v]); });
    if (twin && *twin == 0 && is_permutation) symmetries.push_back(renaming);
  }
  return symmetries;
}

std::optional<uint32_t> Classes::add_naming(uint64_t hash, uint32_t skeleton, uint32_t number, const Side& side) {
  while (!index_.insert(hash, uint64_t{skeleton} << 32 | number)) {
    const uint64_t word = *index_.find(hash);
    if (word >> 32 == skeleton && are_equal({known(word), side}, scratch_[0], scratch_[1]))
      return static_cast<uint32_t>(word);
    hash = next_hash(hash);
  }
  return std::nullopt;
}

Member Classes::make_member(const Application& application, int output, uint32_t skeleton, const Leaves& leaves,
                            const std::array<Member, 2>& operands) {
  const auto count = static_cast<size_t>(application.of_type[static_cast<size_t>(output)]->count);
  const bool wide = set().exponents;
  std::array<Elements, 2> tensors;
  for (int universe = 0; universe < 2; ++universe) {
    Elements& elements = tensors[static_cast<size_t>(universe)] = Elements(count, wide);
    const Operands run =
        application.bytecode(set()).run(tensor_or_null(operands[0], universe), tensor_or_null(operands[1], universe),
                                        scratch_[0].room(0, application.bytecode(set()).registers(), wide),
                                        universes_[static_cast<size_t>(universe)].arithmetic());
    application.bytecode(set()).copy_output(output, run, elements.data());
  }
  const uint32_t node = node_of(static_cast<int16_t>(application.instance), operands);
  Operators operators;
  operators.node[operators.count++] = node;
  for (const Member operand : operands)
    if (operand != kNone) operators = joined(operators, values_[operand].operators);
  const Member member = add_member(skeleton, leaves, operators, std::move(tensors));
  outputs_[node].push_back(member);
  return member;
}

std::vector<ClassEquation> Classes::generating_equations(const Item& item, int output,
                                                         const std::vector<Renaming>& symmetries) const {
  std::vector<Renaming> known = {names_.identity()};
  const auto add = [&](const Renaming& symmetry) {
    known.push_back(symmetry);
    for (size_t k = 0; k < known.size(); ++k)
      for (size_t j = 0; j < known.size(); ++j) {
        const Renaming both = composed(known[k], known[j]);
        if (std::find(known.begin(), known.end(), both) == known.end()) known.push_back(both);
      }
  };
  const auto is_known = [&](const Renaming& symmetry) {
    return std::find(known.begin(), known.end(), symmetry) != known.end();
  };
  for (const Renaming& symmetry : symmetries)
    if (!is_known(symmetry) && is_same_application(item, symmetry)) add(symmetry);
  std::vector<ClassEquation> result;
  for (const Renaming& symmetry : symmetries) {
    if (is_known(symmetry)) continue;
    add(symmetry);
    result.push_back({Side{item, output, names_.identity()}, Side{item, output, symmetry}});
  }
  return result;
}

bool Classes::is_same_application(const Item& item, const Renaming& renaming) const {
  const Skeleton& driver = skeletons_[item.driver];
  const auto& symmetries = this->symmetries(item.driver);
  // The driver's value stays where its variables' renaming is one of its symmetries.
  const auto keeps_driver = [&](const Renaming& by) {
    const auto same = [&](const Renaming& symmetry) {
      return names_.renamed(driver.leaves, by) == names_.renamed(driver.leaves, symmetry);
    };
    return same(names_.identity()) || std::any_of(symmetries.begin(), symmetries.end(), same);
  };
  if (item.partner == kNone || item.partner & kSibling) return keeps_driver(renaming);
  if (keeps_driver(renaming) && renamed(item.partner, renaming) == item.partner) return true;
  // Swapped: what a commutative operator says of variables.
  if (!item.application->commutes || driver.members == kNone || driver.instance < 0) return false;
  const Member own = member(driver, driver.leaves);
  return renamed(own, renaming) == item.partner && renamed(item.partner, renaming) == own;
}

}  // namespace isomer::substitutions
