// isomer-verify: `isomer verify` as a program of its own, of little else than what is to be believed (docs/trust.md).
#include <algorithm>
#include <vector>

#include "cli/commands.h"
#include "cli/program.h"

int main(int argc, char** argv) {
  using namespace isomer::cli;
  std::vector<const char*> arguments(argv, argv + argc);
  arguments.insert(arguments.begin() + std::min(argc, 1), "verify");
  return run_program(static_cast<int>(arguments.size()), arguments.data(), add_verify);
}
