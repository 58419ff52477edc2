#include "cli/commands.h"
#include "cli/program.h"

int main(int argc, char** argv) {
  using namespace isomer::cli;
  return run_program(argc, argv, [](CLI::App& app, int& exit) {
    add_optimize(app, exit);
    add_compile(app, exit);
    add_tune(app, exit);
    add_run(app, exit);
    add_bench(app, exit);
    add_compare(app, exit);
    add_diff(app, exit);
    add_inspect(app, exit);
    add_library(app, exit);
    add_verify(app, exit);
    add_records(app, exit);
    add_env(app, exit);
    add_completion(app);
  });
}
