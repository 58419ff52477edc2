// Graphs from text to sessions, for the tests of this folder. A step that fails fails a CHECK, but for compiling.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "graph/te/array.h"
#include "graph/text.h"
#include "runtime/session.h"
#include "search/code/compile.h"
#include "util/check.h"

namespace isomer::test {

inline Graph parsed(std::string_view text) {
  auto graph = parse_graph(text);
  CHECK(graph.ok()) << graph.error().message();
  return *std::move(graph);
}

/// What graphs are compiled for: this machine's CPU, where a test program says nothing else.
inline kernel::Target& target_of_tests() {
  static kernel::Target target = kernel::host_target();
  return target;
}

inline bool is_for_gpu() { return std::holds_alternative<kernel::CudaTarget>(target_of_tests()); }

inline Result<search::Compilation> compiled(const Graph& graph, int threads = 2, bool fused = true) {
  search::CompileOptions options;
  options.target = target_of_tests();
  options.threads = threads;
  options.fuse.enabled = fused;
  if (is_for_gpu()) for_gpu(options);
  return compile(graph, options);
}

inline std::unique_ptr<runtime::Session> opened(const runtime::Artifact& artifact, int threads = 2) {
  auto model = runtime::Model::load(artifact);
  CHECK(model.ok()) << model.error().message();
  auto session = runtime::Session::create(*model, {.threads = threads, .bindings = {}});
  CHECK(session.ok()) << session.error().message();
  return *std::move(session);
}

inline te::Array scalar(int64_t value) { return te::Array::integers(DataType::kInt64, {}, {&value, 1}); }
inline te::Array flag(bool value) {
  const int64_t element = value;
  return te::Array::integers(DataType::kBool, {}, {&element, 1});
}

}  // namespace isomer::test
