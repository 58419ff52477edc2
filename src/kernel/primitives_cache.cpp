#include <algorithm>
#include <map>

#include "kernel/copies.h"
#include "kernel/padding.h"
#include "kernel/primitives.h"
#include "kernel/regions.h"
#include "kernel/tree.h"

namespace isomer::kernel::primitives {
namespace {

/// What a block reads of a buffer: element `index`, or where `condition` is false a constant.
struct Read {
  Expr whole;  ///< the load, or the select around it
  std::vector<Expr> index;
  Expr condition;  ///< over axis(k) in place of index[k]; empty: true
  Expr otherwise;
};

std::optional<Read> padded_read(const Expr& e, int buffer) {
  const auto* select = te::as<te::Select>(e);
  if (!select || !te::as<te::Literal>(select->otherwise)) return std::nullopt;
  const auto* load = te::as<te::Load>(select->then);
  if (!load || load->buffer.index != buffer) return std::nullopt;
  const auto condition = over_index(select->condition, load->index);
  if (!condition) return std::nullopt;
  return Read{e, load->index, *condition, select->otherwise};
}

/// All reads of the buffer; a load under a select that bounds its index counts as one with it.
void find_reads(const Expr& e, int buffer, std::vector<Read>& reads) {
  if (const auto padded = padded_read(e, buffer)) {
    reads.push_back(*padded);
    return;
  }
  if (const auto* load = te::as<te::Load>(e); load && load->buffer.index == buffer)
    reads.push_back({e, load->index, {}, {}});
  for (const Expr& child : te::detail::children(e)) find_reads(child, buffer, reads);
}

/// Read `number` of those that the block makes of the buffer, which is complete before.
Result<Read> read_of(Kernel& kernel, const Place& place, int source, int64_t number) {
  TRY_VOID(check_complete(kernel, place, source));
  const Block& block = place.block();
  std::vector<Read> all, reads;
  for (const Expr& body : block.bodies) find_reads(body, source, all);
  for (const Read& read : all)
    if (std::none_of(reads.begin(), reads.end(), [&](const Read& known) { return known.whole == read.whole; }))
      reads.push_back(read);
  const std::string& name = kernel.buffers[source].name;
  if (reads.empty()) return invalid(block.name, "a block that reads '{}' expected", name);
  if (number < 0 || number >= static_cast<int64_t>(reads.size()))
    return invalid(block.name, "one of {} elements of '{}' that it reads expected, {} found", reads.size(), name,
                   number);
  return reads[static_cast<size_t>(number)];
}

/// A copy in place of a read.
struct CopiedRead {
  std::vector<Expr> extents;
  Expr value;               ///< of element axis(0), axis(1)…
  std::vector<Expr> index;  ///< which element the block reads, over its iterators
};

/// Makes it in a nest before the block's; its block's name.
std::string read_copy(Kernel& kernel, const Place& place, int source, const Read& read, const CopiedRead& made) {
  // The block is changed once the copy is there, which moves it.
  const std::string reader = place.block().name;
  const auto [cache, copier] = make_before(kernel, place, kernel.buffers[source].name + ".cache",
                                           kernel.buffers[source].dtype, made.extents, made.value);
  const Expr replacement = load_buffer(kernel, cache, made.index), whole = read.whole;
  for (Expr& body : find_block(kernel, reader)->block().bodies)
    body = te::transform(body, [&](const Expr& e) { return e == whole ? replacement : Expr(); });
  return copier;
}

/// Whether an index gives every point of the iterators an element of its own: each axis stands there whole, or as
/// number of its block and place within it.
bool is_layout(const std::vector<Expr>& index, size_t rank) {
  std::vector<int> whole(rank, 0), blocks(rank, 0), within(rank, 0);
  std::vector<int64_t> size(rank, 0);
  for (const Expr& e : index) {
    const auto* binary = te::as<te::Binary>(e);
    const auto* variable = te::as<te::Var>(binary ? binary->left : e);
    if (te::as_constant(e) == 0) continue;
    if (!variable || variable->kind != te::VarKind::kSpatial || (binary && !te::as_constant(binary->right)))
      return false;
    if (binary) {
      const int64_t block = *te::as_constant(binary->right);
      if (size[variable->index] != 0 && size[variable->index] != block) return false;
      size[variable->index] = block;
    }
    ++(!binary ? whole : binary->op == te::BinaryOp::kFloorDiv ? blocks : within)[variable->index];
  }
  for (size_t k = 0; k < rank; ++k)
    if (!(whole[k] == 1 && blocks[k] + within[k] == 0) && !(whole[k] == 0 && blocks[k] == 1 && within[k] == 1))
      return false;
  return true;
}

}  // namespace

Result<std::string> cache_read(Kernel& kernel, const std::string& name, const std::string& buffer_name,
                               int64_t number) {
  TRY(Place place, find_block(kernel, name));
  TRY(const int source, find_buffer(kernel, buffer_name));
  TRY(const Read read, read_of(kernel, place, source, number));
  Block& block = place.block();
  TRY(const CopiedRegion region, copied_region(kernel, block, source, read.index, read.condition));
  const Expr element = load_buffer(kernel, source, region.from);
  const Expr value = read.condition
                         ? te::select(te::simplify_index(at(read.condition, region.from)), element, read.otherwise)
                         : element;
  return read_copy(kernel, place, source, read, {region.extents, value, region.to});
}

Result<std::string> reindex(Kernel& kernel, const std::string& name, const std::string& buffer_name, int64_t number) {
  TRY(Place place, find_block(kernel, name));
  TRY(const int source, find_buffer(kernel, buffer_name));
  TRY(const Read read, read_of(kernel, place, source, number));
  const Block& block = place.block();
  Expr others = block.predicate;
  for (const auto* list : {&block.axes, &block.reduce})
    for (const Iterator& iterator : *list) others = without_bound(others, iterator);
  if (others) return invalid(name, "a block that computes at every point of its iterators expected");
  for (const int buffer : loads(read.whole))
    if (buffer != source) TRY_VOID(check_complete(kernel, place, buffer));

  CopiedRead made;
  const auto take = [&](const std::vector<Iterator>& iterators, const auto& iterator_of) {
    for (size_t k = 0; k < iterators.size(); ++k) {
      const Expr iterator = iterator_of(static_cast<int>(k));
      if (!te::any_node(read.whole, [&](const Expr& e) { return e == iterator; })) continue;
      made.extents.push_back(iterators[k].extent);
      made.index.push_back(iterator);
    }
  };
  take(block.axes, te::axis);
  take(block.reduce, te::reduce_axis);
  const te::Ranges ranges = [&](const Expr& leaf) -> te::Interval {
    const auto at = std::find(made.index.begin(), made.index.end(), leaf);
    const auto extent = at == made.index.end() ? std::nullopt : te::as_constant(made.extents[at - made.index.begin()]);
    return extent ? te::Interval{0, *extent - 1} : te::Interval{};
  };
  const Shape& shape = kernel.buffers[source].shape;
  const std::vector<te::Interval> bounds =
      read.condition ? bounded_axes(read.condition, shape.size()) : std::vector<te::Interval>(shape.size());
  for (size_t k = 0; k < shape.size(); ++k) {
    const te::Interval reached = te::bounds(read.index[k], ranges);
    const auto is_below = [&](const std::optional<int64_t>& high) { return high && shape[k].constant() > *high; };
    if (!(bounds[k].low >= 0 || reached.low >= 0) || !(is_below(bounds[k].high) || is_below(reached.high)))
      return invalid(name, "an index inside of dim {} of '{}' at every point expected", k, buffer_name);
  }
  bool is_closed = true;
  made.value = te::transform(read.whole, [&](const Expr& e) -> Expr {
    const auto* variable = te::as<te::Var>(e);
    if (!variable) return {};
    is_closed &= variable->kind != te::VarKind::kLoop;
    const auto at = std::find(made.index.begin(), made.index.end(), e);
    return at == made.index.end() ? Expr() : te::axis(static_cast<int>(at - made.index.begin()));
  });
  if (!is_closed) return invalid(name, "indices over the block's own iterators expected");
  return read_copy(kernel, place, source, read, made);
}

namespace {

/// The maps in earlier nests that write each element of the block's buffer at its own point, as a reduction over what
/// may be nothing begins. An error where anything else writes it, or reads it before the block does.
Result<std::vector<std::string>> beginnings(const Kernel& kernel, const Block& block, const Statement* root) {
  const Write& write = block.writes[0];
  std::vector<std::string> others = writers(kernel, write.buffer);
  std::erase(others, block.name);
  for (const std::string& other : others) {
    const Block& map = *place_of_block(kernel, other).block;
    bool is_like = !map.is_reduction() && map.writes.size() == 1 && map.writes[0].index == write.index &&
                   map.axes.size() == block.axes.size();
    for (size_t k = 0; is_like && k < map.axes.size(); ++k) is_like = map.axes[k].extent == block.axes[k].extent;
    if (!is_like)
      return invalid(block.name, "the only writer of '{}' expected, there are others",
                     kernel.buffers[write.buffer].name);
  }
  bool is_later = false;
  for (const Statement& statement : kernel.body) {
    bool is_misplaced = false;
    for_each_block(statement, [&](const Block& each, const auto&) {
      const bool reads = loads(each).contains(write.buffer),
                 begins = std::ranges::find(others, each.name) != others.end();
      is_misplaced |= (reads && !is_later) || (begins && (is_later || &statement == root));
    });
    if (is_misplaced)
      return invalid(block.name, "readers of '{}' in later nests expected, others are in this one or before",
                     kernel.buffers[write.buffer].name);
    is_later |= &statement == root;
  }
  return others;
}

}  // namespace

Result<std::string> cache_write(Kernel& kernel, const std::string& name) {
  TRY(Place place, find_block(kernel, name));
  Block& block = place.block();
  if (block.writes.size() != 1) return invalid(name, "one buffer written expected, {} found", block.writes.size());
  const int target = block.writes[0].buffer;
  const std::vector<Expr> index = block.writes[0].index;
  if (!is_layout(index, block.axes.size())) return invalid(name, "a layout of its axes written expected");
  const Buffer written = kernel.buffers[target];
  if (written.scope != Scope::kArgument)
    return invalid(name, "a buffer that is no thread's own expected, '{}' is one", written.name);
  TRY(const std::vector<std::string> begin, beginnings(kernel, block, place.root()));
  std::vector<Expr> extents;
  Shape shape;
  for (const Iterator& axis : block.axes) {
    extents.push_back(axis.extent);
    shape.push_back(Dim(axis.extent));
  }
  const std::vector<Expr> point = te::axes(static_cast<int>(extents.size()));
  const int cache = add_buffer(kernel, written.name + ".cache", written.dtype, shape);
  block.writes[0] = {cache, point};
  for (const std::string& map : begin) find_block(kernel, map)->block().writes[0] = {cache, point};
  // The copier takes the name, the block that computes becomes "name.cache": epilogues go on by the name of what they
  // write.
  const std::string computing = fresh_block_name(kernel, name + ".cache");
  block.name = computing;
  insert_beside(kernel, place, map_to(kernel, name, extents, target, index, load_buffer(kernel, cache, point)), true);
  if (std::ranges::any_of(extents, [](const Expr& extent) { return !loads(extent).empty(); })) {
    TRY(const Place first, find_block(kernel, begin.empty() ? computing : begin.front()));
    insert_beside(kernel, first, {Resize{cache, extents}}, false);
  }
  return computing;
}

Result<void> set_scope(Kernel& kernel, const std::string& buffer_name, const std::string& scope) {
  TRY(const int buffer, find_buffer(kernel, buffer_name));
  const std::map<std::string, Scope> scopes = {
      {"cache", Scope::kCache}, {"registers", Scope::kRegister}, {"shared", Scope::kShared}};
  if (!scopes.contains(scope))
    return invalid(buffer_name, "scope 'cache', 'registers' or 'shared' expected, '{}' found", scope);
  if (is_argument(kernel, buffer))
    return invalid(buffer_name, "a buffer between blocks expected, it is an input or output");
  kernel.buffers[buffer].scope = scopes.at(scope);
  return {};
}

Result<void> storage_align(Kernel& kernel, const std::string& name, int64_t gap) {
  constexpr int64_t kMostGap = 64;
  TRY(const int buffer, find_buffer(kernel, name));
  if (kernel.buffers[buffer].scope != Scope::kShared) return invalid(name, "a buffer in shared memory expected");
  if (gap < 0 || gap > kMostGap) return invalid(name, "a gap from 0 to {} expected, {} found", kMostGap, gap);
  kernel.buffers[buffer].row_gap = gap;
  return {};
}

Result<void> swizzle(Kernel& kernel, const std::string& name) {
  TRY(const int buffer, find_buffer(kernel, name));
  const int bits = bit_width(kernel.buffers[buffer].dtype);
  if (kernel.buffers[buffer].scope != Scope::kShared || (bits != 16 && bits != 32))
    return invalid(name, "elements of 16 or 32 bits in shared memory expected");
  kernel.buffers[buffer].is_swizzled = true;
  return {};
}

}  // namespace isomer::kernel::primitives
