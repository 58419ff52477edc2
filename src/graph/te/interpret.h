// Runs tensor expressions in double precision, fast: the meaning of a model, and the reference that everything else is
// compared with. What evaluate.h does by walking expressions, this does by planning each stage once:
//
//     lower            expressions -> nodes over iterators; div and mod resolved, loads at sums of iterators
//     contraction      sums of products -> packed panels and a matrix product kernel
//     strip_plan       everything else -> loops around a program over strips of one iterator
//     scalar_plan      what is tiny -> a register machine
//     scan, update, imperative
//
// The choice depends on forms of indices and on sizes, never on the operator.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "graph/te/array.h"
#include "graph/te/program.h"
#include "util/parallel.h"
#include "util/result.h"

namespace isomer::te {

struct InterpretOptions {
  /// Threads to use when there is no pool. Results don't depend on their number.
  int threads = 1;
  /// Threads of the caller's, which many calls share.
  ThreadPool* pool = nullptr;
  /// Asked now and then during long work; its error ends the run.
  const std::function<Result<void>()>* poll = nullptr;
  MemoryLimit memory = {};
};

/// A program with the plans of its stages, made when first run and kept for runs on arrays of the same dims and
/// storage. One run at a time.
class PlannedProgram {
 public:
  explicit PlannedProgram(Program program);
  ~PlannedProgram();
  PlannedProgram(PlannedProgram&&) noexcept;

  /// The outputs, empty arrays for those that the node does not have. All dims must be bound: a symbol is an error, as
  /// are an index out of range where it is used, a division of integers by zero, sizes beyond memory.
  Result<std::vector<Array>> run(std::span<const Array> inputs, const InterpretOptions& options = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What a program's values take while it runs.
struct ProgramMemory {
  int64_t peak = 0;         ///< bytes of those that live at once at most, inputs aside; saturating
  bool is_complete = true;  ///< false: data decide the size of some, which are not in it
};
ProgramMemory memory_of(const Program& program);

/// PlannedProgram(program).run(inputs, options)
Result<std::vector<Array>> interpret(const Program& program, std::span<const Array> inputs,
                                     const InterpretOptions& options = {});

}  // namespace isomer::te
