#!/usr/bin/env python3
"""Pairs of operators, each behind each that fits, against ONNX Runtime in turns: the slowest beside it come first.

    bench/pairs.py [--threads 1] [--duration 0.12] [--below 0.85] [--onnxruntime libonnxruntime.so.1.32.0] [--results FILE] [PART-OF-A-NAME…]

What a model of its own might hold and none of ours does: schedules with a fault show here as ratios far below one (bilinear resizing,
powers, shuffles of channels did). Models are compiled without a search. A pair is named FIRST>SECOND:SHAPE, where images are
[1,64,56,56] and matrices [8,196,256]. --results keeps lines: pairs that are in it are not measured again. Needs the Python packages onnx
and numpy.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from results import Results

BIN = pathlib.Path(__file__).resolve().parent.parent / "build" / "bin"
SHAPES = {"image": (1, 64, 56, 56), "matrix": (8, 196, 256)}


class Graph:
    """Nodes one after the other; constants by their values, weights by their shapes."""

    def __init__(self, opset=17):
        self.nodes, self.constants, self.random, self.opset = [], [], numpy.random.default_rng(0), opset

    def constant(self, values, dtype=numpy.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(values, dtype), name))
        return name

    def ints(self, *values):
        return self.constant(values, numpy.int64)

    def weight(self, *shape):
        return self.constant(self.random.standard_normal(shape) * 0.1)

    def positive(self, *shape):
        return self.constant(numpy.abs(self.random.standard_normal(shape)) + 1)

    def node(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def slice(self, x, axis, begin, end, step=1):
        return self.node("Slice", x, self.ints(begin), self.ints(end), self.ints(axis), self.ints(step))

    def reduced(self, op, x, axis):
        return self.node(op, x, axes=[axis], keepdims=1)

    def split(self, x, axis, size):
        """Two halves."""
        node = helper.make_node("Split", [x, self.ints(size // 2, size - size // 2)], [f"v{len(self.nodes)}", f"w{len(self.nodes)}"], axis=axis)
        self.nodes.append(node)
        return list(node.output)

    def transposed(self, op, x, there, back):
        return self.node("Transpose", self.node(op, self.node("Transpose", x, perm=there)), perm=back)


BOTH = {
    "relu": lambda g, x: g.node("Relu", x),
    "swish": lambda g, x: g.node("Mul", x, g.node("Sigmoid", x)),
    "clip": lambda g, x: g.node("Clip", x, g.constant(0), g.constant(6)),
    "softmax": lambda g, x: g.node("Softmax", x, axis=-1),
    "softmax of axis 1": lambda g, x: g.node("Softmax", x, axis=1),
    "where": lambda g, x: g.node("Where", g.node("Greater", x, g.constant(0)), x, g.constant(-0.1)),
    "less mean": lambda g, x: g.node("Sub", x, g.reduced("ReduceMean", x, -1)),
    "less mean of axis 1": lambda g, x: g.node("Sub", x, g.reduced("ReduceMean", x, 1)),
    "power": lambda g, x: g.node("Pow", g.node("Abs", x), g.constant(1.7)),
}
FIRST = {
    "image": BOTH | {
        "bias": lambda g, x: g.node("Add", x, g.weight(1, 64, 1, 1)),
        "instancenorm": lambda g, x: g.node("InstanceNormalization", x, g.weight(64), g.weight(64)),
        "batchnorm": lambda g, x: g.node("BatchNormalization", x, g.weight(64), g.weight(64), g.weight(64), g.positive(64)),
        "relu of nhwc": lambda g, x: g.transposed("Relu", x, [0, 2, 3, 1], [0, 3, 1, 2]),
        "pad": lambda g, x: g.slice(g.slice(g.node("Pad", x, g.ints(0, 0, 1, 1, 0, 0, 1, 1)), 2, 1, 57), 3, 1, 57),
        "concat": lambda g, x: g.node("Concat", g.slice(x, 1, 0, 32), g.node("Relu", g.slice(x, 1, 32, 64)), axis=1),
        "shuffle": lambda g, x: g.node("Reshape", g.node("Transpose", g.node("Reshape", x, g.ints(1, 2, 32, 56, 56)), perm=[0, 2, 1, 3, 4]), g.ints(1, 64, 56, 56)),
        "nearest": lambda g, x: g.node("Resize", g.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), "", g.constant([1, 1, 2, 2]), mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric"),
        "bilinear": lambda g, x: g.node("Resize", g.node("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2]), "", g.constant([1, 1, 2, 2]), mode="linear"),
        "squeeze-excite": lambda g, x: g.node("Mul", x, g.node("Sigmoid", g.node("Conv", g.node("GlobalAveragePool", x), g.weight(64, 64, 1, 1)))),
        "prelu": lambda g, x: g.node("PRelu", x, g.weight(64, 1, 1)),
        "maxpool": lambda g, x: g.node("MaxPool", x, kernel_shape=[3, 3], pads=[1] * 4),
        "depthwise": lambda g, x: g.node("Conv", x, g.weight(64, 1, 3, 3), group=64, pads=[1] * 4),
        "conv 1x1": lambda g, x: g.node("Conv", x, g.weight(64, 64, 1, 1)),
    },
    "matrix": BOTH | {
        "bias": lambda g, x: g.node("Add", x, g.weight(256)),
        "scaled rows": lambda g, x: g.node("Mul", x, g.weight(196, 1)),
        "layernorm": lambda g, x: g.node("LayerNormalization", x, g.weight(256), g.weight(256)),
        "tanh of transposed": lambda g, x: g.transposed("Tanh", x, [0, 2, 1], [0, 2, 1]),
        "concat": lambda g, x: g.node("Concat", g.slice(x, 2, 128, 256), g.node("Neg", g.slice(x, 2, 0, 128)), axis=2),
        "gather": lambda g, x: g.node("Gather", x, g.ints(*g.random.permutation(196)), axis=1),
        "cumsum": lambda g, x: g.node("CumSum", x, g.constant(1, numpy.int64)),
        "less max of axis 1": lambda g, x: g.node("Sub", x, g.reduced("ReduceMax", x, 1)),
        "matmul": lambda g, x: g.node("MatMul", x, g.weight(256, 256)),
    },
}
ENDS = {
    "sum of axis 1": lambda g, x: g.node("ReduceSum", x, g.ints(1)),
    "sum of rows": lambda g, x: g.node("ReduceSum", x, g.ints(-1)),
    "max of all": lambda g, x: g.node("ReduceMax", x),
    "norm of axis 1": lambda g, x: g.reduced("ReduceL2", x, 1),
    "softmax": BOTH["softmax"],
    "softmax of axis 1": BOTH["softmax of axis 1"],
    "argmax of axis 1": lambda g, x: g.node("ArgMax", x, axis=1),
    "argmax of rows": lambda g, x: g.node("ArgMax", x, axis=-1),
    "reversed": lambda g, x: g.slice(x, 2, -1, -1000, -1),
    "cast": lambda g, x: g.node("Cast", x, to=TensorProto.INT64),
}
SECOND = {
    "image": ENDS | {
        "conv 3x3": lambda g, x: g.node("Conv", x, g.weight(64, 64, 3, 3), pads=[1] * 4),
        "conv 1x1": lambda g, x: g.node("Conv", x, g.weight(96, 64, 1, 1)),
        "conv 3x3 / 2": lambda g, x: g.node("Conv", x, g.weight(96, 64, 3, 3), pads=[1] * 4, strides=[2, 2]),
        "conv in groups": lambda g, x: g.node("Conv", x, g.weight(64, 8, 3, 3), group=8, pads=[1] * 4),
        "depthwise 5x5": lambda g, x: g.node("Conv", x, g.weight(64, 1, 5, 5), group=64, pads=[2] * 4),
        "transposed conv": lambda g, x: g.node("ConvTranspose", x, g.weight(64, 32, 2, 2), strides=[2, 2]),
        "maxpool / 2": lambda g, x: g.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2]),
        "meanpool / 2": lambda g, x: g.node("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2]),
        "global meanpool": lambda g, x: g.node("GlobalAveragePool", x),
        "instancenorm": FIRST["image"]["instancenorm"],
        "groupnorm": lambda g, x: g.node("Mul", g.node("Reshape", g.node("InstanceNormalization", g.node("Reshape", x, g.ints(1, 8, -1)), g.positive(8), g.weight(8)), g.ints(1, 64, 56, 56)), g.weight(64, 1, 1)),
        "nhwc": lambda g, x: g.node("Transpose", x, perm=[0, 2, 3, 1]),
        "depth to space": lambda g, x: g.node("DepthToSpace", x, blocksize=2),
        "space to depth": lambda g, x: g.node("SpaceToDepth", x, blocksize=2),
        "plus its transpose": lambda g, x: g.node("Add", x, g.node("Transpose", x, perm=[0, 1, 3, 2])),
        "grid sample": lambda g, x: g.node("GridSample", x, g.constant(g.random.uniform(-1, 1, (1, 56, 56, 2)))),
        "bilinear x 1.5": lambda g, x: g.node("Resize", x, "", g.constant([1, 1, 1.5, 1.5]), mode="linear"),
    },
    "matrix": ENDS | {
        "matmul": FIRST["matrix"]["matmul"],
        "right of matmul": lambda g, x: g.node("MatMul", g.weight(8, 128, 196), x),
        "right of matmul, transposed": lambda g, x: g.node("MatMul", g.weight(8, 128, 256), g.node("Transpose", x, perm=[0, 2, 1])),
        "by its transpose": lambda g, x: g.node("MatMul", x, g.node("Transpose", x, perm=[0, 2, 1])),
        "its transpose by it": lambda g, x: g.node("MatMul", g.node("Transpose", x, perm=[0, 2, 1]), x),
        "heads": lambda g, x: g.node("Transpose", g.node("Reshape", x, g.ints(8, 196, 8, 32)), perm=[0, 2, 1, 3]),
        "sum of axis 0": lambda g, x: g.node("ReduceSum", x, g.ints(0)),
        "logsoftmax": lambda g, x: g.node("LogSoftmax", x, axis=-1),
        "layernorm": FIRST["matrix"]["layernorm"],
        "top 5": lambda g, x: g.node("TopK", x, g.ints(5), axis=-1),
        "transposed": lambda g, x: g.node("Transpose", x, perm=[2, 0, 1]),
        "tile": lambda g, x: g.node("Tile", x, g.ints(1, 1, 2)),
        "cumsum of rows": lambda g, x: g.node("CumSum", x, g.constant(-1, numpy.int64)),
    },
}


def pairs():
    for kind in SHAPES:
        for first in [None, *FIRST[kind]]:
            for second in [None, *SECOND[kind]]:
                if first or second:
                    yield f"{first or ''}>{second or ''}:{kind}", kind, FIRST[kind].get(first), SECOND[kind].get(second)


def measured(graph, shape, options, folder):
    """The graph's last value as the output of a model with input x of the shape; a string: why there is no figure."""
    last = graph.nodes[-1]
    last.output[0] = "y"
    if last.op_type == "TopK":
        last.output.append("indices")
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    made = helper.make_graph(graph.nodes, "pair", [info], [helper.make_value_info("y", onnx.TypeProto())], graph.constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", graph.opset)], ir_version=10)
    onnx.save(onnx.shape_inference.infer_shapes(model, strict_mode=True), folder / "pair.onnx")
    command = [options.bin / "isomer", "bench", folder / "pair.onnx", "--json", "-q", "--threads", str(options.threads), "--duration", str(options.duration), "--against", "onnxruntime"]
    if options.onnxruntime:
        command += ["--onnxruntime", options.onnxruntime]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr.strip()
    result = json.loads(done.stdout)
    return {"ratio": result["against"]["onnxruntime"]["ratio"], "ms": result["min_ms"]}


def options_of(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--duration", type=float, default=0.12)
    parser.add_argument("--below", type=float, default=0.85)
    parser.add_argument("--onnxruntime")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, default=BIN)
    return parser


class Table:
    """Ratios by name, those of the file of results among them."""

    def __init__(self, options):
        asked = {name: getattr(options, name) for name in ("threads", "duration", "onnxruntime")}
        self.options, self.asked, self.failed = options, [], 0
        self.rows = Results(options.results, "name", asked, options.bin / "isomer")

    def measure(self, name, measurement):
        self.asked.append(name)
        if name in self.rows:
            return
        result = measurement()
        if isinstance(result, str):
            print(f"{name}: {result}", flush=True)
            self.failed += 1
            return
        self.rows.add({"name": name, **result})

    def print(self, what):
        """The exit status."""
        found = sorted((self.rows[name] for name in self.asked if name in self.rows), key=lambda row: row["ratio"])
        for row in found:
            if row["ratio"] < self.options.below:
                print(f"{row['ratio']:.2f}  {row['ms']:.3f} ms  {row['name']}")
        if found:
            mean = math.exp(sum(math.log(row["ratio"]) for row in found) / len(found))
            print(f"{len(found)} {what}, ONNX Runtime's time / ours: {mean:.3f} in the geometric mean")
        self.rows.print_programs(self.asked)
        if self.failed:
            print(f"{self.failed} not measured")
        return self.failed > 0


def pair(first, second):
    graph, value = Graph(), "x"
    for part in filter(None, (first, second)):
        value = part(graph, value)
    return graph


def main():
    options = options_of(__doc__).parse_args()
    table = Table(options)
    with tempfile.TemporaryDirectory() as folder:
        for name, kind, first, second in pairs():
            if not options.names or any(part in name for part in options.names):
                table.measure(name, lambda: measured(pair(first, second), SHAPES[kind], options, pathlib.Path(folder)))
    return table.print("pairs")


if __name__ == "__main__":
    sys.exit(main())
