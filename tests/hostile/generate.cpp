// generate FOLDER: writes the small hostile files and their expectations, from the tables, into tests/hostile.
#include <fmt/format.h>

#include "hostile/stored.h"

int main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] == '-') {
    fmt::print(stderr, "usage: generate FOLDER (tests/hostile)\n");
    return 2;
  }
  fmt::print("{} files\n", isomer::test::write_hostile_files(argv[1]));
}
