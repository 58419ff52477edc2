#include "driver/peer_model.h"

#include <algorithm>

#include "driver/load_model.h"
#include "util/utf8.h"
#include "verify/check/equivalence.h"
#include "verify/check/pairs.h"

namespace isomer {
namespace {

Error mismatch(const Value& expected, const Value& found) {
  return {ErrorKind::kMismatch, expected.name,
          fmt::format("{} expected, {} found", expected.type.text(), found.type.text())};
}

/// Nothing where data decide it.
std::optional<Dims> known_dims(const ValueType& type) {
  auto dims = type.has_shape() ? constants(*type.shape) : std::nullopt;
  return dims && std::ranges::all_of(*dims, [](int64_t dim) { return dim >= 0; }) ? dims : std::nullopt;
}

Result<void> check_outputs(const Graph& graph, const Graph& interface) {
  for (size_t k = 0; k < graph.outputs().size(); ++k) {
    const Value& expected = interface.value(interface.outputs()[k]);
    const Value& found = graph.value(graph.outputs()[k]);
    const auto ours = known_dims(expected.type), theirs = known_dims(found.type);
    if (expected.type.dtype != found.type.dtype || (ours && theirs && *ours != *theirs))
      return mismatch(expected, found);
  }
  return {};
}

/// Compiled in memory, code takes those inputs too that have a value in the file; an artifact's does not.
Result<void> fit(Graph& graph, const std::string& file, const Graph& interface, const Settings& settings) {
  if (graph.inputs().size() != interface.inputs().size()) TRY_VOID(keep_defaults(graph, file, settings));
  put_in_order(graph, interface);
  const auto in_file = [&](Result<void> done) -> Result<void> {
    if (!done.ok()) return std::move(done).error().within(file);
    return {};
  };
  TRY_VOID(in_file(check_interfaces(interface, graph)));
  TRY_VOID(bind_like(graph, file, interface));
  return in_file(check_outputs(graph, interface));
}

}  // namespace

Result<Graph> model_of_peers(const std::string& file, const Graph& interface, const Settings& settings) {
  // The code's shapes say all, and what the file's notes are was said when it was compiled.
  Settings plain = settings;
  plain.dims.clear();
  plain.shapes.clear();
  plain.messages = {};
  TRY(LoadedModel model, load_model(file, plain));
  if (auto fits = fit(model.graph, file, interface, plain); !fits.ok()) {
    Error error = std::move(fits).error();
    if (error.kind == ErrorKind::kMismatch) error.kind = ErrorKind::kUsage;
    return std::move(error).within("--model");
  }
  if (const std::string sides = paired_by_position(model.graph, interface); !sides.empty())
    settings.messages.say(fmt::format("isomer: {}: {} are paired with the code's by position: their names differ",
                                      printable(file), sides));
  return std::move(model.graph);
}

}  // namespace isomer
