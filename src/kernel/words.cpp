#include "kernel/words.h"

#include "kernel/access.h"

namespace isomer::kernel {
namespace {

constexpr int kWordBits = 32;

DataType unsigned_part(int bits) { return bits == 8 ? DataType::kUInt8 : DataType::kUInt16; }
DataType signed_part(int bits) { return bits == 8 ? DataType::kInt8 : DataType::kInt16; }

/// Without casts that keep the low `bits`.
Expr low_bits(const Expr& part, int bits) {
  const auto* cast = te::as<te::Cast>(part);
  const bool keeps = cast && is_int(cast->operand.dtype()) && bit_width(cast->operand.dtype()) >= bits &&
                     bit_width(part.dtype()) >= bits;
  return keeps ? low_bits(cast->operand, bits) : part;
}

Expr shifted(te::BinaryOp op, const Expr& word, int bits) {
  return bits == 0 ? word : te::binary(op, word, te::literal(int64_t{bits}, DataType::kUInt32));
}

}  // namespace

Expr word_of(const std::vector<Expr>& parts) {
  const int bits = kWordBits / static_cast<int>(parts.size());
  Expr word;
  for (size_t k = 0; k < parts.size(); ++k) {
    const Expr low = low_bits(parts[k], bits);
    const Expr part = low.dtype() == unsigned_part(bits) ? low : te::cast(unsigned_part(bits), low);
    const Expr in_place =
        shifted(te::BinaryOp::kShiftLeft, te::cast(DataType::kUInt32, part), static_cast<int>(k) * bits);
    word = word ? te::binary(te::BinaryOp::kOr, word, in_place) : in_place;
  }
  return word;
}

std::vector<Expr> loads_of_word(const Expr& expr) {
  std::vector<Expr> loads;
  const auto find = [&](const auto& self, const Expr& e) -> void {
    if (te::as<te::Load>(e)) return loads.push_back(e);
    for (const Expr& child : te::detail::children(e)) self(self, child);
  };
  find(find, expr);
  const size_t parts = loads.size();
  if (parts != 2 && parts != 4) return {};
  for (const Expr& load : loads)
    if (bit_width(load.dtype()) * static_cast<int>(parts) != kWordBits) return {};
  return word_of(loads) == expr ? loads : std::vector<Expr>();
}

bool is_word_of_memory(const Kernel& kernel, const Expr& expr) {
  const std::vector<Expr> loads = loads_of_word(expr);
  if (loads.empty()) return false;
  const te::Load& first = *te::as<te::Load>(loads[0]);
  const Buffer& buffer = kernel.buffers[static_cast<size_t>(first.buffer.index)];
  for (size_t k = 0; k < loads.size(); ++k) {
    const te::Load& load = *te::as<te::Load>(loads[k]);
    if (!(load.buffer == first.buffer)) return false;
    const Expr distance = te::simplify_index(offset_of(buffer, load.index) - offset_of(buffer, first.index));
    if (te::as_constant(distance) != static_cast<int64_t>(k)) return false;
  }
  return true;
}

Expr dot_of_words(const DotOfWords& dot) {
  const int bits = kWordBits / dot.parts;
  const auto part = [&](const Expr& word, int k, DataType type) {
    return te::cast(DataType::kInt32, te::cast(type, shifted(te::BinaryOp::kShiftRight, word, k * bits)));
  };
  Expr sum;
  for (int k = 0; k < dot.parts; ++k) {
    const Expr product =
        part(dot.a, k, dot.parts == 4 ? unsigned_part(bits) : signed_part(bits)) * part(dot.b, k, signed_part(bits));
    sum = sum ? sum + product : product;
  }
  return sum;
}

std::optional<DotOfWords> as_dot_of_words(const Expr& expr) {
  if (expr.dtype() != DataType::kInt32) return std::nullopt;
  int parts = 1;
  Expr first = expr;
  for (const te::Binary* sum; (sum = te::as<te::Binary>(first)) && sum->op == te::BinaryOp::kAdd; first = sum->left)
    ++parts;
  const auto* product = te::as<te::Binary>(first);
  if ((parts != 2 && parts != 4) || !product || product->op != te::BinaryOp::kMul) return std::nullopt;
  const auto word = [](const Expr& part) {
    const auto* wide = te::as<te::Cast>(part);
    const auto* narrow = wide ? te::as<te::Cast>(wide->operand) : nullptr;
    return narrow && narrow->operand.dtype() == DataType::kUInt32 ? narrow->operand : Expr();
  };
  const DotOfWords dot = {word(product->left), word(product->right), parts};
  return dot.a && dot.b && dot_of_words(dot) == expr ? std::optional(dot) : std::nullopt;
}

}  // namespace isomer::kernel
