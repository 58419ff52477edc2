#include "measure/worker.h"

#include <fmt/format.h>

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

/// What the worker found.
struct Finding {
  bool is_time = false;
  uint64_t microseconds = 0;  ///< the bits of a double
  int64_t runs = 0;
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
  archive(buffer.use, buffer.dtype, buffer.bytes, buffer.range);
}

template <class Archive>
void fields(Archive& archive, ClockJob& job) {
  archive(job.buffers, job.parts, job.code);
}

namespace {

template <class Archive>
void fields(Archive& archive, Finding& finding) {
  archive(finding.is_time, finding.microseconds, finding.runs, finding.is_kernels_fault, finding.where, finding.what);
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
Result<KernelTime> time_of(const std::optional<Finding>& finding) {
  if (!finding) return invalid("", "an answer of the process that measures expected, other bytes found");
  if (!finding->is_time)
    return Error{finding->is_kernels_fault ? ErrorKind::kInvalid : ErrorKind::kUnsupported, finding->where,
                 finding->what};
  const KernelTime time{std::bit_cast<double>(finding->microseconds), finding->runs};
  if (!std::isfinite(time.microseconds) || time.microseconds <= 0 || time.runs < 1)
    return invalid("", "a time that a kernel can take expected, {} us in {} runs found", time.microseconds, time.runs);
  return time;
}

}  // namespace

Result<KernelTime> MeasuringWorker::time(const ClockJob& job) {
  const auto program = process_ || here_ ? std::filesystem::path() : own_program("isomer-measure");
  if (!program.empty()) {
    TRY(process_, WorkerProcess::start({program.string(), std::to_string(options_.threads),
                                        std::to_string(static_cast<int>(options_.weights))}));
  } else if (!process_ && !here_) {
    here_.emplace(options_.threads, options_.weights, options_.memory);
  }
  if (here_) return here_->time(job);
  TRY_VOID(options_.memory.check(job.bytes(), "measuring a kernel"));
  auto reply = process_->ask(bytes_of(job), options_.seconds);
  if (reply.ok() && reply->answer) return time_of(read<Finding>(*reply->answer));
  process_.reset();
  if (!reply.ok()) return std::move(reply).error();
  if (reply->is_late)
    return invalid("", "a kernel that takes at most {} s in all its runs expected, it took longer", options_.seconds);
  if (reply->signal == SIGKILL || reply->signal == 0)
    return unsupported("", "a process that measures expected, it was ended from outside");
  return invalid("", "a kernel that runs to its end expected, signal {} ({}) found", reply->signal,
                 strsignal(reply->signal));
}

void answer_jobs(int threads, Weights weights) {
  KernelClock clock(threads, weights);
  while (const auto question = next_question()) {
    Finding finding;
    const auto job = read<ClockJob>(*question);
    const Result<KernelTime> time =
        job ? clock.time(*job) : Result<KernelTime>(invalid("", "a job to measure expected, other bytes found"));
    if (time.ok()) {
      finding.is_time = true;
      finding.microseconds = std::bit_cast<uint64_t>(time->microseconds);
      finding.runs = time->runs;
    } else {
      finding.is_kernels_fault = time.error().kind == ErrorKind::kInvalid;
      finding.where = time.error().where;
      finding.what = time.error().what;
    }
    answer(bytes_of(finding));
  }
}

}  // namespace isomer
