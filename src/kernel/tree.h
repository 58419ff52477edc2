// Finding one's way in a kernel's statements.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kernel/loop_nest.h"
#include "util/result.h"

namespace isomer::kernel {

/// Where a statement stands: element `position` of `list`, inside `ancestors` (outermost first).
struct Place {
  Statements* list = nullptr;
  size_t position = 0;
  std::vector<Statement*> ancestors;

  Statement& statement() const { return (*list)[position]; }
  Loop& loop() const { return std::get<Loop>(statement().node); }
  Block& block() const { return std::get<Block>(statement().node); }
  /// The loops around it, outermost first.
  std::vector<Loop*> loops() const;
  /// The statement of the kernel's body that it is or stands in.
  const Statement* root() const { return ancestors.empty() ? &statement() : ancestors.front(); }
};

/// The same of a block in a kernel that is only looked at; no block: there is none of the name.
struct BlockPlace {
  const Block* block = nullptr;
  std::vector<const Statement*> ancestors;
  std::vector<const Loop*> loops() const;
};
BlockPlace place_of_block(const Kernel& kernel, std::string_view name);
/// nullptr: there is none.
const Loop* loop_of(const Kernel& kernel, int variable);

Result<Place> find_loop(Kernel& kernel, int variable);
Result<Place> find_block(Kernel& kernel, std::string_view name);
Result<int> find_buffer(const Kernel& kernel, const std::string& name);

/// Calls `look` on every block below, in order, with the loops around it (those of `statements` only).
using BlockVisitor = std::function<void(const Block&, const std::vector<const Loop*>&)>;
void for_each_block(std::span<const Statement> statements, const BlockVisitor& look);
inline void for_each_block(const Statement& alone, const BlockVisitor& look) {
  for_each_block(std::span(&alone, 1), look);
}
void edit_blocks(Statements& statements, const std::function<void(Block&)>& edit);
/// Every expression of the statements is replaced by what `rewrite` makes of it.
void rewrite_expressions(Statements& statements, const std::function<Expr(const Expr&)>& rewrite);
/// Every access to the buffer is where `place` says instead of its index: loads, and the writes of blocks.
using AccessPlace = std::function<Write(const std::vector<Expr>& index)>;
void map_accesses(const Kernel& kernel, Statements& statements, int buffer, const AccessPlace& place);
/// Calls `look` on every expression of the statements.
void for_each_expression(std::span<const Statement> statements, const std::function<void(const Expr&)>& look);
inline void for_each_expression(const Statement& alone, const std::function<void(const Expr&)>& look) {
  for_each_expression(std::span(&alone, 1), look);
}

/// Loop variables that an expression reads; whether this one is among them.
std::set<int> variables(const Expr& expr);
bool depends_on(const Expr& expr, int loop_variable);
bool reads_any(const std::vector<Iterator>& iterators, int variable);
Expr substitute(const Expr& expr, const std::map<int, Expr>& variables);
/// The conditions that all hold where this one does: none where it is empty.
std::vector<Expr> conjuncts(const Expr& condition);
/// Buffers that an expression loads from; those that a block loads from (in bodies, indices and its predicate).
std::set<int> loads(const Expr& expr);
std::set<int> loads(const Block& block);
std::set<int> stores(const Block& block);
/// Where the loop runs over the rows of a square tile that a map computes: the vectorized loop over its lanes, the only
/// one below.
const Loop* lanes_of_tile(const Loop& rows);
/// Buffers that anything below reads or writes; whether this one is among them.
std::set<int> touched(std::span<const Statement> statements);
inline std::set<int> touched(const Statement& alone) { return touched(std::span(&alone, 1)); }
bool touches(const Statement& statement, int buffer);

/// Names of the blocks that write (read) the buffer, in order.
std::vector<std::string> writers(const Kernel& kernel, int buffer);
std::vector<std::string> readers(const Kernel& kernel, int buffer);
/// Whether all that writes the buffer stands before the block of this name.
bool written_before(const Kernel& kernel, int buffer, std::string_view block);
bool is_output(const Kernel& kernel, int buffer);
/// An input or output.
bool is_argument(const Kernel& kernel, int buffer);

/// Buffers that get their memory by a Resize.
std::set<int> resized(const Statements& statements);
inline std::set<int> resized(const Kernel& kernel) { return resized(kernel.body); }
/// Whether data decide the size of a buffer.
bool has_dynamic_sizes(const Kernel& kernel);

/// Removes a statement, and every loop that is empty without it.
void remove(Kernel& kernel, const Place& place);
/// A name that no block (no buffer) has: `hint`, or `hint_1`, …
std::string fresh_block_name(const Kernel& kernel, const std::string& hint);
std::string fresh_buffer_name(const Kernel& kernel, const std::string& hint);

/// Loops and blocks of a copy get names of their own; `renamed` maps the variables of the loops to what expressions are
/// to read instead.
void rename_copy(Kernel& kernel, Statements& statements, const std::string& suffix, std::map<int, Expr>& renamed);

/// A root statement that is nothing but serial loops around one block without a predicate; `Node` may be const.
template <class Node>
struct PlainNest {
  std::vector<Node*> loops;  ///< outermost first
  Node* block = nullptr;
};
/// Nothing for any other statement.
template <class Node>
std::optional<PlainNest<Node>> plain_nest(Node& root) {
  PlainNest<Node> nest;
  Node* at = &root;
  while (auto* loop = std::get_if<Loop>(&at->node)) {
    if (loop->ordered || loop->kind != LoopKind::kSerial || loop->body.size() != 1) return std::nullopt;
    nest.loops.push_back(at);
    at = &loop->body.front();
  }
  const auto* block = std::get_if<Block>(&at->node);
  if (!block || block->predicate) return std::nullopt;
  nest.block = at;
  return nest;
}

/// A block under new serial loops of these extents; each loop's variable is given to `bind`, in order.
Statement under_loops(Kernel& kernel, const std::vector<Expr>& extents,
                      const std::function<Block(const std::vector<Expr>& variables)>& make);

/// Ranges of the variables of these loops.
LoopRanges ranges_of(const std::vector<const Loop*>& loops);

}  // namespace isomer::kernel
