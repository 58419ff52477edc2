#include "driver/compile_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "driver/coverage_json.h"
#include "driver/search_json.h"
#include "search/code/merge_variants.h"
#include "util/clock.h"
#include "util/resident.h"
#include "util/version.h"
#include "verify/check/check.h"
#include "verify/check/check_json.h"

namespace isomer {
namespace {

using nlohmann::json;

/// --target cuda=sm_90a,cpu: a variant for each, the preferred one first.
std::vector<std::string> each_target(const std::string& targets) {
  std::vector<std::string> all;
  std::istringstream parts(targets);
  for (std::string target; std::getline(parts, target, ',');) all.push_back(target);
  if (targets.empty() || targets.ends_with(',')) all.emplace_back();  // which is refused in its own words
  return all;
}

std::string text_of(const kernel::Target& target) {
  if (const auto* gpu = std::get_if<kernel::CudaTarget>(&target)) return "cuda=" + gpu->arch;
  const auto& cpu = std::get<kernel::CpuTarget>(target);
  return "cpu=" + cpu.cpu + cpu.features;
}

/// Before the first is compiled for: all can be, and none is there twice.
Result<void> check_targets(CompileChoices choices) {
  std::set<std::string> known;
  for (const std::string& target : each_target(choices.target)) {
    choices.target = target;
    TRY(const kernel::Target parsed, choices.parsed_target());
    if (!known.insert(text_of(parsed)).second)
      return Error{ErrorKind::kUsage, "--target", fmt::format("each target once expected, '{}' found again", target)};
  }
  return {};
}

std::string text_of(const std::map<std::string, int64_t>& dims) {
  std::vector<std::string> parts;
  for (const auto& [name, size] : dims) parts.push_back(fmt::format("{}={}", name, size));
  return fmt::format("{}", fmt::join(parts, ","));
}

/// Each variant is for sizes of its own, and says nothing else of a dim than what holds for all.
Result<void> check_variants(const CompileFileChoices& choices, const std::map<std::string, int64_t>& of_all) {
  std::set<std::map<std::string, int64_t>> known;
  for (const auto& dims : choices.bindings) {
    if (!known.insert(dims).second)
      return Error{ErrorKind::kUsage, "--dim",
                   fmt::format("each variant once expected, {} found again", text_of(dims))};
    for (const auto& [name, size] : dims)
      if (of_all.contains(name))
        return Error{
            ErrorKind::kUsage, "--dim",
            fmt::format("one size of '{}' in a variant expected, {} and {} found", name, of_all.at(name), size)};
  }
  return {};
}

class FileCompiler {
 public:
  FileCompiler(const std::string& model, const CompileFileChoices& choices, const Settings& settings)
      : model_(model), choices_(choices), settings_(settings) {}

  Result<CompiledFile> run() {
    TRY_VOID(check_targets(choices_.code));
    TRY_VOID(check_variants(choices_, settings_.dims));
    const std::vector<std::string> targets = each_target(choices_.code.target);
    size_t left = targets.size() * choices_.bindings.size();  // variants
    for (const std::string& target : targets)
      for (const auto& dims : choices_.bindings) {
        CompileChoices choices = choices_.code;
        choices.target = target;
        // Each has a share of the time that is left. Who has stopped one search waits for no other.
        if (auto& seconds = choices.search.seconds)
          *seconds = std::max(0.0, *seconds - seconds_since(begin_)) / static_cast<double>(left);
        --left;
        if (result_.is_interrupted()) choices.search.seconds = 0;
        Settings settings = settings_;
        settings.dims.insert(dims.begin(), dims.end());
        settings.messages.note = [this](std::string_view line) { say_once(line); };
        std::vector<std::string> name;
        if (targets.size() > 1) name.push_back(target);
        if (choices_.bindings.size() > 1) name.push_back(text_of(dims));
        result_.names.push_back(fmt::format("{}", fmt::join(name, " ")));
        TRY(search::Compilation code, variant(choices, settings));
        if (result_.artifact.variants.empty()) {
          result_.artifact = std::move(code.artifact);
        } else {
          search::merge(result_.artifact, std::move(code.artifact));
        }
      }
    result_.seconds["all"] = seconds_since(begin_);
    return std::move(result_);
  }

 private:
  /// What holds of the model is found anew with each variant.
  void say_once(std::string_view line) {
    if (said_.insert(std::string(line)).second) settings_.messages.say(line);
  }

  /// One, checked.
  Result<search::Compilation> variant(const CompileChoices& choices, const Settings& settings) {
    const auto begin = Clock::now();
    TRY(const kernel::Target target, choices.parsed_target());
    settings.messages.tell("reading");
    TRY(LoadedModel model, load_model(model_, settings));
    TRY_VOID(keep_defaults(model.graph, model_, settings));
    TRY_VOID(check_apart(model, model_, choices_.places));
    TRY(auto bindings, bind_free_dims(model.graph, model_, settings));
    SearchSetting setting;
    setting.begin = begin;
    CheckCode check;
    std::optional<CodeCheck> checked;  ///< the code that was checked last, which is what is kept
    if (choices_.has_check && can_check(target)) {
      check = [&](const search::Compilation& code) {
        // As long as the rest took where its time allows it, and a second in any case.
        const double passed = seconds_since(begin), all = choices.search.seconds.value_or(2 * passed);
        return difference(model.graph, code, settings, std::min(passed, all - passed), checked);
      };
      setting.differ = [&](const Graph& one, const Graph& other) -> Result<bool> {
        TRY(const CheckReport found,
            check_same(one, other, {.seed = settings.seed, .threads = settings.threads, .memory = settings.memory}));
        return found.equivalence.difference.has_value();
      };
    } else {
      setting.least_afterwards = 0;
    }
    TRY(CompiledModel compiled, code_of_model(model, model_, settings, choices, setting, check));
    bindings.insert(settings.dims.begin(), settings.dims.end());
    compiled.code.artifact.variants[0].bindings = std::move(bindings);
    result_.tasks += all_tasks(compiled.code.whole).size();
    result_.tuned += compiled.code.tuned;
    result_.checks.emplace_back();
    if (checked) {
      result_.coverage += checked->coverage;
      result_.is_of_plain_loops |= checked->is_of_plain_loops;
      result_.checks.back() = std::move(checked->equivalence);
    }
    result_.made.push_back(std::move(compiled.made));
    result_.chosen.push_back(std::move(compiled.chosen));
    result_.tunings.push_back(std::move(compiled.tuned));
    return std::move(compiled.code);
  }

  Result<std::optional<std::string>> difference(const Graph& model, const search::Compilation& code,
                                                const Settings& settings, double seconds,
                                                std::optional<CodeCheck>& checked) {
    const auto start = Clock::now();
    const std::chrono::duration<double> takes(std::max(1.0, seconds));
    const auto until = start + std::chrono::duration_cast<Clock::duration>(takes);
    TRY(checked, check_code(model, code, {settings.seed, settings.threads, settings.memory, until}));
    result_.seconds["check"] += seconds_since(start);
    const auto& found = checked->equivalence.difference;
    return found ? std::optional(found->text()) : std::nullopt;
  }

  const std::string& model_;
  const CompileFileChoices& choices_;
  const Settings& settings_;
  const Clock::time_point begin_ = Clock::now();
  CompiledFile result_;
  std::set<std::string> said_;
};

/// Lines of a variant, told from those of others.
std::string of_variant(const std::string& name, const std::string& line) {
  return name.empty() ? line : fmt::format("{}: {}", name, line);
}

json tuning_json(const TunedTasks& tuned) {
  json cuts = json::array();
  for (const auto& [what, saved] : tuned.cuts) cuts.push_back({{"what", what}, {"saved_us", saved}});
  const std::vector<double> times = tune::fastest_times(tuned.model, tuned.state.progress());
  int64_t elsewhere = 0;
  for (size_t k = 0; k < times.size(); ++k) elsewhere += times[k] > 0 ? 0 : tuned.state.tasks[k].progress.trials;
  return {{"trials", tuned.state.trials},
          {"trials_of_other_programs", elsewhere},
          {"start_us", tuned.state.first_us(tuned.model)},
          {"best_us", tuned.state.now_us(tuned.model)},
          {"cuts", cuts},
          {"seconds", tuned.state.seconds}};
}

}  // namespace

bool CompiledFile::is_interrupted() const {
  const auto is_interrupted = [](const search::OptimizedModel& each) { return each.is_interrupted; };
  const auto is_left = [](const std::optional<search::ChosenTasks>& each) { return each && each->is_interrupted; };
  const auto is_cut_off = [](const std::optional<TunedTasks>& each) { return each && each->is_interrupted; };
  return std::ranges::any_of(made, is_interrupted) || std::ranges::any_of(chosen, is_left) ||
         std::ranges::any_of(tunings, is_cut_off);
}

std::optional<Equivalence> CompiledFile::check() const {
  std::optional<Equivalence> all;
  for (const std::optional<Equivalence>& each : checks) {
    if (!each) continue;
    if (!all) all.emplace();
    *all += *each;
  }
  return all;
}

std::vector<std::string> CompiledFile::check_lines() const {
  std::vector<std::string> lines;
  for (size_t k = 0; k < checks.size(); ++k)
    lines.push_back(of_variant(names[k], checks[k] ? checks[k]->text() : "not checked"));
  return lines;
}

std::vector<std::string> CompiledFile::warnings() const {
  std::vector<std::string> lines;
  for (size_t k = 0; k < checks.size(); ++k)
    for (const std::string& line : checks[k] ? checks[k]->warnings() : std::vector<std::string>())
      lines.push_back(of_variant(names[k], line));
  return lines;
}

Result<CompiledFile> compile_file(const std::string& model, const CompileFileChoices& choices,
                                  const Settings& settings) {
  if (choices.code.graphs > 1 && choices.code.chosen_level() < search::kSearchLevel)
    return Error{ErrorKind::kUsage, "--graphs",
                 fmt::format("--level {} expected, whose search finds them", search::kSearchLevel)};
  return FileCompiler(model, choices, settings).run();
}

json compile_json(const std::string& model, const Settings& settings, const CompiledFile& compiled) {
  const runtime::Artifact& artifact = compiled.artifact;
  json searches = json::array();
  for (const search::OptimizedModel& made : compiled.made) searches.push_back(search_json(made));
  json chosen = json::array();
  for (const auto& tasks : compiled.chosen) chosen.push_back(tasks ? tasks_json(*tasks) : json());
  json tunings = json::array();
  for (const auto& tuned : compiled.tunings) tunings.push_back(tuned ? tuning_json(*tuned) : json());
  json check = nullptr, by_variant = json::array();
  for (const auto& each : compiled.checks) by_variant.push_back(each ? equivalence_json(*each) : json());
  if (const auto all = compiled.check()) {
    check = equivalence_json(*all);
    check["by_variant"] = std::move(by_variant);
    check["exercised"] = coverage_json(compiled.coverage);
    check["plain_loops"] = compiled.is_of_plain_loops;
  }
  int64_t arena = 0;
  for (const runtime::Variant& variant : artifact.variants) arena = std::max(arena, variant.arena_bytes);
  size_t code = artifact.code.size();
  for (const runtime::Module& module : artifact.modules) code += module.image.size();
  return {{"model", model},
          {"variants", artifact.variants.size()},
          {"tasks", compiled.tasks},
          {"kernels", artifact.kernels.size()},
          {"kernels_tuned", compiled.tuned},
          {"arena_mb", static_cast<double>(arena) / 1e6},
          {"code_kb", static_cast<double>(code) / 1e3},
          {"search", searches},
          {"tasks_chosen", chosen},
          {"tuning", tunings},
          {"check", check},
          {"seconds", compiled.seconds},
          {"peak_memory_mb", static_cast<double>(peak_resident_bytes()) / 1e6},
          {"seed", settings.seed},
          {"version", version_text()}};
}

}  // namespace isomer
