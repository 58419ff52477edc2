// One rewrite of a program: what is to be read instead is built beside what is there, then whoever read the roots reads
// that. Both `apply`, by a match, and `take_step`, by a step, rewrite so: the same terms get the same numbers. Test:
// tests/substitutions/match_test.cpp
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "substitutions/rewrite/program.h"

namespace isomer::substitutions {

class Rewrite {
 public:
  /// A value of the program, or a number, which takes its element type from the operands beside it.
  struct Operand {
    int value = -1;
    const te::Number* number = nullptr;
  };

  explicit Rewrite(Program& program) : program_(program), before_(program.application_count()) {}

  /// An output of the operation, which need not be spelled out, on these operands. Where the program has the
  /// application it is that one. Nothing where the row does not accept them.
  std::optional<int> application(int operation, std::span<const Operand> operands, int output);
  /// By call of application(): the one that was found or made.
  const std::vector<int>& built() const { return built_; }

  /// Whoever reads a root, outputs too, reads the target at its place. What no output depends on then is gone. The
  /// applications that are new, read something else than before, or are gone.
  std::vector<int> replace(std::span<const int> roots, std::span<const int> targets);

 private:
  int find(int operation, const std::vector<int>& arguments, const std::vector<int>& types) const;
  bool are_of(int application, const std::vector<int>& arguments, bool turned) const;

  Program& program_;
  const int before_;
  std::vector<int> built_;
};

}  // namespace isomer::substitutions
