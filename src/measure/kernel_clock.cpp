#include "measure/kernel_clock.h"

#include <fmt/format.h>
#include <immintrin.h>
#include <unistd.h>

#include <algorithm>

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
constexpr double kSlowSeconds = 0.02, kVerySlowSeconds = 1;
/// All runs of a kernel with what is between them.
constexpr double kSeconds = 0.01;
constexpr double kQuantile = 0.25;
/// Looking for runs that nothing disturbs ends then.
constexpr double kMostSeconds = 0.15;
/// More than this is given back after use.
constexpr int64_t kKeptBytes = int64_t{64} << 20;
constexpr int64_t kLine = 64;
/// A page, so that buffers lie to each other as without: by that caches and stores choose their places.
constexpr int64_t kBetween = 4096;
/// Of a shared cache: virtual machines state the whole of one that others use too.
constexpr int64_t kMostShared = int64_t{16} << 20;

/// Of each thread.
int64_t sweep_bytes() {
  const long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return 2 * (cache > 0 ? cache : int64_t{1} << 20);
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

int64_t rounded_up(int64_t bytes) {
  return (bytes + runtime::kAlignment - 1) / runtime::kAlignment * runtime::kAlignment;
}

std::string sentence(Outcome outcome) {
  return fmt::format("a kernel that runs on some integers expected, outcome {} found of all that were tried",
                     static_cast<int>(outcome));
}

constexpr std::byte kPoison{0xff}, kOtherPoison{0x5a};  ///< no number of any float; a large number of each

bool is_all(std::span<const std::byte> bytes, std::byte value) {
  return std::ranges::all_of(bytes, [&](std::byte byte) { return byte == value; });
}

/// What two runs of a kernel say of it that found different memory.
KernelOutputs agreed(const ClockJob& job, KernelOutputs first, const KernelOutputs& second) {
  for (size_t k = 0; k < first.values.size(); ++k) {
    const std::span<const std::byte> ours(first.values[k]), theirs(second.values[k]);
    const size_t at = static_cast<size_t>(std::ranges::mismatch(ours, theirs).in1 - ours.begin());
    if (at == ours.size()) continue;
    const auto width = static_cast<size_t>(
        std::max<int64_t>(bit_width(job.buffers[static_cast<size_t>(job.outputs[k])].dtype) / 8, 1));
    const auto element = [&](std::span<const std::byte> all) { return all.subspan(at / width * width, width); };
    const bool is_left = is_all(element(ours), kPoison) && is_all(element(theirs), kOtherPoison);
    return {Fault::kValue,
            fmt::format("element {} of output {} {}", at / width, k,
                        is_left ? "is not written" : "differs between two runs on the same inputs"),
            {}};
  }
  return first;
}

}  // namespace

std::string sentence(const ClockJob& job, const Trespass& trespass) {
  constexpr std::string_view kUses[] = {"of no use", "weights", "an input", "which it writes"};
  const bool is_scratch = trespass.buffer >= job.buffers.size();
  return fmt::format("a kernel that stays within its memory expected, it goes on {} {}",
                     trespass.is_behind ? "behind" : "in front of",
                     is_scratch ? fmt::format("the scratch memory of thread {}", trespass.buffer - job.buffers.size())
                                : fmt::format("buffer {} ({})", trespass.buffer,
                                              kUses[static_cast<size_t>(job.buffers[trespass.buffer].use)]));
}

Weights weights_in_model(int64_t constant_bytes) {
  const long shared = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return constant_bytes <= std::min<int64_t>(shared / 2, kMostShared) ? Weights::kInCache : Weights::kInMemory;
}

KernelClock::KernelClock(int threads, Weights weights)
    : where_(weights),
      workers_(threads),
      frames_(threads),
      flush_(runtime::has_cpu_feature("clflushopt") ? flush_fast : flush_slowly),
      sweep_bytes_(sweep_bytes()) {
  if (auto sweep = runtime::Memory::allocate(threads * sweep_bytes_)) sweep_ = std::move(*sweep);
  std::fill_n(sweep_.data(), sweep_.data() ? threads * sweep_bytes_ : 0,
              std::byte{1});  // untouched pages are one in the cache
  for (ThreadFrame& thread : frames_) thread.frame = {nullptr, nullptr, nullptr, no_memory, runtime::math_table(), 0};
}

int64_t KernelClock::own_bytes(int threads) { return threads * sweep_bytes(); }

Result<KernelClock::Arguments> KernelClock::place(const ClockJob& job) {
  // Poison between two buffers: what is written there is found at little cost.
  int64_t total = kBetween;
  for (const ClockJob::Buffer& buffer : job.buffers) total += rounded_up(buffer.bytes) + kBetween;
  if (values_.data() == nullptr || values_.bytes() < total) {
    values_ = runtime::Memory();
    auto memory = runtime::Memory::allocate(total);
    if (!memory) return unsupported("", "{} bytes of memory to measure a kernel in expected, less found", total);
    values_ = std::move(*memory);
  }
  TRY_VOID(take_scratch(job.scratch_bytes()));
  Arguments arguments{std::vector<void*>(job.buffers.size(), nullptr),
                      std::vector<int64_t*>(job.buffers.size(), nullptr),
                      {},
                      {},
                      {},
                      {{values_.data(), kBetween}}};
  for (const runtime::Memory& each : scratch_) arguments.scratch.push_back(each.data());
  std::byte* at = values_.data() + kBetween;
  for (size_t b = 0; b < job.buffers.size(); ++b) {
    const ClockJob::Buffer& buffer = job.buffers[b];
    std::byte* const end = at + buffer.bytes;
    if (buffer.use != ClockJob::Use::kNone) arguments.buffers[b] = at;
    if (buffer.use == ClockJob::Use::kValue) arguments.values.emplace_back(at, end);
    if (buffer.use == ClockJob::Use::kWeight) arguments.weights.emplace_back(at, end);
    at += rounded_up(buffer.bytes) + kBetween;
    arguments.between.emplace_back(end, at);
  }
  for (const std::span<std::byte> bytes : arguments.between) std::ranges::fill(bytes, kPoison);
  return arguments;
}

IntegerRange KernelClock::range_of(const ClockJob::Buffer& buffer, Integers integers) {
  switch (integers) {
    case Integers::kRandom: return buffer.range;
    case Integers::kZeros: return {0, 0};
    case Integers::kOnes: return {1, 1};
  }
  return {};
}

void KernelClock::fill_all(const ClockJob& job, const Arguments& arguments, Integers integers, Numbers numbers) {
  for (size_t b = 0; b < job.buffers.size(); ++b) {
    const ClockJob::Buffer& buffer = job.buffers[b];
    if (buffer.use == ClockJob::Use::kNone || buffer.use == ClockJob::Use::kWritten) continue;
    fill({static_cast<std::byte*>(arguments.buffers[b]), static_cast<size_t>(buffer.bytes)}, buffer.dtype,
         range_of(buffer, integers), buffer.seed, numbers);
  }
}

Result<void> KernelClock::take_scratch(int64_t bytes) {
  if (!scratch_.empty() && scratch_[0].bytes() >= bytes) return {};
  scratch_.clear();
  for (size_t thread = 0; thread < frames_.size(); ++thread) {
    auto memory = runtime::Memory::allocate(bytes);
    if (!memory) return unsupported("scratch", "{} bytes of memory for each thread expected, less found", bytes);
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
                     frame.scratch = arguments.scratch[static_cast<size_t>(thread)];
                     frame.turn = turn;
                     const Outcome found = runtime::call(code, part, frame, begin, end);
                     if (found != Outcome::kDone) outcome->store(found, std::memory_order_relaxed);
                   });
    return outcome.load();
  });
}

KernelClock::FirstRun KernelClock::warm_up(const ClockJob& job, const Arguments& arguments,
                                           const runtime::ExecutableMemory& code, Numbers numbers) {
  FirstRun last;
  for (const Integers integers : {Integers::kRandom, Integers::kZeros, Integers::kOnes}) {
    fill_all(job, arguments, integers, numbers);
    last = {run(job, arguments, code), integers};
    if (last.outcome == Outcome::kDone) return last;
  }
  return last;
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

Result<Measured> KernelClock::time(const ClockJob& job, double hopeless_us) {
  // Workers are pinned to other CPUs; beside one of them the two would wait for each other.
  const StayOn pinned(workers_.free_cpu());
  const runtime::FlushDenormals flush;
  TRY(const runtime::ExecutableMemory code, runtime::ExecutableMemory::copy_of(job.code));
  TRY(const Arguments arguments, place(job));
  if (const FirstRun first = warm_up(job, arguments, code, Numbers::kReals); first.outcome != Outcome::kDone)
    return Measured{Fault::kCrash, sentence(first.outcome), 0, 0};
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
  for (size_t k = 0; k < arguments.between.size(); ++k)
    if (!is_all(arguments.between[k], kPoison))
      return Measured{Fault::kBounds, sentence(job, {std::max<size_t>(k, 1) - 1, k > 0}), 0, 0};
  if (values_.bytes() > kKeptBytes) values_ = runtime::Memory();
  std::vector<double>& times = undisturbed.empty() ? all : undisturbed;
  std::sort(times.begin(), times.end());
  return Measured{Fault::kNone,
                  {},
                  times[static_cast<size_t>(kQuantile * static_cast<double>(times.size()))] * 1e6,
                  static_cast<int64_t>(times.size())};
}

Result<KernelOutputs> KernelClock::outputs(const ClockJob& job, Numbers numbers, GuardWatch::Tell tell) {
  const StayOn pinned(workers_.free_cpu());
  const runtime::FlushDenormals flush;
  TRY(const runtime::ExecutableMemory code, runtime::ExecutableMemory::copy_of(job.code));
  TRY(KernelOutputs first, outputs_in(job, numbers, code, Flush::kBehind, kPoison, tell));
  if (first.fault != Fault::kNone) return first;
  TRY(const KernelOutputs second, outputs_in(job, numbers, code, Flush::kInFront, kOtherPoison, tell));
  if (second.fault != Fault::kNone) return second;
  return agreed(job, std::move(first), second);
}

Result<KernelOutputs> KernelClock::outputs_in(const ClockJob& job, Numbers numbers,
                                              const runtime::ExecutableMemory& code, Flush flush, std::byte poison,
                                              GuardWatch::Tell tell) {
  const size_t count = job.buffers.size();
  std::vector<int64_t> sizes;
  for (const ClockJob::Buffer& buffer : job.buffers) sizes.push_back(buffer.bytes);
  sizes.resize(count + frames_.size(), job.scratch_bytes());
  const auto memory = GuardedMemory::allocate(sizes, flush, poison);
  if (!memory) return unsupported("", "{} bytes of memory to check a kernel in expected, less found", job.bytes());
  Arguments arguments{std::vector<void*>(count, nullptr), std::vector<int64_t*>(count, nullptr), {}, {}, {}, {}};
  for (size_t b = 0; b < count; ++b)
    if (job.buffers[b].use != ClockJob::Use::kNone) arguments.buffers[b] = memory->buffer(b).data();
  for (size_t thread = 0; thread < frames_.size(); ++thread)
    arguments.scratch.push_back(memory->buffer(count + thread).data());
  FirstRun first;
  {
    const GuardWatch watch(*memory, tell);
    first = warm_up(job, arguments, code, numbers);
  }
  if (first.outcome != Outcome::kDone) return KernelOutputs{Fault::kCrash, sentence(first.outcome), {}};
  if (const auto trespass = memory->written()) return KernelOutputs{Fault::kBounds, sentence(job, *trespass), {}};
  for (size_t b = 0; b < count; ++b) {
    const ClockJob::Buffer& buffer = job.buffers[b];
    const bool is_read = buffer.use == ClockJob::Use::kValue || buffer.use == ClockJob::Use::kWeight;
    if (is_read && !is_filled(memory->buffer(b), buffer.dtype, range_of(buffer, first.integers), buffer.seed, numbers))
      return KernelOutputs{Fault::kBounds,
                           fmt::format("a kernel that leaves its inputs as they are expected, it writes buffer {}", b),
                           {}};
  }
  KernelOutputs result;
  for (const int output : job.outputs) {
    const std::span<const std::byte> bytes = memory->buffer(static_cast<size_t>(output));
    result.values.emplace_back(bytes.begin(), bytes.end());
  }
  return result;
}

}  // namespace isomer
