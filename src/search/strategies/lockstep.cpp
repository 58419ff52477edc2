#include "search/strategies/lockstep.h"

namespace isomer::search {

using substitutions::Match;
using substitutions::Program;
using substitutions::Rewritten;

void Lockstep::pass_over(const Match& match) {
  auto done = apply(part_, match, rules_);
  auto& rewritten = std::get<Rewritten>(done);
  const auto before = static_cast<int>(values_.size());
  part_ = std::move(rewritten.program);
  values_.resize(static_cast<size_t>(part_.value_count()), -1);
  for (size_t k = 0; k < match.roots.size(); ++k)
    if (const int target = rewritten.targets[k]; target >= before)
      values_[static_cast<size_t>(target)] = values_[static_cast<size_t>(match.roots[k])];
}

bool Lockstep::take(const Match& match) {
  const auto there = in_whole(match);
  // Equal parts may be numbered otherwise where operands commute.
  if (!there || !rules_.is_match(part_, match) || !rules_.is_match(whole_, *there)) return false;
  auto in_part = apply(part_, match, rules_), in_whole = apply(whole_, *there, rules_);
  auto *small = std::get_if<Rewritten>(&in_part), *large = std::get_if<Rewritten>(&in_whole);
  if (!small || !large) return false;
  matches_.push_back(*there);
  values_.resize(static_cast<size_t>(small->program.value_count()), -1);
  for (size_t k = 0; k < small->built.size(); ++k) {
    const Program::Application &from = small->program.application(small->built[k]),
                               &to = large->program.application(large->built[k]);
    for (int j = 0; j < from.value_count; ++j) values_[static_cast<size_t>(from.first_value + j)] = to.first_value + j;
  }
  for (size_t k = 0; k < match.roots.size(); ++k) {
    replaced_.erase(small->targets[k]);
    if (match.roots[k] != small->targets[k]) replaced_[match.roots[k]] = small->targets[k];
  }
  part_ = std::move(small->program);
  whole_ = std::move(large->program);
  return true;
}

void Lockstep::adopt(Lockstep branch) {
  for (size_t value = 0; value < values_.size(); ++value) {
    auto now = static_cast<int>(value);
    for (auto next = branch.replaced_.find(now); next != branch.replaced_.end(); next = branch.replaced_.find(now))
      now = next->second;
    if (now != static_cast<int>(value)) values_[value] = branch.value_in_whole(now);
  }
  whole_ = std::move(branch.whole_);
  matches_ = std::move(branch.matches_);
}

int Lockstep::value_in_whole(int value) const {
  if (const int known = values_[static_cast<size_t>(value)]; known >= 0) return known;
  const te::Number* number = part_.number(value);
  for (int id = 0; number && id < whole_.value_count(); ++id)
    if (whole_.value(id).type == part_.value(value).type && whole_.number(id) && *whole_.number(id) == *number)
      return id;
  return -1;
}

std::optional<Match> Lockstep::in_whole(const Match& match) const {
  Match result = match;
  for (auto* list : {&result.values.tensors, &result.roots})
    for (int& value : *list)
      if (value = value_in_whole(value); value < 0) return std::nullopt;
  for (int& application : result.applications) {
    const int value = value_in_whole(part_.application(application).first_value);
    if (value < 0) return std::nullopt;
    application = whole_.value(value).producer;
  }
  return result;
}

}  // namespace isomer::search
