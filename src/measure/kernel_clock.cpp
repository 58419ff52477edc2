#include "measure/kernel_clock.h"

#include <immintrin.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "runtime/artifact.h"
#include "runtime/call.h"
#include "runtime/cpu_features.h"
#include "runtime/math_table.h"
#include "util/clock.h"
#include "util/threads.h"

namespace isomer {
namespace {

using runtime::Outcome;

constexpr int kLeastRuns = 7, kRunsOfSlow = 3;
constexpr double kSlowSeconds = 0.05, kVerySlowSeconds = 1;
/// All runs of a kernel with what is between them.
constexpr double kSeconds = 0.01;
constexpr double kQuantile = 0.25;
/// Looking for runs that nothing disturbs ends then.
constexpr double kMostSeconds = 0.15;
/// More than this is given back after use.
constexpr int64_t kKeptBytes = int64_t{64} << 20;
constexpr int64_t kLine = 64;
/// Of a shared cache: virtual machines state the whole of one that others use too.
constexpr int64_t kMostShared = int64_t{16} << 20;

int64_t cache_bytes() {
  const long size = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return size > 0 ? size : int64_t{1} << 20;
}

/// Reads each line of it.
void read_lines(std::span<const std::byte> bytes) {
  for (size_t at = 0; at < bytes.size(); at += kLine) asm volatile("" : : "r"(bytes[at]));
}

/// Out of all caches.
__attribute__((target("clflushopt"))) void flush_fast(std::span<const std::byte> bytes) {
  for (size_t at = 0; at < bytes.size(); at += kLine) _mm_clflushopt(const_cast<std::byte*>(&bytes[at]));
  _mm_sfence();
}
void flush_slowly(std::span<const std::byte> bytes) {
  for (size_t at = 0; at < bytes.size(); at += kLine) _mm_clflush(&bytes[at]);
  _mm_sfence();
}

/// No kernel of known sizes asks for memory.
bool no_memory(runtime::Frame*, int32_t, int64_t) { return false; }

}  // namespace

Weights weights_in_model(int64_t constant_bytes) {
  const long shared = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return constant_bytes <= std::min<int64_t>(shared / 2, kMostShared) ? Weights::kInCache : Weights::kInMemory;
}

KernelClock::KernelClock(int threads, Weights weights, MemoryLimit memory)
    : where_(weights),
      memory_(memory),
      cpu_(threads > 1 && threads <= available_threads() ? current_cpu() : -1),
      workers_(threads),
      frames_(threads),
      flush_(runtime::has_cpu_feature("clflushopt") ? flush_fast : flush_slowly),
      sweep_bytes_(2 * cache_bytes()) {
  if (auto sweep = runtime::Memory::allocate(threads * sweep_bytes_)) sweep_ = std::move(*sweep);
  std::fill_n(sweep_.data(), sweep_.data() ? threads * sweep_bytes_ : 0,
              std::byte{1});  // untouched pages are one in the cache
}

Result<KernelClock::Arguments> KernelClock::place(const ClockJob& job) {
  const auto step = [](int64_t bytes) {
    return (bytes + runtime::kAlignment - 1) / runtime::kAlignment * runtime::kAlignment;
  };
  int64_t total = 0;
  for (const ClockJob::Buffer& buffer : job.buffers) total += step(buffer.bytes);
  if (values_.data() == nullptr || values_.bytes() < total) {
    values_ = runtime::Memory();
    TRY_VOID(memory_.check(total, "measuring a kernel"));
    auto memory = runtime::Memory::allocate(total);
    if (!memory) return unsupported("", "{} bytes of memory to measure a kernel in expected, less found", total);
    values_ = std::move(*memory);
  }
  Arguments arguments{
      std::vector<void*>(job.buffers.size(), nullptr), std::vector<int64_t*>(job.buffers.size(), nullptr), {}, {}};
  int64_t at = 0;
  for (size_t b = 0; b < job.buffers.size(); ++b) {
    const ClockJob::Buffer& buffer = job.buffers[b];
    if (buffer.use == ClockJob::Use::kNone) continue;
    arguments.buffers[b] = values_.data() + at;
    at += step(buffer.bytes);
    if (buffer.use != ClockJob::Use::kWritten)
      (buffer.use == ClockJob::Use::kValue ? arguments.values : arguments.weights)
          .emplace_back(static_cast<const std::byte*>(arguments.buffers[b]), static_cast<size_t>(buffer.bytes));
  }
  return arguments;
}

void KernelClock::fill_all(const ClockJob& job, const Arguments& arguments, Integers integers, Numbers numbers) {
  for (size_t b = 0; b < job.buffers.size(); ++b) {
    const ClockJob::Buffer& buffer = job.buffers[b];
    if (buffer.use == ClockJob::Use::kNone || buffer.use == ClockJob::Use::kWritten) continue;
    IntegerRange range = buffer.range;
    if (integers != Integers::kRandom) range.low = range.high = integers == Integers::kOnes ? 1 : 0;
    fill({static_cast<std::byte*>(arguments.buffers[b]), static_cast<size_t>(buffer.bytes)}, buffer.dtype, range,
         buffer.seed, numbers);
  }
}

Result<void> KernelClock::take_scratch(std::span<const runtime::Part> parts) {
  int64_t bytes = 0;
  for (const runtime::Part& part : parts) bytes = std::max(bytes, part.scratch_bytes);
  if (!scratch_.empty() && scratch_[0].bytes() >= bytes) return {};
  scratch_.clear();
  for (ThreadFrame& thread : frames_) {
    auto memory = runtime::Memory::allocate(bytes);
    if (!memory) return unsupported("scratch", "{} bytes of memory for each thread expected, less found", bytes);
    thread.frame = {nullptr, nullptr, memory->data(), no_memory, runtime::math_table(), 0};
    scratch_.push_back(std::move(*memory));
  }
  return {};
}

Outcome KernelClock::run(const ClockJob& job, const Arguments& arguments, const runtime::ExecutableMemory& code) {
  return runtime::run_parts(job.parts, [&](const runtime::Part& part, int64_t turn) {
    std::atomic<Outcome> outcome = Outcome::kDone;
    workers_.share(part.iterations, part.grain,
                   [this, &arguments, &part, &code, turn, outcome = &outcome](int thread, int64_t begin, int64_t end) {
                     runtime::Frame& frame = frames_[thread].frame;
                     frame.buffers = const_cast<void**>(arguments.buffers.data());
                     frame.extents = const_cast<int64_t**>(arguments.extents.data());
                     frame.turn = turn;
                     const Outcome found = runtime::call(code, part, frame, begin, end);
                     if (found != Outcome::kDone) outcome->store(found, std::memory_order_relaxed);
                   });
    return outcome.load();
  });
}

Result<void> KernelClock::warm_up(const ClockJob& job, const Arguments& arguments,
                                  const runtime::ExecutableMemory& code, Numbers numbers) {
  Outcome outcome = Outcome::kDone;
  for (const Integers integers : {Integers::kRandom, Integers::kZeros, Integers::kOnes}) {
    fill_all(job, arguments, integers, numbers);
    outcome = run(job, arguments, code);
    if (outcome == Outcome::kDone) return {};
  }
  return invalid("", "a kernel that runs on some integers expected, outcome {} found of all that were tried",
                 static_cast<int>(outcome));
}

// What the steps before wrote lies in the cache of the thread that wrote it.
void KernelClock::cool_down(const Arguments& arguments) {
  const int64_t threads = workers_.threads();
  const auto in_turns = [&](const std::vector<std::span<const std::byte>>& all, Pass work) {
    for (const auto& bytes : all)
      workers_.share(threads, 0, [bytes, threads, work](int, int64_t begin, int64_t end) {
        const auto at = [&](int64_t share) {
          return bytes.size() * static_cast<size_t>(share) / static_cast<size_t>(threads);
        };
        work(bytes.subspan(at(begin), at(end) - at(begin)));
      });
  };
  if (where_ == Weights::kInMemory) in_turns(arguments.weights, flush_);
  if (sweep_.data() != nullptr) in_turns({{sweep_.data(), static_cast<size_t>(threads * sweep_bytes_)}}, read_lines);
  in_turns(arguments.values, read_lines);
}

Result<KernelTime> KernelClock::time(const ClockJob& job, double hopeless_us) {
  // Workers are pinned to other CPUs; beside one of them the two would wait for each other.
  const StayOn pinned(cpu_);
  const runtime::FlushDenormals flush;
  TRY(const runtime::ExecutableMemory code, runtime::ExecutableMemory::copy_of(job.code));
  TRY(const Arguments arguments, place(job));
  TRY_VOID(take_scratch(job.parts));
  TRY_VOID(warm_up(job, arguments, code, Numbers::kReals));
  std::vector<double> all, undisturbed;
  const auto start = Clock::now();
  const auto enough = [&] {
    const auto runs = static_cast<int>(all.size());
    if (runs == 0) return false;
    if (runs == 2 && std::min(all[0], all[1]) * 1e6 > hopeless_us) return true;
    if (all[0] > kSlowSeconds) return runs == (all[0] > kVerySlowSeconds ? 1 : kRunsOfSlow);
    return runs >= kLeastRuns &&
           seconds_since(start) > (static_cast<int>(undisturbed.size()) >= kLeastRuns ? kSeconds : kMostSeconds);
  };
  while (!enough()) {
    cool_down(arguments);
    const int64_t interruptions_before = interruptions();
    const auto begin = Clock::now();
    static_cast<void>(run(job, arguments, code));
    all.push_back(seconds_since(begin));
    if (interruptions() == interruptions_before) undisturbed.push_back(all.back());
  }
  if (values_.bytes() > kKeptBytes) values_ = runtime::Memory();
  std::vector<double>& times = undisturbed.empty() ? all : undisturbed;
  std::sort(times.begin(), times.end());
  return KernelTime{times[static_cast<size_t>(kQuantile * static_cast<double>(times.size()))] * 1e6,
                    static_cast<int64_t>(times.size())};
}

Result<std::vector<std::vector<std::byte>>> KernelClock::outputs(const ClockJob& job, Numbers numbers) {
  const StayOn pinned(cpu_);
  const runtime::FlushDenormals flush;
  TRY(const runtime::ExecutableMemory code, runtime::ExecutableMemory::copy_of(job.code));
  TRY(const Arguments arguments, place(job));
  TRY_VOID(take_scratch(job.parts));
  // What is not written is found out: all ones are no number of any type.
  for (size_t b = 0; b < job.buffers.size(); ++b)
    if (job.buffers[b].use == ClockJob::Use::kWritten)
      std::memset(arguments.buffers[b], 0xff, static_cast<size_t>(job.buffers[b].bytes));
  TRY_VOID(warm_up(job, arguments, code, numbers));
  std::vector<std::vector<std::byte>> result;
  for (const int output : job.outputs) {
    const auto* const begin = static_cast<const std::byte*>(arguments.buffers[static_cast<size_t>(output)]);
    result.emplace_back(begin, begin + job.buffers[static_cast<size_t>(output)].bytes);
  }
  return result;
}

}  // namespace isomer
