#include "substitutions/discover/largest_terms.h"

#include <algorithm>

namespace isomer::substitutions {

template <class Visit>
void LastLevel::for_each_term(uint32_t driver, const Visit& visit) {
  uint32_t number = 0;
  classes_.for_each_item(driver, size_, [&](const Item& item) {
    for (int output = 0; output < static_cast<int>(item.application->types.size()); ++output)
      visit(number++, Term{item, output});
  });
}

void LastLevel::run(uint32_t driver, Found& found) {
  start(driver);
  for_each_term(driver, [&](uint32_t number, const Term& term) {
    ++found.terms;
    const TermId id = term_id(driver, number);
    const uint64_t own = hash(term, classes_.names().identity());
    if (classes_.knows(own)) {
      found.hits.push_back({id, own});
      return;
    }
    const auto& all = namings(term, own);
    const uint64_t first = all[0] == classes_.names().identity() ? own : hash(term, all[0]);
    uint64_t least = first;
    bool is_symmetric = false;
    for (size_t k = 1; k < all.size(); ++k) {
      const uint64_t other = hash(term, all[k]);
      is_symmetric |= other == first;
      least = std::min(least, other);
    }
    found.records.push_back({least, id});
    if (is_symmetric) found.hits.push_back({id, Hit::kSymmetric});
  });
}

std::vector<LastLevel::Term> LastLevel::decode(uint32_t driver, const std::vector<uint32_t>& terms) {
  std::vector<Term> result;
  for_each_term(driver, [&](uint32_t number, const Term& term) {
    if (result.size() < terms.size() && terms[result.size()] == number) result.push_back(term);
  });
  CHECK(result.size() == terms.size()) << "terms of driver " << driver;
  return result;
}

uint64_t LastLevel::least_hash(const Term& term) {
  start(term.item.driver);
  uint64_t least = ~uint64_t{0};
  for (const Renaming& renaming : namings(term, hash(term, classes_.names().identity())))
    least = std::min(least, hash(term, renaming));
  return least;
}

std::pair<Hash128, Renaming> LastLevel::fingerprint(const Term& term) {
  const uint64_t least = least_hash(term);
  std::optional<std::pair<Hash128, Renaming>> best;
  for (const Renaming& renaming : namings(term, hash(term, classes_.names().identity()))) {
    if (hash(term, renaming) != least) continue;
    const Hash128 own = classes_.fingerprint({term.item, term.output, renaming}, scratch_[0]);
    if (!best || own < best->first) best = {own, renaming};
  }
  return *best;
}

std::vector<Renaming> LastLevel::symmetries(const Term& term) {
  start(term.item.driver);
  const auto& all = namings(term, hash(term, classes_.names().identity()));
  const uint64_t first = hash(term, all[0]);
  std::vector<Renaming> result;
  for (size_t k = 1; k < all.size(); ++k)
    if (hash(term, all[k]) == first) result.push_back(composed(all[k], inverse(all[0])));
  return result;
}

const std::vector<Renaming>& LastLevel::namings(const Term& term, uint64_t own) {
  const Names& names = classes_.names();
  const Leaves leaves = classes_.leaves_of(term.item);
  const Leaves live = names.live(leaves, [&](const Renaming& renaming) { return hash(term, renaming) == own; });
  auto& known = namings_[{{leaves.begin(), leaves.end()}, {live.begin(), live.end()}}];
  if (known.empty()) {
    const Leaves canonical = names.canonical(live);
    known = names.permutations(canonical);
    for (Renaming& permutation : known) permutation = composed(names.renaming(live, canonical), permutation);
  }
  return known;
}

void LastLevel::start(uint32_t driver) {
  if (driver == driver_) return;
  driver_ = driver;
  tensors_.clear();
}

const uint32_t* LastLevel::operand(uint32_t at, const Renaming& renaming) {
  const Skeleton& skeleton = classes_.skeletons()[at];
  const Leaves leaves = classes_.names().renamed(skeleton.leaves, renaming);
  if (skeleton.members != kNone) return classes_.tensor(classes_.member(skeleton, leaves), 0);
  auto [found, is_new] = tensors_.try_emplace({at, classes_.names().number(leaves)});
  if (is_new) found->second = classes_.copy(at, renaming, scratch_[0]);
  return found->second.data();
}

uint64_t LastLevel::hash(const Term& term, const Renaming& renaming) {
  const Item& item = term.item;
  const uint32_t* first = operand(item.driver, renaming);
  const uint32_t* second = nullptr;
  if (item.partner != kNone)
    second = item.partner & kSibling ? operand(item.partner & ~kSibling, renaming)
                                     : classes_.tensor(classes_.renamed(item.partner, renaming), 0);
  if (item.is_swapped) std::swap(first, second);
  return classes_.hash(*item.application, term.output, first, second, scratch_[0]);
}

}  // namespace isomer::substitutions
