#include <algorithm>

#include "kernel/access.h"
#include "kernel/access_plan.h"
#include "kernel/copies.h"
#include "kernel/primitives.h"
#include "kernel/words.h"

namespace isomer::kernel::primitives {
namespace {

constexpr int64_t kBytes = 256;
/// Of arithmetic (access.h), at least: an element of a table takes about as long as half of it.
constexpr int kLeastOperations = 24;

/// What a part of an expression makes of a byte, and of nothing else.
struct OfByte {
  Expr whole, byte;
  int operations = 0;
};

/// Whether nothing but that byte decides it, and it has a value for any.
bool is_made_of(const Expr& expr, const Expr& byte) {
  if (expr == byte || te::as<te::Literal>(expr)) return true;
  const auto* binary = te::as<te::Binary>(expr);
  if (binary && divides(binary->op) && !is_float(binary->left.dtype())) return false;
  const std::vector<Expr> parts = te::detail::children(expr);
  return !te::as<te::Load>(expr) && !parts.empty() &&
         std::all_of(parts.begin(), parts.end(), [&](const Expr& part) { return is_made_of(part, byte); });
}

/// The same of a number's byte.
Expr of_number(const OfByte& part) {
  const Expr byte = te::cast(part.byte.dtype(), te::axis(0));
  return te::transform(part.whole, [&](const Expr& e) { return e == part.byte ? byte : Expr(); });
}

/// The largest part that is made of some byte.
OfByte largest_part(const Expr& body) {
  std::vector<Expr> bytes;
  te::for_each_node(body, [&](const Expr& e) {
    const bool is_new = std::find(bytes.begin(), bytes.end(), e) == bytes.end();
    if (is_new && is_byte(e.dtype()) && (te::as<te::Load>(e) || te::as<te::Cast>(e))) bytes.push_back(e);
  });
  OfByte best;
  for (const Expr& byte : bytes)
    te::for_each_node(body, [&](const Expr& e) {
      const bool has_room = bit_width(e.dtype()) == 32 || is_byte(e.dtype());
      if (e == byte || !has_room || te::as<te::Literal>(e) || !is_made_of(e, byte)) return;
      OfByte part{e, byte};
      part.operations = count_operations(of_number(part));
      if (part.operations > best.operations) best = part;
    });
  return best;
}

}  // namespace

Result<std::string> tabulate(Kernel& kernel, const std::string& name) {
  TRY(const Place place, find_block(kernel, name));
  Block& block = place.block();
  if (block.is_reduction() || block.bodies.size() != 1) return invalid(name, "a map with one result expected");
  const OfByte part = largest_part(block.bodies[0]);
  if (part.operations < kLeastOperations)
    return invalid(name, "{} operations at least on nothing but a byte expected, {} found", kLeastOperations,
                   part.operations);
  const DataType type = part.whole.dtype(), kept = is_byte(type) ? DataType::kInt32 : type;
  const int table = add_buffer(kernel, name + ".table", kept, {Dim(kBytes)});
  const std::string maker = fresh_block_name(kernel, kernel.buffers[static_cast<size_t>(table)].name);
  // A byte with a sign stands where its bits, without one, say.
  const Expr number = te::cast(
      DataType::kInt64, part.byte.dtype() == DataType::kUInt8 ? part.byte : te::cast(DataType::kUInt8, part.byte));
  const Expr element = load_buffer(kernel, table, {number});
  const Expr found = kept == type ? element : te::cast(type, element);
  block.bodies[0] = te::transform(block.bodies[0], [&](const Expr& e) { return e == part.whole ? found : Expr(); });
  // It reads nothing: whatever computes with it comes later.
  const Expr value = of_number(part);
  kernel.body.insert(kernel.body.begin(), map_to(kernel, maker, {te::index(kBytes)}, table, {te::axis(0)},
                                                 kept == type ? value : te::cast(kept, value)));
  return maker;
}

}  // namespace isomer::kernel::primitives
