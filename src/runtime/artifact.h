// A compiled model as plain data: machine code, modules of GPUs, weights, and for each variant (target x bound dims)
// the plan by which a session runs it. Indices that may be absent are -1. artifact_check.h has the rules,
// artifact_file.h the file format.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "runtime/device.h"
#include "runtime/element_type.h"
#include "runtime/kernel_abi.h"

namespace isomer::runtime {

/// What code may assume of every pointer that it gets, and of every offset in the weights and the arena.
inline constexpr int64_t kAlignment = 64;

/// Machine code of a GPU, as its driver loads it.
struct Module {
  std::string arch;  ///< "sm_90a"
  std::vector<std::byte> image;
  bool operator==(const Module&) const = default;
};

/// A function of a module, and how it is launched. It takes addresses: of an error word (int32, which becomes the
/// largest Outcome that a thread met), then of its buffers; then its turn, an int32, where it `takes_turn`.
struct Launch {
  std::string function;
  std::array<int64_t, 3> blocks = {1, 1, 1};
  std::array<int64_t, 3> threads = {1, 1, 1};  ///< of a block
  std::vector<int32_t> buffers;                ///< by number of the kernel's buffer
  bool takes_turn = false;
  int64_t turns = 1;         ///< how often it is launched, and with it, after it, in each turn
  int64_t followers = 0;     ///< the next launches of the kernel, whose own turns don't count
  int64_t shared_bytes = 0;  ///< of a block of threads, more than every one has
  bool operator==(const Launch&) const = default;
};

/// Parts that run over the same arguments, or launches; shared by all steps of equal tasks.
struct Kernel {
  std::vector<Part> parts = {};
  int32_t module = -1;  ///< of the launches; -1: a kernel of the CPU
  std::vector<Launch> launches = {};
  bool operator==(const Kernel&) const = default;
};

/// Where a value lives.
struct InInput {
  int32_t number = 0;
  bool operator==(const InInput&) const = default;
};
/// Written in place, where the caller wants it.
struct InOutput {
  int32_t number = 0;
  bool operator==(const InOutput&) const = default;
};
struct InWeights {
  int32_t number = 0;
  bool operator==(const InWeights&) const = default;
};
struct InArena {
  int64_t offset = 0;
  bool operator==(const InArena&) const = default;
};
/// Data decide the size, a dim is -1: a kernel's `resize`, a move or a stack gives it memory; until then it has none.
struct Dynamic {
  bool operator==(const Dynamic&) const = default;
};
/// The bytes of another value, which is no view, from an offset on; 0 where that value is dynamic. A view of a dynamic
/// value may have one dim of -1, which follows from the number of elements.
struct ViewOf {
  int32_t value = 0;
  int64_t offset = 0;
  bool operator==(const ViewOf&) const = default;
};
using Place = std::variant<InInput, InOutput, InWeights, InArena, Dynamic, ViewOf>;

struct Value {
  std::string name;  ///< for people; may be empty
  ElementType type = ElementType::kUndefined;
  std::vector<int64_t> dims;  ///< -1: data decide (Dynamic and its views only)
  int64_t bytes = 0;          ///< of its memory, padding of its layout included; 0 where a dim is -1
  Place place;
  bool operator==(const Value&) const = default;
};

/// An input or output of the model. Input k is a value in InInput{k}; output k one in InOutput{k} or a Dynamic one.
struct Port {
  std::string name;
  int32_t value = 0;
  int64_t below = 0;      ///< elements are numbers in [0, below), as they index something; 0: nothing is known
  bool not_zero = false;  ///< integers are divided by its elements
  bool operator==(const Port&) const = default;
};

/// `to` becomes equal to `from`: same type and dims; a dynamic `to` takes the dims of `from`.
struct Move {
  int32_t from = 0;
  int32_t to = 0;
  bool operator==(const Move&) const = default;
};

struct Step;
/// Steps in their order, then all moves at once: a value that one move writes and another reads is read first.
struct Body {
  std::vector<Step> steps;
  std::vector<Move> moves;
  bool operator==(const Body&) const;
};

/// Buffer b of the kernel is the value arguments[b]; -1: no argument.
struct KernelStep {
  int32_t kernel = 0;
  std::vector<int32_t> arguments;
  bool operator==(const KernelStep&) const = default;
};
struct CopyStep {
  Move move;
  bool operator==(const CopyStep&) const = default;
};
/// Writes the dims of value `of` to the int64 value `to` of shape [rank].
struct ShapeStep {
  int32_t of = 0;
  int32_t to = 0;
  bool operator==(const ShapeStep&) const = default;
};
/// The bool scalar `condition` says which body runs. The moves of both write what stands after the branch.
struct BranchStep {
  int32_t condition = 0;
  Body then_body;
  Body else_body;
  bool operator==(const BranchStep&) const = default;
};
/// Element i of `to`'s first dim is `from` as it was at the end of iteration i's steps. A dynamic `to` grows; else its
/// first dim must be the number of iterations.
struct Stack {
  int32_t from = 0;
  int32_t to = 0;
  bool operator==(const Stack&) const = default;
};
/// ONNX's Loop: before each iteration `trip_count` (int64 scalar, read once in the beginning; -1: no limit) and
/// `condition` (bool scalar; -1: always) decide whether it starts; then `iteration` (int64 scalar or -1) is set to its
/// number, the body's steps run, `stacks` take their elements and the body's moves carry values over, the next
/// condition among them. What the first iteration reads is copied to the carried values by steps before the loop.
struct LoopStep {
  int32_t trip_count = -1;
  int32_t condition = -1;
  int32_t iteration = -1;
  Body body;
  std::vector<Stack> stacks;
  bool operator==(const LoopStep&) const = default;
};

struct Step {
  std::string name;                    ///< of the task, for errors and profiles
  std::vector<std::string> operators;  ///< that were fused into it, for profiles
  int64_t flops = 0;                   ///< 0: unknown
  std::variant<KernelStep, CopyStep, ShapeStep, BranchStep, LoopStep> action;
  bool operator==(const Step&) const = default;
};

/// Feature of a GPU's code that may round factors of products of floats to tf32.
inline constexpr const char* kTf32 = "tf32";

/// What the code needs of a machine.
struct Target {
  std::string name;                   ///< as `--target` has it; of a GPU what its modules have as arch
  std::vector<std::string> features;  ///< of a CPU names of cpu_features.h
  DeviceKind device = DeviceKind::kCpu;
  bool operator==(const Target&) const = default;
};

struct Variant {
  Target target;
  std::map<std::string, int64_t> bindings;  ///< of the model's symbolic dims
  std::vector<Value> values;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  int64_t arena_bytes = 0;
  std::vector<Step> steps;
  bool operator==(const Variant&) const = default;
};

/// Enough to make the artifact again.
struct Provenance {
  std::string producer;     ///< name and version
  std::string source_hash;  ///< of the model that was compiled
  uint64_t seed = 0;
  std::string history;  ///< the steps taken, a line each
  bool operator==(const Provenance&) const = default;
};

/// Copies share the weights.
struct Artifact {
  Provenance provenance;
  std::vector<std::byte> code;  ///< position-independent, read-only data inside, no imports
  std::vector<Module> modules;
  std::vector<Kernel> kernels;
  std::vector<std::span<const std::byte>> weights;  ///< shared by the variants; any alignment
  std::vector<std::shared_ptr<const void>> owners;  ///< keep the memory that `weights` point to
  std::vector<Variant> variants;                    ///< where several run on a machine the first one is preferred
};

}  // namespace isomer::runtime
