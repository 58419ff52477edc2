#include "kernel/micro_kernel.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "kernel/access.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// What a loop of a tile runs over.
enum class Role : uint8_t { kRows, kColumns, kDepth };

/// Steps of an element's place for a step of each of the loops; nothing: they are no constants.
std::optional<std::vector<int64_t>> steps_of(const Kernel& kernel, const Block& block, int buffer,
                                             const std::vector<Expr>& index, const std::vector<const Loop*>& loops,
                                             const te::Ranges& ranges) {
  const Expr offset = bind_iterators(block, offset_of(kernel.buffers[buffer], index));
  if (te::has_load(offset)) return std::nullopt;
  std::vector<int64_t> steps;
  for (const Loop* loop : loops) {
    const Expr variable = loop_variable(loop->variable), next = substitute(offset, {{loop->variable, variable + 1}});
    const int64_t last = *te::as_constant(loop->extent) - 1;
    const te::Ranges with_next = [&](const Expr& leaf) -> te::Interval {
      return leaf == variable ? te::Interval{0, std::max<int64_t>(last - 1, 0)} : ranges(leaf);
    };
    const auto step =
        last < 1 ? std::optional<int64_t>(0) : te::as_constant(te::simplify_index(next - offset, with_next));
    if (!step) return std::nullopt;
    steps.push_back(*step);
  }
  return steps;
}

class Matcher {
 public:
  Matcher(const Kernel& kernel, const MicroKernel& micro_kernel, bool is_finished)
      : kernel_(kernel), wanted_(micro_kernel), is_finished_(is_finished) {}

  Result<MicroKernelCall> run(const Loop& outermost, const std::vector<const Loop*>& around) {
    call_.micro_kernel = &wanted_;
    TRY_VOID(enter(outermost, around));
    TRY_VOID(read_block());
    std::vector<Role> roles = {Role::kRows, Role::kColumns, Role::kDepth};
    std::optional<Error> wrong_layout;
    do
      for (const bool is_swapped : {false, true}) {
        call_.is_swapped = is_swapped;
        if (!fits({roles.begin(), roles.begin() + static_cast<std::ptrdiff_t>(call_.loops.size())})) continue;
        auto laid_out = check_layouts();
        if (laid_out.ok()) return call_;
        if (!wrong_layout) wrong_layout = std::move(laid_out).error();
      }
    while (std::next_permutation(roles.begin(), roles.end()));
    if (wrong_layout) return *std::move(wrong_layout);
    std::vector<int64_t> found;
    for (const Loop* loop : call_.loops) found.push_back(te::as_constant(loop->extent).value_or(0));
    return error("{} expected, loops of {} around {} found", describe(wanted_), fmt::join(found, " x "),
                 call_.block->name);
  }

 private:
  template <class... Args>
  Error error(fmt::format_string<Args...> format, Args&&... args) const {
    return invalid(wanted_.name, format, std::forward<Args>(args)...);
  }

  /// The loops down to the block.
  Result<void> enter(const Loop& outermost, const std::vector<const Loop*>& around) {
    for (const Loop* loop : around) {
      if (loop->kind == LoopKind::kVectorized)
        return error("a tile outside of vectorized loops expected, k{} is one", loop->variable);
      ranges_.enter(*loop);
    }
    const Statement* inside = nullptr;
    for (const Loop* loop = &outermost; loop; loop = inside ? std::get_if<Loop>(&inside->node) : nullptr) {
      if (loop->body.size() != 1 || loop->kind != LoopKind::kSerial || loop->ordered || !te::as_constant(loop->extent))
        return error("serial loops of constant extents around one block expected, k{} is another one", loop->variable);
      ranges_.enter(*loop);
      call_.loops.push_back(loop);
      inside = &loop->body[0];
    }
    call_.block = std::get_if<Block>(&inside->node);
    if (!call_.block || call_.loops.size() > 3)
      return error("up to three loops around one block expected, {} found", call_.loops.size());
    return {};
  }

  /// Its product, and how it moves through memory.
  Result<void> read_block() {
    const Block& block = *call_.block;
    const auto* product = block.bodies.size() == 1 ? te::as<te::Binary>(block.bodies[0]) : nullptr;
    const auto* left = product && product->op == te::BinaryOp::kMul ? te::as<te::Load>(product->left) : nullptr;
    const auto* right = left ? te::as<te::Load>(product->right) : nullptr;
    if (!right || block.combine.name != "sum" || block.bodies[0].dtype() != DataType::kFloat32)
      return error("a sum of products of two float32 elements expected, {} is another block", block.name);
    if (block.initialize)
      return error("a sum that starts elsewhere expected (decompose_reduction), {} starts with its first step",
                   block.name);
    if (block.predicate && te::simplify_index(block.predicate, ranges_.ranges()) != te::truth(true))
      return error("whole tiles expected, {} has a condition", block.name);
    const auto steps = [&](int buffer, const std::vector<Expr>& index) {
      return steps_of(kernel_, block, buffer, index, call_.loops, ranges_.ranges());
    };
    const auto of_left = steps(left->buffer.index, left->index), of_right = steps(right->buffer.index, right->index),
               of_result = steps(block.writes[0].buffer, block.writes[0].index);
    if (!of_left || !of_right || !of_result)
      return error("operands of {} that lie at even distances expected", block.name);
    left_ = {left->buffer.index, *of_left};
    right_ = {right->buffer.index, *of_right};
    result_ = {block.writes[0].buffer, *of_result};
    return {};
  }

  struct Operand {
    int buffer = -1;
    std::vector<int64_t> steps;  ///< by loop
  };

  /// Whether the loops can have these roles; fills in the call.
  bool fits(const std::vector<Role>& roles) {
    const Operand &a = call_.is_swapped ? right_ : left_, &b = call_.is_swapped ? left_ : right_;
    const auto described = [](const MicroKernel::Steps& steps) {
      return std::array{steps.first.value_or(0), steps.second.value_or(0)};
    };
    call_.a = described(wanted_.a);
    call_.b = described(wanted_.b);
    call_.c = described(wanted_.c);
    call_.depth = 1;
    int64_t rows = 1, columns = 1;
    for (size_t k = 0; k < roles.size(); ++k) {
      const int64_t extent = *te::as_constant(call_.loops[k]->extent);
      const bool reduces = reads_any(call_.block->reduce, call_.loops[k]->variable);
      if (reduces != (roles[k] == Role::kDepth)) return false;
      switch (roles[k]) {
        case Role::kRows:
          if (b.steps[k] != 0) return false;
          rows = extent;
          call_.a[0] = a.steps[k];
          call_.c[0] = result_.steps[k];
          break;
        case Role::kColumns:
          if (a.steps[k] != 0) return false;
          columns = extent;
          call_.b[1] = b.steps[k];
          call_.c[1] = result_.steps[k];
          break;
        case Role::kDepth:
          if (result_.steps[k] != 0) return false;
          call_.depth = extent;
          call_.a[1] = a.steps[k];
          call_.b[0] = b.steps[k];
          break;
      }
    }
    return rows == wanted_.rows && columns == wanted_.columns && (wanted_.depth == 0 || call_.depth == wanted_.depth);
  }

  Result<void> check_layouts() const {
    TRY_VOID(check_layout("a", call_.is_swapped ? right_ : left_, wanted_.a, call_.a));
    TRY_VOID(check_layout("b", call_.is_swapped ? left_ : right_, wanted_.b, call_.b));
    return check_layout("c", result_, wanted_.c, call_.c);
  }

  Result<void> check_layout(std::string_view operand, const Operand& found, const MicroKernel::Steps& steps,
                            const std::array<int64_t, 2>& there) const {
    const Buffer& buffer = kernel_.buffers[found.buffer];
    if (!is_finished_ && buffer.scope != Scope::kArgument) return {};
    if (there[0] == steps.first.value_or(there[0]) && there[1] == steps.second.value_or(there[1])) return {};
    const auto text = [](const std::optional<int64_t>& step) { return step ? fmt::format("{}", *step) : "any"; };
    return error("{} with steps of [{}, {}] expected, those in '{}' are [{}, {}]", operand, text(steps.first),
                 text(steps.second), buffer.name, there[0], there[1]);
  }

  const Kernel& kernel_;
  const MicroKernel& wanted_;
  const bool is_finished_;
  LoopRanges ranges_;
  Operand left_, right_, result_;
  MicroKernelCall call_;
};

Result<void> check(const Kernel& kernel, const Statements& statements, std::vector<const Loop*>& around) {
  for (const Statement& statement : statements) {
    const auto* loop = std::get_if<Loop>(&statement.node);
    if (!loop) continue;
    if (const MicroKernel* called = micro_kernel_of(kernel, *loop))
      if (auto made = micro_kernel_call(kernel, *called, *loop, around, false); !made.ok())
        return std::move(made).error();
    around.push_back(loop);
    TRY_VOID(check(kernel, loop->body, around));
    around.pop_back();
  }
  return {};
}

}  // namespace

std::string describe(const MicroKernel& micro_kernel) {
  return fmt::format("a sum of products over {} rows, {} columns and {}", micro_kernel.rows, micro_kernel.columns,
                     micro_kernel.depth == 0 ? "any depth" : fmt::format("a depth of {}", micro_kernel.depth));
}

Result<void> check_names(const MicroKernels& micro_kernels) {
  std::set<std::string> names;
  for (const auto& each : micro_kernels) {
    const std::string& name = each->name;
    const bool is_word =
        !name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) &&
        std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; });
    const bool is_loop = is_word && name[0] == 'k' && name.size() > 1 &&
                         std::all_of(name.begin() + 1, name.end(), [](unsigned char c) { return std::isdigit(c); });
    if (!is_word || is_loop)
      return invalid(name, "a name of letters, digits, '_' and '.' that is not like k4 expected for a micro-kernel");
    if (!names.insert(name).second) return invalid(name, "one micro-kernel of a name expected, two found");
    if (each->rows < 1 || each->columns < 1 || each->depth < 0)
      return invalid(name, "rows and columns of at least 1 and a depth of at least 0 expected");
  }
  return {};
}

Result<MicroKernelCall> micro_kernel_call(const Kernel& kernel, const MicroKernel& micro_kernel, const Loop& loop,
                                          const std::vector<const Loop*>& around, bool is_finished) {
  return Matcher(kernel, micro_kernel, is_finished).run(loop, around);
}

const MicroKernel* micro_kernel_of(const Kernel& kernel, const Loop& loop) {
  const auto mark = loop.annotations.find(kMicroKernel);
  if (mark == loop.annotations.end()) return nullptr;
  const auto number = static_cast<size_t>(mark->second);
  return number < kernel.micro_kernels.size() ? &*kernel.micro_kernels[number] : nullptr;
}

Result<void> check_micro_kernels(const Kernel& kernel) {
  if (kernel.micro_kernels.empty()) return {};
  std::vector<const Loop*> around;
  return check(kernel, kernel.body, around);
}

}  // namespace isomer::kernel
