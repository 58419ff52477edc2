#include "runtime/artifact_check.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

#include "runtime/overloaded.h"

namespace isomer::runtime {
namespace {

/// Beyond what any machine has; sums of two can't overflow.
constexpr int64_t kMostBytes = int64_t{1} << 46;
constexpr size_t kMostRank = 64;
constexpr int kMostDepth = 32;
constexpr size_t kMostName = 200;
/// CUDA's limits of a launch.
constexpr std::array<int64_t, 3> kMostBlocks = {2147483647, 65535, 65535};
constexpr std::array<int64_t, 3> kMostThreads = {1024, 1024, 64};

bool is_size(int64_t bytes) { return bytes >= 0 && bytes <= kMostBytes; }
bool lies_in(int64_t offset, int64_t bytes, int64_t whole) {
  return is_size(offset) && is_size(bytes) && offset + bytes <= whole;
}
bool is_dynamic(const Value& value) { return std::holds_alternative<Dynamic>(value.place); }

/// Of a part or a launch, with which `left` are left.
template <class AnyPart>
Result<void> check_turns(const AnyPart& part, size_t left) {
  if (part.turns >= 0 && part.followers >= 0 && part.followers < static_cast<int64_t>(left)) return {};
  return invalid("", "turns of parts that are there expected, {} turns of {} parts found", part.turns, part.followers);
}

bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= kMostName &&
         std::ranges::all_of(text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

bool all_in(const std::array<int64_t, 3>& counts, const std::array<int64_t, 3>& most) {
  for (size_t axis = 0; axis < 3; ++axis)
    if (counts[axis] < 1 || counts[axis] > most[axis]) return false;
  return true;
}

Result<void> check_launches(const Artifact& artifact, const Kernel& kernel) {
  if (kernel.module < -1 || kernel.module >= std::ssize(artifact.modules))
    return invalid("", "one of {} modules or none expected, {} found", artifact.modules.size(), kernel.module);
  if (kernel.module == -1 ? !kernel.launches.empty() : !kernel.parts.empty())
    return invalid("", "parts, or launches of a module expected, {} parts and {} launches of module {} found",
                   kernel.parts.size(), kernel.launches.size(), kernel.module);
  for (size_t k = 0; k < kernel.launches.size(); ++k) {
    const Launch& launch = kernel.launches[k];
    if (!is_name(launch.function)) return invalid("", "the name of a function expected, none found in launch {}", k);
    if (!all_in(launch.blocks, kMostBlocks) || !all_in(launch.threads, kMostThreads) ||
        launch.threads[0] * launch.threads[1] * launch.threads[2] > kMostThreads[0])
      return invalid("", "a grid that GPUs have expected, {}x{}x{} blocks of {}x{}x{} threads found", launch.blocks[0],
                     launch.blocks[1], launch.blocks[2], launch.threads[0], launch.threads[1], launch.threads[2]);
    constexpr int64_t kMostSharedBytes = 1 << 20;
    if (launch.shared_bytes < 0 || launch.shared_bytes > kMostSharedBytes)
      return invalid("", "up to {} bytes of shared memory expected, {} found", kMostSharedBytes, launch.shared_bytes);
    if (launch.turns > std::numeric_limits<int32_t>::max())
      return invalid("", "turns of an int32 expected, {} found", launch.turns);
    TRY_VOID(check_turns(launch, kernel.launches.size() - k));
  }
  return {};
}

Result<void> check_modules(const Artifact& artifact) {
  for (size_t k = 0; k < artifact.modules.size(); ++k)
    if (!is_name(artifact.modules[k].arch) || artifact.modules[k].image.empty())
      return invalid(fmt::format("module {}", k), "code for an architecture expected, {} bytes for '{}' found",
                     artifact.modules[k].image.size(), artifact.modules[k].arch);
  return {};
}

Result<void> check_kernels(const Artifact& artifact) {
  for (size_t k = 0; k < artifact.kernels.size(); ++k) {
    const std::vector<Part>& parts = artifact.kernels[k].parts;
    for (size_t p = 0; p < parts.size(); ++p) {
      const Part& part = parts[p];
      if (part.entry >= artifact.code.size())
        return invalid(fmt::format("kernel {}", k), "an entry inside of {} bytes of code expected, {} found",
                       artifact.code.size(), part.entry);
      if (part.iterations < 0 || part.grain < 0 || !is_size(part.scratch_bytes))
        return invalid(fmt::format("kernel {}", k),
                       "sensible counts expected, {} iterations by {} with {} bytes of scratch memory found",
                       part.iterations, part.grain, part.scratch_bytes);
      if (auto turns = check_turns(part, parts.size() - p); !turns.ok())
        return std::move(turns).error().within(fmt::format("kernel {}", k));
    }
    if (auto launches = check_launches(artifact, artifact.kernels[k]); !launches.ok())
      return std::move(launches).error().within(fmt::format("kernel {}", k));
  }
  return {};
}

/// The rules of one variant.
class VariantCheck {
 public:
  VariantCheck(const Artifact& artifact, const Variant& variant) : artifact_(artifact), variant_(variant) {}

  Result<void> run() const {
    if (variant_.target.device != DeviceKind::kCpu && variant_.target.device != DeviceKind::kCuda)
      return invalid("target", "a CPU or a GPU expected, device {} found", static_cast<int>(variant_.target.device));
    if (!is_size(variant_.arena_bytes)) return invalid("arena", "a size expected, {} found", variant_.arena_bytes);
    for (size_t k = 0; k < variant_.values.size(); ++k)
      if (auto checked = check_value(variant_.values[k]); !checked.ok())
        return std::move(checked).error().within(fmt::format("value {}", k));
    TRY_VOID(check_ports());
    return check_steps(variant_.steps, 0);
  }

 private:
  bool has(int32_t value) const { return value >= 0 && static_cast<size_t>(value) < variant_.values.size(); }
  const Value& at(int32_t value) const { return variant_.values[value]; }

  Result<void> check_value(const Value& value) const {
    if (bit_width(value.type) == 0)
      return invalid("", "a type with elements in memory expected, type {} found", static_cast<int>(value.type));
    if (value.dims.size() > kMostRank)
      return invalid("", "a rank of at most {} expected, {} found", kMostRank, value.dims.size());
    if (std::ranges::any_of(value.dims, [](int64_t dim) { return dim < -1 || dim > kMostBytes; }))
      return invalid("", "dims expected, {} found", describe(value.type, value.dims));
    TRY_VOID(check_place(value));
    if (is_dynamic(base_of(variant_, value))) {
      // Without an open dim its first size would be one of memory that nobody has taken.
      const auto open = std::ranges::count(value.dims, -1);
      if (value.bytes != 0 || (is_dynamic(value) ? open == 0 : open > 1))
        return invalid("",
                       "a dynamic value with open dims and no size, or a view of one with at most one open dim "
                       "expected, {} with {} bytes found",
                       describe(value.type, value.dims), value.bytes);
      return {};
    }
    const auto least = byte_size(value.type, value.dims);
    if (!least || !is_size(value.bytes) || value.bytes < *least)
      return invalid("", "memory for {} expected, {} bytes found", describe(value.type, value.dims), value.bytes);
    return {};
  }

  Result<void> check_place(const Value& value) const {
    return std::visit(
        Overloaded{
            [&](const InInput& in) -> Result<void> {
              if (in.number >= 0 && static_cast<size_t>(in.number) < variant_.inputs.size()) return {};
              return invalid("", "one of {} inputs expected, {} found", variant_.inputs.size(), in.number);
            },
            [&](const InOutput& out) -> Result<void> {
              if (out.number >= 0 && static_cast<size_t>(out.number) < variant_.outputs.size()) return {};
              return invalid("", "one of {} outputs expected, {} found", variant_.outputs.size(), out.number);
            },
            [&](const InWeights& in) -> Result<void> {
              if (in.number < 0 || static_cast<size_t>(in.number) >= artifact_.weights.size())
                return invalid("", "one of {} weights expected, {} found", artifact_.weights.size(), in.number);
              const auto size = static_cast<int64_t>(artifact_.weights[in.number].size());
              if (value.bytes > size) return invalid("", "weights of {} bytes expected, {} found", value.bytes, size);
              return {};
            },
            [&](const InArena& in) -> Result<void> {
              if (lies_in(in.offset, value.bytes, variant_.arena_bytes) && in.offset % kAlignment == 0) return {};
              return invalid("", "an aligned place in the arena of {} bytes expected, {} bytes at {} found",
                             variant_.arena_bytes, value.bytes, in.offset);
            },
            [](const Dynamic&) -> Result<void> { return {}; },
            [&](const ViewOf& view) -> Result<void> {
              if (!has(view.value) || std::holds_alternative<ViewOf>(at(view.value).place))
                return invalid("", "a view of a value that is none itself expected, value {} found", view.value);
              if (is_dynamic(at(view.value)) ? view.offset == 0
                                             : lies_in(view.offset, value.bytes, at(view.value).bytes))
                return {};
              return invalid("", "a place inside of value {} expected, {} bytes at {} found", view.value, value.bytes,
                             view.offset);
            },
        },
        value.place);
  }

  Result<void> check_ports() const {
    for (size_t k = 0; k < variant_.inputs.size(); ++k) {
      const Port& port = variant_.inputs[k];
      const auto* in = has(port.value) ? std::get_if<InInput>(&at(port.value).place) : nullptr;
      if (in == nullptr || in->number != static_cast<int32_t>(k))
        return invalid(fmt::format("input {}", k), "a value in its place expected, value {} found", port.value);
    }
    for (size_t k = 0; k < variant_.outputs.size(); ++k) {
      const Port& port = variant_.outputs[k];
      const auto* out = has(port.value) ? std::get_if<InOutput>(&at(port.value).place) : nullptr;
      const bool in_place = out != nullptr && out->number == static_cast<int32_t>(k);
      if (!in_place && !(has(port.value) && is_dynamic(at(port.value))))
        return invalid(fmt::format("output {}", k), "a dynamic value or one in its place expected, value {} found",
                       port.value);
    }
    // One value an input or output: its memory is as large as the port's dims say.
    for (const Value& value : variant_.values) {
      const auto* in = std::get_if<InInput>(&value.place);
      const auto* out = std::get_if<InOutput>(&value.place);
      if ((in != nullptr && &at(variant_.inputs[in->number].value) != &value) ||
          (out != nullptr && &at(variant_.outputs[out->number].value) != &value))
        return invalid("", "one value an input or output expected, a second one ('{}') found", value.name);
      if ((in != nullptr || out != nullptr) && value.bytes != byte_size(value.type, value.dims))
        return invalid("", "inputs and outputs without padding expected, '{}' with {} bytes found", value.name,
                       value.bytes);
    }
    return {};
  }

  /// Without padding.
  bool is_plain(const Value& value) const {
    return is_dynamic(base_of(variant_, value)) || value.bytes == byte_size(value.type, value.dims);
  }
  Result<void> check_scalar(int32_t value, ElementType type, std::string_view role) const {
    if (has(value) && at(value).type == type && byte_size(type, at(value).dims) == bit_width(type) / 8 &&
        !is_dynamic(base_of(variant_, at(value))))
      return {};
    return invalid("", "a {} of one {} expected, value {} found", role, name(type), value);
  }
  Result<void> check_writable(int32_t value) const {
    if (!has(value)) return invalid("", "one of {} values expected, {} found", variant_.values.size(), value);
    const Value& base = base_of(variant_, at(value));
    if (std::holds_alternative<InInput>(base.place) || std::holds_alternative<InWeights>(base.place))
      return invalid("", "a value that may be written expected, value {} found", value);
    if (is_dynamic(base) && &base != &at(value))
      return invalid("", "no view of a dynamic value expected, value {} found", value);
    return {};
  }
  /// A dynamic value that is given a new size gives up what is read meanwhile.
  Result<void> check_apart(int32_t from, int32_t to) const {
    if (!is_dynamic(at(to)) || &base_of(variant_, at(from)) != &at(to)) return {};
    return invalid("", "another value than '{}' to copy from expected, a view of it found", at(to).name);
  }
  Result<void> check_move(const Move& move) const {
    TRY_VOID(check_writable(move.to));
    if (!has(move.from)) return invalid("", "one of {} values expected, {} found", variant_.values.size(), move.from);
    const Value &from = at(move.from), &to = at(move.to);
    const bool is_open = is_dynamic(to) || is_dynamic(base_of(variant_, from));
    const bool fits = is_open ? from.dims.size() == to.dims.size() && is_plain(from) && is_plain(to)
                              : from.dims == to.dims && from.bytes == to.bytes;
    if (from.type == to.type && fits) return {};
    return invalid("", "a move between values of one type and shape expected, {} to {} found",
                   describe(from.type, from.dims), describe(to.type, to.dims));
  }

  Result<void> check_steps(const std::vector<Step>& steps, int depth) const {
    if (depth > kMostDepth)
      return invalid("", "at most {} bodies inside of each other expected, more found", kMostDepth);
    for (size_t k = 0; k < steps.size(); ++k) {
      auto checked = std::visit([&](const auto& action) { return check(action, depth); }, steps[k].action);
      if (!checked.ok()) return std::move(checked).error().within(fmt::format("step {}", k));
    }
    return {};
  }
  Result<void> check_body(const Body& body, int depth) const {
    TRY_VOID(check_steps(body.steps, depth + 1));
    for (const Move& move : body.moves) TRY_VOID(check_move(move));
    return {};
  }
  Result<void> check(const KernelStep& step, int) const {
    if (step.kernel < 0 || static_cast<size_t>(step.kernel) >= artifact_.kernels.size())
      return invalid("", "one of {} kernels expected, {} found", artifact_.kernels.size(), step.kernel);
    for (const int32_t value : step.arguments)
      if (value != -1 && !has(value))
        return invalid("", "one of {} values expected, {} found", variant_.values.size(), value);
    const Kernel& kernel = artifact_.kernels[step.kernel];
    const bool is_cuda = variant_.target.device == DeviceKind::kCuda;
    if (is_cuda != (kernel.module >= 0))
      return invalid("", "a kernel for the variant's device expected, kernel {} found", step.kernel);
    if (is_cuda && artifact_.modules[kernel.module].arch != variant_.target.name)
      return invalid("", "a module for {} expected, one for {} found", variant_.target.name,
                     artifact_.modules[kernel.module].arch);
    for (const Launch& launch : kernel.launches)
      for (const int32_t buffer : launch.buffers)
        if (buffer < 0 || buffer >= std::ssize(step.arguments) || step.arguments[buffer] == -1 ||
            is_dynamic(base_of(variant_, at(step.arguments[buffer]))))
          return invalid("", "an argument of known size for '{}' expected, buffer {} found", launch.function, buffer);
    return {};
  }
  Result<void> check(const CopyStep& step, int) const {
    TRY_VOID(check_move(step.move));
    return check_apart(step.move.from, step.move.to);
  }
  Result<void> check(const ShapeStep& step, int) const {
    TRY_VOID(check_writable(step.to));
    if (!has(step.of)) return invalid("", "one of {} values expected, {} found", variant_.values.size(), step.of);
    const std::array<int64_t, 1> dims = {static_cast<int64_t>(at(step.of).dims.size())};
    if (at(step.to).type == ElementType::kInt64 && std::ranges::equal(at(step.to).dims, dims) &&
        !is_dynamic(at(step.to)))
      return {};
    return invalid("", "int64[{}] for a shape expected, {} found", dims[0],
                   describe(at(step.to).type, at(step.to).dims));
  }
  Result<void> check(const BranchStep& step, int depth) const {
    TRY_VOID(check_scalar(step.condition, ElementType::kBool, "condition"));
    TRY_VOID(check_body(step.then_body, depth));
    return check_body(step.else_body, depth);
  }
  Result<void> check(const LoopStep& step, int depth) const {
    if (step.trip_count != -1) TRY_VOID(check_scalar(step.trip_count, ElementType::kInt64, "trip count"));
    if (step.condition != -1) TRY_VOID(check_scalar(step.condition, ElementType::kBool, "condition"));
    if (step.iteration != -1) {
      TRY_VOID(check_scalar(step.iteration, ElementType::kInt64, "number of an iteration"));
      TRY_VOID(check_writable(step.iteration));
    }
    for (const Stack& stack : step.stacks) TRY_VOID(check_stack(stack));
    return check_body(step.body, depth);
  }
  Result<void> check_stack(const Stack& stack) const {
    TRY_VOID(check_writable(stack.to));
    if (!has(stack.from)) return invalid("", "one of {} values expected, {} found", variant_.values.size(), stack.from);
    const Value &from = at(stack.from), &to = at(stack.to);
    const bool rank_fits = to.dims.size() == from.dims.size() + 1;
    const bool dims_fit = is_dynamic(to) || (rank_fits && !is_dynamic(base_of(variant_, from)) &&
                                             std::ranges::equal(std::span(to.dims).subspan(1), from.dims));
    TRY_VOID(check_apart(stack.from, stack.to));
    if (from.type == to.type && rank_fits && dims_fit && is_plain(from) && is_plain(to)) return {};
    return invalid("", "a stack of {} expected, {} found", describe(from.type, from.dims), describe(to.type, to.dims));
  }

  const Artifact& artifact_;
  const Variant& variant_;
};

}  // namespace

const Value& base_of(const Variant& variant, const Value& value) {
  const auto* view = std::get_if<ViewOf>(&value.place);
  return view == nullptr ? value : variant.values[view->value];
}

Result<void> check_artifact(const Artifact& artifact) {
  TRY_VOID(check_modules(artifact));
  TRY_VOID(check_kernels(artifact));
  if (artifact.variants.empty()) return invalid("", "at least one variant expected, none found");
  for (size_t k = 0; k < artifact.variants.size(); ++k)
    if (auto checked = VariantCheck(artifact, artifact.variants[k]).run(); !checked.ok())
      return std::move(checked).error().within(fmt::format("variant {}", k));
  return {};
}

}  // namespace isomer::runtime
