#include "runtime/plan_builder.h"

#include <algorithm>
#include <numeric>

namespace isomer::runtime::test {

PlanBuilder::PlanBuilder() {
  const auto code = machine_code();
  artifact_.code.assign(code.begin(), code.end());
  artifact_.provenance = {"isomer test", "0123", 7, "one line\nanother one\n"};
  variant_.target = {"x86-64", {"sse2"}};
}

int32_t PlanBuilder::value(std::string name, ElementType type, std::vector<int64_t> dims, Place place) {
  const int64_t bytes = byte_size(type, dims).value_or(0);
  variant_.values.push_back({std::move(name), type, std::move(dims), bytes, place});
  return static_cast<int32_t>(variant_.values.size()) - 1;
}

int32_t PlanBuilder::input(const std::string& name, ElementType type, std::vector<int64_t> dims) {
  variant_.inputs.push_back(
      {name, value(name, type, std::move(dims), InInput{static_cast<int32_t>(variant_.inputs.size())}), 0});
  return variant_.inputs.back().value;
}

int32_t PlanBuilder::output(const std::string& name, ElementType type, std::vector<int64_t> dims) {
  variant_.outputs.push_back(
      {name, value(name, type, std::move(dims), InOutput{static_cast<int32_t>(variant_.outputs.size())}), 0});
  return variant_.outputs.back().value;
}

int32_t PlanBuilder::dynamic(const std::string& name, ElementType type, std::vector<int64_t> dims) {
  return value(name, type, std::move(dims), Dynamic{});
}

int32_t PlanBuilder::dynamic_output(const std::string& name, ElementType type, std::vector<int64_t> dims) {
  variant_.outputs.push_back({name, dynamic(name, type, std::move(dims)), 0});
  return variant_.outputs.back().value;
}

int32_t PlanBuilder::arena(const std::string& name, ElementType type, std::vector<int64_t> dims) {
  const int32_t number = value(name, type, std::move(dims), InArena{variant_.arena_bytes});
  variant_.arena_bytes += (variant_.values[number].bytes + kAlignment - 1) / kAlignment * kAlignment;
  return number;
}

int32_t PlanBuilder::view(int32_t of, int64_t offset, std::vector<int64_t> dims) {
  const bool is_dynamic = std::holds_alternative<Dynamic>(variant_.values[of].place);
  const int32_t made = value("view", variant_.values[of].type, std::move(dims), ViewOf{of, offset});
  if (is_dynamic) variant_.values[made].bytes = 0;
  return made;
}

Step PlanBuilder::kernel(uint64_t entry, std::vector<int32_t> arguments, int64_t iterations, int64_t scratch_bytes) {
  artifact_.kernels.push_back({{{entry, iterations, 0, scratch_bytes}}});
  return {"kernel",
          {"Add", "Mul"},
          iterations,
          KernelStep{static_cast<int32_t>(artifact_.kernels.size()) - 1, std::move(arguments)}};
}

Step PlanBuilder::launch(std::vector<int32_t> arguments) {
  variant_.target = {"sm_90a", {}, DeviceKind::kCuda};
  artifact_.modules = {{"sm_90a", std::vector<std::byte>(100, std::byte{7})}};
  Kernel& kernel = artifact_.kernels.emplace_back();
  kernel.module = 0;
  Launch& launch = kernel.launches.emplace_back();
  launch.function = "f";
  launch.blocks = {3, 2, 1};
  launch.threads = {32, 4, 1};
  launch.buffers.resize(arguments.size());
  std::iota(launch.buffers.begin(), launch.buffers.end(), 0);
  return {"launch", {"Add"}, 0, KernelStep{static_cast<int32_t>(artifact_.kernels.size()) - 1, std::move(arguments)}};
}

Artifact PlanBuilder::build(std::vector<Step> steps) {
  variant_.steps = std::move(steps);
  Artifact artifact = artifact_;
  artifact.variants = {variant_};
  return artifact;
}

Artifact sums(const std::vector<int64_t>& sizes) {
  std::vector<float> content(*std::ranges::max_element(sizes));
  std::iota(content.begin(), content.end(), 0.0F);
  Artifact all;
  for (const int64_t n : sizes) {
    PlanBuilder plan;
    const int32_t x = plan.input("x", ElementType::kFloat32, {n});
    const int32_t y = plan.output("y", ElementType::kFloat32, {n});
    const int32_t between = plan.arena("between", ElementType::kFloat32, {n});
    const int32_t w = plan.weight(ElementType::kFloat32, {n}, content);
    Artifact one =
        plan.build({plan.kernel(entries().add_one, {x, between}, n), plan.kernel(entries().add, {between, w, y}, n)});
    one.variants[0].bindings = {{"n", n}};
    if (all.variants.empty()) {
      all = std::move(one);
      continue;
    }
    // The weights are those of the first; its kernels are others, for their iterations are.
    for (Step& step : one.variants[0].steps)
      std::get<KernelStep>(step.action).kernel += static_cast<int32_t>(all.kernels.size());
    all.kernels.insert(all.kernels.end(), one.kernels.begin(), one.kernels.end());
    all.variants.push_back(std::move(one.variants[0]));
  }
  return all;
}

}  // namespace isomer::runtime::test
