#include "tune/trials.h"

#include <algorithm>

#include "kernel/task_text.h"
#include "util/parallel.h"
#include "util/threads.h"

namespace isomer::tune {

Result<void> replay(const kernel::Trials& trials, const kernel::Space& space, const ShowTrial& show) {
  /// Trials for which another thread is started.
  constexpr int64_t kWorthAThread = 4;
  TRY(const kernel::ReadTask task, kernel::parse_task(trials.text));
  const Candidates candidates(task.start, space, task.machine, 0);
  const int64_t count = std::ssize(trials.trials);
  ThreadPool pool(static_cast<int>(std::clamp<int64_t>(count / kWorthAThread, 1, available_threads())));
  pool.run(count, [&](int64_t k, int) {
    const Decisions& decisions = trials.trials[static_cast<size_t>(k)].decisions;
    const Candidate candidate = candidates.with(decisions);
    if (candidate.unpreferred() == decisions) show(static_cast<size_t>(k), candidate, task.machine);
  });
  return {};
}

}  // namespace isomer::tune
