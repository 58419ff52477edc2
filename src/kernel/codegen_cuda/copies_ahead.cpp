#include "kernel/codegen_cuda/copies_ahead.h"

#include <algorithm>
#include <set>

#include "kernel/tree.h"

namespace isomer::kernel::cuda {
namespace {

/// Registers of a thread that a copy may take.
constexpr int64_t kMostElements = 32;

/// The only statement in a loop, or behind a condition; nullptr: it is something else.
const Statement* only_inside(const Statement& statement) {
  const Statements* body = nullptr;
  if (const auto* loop = std::get_if<Loop>(&statement.node)) body = &loop->body;
  if (const auto* branch = std::get_if<Branch>(&statement.node); branch && branch->otherwise.empty())
    body = &branch->then;
  return body && body->size() == 1 ? &body->front() : nullptr;
}

std::optional<CopyAhead> copy_ahead(const Kernel& kernel, const Launch& launch, const std::set<int>& written,
                                    const Statement& statement) {
  CopyAhead copy;
  copy.statement = &statement;
  std::vector<std::pair<int, int64_t>> extents;
  std::array<const Loop*, 3> threads = {};
  const Statement* at = &statement;
  for (const Statement* inner = only_inside(*at); inner; inner = only_inside(*at)) {
    if (const auto* loop = std::get_if<Loop>(&at->node)) {
      const auto extent = te::as_constant(loop->extent);
      if (!extent || is_block(loop->kind)) return std::nullopt;
      if (is_thread(loop->kind)) {
        threads[axis_of(loop->kind)] = loop;
      } else if (*extent > 1) {
        if (loop->kind != LoopKind::kUnrolled) return std::nullopt;
        extents.emplace_back(loop->variable, *extent);
      }
    }
    at = inner;
  }
  const auto* block = std::get_if<Block>(&at->node);
  if (!block || block->is_reduction() || block->writes.size() != 1) return std::nullopt;
  const Buffer& target = kernel.buffers[static_cast<size_t>(block->writes[0].buffer)];
  if (target.scope != Scope::kShared) return std::nullopt;
  // Every thread fetches elements of its own.
  for (size_t axis = 0; axis < 3; ++axis)
    if (launch.threads[axis] > 1 && !(threads[axis] && reads_any(block->axes, threads[axis]->variable)))
      return std::nullopt;
  if (std::ranges::any_of(loads(*block), [&](int read) { return written.contains(read); })) return std::nullopt;
  copy.dtype = target.dtype;
  copy.target = block->writes[0].buffer;
  copy.count = 1;
  for (size_t k = extents.size(); k-- > 0;) {
    copy.strides.emplace_back(extents[k].first, copy.count);
    copy.count *= extents[k].second;
  }
  return copy.count <= kMostElements ? std::optional(copy) : std::nullopt;
}

}  // namespace

CopiesAhead copies_ahead(const Kernel& kernel, const Launch& launch, const std::set<int>& written, const Loop& loop) {
  CopiesAhead ahead;
  const auto is_barrier = [](const Statement& statement) { return std::holds_alternative<Barrier>(statement.node); };
  const Statements& body = loop.body;
  if (!loop.annotations.contains(kAhead) || loop.kind != LoopKind::kSerial ||
      te::as_constant(loop.extent).value_or(0) < 2)
    return ahead;
  while (ahead.begin < body.size() && is_barrier(body[ahead.begin])) ++ahead.begin;
  for (ahead.end = ahead.begin; ahead.end < body.size(); ++ahead.end) {
    auto copy = copy_ahead(kernel, launch, written, body[ahead.end]);
    if (!copy) break;
    ahead.copies.push_back(*std::move(copy));
  }
  if (ahead.end == body.size() || !is_barrier(body[ahead.end])) return {};
  return ahead;
}

int64_t stages_of(const Statement& launched, const Loop& loop, const CopiesAhead& ahead) {
  const auto wanted = loop.annotations.find(kStages);
  if (wanted == loop.annotations.end() || ahead.copies.empty()) return 1;
  std::set<int> used_elsewhere;
  std::multiset<int> written;
  for_each_block(launched, [&](const Block& block, const std::vector<const Loop*>& around) {
    const std::set<int> stored = stores(block);
    written.insert(stored.begin(), stored.end());
    if (std::ranges::find(around, &loop) != around.end()) return;
    used_elsewhere.insert(stored.begin(), stored.end());
    used_elsewhere.merge(loads(block));
  });
  const bool are_own = std::ranges::all_of(ahead.copies, [&](const CopyAhead& copy) {
    return !used_elsewhere.contains(copy.target) && written.count(copy.target) == 1;
  });
  // A schedule may ask for any number. This one's bytes can be counted, and are already too many.
  return are_own ? std::clamp<int64_t>(wanted->second, 1, kMostSharedBytes) : 1;
}

}  // namespace isomer::kernel::cuda
