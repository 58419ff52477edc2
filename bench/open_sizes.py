#!/usr/bin/env python3
"""Models with sizes that data decide, against ONNX Runtime in turns: the slowest beside it come first.

    bench/open_sizes.py [--threads 1] [--duration 0.5] [--below 0.85] [--onnxruntime libonnxruntime.so.1.32.0] [--results FILE] [PART-OF-A-NAME…]

Rows are chosen by the sign of their mean: about half of them. Models are compiled without a search. Needs the Python packages onnx and
numpy.
"""
import pathlib
import sys
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


def linear(graph, x, size, to):
    return graph.node("Add", graph.node("MatMul", x, graph.weight(size, to)), graph.weight(to))


def normed(graph, x):
    return graph.node("LayerNormalization", x, graph.weight(256), graph.weight(256))


def attended(graph, rows):
    """Rows of 256 that four heads have mixed."""
    def heads(x, perm):
        return graph.node("Transpose", graph.node("Reshape", linear(graph, x, 256, 256), graph.ints(-1, 4, 64)), perm=perm)

    scores = graph.node("Mul", graph.node("MatMul", heads(rows, [1, 0, 2]), heads(rows, [1, 2, 0])), graph.constant(0.125))
    mixed = graph.node("MatMul", graph.node("Softmax", scores), heads(rows, [1, 0, 2]))
    joined = graph.node("Reshape", graph.node("Transpose", mixed, perm=[1, 0, 2]), graph.ints(-1, 256))
    return normed(graph, graph.node("Add", rows, linear(graph, joined, 256, 256)))


def encoder(graph):
    """A transformer's block of the chosen tokens."""
    x = attended(graph, chosen(graph, 2))
    return normed(graph, graph.node("Add", x, linear(graph, graph.node("Relu", linear(graph, x, 256, 1024)), 1024, 256)))


def sound(graph):
    """Filters along as many frames as were chosen: what speech is made by."""
    x = graph.node("Unsqueeze", graph.node("Transpose", chosen(graph, 2), perm=[1, 0]), graph.ints(0))
    for channels, to, dilation in (80, 256, 1), (256, 256, 1), (256, 256, 3), (256, 80, 1):
        filtered = graph.node("Conv", x, graph.weight(to, channels, 3), graph.weight(to), pads=[dilation] * 2, dilations=[dilation])
        x = graph.node("LeakyRelu", filtered, alpha=0.1)
    return x


def speech(graph):
    """Phonemes for as many frames as they last, a block of a decoder (FastSpeech 2: Ren et al. 2021), and a stage of a vocoder."""
    mean = graph.node("ReduceMean", graph.node("Abs", "x"), graph.ints(1), keepdims=0)
    lasting = graph.node("Cast", graph.node("Mul", mean, graph.constant(7)), to=TensorProto.INT64)
    ends = graph.node("CumSum", lasting, graph.constant(0, "int64"))
    count = graph.node("ReduceSum", lasting, keepdims=0)
    frames = graph.node("Unsqueeze", graph.node("Range", graph.constant(0, "int64"), count, graph.constant(1, "int64")), graph.ints(1))
    before = graph.node("Cast", graph.node("LessOrEqual", ends, frames), to=TensorProto.INT64)
    rows = graph.node("Gather", "x", graph.node("ReduceSum", before, graph.ints(1), keepdims=0))
    rows = attended(graph, rows)
    x = graph.node("Unsqueeze", graph.node("Transpose", rows, perm=[1, 0]), graph.ints(0))
    x = graph.node("Relu", graph.node("Conv", x, graph.weight(1024, 256, 9), graph.weight(1024), pads=[4, 4]))
    x = graph.node("Conv", x, graph.weight(256, 1024, 1), graph.weight(256))
    x = graph.node("LeakyRelu", graph.node("Conv", x, graph.weight(128, 256, 7), graph.weight(128), pads=[3, 3]), alpha=0.1)
    x = graph.node("ConvTranspose", x, graph.weight(128, 64, 8), graph.weight(64), strides=[4], pads=[2, 2])
    for dilation in 1, 3:
        filtered = graph.node("Conv", graph.node("LeakyRelu", x, alpha=0.1), graph.weight(64, 64, 3), graph.weight(64), pads=[dilation] * 2, dilations=[dilation])
        x = graph.node("Add", x, filtered)
    return graph.node("Tanh", graph.node("Conv", x, graph.weight(1, 64, 7), pads=[3, 3]))


def crop(graph):
    """As many rows and columns of an image as the data say."""
    count = graph.node("ReduceSum", graph.node("Cast", graph.node("Greater", "x", graph.constant(0)), to=TensorProto.INT64), keepdims=0)
    size = graph.node("Reshape", graph.node("Div", count, graph.constant(64 * 40, "int64")), graph.ints(1))
    cropped = graph.node("Slice", "x", graph.ints(0, 0), graph.node("Concat", size, size, axis=0), graph.ints(2, 3))
    x = graph.node("Relu", graph.node("Conv", cropped, graph.weight(64, 64, 3, 3), graph.weight(64), pads=[1] * 4))
    return graph.node("GlobalAveragePool", graph.node("Conv", x, graph.weight(128, 64, 1, 1)))


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
    "transformer block of tokens": (encoder, [600, 256]),
    "filters along frames": (sound, [400, 80]),
    "speech of phonemes": (speech, [60, 256]),
    "convolutions of a crop": (crop, [1, 64, 64, 64]),
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
    return table.print("models")


if __name__ == "__main__":
    sys.exit(main())
