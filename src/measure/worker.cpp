#include "measure/worker.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstring>
#include <new>
#include <string>

#include "graph/te/integer.h"
#include "measure/system_calls.h"
#include "runtime/plan_bytes.h"
#include "runtime/plan_fields.h"
#include "util/process_limits.h"
#include "util/subprocess.h"
#include "util/version.h"

namespace isomer {
namespace {

/// What the worker says before it is asked about a kernel: until then nothing is a kernel's fault.
struct Readiness {
  std::string version;
  int threads = 0;  ///< that kernels run on
};

/// What the worker is asked.
struct Question {
  int64_t number = 0;
  bool is_time = true;  ///< else outputs
  Numbers numbers = Numbers::kReals;
  uint64_t hopeless_us = 0, seconds = 0;  ///< the bits of doubles
  ClockJob job;
};

/// What the worker found.
struct Finding {
  int64_t number = 0;   ///< the question's
  std::string missing;  ///< something of the machine; the kernel has no fault then
  Fault fault = Fault::kNone;
  std::string why;
  uint64_t microseconds = 0;  ///< the bits of a double
  int64_t runs = 0;
  std::vector<std::vector<std::byte>> outputs;
};

}  // namespace

template <class Archive>
void fields(Archive& archive, IntegerRange& range) {
  archive(range.low, range.high);
}

template <class Archive>
void fields(Archive& archive, ClockJob::Buffer& buffer) {
  archive(buffer.use, buffer.dtype, buffer.bytes, buffer.range, buffer.seed);
}

template <class Archive>
void fields(Archive& archive, ClockJob& job) {
  archive(job.buffers, job.outputs, job.parts, job.code);
}

namespace {

template <class Archive>
void fields(Archive& archive, Readiness& readiness) {
  archive(readiness.version, readiness.threads);
}

template <class Archive>
void fields(Archive& archive, Question& question) {
  archive(question.number, question.is_time, question.numbers, question.hopeless_us, question.seconds, question.job);
}

template <class Archive>
void fields(Archive& archive, Finding& finding) {
  archive(finding.number, finding.missing, finding.fault, finding.why, finding.microseconds, finding.runs,
          finding.outputs);
}

Finding faulty(Fault fault, std::string why) {
  Finding finding;
  finding.fault = fault;
  finding.why = std::move(why);
  return finding;
}

/// Of the process that measures, for whoever finds in a signal handler what a kernel touched.
int64_t number_at_hand = 0;
const ClockJob* job_at_hand = nullptr;

/// The kernel has called nothing: no lock is held by its thread, and there is memory.
[[noreturn]] void tell_and_end(const Trespass& trespass) {
  Finding finding = faulty(Fault::kBounds, sentence(*job_at_hand, trespass));
  finding.number = number_at_hand;
  answer(runtime::to_bytes(finding));
  _exit(1);
}

Result<Finding> found_by(KernelClock& clock, const Question& question) {
  Finding finding;
  if (question.is_time) {
    TRY(Measured measured, clock.time(question.job, std::bit_cast<double>(question.hopeless_us)));
    finding = faulty(measured.fault, std::move(measured.why));
    finding.microseconds = std::bit_cast<uint64_t>(measured.microseconds);
    finding.runs = measured.runs;
  } else {
    TRY(KernelOutputs outputs, clock.outputs(question.job, question.numbers, tell_and_end));
    finding = faulty(outputs.fault, std::move(outputs.why));
    finding.outputs = std::move(outputs.values);
  }
  return finding;
}

/// Measuring a kernel takes at most so much memory beside what the process has.
int64_t memory_for(const ClockJob& job, int threads) {
  constexpr int64_t kCopies = 6, kMore = int64_t{1} << 30;
  return kCopies * (job.bytes() + threads * job.scratch_bytes()) + kMore;
}

/// What it is likely to take, here and there: buffers, scratch memory and what the clock has; of outputs those of two
/// runs beside the buffers, and those that are on their way.
int64_t memory_wanted(const Question& question, int threads) {
  constexpr int64_t kCopies = 3;
  const ClockJob& job = question.job;
  const int64_t scratch = te::saturating_mul(threads, job.scratch_bytes());
  const int64_t outputs = question.is_time ? 0 : te::saturating_mul(kCopies, job.output_bytes());
  return te::saturating_add(te::saturating_add(job.bytes(), scratch),
                            te::saturating_add(outputs, KernelClock::own_bytes(threads)));
}

std::string answer_of(KernelClock& clock, int threads, const std::optional<Question>& question) {
  if (!question) return runtime::to_bytes(faulty(Fault::kCrash, "a job to measure expected, other bytes found"));
  number_at_hand = question->number;
  job_at_hand = &question->job;
  limit_growth(memory_for(question->job, threads));
  limit_cpu(threads * std::bit_cast<double>(question->seconds));
  Finding finding;
  try {
    auto found = found_by(clock, *question);
    if (found.ok())
      finding = *std::move(found);
    else
      finding.missing = found.error().message();
  } catch (const std::bad_alloc&) {
    finding.missing = "memory to measure a kernel in expected, less found";
  }
  finding.number = question->number;
  return runtime::to_bytes(finding);
}

/// On a busy machine what takes so many seconds of a core takes longer.
constexpr double kPatience = 10;
constexpr double kSecondsToStart = 60;

Finding nonsense() {
  return faulty(Fault::kCrash, "an answer of the process that measures expected, other bytes found");
}

/// The worker ran code that may write anywhere: what it says may be anything.
Result<Finding> finding_of(std::string_view answer, const Question& question) {
  std::optional<Finding> finding = runtime::from_bytes<Finding>(answer);
  if (!finding || finding->number != question.number || static_cast<size_t>(finding->fault) >= kFaults)
    return nonsense();
  if (!finding->missing.empty()) return unsupported("", "{}", finding->missing);
  return *std::move(finding);
}

/// Of a process that gave no answer: what the kernel did, or an error where it was ended from outside.
Result<Finding> silence_of(const WorkerProcess::Reply& reply, double seconds) {
  if (reply.is_late || reply.signal == SIGXCPU)
    return faulty(Fault::kLate,
                  fmt::format("a kernel that takes at most {} s in all its runs expected, it took longer", seconds));
  if (reply.is_ended_from_outside())
    return unsupported("", "a process that measures expected, it was ended from outside");
  if (reply.signal != 0)
    return faulty(Fault::kCrash, fmt::format("a kernel that runs to its end expected, signal {} ({}) found",
                                             reply.signal, strsignal(reply.signal)));
  if (reply.exits)
    return faulty(Fault::kCrash,
                  fmt::format("a kernel that returns expected, the process ended with code {}", *reply.exits));
  return nonsense();
}

/// Of a process that has had no kernel yet. Another build, which a folder may hold still, answers in another way.
Result<void> check_ready(const WorkerProcess::Reply& reply, int threads) {
  if (reply.is_late)
    return unsupported("", "a process that measures within {} s expected, none found", kSecondsToStart);
  if (reply.is_ended_from_outside())
    return unsupported("", "a process that measures expected, it was ended from outside");
  if (reply.signal != 0)
    return unsupported("", "a process that measures expected, signal {} ({}) found as it began", reply.signal,
                       strsignal(reply.signal));
  if (reply.exits)
    return unsupported("", "a process that measures expected, it ended with code {} as it began", *reply.exits);
  const auto ready = reply.answer ? runtime::from_bytes<Readiness>(*reply.answer) : std::nullopt;
  if (!ready || ready->version != version_text())
    return unsupported("", "a process that measures of {} expected, {} found", version_text(),
                       ready ? ready->version : "another program");
  if (ready->threads != threads)
    return unsupported("", "a process that measures on {} threads expected, {} found", threads, ready->threads);
  return {};
}

}  // namespace

Result<WorkerProcess::Reply> MeasuringWorker::begin() {
  if (const auto program = own_program("isomer-measure"); !program.empty()) {
    TRY(process_, WorkerProcess::start({program.string(), std::to_string(options_.threads),
                                        std::to_string(static_cast<int>(options_.weights))}));
  } else {
    TRY(process_, WorkerProcess::fork([this] { answer_jobs(options_.threads, options_.weights); }));
  }
  return process_->ask("", kSecondsToStart);
}

Result<void> MeasuringWorker::start() {
  if (process_) return {};
  auto reply = begin();
  if (reply.ok() && reply->is_ended_from_outside()) reply = begin();
  Result<void> ready = reply.ok() ? check_ready(*reply, options_.threads) : std::move(reply).error();
  if (!ready.ok()) process_.reset();
  return ready;
}

template <class Finding, class Question>
Result<Finding> MeasuringWorker::ask(Question question) {
  TRY_VOID(options_.memory.check(memory_wanted(question, options_.threads), "measuring a kernel"));
  question.number = ++asked_;
  question.seconds = std::bit_cast<uint64_t>(options_.seconds);
  const auto asked = [&]() -> Result<WorkerProcess::Reply> {
    TRY_VOID(start());
    return process_->ask(runtime::to_bytes(question), kPatience * options_.seconds);
  };
  auto reply = asked();
  if (reply.ok() && reply->is_ended_from_outside()) {
    process_.reset();
    reply = asked();
  }
  auto finding = !reply.ok()     ? Result<Finding>(std::move(reply).error())
                 : reply->answer ? finding_of(*reply->answer, question)
                                 : silence_of(*reply, options_.seconds);
  if (!finding.ok() || finding->fault != Fault::kNone) process_.reset();
  return finding;
}

Result<Measured> MeasuringWorker::time(const ClockJob& job, double hopeless_us) {
  TRY(const Finding finding,
      ask<Finding>(Question{0, true, Numbers::kReals, std::bit_cast<uint64_t>(hopeless_us), 0, job}));
  if (finding.fault != Fault::kNone) return Measured{finding.fault, finding.why, 0, 0};
  const double microseconds = std::bit_cast<double>(finding.microseconds);
  if (!std::isfinite(microseconds) || microseconds <= 0 || finding.runs < 1) {
    process_.reset();
    return Measured{
        Fault::kImpossible,
        fmt::format("a time that a kernel can take expected, {} us in {} runs found", microseconds, finding.runs), 0,
        0};
  }
  return Measured{Fault::kNone, {}, microseconds, finding.runs};
}

Result<KernelOutputs> MeasuringWorker::outputs(const ClockJob& job, Numbers numbers) {
  TRY(Finding finding, ask<Finding>(Question{0, false, numbers, 0, 0, job}));
  if (finding.fault != Fault::kNone) return KernelOutputs{finding.fault, std::move(finding.why), {}};
  const auto fits = [&](size_t k) {
    return std::ssize(finding.outputs[k]) == job.buffers[static_cast<size_t>(job.outputs[k])].bytes;
  };
  bool all_fit = finding.outputs.size() == job.outputs.size();
  for (size_t k = 0; all_fit && k < finding.outputs.size(); ++k) all_fit = fits(k);
  if (!all_fit) {
    process_.reset();
    return KernelOutputs{Fault::kCrash, "outputs of the kernel's sizes expected, others found", {}};
  }
  return KernelOutputs{Fault::kNone, {}, std::move(finding.outputs)};
}

void answer_jobs(int threads, Weights weights) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  KernelClock clock(threads, weights);
  forbid_system_calls_of_new_code();
  if (!next_question()) return;
  answer(runtime::to_bytes(Readiness{version_text(), clock.threads()}));
  while (const auto question = next_question())
    answer(answer_of(clock, threads, runtime::from_bytes<Question>(*question)));
}

}  // namespace isomer
