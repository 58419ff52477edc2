// Class A: bytes that are no model, or one that is spelled in a way that its writer never would.
#include <filesystem>

#include "hostile/bytes.h"
#include "hostile/case.h"
#include "util/random.h"

namespace isomer::test {
namespace {

using namespace std::string_literals;

constexpr uint32_t kIrVersion = 1, kGraph = 7, kUnknown = 1000;
const std::string kNoProtobuf = "no protocol buffer";

/// y = Relu(x), the model that the bytes of most cases are added to.
std::string valid() { return from_notation("y = Relu(x: f32[2])"); }

std::string after_valid(const std::string& bytes) { return valid() + bytes; }

std::string group(uint32_t field, const std::string& content) {
  return tag(field, kGroupStart) + content + tag(field, kGroupEnd);
}

std::string nested_groups(size_t depth) {
  return repeated(tag(kUnknown, kGroupStart), depth) + repeated(tag(kUnknown, kGroupEnd), depth);
}

/// An input whose type is a sequence of sequences of …: each level is two messages.
std::string nested_types(int depth) {
  onnx_proto::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(1);
  std::string bytes = type.SerializeAsString();
  for (int i = 0; i < depth; ++i) bytes = bytes_field(4, bytes_field(1, bytes));
  const std::string input = bytes_field(1, "s") + bytes_field(2, bytes);
  return after_valid(bytes_field(kGraph, bytes_field(11, input)));
}

/// The only initializer of y = Identity(w), from the fields of its message.
std::string with_tensor(const std::string& tensor) {
  return from_notation("y = Identity(w)") + bytes_field(kGraph, bytes_field(5, tensor + bytes_field(8, "w")));
}

const std::string kTwoFloats = number_field(1, 2) + number_field(2, 1);
const std::string kEightBytes = "\0\0\x80\x3f\0\0\0\x40"s;

std::string random_bytes(uint64_t seed, size_t count) {
  Random random(seed);
  std::string bytes;
  while (bytes.size() < count) bytes.push_back(static_cast<char>(random.below(256)));
  return bytes;
}

std::vector<HostileCase> broken_fields() {
  return {
      bytes_case("empty", "an empty file found", ""),
      bytes_case("one_byte", kNoProtobuf, "\x08"),
      bytes_case("one_zero", kNoProtobuf, "\0"s),
      bytes_case("zeros", kNoProtobuf, std::string(1000, '\0')),
      bytes_case("ones", kNoProtobuf, std::string(1000, '\xff')),
      bytes_case("field_number_0", kNoProtobuf, after_valid(tag(0, kVarint) + varint(1))),
      bytes_case("field_number_2_29", kNoProtobuf, after_valid(varint(uint64_t{1} << 32) + varint(1))),
      bytes_case("wire_type_6", kNoProtobuf, after_valid(tag(kUnknown, 6))),
      bytes_case("wire_type_7", kNoProtobuf, after_valid(tag(kUnknown, 7))),
      bytes_case("varint_of_11_bytes", kNoProtobuf,
                 after_valid(tag(kUnknown, kVarint) + std::string(10, '\x80') + "\x01")),
      bytes_case("varint_of_65_bits", kNoProtobuf,
                 after_valid(tag(kUnknown, kVarint) + std::string(9, '\xff') + "\x02")),
      bytes_case("varint_without_end", kNoProtobuf, after_valid(tag(kUnknown, kVarint) + "\x80")),
      bytes_case("length_beyond_end", kNoProtobuf, after_valid(tag(kGraph, kLengthDelimited) + varint(100))),
      bytes_case("length_negative", kNoProtobuf, after_valid(tag(kGraph, kLengthDelimited) + varint(~uint64_t{0}))),
      bytes_case("length_2_63", kNoProtobuf,
                 after_valid(tag(kUnknown, kLengthDelimited) + varint(uint64_t{1} << 63) + "abc")),
      bytes_case("length_2_32", kNoProtobuf,
                 after_valid(tag(kUnknown, kLengthDelimited) + varint((uint64_t{1} << 32) + 3) + "abc")),
      bytes_case("fixed32_cut", kNoProtobuf, after_valid(tag(kUnknown, kFixed32) + "abc")),
      bytes_case("fixed64_cut", kNoProtobuf, after_valid(tag(kUnknown, kFixed64) + "abcdefg")),
      bytes_case("group_end_alone", kNoProtobuf, after_valid(tag(kUnknown, kGroupEnd))),
      bytes_case("group_without_end", kNoProtobuf, after_valid(tag(kUnknown, kGroupStart) + number_field(1, 1))),
      bytes_case("group_ends_as_another", kNoProtobuf,
                 after_valid(tag(kUnknown, kGroupStart) + tag(kUnknown + 1, kGroupEnd))),
      {"groups_a_million_deep", [] { return after_valid(nested_groups(1'000'000)); }, kNoProtobuf},
      {"groups_a_million_open", [] { return after_valid(repeated(tag(kUnknown, kGroupStart), 1'000'000)); },
       kNoProtobuf},
      bytes_case("child_longer_than_parent", kNoProtobuf,
                 after_valid(bytes_field(kGraph, tag(2, kLengthDelimited) + varint(50) + "abc"))),
  };
}

std::vector<HostileCase> unusual_fields() {
  return {
      bytes_case("ir_version_as_bytes", "ir_version: a number expected",
                 bytes_field(kIrVersion, "8") + bytes_field(kGraph, "")),
      bytes_case("graph_as_number", "a model with a graph expected",
                 number_field(kIrVersion, 8) + number_field(kGraph, 7)),
      bytes_case("graph_as_group", "a model with a graph expected", number_field(kIrVersion, 8) + group(kGraph, "")),
      bytes_case("no_graph", "a model with a graph expected", number_field(kIrVersion, 8)),
      bytes_case("varint_padded", "", after_valid(tag(kIrVersion, kVarint) + "\x88\x80\x80\x80\x00"s)),
      bytes_case("unknown_fields", "",
                 after_valid(number_field(kUnknown, 1) + bytes_field(kUnknown + 1, "abc") + tag(kUnknown, kFixed32) +
                             "abcd" + tag(kUnknown, kFixed64) + "abcdefgh")),
      bytes_case("unknown_group", "", after_valid(group(kUnknown, number_field(1, 1)))),
      bytes_case("groups_90_deep", "", after_valid(nested_groups(90))),
      bytes_case("ir_version_twice", "", number_field(kIrVersion, 9999) + valid()),
      bytes_case("graphs_merge", "", after_valid(bytes_field(kGraph, bytes_field(2, "the name of the merged graph")))),
      bytes_case("graph_twice", "inputs of different names expected", valid() + valid()),
      bytes_case("utf8_broken", "", after_valid(bytes_field(kGraph, bytes_field(2, "\xff\xfe\xc3(")))),
      bytes_case("utf8_overlong", "", after_valid(bytes_field(2, "\xc0\xaf\xed\xa0\x80"))),
      bytes_case("types_90_deep", "", nested_types(90)),
      bytes_case("types_120_deep", "messages nested at most 200 deep", nested_types(120)),
      {"types_1000_deep", [] { return nested_types(1000); }, "messages nested at most 200 deep"},
  };
}

std::vector<HostileCase> tensor_fields() {
  return {
      bytes_case("raw_data_twice", "", with_tensor(kTwoFloats + bytes_field(9, "abc") + bytes_field(9, kEightBytes))),
      bytes_case("raw_data_twice_last_short", "raw_data of 8 bytes",
                 with_tensor(kTwoFloats + bytes_field(9, kEightBytes) + bytes_field(9, "abc"))),
      bytes_case("raw_data_as_number", "2 elements of float32 in float_data expected",
                 with_tensor(kTwoFloats + number_field(9, 5))),
      bytes_case("dims_packed", "",
                 with_tensor(bytes_field(1, varint(2)) + number_field(2, 1) + bytes_field(9, kEightBytes))),
      bytes_case("dims_packed_and_not", "",
                 with_tensor(bytes_field(1, varint(2)) + number_field(1, 1) + number_field(2, 1) +
                             bytes_field(9, kEightBytes))),
      bytes_case("dims_packed_cut", "something else found",
                 with_tensor(bytes_field(1, "\x80") + number_field(2, 1) + bytes_field(9, kEightBytes))),
      bytes_case("floats_unpacked", "",
                 with_tensor(kTwoFloats + tag(4, kFixed32) + "\0\0\x80\x3f"s + tag(4, kFixed32) + "\0\0\x80\x3f"s)),
      bytes_case("floats_packed_and_not", "",
                 with_tensor(kTwoFloats + tag(4, kFixed32) + "\0\0\x80\x3f"s + bytes_field(4, "\0\0\x80\x3f"s))),
      bytes_case("floats_packed_cut", "something else found",
                 with_tensor(kTwoFloats + bytes_field(4, "\0\0\x80\x3f\0\0\0"s))),
      bytes_case("doubles_packed_cut", "something else found",
                 with_tensor(number_field(1, 1) + number_field(2, 11) + bytes_field(10, "abcdefghi"))),
      // Numbers that the importer keeps for itself: in a file they are unknown fields like others.
      bytes_case("our_payload_field", "raw_data of 8 bytes",
                 with_tensor(kTwoFloats + number_field(536870911, 77) + bytes_field(9, "abc"))),
      bytes_case("our_payload_field_alone", "2 elements of float32 in float_data expected",
                 with_tensor(kTwoFloats + number_field(536870911, 0))),
      bytes_case("our_payload_field_packed", "2 elements of float32 in float_data expected",
                 with_tensor(kTwoFloats + bytes_field(536870911, varint(0)))),
      bytes_case(
          "our_opset_field", "",
          from_notation("z = Relu(x: f32[2])") +
              bytes_field(kGraph, bytes_field(1, bytes_field(1, "x") + bytes_field(2, "y") + bytes_field(4, "Neg") +
                                                     number_field(536870910, uint64_t{1} << 60)))),
  };
}

std::vector<HostileCase> other_files() {
  std::vector<HostileCase> cases = {
      bytes_case("text_file", kNoProtobuf, "This is not a model.\n"),
      bytes_case("html", kNoProtobuf, "<!DOCTYPE html>\n<html><body>404</body></html>\n"),
      bytes_case("pickle", kNoProtobuf, "\x80\x02}q\x00(X\x05\x00\x00\x00modelq\x01K\x01u."s),
      bytes_case("zip", kNoProtobuf, "PK\x03\x04\x14\0\0\0\x08\0"s + random_bytes(1, 100)),
      bytes_case("gzip", kNoProtobuf, "\x1f\x8b\x08\0\0\0\0\0"s + random_bytes(2, 100)),
      bytes_case("git_lfs_pointer", kNoProtobuf,
                 "version https://git-lfs.github.com/spec/v1\noid sha256:0123456789abcdef\nsize 12345\n"),
      bytes_case("elf", kNoProtobuf,
                 "\x7f"
                 "ELF\x02\x01\x01\0\0\0\0\0\0\0\0\0"s),
      bytes_case("trailing_garbage", kNoProtobuf, after_valid("garbage")),
      {"two_gigabytes", [] { return valid(); }, "less than 2 GiB expected",
       [](const std::filesystem::path& folder) {
         std::filesystem::resize_file(folder / "model.onnx", (uint64_t{1} << 31) + 5);
       }},
      {"a_gigabyte_of_holes", [] { return valid(); }, kNoProtobuf,
       [](const std::filesystem::path& folder) {
         std::filesystem::resize_file(folder / "model.onnx", uint64_t{1} << 30);
       }},
  };
  for (uint64_t seed = 1; seed <= 5; ++seed)
    cases.push_back(bytes_case("random_" + std::to_string(seed), kNoProtobuf, random_bytes(seed, 300)));
  return cases;
}

}  // namespace

std::vector<HostileCase> wire_cases() {
  std::vector<HostileCase> cases;
  for (const auto& part : {broken_fields(), unusual_fields(), tensor_fields(), other_files()})
    cases.insert(cases.end(), part.begin(), part.end());
  return cases;
}

}  // namespace isomer::test
