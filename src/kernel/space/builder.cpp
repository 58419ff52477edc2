#include "kernel/space/builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/check.h"

namespace isomer::kernel {

int64_t Builder::decide(std::string_view of, std::string_view what, std::vector<int64_t> candidates,
                        int64_t preferred) {
  const auto is_candidate = [&](int64_t value) {
    return std::find(candidates.begin(), candidates.end(), value) != candidates.end();
  };
  const std::string name = fmt::format("{}.{}", of, what);
  CHECK(is_candidate(preferred)) << name << " = " << preferred;
  const auto known =
      std::find_if(made_.begin(), made_.end(), [&](const Made& each) { return each.choice.name == name; });
  if (known != made_.end() && !known->is_preferred() && is_candidate(known->value)) return known->value;
  Choice choice{name, std::move(candidates), preferred};
  const int64_t value = decider_.decide(choice);
  CHECK(std::find(choice.candidates.begin(), choice.candidates.end(), value) != choice.candidates.end())
      << name << " = " << value;
  if (known != made_.end())
    *known = {std::move(choice), value};
  else
    made_.push_back({std::move(choice), value});
  return value;
}

}  // namespace isomer::kernel
