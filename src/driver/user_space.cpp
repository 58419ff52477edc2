#include "driver/user_space.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "driver/nest_state.h"
#include "util/hash.h"

namespace isomer {
namespace {

bool is_word(const std::string& name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

bool applies(const ScheduleModule& module, const kernel::View& view, const std::string& name, const Machine& machine,
             ModuleFailure& failure) {
  detail::NestState state{view, machine, nullptr, nullptr};
  const Nest nest = detail::ScheduleAccess::nest(state);
  bool does = false;
  const auto asked = succeeded([&]() -> Expected<void> {
    does = module.applies(nest, nest.block(name));
    return {};
  });
  if (!asked) failure.tell(fmt::format("{}: {}: {}", module.name, name, asked.error().sentence));
  return does;
}

/// Runs the module on one block. One that fails is a choice against it: what is tuned must come to the same where a
/// failure ends all.
void run(const ScheduleModule& module, kernel::Builder& builder, const std::string& name, const Machine& machine,
         ModuleFailure& failure) {
  if (failure.has_any() || !builder.decide(name, module.name, true)) return;
  const kernel::Schedule before = builder.schedule;
  std::optional<Failure> misuse;
  detail::NestState state{builder.view, machine, &builder, &misuse};
  Schedule schedule = detail::ScheduleAccess::schedule(state);
  const auto done = succeeded([&] { return module.apply(schedule, schedule.nest().block(name)); });
  if (done && !misuse) return;
  builder.schedule = before;
  builder.take_back(name, module.name);
  failure.tell(fmt::format("{}: {}: {}", module.name, name, misuse ? misuse->sentence : done.error().sentence));
}

kernel::Module adapted(const ScheduleModule& module, const Machine& machine, ModuleFailure& failure) {
  return {
      module.name,
      [&](const kernel::View& view, const std::string& name) { return applies(module, view, name, machine, failure); },
      [&](kernel::Builder& builder, const std::string& name) { run(module, builder, name, machine, failure); },
      module.instead};
}

}  // namespace

Machine machine_for_users(const kernel::CpuTarget& target, const kernel::Machine& machine) {
  return {target.cpu,           target.extensions,     target.vector_bits, machine.vectors.registers,
          machine.caches.first, machine.caches.second, machine.threads};
}

Result<kernel::Space> space_with(const std::vector<ScheduleModule>& modules, const Machine& machine,
                                 ModuleFailure& failure) {
  kernel::Space space = kernel::default_space();
  std::set<std::string> names;
  for (const kernel::Pass& pass : space)
    for (const kernel::Module& module : pass.modules) names.insert(module.name);
  const std::set<std::string> places = names;
  for (const ScheduleModule& module : modules) {
    if (!is_word(module.name) || !names.insert(module.name).second)
      return Error{ErrorKind::kUsage, module.name,
                   "a name of its own, of letters, digits and '_', expected for a module"};
    if (!module.applies || !module.apply)
      return Error{ErrorKind::kUsage, module.name, "a module with both of its functions expected"};
    if (!places.contains(module.before))
      return Error{ErrorKind::kUsage, module.name,
                   fmt::format("a default module to stand in front of expected, one of {}, '{}' found",
                               fmt::join(places, ", "), module.before)};
    // Passes of users stand in the order in which they were given.
    const auto pass = std::find_if(space.begin(), space.end(), [&](const kernel::Pass& each) {
      return std::any_of(each.modules.begin(), each.modules.end(),
                         [&](const kernel::Module& m) { return m.name == module.before; });
    });
    space.insert(pass, {false, {adapted(module, machine, failure)}});
  }
  return space;
}

std::string name_of_space(const std::vector<ScheduleModule>& modules, const std::vector<MicroKernel>& micro_kernels) {
  std::vector<std::string> names;
  for (const ScheduleModule& module : modules) names.push_back(module.name);
  for (const MicroKernel& each : micro_kernels) {
    const Hash128 hash = Hasher().add(std::string_view(each.text)).finish();
    names.push_back(fmt::format("{} {}", each.name, hash.hex()));
  }
  return names.empty() ? "" : fmt::format("with {}", fmt::join(names, " "));
}

kernel::MicroKernel micro_kernel_of(const MicroKernel& given) {
  const auto steps = [](const MicroKernel::Steps& each) { return kernel::MicroKernel::Steps{each.first, each.second}; };
  return {given.name,     given.rows,     given.columns, given.depth, steps(given.a),
          steps(given.b), steps(given.c), given.needs,   given.text};
}

}  // namespace isomer
