// Class B: tensors and types whose sizes don't fit their data, memory or each other.
#include "hostile/bytes.h"
#include "hostile/case.h"

namespace isomer::test {
namespace {

std::vector<HostileCase> around(const std::string& before, const std::string& after,
                                const std::vector<NotationRow>& rows) {
  std::vector<NotationRow> models;
  for (const NotationRow& row : rows)
    models.push_back({row.name, row.sentence,
                      "ir_version: 10 opset_import { version: 21 } graph { output { name: 'y' } " + before + row.model +
                          after + " }"});
  return in_text(models);
}

/// `model` of each row is an initializer that an Identity reads.
std::vector<HostileCase> initializers() {
  return around(
      "node { op_type: 'Identity' input: 'w' output: 'y' } initializer { name: 'w' ", "}",
      {
          {"product_wraps", "at most 2^46 bytes", "data_type: 1 dims: 4294967296 dims: 4294967296"},
          {"product_wraps_to_4", "dims in [0, 2^40] expected",
           "data_type: 1 dims: 4611686018427387904 dims: 4 float_data: [1,2,3,4]"},
          {"product_2_47", "at most 2^46 bytes", "data_type: 1 dims: 1099511627776 dims: 32"},
          {"product_2_46_without_data", "elements of float32 in float_data expected",
           "data_type: 1 dims: 1099511627776 dims: 16"},
          {"element_size_overflows", "at most 2^46 bytes", "data_type: 15 dims: 1048576 dims: 1048576 dims: 1048576"},
          {"dim_negative", "dims in [0, 2^40] expected, -1 found", "data_type: 1 dims: -1 raw_data: '\\0\\0\\0\\0'"},
          {"dims_negative_twice", "dims in [0, 2^40] expected, -2 found",
           "data_type: 1 dims: -2 dims: -1 float_data: [1,2]"},
          {"dim_min", "dims in [0, 2^40] expected", "data_type: 1 dims: -9223372036854775808"},
          {"dim_max", "dims in [0, 2^40] expected", "data_type: 1 dims: 9223372036854775807"},
          {"dim_2_40_plus_1", "dims in [0, 2^40] expected", "data_type: 3 dims: 1099511627777 dims: 0"},
          {"dim_0", "", "data_type: 1 dims: 0"},
          {"dim_0_beside_large_one", "", "data_type: 1 dims: 0 dims: 1099511627776"},
          {"dim_0_beside_2_62", "dims in [0, 2^40] expected", "data_type: 1 dims: 0 dims: 4611686018427387904"},
          {"dim_0_with_data", "0 elements of float32 in float_data expected", "data_type: 1 dims: 0 float_data: 1"},
          {"dim_0_with_raw_data", "raw_data of 0 bytes", "data_type: 1 dims: 0 raw_data: 'abcd'"},
          {"rank_0", "", "data_type: 1 float_data: 1"},
          {"rank_0_without_data", "1 elements of float32 in float_data expected, 0 found", "data_type: 1"},
          {"rank_8", "", "data_type: 1 dims: [1,1,1,1,1,1,1,1] float_data: 1"},
          {"rank_9", "", "data_type: 1 dims: [1,1,1,1,1,1,1,1,1] float_data: 1"},
          {"rank_1024", "", "data_type: 1 float_data: 1 " + repeated("dims: 1 ", 1024)},
          {"rank_1025", "rank of at most 1024 expected, 1025 found",
           "data_type: 1 float_data: 1 " + repeated("dims: 1 ", 1025)},
          {"raw_data_short", "raw_data of 8 bytes for float32[2] expected, 7 found",
           "data_type: 1 dims: 2 raw_data: '1234567'"},
          {"raw_data_long", "raw_data of 4 bytes for float32[1] expected, 400 found",
           "data_type: 1 dims: 1 raw_data: '" + repeated("abcd", 100) + "'"},
          {"raw_data_no_multiple", "raw_data of 4 bytes", "data_type: 1 dims: 1 raw_data: '12345'"},
          {"raw_data_empty", "raw_data of 4 bytes for float32[1] expected, 0 found",
           "data_type: 1 dims: 1 raw_data: ''"},
          {"raw_and_typed_data", "data in one field expected, in several found",
           "data_type: 1 dims: 1 raw_data: 'abcd' float_data: 1"},
          {"two_typed_data", "data in one field expected, in several found",
           "data_type: 1 dims: 1 int32_data: 1 float_data: 1"},
          {"typed_data_short", "3 elements of float32 in float_data expected, 2 found",
           "data_type: 1 dims: 3 float_data: [1,2]"},
          {"typed_data_long", "3 elements of float32 in float_data expected, 4 found",
           "data_type: 1 dims: 3 float_data: [1,2,3,4]"},
          {"typed_data_of_other_type", "1 elements of float32 in float_data expected, 0 found",
           "data_type: 1 dims: 1 int64_data: 1"},
          {"float16_in_float_data", "in int32_data expected", "data_type: 10 dims: 1 float_data: 1"},
          {"float16_in_int32_data", "", "data_type: 10 dims: 2 int32_data: [15360, 65535]"},
          {"float16_too_large", "values that fit float16 expected, 65536 found",
           "data_type: 10 dims: 1 int32_data: 65536"},
          {"int8_too_large", "values that fit int8 expected, 256 found", "data_type: 3 dims: 1 int32_data: 256"},
          {"uint8_negative", "", "data_type: 2 dims: 1 int32_data: -1"},
          {"bool_2", "", "data_type: 9 dims: 1 int32_data: 2"},
          {"bool_2_raw", "", "data_type: 9 dims: 1 raw_data: '\\002'"},
          {"uint32_too_large", "values that fit uint32 expected", "data_type: 12 dims: 1 uint64_data: 4294967296"},
          {"complex64_odd", "2 elements of complex64 in float_data expected, 1 found",
           "data_type: 14 dims: 1 float_data: 1"},
          {"complex64", "", "data_type: 14 dims: 1 float_data: [1,2]"},
          {"int4_odd_count", "", "data_type: 22 dims: 3 raw_data: 'ab'"},
          {"int4_short", "raw_data of 2 bytes for int4[3] expected, 1 found", "data_type: 22 dims: 3 raw_data: 'a'"},
          {"uint4_in_int32_data", "", "data_type: 21 dims: 3 int32_data: [18, 3]"},
          {"uint4_a_word_each", "2 elements of uint4 in int32_data expected, 3 found",
           "data_type: 21 dims: 3 int32_data: [1,2,3]"},
          {"float4_odd_count", "", "data_type: 23 dims: [3,3] raw_data: 'abcde'"},
          {"float4_of_2_40", "raw_data of 549755813888 bytes", "data_type: 23 dims: 1099511627776 raw_data: 'a'"},
          {"float8", "", "data_type: 17 dims: 2 raw_data: 'ab'"},
          {"data_type_missing", "a data type expected, none found", "dims: 1 float_data: 1"},
          {"data_type_0", "a data type expected, none found", "data_type: 0 dims: 1 float_data: 1"},
          {"data_type_99", "a data type from 1 to", "data_type: 99 dims: 1 float_data: 1"},
          {"data_type_negative", "a data type from 1 to", "data_type: -1 dims: 1 float_data: 1"},
          {"data_type_max", "a data type from 1 to", "data_type: 2147483647 dims: 1 float_data: 1"},
          {"strings", "", "data_type: 8 dims: 2 string_data: 'a' string_data: 'b'"},
          {"strings_too_few", "2 elements in string_data expected, 1 found", "data_type: 8 dims: 2 string_data: 'a'"},
          {"strings_of_2_40", "elements in string_data expected, 0 found", "data_type: 8 dims: 1099511627776"},
          {"strings_raw", "strings in string_data expected", "data_type: 8 dims: 1 raw_data: 'a'"},
          {"segment", "segments are not supported", "data_type: 1 dims: 1 float_data: 1 segment { begin: 0 end: 1 }"},
          {"segment_negative", "segments are not supported",
           "data_type: 1 dims: 1 float_data: 1 segment { begin: -9223372036854775808 end: 9223372036854775807 }"},
          {"data_location_7", "data_location 0 or 1 expected, 7 found",
           "data_type: 1 dims: 1 float_data: 1 data_location: 7"},
      });
}

std::vector<HostileCase> sparse_initializers() {
  const std::string values = "values { name: 'w' data_type: 1 dims: 2 float_data: [1,2] } ";
  return around(
      "node { op_type: 'Identity' input: 'w' output: 'y' } sparse_initializer { ", "}",
      {
          {"sparse", "", values + "indices { data_type: 7 dims: 2 int64_data: [1,3] } dims: 5"},
          {"sparse_by_axes", "", values + "indices { data_type: 7 dims: [2,2] int64_data: [0,1,1,0] } dims: [2,2]"},
          {"sparse_index_beyond", "an index in [0, 5) expected, 5 found",
           values + "indices { data_type: 7 dims: 2 int64_data: [1,5] } dims: 5"},
          {"sparse_index_negative", "an index in [0, 5) expected, -1 found",
           values + "indices { data_type: 7 dims: 2 int64_data: [-1,3] } dims: 5"},
          {"sparse_index_wraps", "an index in [0, 2) expected",
           values + "indices { data_type: 7 dims: [2,2] int64_data: [0,1,4611686018427387904,0] } dims: [2,2]"},
          {"sparse_index_descends", "indices in ascending order",
           values + "indices { data_type: 7 dims: 2 int64_data: [3,1] } dims: 5"},
          {"sparse_index_twice", "indices in ascending order",
           values + "indices { data_type: 7 dims: 2 int64_data: [3,3] } dims: 5"},
          {"sparse_indices_float", "indices of type int64",
           values + "indices { data_type: 1 dims: 2 float_data: [1,3] } dims: 5"},
          {"sparse_indices_too_many", "indices of type int64 and shape [2] or [2,1]",
           values + "indices { data_type: 7 dims: 3 int64_data: [1,2,3] } dims: 5"},
          {"sparse_indices_rank_3", "indices of type int64 and shape",
           values + "indices { data_type: 7 dims: [2,1,1] int64_data: [1,2] } dims: 5"},
          {"sparse_of_terabytes", "a sparse tensor of at most 64 MiB",
           values + "indices { data_type: 7 dims: 2 int64_data: [1,3] } dims: 1099511627776"},
          {"sparse_product_wraps", "at most 2^46 bytes",
           values + "indices { data_type: 7 dims: 2 int64_data: [1,3] } dims: 4294967296 dims: 4294967296"},
          {"sparse_dim_negative", "dims in [0, 2^40] expected",
           values + "indices { data_type: 7 dims: 2 int64_data: [1,3] } dims: -5"},
          {"sparse_rank_1025", "rank of at most 1024",
           values + "indices { data_type: 7 dims: 2 int64_data: [1,3] } dims: 5 " + repeated("dims: 1 ", 1024)},
          {"sparse_values_rank_2", "values of rank 1 expected, of rank 2 found",
           "values { name: 'w' data_type: 1 dims: [2,1] float_data: [1,2] } indices { data_type: 7 dims: 2 int64_data: "
           "[1,3] } dims: 5"},
          {"sparse_without_indices", "a data type expected", values + "dims: 5"},
          {"sparse_without_values", "a name expected", "indices { data_type: 7 dims: 2 int64_data: [1,3] } dims: 5"},
          {"sparse_strings", "sparse tensors of string are not supported",
           "values { name: 'w' data_type: 8 dims: 1 string_data: 'a' } indices { data_type: 7 dims: 1 int64_data: 0 } "
           "dims: 5"},
          {"sparse_int4", "",
           "values { name: 'w' data_type: 22 dims: 1 raw_data: 'a' } indices { data_type: 7 dims: 1 int64_data: 0 } "
           "dims: 5"},
      });
}

/// `model` of each row is the type of an input.
std::vector<HostileCase> types() {
  return around(
      "node { op_type: 'Identity' input: 'x' output: 'y' } input { name: 'x' type { ", "} }",
      {
          {"type_dim_unknown", "", "tensor_type { elem_type: 1 shape { dim { dim_value: -1 } } }"},
          {"type_dim_negative", "", "tensor_type { elem_type: 1 shape { dim { dim_value: -2 } } }"},
          {"type_dim_2_62", "dim 1 of at most 2^40 expected",
           "tensor_type { elem_type: 1 shape { dim { dim_value: 1 } dim { dim_value: 4611686018427387904 } } }"},
          {"type_product_wraps", "at most 2^46 bytes",
           "tensor_type { elem_type: 1 shape { dim { dim_value: 1099511627776 } dim { dim_value: 1099511627776 } } }"},
          {"type_product_beside_symbol", "at most 2^46 bytes",
           "tensor_type { elem_type: 1 shape { dim { dim_value: 1099511627776 } dim { dim_param: 'n' } dim { "
           "dim_value: 1099511627776 } } }"},
          {"type_product_beside_0", "at most 2^46 bytes",
           "tensor_type { elem_type: 1 shape { dim { dim_value: 1099511627776 } dim { dim_value: 0 } dim { dim_value: "
           "1099511627776 } } }"},
          {"type_dim_0", "", "tensor_type { elem_type: 1 shape { dim { dim_value: 0 } } }"},
          {"type_rank_8", "", "tensor_type { elem_type: 1 shape {" + repeated("dim { dim_value: 1 } ", 8) + "} }"},
          {"type_rank_9", "", "tensor_type { elem_type: 1 shape {" + repeated("dim { dim_value: 1 } ", 9) + "} }"},
          {"type_rank_1025", "rank of at most 1024 expected, 1025 found",
           "tensor_type { elem_type: 1 shape {" + repeated("dim { dim_value: 1 } ", 1025) + "} }"},
          {"type_dim_without_value", "", "tensor_type { elem_type: 1 shape { dim { } dim { dim_param: '' } } }"},
          {"type_element_0", "a type expected, none found",
           "tensor_type { elem_type: 0 shape { dim { dim_value: 1 } } }"},
          {"type_element_negative", "an element type expected, -5 found", "tensor_type { elem_type: -5 }"},
          {"type_element_99", "an element type expected, 99 found", "tensor_type { elem_type: 99 }"},
          {"type_of_sequence", "", "sequence_type { elem_type { tensor_type { elem_type: 1 } } }"},
          {"type_of_map", "", "map_type { key_type: 7 value_type { tensor_type { elem_type: 1 } } }"},
          {"type_of_sparse_tensor", "", "sparse_tensor_type { elem_type: 1 shape { dim { dim_value: -1 } } }"},
          {"type_empty", "a type expected, none found", ""},
      });
}

std::string initializer(const std::string& fields) {
  return from_notation("y = Identity(w)") + bytes_field(7, bytes_field(5, fields + bytes_field(8, "w")));
}

std::vector<HostileCase> large() {
  return {
      {"rank_a_million", [] { return initializer(number_field(2, 1) + repeated(number_field(1, 1), 1'000'000)); },
       "rank of at most 1024 expected, 1000000 found"},
      {"strings_a_million_empty",
       [] {
         return initializer(number_field(2, 8) + number_field(1, 1'000'000) + repeated(bytes_field(6, ""), 1'000'000));
       },
       ""},
      {"strings_ten_million_empty",
       [] {
         return initializer(number_field(2, 8) + number_field(1, 10'000'000) +
                            repeated(bytes_field(6, ""), 10'000'000));
       },
       "that takes at most"},
      {"ten_million_bools_in_int32_data",
       [] {
         return initializer(number_field(2, 9) + number_field(1, 10'000'000) +
                            bytes_field(5, std::string(10'000'000, '\1')));
       },
       ""},
      {"unused_initializers",
       [] {
         std::string graph;
         for (int i = 0; i < 50'000; ++i)
           graph += bytes_field(5, bytes_field(8, "w" + std::to_string(i)) + number_field(2, 1) + number_field(1, 0));
         return from_notation("y = Relu(x: f32[2])") + bytes_field(7, graph);
       },
       ""},
      {"sparse_64_mib_each",
       [] {
         const std::string fields = bytes_field(2, number_field(2, 7) + number_field(1, 0)) + number_field(3, 16 << 20);
         std::string graph;
         for (int i = 0; i < 100; ++i)
           graph += bytes_field(
               15, bytes_field(1, bytes_field(8, "w" + std::to_string(i)) + number_field(2, 1) + number_field(1, 0)) +
                       fields);
         return from_notation("y = Relu(x: f32[2])") + bytes_field(7, graph);
       },
       "a sparse tensor of at most 64 MiB"},
  };
}

}  // namespace

std::vector<HostileCase> size_cases() {
  std::vector<HostileCase> cases;
  for (const auto& part : {initializers(), sparse_initializers(), types(), large()})
    cases.insert(cases.end(), part.begin(), part.end());
  return cases;
}

}  // namespace isomer::test
