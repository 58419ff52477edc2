#include "search/code/merge_variants.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_map>

namespace isomer::search {
namespace {

using runtime::Artifact;

void shift_kernels(runtime::Body& body, int32_t by);

void shift_kernels(std::vector<runtime::Step>& steps, int32_t by) {
  for (runtime::Step& step : steps) {
    if (auto* run = std::get_if<runtime::KernelStep>(&step.action)) run->kernel += by;
    if (auto* branch = std::get_if<runtime::BranchStep>(&step.action)) {
      shift_kernels(branch->then_body, by);
      shift_kernels(branch->else_body, by);
    }
    if (auto* loop = std::get_if<runtime::LoopStep>(&step.action)) shift_kernels(loop->body, by);
  }
}

void shift_kernels(runtime::Body& body, int32_t by) { shift_kernels(body.steps, by); }

std::string_view view_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void merge(Artifact& artifact, Artifact other) {
  artifact.code.resize((artifact.code.size() + runtime::kAlignment - 1) / runtime::kAlignment * runtime::kAlignment);
  const size_t code = artifact.code.size();
  artifact.code.insert(artifact.code.end(), other.code.begin(), other.code.end());
  const auto kernels = static_cast<int32_t>(artifact.kernels.size());
  const auto modules = static_cast<int32_t>(artifact.modules.size());
  std::move(other.modules.begin(), other.modules.end(), std::back_inserter(artifact.modules));
  for (runtime::Kernel& kernel : other.kernels) {
    for (runtime::Part& part : kernel.parts) part.entry += code;
    if (kernel.module >= 0) kernel.module += modules;
    artifact.kernels.push_back(std::move(kernel));
  }
  std::unordered_map<std::string_view, int32_t> known;
  for (size_t k = 0; k < artifact.weights.size(); ++k)
    known.emplace(view_of(artifact.weights[k]), static_cast<int32_t>(k));
  std::vector<int32_t> number;
  for (size_t k = 0; k < other.weights.size(); ++k) {
    const auto [found, is_new] =
        known.emplace(view_of(other.weights[k]), static_cast<int32_t>(artifact.weights.size()));
    number.push_back(found->second);
    if (!is_new) continue;
    artifact.weights.push_back(other.weights[k]);
  }
  artifact.owners.insert(artifact.owners.end(), other.owners.begin(), other.owners.end());
  for (runtime::Variant& variant : other.variants) {
    for (runtime::Value& value : variant.values)
      if (auto* place = std::get_if<runtime::InWeights>(&value.place)) place->number = number[place->number];
    shift_kernels(variant.steps, kernels);
    artifact.variants.push_back(std::move(variant));
  }
}

}  // namespace isomer::search
