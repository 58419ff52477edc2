#include "cli/inspect_artifact.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "runtime/artifact_file.h"
#include "runtime/model.h"

namespace isomer::cli {
namespace {

using nlohmann::json;
using runtime::Artifact;
using runtime::Variant;

json ports(const Variant& variant, const std::vector<runtime::Port>& list) {
  json result = json::array();
  for (const runtime::Port& port : list) {
    const runtime::Value& value = variant.values[port.value];
    result.push_back(
        {{"name", port.name}, {"dtype", isomer::name(static_cast<DataType>(value.type))}, {"shape", value.dims}});
  }
  return result;
}

/// Those of a branch or loop are with it, under "bodies".
json steps(const std::vector<runtime::Step>& list) {
  json result = json::array();
  for (const runtime::Step& step : list) {
    json row = {{"name", step.name}, {"ops", step.operators}, {"gflop", static_cast<double>(step.flops) / 1e9}};
    if (const auto* branch = std::get_if<runtime::BranchStep>(&step.action))
      row["bodies"] = json::array({steps(branch->then_body.steps), steps(branch->else_body.steps)});
    if (const auto* loop = std::get_if<runtime::LoopStep>(&step.action))
      row["bodies"] = json::array({steps(loop->body.steps)});
    result.push_back(std::move(row));
  }
  return result;
}

void print_steps(const json& list, int depth) {
  for (const json& step : list) {
    fmt::print("{:>10.4f} GFLOP  {:{}}{}\n", step["gflop"].get<double>(), "", 2 * depth,
               printable(step["name"].get<std::string>()));
    if (step.contains("bodies"))
      for (const json& body : step["bodies"]) print_steps(body, depth + 1);
  }
}

json summary(const Artifact& artifact) {
  size_t weights = 0;
  for (const auto& weight : artifact.weights) weights += weight.size();
  json variants = json::array();
  for (const Variant& variant : artifact.variants)
    variants.push_back({{"target", variant.target.name},
                        {"device", variant.target.device == runtime::DeviceKind::kCuda ? "cuda" : "cpu"},
                        {"features", variant.target.features},
                        {"dims", variant.bindings},
                        {"inputs", ports(variant, variant.inputs)},
                        {"outputs", ports(variant, variant.outputs)},
                        {"arena_mb", static_cast<double>(variant.arena_bytes) / 1e6},
                        {"steps", steps(variant.steps)}});
  json modules = json::array();
  size_t code = artifact.code.size();
  for (const runtime::Module& module : artifact.modules) {
    code += module.image.size();
    modules.push_back({{"arch", module.arch}, {"kb", static_cast<double>(module.image.size()) / 1e3}});
  }
  size_t launches = 0;
  for (const runtime::Kernel& kernel : artifact.kernels) launches += kernel.launches.size();
  return {{"producer", artifact.provenance.producer},
          {"seed", artifact.provenance.seed},
          {"code_kb", static_cast<double>(code) / 1e3},
          {"kernels", artifact.kernels.size()},
          {"modules", modules},
          {"launches", launches},
          {"weights_mb", static_cast<double>(weights) / 1e6},
          {"variants", variants}};
}

void print_artifact(const json& facts) {
  const auto line = [](std::string_view key, const std::string& value) {
    fmt::print("{:<10} {}\n", key, printable(value));
  };
  line("producer", facts["producer"]);
  line("weights", fmt::format("{:.3f} MB", facts["weights_mb"].get<double>()));
  line("code", fmt::format("{:.1f} KB, {} kernels", facts["code_kb"].get<double>(), facts["kernels"].get<size_t>()));
  if (!facts["modules"].empty())
    line("modules", fmt::format("{} of a GPU, {} launches", facts["modules"].size(), facts["launches"].get<size_t>()));
  for (const json& variant : facts["variants"]) {
    line("target", fmt::format("{} {}", variant["target"].get<std::string>(),
                               fmt::join(variant["features"].get<std::vector<std::string>>(), ",")));
    line("dims", runtime::describe(variant["dims"].get<runtime::Bindings>()));
    for (const char* side : {"inputs", "outputs"})
      for (const json& value : variant[side])
        line(side, fmt::format("{} {}{}", value["name"].get<std::string>(), value["dtype"].get<std::string>(),
                               json_text(value["shape"])));
    line("arena", fmt::format("{:.3f} MB", variant["arena_mb"].get<double>()));
    line("steps", fmt::format("{}", variant["steps"].size()));
    print_steps(variant["steps"], 0);
  }
}

}  // namespace

Result<void> inspect_artifact(const std::string& file, const CommonOptions& options, bool verify) {
  auto artifact = runtime::read_artifact(file);
  if (!artifact.ok()) return std::move(artifact).error().within(file);
  if (verify)
    if (auto verified = runtime::verify_weights(file); !verified.ok()) return std::move(verified).error().within(file);
  json facts = summary(*artifact);
  facts["verified"] = verify ? json(true) : json(nullptr);
  if (options.json) {
    fmt::print("{}\n", json_text(facts));
  } else {
    print_artifact(facts);
    if (verify) fmt::print("verified   weights are as they were written\n");
  }
  return {};
}

}  // namespace isomer::cli
