#!/usr/bin/env python3
"""Models with sizes that data decide, against ONNX Runtime in turns: the slowest beside it come first.

    bench/open_sizes.py [--threads 1] [--duration 0.5] [--below 0.85] [--onnxruntime libonnxruntime.so.1.32.0] [--results FILE] [PART-OF-A-NAME…]

Rows are chosen by the sign of their mean: about half of them. Models are compiled without a search. Needs the Python packages onnx and
numpy.
"""
import pathlib
import tempfile

from onnx import TensorProto

import pairs


def chosen(graph, rank):
    """The rows of x whose mean is positive."""
    mean = graph.node("ReduceMean", "x", graph.ints(*range(1, rank)), keepdims=0)
    return graph.node("Compress", "x", graph.node("Greater", mean, graph.constant(0)), axis=0)


def detector(graph):
    """What a detector computes of each box."""
    image = graph.node("Relu", graph.node("Conv", chosen(graph, 4), graph.weight(64, 64, 3, 3), graph.weight(64), pads=[1] * 4))
    flat = graph.node("Flatten", graph.node("MaxPool", image, kernel_shape=[2, 2], strides=[2, 2]))
    return graph.node("Softmax", graph.node("MatMul", flat, graph.weight(64 * 49, 91)))


def layers(graph):
    hidden = graph.node("Relu", graph.node("MatMul", chosen(graph, 2), graph.weight(256, 1024)))
    return graph.node("MatMul", hidden, graph.weight(1024, 256))


def attention(graph):
    """Of the chosen rows among each other."""
    rows = chosen(graph, 2)
    scores = graph.node("MatMul", graph.node("MatMul", rows, graph.weight(256, 256)), graph.node("Transpose", rows, perm=[1, 0]))
    return graph.node("MatMul", graph.node("Softmax", scores), rows)


def places(graph):
    return graph.node("Transpose", graph.node("NonZero", graph.node("Relu", "x")), perm=[1, 0])


def best(graph):
    """As many of the largest as are positive."""
    count = graph.node("ReduceSum", graph.node("Cast", graph.node("Greater", "x", graph.constant(0)), to=TensorProto.INT64), keepdims=0)
    return graph.node("TopK", "x", graph.node("Reshape", count, graph.ints(1)))


def unique(graph):
    return graph.node("Exp", graph.node("Unique", graph.node("Floor", graph.node("Mul", "x", graph.constant(20)))))


CASES = {
    "detector of boxes": (detector, [80, 64, 14, 14]),
    "layers of tokens": (layers, [600, 256]),
    "attention of tokens": (attention, [600, 256]),
    "places of a mask": (places, [512, 512]),
    "largest, as many as are positive": (best, [4096]),
    "exp of what is there": (unique, [4096]),
}


def main():
    parser = pairs.options_of(__doc__)
    options = parser.parse_args()
    table = pairs.Table(options)
    with tempfile.TemporaryDirectory() as folder:
        for name, (build, shape) in CASES.items():
            if options.names and not any(part in name for part in options.names):
                continue
            graph = pairs.Graph(opset=18)
            build(graph)
            table.measure(name, lambda: pairs.measured(graph, shape, options, pathlib.Path(folder)))
    table.print("models")


if __name__ == "__main__":
    main()
