#include "kernel/view.h"

#include <algorithm>
#include <utility>

#include "kernel/padding.h"
#include "kernel/tree.h"
#include "util/check.h"

namespace isomer::kernel {
namespace {

/// Whether what is computed depends on where: as at the border of a padding.
bool chooses_by_place(const Block& block) {
  return std::any_of(block.bodies.begin(), block.bodies.end(), [](const Expr& body) {
    return te::any_node(body, [](const Expr& e) {
      const auto* select = te::as<te::Select>(e);
      return select && loads(select->condition).empty();
    });
  });
}

/// A loop that nothing was done to: serial, of constant extent, with nothing beside what is in it.
bool is_untouched(const Loop& loop) {
  return loop.body.size() == 1 && loop.kind == LoopKind::kSerial && te::as_constant(loop.extent);
}

/// What a map brings to another place as it is; nullptr: it computes something.
const te::Load* load_that_is_moved(const Block& map) {
  return map.is_reduction() || map.bodies.size() != 1 ? nullptr : te::as<te::Load>(map.bodies[0]);
}

}  // namespace

bool holds_select(const Expr& expr) {
  return te::any_node(expr, [](const Expr& e) { return te::as<te::Select>(e) != nullptr; });
}

Integers extents_of(const Block& block) {
  Integers result;
  for (const Iterator& axis : block.axes) result.push_back(te::as_constant(axis.extent).value_or(0));
  return result;
}

bool View::has_block(const std::string& name) const { return place_of_block(kernel(), name).block != nullptr; }

bool View::has_loop(LoopId loop) const { return loop_of(kernel(), loop.variable) != nullptr; }

const Block& View::block(const std::string& name) const {
  const auto place = place_of_block(kernel(), name);
  CHECK(place.block) << name;
  return *place.block;
}

bool View::is_alone(const std::string& name) const {
  const auto place = place_of_block(kernel(), name);
  return place.block && !place.ancestors.empty() &&
         std::all_of(place.ancestors.begin(), place.ancestors.end(), [](const Statement* ancestor) {
           const auto* loop = std::get_if<Loop>(&ancestor->node);
           return loop && !loop->ordered && is_untouched(*loop);
         });
}

bool View::is_step(const std::string& name) const {
  const auto place = place_of_block(kernel(), name);
  bool is_ordered = false, is_free = true;
  for (const Statement* ancestor : place.ancestors) {
    const auto* loop = std::get_if<Loop>(&ancestor->node);
    if (!loop) return false;
    is_ordered |= loop->ordered;
    is_free = loop->ordered || (is_free && is_untouched(*loop));
  }
  return is_ordered && is_free && !std::get<Loop>(place.ancestors.back()->node).ordered;
}

std::optional<LoopId> View::steps_around(const std::string& name) const {
  std::optional<LoopId> found;
  for (const Loop* loop : place_of_block(kernel(), name).loops()) {
    if (loop->body.size() != 1 || (loop->ordered && found)) return std::nullopt;
    if (loop->ordered) found = LoopId{loop->variable};
  }
  return found;
}

LoopIds View::loops(const std::string& name) const {
  LoopIds result;
  for (const Loop* loop : place_of_block(kernel(), name).loops()) result.push_back({loop->variable});
  return result;
}

LoopIds View::inner_loops(const std::string& name, LoopId around) const {
  LoopIds result;
  for (const Loop* loop : place_of_block(kernel(), name).loops()) {
    if (loop->ordered || loop->variable == around.variable) {
      result.clear();
    } else {
      result.push_back({loop->variable});
    }
  }
  return result;
}

int64_t View::extent(LoopId id) const {
  const Loop* loop = loop_of(kernel(), id.variable);
  CHECK(loop) << "k" << id.variable;
  return te::as_constant(loop->extent).value_or(0);
}

int64_t View::iterations(const LoopIds& loops) const {
  int64_t count = 1;
  for (const LoopId loop : loops) count *= extent(loop);
  return count;
}

int View::lanes(const Block& block) const {
  int result = 64;
  for (const Write& write : block.writes) result = std::min(result, machine_.lanes(buffer(write.buffer).dtype));
  return result;
}

int64_t View::lane_bytes(const Block& block) const {
  return std::max(bit_width(buffer(block.writes[0].buffer).dtype), 32) / 8;
}

int64_t View::loads_of(const Block& reader, int buffer) const {
  const std::vector<LoadAccess> accesses = load_accesses(kernel(), reader);
  return std::count_if(accesses.begin(), accesses.end(),
                       [&](const LoadAccess& access) { return access.buffer == buffer; });
}

int64_t View::reuse(const Block& reduction, const LoadAccess& access) const {
  const int64_t elements = element_count(buffer(access.buffer).shape).constant().value_or(0);
  return points(reduction).value_or(0) / std::max<int64_t>(elements, 1);
}

int64_t View::ordinal(const std::string& name, const LoadAccess& access) const {
  int64_t number = 0;
  for (const LoadAccess& other : load_accesses(kernel(), block(name))) {
    if (other.load == access.load) break;
    number += other.buffer == access.buffer;
  }
  return number;
}

bool View::moves_reduction(const Block& map) const {
  const te::Load* load = load_that_is_moved(map);
  if (!load) return false;
  const auto makers = writers(kernel(), load->buffer.index);
  return makers.size() == 1 && block(makers[0]).is_reduction();
}

bool View::moves_steps(const Block& map) const {
  const te::Load* load = load_that_is_moved(map);
  if (!load) return false;
  const auto makers = writers(kernel(), load->buffer.index);
  std::vector<std::string> others = readers(kernel(), load->buffer.index);
  std::erase(others, map.name);
  return makers.size() == 1 && is_step(makers[0]) && others == makers;
}

bool View::is_flat(const Block& block) const {
  const Strides out = write_strides(kernel(), block);
  for (const LoadAccess& access : load_accesses(kernel(), block)) {
    bool is_fixed = true, is_same = true;
    for (size_t k = 0; k < out.size(); ++k) {
      if (te::as_constant(block.axes[k].extent) == 1) continue;
      is_fixed &= access.axes[k] == 0;
      is_same &= access.axes[k] == out[k];
    }
    if (!is_fixed && !is_same) return false;
  }
  return !chooses_by_place(block);
}

int View::contiguous_axis(const Block& map) const {
  const Strides out = write_strides(kernel(), map);
  const auto found = std::find(out.begin(), out.end(), 1);
  return found == out.end() ? -1 : static_cast<int>(found - out.begin());
}

bool View::runs_along(const Block& map) const {
  const int innermost = contiguous_axis(map);
  if (innermost < 0) return false;
  const std::vector<LoadAccess> accesses = load_accesses(kernel(), map);
  return std::all_of(accesses.begin(), accesses.end(), [&](const LoadAccess& access) {
    return access.axes[innermost] == 0 || access.axes[innermost] == 1;
  });
}

bool View::has_finite_factor(const Block& reduction) const {
  const auto* product = te::as<te::Binary>(reduction.bodies[0]);
  return !product || product->op != te::BinaryOp::kMul || is_finite(kernel(), product->left) ||
         is_finite(kernel(), product->right);
}

bool View::is_known(const std::string& name) const {
  std::map<int, bool> answers;
  return is_known(block(name), answers);
}

bool View::is_constant(int buffer) const {
  std::map<int, bool> answers;
  return is_constant(buffer, answers);
}

bool View::is_known(const Block& block, std::map<int, bool>& answers) const {
  const std::set<int> written = stores(block);
  const std::set<int> sources = loads(block);
  return std::all_of(sources.begin(), sources.end(),
                     [&](int source) { return written.contains(source) || is_constant(source, answers); });
}

bool View::is_constant(int buffer, std::map<int, bool>& answers) const {
  if (this->buffer(buffer).is_constant) return true;
  if (!may_be_constant(buffer)) return false;
  if (const auto known = answers.find(buffer); known != answers.end()) return known->second;
  const auto makers = writers(kernel(), buffer);
  // Makers of what a block reads stand before it, but in loops that go round.
  const bool result = !makers.empty() && std::all_of(makers.begin(), makers.end(), [&](const std::string& maker) {
    return is_alone(maker) && is_known(block(maker), answers);
  });
  answers.emplace(buffer, result);
  return result;
}

bool View::may_be_constant(int buffer) const {
  if (made_of_constants_.empty()) {
    std::vector<char> made(kernel().buffers.size());
    for (size_t k = 0; k < made.size(); ++k) made[k] = kernel().buffers[k].is_constant;
    std::map<int, std::vector<const Block*>> makers;
    for_each_block(kernel().body, [&](const Block& block, const auto&) {
      for (const int written : stores(block)) makers[written].push_back(&block);
    });
    const auto is_made = [&](const Block* block) {
      const std::set<int> written = stores(*block), sources = loads(*block);
      return std::all_of(sources.begin(), sources.end(),
                         [&](int source) { return written.contains(source) || made[static_cast<size_t>(source)]; });
    };
    for (bool changes = true; std::exchange(changes, false);)
      for (const auto& [written, blocks] : makers)
        if (!made[static_cast<size_t>(written)] && std::all_of(blocks.begin(), blocks.end(), is_made))
          made[static_cast<size_t>(written)] = changes = true;
    made_of_constants_ = std::move(made);
  }
  return static_cast<size_t>(buffer) >= made_of_constants_.size() || made_of_constants_[static_cast<size_t>(buffer)];
}

bool View::is_made_before(int buffer, const std::string& name) const {
  const auto nest_of = [&](const std::string& block) -> const void* {
    const BlockPlace place = place_of_block(kernel(), block);
    return place.ancestors.empty() ? static_cast<const void*>(place.block) : place.ancestors.front();
  };
  const auto makers = writers(kernel(), buffer);
  return std::all_of(makers.begin(), makers.end(),
                     [&](const std::string& maker) { return nest_of(maker) != nest_of(name); });
}

std::string View::epilogue(const Block& reduction) const {
  const int result = reduction.writes[0].buffer;
  const std::vector<std::string> users = readers(kernel(), result);
  if (is_output(kernel(), result) || users.size() != 1 || !is_alone(users[0])) return {};
  const Block& map = block(users[0]);
  if (map.is_reduction() || map.writes.size() != 1 || map.axes.size() != reduction.axes.size()) return {};
  bool same = true;
  te::for_each_node(map.bodies[0], [&](const Expr& e) {
    if (const auto* load = te::as<te::Load>(e); load && load->buffer.index == result)
      same &= is_point(load->index, buffer(result).shape);
  });
  return same ? users[0] : std::string();
}

Strides View::stored_strides(const Block& reduction) const {
  const std::string map = epilogue(reduction);
  return write_strides(kernel(), map.empty() ? reduction : block(map));
}

bool View::follows_reduction(const std::string& name) const {
  std::set<std::string> met = {name};
  for (std::vector<std::string> open = {name}; !open.empty();) {
    const std::string next = std::move(open.back());
    open.pop_back();
    if (!is_alone(next)) continue;
    const Block& each = block(next);
    if (each.is_reduction()) return true;
    for (const int read : loads(each))
      for (const std::string& maker : writers(kernel(), read))
        if (met.insert(maker).second) open.push_back(maker);
  }
  return false;
}

}  // namespace isomer::kernel
