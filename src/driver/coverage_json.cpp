#include "driver/coverage_json.h"

namespace isomer {

using nlohmann::json;

json coverage_json(const search::Coverage& coverage) {
  const auto numbers = [](const search::Exercised& exercised) {
    return json{{"ran", exercised.ran}, {"all", exercised.all}};
  };
  json primitives = json::object();
  for (const auto& [name, exercised] : coverage.primitives) primitives[name] = numbers(exercised);
  return {{"steps", numbers(coverage.steps)},    {"bodies", numbers(coverage.bodies)},
          {"stages", numbers(coverage.stages)},  {"kernels", numbers(coverage.kernels)},
          {"primitives", std::move(primitives)}, {"missed", coverage.missed}};
}

}  // namespace isomer
