// What `bench` and `tune` measured, as parts of a page. Test: tests/report/page_test.cpp
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace isomer::report {

/// Tiles of the summary; nothing where there is nothing to show.
std::string measured_tiles(const nlohmann::json& facts);
/// Runs of the whole, peers beside it; tasks with their share of the time against the machine's peaks.
std::string measured_sections(const nlohmann::json& facts);

}  // namespace isomer::report
