#include "tune/predictor.h"

#include <limits>
#include <map>
#include <utility>

#include "tune/trials.h"
#include "tune/tuner.h"
#include "util/stop.h"

namespace isomer::tune {
namespace {

/// Trials of earlier runs that a model learns from.
constexpr int64_t kLearned = 3000, kLearnedOfTraces = 12000;
/// Of the time, in which trials of earlier runs are made again.
constexpr double kOfEarlier = 0.1;
/// As models number targets.
constexpr size_t kThisTarget = 0;

}  // namespace

bool has_time_for_earlier(const TuneOptions& options, Clock::time_point begin, size_t of) {
  return !options.seconds || seconds_since(begin) < kOfEarlier * *options.seconds / static_cast<double>(of);
}

Predictor::Predictor(const TuneOptions& options, std::function<bool()> ends)
    : options_(options), ends_(std::move(ends)) {
  if (options.drafts) draft_ = draft_model();
  if (!options.learns || options.strategy != "evolution") return;
  CostModelOptions of_model = options.cost_model;
  of_model.seed = options.seed;
  auto model = open_model(of_model);
  if (model.ok())
    model_ = *std::move(model);
  else
    why_no_model_ = model.error().message();
}

std::optional<std::vector<double>> Predictor::scores(const std::vector<Candidate>& candidates) {
  for (CostModel* model : {model_.get(), draft_.get()}) {
    if (!model) continue;
    std::vector<Row> rows(candidates.size());
    pool_.run(std::ssize(candidates), [&](int64_t k, int) {
      if (!ends_()) rows[static_cast<size_t>(k)] = model->look(candidates[static_cast<size_t>(k)], options_.machine);
    });
    if (ends_()) return std::nullopt;
    auto scores = model->score(rows, kThisTarget);
    if (scores.ok() && *scores) return *std::move(scores);
    if (!scores.ok() && scores.error().kind != ErrorKind::kStopped) why_no_model_ = scores.error().message();
  }
  return std::nullopt;
}

Row Predictor::look(const Candidate& candidate) const {
  return model_ ? model_->look(candidate, options_.machine) : Row();
}

void Predictor::add(size_t task, Row seen, std::optional<double> microseconds) {
  if (model_) add({task, kThisTarget}, std::move(seen), microseconds);
}

void Predictor::add(const Origin& origin, Row seen, std::optional<double> microseconds) {
  model_->add(origin, std::move(seen), microseconds.value_or(std::numeric_limits<double>::infinity()));
}

Result<void> Predictor::learn_from(const kernel::Records& records, const std::string& target,
                                   const std::string& generator, size_t tasks,
                                   const std::function<std::optional<OwnTask>(const kernel::Trials&)>& own) {
  if (!model_) return {};
  // Others have heads of their own in a model that reads traces; to trees all targets are one.
  const bool reads_traces = options_.cost_model.kind == CostModelKind::kTraces;
  kernel::RecordFilter filter = {.generator = generator};
  if (!reads_traces) filter.target = target;
  TRY(const std::vector<kernel::Trials> all, records.trials(filter, reads_traces ? kLearnedOfTraces : kLearned));
  std::map<std::string, size_t> targets = {{target, kThisTarget}};
  std::vector<From> from;
  for (const kernel::Trials& of : all) {
    const size_t number = targets.try_emplace(of.key.target, targets.size()).first->second;
    const std::optional<OwnTask> task = own(of);
    from.push_back({{task ? task->number : tasks++, number}, task ? task->scale : 1});
  }
  const auto begin = Clock::now();
  bool is_more = true;
  for (size_t behind = 0; std::exchange(is_more, false); behind += kMadeAgain)
    for (size_t k = 0; k < all.size(); ++k) {
      TRY_VOID(check_stop());
      if (all[k].trials.size() <= behind) continue;
      if (!has_time_for_earlier(options_, begin, 1)) return {};
      is_more = true;
      learn(all[k], behind, from[k]);
    }
  return {};
}

/// From the newest trials but for those that are behind them.
void Predictor::learn(const kernel::Trials& of, size_t behind, const From& from) {
  const auto end = of.trials.end() - static_cast<std::ptrdiff_t>(behind);
  const auto count = static_cast<std::ptrdiff_t>(std::min(kMadeAgain, of.trials.size() - behind));
  const kernel::Trials part{of.key, of.maker, of.name, of.text, {end - count, end}};
  std::vector<Row> rows(part.trials.size());
  const auto see = [&](size_t k, const Candidate& candidate, const kernel::Machine& machine) {
    rows[k] = model_->look(candidate, machine);
  };
  if (!replay(part, options_.space, see).ok()) return;
  for (size_t k = 0; k < rows.size(); ++k) {
    if (rows[k].empty()) continue;
    std::optional<double> us = part.trials[k].microseconds;
    if (us) *us *= from.scale;
    add(from.origin, std::move(rows[k]), us);
  }
}

}  // namespace isomer::tune
