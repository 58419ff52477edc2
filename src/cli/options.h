// Options that several commands share, and how a command ends.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "graph/tensor.h"
#include "util/memory_limit.h"
#include "util/print_error.h"
#include "util/result.h"
#include "util/utf8.h"

namespace isomer::cli {

/// Exit codes of CLI.md.
enum ExitCode : int { kDone = 0, kCheckFailed = 1, kUsage = 2, kInvalidFile = 3, kStopped = 4 };

int exit_code(ErrorKind kind);

/// Its place and its sentence, escaped, and cut where they hold long text from models: not so the file that the place
/// begins with, nor the hint that the sentence ends with.
std::string sentence_of(const Error& error);
/// Prints `isomer: FILE: WHERE: …; HINT` as one line on standard error and gives the exit code.
int report(const Error& error);
/// The same, of std::bad_alloc.
int report_out_of_memory();

/// Something could not be printed.
Error lost_output(const std::error_code& error);
/// Prints what a command has found before its files get their names: an error where it can't all be printed, and then
/// they are to get none. Whoever reads a pipe may have read enough, as `head` has: that is none.
Result<void> print_results(const std::function<void()>& print);

struct CommonOptions {
  uint64_t seed = 0;
  int threads = 0;  ///< 0: what affinity and cgroup quota allow
  bool json = false;
  bool quiet = false;
  int verbosity = 0;
  std::string memory;                     ///< a size; empty: three quarters of what there is
  std::vector<std::string> dims;          ///< name=8
  std::vector<std::string> input_shapes;  ///< x:[1,3,224,224]

  void add_to(CLI::App& app);
  /// Without those of a model's inputs.
  void add_general_to(CLI::App& app);
  int thread_count() const;
  MemoryLimit memory_limit() const;
  Result<std::map<std::string, int64_t>> bound_dims() const;
  Result<std::map<std::string, Dims>> bound_shapes() const;
};

struct InputOptions {
  std::vector<std::string> files;  ///< PATH, or name:FILE
  std::string fill = "random";
  std::vector<std::string> ranges;  ///< x:[lo,hi]; without a name: all float inputs
  bool masks = false;               ///< of odd seeds (FillOptions); no flag says so
  bool bytes = false;               ///< likewise

  void add_to(CLI::App& app);
};

/// A number from 0 on that 64 bits hold.
CLI::Validator is_whole();
/// A number, which NaN is not.
CLI::Validator is_within(double low, double high);

/// "1 thread", "2 threads".
std::string counted(int64_t count, std::string_view what);

/// strict, reassociate or fast.
CLI::Validator is_float_mode();

/// A line of progress or information on standard error, unless -q.
template <class... Args>
void note(const CommonOptions& options, fmt::format_string<Args...> format, Args&&... args) {
  if (!options.quiet) print_error("{}\n", fmt::format(format, std::forward<Args>(args)...));
}

/// Of a line that says more than a name.
inline constexpr size_t kMostOfLine = 2000;

/// Lines of results in which text of models and files may stand, escaped.
void print_lines(const std::vector<std::string>& lines);

/// Of a command that ends with an error: `report`, and with --json the object of a check that failed.
int report_failed(const CommonOptions& options, const Error& error);

/// JSON in ASCII, whatever bytes its strings hold; on one line unless indented.
std::string json_text(const nlohmann::json& value, int indent = -1);

}  // namespace isomer::cli
