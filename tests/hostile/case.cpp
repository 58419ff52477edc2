#include "hostile/case.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <iterator>
#include <stdexcept>

#include "hostile/notation.h"

namespace isomer::test {

namespace {

constexpr size_t kStoredBytes = 2048;

template <class Build>
std::vector<HostileCase> cases_of(const std::vector<NotationRow>& rows, Build build) {
  std::vector<HostileCase> cases;
  for (const NotationRow& row : rows)
    cases.push_back({row.name, [text = row.model, build] { return build(text); }, row.sentence});
  return cases;
}

}  // namespace

std::vector<HostileCase> hostile_cases() {
  const std::pair<std::string, std::vector<HostileCase> (*)()> classes[] = {
      {"wire", wire_cases},           {"size", size_cases},    {"graph", graph_cases}, {"control", control_cases},
      {"attribute", attribute_cases}, {"opset", opset_cases},  {"value", value_cases}, {"external", external_cases},
      {"text", text_cases},           {"memory", memory_cases}};
  std::vector<HostileCase> all;
  for (const auto& [prefix, cases] : classes)
    for (HostileCase& hostile : cases()) {
      hostile.name = prefix + "_" + hostile.name;
      all.push_back(std::move(hostile));
    }
  return all;
}

bool is_stored(const HostileCase& hostile, const std::string& bytes) {
  return bytes.size() <= kStoredBytes && !hostile.surround;
}

std::string expectation_line(const HostileCase& hostile) {
  return hostile.name + (hostile.sentence.empty() ? " | accepted" : " | error | " + hostile.sentence);
}

std::string serialized(const onnx_proto::ModelProto& model) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  if (!model.SerializePartialToCodedStream(&coded)) throw std::runtime_error("a model that can't be serialized");
  coded.Trim();
  return bytes;
}

std::string from_notation(std::string_view text) { return serialized(model_of(text)); }

std::string from_text(const std::string& text) {
  onnx_proto::ModelProto model;
  if (!google::protobuf::TextFormat::ParseFromString(text, &model))
    throw std::runtime_error("no text of a model: " + text);
  return serialized(model);
}

std::vector<HostileCase> in_notation(const std::vector<NotationRow>& rows) { return cases_of(rows, from_notation); }

std::vector<HostileCase> in_text(const std::vector<NotationRow>& rows) { return cases_of(rows, from_text); }

}  // namespace isomer::test
