// Another program that answers questions, one after the other, over its standard input: a message is its length (8
// bytes) and its bytes. Tests: tests/util/worker_process_test.cpp
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/child_process.h"
#include "util/file.h"
#include "util/result.h"

namespace isomer {

/// The side that asks. The other one is killed with it.
class WorkerProcess {
 public:
  /// `arguments[0]` is a path; what the program prints is lost. Errors (kUnsupported): it can't be started.
  static Result<WorkerProcess> start(const std::vector<std::string>& arguments);
  /// A copy of this process, with the calling thread alone, that does this: `serve` answers until nobody asks. For what
  /// is known here and is not easily told; it takes no lock that another thread may hold now. Errors (kUnsupported):
  /// there can't be one.
  static Result<WorkerProcess> fork(const std::function<void()>& serve);

  /// What became of a question.
  struct Reply {
    /// Nothing: there was no answer. The process has ended, or was killed: it had all the seconds, or said what is no
    /// message.
    std::optional<std::string> answer;
    int signal = 0;            ///< that ended it, where one did
    std::optional<int> exits;  ///< with this code, where it ended by itself
    bool is_late = false;
    bool is_untold = false;  ///< it has ended, and nobody says how (ChildProcess::kUnknownEnd)

    /// By the system where memory is short, or by somebody, as far as is known: that says nothing of what it was asked.
    bool is_ended_from_outside() const;
  };
  /// After a reply without an answer there is nobody to ask. Errors (kStopped): stop.h; nobody is left then either.
  Result<Reply> ask(std::string_view question, double seconds);

 private:
  WorkerProcess(ChildProcess process, FileDescriptor socket)
      : process_(std::move(process)), socket_(std::move(socket)) {}

  ChildProcess process_;
  FileDescriptor socket_;
};

/// The side that answers: the next question, nothing where nobody asks any more.
std::optional<std::string> next_question();
void answer(std::string_view text);
/// A process that is busy when nobody waits for its answer any more ends: a thread watches for that.
void end_with_asker();

}  // namespace isomer
