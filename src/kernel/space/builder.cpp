#include "kernel/space/builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/check.h"

namespace isomer::kernel {

int64_t Builder::decide(std::string_view of, std::string_view what, std::vector<int64_t> candidates,
                        int64_t preferred) {
  return decide(Choice{fmt::format("{}.{}", of, what), std::move(candidates), preferred});
}

int64_t Builder::decide(Choice choice) {
  const int64_t preferred = choice.preferred;
  CHECK(choice.has(preferred)) << choice.name << " = " << preferred;
  const auto known =
      std::find_if(made_.begin(), made_.end(), [&](const Made& each) { return each.choice.name == choice.name; });
  if (known != made_.end() && !known->is_preferred() && choice.has(known->value)) return known->value;
  const bool prefers_again = known != made_.end() && known->is_preferred();
  const int64_t value = prefers_again ? preferred : decider_.decide(choice);
  CHECK(choice.has(value)) << choice.name << " = " << value;
  if (known != made_.end())
    *known = {std::move(choice), value};
  else
    made_.push_back({std::move(choice), value});
  return value;
}

void Builder::prefer(std::string_view name) {
  for (Made& each : made_)
    if (each.choice.name == name) each.value = each.choice.preferred;
}

}  // namespace isomer::kernel
