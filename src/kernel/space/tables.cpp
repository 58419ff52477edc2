#include "kernel/space/modules.h"

namespace isomer::kernel {
namespace {

/// Elements of a map for which a table is worth its memory.
constexpr int64_t kLeastElements = 1024;

}  // namespace

Module tables() {
  return {"tables",
          [](const View& view, const std::string& name) {
            const Block& map = view.block(name);
            return !map.is_reduction() && map.bodies.size() == 1 && !view.is_known(name) &&
                   points(map).value_or(0) >= kLeastElements;
          },
          [](Builder& builder, const std::string& name) {
            const Schedule before = builder.schedule;
            if (tried(builder.schedule.tabulate(name)) && !builder.decide(name, "table", true))
              builder.schedule = before;
          }};
}

}  // namespace isomer::kernel
