// What the runs of a session exercised of an artifact. A comparison of outputs says nothing about a side of a branch
// that was never taken: it is counted, and named. What a kernel does inside of itself is not told apart: the sizes of
// its loops are fixed when it is compiled. Tests: tests/search/coverage_test.cpp
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/session.h"
#include "search/code/compile.h"

namespace isomer::search {

struct Exercised {
  int ran = 0, all = 0;

  void count(int some, bool did_run);
  Exercised& operator+=(const Exercised& other);
  bool is_all() const { return ran == all; }
  std::string text() const;  ///< "3 of 4"
};

struct Coverage {
  Exercised steps;    ///< those of bodies included
  Exercised bodies;   ///< both sides of each branch, the body of each loop
  Exercised stages;   ///< of the tensor programs of the steps
  Exercised kernels;  ///< each has a schedule
  /// Of those schedules, by name: split, vectorize, tensorize.
  std::map<std::string, Exercised> primitives;
  /// The outermost bodies that did not run: "step 3 (If): else side". Whatever else did not run is inside of these.
  std::vector<std::string> missed;

  bool is_complete() const { return steps.is_all() && bodies.is_all(); }
  /// That of another variant.
  Coverage& operator+=(const Coverage& other);
  /// "exercised: 12 of 14 steps, 40 of 44 stages, 9 of 9 kernels, 50 of 52 schedule primitives (split 38 of 40, unroll
  /// 12)"; a line more for each body that did not run.
  std::vector<std::string> lines() const;
};

/// Of all runs of a session so far, which runs the artifact's only variant.
Coverage coverage_of(const Compilation& code, const runtime::Session& session);

}  // namespace isomer::search
