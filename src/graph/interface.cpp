#include "graph/interface.h"

#include <fmt/format.h>

#include "graph/edit.h"
#include "graph/onnx/types.h"

namespace isomer {
namespace {

template <class... Args>
Error mismatch(std::string where, fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorKind::kMismatch, std::move(where), fmt::format(format, std::forward<Args>(args)...)};
}

struct Port {
  std::string kind, name;
  std::optional<ValueType> declared;
  std::optional<Tensor> fallback;  ///< of an input, where callers may leave it out
  bool operator==(const Port& other) const {
    return kind == other.kind && name == other.name && declared == other.declared &&
           fallback.has_value() == other.fallback.has_value() &&
           (!fallback || fallback->same_contents(*other.fallback));
  }
  std::string text() const {
    return fmt::format("{} {} of type {}{}", kind, name, declared ? declared->text() : "that is not said",
                       fallback ? fmt::format(" by default {}", fallback->content_hash().hex()) : "");
  }
};

std::vector<Port> ports(const Graph& graph) {
  std::vector<Port> result;
  const auto add = [&](std::string_view kind, const std::vector<ValueId>& values) {
    for (const ValueId id : values)
      result.push_back({std::string(kind), graph.value(id).name, graph.value(id).declared,
                        kind == "input" ? graph.value(id).constant : std::nullopt});
  };
  add("input", graph.inputs());
  add("output", graph.outputs());
  return result;
}

bool says_nothing(const Port& port) { return !port.declared || port.declared->kind == ValueType::Kind::kUnknown; }

/// Of outputs of which one model says nothing, what rows infer in the other: that it may say.
Result<void> take_inferred_types(std::vector<Port>& expected, const std::vector<Port>& found, Graph after) {
  const size_t inputs = after.inputs().size();
  const auto is_open = [&](size_t k) { return says_nothing(expected[k]) && !says_nothing(found[k]); };
  bool any = false;
  for (size_t k = inputs; k < found.size(); ++k) any = any || is_open(k);
  if (!any) return {};
  forget_stated_types(after);
  TRY_VOID(infer_all(after));
  for (size_t k = inputs; k < found.size(); ++k)
    if (is_open(k)) expected[k].declared = after.value(after.outputs()[k - inputs]).type;
  return {};
}

}  // namespace

Result<void> check_interface(const Graph& before, const Graph& after, const std::string& file) {
  std::vector<Port> expected = ports(before);
  const std::vector<Port> found = ports(after);
  if (expected.size() != found.size() || before.inputs().size() != after.inputs().size())
    return mismatch(file, "{} inputs and outputs expected, {} found", expected.size(), found.size());
  TRY_VOID(take_inferred_types(expected, found, after));
  for (size_t k = 0; k < expected.size(); ++k)
    if (expected[k] != found[k]) return mismatch(file, "{} expected, {} found", expected[k].text(), found[k].text());
  if (before.info().opsets != after.info().opsets)
    return mismatch(file, "the operator sets of the input expected, others found");
  return {};
}

Result<void> expect_tensors(const Graph& graph) {
  for (const auto* list : {&graph.inputs(), &graph.outputs()})
    for (const ValueId id : *list)
      if (const Value& value = graph.value(id); value.type.kind == ValueType::Kind::kOther)
        return unsupported(value.name, "an {} that is a tensor expected, {} found",
                           list == &graph.inputs() ? "input" : "output", text_of_other(value.type));
  return {};
}

}  // namespace isomer
