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
  if (known == made_.end()) {
    const int64_t value = decider_.decide(choice);
    CHECK(choice.has(value)) << choice.name << " = " << value;
    made_.push_back({std::move(choice), value});
    return value;
  }
  const int64_t same = known->is_preferred() ? preferred : known->value;
  if (same == known->value && choice.has(same)) return same;
  // Decisions by name make the schedule again: one name has one value.
  choice.name += ".again";
  return decide(std::move(choice));
}

void Builder::prefer(std::string_view name) {
  for (Made& each : made_)
    if (each.choice.name == name) each.value = each.choice.preferred;
}

void Builder::take_back(std::string_view of, std::string_view what) {
  const std::string name = fmt::format("{}.{}", of, what);
  const auto known =
      std::find_if(made_.begin(), made_.end(), [&](const Made& each) { return each.choice.name == name; });
  CHECK(known != made_.end() && known->choice.has(0)) << name;
  known->value = 0;
  made_.erase(known + 1, made_.end());
}

}  // namespace isomer::kernel
