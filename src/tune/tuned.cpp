#include "tune/tuned.h"

#include <fmt/ranges.h>

#include "kernel/fingerprint.h"
#include "tune/candidates.h"

namespace isomer::tune {

std::string maker_of(std::string_view who, Weights weights, std::string_view own, std::string_view without) {
  return fmt::format("{}{}{}{}{}", who, without, own.empty() ? "" : ", ", own,
                     weights == Weights::kInCache ? ", weights in cache" : "");
}

std::string types_of(const kernel::Kernel& kernel) {
  const auto describe = [&](int number) {
    const kernel::Buffer& buffer = kernel.buffers[static_cast<size_t>(number)];
    std::vector<std::string> dims;
    for (const Dim& dim : buffer.shape) dims.push_back(dim.text());
    return fmt::format("{}{}[{}]", buffer.is_constant ? "const " : "", name(buffer.dtype), fmt::join(dims, ","));
  };
  std::vector<std::string> parts;
  for (const int buffer : kernel.inputs)
    if (buffer >= 0) parts.push_back(describe(buffer));
  parts.emplace_back("->");
  for (const int buffer : kernel.outputs)
    if (buffer >= 0) parts.push_back(describe(buffer));
  return fmt::format("{}", fmt::join(parts, " "));
}

TunedSchedules::TunedSchedules(const kernel::Records& records, std::string target, Weights weights,
                               std::string_view own, std::string_view without)
    : records_(records),
      target_(std::move(target)),
      generator_(kernel::generator_version()),
      maker_(maker_of("tuned", weights, own, without)),
      default_maker_(maker_of("default", weights, own, without)) {}

Result<std::optional<kernel::Scheduled>> TunedSchedules::find(const Hash128& task, const kernel::Schedule& start,
                                                              const kernel::Space& space,
                                                              const kernel::Machine& machine) const {
  std::optional<kernel::Scheduled> none;
  TRY(const auto record, records_.best({task, target_, generator_}, maker_));
  if (!record || !record->microseconds) return none;
  TRY(const auto by_default, records_.best({task, target_, generator_}, default_maker_));
  if (by_default && by_default->microseconds && *by_default->microseconds <= *record->microseconds) return none;
  const auto trace = kernel::parse_trace(record->trace);
  if (!trace.ok()) return none;
  kernel::Preferring preferring;
  kernel::Given given(decisions_of(*trace), preferring);
  kernel::Scheduled made = kernel::scheduled(start, space, machine, given);
  if (kernel::hash(made.schedule.trace()) != kernel::hash(*trace)) return none;
  return std::optional(std::move(made));
}

}  // namespace isomer::tune
