// Numbers and tiles of pages.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace isomer::report {

/// "–" for what is none. Without a format four digits, or all of them before the point.
std::string number(const nlohmann::json& value, const char* format = nullptr);
/// As HTML: 12.5 µs, 3.20 ms, "–" for what is none.
std::string microseconds(const nlohmann::json& value);
/// A share of 1 as a bar.
std::string bar(double share);
/// A figure of the summary. `value` and `more` are HTML.
std::string tile(std::string_view what, const std::string& value, const std::string& more);

}  // namespace isomer::report
