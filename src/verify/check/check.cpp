#include "verify/check/check.h"

#include <fmt/ranges.h>

#include "graph/bind.h"
#include "graph/hash.h"
#include "graph/interpret.h"
#include "graph/te/integer.h"
#include "util/stop.h"
#include "verify/check/cut_graph.h"
#include "verify/check/fitting_sizes.h"
#include "verify/check/stage_sizes.h"

namespace isomer {
namespace {

struct Candidate {
  std::map<std::string, int64_t> sizes;
  bool last_resort = false;  ///< only where the model ran on nothing smaller
  bool even = false;         ///< each input of integers has one number in all places
};

/// Sizes tried for symbolic dims, smallest first: different ones tell apart what equal ones would not, strided or
/// concatenated feature maps want multiples of 32, and sounds are long. What weights leave no choice for comes first.
std::vector<Candidate> candidate_sizes(const Graph& graph) {
  const std::vector<std::string> dims = free_dims(graph);
  if (dims.empty()) return {{}};
  std::vector<Candidate> candidates;
  const auto add = [&](const std::function<int64_t(int64_t)>& size, bool last_resort = false) {
    Candidate& candidate = candidates.emplace_back();
    candidate.last_resort = last_resort;
    for (size_t k = 0; k < dims.size(); ++k) candidate.sizes[dims[k]] = size(static_cast<int64_t>(k));
  };
  add([](int64_t k) { return 2 + k; });
  if (const auto fitting = fitting_sizes(graph); fitting && *fitting != candidates.front().sizes)
    candidates.insert(candidates.begin(), Candidate{*fitting});
  add([](int64_t k) { return 5 + 3 * k; });
  for (const int64_t size : {4, 1, 8, 16}) add([=](int64_t) { return size; });
  // The first dim mostly is the number of samples: few are tried before as many as there are elements.
  add([](int64_t k) { return k == 0 ? 2 : 32 + 32 * k; });
  for (const int64_t size : {32, 64, 96, 224})
    for (const int64_t first : {int64_t{2}, int64_t{1}, size}) add([=](int64_t k) { return k == 0 ? first : size; });
  for (const int64_t size : {512, 2048, 16384})
    for (const int64_t first : {int64_t{1}, size}) add([=](int64_t k) { return k == 0 ? first : size; }, true);
  return candidates;
}

/// What is made as a last resort must not be the end of a small machine.
constexpr int64_t kMostElements = int64_t{1} << 24;

bool is_moderate(const Graph& bound) {
  int64_t elements = 0;
  for (const ValueId input : bound.inputs())
    if (const ValueType& type = bound.value(input).type; type.has_shape())
      if (const Dim count = element_count(*type.shape); count.is_constant())
        elements = te::saturating_add(elements, count.value());
  return elements <= kMostElements;
}

/// Inputs for these sizes, if the reference runs on them. `fits`: false where memory is what lacks.
Result<std::vector<te::Array>> inputs_for(const Graph& reference, const Candidate& candidate, uint64_t seed,
                                          MemoryLimit memory, bool& fits) {
  Graph bound = reference;
  TRY_VOID(bind_inputs(bound, candidate.sizes, {}));
  if (candidate.last_resort && !is_moderate(bound)) return unsupported("", "smaller inputs expected");
  auto checked = check_memory(bound, 1, memory);
  fits = checked.ok();
  if (!fits) return std::move(checked).error();
  TRY(const std::vector<Tensor> tensors,
      generate_inputs(bound, {.seed = seed, .masks = true, .bytes = true, .even = candidate.even, .memory = memory}));
  return te::to_arrays(tensors);
}

std::string text_of(const std::map<std::string, int64_t>& sizes) {
  std::vector<std::string> parts;
  for (const auto& [name, size] : sizes) parts.push_back(fmt::format("{}={}", name, size));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// More runs than wanted, of models that make decisions, are no more than this and take no more of the check's time,
/// of which so much counts.
constexpr int kMostRuns = 128;
constexpr double kShareForMore = 0.25, kMostSecondsForMore = 4;
/// Runs more than wanted where of some output nothing could be compared yet.
constexpr int kMoreForUncompared = 4;
/// Seeds that may fail where others ran; and those tried to have one run at all: a trip count that has to be 5 is one
/// integer of eight.
constexpr int kMostSeeds = 8, kMostFirstSeeds = 64;
/// Sizes before these are cheap whatever the model; those from here on are tried in the order of what they take.
constexpr size_t kSmallSizes = 6;
/// Nodes that are cut out of a model until it runs on some input, at most.
constexpr size_t kMostCuts = 8;

/// The node that ended runs, how often, and the first error.
struct Failure {
  NodeId node;
  int count = 0;
  std::string reason;
};

class Check {
 public:
  Check(const CutPair& cut, const CheckOptions& options)
      : reference_(cut.before.graph), candidate_(cut.after.graph), options_(options), dims_(free_dims(reference_)) {
    report_.nodes_unchecked = cut.before.unchecked;
    report_.runs_wanted = options.runs;
  }

  Result<CheckReport> run() {
    TRY_VOID(check_interfaces(reference_, candidate_));
    TRY_VOID(run_first());
    if (report_.equivalence.runs == 0 && !report_.left_out.empty())
      return unsupported("check", "{}, --no-check skips the check", report_.left_out.front());
    if (report_.equivalence.runs == 0)
      return unsupported("check",
                         "inputs that the model runs on expected, none found ({}); bind its dims with --dim, or skip "
                         "the check with --no-check",
                         refusal_);
    TRY_VOID(run_evenly());
    for (size_t set = 0; is_wanted() && !report_.out_of_time && failures_ < kMostSeeds; ++set) TRY_VOID(repeat(set));
    if (!report_.equivalence.passed() || report_.out_of_time || !stage_sizes(reference_).has_decisions)
      return std::move(report_);
    const double for_more = kShareForMore * std::min(options_.seconds, kMostSecondsForMore);
    for (size_t set = 0; report_.equivalence.runs < kMostRuns && report_.equivalence.passed() &&
                         failures_ < kMostSeeds && seconds_since(start_) + report_.seconds_a_run < for_more;
         ++set)
      TRY_VOID(repeat(set));
    return std::move(report_);
  }

  /// The node that ended most runs; nothing where none did, or where it perhaps runs at sizes that don't fit into
  /// memory.
  std::optional<Failure> most_frequent_failure() const {
    if (!report_.left_out.empty()) return std::nullopt;
    const auto most = std::ranges::max_element(failed_at_, {}, &Failure::count);
    return most == failed_at_.end() ? std::nullopt : std::optional(*most);
  }

 private:
  enum class Outcome { kRan, kRefused, kLate };

  /// The runs wanted, each on other sizes; at least one.
  Result<void> run_first() {
    std::vector<Candidate> candidates = candidate_sizes(reference_), late;
    for (int seed = 0; seed < kMostFirstSeeds && report_.equivalence.runs == 0; ++seed) {
      if (seed > 0 && (candidates.empty() || is_over())) break;
      // Those that may do with other inputs.
      std::vector<Candidate> refused;
      for (size_t k = 0; k < candidates.size() && is_wanted(); ++k) {
        if (k == kSmallSizes) sort_by_work(candidates, k);
        if (candidates[k].last_resort && report_.equivalence.runs > 0) continue;
        const bool is_only = candidates.size() == 1;
        if (!is_only && is_over() && report_.equivalence.runs == 0) {
          late.push_back(candidates[k]);
          continue;
        }
        const bool is_first = report_.equivalence.runs == 0;
        if (!is_first && is_too_long(candidates[k])) break;
        TRY(const Outcome outcome, attempt(candidates[k], next_seed(seed), is_first && is_only));
        if (outcome == Outcome::kRefused && runs_perhaps_ && !candidates[k].last_resort)
          refused.push_back(candidates[k]);
        if (outcome == Outcome::kLate && is_first) late.push_back(candidates[k]);
      }
      candidates = std::move(refused);
    }
    // However long it takes.
    for (size_t k = 0; k < late.size() && report_.equivalence.runs == 0; ++k)
      TRY_VOID(ignored(attempt(late[k], next_seed(0), true)));
    return {};
  }

  /// Where only movements explain what differs, once more on integers that are all the same, if there are any: an
  /// attention over equal tokens has nothing to be torn between, and hides no error behind what rounding does to it.
  Result<void> run_evenly() {
    const auto is_integer = [&](ValueId input) { return is_int(reference_.value(input).type.dtype); };
    const bool is_explained = report_.equivalence.passed() && report_.equivalence.movements > 0;
    if (!is_explained || std::ranges::none_of(reference_.inputs(), is_integer)) return {};
    auto [sizes, seconds] = ran_.front();
    if (seconds > seconds_left()) return {};
    sizes.even = true;
    TRY(const Outcome outcome, attempt(sizes, next_seed(failures_), false));
    if (outcome == Outcome::kRan) ++more_wanted_;
    return {};
  }

  /// Another seed on sizes that ran.
  Result<void> repeat(size_t set) {
    const auto& [sizes, seconds] = ran_[set % ran_.size()];
    if (seconds > seconds_left()) {
      report_.out_of_time = true;
      return {};
    }
    TRY(const Outcome outcome, attempt(Candidate(sizes), next_seed(failures_), false));
    if (outcome == Outcome::kRefused) ++failures_;
    report_.out_of_time |= outcome == Outcome::kLate;
    return {};
  }

  Result<Outcome> attempt(const Candidate& sizes, uint64_t seed, bool to_the_end) {
    const auto begin = Clock::now();
    runs_perhaps_ = false;
    bool fits = true;
    auto inputs = inputs_for(reference_, sizes, seed, options_.memory, fits);
    if (!fits) leave_out(sizes, inputs.error());
    if (!inputs.ok()) return refused(sizes, inputs.error());
    runs_perhaps_ = true;
    InterpretOptions run{.threads = options_.threads, .memory = options_.memory};
    if (!to_the_end) run.until = deadline();
    NodeId failed;
    InterpretOptions watched = run;
    watched.failed = [&](NodeId node) { failed = node; };
    auto expected = interpret(reference_, *inputs, watched);
    if (!expected.ok()) {
      if (failed.valid() && expected.error().kind == ErrorKind::kInvalid) note_failure(failed, expected.error());
      return refused(sizes, expected.error());
    }
    const ComparisonEffort effort{
        .threads = options_.threads, .seed = seed, .until = deadline(), .memory = options_.memory};
    const auto compared =
        compare_run(reference_, *inputs, *std::move(expected), candidate_, run, effort, report_.equivalence);
    if (!compared.ok() && compared.error().kind == ErrorKind::kStopped) return refused(sizes, compared.error());
    if (!compared.ok()) return compared.error();
    report_.seconds_a_run = seconds_since(begin);
    if (std::find(report_.sizes.begin(), report_.sizes.end(), sizes.sizes) == report_.sizes.end() && !dims_.empty())
      report_.sizes.push_back(sizes.sizes);
    if (!sizes.even) ran_.emplace_back(sizes, report_.seconds_a_run);
    return Outcome::kRan;
  }

  Result<Outcome> refused(const Candidate& sizes, const Error& error) {
    if (error.kind == ErrorKind::kStopped) {
      TRY_VOID(check_stop());
      return Outcome::kLate;
    }
    if (refusal_.empty() || !sizes.last_resort) refusal_ = error.message();
    return Outcome::kRefused;
  }

  void note_failure(NodeId node, const Error& error) {
    auto known = std::ranges::find(failed_at_, node, &Failure::node);
    if (known == failed_at_.end()) known = failed_at_.insert(known, Failure{node, 0, error.what});
    ++known->count;
  }

  /// What ran on the same sizes before needs no word.
  void leave_out(const Candidate& sizes, const Error& error) {
    if (std::any_of(ran_.begin(), ran_.end(), [&](const auto& ran) { return ran.first.sizes == sizes.sizes; })) return;
    report_.left_out.push_back(dims_.empty() ? error.message()
                                             : fmt::format("{}: {}", text_of(sizes.sizes), error.message()));
  }

  template <class T>
  static Result<void> ignored(Result<T> result) {
    if (!result.ok()) return std::move(result).error();
    return {};
  }

  bool is_wanted() const {
    const Equivalence& now = report_.equivalence;
    const int others = now.uncompared().empty() ? 0 : kMoreForUncompared;
    return now.passed() && now.runs < options_.runs + more_wanted_ + others;
  }
  uint64_t next_seed(int failures) const {
    return options_.seed + static_cast<uint64_t>(report_.equivalence.runs) + static_cast<uint64_t>(failures);
  }
  double seconds_left() const { return options_.seconds - seconds_since(start_); }
  bool is_over() const { return seconds_left() <= 0; }

  std::optional<Clock::time_point> deadline() const {
    if (options_.seconds > 1e9) return std::nullopt;
    return start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.seconds));
  }

  std::optional<double> work_of(const Candidate& sizes) const {
    Graph bound = reference_;
    if (!bind_inputs(bound, sizes.sizes, {}).ok()) return std::nullopt;
    return stage_sizes(bound).elements;
  }

  /// As far as the last run tells.
  bool is_too_long(const Candidate& sizes) const {
    if (options_.seconds > 1e9) return false;
    double expected = report_.seconds_a_run;
    const auto before = work_of(ran_.back().first), now = work_of(sizes);
    if (before && now && *before > 0) expected *= *now / *before;
    return expected > seconds_left();
  }

  void sort_by_work(std::vector<Candidate>& candidates, size_t from) const {
    std::vector<std::pair<double, size_t>> order;
    for (size_t k = from; k < candidates.size(); ++k) {
      const auto work = work_of(candidates[k]);
      order.emplace_back(work.value_or(0), k);
    }
    std::sort(order.begin(), order.end());
    std::vector<Candidate> sorted(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(from));
    for (const auto& [work, k] : order) sorted.push_back(candidates[k]);
    candidates = std::move(sorted);
  }

  const Graph& reference_;
  const Graph& candidate_;
  const CheckOptions& options_;
  const std::vector<std::string> dims_;
  const Clock::time_point start_ = Clock::now();
  CheckReport report_;
  std::vector<std::pair<Candidate, double>> ran_;  ///< with the seconds that it took
  bool runs_perhaps_ = false;                      ///< the last attempt had inputs
  int failures_ = 0;
  int more_wanted_ = 0;  ///< a run on equal integers is one more
  std::string refusal_;
  std::vector<Failure> failed_at_;  ///< in the order in which they were met
};

}  // namespace

std::string UncheckedNode::text() const {
  return fmt::format("not checked: {}, because it runs on no input tried: {}", node, reason);
}

std::vector<std::string> CheckReport::lines() const {
  std::vector<std::string> lines;
  if (equivalence.runs == 0)
    lines.push_back("not checked: the model is as it was");
  else
    lines.push_back(fmt::format("checked on {} seeded input{} in double precision: {}", equivalence.runs,
                                equivalence.runs == 1 ? "" : "s", equivalence.text()));
  std::vector<std::string> bound;
  for (const auto& named : sizes) bound.push_back(text_of(named));
  if (!bound.empty()) lines.push_back(fmt::format("with {}", fmt::join(bound, "; ")));
  if (out_of_time && equivalence.runs < runs_wanted)
    lines.push_back(
        fmt::format("not on {}: the time for the check was over, one takes {:.1f} s", runs_wanted, seconds_a_run));
  if (!left_out.empty())
    lines.push_back(fmt::format("left out for want of memory: {}{}", left_out.front(),
                                left_out.size() == 1 ? "" : fmt::format(" (and {} other sizes)", left_out.size() - 1)));
  if (const int others = nodes_unchecked - static_cast<int>(cut_out.size()); others > 0)
    lines.push_back(fmt::format("{} nodes cannot be run here and were not checked: they are as they were", others));
  for (const UncheckedNode& node : cut_out) lines.push_back(node.text());
  return lines;
}

Result<CheckReport> check_same(const Graph& before, const Graph& after, const CheckOptions& options) {
  const auto start = Clock::now();
  std::vector<NodePair> cut_out;
  std::vector<UncheckedNode> unchecked;
  for (std::optional<Error> refusal;;) {
    TRY(const CutPair cut, cut_at_opaque(before, after, cut_out));
    if (refusal && cut.before.graph.nodes().empty()) {
      if (structural_hash(before) != structural_hash(after)) return *std::move(refusal);
      CheckReport report;
      report.nodes_unchecked = static_cast<int>(unchecked.size());
      report.cut_out = std::move(unchecked);
      return report;
    }
    CheckOptions rest = options;
    rest.seconds -= seconds_since(start);
    Check check(cut, rest);
    auto report = check.run();
    if (report.ok()) {
      report->cut_out = std::move(unchecked);
      return report;
    }
    if (report.error().kind != ErrorKind::kUnsupported) return report;
    if (!refusal) refusal = report.error();
    const auto failure = check.most_frequent_failure();
    if (!failure || cut_out.size() == kMostCuts) return *std::move(refusal);
    const auto counterpart = find_counterpart(before, failure->node, after);
    const std::string node = label(before, failure->node);
    if (!counterpart)
      return unsupported("check", "{}; {} can't be cut out: the new model has no such node", refusal->what, node);
    cut_out.push_back({failure->node, *counterpart});
    unchecked.push_back({node, failure->reason});
  }
}

}  // namespace isomer
