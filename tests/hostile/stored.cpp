#include "hostile/stored.h"

#include "hostile/case.h"
#include "support/files.h"

namespace isomer::test {

namespace fs = std::filesystem;

int write_hostile_files(const fs::path& folder) {
  fs::remove_all(folder / "files");
  fs::create_directories(folder / "files");
  std::string expectations =
      "# NAME | accepted, or NAME | error | a part of the sentence; written by `generate`, from the tables.\n";
  int count = 0;
  for (const HostileCase& hostile : hostile_cases()) {
    if (hostile.surround) continue;
    const std::string bytes = hostile.bytes();
    if (!is_stored(hostile, bytes)) continue;
    write_file(folder / "files" / (hostile.name + ".onnx"), bytes);
    expectations += expectation_line(hostile) + "\n";
    ++count;
  }
  write_file(folder / "expectations.txt", expectations);
  return count;
}

}  // namespace isomer::test
