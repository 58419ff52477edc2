// Isomer's C++ interface to code: a model compiled into an artifact (session.h runs it), its kernels tuned, with what
// users add (schedule.h, operator.h). C++20 and its library alone.
#ifndef ISOMER_COMPILE_H
#define ISOMER_COMPILE_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isomer/expected.h"
#include "isomer/operator.h"
#include "isomer/schedule.h"
#include "isomer/work.h"

namespace isomer {

struct CompileModelOptions {
  /// Or "cpu=NAME", as LLVM calls it; "cuda", "cuda=sm_90a"; several: "cuda,cpu". Behind a GPU "+tf32": tensor cores
  /// may round factors of products of floats.
  std::string target = "cpu";
  int threads = 0;                      ///< that run it; 0: as many as this process may use
  uint64_t seed = 0;                    ///< of the inputs that it is checked with
  std::map<std::string, int64_t> dims;  ///< of symbolic dims
  std::vector<Operator> operators;      ///< of yours, in the model
  std::vector<ScheduleModule> modules;  ///< the first that applies comes first
  std::vector<MicroKernel> micro_kernels;
  std::vector<TaskDecisions> decisions;
  std::vector<TaskSchedule> schedules;
  /// A file that tune_model left its schedules in: those of the same modules, micro-kernels and templates are taken.
  /// Empty: none.
  std::string records;
  /// Runs the artifact beside the model's own meaning in double precision; what differs is an error. Left out where
  /// this machine can't run the target's code.
  bool check = true;
  std::map<std::string, std::vector<int64_t>> shapes;  ///< of inputs
  /// Of optimization, as in optimize.h. From 3 on it is searched over proved rules, and other ways to cut the model
  /// into tasks are measured. Then, and where `tune` or `variants` ask for more: modules, micro-kernels, decisions and
  /// schedules are none; dims that nothing binds are 1; the records are the user's where no file is named; progress and
  /// the report as JSON are given, and `tasks` of the report is empty.
  int level = 2;
  bool tune = false;              ///< the kernels, in half of `seconds`, or a minute more where none are given
  std::optional<double> seconds;  ///< of the whole call
  /// Sizes of symbolic dims besides those of `dims`: the artifact has a variant for each of these.
  std::vector<std::map<std::string, int64_t>> variants;
  Progress progress;           ///< what it tells
  const Stop* stop = nullptr;  ///< outlives the call
};

struct MadeChoice {
  std::string name;
  Integers candidates;
  int64_t preferred = 0, value = 0;
};

struct CompiledTaskReport {
  std::string name;
  std::string trace;  ///< the schedule and what was decided, as text; empty: it is a view, without a kernel
  std::vector<MadeChoice> choices;
};

struct CompileModelReport {
  std::vector<CompiledTaskReport> tasks;
  std::string check;            ///< "largest difference 3.1e-07, 0.04 of what rounding allows"; empty: not checked
  std::string report;           ///< as JSON
  bool is_interrupted = false;  ///< by `stop`: there may be more to find
};

/// Optimizes the model, schedules and compiles it, checks the result and writes the artifact (.iso), which isomer.h
/// runs. Nothing is written where there is an error.
Expected<CompileModelReport> compile_model(const std::string& model, const std::string& artifact,
                                           const CompileModelOptions& options = {});

struct TuneModelOptions {
  int64_t trials = 1000;          ///< schedules that are measured, of all tasks
  std::optional<double> seconds;  ///< no round begins after them
  bool continues = false;         ///< from what the records have
};

struct TunedTaskReport {
  std::string name;
  double first_us = 0;  ///< with every choice as it is preferred
  double best_us = 0;   ///< of what is in the records now
  int64_t trials = 0;
};

/// Measures schedules of the model's tasks on this machine, which `how` says: its modules' choices and its templates'
/// knobs are tuned like all others, and what is faster than what is preferred is left in the file `how.records`, for
/// compile_model. A task whose schedule leaves nothing open is none. Of modules that fail with what is chosen the
/// blocks are left as they were.
Expected<std::vector<TunedTaskReport>> tune_model(const std::string& model, const CompileModelOptions& how,
                                                  const TuneModelOptions& options = {});

}  // namespace isomer

#endif
