#include <charconv>

#include "kernel/copies.h"
#include "kernel/primitives.h"
#include "kernel/regions.h"
#include "kernel/tree.h"

namespace isomer::kernel::primitives {
namespace {

/// One physical axis: all of logical axis `axis`, the number of its block, or the place within it.
struct Term {
  int axis = 0;
  enum class Part : uint8_t { kWhole, kBlock, kWithin } part = Part::kWhole;
  int64_t block = 0;
};

/// Far beyond any block that is of use.
constexpr int64_t kMostOfBlock = 1 << 20;

std::optional<Term> parse_term(std::string_view text) {
  Term term;
  const char *const begin = text.data(), *const end = begin + text.size();
  auto [next, error] = std::from_chars(begin, end, term.axis);
  if (error != std::errc() || term.axis < 0) return std::nullopt;
  if (next == end) return term;
  term.part = *next == '/' ? Term::Part::kBlock : Term::Part::kWithin;
  if (*next != '/' && *next != '%') return std::nullopt;
  const auto [last, bad] = std::from_chars(next + 1, end, term.block);
  const bool is_size = bad == std::errc() && last == end && term.block > 0 && term.block <= kMostOfBlock;
  return is_size ? std::optional(term) : std::nullopt;
}

/// The terms of a layout that holds each of `rank` axes once.
std::optional<std::vector<Term>> parse_layout(std::string_view text, size_t rank) {
  std::vector<Term> terms;
  while (true) {
    const size_t colon = std::min(text.find(':'), text.size());
    const auto term = parse_term(text.substr(0, colon));
    if (!term || term->axis >= static_cast<int>(rank)) return std::nullopt;
    terms.push_back(*term);
    if (colon == text.size()) break;
    text.remove_prefix(colon + 1);
  }
  for (size_t k = 0; k < rank; ++k) {
    int whole = 0, blocks = 0, within = 0;
    int64_t block = 0;
    bool agree = true;
    for (const Term& term : terms) {
      if (term.axis != static_cast<int>(k)) continue;
      whole += term.part == Term::Part::kWhole;
      blocks += term.part == Term::Part::kBlock;
      within += term.part == Term::Part::kWithin;
      if (term.part == Term::Part::kWhole) continue;
      agree &= block == 0 || block == term.block;
      block = term.block;
    }
    const bool once = (whole == 1 && blocks + within == 0) || (whole == 0 && blocks == 1 && within == 1);
    if (!once || !agree) return std::nullopt;
  }
  return terms;
}

Result<void> lay_out(Kernel& kernel, int buffer, const std::string& layout) {
  const std::string& name = kernel.buffers[buffer].name;
  Shape& shape = kernel.buffers[buffer].shape;
  const auto terms = parse_layout(layout, shape.size());
  if (!terms)
    return invalid(name, "a layout that holds each of its {} axes once expected, '{}' found", shape.size(), layout);
  bool is_same = true;
  for (size_t k = 0; k < terms->size(); ++k)
    is_same &= (*terms)[k].part == Term::Part::kWhole && (*terms)[k].axis == static_cast<int>(k);
  if (is_same) return invalid(name, "another layout than it has expected");
  const auto laid_out = [&](const std::vector<Expr>& index) {
    std::vector<Expr> result;
    for (const Term& term : *terms) {
      const Expr& at = index[term.axis];
      switch (term.part) {
        case Term::Part::kWhole: result.push_back(at); break;
        case Term::Part::kBlock: result.push_back(te::floor_div(at, te::index(term.block))); break;
        case Term::Part::kWithin: result.push_back(te::floor_mod(at, te::index(term.block))); break;
      }
    }
    return result;
  };
  Shape physical;
  for (const Term& term : *terms)
    physical.push_back(term.part == Term::Part::kWhole   ? shape[term.axis]
                       : term.part == Term::Part::kBlock ? ceil_div(shape[term.axis], Dim(term.block))
                                                         : Dim(term.block));
  shape = std::move(physical);
  map_accesses(kernel, kernel.body, buffer,
               [&](const std::vector<Expr>& index) { return Write{buffer, laid_out(index)}; });
  return {};
}

Result<void> check_padded(const Kernel& kernel, const Block& block, int64_t padded) {
  const std::string& name = block.name;
  if (padded < 0 || padded >= static_cast<int64_t>(block.axes.size()))
    return invalid(name, "an axis below {} expected, {} found", block.axes.size(), padded);
  for (const Write& write : block.writes) {
    const std::string& written = kernel.buffers[write.buffer].name;
    if (is_argument(kernel, write.buffer))
      return invalid(name, "a buffer between blocks expected, '{}' is an input or output", written);
    if (writers(kernel, write.buffer).size() != 1)
      return invalid(name, "the only writer of '{}' expected, there are others", written);
    if (write.index != te::axes(static_cast<int>(block.axes.size())))
      return invalid(name, "element axis(0), axis(1)… written expected");
  }
  return {};
}

/// How far a block's loops run along its axes, one of which ends where they do.
class PaddedAxes {
 public:
  static Result<PaddedAxes> of(const Place& place, int64_t padded) {
    PaddedAxes result(place.block());
    for (const Loop* loop : place.loops()) result.loops_.enter(*loop);
    const std::vector<Iterator>& axes = result.block_.axes;
    for (size_t k = 0; k < axes.size(); ++k) {
      const auto extent = te::as_constant(axes[k].extent);
      const te::Interval reached = te::bounds(axes[k].binding, result.loops_.ranges());
      if (!extent || !reached.high)
        return invalid(result.block_.name, "constant extents expected, data decide that of axis {}", k);
      result.covered_.push_back(static_cast<int64_t>(k) == padded ? std::max(*extent, *reached.high + 1) : *extent);
      const Expr axis = te::axis(static_cast<int>(k));
      result.clamped_.push_back(result.covered_[k] == *extent ? axis : te::min(axis, te::index(*extent - 1)));
    }
    return result;
  }

  /// Extents of the axes.
  const Integers& covered() const { return covered_; }

  /// What is read where the axes end. A load that stays inside its buffer anyway (a packed one with full blocks) is
  /// left as it is.
  Expr clamped(const Kernel& kernel, const Expr& e) const {
    if (const auto* load = te::as<te::Load>(e)) {
      const te::Ranges ranges = [&](const Expr& leaf) { return range(leaf); };
      bool fits = true;
      for (size_t j = 0; j < load->index.size(); ++j)
        fits &= !in_range(load->index[j], kernel.buffers[load->buffer.index].shape[j].expr(), ranges);
      return fits ? e : at(e, clamped_);
    }
    std::vector<Expr> children = te::detail::children(e);
    if (children.empty()) return at(e, clamped_);
    for (Expr& child : children) child = clamped(kernel, child);
    return te::detail::with_children(e, std::move(children));
  }

 private:
  explicit PaddedAxes(const Block& block) : block_(block) {}

  te::Interval range(const Expr& leaf) const {
    const auto* variable = te::as<te::Var>(leaf);
    if (variable && variable->kind == te::VarKind::kSpatial) return {0, covered_[variable->index] - 1};
    if (variable && variable->kind == te::VarKind::kReduce) {
      const auto extent = te::as_constant(block_.reduce[variable->index].extent);
      return {0, extent ? std::optional(*extent - 1) : std::nullopt};
    }
    return loops_.ranges()(leaf);
  }

  const Block& block_;
  LoopRanges loops_;
  Integers covered_;
  std::vector<Expr> clamped_;  ///< the axes, as what is read is clamped to them
};

}  // namespace

Result<void> transform_layout(Kernel& kernel, const std::string& name, const std::string& layout) {
  TRY(const int buffer, find_buffer(kernel, name));
  if (is_argument(kernel, buffer)) return invalid(name, "a buffer between blocks expected, it is an input or output");
  return lay_out(kernel, buffer, layout);
}

Result<void> set_layout(Kernel& kernel, const std::string& name, const std::string& layout) {
  TRY(const int buffer, find_buffer(kernel, name));
  if (!is_argument(kernel, buffer)) return invalid(name, "an input or output expected, it stands between blocks");
  return lay_out(kernel, buffer, layout);
}

Result<void> widen(Kernel& kernel, const std::string& name, const std::string& type) {
  TRY(const int buffer, find_buffer(kernel, name));
  const DataType narrow = kernel.buffers[buffer].dtype, wide = parse_data_type(type);
  if (is_argument(kernel, buffer)) return invalid(name, "a buffer between blocks expected, it is an input or output");
  if (!is_float(wide) || !is_float(narrow) || bit_width(wide) <= bit_width(narrow))
    return invalid(name, "a wider real type than {} expected, '{}' found", isomer::name(narrow), type);
  const auto is_read = [&](const Expr& e) {
    const auto* load = te::as<te::Load>(e);
    return load && load->buffer.index == buffer;
  };
  const auto is_cast = [&](const Expr& e) {
    const auto* cast = te::as<te::Cast>(e);
    return cast && e.dtype() == wide && is_read(cast->operand);
  };
  bool is_known = true;
  int reads = 0, casts = 0;
  for_each_block(kernel.body, [&](const Block& block, const auto&) {
    is_known &= !block.is_reduction() || !stores(block).contains(buffer);
    for (const Expr& body : block.bodies)
      te::for_each_node(body, [&](const Expr& e) {
        reads += is_read(e);
        casts += is_cast(e);
      });
  });
  if (!is_known) return invalid(name, "maps that write it expected, a reduction does");
  if (reads != casts) return invalid(name, "elements that are read as {} alone expected", type);
  kernel.buffers[buffer].dtype = wide;
  rewrite_expressions(kernel.body, [&](const Expr& whole) {
    return te::transform(whole, [&](const Expr& e) -> Expr {
      if (!is_cast(e)) return {};
      return load_buffer(kernel, buffer, te::as<te::Load>(te::as<te::Cast>(e)->operand)->index);
    });
  });
  edit_blocks(kernel.body, [&](Block& block) {
    for (size_t k = 0; k < block.writes.size(); ++k)
      if (block.writes[k].buffer == buffer) block.bodies[k] = te::cast(wide, block.bodies[k]);
  });
  return {};
}

Result<void> pad(Kernel& kernel, const std::string& name, int64_t padded) {
  TRY(const Place place, find_block(kernel, name));
  Block& block = place.block();
  TRY_VOID(check_padded(kernel, block, padded));
  block.predicate = without_bound(block.predicate, block.axes[padded]);
  for (const int variable : variables(block.axes[padded].binding))
    if (block.predicate && depends_on(block.predicate, variable))
      return invalid(name, "an axis that stands alone in the block's predicate expected");
  TRY(const PaddedAxes axes, PaddedAxes::of(place, padded));
  for (Expr& body : block.bodies) body = axes.clamped(kernel, body);
  for (size_t k = 0; k < block.axes.size(); ++k) block.axes[k].extent = te::index(axes.covered()[k]);
  for (const Write& write : block.writes) {
    Shape& shape = kernel.buffers[write.buffer].shape;
    for (size_t k = 0; k < shape.size(); ++k) shape[k] = Dim(axes.covered()[k]);
  }
  return {};
}

}  // namespace isomer::kernel::primitives
