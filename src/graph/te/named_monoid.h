// The monoids of program.h by the names that the text form gives them.
#pragma once

#include <array>
#include <string_view>

#include "graph/te/program.h"

namespace isomer::te {

struct NamedMonoid {
  std::string_view name;
  Monoid (*make)(DataType);
};

inline constexpr std::array<NamedMonoid, 10> kNamedMonoids = {{
    {"sum", sum},
    {"prod", product},
    {"max", maximum},
    {"min", minimum},
    {"argmax", [](DataType type) { return argmax(type, false); }},
    {"argmax_last", [](DataType type) { return argmax(type, true); }},
    {"argmin", [](DataType type) { return argmin(type, false); }},
    {"argmin_last", [](DataType type) { return argmin(type, true); }},
    {"welford", welford},
    {"online_softmax", online_softmax},
}};

}  // namespace isomer::te
