// Class F: versions that don't exist, contradict each other, or lack the operator.
#include "hostile/case.h"

namespace isomer::test {
namespace {

/// `model` of each row is what stands beside the graph y = Relu(x).
std::vector<HostileCase> headers() {
  std::vector<NotationRow> rows = {
      {"missing", "opset_import: at least one expected", "ir_version: 8"},
      {"missing_before_ir_3", "", "ir_version: 2"},
      {"only_of_other_domain", "an import of domain 'ai.onnx' expected, none found",
       "ir_version: 8 opset_import { domain: 'com.example' version: 1 }"},
      {"without_version", "opset of ai.onnx: 1 to", "ir_version: 8 opset_import { domain: '' }"},
      {"0", "opset of ai.onnx: 1 to", "ir_version: 8 opset_import { version: 0 }"},
      {"negative", "opset of ai.onnx: 1 to", "ir_version: 8 opset_import { version: -1 }"},
      {"9999", "opset of ai.onnx: 1 to", "ir_version: 8 opset_import { version: 9999 }"},
      {"max", "opset of ai.onnx: 1 to", "ir_version: 8 opset_import { version: 9223372036854775807 }"},
      {"min", "opset of ai.onnx: 1 to", "ir_version: 8 opset_import { version: -9223372036854775808 }"},
      {"2_32_plus_17", "opset of ai.onnx: 1 to", "ir_version: 8 opset_import { version: 4294967313 }"},
      {"of_ml_9999", "opset of ai.onnx.ml: 1 to",
       "ir_version: 8 opset_import { version: 17 } opset_import { domain: 'ai.onnx.ml' version: 9999 }"},
      {"of_other_domain_9999", "",
       "ir_version: 8 opset_import { version: 17 } opset_import { domain: 'com.example' version: 9999 }"},
      {"of_other_domain_negative", "",
       "ir_version: 8 opset_import { version: 17 } opset_import { domain: 'com.example' version: -1 }"},
      {"twice_the_same", "", "ir_version: 8 opset_import { version: 17 } opset_import { version: 17 }"},
      {"twice_different", "one version a domain expected, 17 and 16 found",
       "ir_version: 8 opset_import { version: 17 } opset_import { version: 16 }"},
      {"twice_by_two_names", "one version a domain expected",
       "ir_version: 8 opset_import { version: 17 } opset_import { domain: 'ai.onnx' version: 16 }"},
      {"by_long_name", "", "ir_version: 8 opset_import { domain: 'ai.onnx' version: 17 }"},
      {"1", "", "ir_version: 3 opset_import { version: 1 }"},
      {"6", "", "ir_version: 3 opset_import { version: 6 }"},
      {"22", "", "ir_version: 10 opset_import { version: 22 }"},
      {"ir_missing", "ir_version: a number expected", "opset_import { version: 17 }"},
      {"ir_0", "ir_version: 1 to", "ir_version: 0 opset_import { version: 17 }"},
      {"ir_negative", "ir_version: 1 to", "ir_version: -1 opset_import { version: 17 }"},
      {"ir_9999", "ir_version: 1 to", "ir_version: 9999 opset_import { version: 17 }"},
      {"ir_max", "ir_version: 1 to", "ir_version: 9223372036854775807 opset_import { version: 17 }"},
      {"ir_2_32_plus_8", "ir_version: 1 to", "ir_version: 4294967304 opset_import { version: 17 }"},
      {"ir_1", "", "ir_version: 1 opset_import { version: 6 }"},
      {"model_version_min", "", "ir_version: 8 model_version: -9223372036854775808 opset_import { version: 17 }"},
  };
  for (NotationRow& row : rows)
    row.model +=
        " graph { node { op_type: 'Relu' input: 'x' output: 'y' } input { name: 'x' type { tensor_type { elem_type: 1 "
        "shape { dim { "
        "dim_value: 2 } } } } } output { name: 'y' } }";
  return in_text(rows);
}

std::vector<HostileCase> operators() {
  return in_notation({
      {"unknown_domain", "", "y = com.example.Scale<by=2.0>(x: f32[2])"},
      {"unknown_operator", "", "y = Frobnicate<by=2.0>(x: f32[2])"},
      {"operator_with_other_case", "", "y = relu(x: f32[2])"},
      {"operator_newer_than_opset", "", "@10 y = Gelu(x: f32[2])"},
      {"operator_removed", "", "@10 y = Upsample(x: f32[1,1,4,4], s: f32[4]{1,1,2,2})"},
      {"operator_of_opset_1_experimental", "", "@6 y = Affine<alpha=2.0, beta=1.0>(x: f32[2])"},
      {"form_of_newer_opset", "axes as an attribute expected", "@11 y = ReduceSum(x: f32[2,3], a: i64[1]{0})"},
      {"form_of_older_opset", "an attribute that the operator has expected, 'axes' found",
       "@17 y = ReduceSum<axes=[0]>(x: f32[2,3])"},
      {"attribute_of_newer_opset", "the default of 'batch_dims' expected",
       "@11 y = GatherND<batch_dims=1>(x: f32[2,3], i: i64[2,1])"},
      {"default_of_newer_opset", "", "@11 y = GatherND<batch_dims=0>(x: f32[2,3], i: i64[2,1])"},
      {"value_of_newer_opset", "reduction 'max' is newer",
       "@16 y = ScatterElements<reduction=\"max\">(x: f32[2], i: i64[2], x)"},
      {"switch_of_newer_opset", "axes as an attribute expected",
       "@13 y = ReduceMax<noop_with_empty_axes=1>(x: f32[2,3])"},
      {"broadcast_of_newer_opset", "operands of one shape expected", "@6 y = Add(x: f32[2,3], b: f32[3])"},
      {"broadcast_said", "", "@6 y = Add<broadcast=1>(x: f32[2,3], b: f32[3])"},
      {"uneven_split_of_newer_opset", "splits into 3 equal parts", "@13 a, b, c = Split(x: f32[4])"},
      {"type_of_newer_opset", "", "@6 y = Relu(x: i32[2])"},
      {"sequence_operator", "", "s = SequenceConstruct(x: f32[2], x); y = SequenceAt(s, i: i64[]{2^62})"},
      {"string_operator", "", "y = StringNormalizer<case_change_action=\"UP\">(x: string[2])"},
      {"ml_operator", "", "y = ai.onnx.ml.Scaler<offset=[nan], scale=[]>(x: f32[2])"},
      {"opaque_feeds_shape", "",
       "s = com.example.Shape(x: f32[2]); y = Reshape(x, s); c = Cast<to=7>(y); z = ConstantOfShape(c)"},
      {"opaque_in_body", "",
       "y = If<then_branch={-> t | t = com.example.Scale(x)}, else_branch={-> e | e = Neg(x)}>(c: bool[]); z = Neg(x: "
       "f32[2])"},
      {"opaque_with_body", "", "y = com.example.Map<body={i: f32 -> o | o = Frobnicate(i, x)}>(x: f32[2])"},
      {"opaque_with_invalid_body", "'q' found", "y = com.example.Map<body={i: f32 -> o | o = Relu(q)}>(x: f32[2])"},
      {"isomer_domain", "", "y = isomer.Relayout(x: f32[2])"},
  });
}

}  // namespace

std::vector<HostileCase> opset_cases() {
  std::vector<HostileCase> cases = headers();
  cases.push_back({"of_operators_domain_missing",
                   [] {
                     return from_text(
                         "ir_version: 8 opset_import { version: 17 } graph { node { domain: 'com.example' op_type: "
                         "'Scale' output: 's' } }");
                   },
                   "an import of domain 'com.example' expected, none found"});
  for (HostileCase& hostile : operators()) cases.push_back(std::move(hostile));
  return cases;
}

}  // namespace isomer::test
