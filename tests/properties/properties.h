// What holds for every graph.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "properties/same_function.h"

namespace isomer::test {

struct Property {
  std::string_view name;
  /// Empty, or what is wrong.
  std::string (*violation)(const Case& tried);
};

const std::vector<Property>& properties();

}  // namespace isomer::test
