#include "fuzz/target.h"

#include <memory>
#include <vector>

#include "graph/dot.h"
#include "graph/hash.h"
#include "graph/onnx/import.h"
#include "graph/text.h"
#include "util/check.h"

namespace isomer::test {

void import_and_print(std::span<const std::byte> bytes) {
  // A copy of its own size, so that a sanitizer sees a read beyond its end.
  const auto owner = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  // So that no input takes long: a few bytes may call functions that become a million nodes.
  ImportOptions options;
  options.limits.nodes = 1000;
  options.limits.memory_bytes = int64_t{4} << 20;
  const auto graph = import_model(*owner, owner, options);
  if (!graph.ok()) {
    CHECK(!graph.error().what.empty());
    return;
  }
  CHECK(!print_graph(*graph).empty());
  CHECK(!to_dot(*graph).empty());
  structural_hash(*graph);
}

}  // namespace isomer::test
