#include "graph/interface.h"

#include <fmt/format.h>

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

}  // namespace

Result<void> check_interface(const Graph& before, const Graph& after, const std::string& file) {
  const std::vector<Port> expected = ports(before), found = ports(after);
  if (expected.size() != found.size())
    return mismatch(file, "{} inputs and outputs expected, {} found", expected.size(), found.size());
  for (size_t k = 0; k < expected.size(); ++k)
    if (expected[k] != found[k]) return mismatch(file, "{} expected, {} found", expected[k].text(), found[k].text());
  if (before.info().opsets != after.info().opsets)
    return mismatch(file, "the operator sets of the input expected, others found");
  return {};
}

}  // namespace isomer
