#include "kernel/codegen_cuda/function_printer.h"

#include <algorithm>

#include "kernel/access.h"
#include "kernel/codegen_cuda/types.h"
#include "kernel/narrow_floats.h"

namespace isomer::kernel::cuda {
namespace {

constexpr std::array kAxes = {"x", "y", "z"};
/// Of a thread.
constexpr int64_t kMostPrivateBytes = 64 << 10;

/// Whether the combination of two values is the same, bit by bit, whichever comes first.
bool is_symmetric(const Block& block) {
  if (block.combine.arity() != 1) return false;
  const auto* e = te::as<te::Binary>(block.combine.combine[0]);
  return e && (e->op == te::BinaryOp::kAdd || e->op == te::BinaryOp::kMul) && te::as<te::Var>(e->left) &&
         te::as<te::Var>(e->right) && e->left != e->right;
}

/// The least or greatest of elements of this type, which needs no rounding.
bool is_choice_of_elements(const Block& block, DataType dtype) {
  if (block.combine.arity() != 1) return false;
  const auto* choice = te::as<te::Binary>(block.combine.combine[0]);
  const auto* element = te::as<te::Load>(block.bodies[0]);
  return choice && (choice->op == te::BinaryOp::kMax || choice->op == te::BinaryOp::kMin) && element &&
         block.bodies[0].dtype() == dtype;
}

}  // namespace

Function FunctionPrinter::run(const Statement& statement, const Loop* turns, const std::string& name) {
  Function function;
  std::string parameters = "int* __restrict__ outcome";
  std::string private_lines, declared, asked;  // of shared memory: in the function, or by the launch
  for (const int b : used_) {
    const Buffer& buffer = buffer_at(b);
    if (!has_static_shape(buffer)) fail_unsupported("'{}' has a size that data decide", buffer.name);
    const std::string_view type = element_type(buffer);
    if (buffer.scope == Scope::kArgument) {
      const bool is_constant = !written_.contains(b);
      const std::string pointer = fmt::format("{}{}*", is_constant ? "const " : "", type);
      parameters += fmt::format(", {} __restrict__ p{}", pointer, name_of(b).substr(1));
      private_lines += fmt::format("  {0} const {1} = ({0})__builtin_assume_aligned(p{2}, {3});\n", pointer, name_of(b),
                                   name_of(b).substr(1), kAlignment);
      function.buffers.push_back(b);
      continue;
    }
    const int64_t count = element_count(buffer.shape).value(),
                  bytes = count * bit_width(buffer.dtype) * (is_kept_wide(buffer) ? 2 : 1) / 8;
    const bool is_shared = buffer.scope == Scope::kShared;
    const auto places = places_.find(b);
    const int64_t times = places == places_.end() ? 1 : places->second;
    const std::string name_here = times == 1 ? name_of(b) : name_of_places(b);
    const std::string array = fmt::format("{} {}[{}];\n", type, name_here, std::max<int64_t>(times * count, 1));
    if (!is_shared) {
      private_lines += fmt::format("  __align__({}) {}", kAlignment, array);
      private_bytes_ += bytes;
      continue;
    }
    declared += fmt::format("  __shared__ __align__({}) {}", kAlignment, array);
    asked += fmt::format("  {0}* const {1} = ({0}*)(asked + {2});\n", type, name_here, function.shared_bytes);
    function.shared_bytes += (times * bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  if (private_bytes_ > kMostPrivateBytes)
    fail_unsupported("a thread would need {} bytes of memory of its own", private_bytes_);
  if (function.shared_bytes > kMostSharedBytes)
    fail_unsupported("a block of threads would need {} bytes of shared memory", function.shared_bytes);
  if (function.shared_bytes > kSharedBytes) {
    private_lines += fmt::format("  ISOMER_ASKED_MEMORY(asked, {}, {});\n", kAlignment, function.shared_bytes);
    private_lines += asked;
  } else {
    private_lines += declared;
  }
  if (turns) {
    parameters += fmt::format(", int k{}", turns->variable);
    ranges_.enter(*turns);
  }
  print(statement);
  function.text = fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}({}) {{\n{}{}}}\n",
                              launch_.threads_of_block(), name, parameters, private_lines, text_);
  return function;
}

std::string FunctionPrinter::name_of(int buffer) {
  std::string& known = names_[buffer];
  if (!known.empty()) return known;
  std::string name = buffer_at(buffer).name;
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  name = "m_" + name;  // of no keyword, loop or temporary
  while (!taken_.insert(name).second) name += "_";
  return known = name;
}

void FunctionPrinter::print_whole(const Loop& loop) {
  expressions_.begin({loop.extent});
  const std::string extent = expressions_.index(loop.extent);
  const auto known = te::as_constant(loop.extent);
  const std::string variable = fmt::format("k{}", loop.variable);
  const bool is_wide = !known || *known >= (int64_t{1} << 31);
  bool is_open = true;
  if (is_bound(loop.kind)) {
    const size_t axis = axis_of(loop.kind);
    const std::string place = fmt::format("{}.{}", is_block(loop.kind) ? "blockIdx" : "threadIdx", kAxes[axis]);
    is_open = *known != (is_block(loop.kind) ? launch_.blocks : launch_.threads)[axis];
    if (is_open) open(fmt::format("if ({} < {})", place, extent));
    line(fmt::format("const int {} = {};", variable, place));
  } else if (known == 1) {
    is_open = false;
    line(fmt::format("const int {} = 0;", variable));
  } else {
    if (is_written_out(loop.kind)) line("#pragma unroll");
    if (!is_written_out(loop.kind) && is_long(loop)) line("#pragma unroll 1");
    open(fmt::format("for ({0} {1} = 0; {1} < {2}; ++{1})", is_wide ? "i64" : "int", variable, extent));
  }
  ranges_.enter(loop);
  around_.push_back(&loop);
  print(loop.body);
  around_.pop_back();
  ranges_.leave(loop);
  if (is_open) close();
}

bool FunctionPrinter::is_long(const Loop& loop) {
  constexpr int kLong = 64;
  int operations = 0;
  for_each_block(loop.body, [&](const Block& block, const auto&) {
    for (const Expr& body : block.bodies) operations += count_operations(body);
  });
  return operations >= kLong;
}

void FunctionPrinter::print_branch(const Branch& branch) {
  open(fmt::format("if ({})", condition(branch.condition)));
  print(branch.then);
  if (!branch.otherwise.empty()) {
    --depth_;
    line("} else {");
    ++depth_;
    print(branch.otherwise);
  }
  close();
}

std::vector<std::string> FunctionPrinter::of_one_thread(const Block& block) const {
  std::vector<std::string> conditions;
  const bool is_common = std::any_of(block.writes.begin(), block.writes.end(), [&](const Write& write) {
    const Scope scope = buffer_at(write.buffer).scope;
    return scope == Scope::kArgument || scope == Scope::kShared;
  });
  const auto threads = threads_around({around_.begin(), around_.end()});
  for (size_t axis = 0; is_common && axis < 3; ++axis)
    if (launch_.threads[axis] > 1 && (!threads[axis] || !reads_any(block.axes, threads[axis]->variable)))
      conditions.push_back(fmt::format("threadIdx.{} == 0", kAxes[axis]));
  return conditions;
}

void FunctionPrinter::compute(const Block& block, const BoundBlock& plan) {
  std::vector<Expr> together = plan.bodies;
  for (const AccessPlan& write : plan.writes)
    for (const AccessPlan::Axis& axis : write.axes) together.push_back(te::to_expr(axis.index));
  expressions_.begin(together, loads_inside(block));
  std::vector<std::string> values, places;
  for (const AccessPlan& write : plan.writes) places.push_back(expressions_.element(write));
  if (fetch_ == Fetch::kStore) return line(fmt::format("{} = {};", places[0], place_ahead()));
  if (fetch_ == Fetch::kLoad) places[0] = place_ahead();
  if (!stored_.empty()) places[0] = stored_;
  is_async_ &= fetch_ != Fetch::kAsync;
  if (const auto moved = moved_half(block, plan)) return line(fmt::format("{} = {};", places[0], *moved));
  const bool is_rounded = combines_rounded(block.combine);
  for (const Expr& body : plan.bodies)
    values.push_back(is_rounded ? expressions_.rounded_value(body) : expressions_.value(body));
  const bool is_of_lanes = lanes_of_reduction(block, around_) != nullptr;
  if (block.is_reduction())
    values = is_of_lanes ? combined_lanes(block, plan, values) : combined(block, plan, values, places);
  const std::vector<std::string> conditions = is_of_lanes ? of_one_thread(block) : std::vector<std::string>();
  if (!conditions.empty()) open(fmt::format("if ({})", fmt::join(conditions, " && ")));
  for (size_t c = 0; c < values.size(); ++c) {
    const Buffer& buffer = buffer_at(plan.writes[c].buffer);
    const bool is_choice = is_choice_of_elements(block, buffer.dtype);
    line(fmt::format("{} = {};", places[c], is_stored_wide_ ? values[c] : to_element(buffer, values[c], is_choice)));
  }
  if (!conditions.empty()) close();
}

std::optional<std::string> FunctionPrinter::moved_half(const Block& block, const BoundBlock& plan) {
  if (block.is_reduction() || plan.bodies.size() != 1) return std::nullopt;
  const Expr& body = plan.bodies[0];
  const auto* select = te::as<te::Select>(body);
  const Expr moved = select ? select->then : body;
  if (!te::as<te::Load>(moved) || bit_width(moved.dtype()) != 16 || !is_float(moved.dtype()) ||
      buffer_at(plan.writes[0].buffer).dtype != moved.dtype())
    return std::nullopt;
  const AccessPlan& from = plans_.of_load(moved);
  if (is_kept_wide(buffer_at(from.buffer)) || is_kept_wide(buffer_at(plan.writes[0].buffer))) return std::nullopt;
  const auto* otherwise = select ? te::as<te::Literal>(select->otherwise) : nullptr;
  if (!from.axes.empty() || (select && (!otherwise || otherwise->value.to_double() != 0))) return std::nullopt;
  std::string value = expressions_.stored(moved);
  if (select) value = fmt::format("{} ? {} : u16(0)", expressions_.value(select->condition), value);
  return value;
}

std::vector<Expr> FunctionPrinter::loads_inside(const Block& block) const {
  const te::Ranges ranges = [&](const Expr& leaf) -> te::Interval {
    const auto* variable = te::as<te::Var>(leaf);
    if (!variable || (variable->kind != te::VarKind::kSpatial && variable->kind != te::VarKind::kReduce)) return {};
    const auto& iterators = variable->kind == te::VarKind::kSpatial ? block.axes : block.reduce;
    const auto extent = te::as_constant(iterators[static_cast<size_t>(variable->index)].extent);
    return {0, extent ? std::optional(*extent - 1) : std::nullopt};
  };
  std::vector<Expr> result;
  for (const Expr& body : block.bodies)
    te::for_each_node(body, [&](const Expr& e) {
      const auto* load = te::as<te::Load>(e);
      if (!load) return;
      const Shape& shape = buffer_at(load->buffer.index).shape;
      bool is_inside = true;
      for (size_t k = 0; k < shape.size(); ++k) {
        const te::Interval range = te::bounds(load->index[k], ranges);
        is_inside &= loads(load->index[k]).empty() && range.low.value_or(-1) >= 0 && range.high &&
                     *range.high < shape[k].value();
      }
      if (is_inside) result.push_back(bind_iterators(block, e));
    });
  return result;
}

std::vector<std::string> FunctionPrinter::combined(const Block& block, const BoundBlock& plan,
                                                   const std::vector<std::string>& values,
                                                   const std::vector<std::string>& places) {
  std::vector<std::string> left, right;
  const bool is_always = plan.is_first == te::truth(true), is_never = plan.is_first == te::truth(false);
  const std::string is_first = is_always || is_never ? "" : expressions_.index(plan.is_first);
  for (size_t c = 0; c < values.size(); ++c) {
    const std::string_view type = register_type(plan.bodies[c].dtype());
    const std::string initial = expressions_.value(block.combine.identity[c]);
    const std::string old = from_element(buffer_at(plan.writes[c].buffer), places[c]);
    left.push_back(expressions_.fresh("a"));
    right.push_back(expressions_.fresh("b"));
    line(fmt::format("const {} {} = {};", type, right.back(), values[c]));
    line(fmt::format("const {} {} = {};", type, left.back(),
                     is_always  ? initial
                     : is_never ? old
                                : fmt::format("{} ? {} : {}", is_first, initial, old)));
  }
  return combined_values(block, plan, left, right);
}

std::vector<std::string> FunctionPrinter::combined_values(const Block& block, const BoundBlock& plan,
                                                          const std::vector<std::string>& left,
                                                          const std::vector<std::string>& right) {
  expressions_.operands(left, right);
  expressions_.begin(block.combine.combine);
  std::vector<std::string> result;
  for (size_t c = 0; c < left.size(); ++c) {
    // All components are known before the first is written.
    result.push_back(expressions_.fresh("c"));
    line(fmt::format("const {} {} = {};", register_type(plan.bodies[c].dtype()), result.back(),
                     expressions_.value(block.combine.combine[c])));
  }
  return result;
}

std::vector<std::string> FunctionPrinter::combined_lanes(const Block& block, const BoundBlock& plan,
                                                         const std::vector<std::string>& values) {
  std::vector<std::string> all, initial;
  const auto type = [&](size_t c) { return register_type(plan.bodies[c].dtype()); };
  for (size_t c = 0; c < values.size(); ++c) {
    initial.push_back(expressions_.fresh("a"));
    line(fmt::format("const {} {} = {};", type(c), initial.back(), expressions_.value(block.combine.identity[c])));
    all.push_back(expressions_.fresh("b"));
    line(fmt::format("{} {} = {};", type(c), all.back(), values[c]));
  }
  // Halves of the warp, of these halves, …: both lanes combine the same two values, where it matters in the same order.
  const bool is_ordered = !is_symmetric(block);
  const std::string apart = expressions_.fresh("apart");
  line("#pragma unroll");
  open(fmt::format("for (int {0} = {1}; {0} > 0; {0} /= 2)", apart, kLanes / 2));
  std::vector<std::string> left, right;
  for (size_t c = 0; c < values.size(); ++c) {
    const std::string other = expressions_.fresh("b");
    line(fmt::format("const {} {} = op::across({}, {});", type(c), other, all[c], apart));
    left.push_back(is_ordered ? expressions_.fresh("a") : all[c]);
    right.push_back(is_ordered ? expressions_.fresh("b") : other);
    if (!is_ordered) continue;
    line(fmt::format("const {} {} = (threadIdx.x & {}) ? {} : {};", type(c), left.back(), apart, other, all[c]));
    line(fmt::format("const {} {} = (threadIdx.x & {}) ? {} : {};", type(c), right.back(), apart, all[c], other));
  }
  const std::vector<std::string> both = combined_values(block, plan, left, right);
  for (size_t c = 0; c < values.size(); ++c) line(fmt::format("{} = {};", all[c], both[c]));
  close();
  return combined_values(block, plan, initial, all);
}

Function print_function(const Kernel& kernel, const Statement& statement, const Loop* turns, const std::string& name) {
  return FunctionPrinter(kernel, statement).run(statement, turns, name);
}

}  // namespace isomer::kernel::cuda
