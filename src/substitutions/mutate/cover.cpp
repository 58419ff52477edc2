#include "substitutions/mutate/cover.h"

#include <algorithm>

#include "substitutions/mutate/example_values.h"

namespace isomer::substitutions {
namespace {

using verify::Term;

constexpr uint64_t kSeed = 0;

std::optional<ExampleValues> values_of(const Rule& rule) {
  const auto dims_of = [&](const char* name) -> std::optional<Dims> {
    const auto type = rule.example.types.find(name);
    return type == rule.example.types.end() ? std::nullopt : constants(*type->second.shape);
  };
  const auto x = dims_of("x"), w = dims_of("w");
  if (!x || !w || rule.example.types.size() != 2 || rule.outputs.size() != 1) return std::nullopt;
  return ExampleValues(*x, *w, kSeed);
}

/// A list of numbers that an operator is told; nothing where it is none.
std::optional<Dims> numbers(const Term::Application& application, const char* name) {
  const auto found = application.parameters.find(name);
  const auto* list = found == application.parameters.end() ? nullptr : std::get_if<std::vector<Dim>>(&found->second);
  return list ? constants(*list) : std::nullopt;
}

class Coverer {
 public:
  Coverer(const ExampleValues& values, const Term& original, Dims dims)
      : values_(values), original_(original), dims_(std::move(dims)) {}

  std::vector<CoverPart> run(const Term& program, const Term& stated) {
    Box whole;
    whole.begin.resize(dims_.size(), 0);
    whole.end = dims_;
    cover(program, stated, whole);
    return std::move(parts_);
  }

 private:
  void cover(const Term& program, const Term& stated, const Box& box) {
    const auto *made = program.as_application(), *said = stated.as_application();
    if (made && said && made->op->name == "Concat" && made->arguments.size() == said->arguments.size())
      if (const auto boxes = boxes_of_parts(*made, box)) {
        for (size_t k = 0; k < boxes->size(); ++k) cover(made->arguments[k], said->arguments[k], (*boxes)[k]);
        return;
      }
    if (made && said && is_cut_in_place(*made, box)) {
      CoverPart part{box, made->arguments[0], said->arguments[0], true, {}};
      if (auto is_right = values_.equal(part.program, original_, dims_)) {
        is_right->flip();
        part.wrong = boxes_of(*is_right, dims_);
      }
      parts_.push_back(std::move(part));
      return;
    }
    parts_.push_back({box, program, stated, false, {}});
  }

  std::optional<std::vector<Box>> boxes_of_parts(const Term::Application& joined, const Box& box) const {
    const auto axis = joined.parameters.find("axis");
    const auto* number = axis == joined.parameters.end() ? nullptr : std::get_if<Dim>(&axis->second);
    const auto place = number && number->constant() ? place_of(*number->constant()) : std::nullopt;
    if (!place) return std::nullopt;
    const size_t at = *place;
    std::vector<Box> result;
    int64_t begin = box.begin[at];
    for (const Term& argument : joined.arguments) {
      const auto dims = values_.dims(argument);
      if (!dims || dims->size() != dims_.size()) return std::nullopt;
      result.push_back(box);
      result.back().begin[at] = begin;
      result.back().end[at] = begin += (*dims)[at];
    }
    return begin == box.end[at] ? std::optional(std::move(result)) : std::nullopt;
  }

  /// It takes, of what has the output's sizes, what stands in the box.
  bool is_cut_in_place(const Term::Application& made, const Box& box) const {
    if (made.op->name != "Slice" || made.arguments.empty() || values_.dims(made.arguments[0]) != dims_) return false;
    const auto axes = numbers(made, "axes"), starts = numbers(made, "starts"), steps = numbers(made, "steps");
    if (!axes || !starts || (steps && std::ranges::any_of(*steps, [](int64_t step) { return step != 1; })))
      return false;
    for (size_t k = 0; k < axes->size(); ++k)
      if (const auto at = place_of((*axes)[k]); !at || k >= starts->size() || box.begin[*at] != (*starts)[k])
        return false;
    return true;
  }

  /// Of an axis, which may be counted from the back; nothing where there is none.
  std::optional<size_t> place_of(int64_t axis) const {
    const auto rank = static_cast<int64_t>(dims_.size());
    if (axis < -rank || axis >= rank) return std::nullopt;
    return static_cast<size_t>(axis < 0 ? axis + rank : axis);
  }

  const ExampleValues& values_;
  const Term& original_;
  const Dims dims_;
  std::vector<CoverPart> parts_;
};

}  // namespace

std::optional<Cover> cover_of(const Rule& rule) {
  const auto values = values_of(rule);
  if (!values) return std::nullopt;
  const Output there = equations_at(rule, rule.example)[0];
  const auto dims = values->dims(there.left);
  if (!dims) return std::nullopt;
  return Cover{*dims, Coverer(*values, there.left, *dims).run(there.right, rule.outputs[0].right)};
}

}  // namespace isomer::substitutions
