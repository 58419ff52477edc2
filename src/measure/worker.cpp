#include "measure/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstring>
#include <string>

#include "runtime/plan_bytes.h"
#include "runtime/plan_fields.h"
#include "util/subprocess.h"

namespace isomer {
namespace {

/// What the worker is asked.
struct Question {
  bool is_time = true;  ///< else outputs
  Numbers numbers = Numbers::kReals;
  uint64_t hopeless_us = 0;  ///< the bits of a double
  ClockJob job;
};

/// What the worker found.
struct Finding {
  bool is_done = false;
  uint64_t microseconds = 0;  ///< the bits of a double
  int64_t runs = 0;
  std::vector<std::vector<std::byte>> outputs;
  bool is_kernels_fault = false;  ///< else something of the machine was missing
  std::string where, what;
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
void fields(Archive& archive, Question& question) {
  archive(question.is_time, question.numbers, question.hopeless_us, question.job);
}

template <class Archive>
void fields(Archive& archive, Finding& finding) {
  archive(finding.is_done, finding.microseconds, finding.runs, finding.outputs, finding.is_kernels_fault, finding.where,
          finding.what);
}

template <class T>
std::string bytes_of(const T& item) {
  runtime::PlanWriter writer;
  writer(item);
  return std::move(writer.bytes);
}

template <class T>
std::optional<T> read(std::string_view bytes) {
  T item;
  runtime::PlanReader reader(bytes);
  reader(item);
  return reader.is_complete() ? std::optional(std::move(item)) : std::nullopt;
}

/// The worker ran code that may write anywhere: what it says may be anything.
Result<Finding> finding_of(std::string_view answer) {
  std::optional<Finding> finding = read<Finding>(answer);
  if (!finding) return invalid("", "an answer of the process that measures expected, other bytes found");
  if (!finding->is_done)
    return Error{finding->is_kernels_fault ? ErrorKind::kInvalid : ErrorKind::kUnsupported, finding->where,
                 finding->what};
  return *std::move(finding);
}

Finding found_by(KernelClock& clock, const std::optional<Question>& question) {
  Finding finding;
  const auto failed = [&](Error error) {
    finding.is_kernels_fault = error.kind == ErrorKind::kInvalid;
    finding.where = std::move(error.where);
    finding.what = std::move(error.what);
  };
  if (!question) {
    failed(invalid("", "a job to measure expected, other bytes found"));
  } else if (question->is_time) {
    if (auto time = clock.time(question->job, std::bit_cast<double>(question->hopeless_us)); time.ok())
      finding = {true, std::bit_cast<uint64_t>(time->microseconds), time->runs, {}, false, {}, {}};
    else
      failed(std::move(time).error());
  } else if (auto outputs = clock.outputs(question->job, question->numbers); outputs.ok()) {
    finding = {true, 0, 0, *std::move(outputs), false, {}, {}};
  } else {
    failed(std::move(outputs).error());
  }
  return finding;
}

}  // namespace

Result<void> MeasuringWorker::start() {
  if (process_ || here_) return {};
  if (const auto program = own_program("isomer-measure"); !program.empty()) {
    TRY(process_, WorkerProcess::start({program.string(), std::to_string(options_.threads),
                                        std::to_string(static_cast<int>(options_.weights))}));
  } else {
    here_.emplace(options_.threads, options_.weights, options_.memory);
  }
  return {};
}

Result<std::string> MeasuringWorker::ask(const ClockJob& job, std::string_view question) {
  TRY_VOID(options_.memory.check(job.bytes(), "measuring a kernel"));
  auto reply = process_->ask(question, options_.seconds);
  if (reply.ok() && reply->answer) return *std::move(reply->answer);
  process_.reset();
  if (!reply.ok()) return std::move(reply).error();
  if (reply->is_late)
    return invalid("", "a kernel that takes at most {} s in all its runs expected, it took longer", options_.seconds);
  constexpr int kFromOutside[] = {0, SIGKILL, SIGTERM, SIGHUP};
  if (std::ranges::find(kFromOutside, reply->signal) != std::end(kFromOutside))
    return unsupported("", "a process that measures expected, it was ended from outside");
  return invalid("", "a kernel that runs to its end expected, signal {} ({}) found", reply->signal,
                 strsignal(reply->signal));
}

Result<KernelTime> MeasuringWorker::time(const ClockJob& job, double hopeless_us) {
  TRY_VOID(start());
  if (here_) return here_->time(job, hopeless_us);
  const Question question{true, Numbers::kReals, std::bit_cast<uint64_t>(hopeless_us), job};
  TRY(const std::string answer, ask(job, bytes_of(question)));
  TRY(const Finding finding, finding_of(answer));
  const KernelTime time{std::bit_cast<double>(finding.microseconds), finding.runs};
  if (!std::isfinite(time.microseconds) || time.microseconds <= 0 || time.runs < 1)
    return invalid("", "a time that a kernel can take expected, {} us in {} runs found", time.microseconds, time.runs);
  return time;
}

Result<std::vector<std::vector<std::byte>>> MeasuringWorker::outputs(const ClockJob& job, Numbers numbers) {
  TRY_VOID(start());
  if (here_) return here_->outputs(job, numbers);
  TRY(const std::string answer, ask(job, bytes_of(Question{false, numbers, 0, job})));
  TRY(Finding finding, finding_of(answer));
  const auto fits = [&](size_t k) {
    return std::ssize(finding.outputs[k]) == job.buffers[static_cast<size_t>(job.outputs[k])].bytes;
  };
  bool all_fit = finding.outputs.size() == job.outputs.size();
  for (size_t k = 0; all_fit && k < finding.outputs.size(); ++k) all_fit = fits(k);
  if (!all_fit) return invalid("", "outputs of the kernel's sizes expected, others found");
  return std::move(finding.outputs);
}

void answer_jobs(int threads, Weights weights) {
  KernelClock clock(threads, weights);
  while (const auto question = next_question()) answer(bytes_of(found_by(clock, read<Question>(*question))));
}

}  // namespace isomer
