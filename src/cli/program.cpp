#include "cli/program.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include "cli/examples.h"
#include "util/clock.h"
#include "util/resident.h"
#include "util/stop.h"
#include "util/temporary_folder.h"
#include "util/version.h"

namespace isomer::cli {
namespace {

/// A file that is opened gets the first number that is free: it must not be that of an output that somebody has closed,
/// which would be printed into it.
void open_closed_outputs() {
  for (int opened = 0; opened <= STDERR_FILENO;) {
    opened = open("/dev/null", O_RDWR);
    if (opened < 0) return;
    if (opened > STDERR_FILENO) close(opened);
  }
}

/// The first Ctrl-C ends the work where it may end, if it can, one more before it has ended at once; neither leaves
/// what is half written. A terminal that is closed asks the same.
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
  // Under nohup it stays ignored.
  if (std::signal(SIGHUP, SIG_IGN) != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
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

/// The command that was called, as far as it was named: that of "library show", its own.
const CLI::App& called(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  return chosen.empty() ? app : called(*chosen.back());
}

/// "library show", with those that it is under.
std::string path_of(const CLI::App& command) {
  const CLI::App* const above = command.get_parent();
  if (!above) return "";
  const std::string path = path_of(*above);
  return path + (path.empty() ? "" : " ") + command.get_name();
}

/// A variable of a shell that is empty names nothing: no option takes it for a value.
void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options())
    option->check([](const std::string& text) {
      return text.empty() ? std::string("a value expected, an empty one found") : std::string();
    });
  for (CLI::App* command : app.get_subcommands(nullptr)) refuse_empty_values(*command);
}

std::string usage_line(const CLI::App& app, const CLI::Error& error) {
  const CLI::App& command = called(app);
  const std::string path = path_of(command);
  std::string what = error.what();
  if (error.get_name() == "RequiredError" && !command.get_subcommands(nullptr).empty())
    if (const std::vector<std::string> unknown = app.remaining(true); !unknown.empty())
      what = "the name of a command expected, '" + unknown.front() + "' found";
  return fmt::format("isomer: {}{}{}; see 'isomer {}{}--help'\n", path, path.empty() ? "" : ": ",
                     printable(what, kMostOfLine), path, path.empty() ? "" : " ");
}

/// Of -v: what the command took.
void tell_what_it_took(const CLI::App& app, Clock::time_point begin) {
  const auto count = [&](const char* flag) {
    const CLI::Option* const option = called(app).get_option_no_throw(flag);
    return option ? option->count() : 0;
  };
  if (count("--verbose") == 0 || count("--quiet") > 0) return;
  print_error("isomer: took {:.2f} s, at most {:.0f} MB\n", seconds_since(begin),
              static_cast<double>(peak_resident_bytes()) / 1e6);
}

/// Whoever reads a pipe may have read enough, as `head` has: that needs no sentence.
int report_lost_output(const std::error_code& error) {
  return error == std::errc::broken_pipe ? static_cast<int>(kStopped) : report(lost_output(error));
}

/// Prints what is still to be printed; the exit code, which a command that has done its work keeps where nobody reads.
int end_output(int exit) {
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return exit;
  const std::error_code error(errno, std::generic_category());
  return error == std::errc::broken_pipe ? exit : report_lost_output(error);
}

}  // namespace

int run_program(int argc, const char* const* argv, const std::function<void(CLI::App& app, int& exit)>& add_commands) {
  const auto begin = Clock::now();
  open_closed_outputs();
  // What can't be written is an error of whoever writes: a pipe that nobody reads, a file beyond a limit of its size.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);  // who ignored it would learn of no child how it ended
  stop_on_interrupt();
  std::set_terminate(end_in_a_sentence);
  CLI::App app("Isomer: a superoptimizer for ONNX models", "isomer");
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  app.failure_message([](const CLI::App* failed, const CLI::Error& error) { return usage_line(*failed, error); });
  int exit = kDone;
  add_commands(app, exit);
  add_examples(app);
  refuse_empty_values(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return end_output(app.exit(error) == 0 ? kDone : kUsage);
  } catch (const std::bad_alloc&) {
    return report_out_of_memory();
  } catch (const std::system_error& error) {
    if (std::ferror(stdout)) return report_lost_output(error.code());
    return report({ErrorKind::kUnsupported, "internal error", error.what()});
  } catch (const std::exception& error) {
    return report({ErrorKind::kUnsupported, "internal error", error.what()});
  }
  tell_what_it_took(app, begin);
  return end_output(exit);
}

}  // namespace isomer::cli
