#!/usr/bin/env python3
"""Many operators of many shapes against ONNX Runtime, one model each: a line an operator, the slowest beside it first.

    bench/sweep.py [--threads 1] [PART-OF-A-NAME…]

bench/operators.py is the careful table; this one looks for schedules that are far off, in what models seldom hold. Times are minima of a fifth
of a second; models are compiled without a search (--level 2). Needs Python's onnx, numpy and onnxruntime.

ratio: ONNX Runtime's time / ours.
"""

import argparse
import json
import math
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ISOMER = pathlib.Path(__file__).resolve().parent.parent / "build" / "bin" / "isomer"
node = helper.make_node
random = np.random.default_rng(0)
CASES = []  # name, nodes, shapes of inputs, outputs, opset, constants


def normal(*shape):
    return (random.standard_normal(shape) / np.sqrt(max(1, np.prod(shape[1:])))).astype("f4")


def op(name, nodes, inputs, outs=("y",), opset=20, **constants):
    CASES.append((name, nodes, inputs, outs, opset, constants))


def conv(name, x, w, **attributes):
    op(name, [node("Conv", ["x", "w"], ["y"], **attributes)], {"x": x}, w=normal(*w))


def conv_transpose(name, x, w, **attributes):
    op(name, [node("ConvTranspose", ["x", "w"], ["y"], **attributes)], {"x": x}, w=normal(*w))


def pool(name, kind, x, **attributes):
    op(name, [node(kind, ["x"], ["y"], **attributes)], {"x": x})


def matmul(name, a, b, is_constant=True):
    if is_constant:
        op(name, [node("MatMul", ["x", "w"], ["y"])], {"x": a}, w=normal(*b))
    else:
        op(name, [node("MatMul", ["x", "z"], ["y"])], {"x": a, "z": b})


def recurrent(kind, gates, steps, batch, size, hidden, directions=1):
    name = f"{kind} t{steps} b{batch} h{hidden} d{directions}"
    nodes = [node(kind, ["x", "w", "r", "b"], ["y"], hidden_size=hidden, direction="bidirectional" if directions == 2 else "forward")]
    op(
        name,
        nodes,
        {"x": [steps, batch, size]},
        w=normal(directions, gates * hidden, size),
        r=normal(directions, gates * hidden, hidden),
        b=normal(directions, 2 * gates * hidden),
    )


conv("conv1d 80->384 k3", [1, 80, 3000], [384, 80, 3], pads=[1, 1])
conv("conv1d 512->1 k7", [1, 512, 4000], [1, 512, 7], pads=[3, 3])
conv("conv1d 1->64 k400 s160", [1, 1, 48000], [64, 1, 400], strides=[160])
conv("conv1d dw 256 k31", [1, 256, 1000], [256, 1, 31], pads=[15, 15], group=256)
conv("conv1d 32->32 k2 d8", [1, 32, 8000], [32, 32, 2], dilations=[8])
conv("conv 1->1 11x11", [1, 1, 512, 512], [1, 1, 11, 11], pads=[5] * 4)
conv("conv 3->3 5x5", [1, 3, 512, 512], [3, 3, 5, 5], pads=[2] * 4)
conv("conv 1->32 3x3", [1, 1, 256, 256], [32, 1, 3, 3], pads=[1] * 4)
conv("conv 128->2 1x1", [1, 128, 128, 128], [2, 128, 1, 1])
conv("conv 20->20 3x3", [1, 20, 128, 128], [20, 20, 3, 3], pads=[1] * 4)
conv("conv 64->100 3x3 s2", [1, 64, 57, 57], [100, 64, 3, 3], strides=[2, 2], pads=[1] * 4)
conv("conv 256->256 3x3 d2", [1, 256, 32, 32], [256, 256, 3, 3], pads=[2] * 4, dilations=[2, 2])
conv("conv 64->64 7x1", [1, 64, 64, 64], [64, 64, 7, 1], pads=[3, 0, 3, 0])
conv("conv 64->64 1x7", [1, 64, 64, 64], [64, 64, 1, 7], pads=[0, 3, 0, 3])
conv("conv 512->18 1x1 13", [1, 512, 13, 13], [18, 512, 1, 1])
conv("conv b8 64->64 3x3 28", [8, 64, 28, 28], [64, 64, 3, 3], pads=[1] * 4)
conv("conv 6x6 s2 3->32", [1, 3, 320, 320], [32, 3, 6, 6], strides=[2, 2], pads=[2] * 4)
conv("patchify 16x16", [1, 3, 224, 224], [768, 3, 16, 16], strides=[16, 16])
conv("patchify 4x4", [1, 3, 224, 224], [96, 3, 4, 4], strides=[4, 4])
conv("dw 7x7 96", [1, 96, 56, 56], [96, 1, 7, 7], pads=[3] * 4, group=96)
conv("dw 3x3 d2 192", [1, 192, 28, 28], [192, 1, 3, 3], pads=[2] * 4, dilations=[2, 2], group=192)
conv("dw 5x5 s2 40", [1, 40, 57, 57], [40, 1, 5, 5], pads=[2] * 4, strides=[2, 2], group=40)
conv("dw mult 2", [1, 32, 56, 56], [64, 1, 3, 3], pads=[1] * 4, group=32)
conv("dw 11x11 64", [1, 64, 56, 56], [64, 1, 11, 11], pads=[5] * 4, group=64)
conv("grouped 8 64", [1, 64, 56, 56], [64, 8, 3, 3], pads=[1] * 4, group=8)
conv("grouped 3 96->96", [1, 96, 28, 28], [96, 32, 3, 3], pads=[1] * 4, group=3)
conv("grouped 4 1x1", [1, 256, 28, 28], [256, 64, 1, 1], group=4)
conv("conv3d 16->32", [1, 16, 8, 32, 32], [32, 16, 3, 3, 3], pads=[1] * 6)
conv("conv3d 3->64 7x7x3", [1, 3, 8, 56, 56], [64, 3, 3, 7, 7], pads=[1, 3, 3, 1, 3, 3], strides=[1, 2, 2])
conv("conv3d dw", [1, 64, 8, 28, 28], [64, 1, 3, 3, 3], pads=[1] * 6, group=64)
conv("conv3d 32->1", [1, 32, 8, 32, 32], [1, 32, 3, 3, 3], pads=[1] * 6)
conv_transpose("convT 2x2 s2 128->64", [1, 128, 32, 32], [128, 64, 2, 2], strides=[2, 2])
conv_transpose("convT 3x3 s2 64->32", [1, 64, 64, 64], [64, 32, 3, 3], strides=[2, 2], pads=[1] * 4, output_padding=[1, 1])
conv_transpose("convT 4x4 s4 32->1", [1, 32, 32, 32], [32, 1, 4, 4], strides=[4, 4])
conv_transpose("convT1d k16 s8 128->64", [1, 128, 200], [128, 64, 16], strides=[8], pads=[4, 4])
conv_transpose("convT dw", [1, 64, 32, 32], [64, 1, 4, 4], strides=[2, 2], pads=[1] * 4, group=64)
conv_transpose("convT 3d", [1, 32, 8, 16, 16], [32, 16, 2, 2, 2], strides=[2, 2, 2])
conv_transpose("convT 9x9 16->3", [1, 16, 64, 64], [16, 3, 9, 9], strides=[3, 3], pads=[3] * 4)
pool("maxpool 5x5 s1 256", "MaxPool", [1, 256, 20, 20], kernel_shape=[5, 5], pads=[2] * 4)
pool("maxpool 2x2 64", "MaxPool", [1, 64, 112, 112], kernel_shape=[2, 2], strides=[2, 2])
pool("maxpool 3x3 s2 64", "MaxPool", [1, 64, 112, 112], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
pool("maxpool 13x13 s1", "MaxPool", [1, 256, 13, 13], kernel_shape=[13, 13], pads=[6] * 4)
pool("avgpool 3x3 s1 incl", "AveragePool", [1, 192, 35, 35], kernel_shape=[3, 3], pads=[1] * 4)
pool("avgpool 8x8", "AveragePool", [1, 1280, 8, 8], kernel_shape=[8, 8])
pool("maxpool1d", "MaxPool", [1, 64, 16000], kernel_shape=[4], strides=[4])
pool("maxpool3d", "MaxPool", [1, 64, 8, 56, 56], kernel_shape=[1, 2, 2], strides=[1, 2, 2])
pool("lppool", "LpPool", [1, 32, 64, 64], kernel_shape=[3, 3], strides=[2, 2])
pool("gap", "GlobalAveragePool", [1, 960, 7, 7])
pool("gmp", "GlobalMaxPool", [1, 512, 14, 14])
for axis in (1, 2, -1):
    op(f"softmax axis {axis} 21x64x64", [node("Softmax", ["x"], ["y"], axis=axis)], {"x": [1, 21, 64, 64]})
    op(f"logsoftmax axis {axis}", [node("LogSoftmax", ["x"], ["y"], axis=axis)], {"x": [8, 100, 128]})
op("softmax 32000", [node("Softmax", ["x"], ["y"], axis=-1)], {"x": [16, 32000]})
op("softmax 8x7", [node("Softmax", ["x"], ["y"], axis=-1)], {"x": [4096, 7]})
for k, ax in (
    ("ReduceMean", [2, 3]),
    ("ReduceSum", [1]),
    ("ReduceMax", [0]),
    ("ReduceMean", [-1]),
    ("ReduceL2", [1]),
    ("ReduceLogSumExp", [-1]),
    ("ReduceProd", [2]),
    ("ReduceMin", [1, 2]),
):
    op(f"{k} {ax}", [node(k, ["x", "ax"], ["y"], keepdims=1)], {"x": [8, 64, 32, 32]}, ax=np.array(ax, "i8"))
op("argmax 1", [node("ArgMax", ["x"], ["y"], axis=1)], {"x": [1, 21, 256, 256]})
op("argmax -1", [node("ArgMax", ["x"], ["y"], axis=-1)], {"x": [128, 32000]})
op("cumsum", [node("CumSum", ["x", "a"], ["y"])], {"x": [64, 4096]}, a=np.array(1, "i8"))
op("cumsum 0", [node("CumSum", ["x", "a"], ["y"])], {"x": [512, 512]}, a=np.array(0, "i8"))
op("layernorm 384", [node("LayerNormalization", ["x", "s", "b"], ["y"])], {"x": [1, 197, 384]}, s=normal(384), b=normal(384))
op("instnorm", [node("InstanceNormalization", ["x", "s", "b"], ["y"])], {"x": [1, 64, 128, 128]}, s=normal(64), b=normal(64))
op(
    "batchnorm",
    [node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"])],
    {"x": [1, 64, 112, 112]},
    s=normal(64),
    b=normal(64),
    m=normal(64),
    v=np.abs(normal(64)) + 1,
)
op("groupnorm", [node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=32)], {"x": [1, 256, 64, 64]}, opset=21, s=normal(256), b=normal(256))
op("LRN", [node("LRN", ["x"], ["y"], size=5)], {"x": [1, 96, 55, 55]})
op("lpnorm", [node("LpNormalization", ["x"], ["y"], axis=1)], {"x": [128, 512]})
op(
    "layernorm channels-first",
    [
        node("ReduceMean", ["x", "ax"], ["m"]),
        node("Sub", ["x", "m"], ["d"]),
        node("Mul", ["d", "d"], ["q"]),
        node("ReduceMean", ["q", "ax"], ["v"]),
        node("Add", ["v", "e"], ["ve"]),
        node("Sqrt", ["ve"], ["s"]),
        node("Div", ["d", "s"], ["y"]),
    ],
    {"x": [1, 96, 56, 56]},
    opset=18,
    ax=np.array([1], "i8"),
    e=np.array(1e-6, "f4"),
)
for k in (
    "Gelu",
    "Mish",
    "Softplus",
    "Sigmoid",
    "Tanh",
    "Erf",
    "Exp",
    "Log",
    "Sqrt",
    "HardSwish",
    "Elu",
    "Selu",
    "Softsign",
    "Sin",
    "Cos",
    "Abs",
    "Floor",
    "Round",
    "Reciprocal",
):
    op(k, [node(k, ["x"], ["y"])], {"x": [1, 64, 56, 56]})
op("silu", [node("Sigmoid", ["x"], ["s"]), node("Mul", ["x", "s"], ["y"])], {"x": [1, 64, 56, 56]})
op("pow 2", [node("Pow", ["x", "p"], ["y"])], {"x": [64, 4096]}, p=np.array(2, "f4"))
op("pow x", [node("Abs", ["x"], ["a"]), node("Pow", ["a", "p"], ["y"])], {"x": [64, 4096]}, p=np.array(1.7, "f4"))
op("prelu", [node("PRelu", ["x", "s"], ["y"])], {"x": [1, 64, 56, 56]}, s=normal(64, 1, 1))
op("clip", [node("Clip", ["x", "a", "b"], ["y"])], {"x": [1, 64, 56, 56]}, a=np.array(0, "f4"), b=np.array(6, "f4"))
op("mod", [node("Mod", ["x", "p"], ["y"], fmod=1)], {"x": [64, 1024]}, p=np.array(0.7, "f4"))
for p in ([0, 2, 3, 1], [0, 3, 1, 2], [3, 2, 1, 0], [1, 0, 2, 3], [0, 1, 3, 2], [2, 0, 1, 3]):
    op(f"transpose {p}", [node("Transpose", ["x"], ["y"], perm=p)], {"x": [4, 32, 64, 48]})
op("transpose 2d odd", [node("Transpose", ["x"], ["y"])], {"x": [1001, 777]})
op("transpose 6d", [node("Transpose", ["x"], ["y"], perm=[0, 3, 1, 4, 2, 5])], {"x": [1, 8, 7, 8, 7, 96]})
op("concat 1", [node("Concat", ["x", "z"], ["y"], axis=1)], {"x": [1, 64, 56, 56], "z": [1, 32, 56, 56]})
op("concat -1", [node("Concat", ["x", "z"], ["y"], axis=-1)], {"x": [56, 56, 30], "z": [56, 56, 33]})
op("split", [node("Split", ["x"], ["a", "b", "y"], axis=1, num_outputs=3)], {"x": [1, 96, 56, 56]}, outs=("a", "b", "y"))
op(
    "slice step",
    [node("Slice", ["x", "s", "e", "a", "t"], ["y"])],
    {"x": [1, 64, 112, 112]},
    s=np.array([0, 0], "i8"),
    e=np.array([112, 112], "i8"),
    a=np.array([2, 3], "i8"),
    t=np.array([2, 2], "i8"),
)
op(
    "slice rev",
    [node("Slice", ["x", "s", "e", "a", "t"], ["y"])],
    {"x": [64, 4096]},
    s=np.array([-1], "i8"),
    e=np.array([-9999], "i8"),
    a=np.array([1], "i8"),
    t=np.array([-1], "i8"),
)
for m in ("constant", "reflect", "edge", "wrap"):
    op("pad " + m, [node("Pad", ["x", "p"], ["y"], mode=m)], {"x": [1, 64, 56, 56]}, p=np.array([0, 0, 3, 3, 0, 0, 3, 3], "i8"))
for m in ("nearest", "linear", "cubic"):
    op("resize x2 " + m, [node("Resize", ["x", "", "s"], ["y"], mode=m)], {"x": [1, 64, 32, 32]}, s=np.array([1, 1, 2, 2], "f4"))
op("resize down linear", [node("Resize", ["x", "", "", "z"], ["y"], mode="linear")], {"x": [1, 3, 480, 640]}, z=np.array([1, 3, 224, 224], "i8"))
op(
    "resize 1ch nearest x4",
    [node("Resize", ["x", "", "s"], ["y"], mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric")],
    {"x": [1, 1, 128, 128]},
    s=np.array([1, 1, 4, 4], "f4"),
)
op(
    "resize align",
    [node("Resize", ["x", "", "", "z"], ["y"], mode="linear", coordinate_transformation_mode="align_corners")],
    {"x": [1, 21, 28, 28]},
    z=np.array([1, 21, 224, 224], "i8"),
)
op("d2s", [node("DepthToSpace", ["x"], ["y"], blocksize=2)], {"x": [1, 64, 64, 64]})
op("d2s 3 crd", [node("DepthToSpace", ["x"], ["y"], blocksize=3, mode="CRD")], {"x": [1, 27, 64, 64]})
op("s2d", [node("SpaceToDepth", ["x"], ["y"], blocksize=2)], {"x": [1, 16, 128, 128]})
op("expand", [node("Expand", ["x", "s"], ["y"])], {"x": [64, 1, 56]}, s=np.array([64, 56, 56], "i8"))
op("tile", [node("Tile", ["x", "s"], ["y"])], {"x": [8, 64, 32]}, s=np.array([2, 3, 4], "i8"))
op("where", [node("Greater", ["x", "z"], ["c"]), node("Where", ["c", "x", "z"], ["y"])], {"x": [64, 4096], "z": [64, 4096]})
op("trilu", [node("Trilu", ["x"], ["y"])], {"x": [16, 256, 256]})
op("gather 0", [node("Gather", ["w", "i"], ["y"])], {"i": [128]}, w=normal(30522, 768))
op("gather 1", [node("Gather", ["x", "i"], ["y"], axis=1)], {"x": [64, 512, 16]}, i=random.integers(0, 512, 300))
op("gatherelements", [node("GatherElements", ["x", "i"], ["y"], axis=1)], {"x": [64, 1024]}, i=random.integers(0, 1024, (64, 512)))
op("gathernd", [node("GatherND", ["x", "i"], ["y"])], {"x": [64, 64, 32]}, i=random.integers(0, 64, (1000, 2)))
op("scatternd", [node("ScatterND", ["x", "i", "u"], ["y"])], {"x": [1024, 64], "u": [300, 64]}, i=random.permutation(1024)[:300].reshape(300, 1))
op("scatterel add", [node("ScatterElements", ["x", "i", "u"], ["y"], axis=0, reduction="add")], {"x": [1024, 64], "u": [300, 64]}, i=random.integers(0, 1024, (300, 64)))
op("onehot", [node("OneHot", ["i", "d", "v"], ["y"])], {"i": [1024]}, d=np.array(100, "i8"), v=np.array([0, 1], "f4"))
op("topk 100", [node("TopK", ["x", "k"], ["y", "i"])], {"x": [1, 8400]}, outs=("y", "i"), k=np.array([100], "i8"))
op("topk rows", [node("TopK", ["x", "k"], ["y", "i"])], {"x": [128, 1000]}, outs=("y", "i"), k=np.array([5], "i8"))
matmul("product 384x768x2", [1, 384, 768], [768, 2])
matmul("product 1x4096x4096", [1, 4096], [4096, 4096])
matmul("product 8x1024x1024", [8, 1024], [1024, 1024])
matmul("product 100x100x100", [100, 100], [100, 100])
matmul("product 3x3 batched", [1000, 3, 3], [1000, 3, 3], False)
matmul("product batched qk", [8, 12, 64, 64], [8, 12, 64, 64], False)
matmul("product 4096x64x16", [4096, 64], [64, 16])
matmul("product x64x5 dyn", [512, 64], [64, 5], False)
matmul("product outer", [512, 1], [1, 512], False)
matmul("product vec", [512, 512], [512], False)
matmul("product 17x33x65", [17, 33], [33, 65])
op("gemm tA", [node("Gemm", ["x", "w", "b"], ["y"], transA=1)], {"x": [512, 64]}, w=normal(512, 256), b=normal(256))
op("gemm tB", [node("Gemm", ["x", "w", "b"], ["y"], transB=1)], {"x": [64, 512]}, w=normal(256, 512), b=normal(256))
for e, a, b in (
    ("bhqd,bhkd->bhqk", [2, 8, 128, 64], [2, 8, 128, 64]),
    ("bij,bjk->bik", [8, 64, 64], [8, 64, 64]),
    ("bqhd,bkhd->bhqk", [2, 128, 8, 64], [2, 128, 8, 64]),
    ("ij,ij->i", [512, 512], [512, 512]),
    ("bnd,de->bne", [4, 128, 256], [256, 512]),
):
    op("einsum " + e, [node("Einsum", ["x", "z"], ["y"], equation=e)], {"x": a, "z": b})
recurrent("LSTM", 4, 32, 1, 128, 256)
recurrent("LSTM", 4, 32, 16, 128, 256, 2)
recurrent("GRU", 3, 64, 1, 80, 128)
recurrent("GRU", 3, 16, 32, 64, 512)
recurrent("RNN", 1, 64, 4, 64, 128)
recurrent("LSTM", 4, 100, 1, 40, 64, 2)
op("gridsample", [node("GridSample", ["x", "g"], ["y"], mode="linear")], {"x": [1, 32, 64, 64], "g": [1, 64, 64, 2]})
op("mean4", [node("Mean", ["x", "z"], ["y"])], {"x": [64, 4096], "z": [64, 4096]})
op("max2", [node("Max", ["x", "z"], ["y"])], {"x": [64, 4096], "z": [1, 4096]})
op("add bcast mid", [node("Add", ["x", "z"], ["y"])], {"x": [64, 56, 56], "z": [64, 1, 56]})
op("mul chan", [node("Mul", ["x", "z"], ["y"])], {"x": [1, 256, 28, 28], "z": [1, 256, 1, 1]})
op("cast i", [node("Cast", ["x"], ["y"], to=TensorProto.INT64)], {"x": [64, 4096]})
op("range add", [node("Add", ["x", "z"], ["y"])], {"x": [1, 1, 4096], "z": [64, 16, 1]})
op(
    "attention",
    [node("MatMul", ["q", "k"], ["s"]), node("Mul", ["s", "c"], ["t"]), node("Softmax", ["t"], ["p"], axis=-1), node("MatMul", ["p", "v"], ["y"])],
    {"q": [1, 8, 512, 64], "k": [1, 8, 64, 512], "v": [1, 8, 512, 64]},
    c=np.array(0.125, "f4"),
)
op(
    "se block",
    [
        node("GlobalAveragePool", ["x"], ["g"]),
        node("Conv", ["g", "w1"], ["h"]),
        node("Relu", ["h"], ["r"]),
        node("Conv", ["r", "w2"], ["e"]),
        node("Sigmoid", ["e"], ["s"]),
        node("Mul", ["x", "s"], ["y"]),
    ],
    {"x": [1, 96, 56, 56]},
    w1=normal(24, 96, 1, 1),
    w2=normal(96, 24, 1, 1),
)
op(
    "shuffle",
    [node("Reshape", ["x", "s1"], ["a"]), node("Transpose", ["a"], ["b"], perm=[0, 2, 1, 3, 4]), node("Reshape", ["b", "s2"], ["y"])],
    {"x": [1, 116, 28, 28]},
    s1=np.array([1, 2, 58, 28, 28], "i8"),
    s2=np.array([1, 116, 28, 28], "i8"),
)
op(
    "window partition",
    [node("Reshape", ["x", "s1"], ["a"]), node("Transpose", ["a"], ["b"], perm=[0, 1, 3, 2, 4, 5]), node("Reshape", ["b", "s2"], ["y"])],
    {"x": [1, 56, 56, 96]},
    s1=np.array([1, 8, 7, 8, 7, 96], "i8"),
    s2=np.array([64, 49, 96], "i8"),
)
op(
    "roll",
    [node("Slice", ["x", "s", "e", "a"], ["p"]), node("Slice", ["x", "s0", "s", "a"], ["q"]), node("Concat", ["p", "q"], ["y"], axis=1)],
    {"x": [1, 56, 56, 96]},
    s=np.array([3], "i8"),
    e=np.array([999], "i8"),
    a=np.array([1], "i8"),
    s0=np.array([0], "i8"),
)
op(
    "rope",
    [
        node("Slice", ["x", "z", "h", "a"], ["p"]),
        node("Slice", ["x", "h", "e", "a"], ["q"]),
        node("Neg", ["q"], ["n"]),
        node("Concat", ["n", "p"], ["r"], axis=-1),
        node("Mul", ["x", "c"], ["xc"]),
        node("Mul", ["r", "d"], ["rd"]),
        node("Add", ["xc", "rd"], ["y"]),
    ],
    {"x": [1, 32, 128, 64]},
    z=np.array([0], "i8"),
    h=np.array([32], "i8"),
    e=np.array([64], "i8"),
    a=np.array([3], "i8"),
    c=normal(128, 64),
    d=normal(128, 64),
)
op(
    "rmsnorm",
    [
        node("Mul", ["x", "x"], ["q"]),
        node("ReduceMean", ["q", "ax"], ["m"]),
        node("Add", ["m", "e"], ["me"]),
        node("Sqrt", ["me"], ["s"]),
        node("Div", ["x", "s"], ["n"]),
        node("Mul", ["n", "w"], ["y"]),
    ],
    {"x": [1, 128, 768]},
    opset=18,
    ax=np.array([-1], "i8"),
    e=np.array(1e-6, "f4"),
    w=normal(768),
)
op(
    "quant matmul",
    [
        node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        node("MatMulInteger", ["q", "w", "z"], ["i"]),
        node("Cast", ["i"], ["c"], to=1),
        node("Mul", ["c", "s"], ["y"]),
    ],
    {"x": [128, 768]},
    w=random.integers(-128, 127, (768, 768)).astype("i1"),
)
op(
    "qdq conv",
    [
        node("QuantizeLinear", ["x", "sx", "zx"], ["qx"]),
        node("DequantizeLinear", ["qx", "sx", "zx"], ["dx"]),
        node("DequantizeLinear", ["w", "sw", "zw"], ["dw"]),
        node("Conv", ["dx", "dw"], ["c"], pads=[1] * 4),
        node("QuantizeLinear", ["c", "sx", "zx"], ["qy"]),
        node("DequantizeLinear", ["qy", "sx", "zx"], ["y"]),
    ],
    {"x": [1, 64, 28, 28]},
    sx=np.array(0.05, "f4"),
    zx=np.array(128, "u1"),
    sw=np.array(0.01, "f4"),
    zw=np.array(0, "i1"),
    w=random.integers(-128, 127, (64, 64, 3, 3)).astype("i1"),
)


def inputs_of(shapes):
    feed = {}
    for name, shape in shapes.items():
        if name == "i":
            feed[name] = random.integers(0, 90, shape)
        else:
            feed[name] = np.clip(normal(*shape), -1, 1) if name == "g" else 3 * normal(*shape)
    return feed


def measured(case, options, folder):
    name, nodes, shapes, outs, opset, constants = case
    infos = [helper.make_tensor_value_info(k, TensorProto.INT64 if k == "i" else TensorProto.FLOAT, shape) for k, shape in shapes.items()]
    graph = helper.make_graph(
        nodes, "operator", infos, [helper.make_empty_tensor_value_info(o) for o in outs], [numpy_helper.from_array(v, k) for k, v in constants.items()]
    )
    model = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9))
    onnx.save(model, folder / "model.onnx")
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = options.threads
    session_options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), session_options, providers=["CPUExecutionProvider"])

    def run(*command):
        done = subprocess.run([ISOMER, *command, "--threads", str(options.threads)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return done.stdout

    run("compile", folder / "model.onnx", "-o", folder / "model.iso", "--level", "2", "--no-check", "-q")
    ours = json.loads(run("bench", folder / "model.iso", "--json", "--duration", "0.2"))["min_ms"]
    feed, times, start = inputs_of(shapes), [], time.perf_counter()
    session.run(None, feed)
    while time.perf_counter() - start < 0.2 or len(times) < 3:
        begin = time.perf_counter()
        session.run(None, feed)
        times.append(1e3 * (time.perf_counter() - begin))
    return ours, min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if options.parts and not any(part in case[0] for part in options.parts):
                continue
            try:
                ours, theirs = measured(case, options, pathlib.Path(folder))
                rows.append((theirs / ours, case[0], ours, theirs))
            except Exception as error:  # of ONNX Runtime, too
                print(f"{case[0]}: {str(error).splitlines()[0]}")
    for ratio, name, ours, theirs in sorted(rows):
        print(f"{ratio:7.2f}  {name}: {1e3 * ours:.1f} us, ONNX Runtime {1e3 * theirs:.1f}")
    if rows:
        print(f"geometric mean of {len(rows)}: {math.exp(sum(math.log(row[0]) for row in rows) / len(rows)):.3f}")


if __name__ == "__main__":
    main()
