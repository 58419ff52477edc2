// Hostile model files (reliability.md 1.5): each a way to build its bytes, and what must come of it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/onnx/onnx.pb.h"

namespace isomer::test {

/// What `isomer inspect` does with a case. `sentence` is a part of the one line that a refused file gets; empty: the
/// file is accepted.
struct HostileCase {
  std::string name;
  std::function<std::string()> bytes;
  std::string sentence;
  /// Called when the model stands in `folder` as model.onnx: puts what it refers to beside it.
  std::function<void(const std::filesystem::path& folder)> surround = nullptr;
};

/// Of these bytes; nothing stands beside it.
inline HostileCase bytes_case(std::string name, std::string sentence, std::string bytes) {
  return {std::move(name), [bytes = std::move(bytes)] { return bytes; }, std::move(sentence)};
}

/// The classes of reliability.md 1.5, one function and one source file each.
std::vector<HostileCase> wire_cases();
std::vector<HostileCase> size_cases();
std::vector<HostileCase> graph_cases();
std::vector<HostileCase> control_cases();
std::vector<HostileCase> attribute_cases();
std::vector<HostileCase> opset_cases();
std::vector<HostileCase> value_cases();
std::vector<HostileCase> external_cases();
std::vector<HostileCase> text_cases();
std::vector<HostileCase> memory_cases();

/// All of them, names prefixed by their class ("wire_empty").
std::vector<HostileCase> hostile_cases();

/// Cases that stand as files in tests/hostile/files: those that are small and need nothing beside them.
bool is_stored(const HostileCase& hostile, const std::string& bytes);

/// One line of tests/hostile/expectations.txt: "wire_empty | error | an empty file found".
std::string expectation_line(const HostileCase& hostile);

/// The bytes of a model, the same ones each time.
std::string serialized(const onnx_proto::ModelProto& model);

/// The bytes of a model in the notation (notation.h), or in protobuf's text form.
std::string from_notation(std::string_view text);
std::string from_text(const std::string& text);

/// Rows of a table in the notation: {"name", "sentence", "y = Relu(x: f32[2])"}.
struct NotationRow {
  std::string name;
  std::string sentence;
  std::string model;
};
std::vector<HostileCase> in_notation(const std::vector<NotationRow>& rows);

/// The same for protobuf text.
std::vector<HostileCase> in_text(const std::vector<NotationRow>& rows);

}  // namespace isomer::test
