// TensorProto in all its forms.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "graph/onnx/sparse_writer.h"
#include "graph/onnx/tensor_reader.h"
#include "graph/onnx/tensor_writer.h"
#include "graph/onnx/types.h"
#include "graph/onnx/value_file.h"
#include "onnx/messages.h"
#include "support/files.h"

namespace isomer::test {
namespace {

using testing::HasSubstr;

Result<Tensor> read(std::string_view text) { return TensorReader().read(tensor_message(text)); }

std::string hex(const Tensor& tensor) {
  std::string text;
  for (const std::byte byte : tensor.bytes()) text += fmt::format("{:02x}", static_cast<int>(byte));
  return text;
}

struct FormCase {
  const char* text;
  const char* bytes;  ///< in memory, hexadecimal
};

class Forms : public testing::TestWithParam<FormCase> {};

TEST_P(Forms, GiveTheSameBytesAsRawData) {
  const auto tensor = read(GetParam().text);
  ASSERT_TRUE(tensor.ok()) << tensor.error().message();
  EXPECT_EQ(hex(*tensor), GetParam().bytes);
}

INSTANTIATE_TEST_SUITE_P(
    All, Forms,
    testing::Values(FormCase{"data_type: 1 dims: 2 float_data: 1 float_data: -2", "0000803f000000c0"},
                    FormCase{"data_type: 1 float_data: 1", "0000803f"}, FormCase{"data_type: 1 dims: 0", ""},
                    FormCase{"data_type: 1 dims: 0 raw_data: ''", ""},
                    FormCase{"data_type: 2 dims: 2 int32_data: 0 int32_data: 255", "00ff"},
                    FormCase{"data_type: 3 dims: 2 int32_data: -128 int32_data: 127", "807f"},
                    FormCase{"data_type: 4 dims: 1 int32_data: 65535", "ffff"},
                    FormCase{"data_type: 5 dims: 1 int32_data: -2", "feff"},
                    FormCase{"data_type: 3 dims: 2 int32_data: 255 int32_data: 128", "ff80"},
                    FormCase{"data_type: 2 dims: 1 int32_data: -1", "ff"},
                    FormCase{"data_type: 5 dims: 1 int32_data: 65534", "feff"},
                    FormCase{"data_type: 9 dims: 4 int32_data: [2, 0, -1, 256]", "01000101"},
                    FormCase{"data_type: 6 dims: 1 int32_data: -2", "feffffff"},
                    FormCase{"data_type: 7 dims: 1 int64_data: -2", "feffffffffffffff"},
                    FormCase{"data_type: 9 dims: 2 int32_data: 1 int32_data: 0", "0100"},
                    FormCase{"data_type: 10 dims: 1 int32_data: 15360", "003c"},
                    FormCase{"data_type: 11 dims: 1 double_data: 1", "000000000000f03f"},
                    FormCase{"data_type: 12 dims: 1 uint64_data: 4294967295", "ffffffff"},
                    FormCase{"data_type: 13 dims: 1 uint64_data: 18446744073709551615", "ffffffffffffffff"},
                    FormCase{"data_type: 14 dims: 1 float_data: 1 float_data: 2", "0000803f00000040"},
                    FormCase{"data_type: 16 dims: 1 int32_data: 16256", "803f"},
                    FormCase{"data_type: 17 dims: 1 int32_data: 56", "38"},
                    FormCase{"data_type: 22 dims: 3 int32_data: 193 int32_data: 3", "01fc03"},
                    FormCase{"data_type: 21 dims: 3 raw_data: '\\xc1\\x03'", "010c03"},
                    FormCase{"data_type: 26 dims: 5 raw_data: '\\xe4\\x02'", "0001fefffe"},
                    FormCase{"data_type: 23 dims: 1 raw_data: '\\xff'", "0f"},
                    FormCase{"data_type: 23 dims: 1 raw_data: '\\x07'", "07"},
                    FormCase{"data_type: 24 dims: 1 raw_data: '\\x7f'", "7f"},
                    FormCase{"data_type: 26 dims: 5 raw_data: '\\x1b\\x01'", "fffe010001"},
                    FormCase{"data_type: 1 dims: 1 raw_data: '\\x00\\x00\\x80\\x3f'", "0000803f"}));

struct ErrorCase {
  const char* text;
  const char* sentence;
};

class TensorErrors : public testing::TestWithParam<ErrorCase> {};

TEST_P(TensorErrors, AreOneSentence) { EXPECT_THAT(message_of(read(GetParam().text)), HasSubstr(GetParam().sentence)); }

INSTANTIATE_TEST_SUITE_P(
    All, TensorErrors,
    testing::Values(
        ErrorCase{"dims: 1 float_data: 1", "a data type expected, none found"},
        ErrorCase{"data_type: 99", "a data type from 1 to 28 expected, 99 found"},
        ErrorCase{"data_type: -1", "a data type from 1 to 28 expected, -1 found"},
        ErrorCase{"data_type: 28 raw_data: 'x'", "data type 28 is not supported"},
        ErrorCase{"data_type: 1 dims: -1", "dims in [0, 2^40] expected, -1 found"},
        ErrorCase{"data_type: 1 dims: 4294967296 dims: 4294967296", "at most 2^46 bytes expected"},
        ErrorCase{"data_type: 1 dims: 4611686018427387904 dims: 4", "dims in [0, 2^40] expected"},
        ErrorCase{"data_type: 1 dims: 1099511627776 dims: 1099511627776 dims: 0", "at most 2^46 bytes expected"},
        ErrorCase{"data_type: 1 dims: 2 float_data: 1", "2 elements of float32 in float_data expected, 1 found"},
        ErrorCase{"data_type: 1 dims: 1 float_data: 1 float_data: 2",
                  "1 elements of float32 in float_data expected, 2 found"},
        ErrorCase{"data_type: 1 dims: 1", "1 elements of float32 in float_data expected, 0 found"},
        ErrorCase{"data_type: 1 dims: 1 int64_data: 1", "1 elements of float32 in float_data expected, 0 found"},
        ErrorCase{"data_type: 1 dims: 0 int64_data: 1", "0 elements of float32 in float_data expected"},
        ErrorCase{"data_type: 1 dims: 1 float_data: 1 raw_data: 'abcd'",
                  "data in one field expected, in several found"},
        ErrorCase{"data_type: 1 dims: 1 float_data: 1 int64_data: 1", "data in one field expected, in several found"},
        ErrorCase{"data_type: 1 dims: 2 raw_data: 'abcd'", "raw_data of 8 bytes for float32[2] expected, 4 found"},
        ErrorCase{"data_type: 1 dims: 1 raw_data: 'abcde'", "raw_data of 4 bytes for float32[1] expected, 5 found"},
        ErrorCase{"data_type: 21 dims: 3 raw_data: 'a'", "raw_data of 2 bytes for uint4[3] expected, 1 found"},
        ErrorCase{"data_type: 3 dims: 1 int32_data: 256", "values that fit int8 expected, 256 found"},
        ErrorCase{"data_type: 2 dims: 1 int32_data: -129", "values that fit uint8 expected, -129 found"},
        ErrorCase{"data_type: 5 dims: 1 int32_data: 65536", "values that fit int16 expected, 65536 found"},
        ErrorCase{"data_type: 10 dims: 1 int32_data: 65536", "values that fit float16 expected, 65536 found"},
        ErrorCase{"data_type: 12 dims: 1 uint64_data: 4294967296", "values that fit uint32 expected"},
        ErrorCase{"data_type: 8 dims: 1 raw_data: 'x'", "strings in string_data expected"},
        ErrorCase{"data_type: 8 dims: 2 string_data: 'x'", "2 elements in string_data expected, 1 found"},
        ErrorCase{"data_type: 1 segment { begin: 0 }", "tensors in segments are not supported"},
        ErrorCase{"data_type: 1 data_location: 7", "data_location 0 or 1 expected, 7 found"},
        ErrorCase{"data_type: 1 dims: 1 data_location: 1", "external data with a location expected"}));

TEST(TensorReader, WritesElementsOfLessThanAByteAsItReadsThem) {
  for (const char* text : {"data_type: 22 dims: 3 raw_data: '\\xc1\\x03'", "data_type: 21 dims: 2 raw_data: '\\xc1'",
                           "data_type: 26 dims: 5 raw_data: '\\xe4\\x02'", "data_type: 23 dims: 1 raw_data: '\\x0f'"}) {
    const auto tensor = read(text);
    ASSERT_TRUE(tensor.ok()) << text << tensor.error().message();
    EXPECT_EQ(tensor_message("", *tensor).raw_data(), tensor_message(text).raw_data()) << text;
  }
}

TEST(TensorReader, ReadsStrings) {
  const auto tensor = read("data_type: 8 dims: 2 string_data: 'a' string_data: 'bc'");
  ASSERT_TRUE(tensor.ok());
  EXPECT_THAT(tensor->strings(), testing::ElementsAre("a", "bc"));
}

TEST(TensorReader, RestoresNotMuchMoreThanTheFileHas) {
  const std::string file(1 << 20, 'x');
  TensorReader tensors(std::as_bytes(std::span(file)), nullptr, {{0, file.size()}}, {});
  int restored = 0;
  for (;; ++restored) {
    onnx_proto::AttributeProto attribute;
    attribute.mutable_t()->set_payload(0);
    const auto done = tensors.restore(attribute);
    if (done.ok()) continue;
    EXPECT_THAT(message_of(done), HasSubstr("at most 64 MiB and 32 times the file expected"));
    break;
  }
  EXPECT_EQ(restored, 64 + 32);
}

TEST(TensorReader, LimitsRank) {
  onnx_proto::TensorProto proto = tensor_message("data_type: 1 float_data: 1");
  for (int i = 0; i < 1024; ++i) proto.add_dims(1);
  EXPECT_TRUE(TensorReader().read(proto).ok());
  proto.add_dims(1);
  EXPECT_THAT(message_of(TensorReader().read(proto)), HasSubstr("rank of at most 1024 expected, 1025 found"));
}

Result<Tensor> read_sparse(std::string_view text) {
  onnx_proto::SparseTensorProto proto;
  if (!google::protobuf::TextFormat::ParseFromString(std::string(text), &proto)) throw std::runtime_error("no message");
  return TensorReader().read(proto);
}

TEST(SparseTensors, BecomeDense) {
  const char* values = "values { data_type: 1 dims: 2 float_data: 1 float_data: 2 } dims: 2 dims: 3 ";
  for (const char* indices :
       {"indices { data_type: 7 dims: 2 int64_data: 1 int64_data: 5 }",
        "indices { data_type: 7 dims: 2 dims: 2 int64_data: 0 int64_data: 1 int64_data: 1 int64_data: 2 }"}) {
    const auto tensor = read_sparse(std::string(values) + indices);
    ASSERT_TRUE(tensor.ok()) << tensor.error().message();
    EXPECT_EQ(tensor->dims(), (Dims{2, 3}));
    EXPECT_EQ(tensor->real(1), 1);
    EXPECT_EQ(tensor->real(5), 2);
    EXPECT_EQ(tensor->real(0), 0);
  }
}

TEST(SparseTensors, AreWrittenBackWhereThatIsSmaller) {
  std::vector<double> elements(1000);
  elements[7] = -0.0;
  elements[999] = 3;
  const Tensor dense = Tensor::from_doubles(DataType::kFloat32, {10, 100}, elements);
  const auto proto = sparse_message("w", dense);
  ASSERT_TRUE(proto.has_value());
  EXPECT_EQ(proto->values().dims(0), 2) << "the sign of zero counts";
  const auto back = TensorReader().read(*proto);
  ASSERT_TRUE(back.ok()) << back.error().message();
  EXPECT_TRUE(back->same_contents(dense));
  EXPECT_FALSE(
      sparse_message("w", Tensor::from_doubles(DataType::kFloat32, {2}, std::vector<double>{1, 2})).has_value());
}

TEST(SparseTensors, HaveErrorsOfOneSentence) {
  const auto with_index = [](int64_t index) {
    return read_sparse(fmt::format(
        "values {{ data_type: 1 dims: 1 float_data: 1 }} dims: 4 indices {{ data_type: 7 dims: 1 int64_data: {} }}",
        index));
  };
  EXPECT_THAT(message_of(with_index(4)), HasSubstr("an index in [0, 4) expected, 4 found"));
  EXPECT_THAT(message_of(with_index(-1)), HasSubstr("an index in [0, 4) expected, -1 found"));
  EXPECT_THAT(message_of(read_sparse("values { data_type: 1 dims: 2 float_data: 1 float_data: 1 } dims: 4 "
                                     "indices { data_type: 7 dims: 2 int64_data: 3 int64_data: 3 }")),
              HasSubstr("indices in ascending order expected"));
  EXPECT_THAT(message_of(read_sparse("values { data_type: 1 dims: 1 float_data: 1 } dims: 1000000000000 "
                                     "indices { data_type: 7 dims: 1 int64_data: 3 }")),
              HasSubstr("a sparse tensor of at most 64 MiB"));
}

TEST(TensorFiles, ReadWhatTheyWrote) {
  ScratchFolder folder;
  const auto path = folder.path() / "t.pb";
  for (const Tensor& tensor : {Tensor::int64s({1, -2, 3}), Tensor::scalar(DataType::kFloat16, 0.5),
                               Tensor({2}, std::vector<std::string>{"a", ""})}) {
    const auto written = write_tensor_file(path, "t", tensor);
    ASSERT_TRUE(written.ok()) << written.error().message();
    const auto back = read_tensor_file(path);
    ASSERT_TRUE(back.ok()) << back.error().message();
    EXPECT_TRUE(back->same_contents(tensor));
  }
  write_file(path, "not a tensor");
  EXPECT_THAT(message_of(read_tensor_file(path)), HasSubstr("a TensorProto expected"));
}

/// Text of a TypeProto.
ValueType type_of(std::string_view text) {
  onnx_proto::TypeProto proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(std::string(text), &proto));
  auto type = read_type(proto, "x");
  EXPECT_TRUE(type.ok());
  return *std::move(type);
}

std::string shown(const te::Array& value) {
  if (value.is_none()) return "none";
  if (const auto* elements = value.sequence_elements()) {
    std::string text = "[";
    for (const te::Array& element : *elements) text += shown(element) + " ";
    return text + "]";
  }
  return te::to_tensor(value).content_hash().hex();
}

TEST(ValueFiles, HoldSequencesAndOptionals) {
  constexpr std::string_view kFloats = "tensor_type { elem_type: 1 }";
  const std::string list = fmt::format("sequence_type {{ elem_type {{ {} }} }}", kFloats),
                    lists = fmt::format("sequence_type {{ elem_type {{ {} }} }}", list),
                    perhaps = fmt::format("optional_type {{ elem_type {{ {} }} }}", kFloats),
                    perhaps_list = fmt::format("optional_type {{ elem_type {{ {} }} }}", list),
                    list_of_perhaps = fmt::format("sequence_type {{ elem_type {{ {} }} }}", perhaps);
  const std::vector<double> numbers = {1, -2, 0.5};
  const auto x = te::Array::reals(DataType::kFloat32, {3}, numbers),
             y = te::Array::reals(DataType::kFloat16, {1, 3}, numbers);
  const auto sequence = [](std::vector<te::Array> elements) { return te::Array::sequence(std::move(elements)); };
  const std::vector<std::pair<std::string, te::Array>> cases = {
      {list, sequence({})},
      {list, sequence({x, y})},
      {lists, sequence({})},
      {lists, sequence({sequence({x}), sequence({}), sequence({y, x})})},
      {perhaps, te::Array::none()},
      {perhaps, x},
      {perhaps_list, te::Array::none()},
      {perhaps_list, sequence({y})},
      {perhaps_list, sequence({})},
      {list_of_perhaps, sequence({x, te::Array::none()})},
  };
  ScratchFolder folder;
  const auto path = folder.path() / "v.pb";
  for (const auto& [text, value] : cases) {
    const ValueType type = type_of(text);
    const auto written = write_value_file(path, "v", value, type);
    ASSERT_TRUE(written.ok()) << written.error().message();
    const auto back = read_value_file(path, type);
    ASSERT_TRUE(back.ok()) << back.error().message();
    EXPECT_EQ(shown(*back), shown(value)) << text;
  }
  write_file(path, "not a sequence");
  EXPECT_THAT(message_of(read_value_file(path, type_of(list))), HasSubstr("a SequenceProto expected"));
  EXPECT_THAT(message_of(read_value_file(path, type_of("map_type { key_type: 7 }"))),
              HasSubstr("a value that is a tensor, a sequence or an optional expected, a map found"));
}

}  // namespace
}  // namespace isomer::test
