#include "tune/compiler.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstring>
#include <exception>
#include <optional>
#include <string>

#include "runtime/plan_bytes.h"
#include "runtime/plan_fields.h"
#include "util/parallel.h"
#include "util/process_limits.h"
#include "util/stop.h"
#include "util/threads.h"
#include "util/worker_process.h"

namespace isomer::tune {
namespace {

using kernel::Kernel;
using kernel::MachineCode;

/// What a copy found.
struct Made {
  std::string why_not;  ///< empty: there is code
  std::vector<std::byte> image;
  std::vector<runtime::Part> parts;
};

template <class Archive>
void fields(Archive& archive, Made& made) {
  archive(made.why_not, made.image, made.parts);
}

std::string bytes_of(const Result<MachineCode>& code) {
  return runtime::to_bytes(code.ok() ? Made{{}, code->image, code->kernels[0]} : Made{code.error().message(), {}, {}});
}

Result<MachineCode> code_of(std::string_view answer) {
  auto made = runtime::from_bytes<Made>(answer);
  if (!made) return unsupported("", "code expected of the code generator, other bytes found");
  if (!made->why_not.empty()) return unsupported("", "{}", made->why_not);
  return MachineCode{std::move(made->image), {std::move(made->parts)}};
}

/// On a busy machine what takes so many seconds of a core takes longer.
constexpr double kPatience = 10;

Error silence_of(const WorkerProcess::Reply& reply, double seconds) {
  if (reply.is_late || reply.signal == SIGXCPU)
    return unsupported("", "code in {} s expected, the code generator took longer", seconds);
  if (reply.signal != 0)
    return unsupported("", "code expected, the code generator ended with signal {} ({})", reply.signal,
                       strsignal(reply.signal));
  return unsupported("", "code expected, the code generator ended");
}

}  // namespace

Result<MachineCode> Compiler::made(const Kernel& kernel) const {
  try {
    return options_.make(kernel, target_);
  } catch (const std::exception& failed) {
    return unsupported("", "code expected, the code generator found: {}", failed.what());
  }
}

std::vector<Result<ClockJob>> Compiler::compile(std::span<const Kernel* const> kernels) const {
  std::vector<Result<ClockJob>> jobs(kernels.size(), unsupported("", "code expected, none made"));
  // A copy is asked by number: it has the kernels.
  const auto serve = [&] {
    limit_growth(options_.memory_bytes);
    while (const auto question = next_question()) {
      size_t number = 0;
      std::from_chars(question->data(), question->data() + question->size(), number);
      limit_cpu(options_.seconds);
      answer(bytes_of(made(*kernels[number])));
    }
  };
  const int threads = static_cast<int>(std::min<int64_t>(available_threads(), std::ssize(kernels)));
  std::vector<std::optional<WorkerProcess>> copies(static_cast<size_t>(std::max(threads, 1)));
  const auto code = [&](size_t number, std::optional<WorkerProcess>& copy) -> Result<MachineCode> {
    for (bool is_again = false;; is_again = true) {
      if (!copy) {
        auto made_copy = WorkerProcess::fork(serve);
        if (!made_copy.ok()) return made(*kernels[number]);
        copy = *std::move(made_copy);
      }
      auto reply = copy->ask(std::to_string(number), kPatience * options_.seconds);
      if (reply.ok() && reply->answer) return code_of(*reply->answer);
      copy.reset();
      if (!reply.ok()) return std::move(reply).error();
      if (is_again || !reply->is_ended_from_outside()) return silence_of(*reply, options_.seconds);
    }
  };
  ThreadPool pool(std::max(threads, 1));
  pool.run(std::ssize(kernels), [&](int64_t k, int thread) {
    const auto number = static_cast<size_t>(k);
    if (const auto stopped = check_stop(); !stopped.ok()) {
      jobs[number] = Error(stopped.error());
      return;
    }
    const Result<MachineCode> found = code(number, copies[static_cast<size_t>(thread)]);
    if (!found.ok())
      jobs[number] = Error(found.error());
    else if (std::ssize(found->image) > options_.most_code_bytes)
      jobs[number] =
          unsupported("", "at most {} bytes of code expected, {} found", options_.most_code_bytes, found->image.size());
    else
      jobs[number] = job_of(*kernels[number], found->kernels[0], found->image);
  });
  return jobs;
}

}  // namespace isomer::tune
