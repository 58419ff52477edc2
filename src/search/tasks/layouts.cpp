#include "search/tasks/layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "graph/min_cut.h"
#include "kernel/access.h"
#include "kernel/space/tile.h"
#include "kernel/tree.h"

namespace isomer::search {
namespace {

using kernel::Kernel;

/// What cutting an edge may never cost.
constexpr int64_t kNever = int64_t{1} << 50;

/// Of an element: additions.
constexpr int kMuchToCompute = 4;
/// Writing across the lines of memory, in passes over the result.
constexpr int64_t kScatteringCost = 2;

// What reductions lose that run along row-major images instead of channels, in bytes that a relayout moves inside of a
// core's own cache in the same time (measured with AVX-512).
/// A byte for so many multiply-adds of a product with weights.
constexpr int64_t kProductsOfByte = 25;
/// Of windows that slide by elements: passes over the result for so many taps; by more: half passes for a tap.
constexpr int64_t kTapsOfPass = 6, kHalfPassesOfTap = 5;
/// Large ones (7x7) run row-major nearly as fast, where a row fills more than half of a vector: a pass in all.
constexpr int64_t kShortRow = 8;
/// Where data say which elements are read: passes over the result for an element that each result reads.
constexpr int64_t kPassesOfSample = 8;
/// Beyond that a relayout takes so many half passes.
constexpr int64_t kOwnCache = 1 << 20, kHalfPassesBeyond = 5;
/// Fewer channels leave lanes idle; of so few of a dense window, or of a group, row-major rows are as good, or better.
constexpr int64_t kFewChannels = 8, kVeryFewChannels = 4;

const Shape& shape_of(const Graph& graph, ValueId value) { return *graph.value(value).type.shape; }

int64_t bytes_of(const Graph& graph, ValueId value) {
  return byte_size(graph.value(value).type.dtype, element_count(shape_of(graph, value)).value());
}

int64_t cost_of_relayout(const Graph& graph, ValueId value) {
  const int64_t bytes = bytes_of(graph, value);
  return bytes > kOwnCache ? bytes * kHalfPassesBeyond / 2 : bytes;
}

/// "0:2:3:1" for four dims; empty where that is no other order of the elements, or the value has no channels.
std::string channels_last(const Graph& graph, ValueId value) {
  const Shape& shape = shape_of(graph, value);
  if (!constants(shape) || shape.size() < 3 || shape[1].value() <= 1) return {};
  int64_t image = 1;
  for (size_t k = 2; k < shape.size(); ++k) image *= shape[k].value();
  if (image <= 1) return {};
  std::string layout = "0";
  for (size_t k = 2; k < shape.size(); ++k) layout += fmt::format(":{}", k);
  return layout + ":1";
}

/// How a reduction moves along axis 1 and along those behind it.
struct Sliding {
  bool weighs = false;          ///< constants move along axis 1 alone
  bool slides = false;          ///< what is no constant moves along the axes behind it
  bool has_windows = false;     ///< steps of the reduction move it there, too
  bool is_contiguous = true;    ///< by one element along the last axis
  bool follows = true;          ///< from channel to channel, or it stays: what is no constant
  bool stays = true;            ///< along axis 1
  int64_t group = 0;            ///< neighbouring results of channels that read the same channels; 0: all do
  bool is_apart = false;        ///< from one channel to another farther on than vectors reach
  int64_t taps = 1, steps = 1;  ///< of the reduction for a result, and in all
  int64_t row = 0;              ///< results along the last axis
};

/// Of channels of results that read the same: the divisor of axis 1 in an index; 1 where there is none.
int64_t size_of_group(const kernel::LoadAccess& access) {
  int64_t result = 1;
  te::for_each_node(access.load, [&](const kernel::Expr& e) {
    const auto* quotient = te::as<te::Binary>(e);
    if (quotient && quotient->op == te::BinaryOp::kFloorDiv && quotient->left == te::axis(1))
      result = te::as_constant(quotient->right).value_or(1);
  });
  return result;
}

/// Nothing: no reduction with axes behind axis 1.
std::optional<Sliding> sliding(const Kernel& kernel, const kernel::Block& block, const std::set<int>& constants) {
  if (!block.is_reduction() || block.axes.size() < 3) return std::nullopt;
  Sliding result;
  for (const kernel::Iterator& r : block.reduce) result.taps *= te::as_constant(r.extent).value_or(1);
  result.steps = kernel::points(block).value_or(0);
  result.row = te::as_constant(block.axes.back().extent).value_or(0);
  for (const kernel::LoadAccess& access : load_accesses(kernel, block)) {
    bool along_image = false;
    for (int axis = 2; axis < static_cast<int>(access.axes.size()); ++axis)
      along_image |= kernel::regular_stride(kernel, block, access, axis).second != 0;
    result.weighs |= access.axes[1] != 0 && !along_image && constants.contains(access.buffer);
    if (!along_image) continue;
    result.slides = true;
    result.stays &= access.axes[1] == 0;
    result.is_contiguous &= access.axes.back() == 0 || access.axes.back() == 1;
    for (const kernel::Expr& index : te::as<te::Load>(access.load)->index) {
      bool by_place = false, by_step = false;
      te::for_each_node(index, [&](const kernel::Expr& e) {
        const auto* variable = te::as<te::Var>(e);
        if (!variable) return;
        const bool is_step = variable->kind == te::VarKind::kReduce;
        by_step |= is_step && te::as_constant(block.reduce[variable->index].extent) != 1;
        by_place |= variable->kind == te::VarKind::kSpatial && variable->index >= 2;
      });
      result.has_windows |= by_place && by_step;
    }
    int64_t channel = 1;
    const Shape& shape = kernel.buffers[access.buffer].shape;
    for (size_t k = 2; k < shape.size(); ++k) channel *= shape[k].constant().value_or(0);
    if (access.axes[1] != 0) result.group = size_of_group(access);
    result.follows &= access.axes[1] == 0 || access.axes[1] == channel;
    result.is_apart |= access.axes[1] && std::abs(*access.axes[1]) > kernel::kMostShuffled * channel;
  }
  return result;
}

/// What windows that slide over so many bytes of results lose row-major; below 0: what they lose channels last.
int64_t loss_of_windows(const Sliding& window, int64_t bytes, int64_t channels) {
  const bool has_few_channels = channels < kFewChannels;
  const bool is_large =
      window.taps > kernel::kSmallWindow && window.taps <= kernel::kSmallWindowOfOne && window.row > kShortRow;
  if (window.is_contiguous && is_large && !has_few_channels) return bytes;
  if (window.is_contiguous) return (has_few_channels ? -1 : 1) * window.taps * bytes / kTapsOfPass;
  return has_few_channels ? 0 : window.taps * bytes * kHalfPassesOfTap / 2;
}

/// What a task with such reductions loses row-major, in bytes moved; below 0: what it loses channels last. Nothing: no
/// reduction says so.
std::optional<int64_t> loss_of_row_major(const Kernel& kernel, const std::set<int>& constants, int64_t bytes,
                                         int64_t channels) {
  std::optional<int64_t> result;
  kernel::for_each_block(kernel.body, [&](const kernel::Block& block, const auto& loops) {
    if (std::any_of(loops.begin(), loops.end(), [](const kernel::Loop* loop) { return loop->ordered; })) return;
    const auto found = sliding(kernel, block, constants);
    if (!found || !found->weighs || !found->slides) return;
    int64_t loss = kNever;
    if (found->is_apart)
      loss = -kNever;
    else if (!found->is_contiguous)
      loss = kNever;
    else if (!found->has_windows)
      loss = channels < kFewChannels ? 0 : found->steps / kProductsOfByte;
    else if (found->stays)
      loss = channels <= kVeryFewChannels ? 0 : kNever;
    else if (found->follows)
      loss = loss_of_windows(*found, bytes, channels);
    else if (found->group < kVeryFewChannels)
      loss = -found->steps;
    result = std::max(result.value_or(-kNever), loss);
  });
  return result;
}

/// The same of windows without weights (pools).
int64_t loss_of_pools(const Kernel& kernel, int64_t bytes, int64_t channels) {
  int64_t result = 0;
  kernel::for_each_block(kernel.body, [&](const kernel::Block& block, const auto&) {
    const auto found = sliding(kernel, block, {});
    if (!found || !found->has_windows) return;
    const int64_t loss = loss_of_windows(*found, bytes, channels);
    if (std::abs(loss) > std::abs(result)) result = loss;
  });
  return result;
}

/// Whether everything stays at its place in the batch and in its channel (or one at a constant distance): then channels
/// last is as good as row-major.
bool keeps_channels(const Kernel& kernel) {
  const auto is_own = [](const kernel::Expr& index, int axis) {
    return te::as_constant(te::simplify_index(index - te::axis(axis))) || te::as_constant(index);
  };
  bool keeps = true;
  kernel::for_each_block(kernel.body, [&](const kernel::Block& block, const auto& loops) {
    for (const kernel::Loop* loop : loops) keeps &= !loop->ordered;
    const auto look = [&](int buffer, const std::vector<kernel::Expr>& index) {
      const size_t rank = index.size();
      if (kernel.buffers[buffer].shape.size() < 3 && rank == kernel.buffers[buffer].shape.size() && rank <= 1) return;
      keeps &= rank >= 3 && rank == block.axes.size() && is_own(index[0], 0) && is_own(index[1], 1);
    };
    for (const kernel::Write& write : block.writes) look(write.buffer, write.index);
    for (const kernel::Expr& body : block.bodies)
      te::for_each_node(body, [&](const kernel::Expr& e) {
        if (const auto* load = te::as<te::Load>(e)) look(load->buffer.index, load->index);
      });
  });
  return keeps;
}

bool has_channel(const kernel::Expr& index) {
  return te::any_node(index, [](const kernel::Expr& e) { return e == te::axis(1); });
}

/// Whether axis 1 is dim 1 of it, one by one, and moves no other.
bool is_by_channel(const std::vector<kernel::Expr>& index) {
  return index.size() >= 3 && index[1] == te::axis(1) && std::ranges::count_if(index, has_channel) == 1;
}

/// Images that a reduction reads at places that data say, channel by channel (GridSample, RoiAlign); empty where
/// anything else goes from channel to channel.
std::set<int> sampled_images(const Kernel& kernel) {
  std::set<int> images, by_channel;
  bool keeps = true, reduces = false;
  kernel::for_each_block(kernel.body, [&](const kernel::Block& block, const auto&) {
    std::vector<const te::Load*> loads;
    for (const kernel::Expr& body : block.bodies)
      te::for_each_node(body, [&](const kernel::Expr& e) {
        if (const auto* load = te::as<te::Load>(e)) loads.push_back(load);
      });
    bool has_channels = false;
    for (const te::Load* load : loads) {
      const bool is_image = block.is_reduction() && is_by_channel(load->index) &&
                            std::ranges::any_of(load->index, [](const kernel::Expr& e) { return te::has_load(e); });
      if (is_image) images.insert(load->buffer.index);
      has_channels |= is_image || by_channel.contains(load->buffer.index);
    }
    reduces |= has_channels && block.is_reduction();
    for (const kernel::Write& write : block.writes) {
      if (has_channels) by_channel.insert(write.buffer);
      keeps &= has_channels ? is_by_channel(write.index) : !is_output(kernel, write.buffer);
    }
    for (const te::Load* load : loads)
      if (has_channels)
        keeps &= images.contains(load->buffer.index) || by_channel.contains(load->buffer.index)
                     ? is_by_channel(load->index)
                     : std::ranges::none_of(load->index, has_channel);
  });
  return keeps && reduces ? images : std::set<int>();
}

/// How many elements of them a result reads.
int64_t samples_of(const Kernel& kernel, const std::set<int>& images) {
  int64_t result = 1;
  kernel::for_each_block(kernel.body, [&](const kernel::Block& block, const auto&) {
    int64_t reads = 0;
    for (const int buffer : loads(block)) reads += images.contains(buffer);
    for (const kernel::Iterator& r : block.reduce) reads *= te::as_constant(r.extent).value_or(1);
    result = std::max(result, reads);
  });
  return result;
}

/// Whether maps compute much and bring it into a result in which neighbours are channels where they were neighbours;
/// not where what they read is brought the other way first.
bool computes_by_channel(const Kernel& kernel) {
  int operations = 0;
  bool moves = false, is_moved = false;
  kernel::for_each_block(kernel.body, [&](const kernel::Block& block, const auto&) {
    for (const kernel::Expr& body : block.bodies) operations = std::max(operations, kernel::count_operations(body));
    if (block.axes.size() < 3) return;
    for (const kernel::LoadAccess& access : load_accesses(kernel, block))
      if (access.axes[1] == 1) (kernel::writers(kernel, access.buffer).empty() ? is_moved : moves) = true;
  });
  return moves && !is_moved && operations >= kMuchToCompute;
}

/// Whether a result's channels are read in an order that repeats, as where channels are shuffled: then channels last is
/// as good as row-major, if what is read lies so.
bool shuffles_channels(const Kernel& kernel) {
  bool shuffles = false;
  kernel::for_each_block(kernel.body, [&](const kernel::Block& block, const auto&) {
    const bool is_result = std::any_of(block.writes.begin(), block.writes.end(), [&](const kernel::Write& write) {
      return kernel::is_output(kernel, write.buffer);
    });
    shuffles |= is_result && block.axes.size() >= 3 && kernel::period(block, te::axis(1)) > 1;
  });
  return shuffles;
}

bool only_maps(const Kernel& kernel) {
  bool maps = true;
  kernel::for_each_block(kernel.body, [&](const kernel::Block& block, const auto& loops) {
    maps &= !block.is_reduction() &&
            std::none_of(loops.begin(), loops.end(), [](const kernel::Loop* loop) { return loop->ordered; });
  });
  return maps;
}

/// Results that an element takes part in, on average, from which on the order of what is read does not matter.
constexpr int64_t kManyResults = 16;

/// Buffers that a reduction reads under a padding's select, the same elements for all channels of the result, and each
/// often: it makes a copy of them where that pays, of any layout.
std::set<int> padded_buffers(const Kernel& kernel) {
  std::set<int> padded;
  kernel::for_each_block(kernel.body, [&](const kernel::Block& block, const auto&) {
    for (const kernel::Expr& body : block.bodies)
      te::for_each_node(body, [&](const kernel::Expr& e) {
        const auto* select = te::as<te::Select>(e);
        const auto* load = select && block.is_reduction() ? te::as<te::Load>(select->then) : nullptr;
        if (!load) return;
        const int64_t elements = element_count(kernel.buffers[load->buffer.index].shape).constant().value_or(0);
        if (kernel::points(block).value_or(0) < kManyResults * elements) return;
        const auto is_channel = [](const kernel::Expr& part) { return part == te::axis(1); };
        const bool by_channel = std::any_of(load->index.begin(), load->index.end(),
                                            [&](const kernel::Expr& index) { return te::any_node(index, is_channel); });
        if (!by_channel) padded.insert(load->buffer.index);
      });
  });
  return padded;
}

/// Buffers whose dim 1 is none of channels: places of the result move along it (what is transposed on its way in).
std::set<int> turned_buffers(const Kernel& kernel) {
  std::set<int> turned;
  kernel::for_each_block(kernel.body, [&](const kernel::Block& block, const auto&) {
    const auto is_place = [](const kernel::Expr& e) {
      const auto* variable = te::as<te::Var>(e);
      return variable && variable->kind == te::VarKind::kSpatial && variable->index >= 2;
    };
    for (const kernel::Expr& body : block.bodies)
      te::for_each_node(body, [&](const kernel::Expr& e) {
        const auto* load = te::as<te::Load>(e);
        if (load && load->index.size() >= 3 && te::any_node(load->index[1], is_place))
          turned.insert(load->buffer.index);
      });
  });
  return turned;
}

class Assigner {
 public:
  Assigner(const Graph& graph, std::vector<Task> tasks, Surroundings surroundings, TaskDecider& decider,
           TaskTable& table)
      : graph_(graph),
        tasks_(std::move(tasks)),
        is_part_(surroundings == Surroundings::kPart),
        decider_(decider),
        table_(table) {}

  Result<std::vector<Task>> run() {
    for (size_t t = 0; t < tasks_.size(); ++t)
      for (const ValueId output : tasks_[t].outputs) maker_[output] = t;
    TRY_VOID(choose());
    if (std::find(last_.begin(), last_.end(), true) == last_.end()) return std::move(tasks_);
    return placed();
  }

 private:
  // Vertex 0 stands for channels last, vertex 1 for row-major, t + 2 for task t; inputs of a part have those behind.
  Result<void> choose() {
    std::vector<CutEdge> edges;
    const auto vertex_of = [&](ValueId value) {
      if (const auto made = maker_.find(value); made != maker_.end()) return static_cast<int>(made->second) + 2;
      return is_part_ ? static_cast<int>(tasks_.size() +
                                         input_vertices_.try_emplace(value, input_vertices_.size()).first->second) +
                            2
                      : 1;
    };
    const std::set<ValueId> outputs(graph_.outputs().begin(), graph_.outputs().end());
    for (size_t t = 0; t < tasks_.size(); ++t) {
      const Task& task = tasks_[t];
      const int vertex = static_cast<int>(t) + 2;
      takes_any_.emplace_back();
      follows_.push_back(false);
      TRY_VOID(attach(task, vertex, edges));
      for (const ValueId input : task.inputs) {
        if (!input.valid() || graph_.is_constant(input) || (takes_any_[t].contains(input) && !follows_[t]) ||
            channels_last(graph_, input).empty())
          continue;
        edges.push_back({vertex_of(input), vertex, cost_of_relayout(graph_, input)});
      }
      for (const ValueId output : task.outputs)
        if (!is_part_ && outputs.contains(output) && !channels_last(graph_, output).empty())
          edges.push_back({vertex, 1, cost_of_relayout(graph_, output)});
    }
    const std::vector<bool> side = min_cut(tasks_.size() + input_vertices_.size() + 2, edges);
    last_.assign(side.begin() + 2, side.end());
    for (const size_t t : open_) decider_.tell(choice_of(tasks_[t]), last_[t]);
    return {};
  }

  static TaskChoice choice_of(const Task& task) { return {TaskChoice::Kind::kChannelsLast, task.outputs[0]}; }

  /// Of a task that may have either layout: whether the plan says which.
  bool is_planned(const Task& task, int vertex, std::vector<CutEdge>& edges) {
    open_.push_back(static_cast<size_t>(vertex) - 2);
    const auto planned = decider_.planned(choice_of(task));
    if (planned) edges.push_back({*planned ? 0 : 1, vertex, kNever});
    return planned.has_value();
  }

  /// What the task itself wants.
  Result<void> attach(const Task& task, int vertex, std::vector<CutEdge>& edges) {
    if (task.runs_bodies) {
      edges.push_back({1, vertex, kNever});
      return {};
    }
    TRY(const LoweredTask* const lowered, table_.lowered(graph_, task));
    if (lowered->is_open) {
      edges.push_back({1, vertex, kNever});
      return {};
    }
    const Kernel& kernel = lowered->start.kernel();
    std::set<int> constants;
    for (size_t k = 0; k < task.inputs.size(); ++k)
      if (kernel.inputs[k] >= 0 && graph_.is_constant(task.inputs[k])) constants.insert(kernel.inputs[k]);
    // What data decide the size of has no layouts.
    const Shape& result = shape_of(graph_, task.outputs[0]);
    const int64_t bytes = isomer::constants(result) ? bytes_of(graph_, task.outputs[0]) : 0;
    const int64_t channels = result.size() > 1 ? result[1].constant().value_or(1) : 1;
    const auto prefer = [&](int64_t loss) { edges.push_back({loss < 0 ? 1 : 0, vertex, std::abs(loss)}); };
    if (const auto loss = loss_of_row_major(kernel, constants, bytes, channels)) {
      if (is_planned(task, vertex, edges)) return {};
      const std::set<int> padded = padded_buffers(kernel), turned = turned_buffers(kernel);
      for (size_t k = 0; k < task.inputs.size(); ++k)
        if (padded.contains(kernel.inputs[k]) || turned.contains(kernel.inputs[k]))
          takes_any_.back().insert(task.inputs[k]);
      prefer(*loss);
    } else {
      const bool is_view = lowered->view_of >= 0;
      const auto have_channels = [&](const std::vector<ValueId>& values) {
        return std::any_of(values.begin(), values.end(),
                           [&](ValueId v) { return v.valid() && !channels_last(graph_, v).empty(); });
      };
      // Results of one element a channel (global pooling) lie the same in either layout.
      const bool has_channels = have_channels(task.outputs);
      const std::set<int> images = channels >= kFewChannels ? sampled_images(kernel) : std::set<int>();
      if (has_channels && !images.empty()) {
        if (is_planned(task, vertex, edges)) return {};
        for (size_t k = 0; k < task.inputs.size(); ++k)
          if (!images.contains(kernel.inputs[k])) takes_any_.back().insert(task.inputs[k]);
        prefer(kPassesOfSample * bytes * samples_of(kernel, images));
      } else if (!(has_channels || have_channels(task.inputs)) || is_view || !keeps_channels(kernel)) {
        const bool moves = !is_view && only_maps(kernel),
                   is_by_channel = moves && has_channels && computes_by_channel(kernel);
        follows_.back() = moves && has_channels && !is_by_channel && shuffles_channels(kernel);
        if (!(moves && has_channels && is_planned(task, vertex, edges)) && !follows_.back())
          edges.push_back(is_by_channel ? CutEdge{0, vertex, kScatteringCost * bytes_of(graph_, task.outputs[0])}
                                        : CutEdge{1, vertex, kNever});
        // What moves elements anyway finds them in any layout.
        if (moves) takes_any_.back().insert(task.inputs.begin(), task.inputs.end());
      } else if (!is_planned(task, vertex, edges)) {
        prefer(loss_of_pools(kernel, bytes, channels));
      }
    }
    return {};
  }

  std::string layout_of(ValueId value) const {
    const auto made = maker_.find(value);
    const auto input = input_vertices_.find(value);
    const bool is_last = made != maker_.end() ? last_[made->second]
                                              : input != input_vertices_.end() && last_[tasks_.size() + input->second];
    return is_last ? channels_last(graph_, value) : std::string();
  }

  /// The tasks with their layouts, each with what it needs in front.
  Result<std::vector<Task>> placed() {
    std::vector<Task> result;
    for (size_t t = 0; t < tasks_.size(); ++t) {
      Task& task = tasks_[t];
      for (const ValueId input : task.inputs) {
        const bool is_laid_out = input.valid() && !graph_.is_constant(input);
        const std::string wanted = !is_laid_out                    ? std::string()
                                   : takes_any_[t].contains(input) ? layout_of(input)
                                   : last_[t]                      ? channels_last(graph_, input)
                                                                   : std::string();
        task.input_layouts.push_back(wanted);
        if (is_laid_out && wanted != layout_of(input) && made_.insert({input, wanted}).second)
          result.push_back(relayout(input, wanted));
      }
      for (const ValueId output : task.outputs) task.output_layouts.push_back(layout_of(output));
      result.push_back(std::move(task));
    }
    if (is_part_) return result;
    for (const ValueId output : graph_.outputs())
      if (!layout_of(output).empty() && made_.insert({output, ""}).second) result.push_back(relayout(output, ""));
    return result;
  }

  Task relayout(ValueId value, const std::string& wanted) const {
    Task task;
    task.inputs = task.outputs = {value};
    task.input_layouts = {layout_of(value)};
    task.output_layouts = {wanted};
    const Shape& shape = shape_of(graph_, value);
    const te::BufferRef input{te::BufferRef::Kind::kInput, 0, 0};
    task.program.outputs = {task.program.map(
        shape, te::load(input, graph_.value(value).type.dtype, te::axes(static_cast<int>(shape.size()))))};
    return task;
  }

  const Graph& graph_;
  std::vector<Task> tasks_;
  const bool is_part_;
  TaskDecider& decider_;
  TaskTable& table_;
  std::vector<size_t> open_;  ///< tasks that may have either layout
  std::map<ValueId, size_t> maker_;
  std::map<ValueId, size_t> input_vertices_;
  std::vector<std::set<ValueId>> takes_any_;  ///< by task: inputs that it reads in whatever layout they have
  std::vector<bool> follows_;  ///< by task: it moves elements well where its inputs lie as its result does
  std::vector<bool> last_;     ///< by task: its inputs and outputs lie channels last; then by input of a part
  std::set<std::pair<ValueId, std::string>> made_;
};

}  // namespace

Result<std::vector<Task>> assign_layouts(const Graph& graph, std::vector<Task> tasks, Surroundings surroundings,
                                         TaskDecider& decider, TaskTable& table) {
  return Assigner(graph, std::move(tasks), surroundings, decider, table).run();
}

Result<std::vector<Task>> assign_layouts(const Graph& graph, std::vector<Task> tasks, Surroundings surroundings) {
  TaskDecider decider;
  TaskTable table;
  return assign_layouts(graph, std::move(tasks), surroundings, decider, table);
}

}  // namespace isomer::search
