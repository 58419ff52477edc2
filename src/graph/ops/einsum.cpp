#include "graph/ops/einsum.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "graph/ops/common.h"
#include "graph/ops/operand.h"

namespace isomer::ops {
namespace {

/// A letter, or kEllipsis + k for the k-th axis from the right that an ellipsis stands for.
using Label = int;
constexpr Label kEllipsis = 256;
using Labels = std::vector<Label>;

/// "ab...c" over a tensor of `rank`; the ellipsis takes what the letters leave. Rank -1: as many axes as `ellipsis`.
Result<Labels> parse_term(const OpContext& context, std::string_view term, int rank, int ellipsis) {
  const auto letters = std::count_if(term.begin(), term.end(), [](unsigned char c) { return std::isalpha(c) != 0; });
  if (rank >= 0) ellipsis = rank - static_cast<int>(letters);
  Labels labels;
  bool seen = false;
  for (size_t k = 0; k < term.size(); ++k) {
    if (std::isalpha(static_cast<unsigned char>(term[k]))) {
      labels.push_back(term[k]);
    } else if (!seen && term.substr(k, 3) == "...") {
      seen = true;
      for (int j = ellipsis - 1; j >= 0; --j) labels.push_back(kEllipsis + j);
      k += 2;
    } else {
      return context.invalid("equation of letters and at most one ellipsis a term expected, '{}' found", term);
    }
  }
  if (rank >= 0 && static_cast<int>(labels.size()) != rank)
    return context.invalid("an operand of {} axes expected for term '{}', one of {} found", letters, term, rank);
  return labels;
}

/// What the equation says about operands of known rank.
struct Einsum {
  std::vector<Labels> operands;
  Labels out;
  Labels summed;  ///< in order of first appearance
  std::map<Label, Dim> dims;
  Shape shape(const Labels& labels) const {
    Shape result;
    for (const Label label : labels) result.push_back(dims.at(label));
    return result;
  }
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t at = 0;;) {
    const size_t end = text.find(separator, at);
    parts.push_back(text.substr(at, end - at));
    if (end == std::string_view::npos) return parts;
    at = end + 1;
  }
}

/// The output that an equation without "->" means: the broadcast axes, then the letters that occur once, sorted.
Labels implied_output(const std::vector<Labels>& operands, int ellipsis) {
  std::map<Label, int> counts;
  for (const Labels& labels : operands)
    for (const Label label : labels) ++counts[label];
  Labels out;
  for (int k = ellipsis - 1; k >= 0; --k) out.push_back(kEllipsis + k);
  for (const auto& [label, count] : counts)
    if (label < kEllipsis && count == 1) out.push_back(label);
  return out;
}

Result<void> read_dims(const OpContext& context, Einsum& einsum) {
  for (size_t i = 0; i < einsum.operands.size(); ++i) {
    const Shape& shape = context.shape(static_cast<int>(i));
    std::map<Label, Dim> own;
    for (size_t k = 0; k < shape.size(); ++k) {
      const Label label = einsum.operands[i][k];
      const auto [first, added] = own.emplace(label, shape[k]);
      const auto same = added ? shape[k] : agreed(first->second, shape[k]);
      if (!same)
        return context.invalid("equal dims for the repeated label '{}' expected, {} found", static_cast<char>(label),
                               text(shape));
      first->second = *same;
    }
    for (const auto& [label, dim] : own) {
      const auto [known, added] = einsum.dims.emplace(label, dim);
      const auto joined = added ? dim : broadcast_dim(known->second, dim);
      if (!joined)
        return context.invalid("one dim a label expected, {} and {} found in operand {}", known->second.text(),
                               dim.text(), i);
      known->second = *joined;
    }
  }
  return {};
}

Result<Einsum> einsum_of(const OpContext& context) {
  std::string equation = context.get_string("equation");
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  const auto terms = split(std::string_view(equation).substr(0, arrow), ',');
  if (static_cast<int>(terms.size()) != context.input_count())
    return context.invalid("as many terms as operands ({}) expected, {} found", context.input_count(), terms.size());
  Einsum einsum;
  int ellipsis = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    TRY(Labels labels, parse_term(context, terms[i], context.rank(static_cast<int>(i)), 0));
    ellipsis =
        std::max<int>(ellipsis, std::count_if(labels.begin(), labels.end(), [](Label l) { return l >= kEllipsis; }));
    einsum.operands.push_back(std::move(labels));
  }
  TRY_VOID(read_dims(context, einsum));
  if (arrow == std::string::npos) {
    einsum.out = implied_output(einsum.operands, ellipsis);
  } else {
    TRY(einsum.out, parse_term(context, std::string_view(equation).substr(arrow + 2), -1, ellipsis));
  }
  for (auto label = einsum.out.begin(); label != einsum.out.end(); ++label)
    if (!einsum.dims.contains(*label) || std::find(einsum.out.begin(), label, *label) != label)
      return context.invalid("distinct output labels that occur in an operand expected, '{}' found", equation);
  const auto is_listed = [](const Labels& list, Label label) {
    return std::find(list.begin(), list.end(), label) != list.end();
  };
  for (const Labels& labels : einsum.operands)
    for (const Label label : labels) {
      if (is_listed(einsum.out, label) || is_listed(einsum.summed, label)) continue;
      if (label >= kEllipsis)
        return context.invalid("an output with the operands' ellipsis expected, '{}' found", equation);
      einsum.summed.push_back(label);
    }
  return einsum;
}

}  // namespace

Result<std::vector<ValueType>> infer_einsum(const OpContext& context) {
  TRY(const Einsum einsum, einsum_of(context));
  return one(context.dtype(0), einsum.shape(einsum.out));
}

Result<te::Program> compute_einsum(const OpContext& context) {
  TRY(const Einsum einsum, einsum_of(context));
  std::map<Label, te::Expr> iterators;
  for (size_t k = 0; k < einsum.out.size(); ++k) iterators[einsum.out[k]] = te::axis(static_cast<int>(k));
  for (size_t k = 0; k < einsum.summed.size(); ++k) iterators[einsum.summed[k]] = te::reduce_axis(static_cast<int>(k));
  te::Expr product;
  for (size_t i = 0; i < einsum.operands.size(); ++i) {
    const Shape& shape = context.shape(static_cast<int>(i));
    std::vector<te::Expr> index;
    for (size_t k = 0; k < shape.size(); ++k) {
      const Label label = einsum.operands[i][k];
      index.push_back(broadcast_position(shape[k], einsum.dims.at(label), iterators.at(label)));
    }
    const te::Expr factor = context.load(static_cast<int>(i), std::move(index));
    product = product ? product * factor : factor;
  }
  te::Program program;
  program.outputs = {sum_over(program, einsum.shape(einsum.out), einsum.shape(einsum.summed), std::move(product))};
  return program;
}

}  // namespace isomer::ops
