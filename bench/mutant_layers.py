#!/usr/bin/env python3
"""Layers that bench/mutants looks for mutants of, with seeded weights.

    mutant_layers.py FOLDER        needs onnx and numpy
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Name: image, kernel, and what the convolution is told.
LAYERS = {
    "conv3x3_b1": ([1, 64, 56, 56], [64, 64, 3, 3], {"pads": [1] * 4}),
    "conv3x3_b2": ([2, 128, 28, 28], [128, 128, 3, 3], {"pads": [1] * 4}),
    "conv5x5_tiles": ([1, 48, 38, 38], [48, 48, 5, 5], {"pads": [2] * 4}),
    "conv1x7": ([1, 192, 17, 17], [192, 192, 1, 7], {"pads": [0, 3, 0, 3]}),
    "dilated2": ([1, 128, 28, 28], [128, 128, 3, 3], {"pads": [2] * 4, "dilations": [2, 2]}),
    "dilated2_odd": ([1, 128, 33, 33], [128, 128, 3, 3], {"pads": [2] * 4, "dilations": [2, 2]}),
    "dilated3": ([1, 128, 30, 30], [128, 128, 3, 3], {"pads": [3] * 4, "dilations": [3, 3]}),
    "stride2": ([1, 64, 56, 56], [128, 64, 3, 3], {"pads": [1] * 4, "strides": [2, 2]}),
    "stem": ([1, 3, 224, 224], [64, 3, 7, 7], {"pads": [3] * 4, "strides": [2, 2]}),
    "transposed2": ([1, 256, 16, 16], [256, 128, 4, 4], {"pads": [1] * 4, "strides": [2, 2]}),
    "grouped": ([1, 128, 28, 28], [128, 4, 3, 3], {"pads": [1] * 4, "group": 32}),
    "depthwise": ([1, 128, 28, 28], [128, 1, 3, 3], {"pads": [1] * 4, "group": 128}),
    "audio": ([1, 128, 1500], [128, 128, 3], {"pads": [1, 1]}),
    "audio_dilated": ([1, 128, 1500], [128, 128, 3], {"pads": [4, 4], "dilations": [4]}),
    "volume": ([1, 32, 8, 28, 28], [32, 32, 3, 3, 3], {"pads": [1] * 6}),
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for name, (image, kernel, told) in LAYERS.items():
        weights = (rng.standard_normal(kernel) / np.sqrt(np.prod(kernel[1:]))).astype(np.float32)
        node = helper.make_node("ConvTranspose" if name.startswith("transposed") else "Conv", ["x", "w"], ["y"], **told)
        graph = helper.make_graph([node], name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, image)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(weights, "w")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        onnx.save(onnx.shape_inference.infer_shapes(model), folder / f"{name}.onnx")


if __name__ == "__main__":
    main()
