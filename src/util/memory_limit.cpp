#include "util/memory_limit.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <utility>

#include "util/cgroup.h"
#include "util/resident.h"
#include "util/sanitized.h"

namespace isomer {
namespace {

/// Less is not asked about: there is always as much.
constexpr int64_t kLittle = int64_t{1} << 20;
/// Roughly what the program has before it reads a model.
constexpr int64_t kProgram = int64_t{64} << 20;

int64_t added(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

/// Version 1 writes a number near 2^63 where there is no limit.
std::optional<int64_t> limit_in(const std::string& file) {
  constexpr int64_t kNoLimit = int64_t{1} << 60;
  int64_t bytes = 0;
  if (!(std::ifstream(file) >> bytes) || bytes <= 0 || bytes >= kNoLimit) return std::nullopt;
  return bytes;
}

}  // namespace

bool MemoryLimit::allows(int64_t more) const { return more < kLittle || fits_beside(0, more); }

bool MemoryLimit::allows(int64_t weights, int64_t more) const { return fits_beside(added(kProgram, weights), more); }

bool MemoryLimit::fits_beside(int64_t held, int64_t more) const {
  const auto fits = [&](int64_t resident) { return added(std::max(resident, held), more) <= bytes; };
  // The most that was ever held is asked first: that takes no file to be read, and loops ask for each of their runs.
  return is_none() || fits(peak_resident_bytes()) || fits(resident_bytes());
}

Error MemoryLimit::refusal(int64_t more, std::string_view purpose) const {
  return unsupported("", "{} more memory for {} expected, {} of {} are left; --memory SIZE allows more",
                     size_text(more), purpose, size_text(std::max<int64_t>(bytes - resident_bytes(), 0)),
                     size_text(bytes));
}

Result<void> MemoryLimit::check(int64_t more, std::string_view purpose) const {
  if (!allows(more)) return refusal(more, purpose);
  return {};
}

std::optional<int64_t> machine_memory() {
  std::optional<int64_t> least;
  const auto take = [&](std::optional<int64_t> bytes) {
    if (bytes) least = std::min(least.value_or(*bytes), *bytes);
  };
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) take(int64_t{pages} * page);
  for (const std::string& folder : cgroup_folders("memory")) {
    take(limit_in(folder + "/memory.max"));
    take(limit_in(folder + "/memory.limit_in_bytes"));
  }
  return least;
}

MemoryLimit default_memory_limit() {
  const auto memory = machine_memory();
  return memory ? MemoryLimit{*memory / 4 * 3} : MemoryLimit();
}

void limit_process(MemoryLimit limit, int threads) {
  // Addresses, not pages: stacks are mapped whole, and freed memory stays with the allocator.
  constexpr int64_t kStack = int64_t{8} << 20, kUnused = int64_t{256} << 20;
  rlimit now{};
  if (kSanitized || limit.is_none() || getrlimit(RLIMIT_DATA, &now) != 0) return;
  const auto most = static_cast<rlim_t>(added(limit.bytes, added(kUnused, kStack * threads)));
  now.rlim_cur = std::min({now.rlim_cur, now.rlim_max, most});
  setrlimit(RLIMIT_DATA, &now);
}

std::optional<int64_t> parse_size(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  std::string unit(end, text.data() + text.size());
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](char c) { return 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  constexpr std::array<std::pair<std::string_view, double>, 14> kUnits = {{{"", 1},
                                                                           {"B", 1},
                                                                           {"K", 1e3},
                                                                           {"KB", 1e3},
                                                                           {"M", 1e6},
                                                                           {"MB", 1e6},
                                                                           {"G", 1e9},
                                                                           {"GB", 1e9},
                                                                           {"T", 1e12},
                                                                           {"TB", 1e12},
                                                                           {"KIB", 0x1p10},
                                                                           {"MIB", 0x1p20},
                                                                           {"GIB", 0x1p30},
                                                                           {"TIB", 0x1p40}}};
  const auto known = std::find_if(kUnits.begin(), kUnits.end(), [&](const auto& u) { return u.first == unit; });
  if (known == kUnits.end()) return std::nullopt;
  const double bytes = number * known->second;
  if (!(bytes >= 1 && bytes < 0x1p62)) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

std::string size_text(int64_t bytes) {
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  constexpr std::array<std::string_view, 6> kUnits = {"KB", "MB", "GB", "TB", "PB", "EB"};
  double number = static_cast<double>(bytes) / 1e3;
  size_t unit = 0;
  for (; number >= 999.5 && unit + 1 < kUnits.size(); ++unit) number /= 1e3;
  return fmt::format("{:.3g} {}", number, kUnits[unit]);
}

}  // namespace isomer
