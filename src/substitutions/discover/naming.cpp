#include "substitutions/discover/naming.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace isomer::substitutions {
namespace {

/// Lists of `length` different ones of `size`.
uint32_t arrangements(int size, int length) {
  uint32_t result = 1;
  for (int k = 0; k < length; ++k) result *= static_cast<uint32_t>(size - k);
  return result;
}

}  // namespace

bool Leaves::contains(Variable v) const { return std::find(begin(), end(), v) != end(); }
bool Leaves::operator==(const Leaves& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

Names::Names(const OperatorSet& set) {
  for (size_t f = 0; f < set.families.size(); ++f) {
    const Family& family = set.families[f];
    first_.push_back(static_cast<Variable>(family_.size()));
    size_.push_back(static_cast<uint8_t>(family.count));
    for (int k = 1; k <= family.count; ++k) {
      family_.push_back(static_cast<uint8_t>(f));
      text_.push_back(fmt::format("{}{}", family.name, k));
    }
  }
  CHECK(variables() <= kMaxVariables) << variables();
  std::iota(identity_.begin(), identity_.end(), Variable{0});
}

Leaves Names::joined(const Leaves& a, const Leaves& b) const {
  Leaves result = a;
  for (const Variable v : b) {
    if (result.contains(v)) continue;
    CHECK(result.count < kMaxLeaves) << "leaves of a term";
    int at = result.count++;
    for (; at > 0 && family_[result.variable[at - 1]] > family_[v]; --at) result.variable[at] = result.variable[at - 1];
    result.variable[at] = v;
  }
  return result;
}

bool Names::continues(const Leaves& a, const Leaves& b) const {
  int family = -1, next = 0;
  for (const Variable v : b) {
    if (family_[v] != family) {
      family = family_[v];
      next = first_[family] +
             static_cast<int>(std::count_if(a.begin(), a.end(), [&](Variable u) { return family_[u] == family; }));
    }
    if (v < next) continue;
    if (v > next) return false;
    ++next;
  }
  return true;
}

uint32_t Names::count(const Leaves& leaves) const {
  uint32_t result = 1;
  for (int k = 0; k < leaves.count;) {
    const int family = family_[leaves.variable[k]], begin = k;
    while (k < leaves.count && family_[leaves.variable[k]] == family) ++k;
    result *= arrangements(size_[family], k - begin);
  }
  return result;
}

uint32_t Names::number(const Leaves& leaves) const {
  uint32_t result = 0;
  for (int k = 0, begin = 0; k < leaves.count; ++k) {
    const Variable v = leaves.variable[k];
    const int family = family_[v];
    if (family_[leaves.variable[begin]] != family) begin = k;
    int rank = v - first_[family];
    for (int j = begin; j < k; ++j) rank -= leaves.variable[j] < v ? 1 : 0;
    result = result * static_cast<uint32_t>(size_[family] - (k - begin)) + static_cast<uint32_t>(rank);
  }
  return result;
}

Renaming Names::renaming(const Leaves& canonical, uint32_t number) const {
  std::array<uint32_t, kMaxLeaves> ranks = {};
  std::array<int, kMaxLeaves> begins = {};
  for (int k = 0, begin = 0; k < canonical.count; ++k) {
    if (family_[canonical.variable[begin]] != family_[canonical.variable[k]]) begin = k;
    begins[k] = begin;
  }
  for (int k = canonical.count; k-- > 0;) {
    const auto choices = static_cast<uint32_t>(size_[family_[canonical.variable[k]]] - (k - begins[k]));
    ranks[k] = number % choices;
    number /= choices;
  }
  Leaves to = canonical;
  uint64_t taken = 0;
  for (int k = 0; k < canonical.count; ++k) {
    Variable v = first_[family_[canonical.variable[k]]];
    for (uint32_t skip = ranks[k];; ++v) {
      if (taken >> v & 1) continue;
      if (skip-- == 0) break;
    }
    taken |= uint64_t{1} << v;
    to.variable[k] = v;
  }
  return renaming(canonical, to);
}

Renaming Names::renaming(const Leaves& from, const Leaves& to) const {
  Renaming result = identity_;
  uint64_t mapped = 0, taken = 0;
  for (int k = 0; k < from.count; ++k) {
    result[from.variable[k]] = to.variable[k];
    mapped |= uint64_t{1} << from.variable[k];
    taken |= uint64_t{1} << to.variable[k];
  }
  if (mapped == taken) return result;
  for (size_t family = 0; family < first_.size(); ++family) {
    Variable free = first_[family];
    for (Variable v = first_[family]; v < first_[family] + size_[family]; ++v) {
      if (mapped >> v & 1) continue;
      while (taken >> free & 1) ++free;
      result[v] = free++;
    }
  }
  return result;
}

std::optional<Variable> Names::spare(int family, const Leaves& leaves) const {
  for (Variable v = first_[static_cast<size_t>(family)];
       v < first_[static_cast<size_t>(family)] + size_[static_cast<size_t>(family)]; ++v)
    if (!leaves.contains(v)) return v;
  return std::nullopt;
}

Leaves Names::canonical(const Leaves& leaves) const {
  Leaves result = leaves;
  for (int k = 0; k < leaves.count; ++k) {
    const int family = family_[leaves.variable[k]];
    const bool is_first = k == 0 || family_[leaves.variable[k - 1]] != family;
    result.variable[k] = is_first ? first(family) : static_cast<Variable>(result.variable[k - 1] + 1);
  }
  return result;
}

Leaves Names::renamed(const Leaves& leaves, const Renaming& renaming) const {
  Leaves result = leaves;
  for (int k = 0; k < leaves.count; ++k) result.variable[k] = renaming[leaves.variable[k]];
  return result;
}

std::vector<Renaming> Names::permutations(const Leaves& canonical) const {
  std::vector<Renaming> result = {identity_};
  for (int k = 0; k < canonical.count;) {
    const int family = family_[canonical.variable[k]], begin = k;
    while (k < canonical.count && family_[canonical.variable[k]] == family) ++k;
    std::vector<Variable> images(canonical.begin() + begin, canonical.begin() + k);
    std::vector<Renaming> longer;
    do {
      for (Renaming renaming : result) {
        for (int j = begin; j < k; ++j) renaming[canonical.variable[j]] = images[j - begin];
        longer.push_back(renaming);
      }
    } while (std::next_permutation(images.begin(), images.end()));
    result = std::move(longer);
  }
  return result;
}

Renaming inverse(const Renaming& renaming) {
  Renaming result;
  for (size_t v = 0; v < renaming.size(); ++v) result[renaming[v]] = static_cast<Variable>(v);
  return result;
}

Renaming composed(const Renaming& a, const Renaming& b) {
  Renaming result;
  for (size_t v = 0; v < a.size(); ++v) result[v] = b[a[v]];
  return result;
}

}  // namespace isomer::substitutions
