#include "substitutions/rewrite/match.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "substitutions/rewrite/match_search.h"

namespace isomer::substitutions {

namespace {

bool is_before(const Match& a, const Match& b) {
  const auto key = [](const Match& match) {
    return std::tie(match.substitution, match.roots, match.applications, match.values.tensors);
  };
  return key(a) < key(b);
}

}  // namespace

bool Match::operator==(const Match& other) const {
  return substitution == other.substitution && values.tensors == other.values.tensors &&
         values.integers == other.values.integers && values.rests == other.values.rests && roots == other.roots &&
         applications == other.applications;
}

std::span<const Substitutions::Start> Substitutions::starts_at(const Program& program, int application) const {
  const OpDef* op = program.op(application);
  const auto starts = op ? starts_.find(op) : starts_.end();
  return starts == starts_.end() ? std::span<const Start>() : starts->second;
}

std::vector<Match> Substitutions::matches(const Program& program) {
  MatchSearch search(*this, program);
  for (int application = 0; application < program.application_count(); ++application)
    for (const Start& start : starts_at(program, application))
      if (start.source == 0) search.look_for(start.substitution, 0, application);
  std::vector<Match> result = search.take();
  std::sort(result.begin(), result.end(), is_before);
  return result;
}

std::vector<Match> Substitutions::matches_at(const Program& program, int application,
                                             const std::function<bool(const Match&)>& is_wanted) {
  MatchSearch search(*this, program, nullptr, &is_wanted);
  for (const Start& start : starts_at(program, application))
    if (start.source == 0) search.look_for(start.substitution, 0, application);
  return search.take();
}

std::vector<Match> Substitutions::matches(const Program& program, const EqualValues& classes, int application) {
  MatchSearch search(*this, program, &classes);
  for (const Start& start : starts_at(program, application))
    if (start.source == 0) search.look_for(start.substitution, 0, application);
  return search.take();
}

std::vector<Match> Substitutions::matches_near(const Program& program, std::span<const int> applications) {
  MatchSearch search(*this, program);
  std::vector<bool> is_changed(static_cast<size_t>(program.application_count()));
  std::set<int> near;
  std::vector<int> level;
  for (const int application : applications) {
    if (!program.contains(application)) continue;
    is_changed[static_cast<size_t>(application)] = true;
    if (near.insert(application).second) level.push_back(application);
  }
  for (int depth = 1; depth < depth_; ++depth) {
    std::vector<int> above;
    for (const int application : level) {
      const Program::Application& there = program.application(application);
      for (int k = 0; k < there.value_count; ++k)
        for (const int reader : search.uses().of(there.first_value + k))
          if (near.insert(reader).second) above.push_back(reader);
    }
    level = std::move(above);
  }
  for (const int application : near)
    for (const Start& start : starts_at(program, application))
      search.look_for(start.substitution, start.source, application);
  std::vector<Match> result = search.take();
  std::erase_if(result, [&](const Match& match) {
    return std::none_of(match.applications.begin(), match.applications.end(),
                        [&](int application) { return is_changed[static_cast<size_t>(application)]; });
  });
  // One that was found from several of its roots is one.
  std::sort(result.begin(), result.end(), is_before);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace isomer::substitutions
