#include "substitutions/discover/enumerate.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "substitutions/discover/hashed_terms.h"
#include "substitutions/discover/root_rewrites.h"
#include "util/clock.h"
#include "util/parallel.h"
#include "util/resident.h"
#include "util/stop.h"

namespace isomer::substitutions {
namespace {

constexpr uint32_t kBlock = 512;  ///< drivers between two states that an interrupted run is taken up at

/// Different for what must not be taken up from each other's files.
std::string name_of(const OperatorSet& set, const EnumerationOptions& options) {
  Hasher hasher;
  hasher.add(options.seed).add(static_cast<uint64_t>(options.max_operators)).add(static_cast<uint64_t>(set.exponents));
  for (const Family& family : set.families) {
    hasher.add(family.name).add(static_cast<uint64_t>(family.count));
    for (const int64_t dim : family.dims) hasher.add(static_cast<uint64_t>(dim));
  }
  for (const Instance& instance : set.instances)
    for (const verify::Term& term : instance.outputs) hasher.add(term.text());
  return fmt::format("{}-{}-{}", set.name, options.max_operators, hasher.finish().hex().substr(0, 16));
}

/// A term that has the hash of another one.
struct Candidate {
  TermId term = 0;
  uint64_t hash = 0;  ///< the least of its namings, or what the hit says
  enum class Kind : uint8_t { kSmaller, kSymmetric, kSameSize } kind = Kind::kSameSize;
  auto operator<=>(const Candidate&) const = default;
};

/// What comparing whole tensors makes of it.
struct Confirmed {
  std::vector<ClassEquation> equations;
  Hash128 fingerprint;  ///< of those that no smaller term is equal to
  Renaming renaming;
  uint64_t hash = 0;  ///< 0: there is nothing more to compare
  int64_t false_hits = 0;
};

class Run {
 public:
  Run(const OperatorSet& set, const EnumerationOptions& options)
      : options_(options),
        size_(options.max_operators),
        classes_(set, std::max(1, size_ - 1), options.seed),
        pool_(options.threads) {
    for (int k = 0; k < pool_.threads(); ++k) workers_.emplace_back(classes_, size_);
  }

  Result<void> small_levels() {
    for (int size = 1; size <= std::max(1, size_ - 1); ++size) {
      const auto start = Clock::now();
      std::vector<ClassEquation> equations;
      const auto report = [&](const ClassEquation& equation) { equations.push_back(equation); };
      TRY(const LevelCounts counts,
          classes_.add_level(size, report, [&](double share, int64_t terms) { show(size, share, terms, start); }));
      const int64_t derived = add(equations, size);
      result_.levels.push_back(
          {size, counts.terms, counts.classes, counts.equations, derived, counts.false_hits, seconds_since(start)});
    }
    return {};
  }

  bool has_last_level() const { return size_ > 1; }
  uint32_t drivers() const { return static_cast<uint32_t>(classes_.skeletons().size()); }

  Result<void> last_level(HashedTerms& records, int part, int parts) {
    started_ = Clock::now();
    while (records.drivers_done() < drivers()) {
      TRY_VOID(check_stop());
      const uint32_t begin = records.drivers_done(), end = std::min(drivers(), begin + kBlock);
      std::vector<Found> found(static_cast<size_t>(pool_.threads()));
      pool_.run(end - begin, [&](int64_t k, int thread) {
        const auto driver = static_cast<uint32_t>(begin + k);
        if (driver % static_cast<uint32_t>(parts) == static_cast<uint32_t>(part))
          workers_[static_cast<size_t>(thread)].run(driver, found[static_cast<size_t>(thread)]);
      });
      TRY_VOID(records.add(found, end));
      show(size_, static_cast<double>(end) / drivers(), records.terms(), started_);
    }
    return {};
  }

  Result<Enumeration> finish(const std::vector<const HashedTerms*>& all) {
    LevelStatistics statistics;
    statistics.operators = size_;
    TRY(std::vector<Candidate> candidates, compare(all, statistics));
    confirm(candidates, statistics);
    statistics.seconds = seconds_since(started_);
    result_.levels.push_back(statistics);
    return finish();
  }

  Enumeration finish() {
    result_.peak_memory = static_cast<uint64_t>(peak_resident_bytes());
    return std::move(result_);
  }

 private:
  void show(int size, double share, int64_t terms, Clock::time_point start) const {
    if (options_.progress) options_.progress({size, share, terms, seconds_since(start)});
  }

  /// Says how many follow from others. First all that follow from smaller ones, then, from the most general on, those
  /// that follow from others of this size.
  int64_t add(const std::vector<ClassEquation>& equations, int size) {
    std::vector<char> is_derived(equations.size());
    if (!options_.keep_derived) {
      RootRewrites derivations(classes_, size);
      for (const ClassEquation& rule : rules_) derivations.add(rule);
      pool_.run(static_cast<int64_t>(equations.size()), [&](int64_t k, int thread) {
        LastLevel& worker = workers_[static_cast<size_t>(thread)];
        is_derived[static_cast<size_t>(k)] =
            derivations.follows(equations[static_cast<size_t>(k)], worker.scratch(0), worker.scratch(1));
      });
      std::vector<size_t> order;
      for (size_t k = 0; k < equations.size(); ++k)
        if (!is_derived[k]) order.push_back(k);
      const auto generality = [&](size_t k) {
        return std::pair(-static_cast<int>(classes_.leaves_of(equations[k].right.item).count), k);
      };
      std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return generality(a) < generality(b); });
      RootRewrites own(classes_, size);
      for (const size_t k : order) {
        is_derived[k] = own.follows(equations[k], workers_[0].scratch(0), workers_[0].scratch(1));
        if (!is_derived[k]) own.add(equations[k]);
      }
    }
    for (size_t k = 0; k < equations.size(); ++k) {
      if (is_derived[k]) continue;
      rules_.push_back(equations[k]);
      auto [left, right] = classes_.terms(equations[k]);
      Equation equation{std::move(left), std::move(right), size};
      // An instance of several operators may be written as others are.
      if (!(equation.left == equation.right)) result_.equations.push_back(std::move(equation));
    }
    return std::count(is_derived.begin(), is_derived.end(), char{1});
  }

  /// Terms with the hashes of others, by their numbers.
  Result<std::vector<Candidate>> compare(const std::vector<const HashedTerms*>& all, LevelStatistics& statistics) {
    std::vector<Candidate> candidates;
    std::vector<Hit> hits;
    for (const HashedTerms* records : all) {
      statistics.terms += records->terms();
      TRY_VOID(records->read_hits(hits));
    }
    for (const Hit& hit : hits)
      candidates.push_back({hit.term, hit.known,
                            hit.known == Hit::kSymmetric ? Candidate::Kind::kSymmetric : Candidate::Kind::kSmaller});
    hits = {};
    for (int shard = 0; shard < HashedTerms::kShards; ++shard) {
      TRY_VOID(check_stop());
      std::vector<Record> records;
      for (const HashedTerms* each : all) TRY_VOID(each->read_shard(shard, records));
      std::sort(records.begin(), records.end());
      for (size_t k = 0; k < records.size();) {
        const size_t first = k;
        while (k < records.size() && records[k].hash == records[first].hash) ++k;
        ++statistics.classes;
        for (size_t j = first; j < k && k - first > 1; ++j)
          candidates.push_back({records[j].term, records[j].hash, Candidate::Kind::kSameSize});
      }
    }
    std::sort(candidates.begin(), candidates.end());
    return candidates;
  }

  void confirm(const std::vector<Candidate>& candidates, LevelStatistics& statistics) {
    const auto terms = decode(candidates);
    std::vector<Confirmed> confirmed(candidates.size());
    pool_.run(static_cast<int64_t>(candidates.size()), [&](int64_t k, int thread) {
      const Candidate& candidate = candidates[static_cast<size_t>(k)];
      confirmed[static_cast<size_t>(k)] =
          confirm(candidate, terms.at(candidate.term), workers_[static_cast<size_t>(thread)]);
    });
    std::map<std::pair<uint64_t, Hash128>, size_t> firsts;
    std::set<uint64_t> hashes;
    std::vector<ClassEquation> equations;
    std::optional<TermId> joined;  // to an earlier one, whose symmetries it has
    for (size_t k = 0; k < candidates.size(); ++k) {
      Confirmed& each = confirmed[k];
      if (candidates[k].kind == Candidate::Kind::kSymmetric && joined == candidates[k].term) continue;
      if (each.hash != 0) {
        const auto [first, is_new] = firsts.emplace(std::pair(each.hash, each.fingerprint), k);
        if (!is_new) {
          const LastLevel::Term &left = terms.at(candidates[first->second].term), &right = terms.at(candidates[k].term);
          const Renaming renaming =
              first_of_symmetric(left, composed(confirmed[first->second].renaming, inverse(each.renaming)));
          const ClassEquation equation = {Side{left.item, left.output, renaming},
                                          Side{right.item, right.output, classes_.names().identity()}};
          if (classes_.are_equal(equation, workers_[0].scratch(0), workers_[0].scratch(1)))
            each.equations.push_back(equation);
          joined = candidates[k].term;
        } else if (!hashes.insert(each.hash).second || candidates[k].kind == Candidate::Kind::kSmaller) {
          ++statistics.classes;
          ++each.false_hits;
        }
      }
      statistics.false_hits += each.false_hits;
      equations.insert(equations.end(), each.equations.begin(), each.equations.end());
    }
    statistics.equations = static_cast<int64_t>(equations.size());
    statistics.derived = add(equations, size_);
  }

  /// Of all namings in which a term has the same value, the one with the first variables first.
  Renaming first_of_symmetric(const LastLevel::Term& term, const Renaming& renaming) {
    const Leaves leaves = classes_.leaves_of(term.item);
    Renaming best = renaming;
    for (const Renaming& symmetry : workers_[0].symmetries(term)) {
      const Renaming other = composed(symmetry, renaming);
      const Leaves a = classes_.names().renamed(leaves, other), b = classes_.names().renamed(leaves, best);
      if (std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end())) best = other;
    }
    return best;
  }

  std::unordered_map<TermId, LastLevel::Term> decode(const std::vector<Candidate>& candidates) {
    std::vector<TermId> ids;
    for (const Candidate& candidate : candidates) ids.push_back(candidate.term);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    std::unordered_map<TermId, LastLevel::Term> terms;
    terms.reserve(ids.size());
    for (size_t begin = 0; begin < ids.size();) {
      const auto driver = static_cast<uint32_t>(ids[begin] >> 32);
      std::vector<uint32_t> numbers;
      size_t end = begin;
      for (; end < ids.size() && ids[end] >> 32 == driver; ++end) numbers.push_back(static_cast<uint32_t>(ids[end]));
      const auto found = workers_[0].decode(driver, numbers);
      for (size_t k = 0; k < found.size(); ++k) terms.emplace(ids[begin + k], found[k]);
      begin = end;
    }
    return terms;
  }

  Confirmed confirm(const Candidate& candidate, const LastLevel::Term& term, LastLevel& worker) {
    Confirmed result;
    const Side side = {term.item, term.output, classes_.names().identity()};
    if (candidate.kind == Candidate::Kind::kSymmetric) {
      result.equations = classes_.generating_equations(term.item, term.output, worker.symmetries(term));
      const auto is_false = [&](const ClassEquation& equation) {
        return !classes_.are_equal(equation, worker.scratch(0), worker.scratch(1));
      };
      result.false_hits = static_cast<int64_t>(std::erase_if(result.equations, is_false));
      return result;
    }
    if (candidate.kind == Candidate::Kind::kSmaller) {
      int64_t false_hits = 0;
      if (const auto smaller = classes_.find(candidate.hash, side, worker.scratch(0), worker.scratch(1), false_hits)) {
        result.equations.push_back({*smaller, side});
        return result;
      }
    }
    result.hash = candidate.kind == Candidate::Kind::kSmaller ? worker.least_hash(term) : candidate.hash;
    std::tie(result.fingerprint, result.renaming) = worker.fingerprint(term);
    return result;
  }

  const EnumerationOptions& options_;
  int size_;
  Classes classes_;
  ThreadPool pool_;
  std::vector<LastLevel> workers_;
  Clock::time_point started_ = Clock::now();
  std::vector<ClassEquation> rules_;
  Enumeration result_;
};

Result<void> check(const EnumerationOptions& options) {
  if (options.max_operators >= 1 && options.max_operators <= kMostEnumerated && options.threads >= 1) return {};
  return Error{ErrorKind::kUsage, "",
               fmt::format("1 to {} operators and at least one thread expected, {} and {} found", kMostEnumerated,
                           options.max_operators, options.threads)};
}

}  // namespace

Result<Enumeration> enumerate(const OperatorSet& set, const EnumerationOptions& options) {
  TRY_VOID(check(options));
  Run run(set, options);
  TRY_VOID(run.small_levels());
  if (!run.has_last_level()) return run.finish();
  TRY(HashedTerms records, HashedTerms::open({options.folder, name_of(set, options), 0, 1}, options.memory));
  TRY_VOID(run.last_level(records, 0, 1));
  TRY(Enumeration result, run.finish({&records}));
  if (!options.folder.empty()) records.remove_files();
  return result;
}

Result<void> enumerate_part(const OperatorSet& set, const EnumerationOptions& options, int part, int parts) {
  TRY_VOID(check(options));
  if (options.folder.empty() || part < 0 || part >= parts)
    return Error{
        ErrorKind::kUsage, "",
        fmt::format("a folder and a part below {} expected, '{}' and {} found", parts, options.folder.string(), part)};
  Run run(set, options);
  TRY_VOID(run.small_levels());
  TRY(HashedTerms records, HashedTerms::open({options.folder, name_of(set, options), part, parts}, options.memory));
  return run.has_last_level() ? run.last_level(records, part, parts) : Result<void>();
}

Result<Enumeration> merge_parts(const OperatorSet& set, const EnumerationOptions& options, int parts) {
  TRY_VOID(check(options));
  Run run(set, options);
  TRY_VOID(run.small_levels());
  if (!run.has_last_level()) return run.finish();
  TRY(std::vector<HashedTerms> records,
      HashedTerms::open_parts({options.folder, name_of(set, options), 0, parts}, run.drivers()));
  std::vector<const HashedTerms*> all;
  for (const HashedTerms& each : records) all.push_back(&each);
  TRY(Enumeration result, run.finish(all));
  for (HashedTerms& each : records) each.remove_files();
  return result;
}

std::string Enumeration::text() const {
  std::string result;
  for (const LevelStatistics& level : levels)
    result += fmt::format(
        "{} operators: {} terms in {:.2f} s ({:.0f} a second), {} classes, {} equations of which {} follow from "
        "others, {} false hits\n",
        level.operators, level.terms, level.seconds, static_cast<double>(level.terms) / std::max(level.seconds, 1e-9),
        level.classes, level.equations, level.derived, level.false_hits);
  return result + fmt::format("{} equations, {} MB at most\n", equations.size(), peak_memory >> 20);
}

}  // namespace isomer::substitutions
