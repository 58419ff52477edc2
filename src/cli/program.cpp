#include "cli/program.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include "cli/examples.h"
#include "cli/version.h"
#include "util/stop.h"
#include "util/temporary_folder.h"

namespace isomer::cli {
namespace {

/// The first Ctrl-C ends the work where it may end, if it can, one more before it has ended at once; neither leaves
/// what is half written.
void interrupt(int) {
  if (request_stop()) return;
  remove_temporary_folders();
  constexpr std::string_view kMessage = "isomer: stopped\n";
  static_cast<void>(write(STDERR_FILENO, kMessage.data(), kMessage.size()) + 0);
  _exit(kStopped);
}

void stop_on_interrupt() {
  struct sigaction action = {};
  action.sa_handler = interrupt;
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

/// What is thrown where nothing catches, as on threads: memory that there is not gets its sentence there too.
[[noreturn]] void end_in_a_sentence() {
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    const auto code = report_out_of_memory();
    remove_temporary_folders();
    _exit(code);
  } catch (const std::exception& error) {
    report({ErrorKind::kUnsupported, "internal error", error.what()});
  } catch (...) {
  }
  std::abort();
}

}  // namespace

int run_program(int argc, const char* const* argv, const std::function<void(CLI::App& app, int& exit)>& add_commands) {
  std::signal(SIGPIPE, SIG_IGN);
  stop_on_interrupt();
  std::set_terminate(end_in_a_sentence);
  CLI::App app("Isomer: a superoptimizer for ONNX models", "isomer");
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  app.failure_message([](const CLI::App* failed, const CLI::Error& error) {
    const std::string command = failed->get_name() == "isomer" ? "" : failed->get_name() + ": ";
    return fmt::format("isomer: {}{}; see 'isomer {}--help'\n", command, printable(error.what()),
                       command.empty() ? "" : failed->get_name() + " ");
  });
  int exit = kDone;
  add_commands(app, exit);
  add_examples(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  } catch (const std::bad_alloc&) {
    return report_out_of_memory();
  } catch (const std::exception& error) {
    return report({ErrorKind::kUnsupported, "internal error", error.what()});
  }
  return exit;
}

}  // namespace isomer::cli
