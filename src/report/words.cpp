#include "report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace isomer::report {

using nlohmann::json;

std::string number(const json& value, const char* format) {
  if (!value.is_number()) return "–";
  const double x = value.get<double>();
  constexpr double kFirstOfFiveDigits = 9999.5, kLastThatIsCounted = 1e15;
  const bool is_long = std::abs(x) >= kFirstOfFiveDigits && std::abs(x) < kLastThatIsCounted;
  return fmt::format(fmt::runtime(format ? format : is_long ? "{:.0f}" : "{:.4g}"), x);
}

std::string microseconds(const json& value) {
  if (!value.is_number()) return "–";
  const double us = value.get<double>();
  return us < 1e3 ? fmt::format("{:.1f}&nbsp;µs", us) : fmt::format("{:.2f}&nbsp;ms", us / 1e3);
}

std::string bar(double share) {
  return fmt::format("<div class=\"bar\"><i style=\"width:{:.0f}%\"></i></div>", 100 * std::clamp(share, 0.0, 1.0));
}

std::string tile(std::string_view what, const std::string& value, const std::string& more) {
  return fmt::format("<div class=\"tile\"><span>{}</span><strong>{}</strong><small>{}</small></div>\n", what, value,
                     more);
}

}  // namespace isomer::report
