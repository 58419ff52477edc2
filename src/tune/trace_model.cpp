#include "tune/trace_model.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tune/attention_net.h"
#include "tune/samples.h"
#include "util/parallel.h"
#include "util/stable_sort.h"
#include "util/stop.h"
#include "util/threads.h"

namespace isomer::tune {
namespace {

/// Candidates of one task that are put in order together, at most; such groups in a step; steps at first, and when more
/// have come, so that however many samples there are training takes some 20 s on one core; passes over few of them.
constexpr size_t kGroup = 32, kBatch = 8, kSteps = 300, kMoreSteps = 60, kPasses = 40;
/// Of Adam (Kingma, Ba 2015); it falls to nothing along half a cosine.
constexpr double kRate = 1.5e-3, kMoreRate = 0.3;
constexpr float kFirstMoment = 0.9F, kSecondMoment = 0.99F, kEpsilon = 1e-8F;
/// Longer gradients are shortened to it.
constexpr float kMostLength = 0.5F;
/// Samples after which it is trained on.
constexpr size_t kManyForTraces = 512;
/// Sequences that a thread scores at a time.
constexpr size_t kAtATime = 16;

class Adam {
 public:
  void step(std::vector<float>& parameters, std::vector<float>& gradient, double rate) {
    first_.resize(parameters.size());
    second_.resize(parameters.size());
    ++steps_;
    double square = 0;
    for (const float each : gradient) square += static_cast<double>(each) * each;
    const float shorter = std::min(1.0F, kMostLength / (static_cast<float>(std::sqrt(square)) + kEpsilon));
    const float bias_of_first = 1 - std::pow(kFirstMoment, static_cast<float>(steps_));
    const float bias_of_second = 1 - std::pow(kSecondMoment, static_cast<float>(steps_));
    for (size_t k = 0; k < parameters.size(); ++k) {
      const float by = shorter * gradient[k];
      first_[k] = kFirstMoment * first_[k] + (1 - kFirstMoment) * by;
      second_[k] = kSecondMoment * second_[k] + (1 - kSecondMoment) * by * by;
      parameters[k] -=
          static_cast<float>(rate) * (first_[k] / bias_of_first) / (std::sqrt(second_[k] / bias_of_second) + kEpsilon);
    }
  }

 private:
  std::vector<float> first_, second_;
  int64_t steps_ = 0;
};

/// A row holds a token's word, then its numbers.
constexpr size_t kFloatsOfAToken = 1 + kNumbers;

Row packed(std::span<const Token> tokens) {
  Row row;
  for (const Token& token : tokens) {
    row.push_back(static_cast<float>(token.word));
    row.insert(row.end(), token.numbers.begin(), token.numbers.end());
  }
  return row;
}

void add_packed(Sequences& sequences, const Row& row) {
  std::vector<Token> tokens(row.size() / kFloatsOfAToken);
  for (size_t k = 0; k < tokens.size(); ++k) {
    const float* const token = row.data() + k * kFloatsOfAToken;
    tokens[k].word = static_cast<uint32_t>(*token);
    std::copy_n(token + 1, kNumbers, tokens[k].numbers.begin());
  }
  sequences.add(tokens);
}

/// Candidates of one task and target.
struct Group {
  size_t target = 0;
  Sequences sequences;
  std::vector<float> speeds;
};

class TraceModel : public CostModel {
 public:
  explicit TraceModel(uint64_t seed) : seed_(seed), random_(seed) {}

  Row look(const Candidate& candidate, const kernel::Machine&) const override { return packed(tokens_of(candidate)); }

  void add(const Origin& origin, Row seen, double microseconds) override {
    targets_ = std::max(targets_, origin.target + 1);
    samples_.add(origin, std::move(seen), microseconds);
  }

  Result<std::optional<std::vector<double>>> score(std::span<const Row> candidates, size_t target) override {
    std::optional<std::vector<double>> result;
    // What a target's own head has not learned from nobody knows, however much there is of others.
    if (!samples_.are_enough() || candidates.empty() || !samples_.are_enough_of(target)) return result;
    if (samples_.are_to_be_learned() || samples_.are_to_be_learned_of(target)) TRY_VOID(train(target));
    result.emplace(candidates.size());
    const size_t parts = (candidates.size() + kAtATime - 1) / kAtATime;
    pool_.run(static_cast<int64_t>(parts), [&](int64_t part, int) {
      const size_t begin = static_cast<size_t>(part) * kAtATime, end = std::min(begin + kAtATime, candidates.size());
      Sequences sequences;
      for (size_t k = begin; k < end; ++k) add_packed(sequences, candidates[k]);
      const std::vector<float> scores = net_->scores(sequences, target);
      std::copy(scores.begin(), scores.end(), result->begin() + static_cast<std::ptrdiff_t>(begin));
    });
    return result;
  }

 private:
  /// Errors: it was stopped.
  Result<void> train(size_t target) {
    // Another target brings another head; one that had too little to learn from has it all to learn.
    const bool is_new = !net_ || heads_ != targets_ || !samples_.were_enough_of(target);
    if (is_new) {
      net_.emplace(targets_, seed_);
      heads_ = targets_;
      adam_ = Adam();
    }
    std::map<Origin, std::vector<size_t>> tasks;
    for (size_t k = 0; k < samples_.all().size(); ++k) tasks[samples_.all()[k].origin].push_back(k);
    std::vector<std::vector<size_t>> groups = groups_of(tasks);
    const size_t of_a_pass = (groups.size() + kBatch - 1) / kBatch;
    const size_t steps = std::min(is_new ? kSteps : kMoreSteps, kPasses * of_a_pass);
    for (size_t taken = 0; taken < steps; ++taken) {
      if (groups.empty()) groups = groups_of(tasks);
      TRY_VOID(check_stop());
      const size_t left = groups.size() - std::min(kBatch, groups.size());
      const double along = static_cast<double>(taken) / static_cast<double>(steps);
      step(std::span(groups).subspan(left),
           kRate * (is_new ? 1 : kMoreRate) * 0.5 * (1 + std::cos(along * std::acos(-1))));
      groups.resize(left);
    }
    samples_.learned();
    return {};
  }

  /// Each sample once, in groups of one task, at random.
  std::vector<std::vector<size_t>> groups_of(const std::map<Origin, std::vector<size_t>>& tasks) {
    std::vector<std::vector<size_t>> groups;
    for (const auto& [origin, of_task] : tasks) {
      std::vector<size_t> samples = of_task;
      shuffle(samples);
      const size_t parts = (samples.size() + kGroup - 1) / kGroup;
      for (size_t part = 0; part < parts; ++part) {
        std::vector<size_t> group;
        for (size_t k = part; k < samples.size(); k += parts) group.push_back(samples[k]);
        if (group.size() > 1) groups.push_back(std::move(group));
      }
    }
    shuffle(groups);
    return groups;
  }

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (size_t k = items.size(); k > 1; --k) std::swap(items[k - 1], items[random_.below(k)]);
  }

  void step(std::span<const std::vector<size_t>> groups, double rate) {
    std::vector<std::vector<float>> gradients(groups.size());
    pool_.run(std::ssize(groups), [&](int64_t k, int) {
      const Group group = group_of(groups[static_cast<size_t>(k)]);
      std::vector<float>& gradient = gradients[static_cast<size_t>(k)];
      gradient.resize(net_->parameters().size());
      const auto loss = [&](std::span<const float> scores) { return rank_gradient(scores, group.speeds); };
      net_->add_gradient(group.sequences, group.target, loss, gradient);
    });
    // In their order: sums are the same, whoever was first.
    for (size_t k = 1; k < gradients.size(); ++k)
      for (size_t j = 0; j < gradients[0].size(); ++j) gradients[0][j] += gradients[k][j];
    for (float& each : gradients[0]) each /= static_cast<float>(groups.size());
    adam_.step(net_->parameters(), gradients[0], rate);
  }

  Group group_of(const std::vector<size_t>& numbers) const {
    Group group;
    group.target = samples_.all()[numbers.front()].origin.target;
    for (const size_t number : numbers) {
      const Samples::Seen& seen = samples_.all()[number];
      add_packed(group.sequences, seen.row);
      group.speeds.push_back(samples_.speed(seen));
    }
    return group;
  }

  const uint64_t seed_;
  Random random_;
  Samples samples_{kManyForTraces};
  size_t targets_ = 1, heads_ = 0;
  std::optional<AttentionNet> net_;
  Adam adam_;
  ThreadPool pool_{available_threads()};
};

}  // namespace

std::vector<float> rank_gradient(std::span<const float> scores, std::span<const float> speeds) {
  const size_t count = scores.size();
  const auto by = [](std::span<const float> values) {
    return [values](size_t a, size_t b) { return values[a] > values[b]; };
  };
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<size_t> best = order;
  stable_sort(order, by(scores));
  stable_sort(best, by(speeds));
  const auto gain = [&](size_t k) { return std::exp2(speeds[k]) - 1; };
  std::vector<float> discounts(count);
  float most = 0;
  for (size_t place = 0; place < count; ++place) {
    const float discount = 1 / std::log2(2 + static_cast<float>(place));
    discounts[order[place]] = discount;
    most += gain(best[place]) * discount;
  }
  std::vector<float> gradient(count);
  if (most <= 0) return gradient;
  for (size_t a = 0; a < count; ++a)
    for (size_t b = 0; b < count; ++b) {
      if (speeds[a] <= speeds[b]) continue;
      const float weight = (gain(a) - gain(b)) * std::fabs(discounts[a] - discounts[b]) / most;
      const float wrong = weight / (1 + std::exp(scores[a] - scores[b]));
      gradient[a] -= wrong;
      gradient[b] += wrong;
    }
  return gradient;
}

std::unique_ptr<CostModel> trace_model(uint64_t seed) { return std::make_unique<TraceModel>(seed); }

}  // namespace isomer::tune
