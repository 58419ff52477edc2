#include "kernel/space/modules.h"
#include "kernel/words.h"

namespace isomer::kernel {
namespace {

/// Elements of a map for which a table is worth its memory.
constexpr int64_t kLeastElements = 1024;

}  // namespace

Module tables() {
  return {"tables",
          [](const View& view, const std::string& name) {
            const Block& map = view.block(name);
            return !map.is_reduction() && map.bodies.size() == 1 && points(map).value_or(0) >= kLeastElements &&
                   te::any_node(map.bodies[0], [](const Expr& e) { return is_byte(e.dtype()); }) &&
                   !view.is_known(name);
          },
          [](Builder& builder, const std::string& name) {
            const Schedule before = builder.schedule;
            if (tried(builder.schedule.tabulate(name)) && !builder.decide(name, "table", true))
              builder.schedule = before;
          }};
}

}  // namespace isomer::kernel
