#include "tune/measurer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/tensor.h"
#include "util/parallel.h"
#include "util/threads.h"

namespace isomer::tune {
namespace {

using kernel::Kernel;

/// How far sums of floats in another order may be from each other, of the largest element: a few thousand roundings.
double tolerance(DataType dtype) {
  return dtype == DataType::kFloat64 ? 1e-12 : dtype == DataType::kFloat32 ? 1e-4 : 0.05;
}
/// Up to which sums of small integers are exact.
constexpr double kExact = 0x1p24;

Measured fault(Fault kind, std::string why) { return {kind, std::move(why), 0, 0}; }

/// What a candidate is told by: its own fault, or an error of the machine's.
Result<Measured> faulty(const Error& error) {
  if (error.kind != ErrorKind::kInvalid) return error;
  return fault(error.what.find("it took longer") != std::string::npos ? Fault::kLate : Fault::kCrash, error.message());
}

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

std::string_view name(Fault fault) {
  constexpr std::string_view kNames[] = {"none", "code", "crash", "time", "value"};
  return kNames[static_cast<size_t>(fault)];
}

std::vector<Result<ClockJob>> Measurer::compile(std::span<const Candidate> candidates) const {
  std::vector<Result<ClockJob>> jobs(candidates.size(), unsupported("", "code expected, none made"));
  ThreadPool pool(static_cast<int>(std::min<int64_t>(available_threads(), std::ssize(candidates))));
  pool.run(std::ssize(candidates), [&](int64_t k, int) {
    const Kernel& kernel = candidates[static_cast<size_t>(k)].made.kernel;
    auto code = kernel::compile(kernel, target_);
    jobs[static_cast<size_t>(k)] = code.ok() ? Result<ClockJob>(job_of(kernel, code->kernels[0], code->image))
                                             : Result<ClockJob>(std::move(code).error());
  });
  return jobs;
}

Result<Measured> Measurer::time(const Result<ClockJob>& job, double hopeless_us) {
  if (!job.ok()) return fault(Fault::kCode, job.error().message());
  const auto time = worker_.time(*job, hopeless_us);
  if (!time.ok()) return faulty(time.error());
  return Measured{Fault::kNone, {}, time->microseconds, time->runs};
}

Result<Contest> Measurer::contest(const ClockJob& first, const ClockJob& second, int rounds) {
  constexpr int kRoundsOfALostOne = 6;
  Contest result;
  result.may_lose = rounds / kRoundsOfALostOne;
  std::vector<double> ratios;
  double before = 0;
  while (result.rounds < rounds) {
    TRY(const Measured ours, time(first));
    if (ours.fault != Fault::kNone) {
      result.won = 0;  // the machine's, or the first's: nothing is known of the second
      return result;
    }
    TRY(const Measured theirs, time(second));
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
    if (result.won < result.rounds - result.may_lose) break;
  }
  std::nth_element(ratios.begin(), ratios.begin() + std::ssize(ratios) / 2, ratios.end());
  result.ratio = ratios[ratios.size() / 2];
  return result;
}

Result<ClockJob> Measurer::whole(const Candidate& candidate) const {
  const Kernel kernel = candidate.schedule.finish();
  TRY(const kernel::MachineCode code, kernel::compile(kernel, target_));
  return job_of(kernel, code.kernels[0], code.image);
}

Result<std::optional<Measured>> Measurer::check(const Candidate& candidate, const Candidate& reference) {
  std::optional<Measured> result;
  const auto ours = whole(candidate), theirs = whole(reference);
  if (!ours.ok()) return std::optional(fault(Fault::kCode, ours.error().message()));
  if (!theirs.ok()) return result;
  for (const Numbers numbers : {Numbers::kIntegers, Numbers::kReals}) {
    // What the reference does not compute (an index out of range) says nothing of the candidate.
    const auto expected = worker_.outputs(*theirs, numbers);
    if (!expected.ok() && expected.error().kind == ErrorKind::kInvalid) continue;
    if (!expected.ok()) return Error(expected.error());
    const auto found = worker_.outputs(*ours, numbers);
    if (!found.ok()) {
      TRY(result, faulty(found.error()));
      return result;
    }
    const Kernel& kernel = reference.schedule.kernel();
    size_t k = 0;
    for (const int output : kernel.outputs) {
      if (output < 0) continue;
      std::string wrong = difference(kernel.buffers[static_cast<size_t>(output)], (*found)[k], (*expected)[k], numbers);
      if (!wrong.empty()) return std::optional(fault(Fault::kValue, std::move(wrong)));
      ++k;
    }
    result = Measured{};
  }
  return result;
}

CodeAhead::CodeAhead(const Measurer& measurer, std::span<const Candidate> candidates) : made_(candidates.size()) {
  thread_ = std::thread([this, &measurer, candidates] {
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
