#!/usr/bin/env python3
"""Layers that bench/gpu.sh measures, as ONNX models without weights (isomer-fill writes those).

    bench/gpu_layers.py FOLDER

ResNet-18's convolutions in the numbering of the TVM papers and ResNet-50's pointwise ones, with bias and Relu; depthwise convolutions; BERT's
products; softmax and layer normalization; and layers whose time is that of memory. In float32, float16 and bfloat16; and products of float32 of
which tensor cores may round factors (tf32). Needs the Python package onnx.
"""
import math
import pathlib
import sys

import onnx
from onnx import TensorProto, helper

TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
# Input channels, size, filters, kernel, stride.
RESNET18 = [(3, 224, 64, 7, 2), (64, 56, 64, 3, 1), (64, 56, 64, 1, 1), (64, 56, 128, 3, 2), (64, 56, 128, 1, 2), (128, 28, 128, 3, 1),
            (128, 28, 256, 3, 2), (128, 28, 256, 1, 2), (256, 14, 256, 3, 1), (256, 14, 512, 3, 2), (256, 14, 512, 1, 2), (512, 7, 512, 3, 1)]
RESNET50 = [(64, 56, 256, 1, 1), (256, 56, 64, 1, 1), (512, 28, 128, 1, 1), (128, 28, 512, 1, 1), (1024, 14, 256, 1, 1),
            (256, 14, 1024, 1, 1), (2048, 7, 512, 1, 1), (512, 7, 2048, 1, 1)]
PRODUCTS = [("qkv", 768, 768), ("ffn1", 768, 3072), ("ffn2", 3072, 768)]  # of BERT
DEPTHWISE = [(32, 112, 1), (96, 112, 2), (144, 56, 1), (576, 14, 1), (960, 7, 1)]


class Layer:
    """A graph of x to y, and weights by rule; a value is as large as the sum of its products makes it."""

    def __init__(self, kind, **inputs):
        self.kind, self.offset = kind, 0
        self.nodes, self.weights = [], []
        self.inputs = [helper.make_tensor_value_info(name, kind, shape) for name, shape in inputs.items()]

    def weight(self, name, *shape):
        size = 4 if self.kind == TensorProto.FLOAT else 2
        length = size * math.prod(shape)
        scale = math.sqrt(3 / max(1, math.prod(shape[1:]) if len(shape) > 2 else shape[0]))
        tensor = TensorProto(name=name, data_type=self.kind, dims=shape, data_location=TensorProto.EXTERNAL,
                             doc_string=f"uniform {-scale} {scale} {len(self.weights) + 1}")
        for key, value in {"location": "layer.weights", "offset": self.offset, "length": length}.items():
            tensor.external_data.add(key=key, value=str(value))
        self.weights.append(tensor)
        self.offset += (length + 63) // 64 * 64
        return name

    def add(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return self

    def save(self, folder, name, output):
        for tensor in self.weights:
            tensor.external_data[0].value = f"{name}.weights"
        result = helper.make_tensor_value_info("y", self.kind, output)
        graph = helper.make_graph(self.nodes, name, self.inputs, [result], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), folder / f"{name}.onnx")


def convolution(folder, name, kind, batch, channels, size, filters, kernel, stride, group=1):
    pad, out = kernel // 2, (size - 1) // stride + 1
    layer = Layer(kind, x=[batch, channels, size, size])
    operands = ["x", layer.weight("w", filters, channels // group, kernel, kernel), layer.weight("b", filters)]
    layer.add("Conv", operands, "s", strides=[stride] * 2, pads=[pad] * 4, group=group).add("Relu", ["s"], "y")
    layer.save(folder, name, [batch, filters, out, out])


def product(folder, name, kind, m, k, n):
    layer = Layer(kind, x=[m, k])
    layer.add("MatMul", ["x", layer.weight("w", k, n)], "s").add("Add", ["s", layer.weight("b", n)], "y")
    layer.save(folder, name, [m, n])


def batched(folder, name, kind, batch, m, k, n):
    Layer(kind, x=[batch, m, k], z=[batch, k, n]).add("MatMul", ["x", "z"], "y").save(folder, name, [batch, m, n])


def rows(folder, name, kind, op, shape):
    layer = Layer(kind, x=shape)
    operands = ["x"] if op == "Softmax" else ["x", layer.weight("s", shape[-1]), layer.weight("b", shape[-1])]
    layer.add(op, operands, "y", axis=-1).save(folder, name, shape)


def moved(folder, name, kind, op, shape, output=None, **attributes):
    inputs = {"x": shape} | ({"z": shape} if op == "Add" else {})
    Layer(kind, **inputs).add(op, list(inputs), "y", **attributes).save(folder, name, output or shape)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for suffix, kind in TYPES.items():
        is_float = suffix == "f32"
        for batch in (1, 16):
            for number, layer in enumerate(RESNET18, 1):
                convolution(folder, f"c{number}_b{batch}_{suffix}", kind, batch, *layer)
            for number, layer in enumerate(RESNET50, 1):
                convolution(folder, f"p{number}_b{batch}_{suffix}", kind, batch, *layer)
            for number, (channels, size, stride) in enumerate(DEPTHWISE, 1):
                convolution(folder, f"d{number}_b{batch}_{suffix}", kind, batch, channels, size, channels, 3, stride, channels)
        for m in (128, 2048):
            for name, k, n in PRODUCTS:
                product(folder, f"{name}_m{m}_{suffix}", kind, m, k, n)
        batched(folder, f"scores_{suffix}", kind, 12, 128, 64, 128)
        batched(folder, f"context_{suffix}", kind, 12, 128, 128, 64)
        rows(folder, f"softmax_128_{suffix}", kind, "Softmax", [12, 128, 128])
        rows(folder, f"layernorm_768_{suffix}", kind, "LayerNormalization", [128, 768])
        # Of memory.
        count = (64 << 20) // (4 if is_float else 2)
        rows(folder, f"softmax_large_{suffix}", kind, "Softmax", [count // 4096, 4096])
        rows(folder, f"layernorm_large_{suffix}", kind, "LayerNormalization", [count // 1024, 1024])
        moved(folder, f"relu_large_{suffix}", kind, "Relu", [count // 4096, 4096])
        moved(folder, f"add_large_{suffix}", kind, "Add", [count // 4096, 4096])
        moved(folder, f"transpose_large_{suffix}", kind, "Transpose", [count // 4096, 4096], [4096, count // 4096], perm=[1, 0])
    for number, layer in enumerate(RESNET18, 1):
        convolution(folder, f"c{number}_b16_tf32", TensorProto.FLOAT, 16, *layer)
    for name, k, n in PRODUCTS:
        product(folder, f"{name}_m2048_tf32", TensorProto.FLOAT, 2048, k, n)


if __name__ == "__main__":
    main()
