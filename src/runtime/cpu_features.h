// What this machine's processor can do, by the names that LLVM gives its features.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace isomer::runtime {

/// The processor has it and the operating system saves its registers. False for names that this version doesn't know.
bool has_cpu_feature(std::string_view name);

/// The first of them that this machine lacks.
std::optional<std::string> first_missing_feature(std::span<const std::string> names);

}  // namespace isomer::runtime
