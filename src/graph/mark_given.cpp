#include "graph/mark_given.h"

#include <fmt/format.h>

#include "graph/each_dim.h"
#include "graph/edit.h"
#include "graph/te/symbols.h"
#include "util/check.h"

namespace isomer {
namespace {

bool has_mark(const std::string& name) { return name.find('#') != std::string::npos; }

void mark(Dim& dim) {
  dim = with_symbols(dim, [](const std::string& name) { return has_mark(name) ? te::symbol("#" + name) : te::Expr(); });
}

}  // namespace

void mark_given(Graph& graph, int& last) {
  for (const ValueId id : graph.values()) {
    Value& value = graph.edit(id);
    if (has_mark(value.name)) value.name = "#" + value.name;
    for_each_dim(value.type, mark);
    for_each_dim(value.content, mark);
  }
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (node.is_opaque() || has_mark(node.name))
      graph.edit(id).name = node.is_opaque() ? fmt::format("#{}", ++last) : "";
  }
  const auto done = for_each_body(graph, [&](Graph& body, NodeId) -> Result<int> {
    mark_given(body, last);
    return 1;
  });
  CHECK(done.ok());
}

}  // namespace isomer
