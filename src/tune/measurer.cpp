#include "tune/measurer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/tensor.h"
#include "util/stop.h"

namespace isomer::tune {
namespace {

using kernel::Kernel;

/// How far sums of floats in another order may be from each other, of the largest element: a few thousand roundings.
double tolerance(DataType dtype) {
  return dtype == DataType::kFloat64 ? 1e-12 : dtype == DataType::kFloat32 ? 1e-4 : 0.05;
}
/// The chance of a faster kernel to win a round; evidence that decides a contest: 99 to 1 for it, 20 to 1 against it.
constexpr double kWins = 0.85;
const double kWon = std::log(99), kLost = -std::log(20);
constexpr int kMostRounds = 32;
/// As slow as this a kernel does not come by what else the machine does.
constexpr double kFarSlower = 0.6;
/// Candidates that are timed before the best one is again.
constexpr size_t kBesideBest = 4;
/// Up to which sums of small integers are exact.
constexpr double kExact = 0x1p24;

Measured fault(Fault kind, std::string why) { return {kind, std::move(why), 0, 0}; }

/// Empty, or where two outputs differ.
std::string difference(const kernel::Buffer& buffer, std::span<const std::byte> found,
                       std::span<const std::byte> expected, Numbers numbers) {
  const DataType dtype = buffer.dtype;
  if (std::ranges::equal(found, expected) || !is_computable(dtype)) return {};
  const int64_t count = element_count(buffer.shape).value();
  const auto tensor = [&](std::span<const std::byte> bytes) {
    return Tensor(dtype, {count}, std::vector<std::byte>(bytes.begin(), bytes.end()));
  };
  const Tensor ours = tensor(found), theirs = tensor(expected);
  const auto at = [&](const Tensor& values, int64_t k) {
    return is_float(dtype) ? values.real(k) : static_cast<double>(values.integer(k));
  };
  double largest = 0;
  bool is_exact = numbers == Numbers::kIntegers || !is_float(dtype);
  for (int64_t k = 0; k < count; ++k) {
    const double size = std::fabs(at(theirs, k));
    if (std::isfinite(size)) largest = std::max(largest, size);
    is_exact = is_exact && size == std::floor(size) && size < kExact;
  }
  const double allowed = is_exact ? 0 : tolerance(dtype) * largest;
  for (int64_t k = 0; k < count; ++k) {
    const double a = at(ours, k), b = at(theirs, k);
    if (a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= allowed) continue;
    return fmt::format("element {} of an output: {} expected, {} found", k, b, a);
  }
  return {};
}

}  // namespace

std::vector<Result<ClockJob>> Measurer::compile(std::span<const Candidate> candidates) const {
  std::vector<const Kernel*> kernels;
  for (const Candidate& candidate : candidates) kernels.push_back(&candidate.made.kernel);
  return compiler_.compile(kernels);
}

Result<Measured> Measurer::time(const Result<ClockJob>& job, double hopeless_us, double possible_us) {
  if (!job.ok() && job.error().kind == ErrorKind::kStopped) return Error(job.error());
  if (!job.ok()) return fault(Fault::kCode, job.error().message());
  TRY(Measured measured, worker_.time(*job, hopeless_us));
  const auto is_possible = [&] { return measured.fault != Fault::kNone || measured.microseconds >= possible_us; };
  if (!is_possible()) {
    TRY(measured, worker_.time(*job, hopeless_us));
  }
  if (!is_possible())
    return fault(Fault::kImpossible,
                 fmt::format("{:.3g} us or more expected, as the machine's peaks have it, {:.3g} found", possible_us,
                             measured.microseconds));
  if (measured.fault != Fault::kCrash) return measured;
  // Between pages that can't be touched it may be told of which buffer it left.
  TRY(const KernelOutputs checked, worker_.outputs(*job, Numbers::kReals));
  return checked.fault == Fault::kBounds ? fault(checked.fault, checked.why) : measured;
}

double Contest::evidence() const { return won * std::log(kWins / 0.5) + (rounds - won) * std::log((1 - kWins) / 0.5); }
bool Contest::is_won() const { return evidence() >= kWon && ratio > control; }
bool Contest::is_decided() const {
  return rounds == kMostRounds || evidence() >= kWon || evidence() <= kLost || ratio < kFarSlower;
}

Result<Contest> Measurer::contest(const ClockJob& first, const ClockJob& second) {
  Contest result;
  std::vector<double> ratios;
  double before = 0;
  while (!result.is_decided()) {
    Measured ours, theirs;
    // The order changes from round to round: what grows slower with time does so for both.
    const bool is_ours_first = result.rounds % 2 == 0;
    for (const bool is_ours : {is_ours_first, !is_ours_first}) {
      TRY((is_ours ? ours : theirs), time(is_ours ? first : second));
    }
    if (ours.fault != Fault::kNone) return Contest();  // the machine's, or the first's: nothing is known of the second
    if (theirs.fault != Fault::kNone) {
      result.fault = theirs;
      return result;
    }
    if (before > 0) {
      const double again = std::max(ours.microseconds / before, before / ours.microseconds);
      // A round that something else disturbed says nothing of either.
      result.control = result.rounds == 1 ? again : std::min(result.control, again);
    }
    before = ours.microseconds;
    ratios.push_back(ours.microseconds / theirs.microseconds);
    ++result.rounds;
    result.won += ratios.back() > 1;
    std::nth_element(ratios.begin(), ratios.begin() + std::ssize(ratios) / 2, ratios.end());
    result.ratio = ratios[ratios.size() / 2];
  }
  return result;
}

Result<std::optional<Measured>> Measurer::check(const Candidate& candidate, const ClockJob& job,
                                                const Candidate& reference) {
  std::optional<Measured> result;
  // With what depends on constants alone, which is computed beforehand elsewhere.
  const Kernel whole = candidate.schedule.finish(), whole_reference = reference.schedule.finish();
  const std::vector<Result<ClockJob>> jobs = compiler_.compile(std::vector{&whole, &whole_reference});
  for (const Result<ClockJob>& each : jobs)
    if (!each.ok() && each.error().kind == ErrorKind::kStopped) return Error(each.error());
  if (!jobs[0].ok()) return std::optional(fault(Fault::kCode, jobs[0].error().message()));
  if (!jobs[1].ok()) return result;
  for (const Numbers numbers : {Numbers::kIntegers, Numbers::kReals}) {
    // What the reference does not compute (an index out of range) says nothing of the candidate.
    TRY(const KernelOutputs expected, worker_.outputs(*jobs[1], numbers));
    if (expected.fault != Fault::kNone) continue;
    for (const ClockJob* ours : {&job, &*jobs[0]}) {
      TRY(const KernelOutputs found, worker_.outputs(*ours, numbers));
      if (found.fault != Fault::kNone) return std::optional(fault(found.fault, found.why));
      if (ours == &job) continue;  // what weights it was given are packed of is not known
      size_t k = 0;
      for (const int output : reference.schedule.kernel().outputs) {
        if (output < 0) continue;
        const kernel::Buffer& buffer = reference.schedule.kernel().buffers[static_cast<size_t>(output)];
        std::string wrong = difference(buffer, found.values[k], expected.values[k], numbers);
        if (!wrong.empty()) return std::optional(fault(Fault::kValue, std::move(wrong)));
        ++k;
      }
    }
    result = Measured{};
  }
  return result;
}

Result<Measured> time_beside_best(Measurer& measurer, const Result<ClockJob>& best, size_t count,
                                  std::vector<double>& best_us,
                                  const std::function<Result<void>(size_t number, double best_us)>& time) {
  TRY(const Measured first, measurer.time(best));
  if (first.fault != Fault::kNone) return first;
  double now_us = first.microseconds;
  for (size_t begin = 0; begin < count; begin += kBesideBest) {
    for (size_t k = begin; k < std::min(begin + kBesideBest, count); ++k) {
      best_us.push_back(now_us);
      TRY_VOID(time(k, now_us));
    }
    const auto again = measurer.time(best);
    if (!again.ok() && again.error().kind != ErrorKind::kUnsupported) return Error(again.error());
    if (!again.ok() || again->fault != Fault::kNone) continue;  // what it took before is what is known
    now_us = again->microseconds;
    for (size_t k = begin; k < best_us.size(); ++k) best_us[k] = std::min(best_us[k], now_us);
  }
  return first;
}

CodeAhead::CodeAhead(const Measurer& measurer, std::span<const Candidate> candidates) : made_(candidates.size()) {
  thread_ = std::thread([this, &measurer, candidates, stops = stops_of_thread()] {
    const WorksFor caller(stops);
    for (size_t k = 0; k < candidates.size() && !ends_; ++k) {
      try {
        made_[k].set_value(std::move(measurer.compile(candidates.subspan(k, 1))[0]));
      } catch (...) {
        made_[k].set_exception(std::current_exception());
      }
    }
  });
}

CodeAhead::~CodeAhead() {
  ends_ = true;
  thread_.join();
}

}  // namespace isomer::tune
