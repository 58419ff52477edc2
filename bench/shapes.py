#!/usr/bin/env python3
"""Single operators of random shapes and attributes, against ONNX Runtime in turns: the slowest beside it come first.

    bench/shapes.py [--count 200] [--seed 1] [--threads 1] [--duration 0.12] [--below 0.85] [--onnxruntime libonnxruntime.so.1.32.0] [--results FILE] [OPERATOR…]

What fixed lists of layers do not hold: rows of 21 elements, 3 channels, odd kernels. Models are compiled without a search. An operator's
number with the seed makes it again. --results keeps lines: operators that are in it are not measured again. Needs the Python packages
onnx and numpy.
"""
import math
import pathlib
import sys
import random
import tempfile

from onnx import TensorProto

import pairs


class Draw(random.Random):
    """Random sizes of tensors of about 2^12 to 2^19 elements."""

    def size(self):
        return self.choice([1, 2, 3, 4, 5, 7, 8, 10, 12, 14, 16, 20, 21, 24, 28, 32, 40, 48, 49, 56, 64, 80, 96, 100, 128, 160, 196, 224, 256, 320, 384, 512, 768, 1000, 1024])

    def shape(self, rank, low=1 << 12, high=1 << 19):
        while True:
            shape = [self.size() for _ in range(rank)]
            if low <= math.prod(shape) <= high:
                return shape

    def any_shape(self):
        return self.shape(self.choice([2, 3, 3, 4, 4]))

    def image(self, low=1 << 12, high=1 << 18):
        while True:
            batch, channels, height = self.choice([1, 1, 1, 2, 8]), self.size(), self.size()
            width = height if self.random() < 0.7 else self.size()
            if height > 1 and width > 1 and low <= batch * channels * height * width <= high:
                return [batch, channels, height, width]


def unary(draw, graph):
    op = draw.choice(["Relu", "Sigmoid", "Tanh", "Exp", "Sqrt", "Erf", "Abs", "Neg", "Reciprocal", "Floor", "Softplus", "Elu", "LeakyRelu", "HardSwish", "HardSigmoid", "Softsign", "Mish", "Sign", "Sin", "Cos"])
    shape = draw.any_shape()
    return op, shape, graph.node(op, "x")


def binary(draw, graph):
    op = draw.choice(["Add", "Sub", "Mul", "Div", "Max", "Min", "PRelu"])
    shape = draw.any_shape()
    other = [size if draw.random() < 0.5 else 1 for size in shape]
    return f"{op} by {other}", shape, graph.node(op, "x", graph.positive(*other))


def both_ways(draw, graph):
    shape = draw.any_shape()
    axis = draw.randrange(len(shape))
    other = [1] * len(shape)
    count = draw.choice([2, 3, 8])
    shape[axis], other[axis] = 1, count
    return f"Add by {other}", shape, graph.node("Add", "x", graph.weight(*other))


def reduction(draw, graph):
    op = draw.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceProd", "ReduceLogSumExp", "ReduceSumSquare"])
    shape = draw.any_shape()
    axes = sorted(draw.sample(range(len(shape)), draw.choice([1, 1, min(2, len(shape))])))
    keep = draw.randrange(2)
    return f"{op} over {axes}", shape, graph.node(op, "x", graph.ints(*axes), keepdims=keep)


def arg(draw, graph):
    op, shape = draw.choice(["ArgMax", "ArgMin"]), draw.any_shape()
    axis = draw.randrange(len(shape))
    return f"{op} over {axis}", shape, graph.node(op, "x", axis=axis)


def softmax(draw, graph):
    op, shape = draw.choice(["Softmax", "Softmax", "LogSoftmax"]), draw.any_shape()
    axis = draw.choice([len(shape) - 1, draw.randrange(len(shape))])
    return f"{op} over {axis}", shape, graph.node(op, "x", axis=axis)


def normalization(draw, graph):
    op = draw.choice(["LayerNormalization", "InstanceNormalization", "BatchNormalization", "GroupNormalization", "LpNormalization"])
    shape = draw.image()
    channels = shape[1]
    if op == "LayerNormalization":
        shape = draw.shape(3)
        axis = draw.choice([-1, -1, -2])
        return f"{op} from {axis}", shape, graph.node(op, "x", graph.weight(*shape[axis:]), graph.weight(*shape[axis:]), axis=axis)
    if op == "InstanceNormalization":
        return op, shape, graph.node(op, "x", graph.weight(channels), graph.weight(channels))
    if op == "BatchNormalization":
        return op, shape, graph.node(op, "x", graph.weight(channels), graph.weight(channels), graph.weight(channels), graph.positive(channels))
    if op == "GroupNormalization":
        groups = draw.choice([n for n in (1, 2, 4, 8, 16, 32) if channels % n == 0])
        return f"{op} in {groups}", shape, graph.node(op, "x", graph.weight(channels), graph.weight(channels), num_groups=groups)
    axis = draw.randrange(4)
    return f"{op} over {axis}", shape, graph.node(op, "x", axis=axis, p=2)


def transposition(draw, graph):
    shape = draw.any_shape()
    order = list(range(len(shape)))
    draw.shuffle(order)
    return f"Transpose to {order}", shape, graph.node("Transpose", "x", perm=order)


def movement(draw, graph):
    shape = draw.any_shape()
    axis = draw.randrange(len(shape))
    size, rank = shape[axis], len(shape)
    kind = draw.choice(["Concat", "Slice", "Pad", "Tile", "Expand", "Gather", "Split", "GatherElements", "CumSum", "TopK", "Where", "OneHot", "ScatterElements", "Reverse"])
    name = f"{kind} along {axis}"
    if kind == "Concat":
        parts = draw.choice([2, 3, 4])
        return f"{name} of {parts}", shape, graph.node("Concat", *(["x"] * parts), axis=axis)
    if kind == "Slice":
        begin, step = draw.randrange(size), draw.choice([1, 1, 2])
        return f"{name} from {begin} by {step}", shape, graph.node("Slice", "x", graph.ints(begin), graph.ints(size), graph.ints(axis), graph.ints(step))
    if kind == "Reverse":
        return name, shape, graph.node("Slice", "x", graph.ints(-1), graph.ints(-size - 1), graph.ints(axis), graph.ints(-1))
    if kind == "Pad":
        mode = draw.choice(["constant", "constant", "edge", "reflect"]) if size > 3 else "constant"
        pads = [0] * (2 * rank)
        pads[axis], pads[axis + rank] = draw.randrange(3), draw.randrange(1, 3)
        return f"{name}, {mode}", shape, graph.node("Pad", "x", graph.ints(*pads), mode=mode)
    if kind == "Tile":
        return name, shape, graph.node("Tile", "x", graph.ints(*(2 if k == axis else 1 for k in range(rank))))
    if kind == "Expand":
        shape[axis] = 1
        return name, shape, graph.node("Expand", "x", graph.ints(*(6 if k == axis else n for k, n in enumerate(shape))))
    if kind == "Gather":
        count = draw.choice([size, max(1, size // 2), 2 * size])
        return f"{name} of {count}", shape, graph.node("Gather", "x", graph.ints(*(draw.randrange(size) for _ in range(count))), axis=axis)
    if kind == "Split":
        return name, shape, graph.node("Concat", *reversed(graph.split("x", axis, size)), axis=axis)
    if kind == "GatherElements":
        return name, shape, graph.node("GatherElements", "x", graph.constant(graph.random.integers(0, size, shape), "int64"), axis=axis)
    if kind == "ScatterElements":
        count = [max(1, n // 2) for n in shape]
        return name, shape, graph.node("ScatterElements", "x", graph.constant(graph.random.integers(0, size, count), "int64"), graph.weight(*count), axis=axis)
    if kind == "CumSum":
        return name, shape, graph.node("CumSum", "x", graph.constant(axis, "int64"))
    if kind == "TopK":
        return name, shape, graph.node("TopK", "x", graph.ints(min(size, draw.choice([1, 5, 100]))), axis=axis)
    if kind == "Where":
        return name, shape, graph.node("Where", graph.node("Less", "x", graph.weight(*(n if k == axis else 1 for k, n in enumerate(shape)))), "x", graph.constant(0))
    return name, [shape[0], shape[1]], graph.node("OneHot", graph.node("Cast", "x", to=TensorProto.INT64), graph.constant(21, "int64"), graph.constant([0, 1]), axis=-1)


def convolution(draw, graph):
    shape = draw.image(1 << 10, 1 << 18)
    channels = shape[1]
    kernel = draw.choice([1, 1, 2, 3, 3, 3, 4, 5, 7])
    kernels = [kernel, kernel] if draw.random() < 0.8 else [1, kernel]
    stride, dilation = draw.choice([1, 1, 1, 2]), draw.choice([1, 1, 1, 1, 2])
    filters = draw.choice([1, 3, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256])
    groups = 1
    if draw.random() < 0.35:
        groups = draw.choice([n for n in (2, 3, 4, 8, 16, channels, channels) if channels % n == 0] or [1])
        filters = groups * draw.choice([1, 1, max(1, channels // groups), 2])
    pads = [(k - 1) * dilation // 2 for k in kernels] * 2
    if channels * filters // groups * kernels[0] * kernels[1] * shape[0] * shape[2] * shape[3] > 1 << 29:
        return convolution(draw, graph)
    if any(n + 2 * p < (k - 1) * dilation + 1 for n, p, k in zip(shape[2:], pads, kernels)):
        return convolution(draw, graph)
    name = f"Conv {kernels[0]}x{kernels[1]} to {filters}" + (f" in {groups}" if groups > 1 else "") + (f" / {stride}" if stride > 1 else "") + (f" dilated {dilation}" if dilation > 1 else "")
    return name, shape, graph.node("Conv", "x", graph.weight(filters, channels // groups, *kernels), graph.weight(filters), pads=pads, strides=[stride] * 2, dilations=[dilation] * 2, group=groups)


def transposed_convolution(draw, graph):
    shape = draw.image(1 << 10, 1 << 15)
    filters, kernel, stride = draw.choice([1, 3, 8, 16, 32, 64]), draw.choice([2, 3, 4]), draw.choice([1, 2, 2])
    return f"ConvTranspose {kernel}x{kernel} to {filters} * {stride}", shape, graph.node("ConvTranspose", "x", graph.weight(shape[1], filters, kernel, kernel), strides=[stride] * 2)


def pool(draw, graph):
    shape = draw.image()
    op = draw.choice(["MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"])
    if op.startswith("Global"):
        return op, shape, graph.node(op, "x")
    kernel, stride = draw.choice([2, 3, 5]), draw.choice([1, 2, 3])
    if min(shape[2:]) < kernel:
        return pool(draw, graph)
    pads = [draw.choice([0, kernel // 2])] * 4
    return f"{op} {kernel} / {stride}, pads {pads[0]}", shape, graph.node(op, "x", kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=pads)


def resize(draw, graph):
    shape = draw.image(1 << 12, 1 << 16)
    mode, scale = draw.choice(["nearest", "linear", "linear", "cubic"]), draw.choice([0.5, 1.5, 2, 2, 3])
    how = draw.choice(["half_pixel", "align_corners", "asymmetric"])
    return f"Resize by {scale}, {mode}, {how}", shape, graph.node("Resize", "x", "", graph.constant([1, 1, scale, scale]), mode=mode, coordinate_transformation_mode=how)


def product(draw, graph):
    batch = draw.choice([[], [], [draw.choice([2, 8, 12])]])
    rows, inner, columns = (draw.size() for _ in range(3))
    count = rows * inner * columns * (batch[0] if batch else 1)
    if not 1 << 15 < count < 1 << 28:
        return product(draw, graph)
    weight = graph.weight(*(batch if draw.random() < 0.5 else []), inner, columns)
    return f"MatMul by {columns} columns" + (", of each" if len(graph.constants[0].dims) > 2 else ""), [*batch, rows, inner], graph.node("MatMul", "x", weight)


def blocks(draw, graph):
    op, size = draw.choice(["DepthToSpace", "SpaceToDepth"]), draw.choice([2, 2, 4])
    batch, channels, height, width = draw.image()
    shape = [batch, channels * size * size, height, width] if op == "DepthToSpace" else [batch, channels, height * size, width * size]
    return f"{op} {size}", shape, graph.node(op, "x", blocksize=size)


def recurrent(draw, graph):
    op = draw.choice(["LSTM", "GRU"])
    steps, batch, inputs, hidden = draw.choice([1, 10, 50]), draw.choice([1, 4]), draw.choice([16, 40, 128]), draw.choice([16, 50, 128, 256])
    gates = 4 if op == "LSTM" else 3
    return f"{op} of {hidden}", [steps, batch, inputs], graph.node(op, "x", graph.weight(1, gates * hidden, inputs), graph.weight(1, gates * hidden, hidden), graph.weight(1, 2 * gates * hidden), hidden_size=hidden)


KINDS = [unary, unary, binary, binary, both_ways, reduction, reduction, reduction, arg, softmax, softmax, normalization, normalization, transposition, transposition, movement, movement, movement, convolution, convolution, convolution, convolution, transposed_convolution, pool, pool, resize, product, product, product, blocks, recurrent]


def main():
    parser = pairs.options_of(__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    table = pairs.Table(options)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.count):
            draw, graph = Draw(f"{options.seed} {number}"), pairs.Graph(opset=21)
            what, shape, last = draw.choice(KINDS)(draw, graph)
            name = f"{options.seed}.{number} {what} {shape}"
            if not options.names or any(part in name for part in options.names):
                table.measure(name, lambda: pairs.measured(graph, shape, options, pathlib.Path(folder)))
    return table.print("operators")


if __name__ == "__main__":
    sys.exit(main())
