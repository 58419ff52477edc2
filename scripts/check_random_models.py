#!/usr/bin/env python3
"""Optimizes random valid models: whatever `isomer optimize` writes must be accepted and give the same.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install onnx onnxruntime numpy
    /tmp/peers/bin/python scripts/check_random_models.py [--count 200] [--seed 1] [--only I] [--keep FOLDER]
        [--isomer build/bin/isomer] [--level 2] [--time 1s] [--fp turns] [--proof-every 5] [--jobs 1] [--no-run]
        [--results FILE]

Model I of a seed is always the same; `--only I` makes it again. A model that onnx's checker (with shape inference) or
ONNX Runtime refuses, be it on other numbers, or whose outputs are not finite, is replaced by another. In every second
of those that are left special values stand among the weights. For each:

  optimize  `isomer optimize` exits with 0
  verify    `isomer verify` accepts its proof, of every K-th model with `--proof-every K`
  checker   onnx's checker accepts what it writes, with shape inference
  runtime   so does ONNX Runtime, and its outputs are those of the input model, on values of each kind of KINDS
  run       `isomer run` of the model gives them too ("unsupported" is counted, not a failure)

`--fp turns`: --fp strict, reassociate and fast, model by model. What is the same, in ONNX Runtime without its own
optimizations on one thread:

  strict       the same bits, on all values; any NaN is as good as another (processors choose among payloads), and what
               ONNX Runtime alone makes of -0 (Where) and NaN (MaxPool), or a cast of a float that is no such integer,
               is counted
  reassociate  where all values on the way are finite and far from overflow: integers and bools exactly, floats within
               1e-4 of the largest absolute value. Beyond that, 16 times as far as the input model's own outputs move
               where noise of a few units in the last place meets what its inexact nodes read and give. An output that
               jumps then (Ceil of a DFT that is 2 but for rounding) is decided by rounding, and counted. Of other
               values nothing is promised; what differs there is counted
  fast         as reassociate; and where NaN or infinity is found, overflow may have lost the element

A failure is kept in FOLDER as SEED-I.onnx with SEED-I.npz, and cut to the nodes before one value where it still fails.
FILE gets a line of JSON a model, and models that it has, checked in the same way, are not checked again: a run that was
stopped goes on. How many models each program made is said in the end. Exit status 1 where any failed.
"""

import argparse
import collections
import json
import multiprocessing
import multiprocessing.connection
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOLERANCE = 1e-4
RUN_TOLERANCE = 1e-3
GROWTH = 16
NOISES = 8
MODES = ("strict", "reassociate", "fast")
MOST_ELEMENTS = 4096
MOST_SECONDS = 300
FLOAT, INT, BOOL = np.float32, np.int64, np.bool_


class Unfit(Exception):
    """No node like this fits here."""


class Runtime:
    """ONNX Runtime with a model, node after node."""

    def __init__(self, model):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                                    providers=["CPUExecutionProvider"])

    def outputs(self, feeds):
        return self.session.run(None, {each.name: feeds[each.name] for each in self.session.get_inputs()})


def evaluated(model, feeds):
    return Runtime(model).outputs(feeds)


def value_info(name, array, dims=None):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), dims or array.shape)


class Maker:
    """A model in the making; every value is known by its array."""

    def __init__(self, rng):
        self.rng = rng
        self.opset = int(rng.integers(13, 22))
        self.nodes, self.inputs, self.constants, self.values, self.shown = [], [], [], {}, set()

    # Choices

    def chance(self, probability):
        return self.rng.random() < probability

    def whole(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def one_of(self, items):
        items = list(items)
        if not items:
            raise Unfit
        return items[self.rng.integers(len(items))]

    def pick(self, dtype=None, rank=None, least_rank=0, fits=lambda array: True):
        """A value of the element type and rank."""
        return self.one_of(
            name for name, array in self.values.items()
            if (dtype is None or array.dtype == dtype) and (rank is None or array.ndim == rank) and
            array.ndim >= least_rank and array.size > 0 and fits(array))

    def shape(self, name):
        return self.values[name].shape

    def axis(self, name):
        rank = len(self.shape(name))
        axis = self.whole(0, rank - 1)
        return axis if self.chance(0.5) else axis - rank

    # Parts

    def name(self):
        return f"v{len(self.values) + len(self.constants)}"

    def array(self, dtype, shape):
        if dtype == FLOAT:
            return self.rng.normal(size=shape).astype(FLOAT)
        return self.rng.integers(0, 2 if dtype == BOOL else 6, size=shape).astype(dtype)

    def input(self, array):
        name = self.name()
        self.values[name] = array
        self.inputs.append(name)
        return name

    def constant(self, array, dtype=None):
        name = self.name()
        array = np.asarray(array, dtype=dtype)
        self.values[name] = array
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def given(self, array, dtype=None):
        """A constant or an input."""
        array = np.asarray(array, dtype=dtype)
        return self.constant(array) if self.chance(0.6) else self.input(array)

    def ints(self, values):
        return self.constant(values, INT)

    def node(self, op, inputs, outputs=1, omitted=(), **attributes):
        """Adds a node if ONNX Runtime gives its outputs; those `omitted` are left out of the list."""
        names = []
        for k in range(outputs):
            names.append("" if k in omitted else f"n{len(self.nodes)}_{k}")
        while names and not names[-1]:
            names.pop()
        made = helper.make_node(op, inputs, names, name=f"{op}_{len(self.nodes)}", **attributes)
        graph = helper.make_graph(
            [made], "one", [value_info(each, self.values[each]) for each in dict.fromkeys(inputs)
                            if each and not self.is_constant(each)],
            [onnx.ValueInfoProto(name=each) for each in names if each],
            [each for each in self.constants if each.name in inputs])
        try:
            arrays = evaluated(self.model_of(graph), self.values)
        except Exception as error:
            raise Unfit from error
        arrays = [np.asarray(each) for each in arrays]
        if any(each.size > MOST_ELEMENTS or (each.dtype.kind == "f" and not np.isfinite(each).all()) or
               (each.dtype.kind == "f" and each.size and np.abs(each).max() > 1e4) for each in arrays):
            raise Unfit
        self.nodes.append(made)
        shown = [each for each in names if each]
        self.values.update(zip(shown, arrays))
        return shown[0]

    def is_constant(self, name):
        return any(each.name == name for each in self.constants)

    def model_of(self, graph):
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)

    # The whole

    def model(self, free=()):
        """`free` names sizes of inputs."""
        read = {each for node in self.nodes for each in node.input}
        made = [[each for each in node.output if each in self.values] for node in self.nodes]
        # What nobody reads is an output, other outputs of its node mostly stay unread.
        outputs = [names[0] for names in made if names and names[0] not in read]
        outputs += [each for names in made for each in names if each not in outputs and each in self.shown]

        def dims(name):
            return [free.get(size, size) for size in self.shape(name)] if free else self.shape(name)

        graph = helper.make_graph(
            self.nodes, "random", [value_info(each, self.values[each], dims(each)) for each in self.inputs],
            [value_info(each, self.values[each], [None] * self.values[each].ndim if free else None)
             for each in outputs], self.constants)
        return self.model_of(graph)

    def drawn_again(self, sizes=()):
        """Other inputs that the model should run on; of other sizes where `sizes` has them."""
        feeds = {}
        for name in self.inputs:
            array = self.values[name]
            shape = [sizes.get(size, size) for size in array.shape] if sizes else array.shape
            if array.dtype == FLOAT:
                feeds[name] = self.array(FLOAT, shape)
            else:
                low, high = min(1, int(array.min())), int(array.max())
                feeds[name] = self.rng.integers(low, high + 1, size=shape).astype(array.dtype)
        return feeds

    def free_dims(self):
        """Some sizes of inputs that the model does not depend on, with names."""
        sizes = sorted({size for each in self.inputs for size in self.shape(each) if size > 1})
        free = {size: "?" if self.chance(0.3) else f"d{size}" for size in sizes if self.chance(0.1)}
        try:
            evaluated(self.model(free), self.drawn_again({size: 4 for size in free}))
        except Exception:
            return {}
        return free


# Operators: how a node of each is made. A function picks inputs and adds a node; Unfit where nothing fits.

def pointwise(op, dtype=FLOAT, **attributes):
    return lambda m: m.node(op, [m.pick(dtype)], **attributes)


def broadcast(op, dtype=FLOAT):
    def make(m):
        a = m.pick(dtype)
        shape = [size if m.chance(0.7) else 1 for size in m.shape(a)][m.whole(0, len(m.shape(a))):]
        b = m.pick(dtype) if m.chance(0.6) else m.given(m.array(dtype, shape))
        return m.node(op, [a, b] if m.chance(0.7) else [b, a])
    return make


def integer_division(op, **attributes):
    """By a constant, an input, or what nodes compute."""
    def make(m):
        a = m.pick(INT)
        kind = m.whole(0, 3)
        if kind == 0:
            b = m.given(m.rng.integers(1, 5, size=m.shape(a)), INT)
        elif kind == 1:
            b = m.input(m.rng.integers(1, 5, size=m.shape(a)).astype(INT))
            b = m.node("Neg", [m.node("Identity", [b])]) if m.chance(0.3) else m.node("Identity", [b])
        elif kind == 2:
            b = m.node("Add", [m.node("Abs", [m.pick(INT)]), m.ints([1])])
        else:
            b = m.pick(INT, fits=lambda array: (array != 0).all())
        return m.node(op, [a, b], **attributes)
    return make


def reduction(op, dtype=FLOAT):
    def make(m):
        x = m.pick(dtype, least_rank=1)
        axes = sorted({m.whole(0, len(m.shape(x)) - 1) for _ in range(m.whole(1, 2))})
        keepdims = m.whole(0, 1)
        as_input = op == "ReduceSum" or m.opset >= 18
        if m.chance(0.2):
            return m.node(op, [x], keepdims=keepdims)
        if as_input:
            return m.node(op, [x, m.ints(axes)], keepdims=keepdims)
        return m.node(op, [x], axes=axes, keepdims=keepdims)
    return make


def arg_reduction(op):
    def make(m):
        x = m.pick(FLOAT, least_rank=1)
        return m.node(op, [x], axis=m.axis(x), keepdims=m.whole(0, 1), select_last_index=m.whole(0, 1))
    return make


def transpose(m):
    x = m.pick(least_rank=1)
    return m.node("Transpose", [x], perm=m.rng.permutation(len(m.shape(x))).tolist())


def reshape(m):
    x = m.pick()
    size = int(np.prod(m.shape(x)))
    first = m.one_of(d for d in range(1, size + 1) if size % d == 0)
    target = m.one_of([[first, -1], [-1, first], [-1], [1, first, size // first]])
    return m.node("Reshape", [x, m.ints(target)])


def reshape_by_shape(m):
    x = m.pick(least_rank=2)
    s = m.node("Shape", [x])
    first = m.node("Gather", [s, m.ints([0])])
    return m.node("Reshape", [x, m.node("Concat", [first, m.ints([-1])], axis=0)])


def squeeze(m):
    x = m.pick(fits=lambda array: 1 in array.shape)
    axes = [k for k, size in enumerate(m.shape(x)) if size == 1]
    return m.node("Squeeze", [x] + ([m.ints(axes[:m.whole(1, len(axes))])] if m.chance(0.7) else []))


def unsqueeze(m):
    x = m.pick()
    return m.node("Unsqueeze", [x, m.ints([m.whole(0, len(m.shape(x)))])])


def flatten(m):
    x = m.pick()
    return m.node("Flatten", [x], axis=m.whole(0, len(m.shape(x))))


def slice_(m):
    x = m.pick(least_rank=1)
    axis = m.axis(x)
    size = m.shape(x)[axis]
    start, step = m.whole(-size, size - 1), m.one_of([1, 1, 2, -1])
    end = m.one_of([size, 2**62, -1]) if step > 0 else -2**62
    parts = [m.ints([start]), m.ints([end]), m.ints([axis]), m.ints([step])]
    return m.node("Slice", [x] + parts[:4 if step != 1 else m.whole(3, 4)])


def split(m):
    x = m.pick(least_rank=1, fits=lambda array: max(array.shape) > 1)
    axis = m.axis(x)
    size = m.shape(x)[axis]
    count = m.whole(1, min(size, 4))
    if m.chance(0.5):
        cuts = [0, *sorted(m.whole(0, size) for _ in range(count - 1)), size]
        sizes = [b - a for a, b in zip(cuts, cuts[1:])]
        return m.node("Split", [x, m.ints(sizes)], outputs=count, axis=axis)
    if m.opset >= 18:
        return m.node("Split", [x], outputs=count, axis=axis, num_outputs=count)
    return m.node("Split", [x], outputs=m.one_of(c for c in range(1, size + 1) if size % c == 0 and c <= 4), axis=axis)


def concat(m):
    x = m.pick(least_rank=1)
    axis = m.axis(x)
    others = [m.pick(m.values[x].dtype, len(m.shape(x)), fits=lambda array: np.delete(array.shape, axis).tolist() ==
                     np.delete(m.shape(x), axis).tolist()) for _ in range(m.whole(0, 2))]
    return m.node("Concat", [x, *others], axis=axis)


def expand(m):
    x = m.pick()
    return m.node("Expand", [x, m.ints([m.whole(1, 2), *(m.whole(2, 3) if s == 1 else s for s in m.shape(x))])])


def tile(m):
    x = m.pick(least_rank=1)
    return m.node("Tile", [x, m.ints([m.whole(1, 2) for _ in m.shape(x)])])


def pad(m):
    x = m.pick(FLOAT, least_rank=1)
    inputs = [x, m.ints([m.whole(0, 2) for _ in range(2 * len(m.shape(x)))])]
    if m.chance(0.5):
        inputs.append(m.constant(m.one_of([0, 1.5, -2]), FLOAT))
        return m.node("Pad", inputs)
    return m.node("Pad", inputs, mode=m.one_of(["constant", "reflect", "edge"]))


def gather(m):
    x = m.pick(least_rank=1)
    axis = m.axis(x)
    indices = m.rng.integers(0, m.shape(x)[axis], size=m.one_of([(), (2,), (1, 3)]))
    return m.node("Gather", [x, m.given(indices, INT)], axis=axis)


def gather_elements(m):
    x = m.pick(least_rank=1)
    axis = m.axis(x)
    return m.node("GatherElements", [x, m.given(m.rng.integers(0, m.shape(x)[axis], size=m.shape(x)), INT)], axis=axis)


def scatter_elements(m):
    x = m.pick(FLOAT, least_rank=1)
    axis = m.axis(x)
    indices = np.argsort(m.rng.random(m.shape(x)), axis=axis)
    return m.node("ScatterElements", [x, m.given(indices, INT), m.given(m.array(FLOAT, m.shape(x)))], axis=axis)


def where(m):
    a = m.pick(FLOAT)
    c = m.given(m.array(BOOL, m.shape(a))) if m.chance(0.5) else m.pick(BOOL)
    return m.node("Where", [c, a, m.given(m.array(FLOAT, m.one_of([(), m.shape(a)])))])


def cast(m):
    to = m.one_of([FLOAT, INT, BOOL, np.float16, np.float64, np.int32, np.uint8])
    x = m.pick(fits=lambda array: array.dtype.kind != "f" or np.abs(array).max() < 100)
    if to == np.uint8 and m.values[x].min() < 0:
        raise Unfit
    return m.node("Cast", [x], to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))


def casts_of_shape(m):
    """What exporters make of scaled sizes."""
    s = m.node("Shape", [m.pick(least_rank=1)])
    f = m.node("Mul", [m.node("Cast", [s], to=1), m.constant(m.one_of([0.3, 2, 1.5, 1001]), FLOAT)])
    f = m.node("Floor", [f]) if m.chance(0.7) else f
    i = m.node("Cast", [f], to=7)
    return m.node("Cast", [i], to=m.one_of([1, 6, 9, 10, 11]))


def upsample(m):
    """Resize by sizes that are computed in floats from the shape."""
    x = m.pick(FLOAT, rank=4)
    s = m.node("Shape", [x])
    head = m.node("Slice", [s, m.ints([0]), m.ints([2]), m.ints([0])])
    tail = m.node("Slice", [s, m.ints([2]), m.ints([4]), m.ints([0])])
    scaled = m.node("Floor", [m.node("Mul", [m.node("Cast", [tail], to=1), m.constant(2, FLOAT)])])
    sizes = m.node("Concat", [head, m.node("Cast", [scaled], to=7)], axis=0)
    return m.node("Resize", [x, "", "", sizes], mode=m.one_of(["nearest", "linear"]),
                  coordinate_transformation_mode=m.one_of(["asymmetric", "half_pixel"]), nearest_mode="floor")


def clip(m):
    inputs = [m.pick(FLOAT), m.constant(-0.5, FLOAT) if m.chance(0.7) else "", m.given(1, FLOAT)]
    return m.node("Clip", inputs[:m.whole(1, 3)])


def constant_of_shape(m):
    s = m.node("Shape", [m.pick(least_rank=1)])
    if m.chance(0.5):
        return m.node("ConstantOfShape", [s])
    return m.node("ConstantOfShape", [s], value=helper.make_tensor("", 7, [1], [m.whole(-2, 2)]))


def range_(m):
    return m.node("Range", [m.constant(0, INT), m.node("Size", [m.pick()]), m.constant(m.whole(1, 3), INT)])


def one_hot(m):
    x = m.pick(INT)
    return m.node("OneHot", [x, m.ints(m.whole(2, 6)), m.constant([0, 1], FLOAT)], axis=-1)


def top_k(m):
    x = m.pick(m.one_of([FLOAT, INT]), least_rank=1)
    axis = m.axis(x)
    k = m.ints([m.whole(1, m.shape(x)[axis])])
    return m.node("TopK", [x, k], outputs=2, axis=axis, largest=m.whole(0, 1), sorted=1)


def top_k_of_shape(m):
    s = m.node("Shape", [m.pick(least_rank=1)])
    return m.node("TopK", [s, m.ints([1])], outputs=2)


def unique(m):
    x = m.pick(m.one_of([FLOAT, INT]), least_rank=1)
    omitted = {k for k in (1, 2, 3) if m.chance(0.5)}
    attributes = {"axis": m.axis(x)} if m.chance(0.3) else {}
    return m.node("Unique", [x], outputs=4, omitted=omitted, sorted=m.whole(0, 1), **attributes)


def non_zero(m):
    return m.node("NonZero", [m.pick(m.one_of([FLOAT, INT, BOOL]), least_rank=1)])


def cum_sum(m):
    x = m.pick(m.one_of([FLOAT, INT]), least_rank=1)
    return m.node("CumSum", [x, m.constant(m.axis(x), INT)], exclusive=m.whole(0, 1), reverse=m.whole(0, 1))


def trilu(m):
    x = m.pick(FLOAT, least_rank=2)
    return m.node("Trilu", [x] + ([m.constant(m.whole(-1, 1), INT)] if m.chance(0.5) else []), upper=m.whole(0, 1))


def mat_mul(m):
    x = m.pick(FLOAT, least_rank=1)
    return m.node("MatMul", [x, m.given(m.array(FLOAT, (m.shape(x)[-1], m.whole(1, 5))))])


def gemm(m):
    x = m.pick(FLOAT, rank=2)
    turned, n = m.whole(0, 1), m.whole(1, 5)
    k = m.shape(x)[1]
    inputs = [x, m.given(m.array(FLOAT, (n, k) if turned else (k, n)))]
    if m.chance(0.6):
        inputs.append(m.given(m.array(FLOAT, m.one_of([(n,), (1, n), ()]))))
    return m.node("Gemm", inputs, transB=turned, alpha=m.one_of([1.0, 0.5]), beta=m.one_of([1.0, 2.0]))


def einsum(m):
    x = m.pick(FLOAT, rank=2)
    equation = m.one_of(["ij,jk->ik", "ij,jk->ki"])
    return m.node("Einsum", [x, m.given(m.array(FLOAT, (m.shape(x)[1], 3)))], equation=equation)


def image(m):
    try:
        return m.pick(FLOAT, rank=4)
    except Unfit:
        return m.input(m.array(FLOAT, (1, m.one_of([2, 4]), m.whole(4, 7), m.whole(4, 7))))


def conv(m):
    x = image(m)
    channels, out = m.shape(x)[1], m.whole(1, 4)
    inputs = [x, m.given(m.array(FLOAT, (out, channels, 3, 3)) / 3)]
    if m.chance(0.5):
        inputs.append(m.given(m.array(FLOAT, (out,))))
    return m.node("Conv", inputs, pads=[1, 1, 1, 1], strides=[m.whole(1, 2)] * 2)


def conv_transpose(m):
    x = image(m)
    return m.node("ConvTranspose", [x, m.given(m.array(FLOAT, (m.shape(x)[1], 2, 2, 2)))], strides=[2, 2])


def pooling(op, outputs=1):
    def make(m):
        pads = m.one_of([0, 1])
        x = image(m)
        if min(m.shape(x)[2:]) < 2:
            raise Unfit
        omitted = {1} if outputs > 1 and m.chance(0.4) else ()
        return m.node(op, [x], outputs=outputs, omitted=omitted, kernel_shape=[2, 2],
                      strides=[m.whole(1, 2)] * 2, pads=[pads] * 4)
    return make


def batch_normalization(m):
    x = image(m)
    c = (m.shape(x)[1],)
    return m.node("BatchNormalization", [x, *(m.given(m.array(FLOAT, c)) for _ in range(3)),
                                         m.given(np.abs(m.array(FLOAT, c)) + 0.5)])


def instance_normalization(m):
    x = image(m)
    c = (m.shape(x)[1],)
    return m.node("InstanceNormalization", [x, m.given(m.array(FLOAT, c)), m.given(m.array(FLOAT, c))])


def layer_normalization(m):
    if m.opset < 17:
        raise Unfit
    x = m.pick(FLOAT, least_rank=2, fits=lambda array: array.shape[-1] > 1)
    inputs = [x, m.given(m.array(FLOAT, m.shape(x)[-1:])), m.given(m.array(FLOAT, m.shape(x)[-1:]))]
    return m.node("LayerNormalization", inputs[:m.whole(2, 3)], outputs=3, omitted={k for k in (1, 2) if m.chance(0.6)})


def dropout(m):
    return m.node("Dropout", [m.pick(FLOAT)], outputs=2, omitted={1} if m.chance(0.5) else ())


def recurrent(op, gates, states):
    def make(m):
        steps, batch, size, hidden = m.whole(1, 3), m.whole(1, 2), m.whole(1, 4), m.whole(1, 3)
        direction = m.one_of(["forward", "reverse", "bidirectional"])
        ways = 2 if direction == "bidirectional" else 1
        inputs = [m.input(m.array(FLOAT, (steps, batch, size))), m.given(m.array(FLOAT, (ways, gates * hidden, size))),
                  m.given(m.array(FLOAT, (ways, gates * hidden, hidden)))]
        if m.chance(0.5):
            inputs.append(m.given(m.array(FLOAT, (ways, 2 * gates * hidden))))
        omitted = {k for k in range(1 + states) if m.chance(0.4)}
        if len(omitted) > states:
            raise Unfit
        return m.node(op, inputs, outputs=1 + states, omitted=omitted, hidden_size=hidden, direction=direction)
    return make


def if_(m):
    """Of branches one of which may be for other shapes."""
    x = m.pick(FLOAT)
    condition = m.given(m.array(BOOL, ()))
    size = int(np.prod(m.shape(x)))
    flat = numpy_helper.from_array(np.array([size]), "flat")

    def branch(name, op, inputs, constants=()):
        return helper.make_graph([helper.make_node(op, inputs, [name])], name, [], [onnx.ValueInfoProto(name=name)],
                                 constants)

    wanted = {True: branch(f"t{len(m.nodes)}", "Reshape", [x, "flat"], [flat]), False: branch(
        f"e{len(m.nodes)}", m.one_of(["Relu", "Neg", "Identity"]), [x])}
    node = helper.make_node("If", [condition], [f"n{len(m.nodes)}_0"], name=f"If_{len(m.nodes)}",
                            then_branch=wanted[True], else_branch=wanted[False])
    y = m.values[x].reshape(-1) if m.values[condition] else {
        "Relu": np.maximum(m.values[x], 0), "Neg": -m.values[x],
        "Identity": m.values[x]}[wanted[False].node[0].op_type]
    # The rest of the graph reads it through a Reshape: branches have different ranks.
    m.nodes.append(node)
    m.values[node.output[0]] = y
    last = m.node("Reshape", [node.output[0], m.ints([-1])])
    del m.values[node.output[0]]
    return last


def loop(m):
    x = m.pick(FLOAT)
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["c2"]), helper.make_node("Mul", ["s", "half"], ["s2"]),
         helper.make_node("Add", ["s2", "s"], ["scan"])], "body",
        [helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("c", 9, []),
         value_info("s", m.values[x])],
        [helper.make_tensor_value_info("c2", 9, []), value_info("s2", m.values[x]), value_info("scan", m.values[x])],
        [numpy_helper.from_array(np.array(0.5, FLOAT), "half")])
    return m.node("Loop", [m.given(m.whole(0, 3), INT), "", x], outputs=2, body=body)


def scan(m):
    x = m.pick(FLOAT, least_rank=1)
    row = m.values[x][0]
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "e"], ["s2"]), helper.make_node("Tanh", ["s2"], ["o"])], "body",
        [value_info("s", row), value_info("e", row)], [value_info("s2", row), value_info("o", row)])
    return m.node("Scan", [m.given(np.zeros_like(row)), x], outputs=2, body=body, num_scan_inputs=1)


def dft(m):
    if m.opset < 17:
        raise Unfit
    x = m.input(m.array(FLOAT, (1, m.whole(2, 9), 1)))
    return m.node("DFT", [x], **({"axis": 1} if m.opset < 20 else {}))


OPERATORS = {
    **{op: pointwise(op) for op in ("Relu", "Neg", "Abs", "Exp", "Tanh", "Sigmoid", "Erf", "Floor", "Ceil", "Round",
                                    "Sign", "Softplus", "HardSwish", "LeakyRelu", "Elu", "Identity", "Cos")},
    **{op: broadcast(op) for op in ("Add", "Sub", "Mul", "Max", "Min", "Less", "Greater")},
    "int Add": broadcast("Add", INT), "int Mul": broadcast("Mul", INT), "int Sub": broadcast("Sub", INT),
    "int Max": broadcast("Max", INT), "int Equal": broadcast("Equal", INT), "int Neg": pointwise("Neg", INT),
    "int Abs": pointwise("Abs", INT), "int Div": integer_division("Div"), "int Mod": integer_division("Mod"),
    "int fmod": integer_division("Mod", fmod=1), "And": broadcast("And", BOOL), "Or": broadcast("Or", BOOL),
    "Not": pointwise("Not", BOOL),
    **{op: reduction(op) for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2")},
    "int ReduceSum": reduction("ReduceSum", INT), "ArgMax": arg_reduction("ArgMax"), "ArgMin": arg_reduction("ArgMin"),
    "Transpose": transpose, "Reshape": reshape, "Reshape by Shape": reshape_by_shape, "Squeeze": squeeze,
    "Unsqueeze": unsqueeze, "Flatten": flatten, "Slice": slice_, "Split": split, "Concat": concat, "Expand": expand,
    "Tile": tile, "Pad": pad, "Gather": gather, "GatherElements": gather_elements,
    "ScatterElements": scatter_elements, "Where": where, "Cast": cast, "Casts of Shape": casts_of_shape,
    "Upsample": upsample, "Clip": clip, "Shape": lambda m: m.node("Shape", [m.pick()]),
    "ConstantOfShape": constant_of_shape, "Range": range_, "OneHot": one_hot, "TopK": top_k,
    "TopK of Shape": top_k_of_shape, "Unique": unique, "NonZero": non_zero, "CumSum": cum_sum, "Trilu": trilu,
    "MatMul": mat_mul, "Gemm": gemm, "Einsum": einsum, "Conv": conv, "ConvTranspose": conv_transpose,
    "MaxPool": pooling("MaxPool", 2), "AveragePool": pooling("AveragePool"),
    "GlobalAveragePool": lambda m: m.node("GlobalAveragePool", [image(m)]),
    "BatchNormalization": batch_normalization, "InstanceNormalization": instance_normalization,
    "LayerNormalization": layer_normalization, "Dropout": dropout,
    "Softmax": lambda m: m.node("Softmax", [m.pick(FLOAT, least_rank=1)], axis=-1), "LSTM": recurrent("LSTM", 4, 2),
    "GRU": recurrent("GRU", 3, 1), "RNN": recurrent("RNN", 1, 1), "If": if_, "Loop": loop, "Scan": scan, "DFT": dft,
}


def random_model(seed, index):
    """A valid model and its inputs."""
    for attempt in range(100):
        m = Maker(np.random.default_rng([seed, index, attempt]))
        for dtype in (FLOAT, FLOAT, INT):
            m.input(m.array(dtype, [m.whole(1, 5) for _ in range(m.whole(1, 4))]))
        wanted = m.whole(1, 14)
        for _ in range(10 * wanted):
            if len(m.nodes) >= wanted:
                break
            before = len(m.nodes), len(m.inputs), len(m.constants), dict(m.values)
            try:
                OPERATORS[m.one_of(OPERATORS)](m)
            except Unfit:
                m.values = before[3]
                del m.nodes[before[0]:], m.inputs[before[1]:], m.constants[before[2]:]
        m.shown = {each for each in m.values if m.chance(0.15)}
        model = m.model(m.free_dims())
        feeds = {each: m.values[each] for each in m.inputs}
        try:
            onnx.checker.check_model(model, full_check=True)
            outputs = evaluated(model, feeds)
            # No shape that only these very values have.
            for _ in range(3):
                evaluated(model, m.drawn_again())
        except Exception:
            continue
        if m.nodes and all(each.dtype.kind != "f" or np.isfinite(each).all() for each in outputs):
            return model, feeds
    raise RuntimeError(f"no valid model {index} of seed {seed}")


# Values of inputs and weights

ORDINARY = np.array([0, -0.0, 1, -1, 0.5, 2.5, -2.5, 1e10, -1e10, 100, -100], FLOAT)
LARGE = np.array([1e30, -1e30, 1e20, -1e20, 1e-30, -1e-30, 1e-42, -1e-42, 0, -0.0, 1, -1], FLOAT)
LARGEST = np.array([3e38, -3e38, 1e30, -1e30, 1e-30, -1e-30, 1e-42, -1e-42, 0, -0.0, 1, -1], FLOAT)
NOT_FINITE = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-42, 0, -0.0, 1, -1, 2.5, 100], FLOAT)
INTEGERS = np.array([-2**63, 2**63 - 1, -2**62, 2**62, 3037000500, 2**31, -2**31 - 1, 255, -1, 0, 7], INT)
KINDS = {
    "N(0,1)": lambda rng, shape: rng.normal(size=shape),
    "N(0,1) x100": lambda rng, shape: 100 * rng.normal(size=shape),
    "N(0,1) x1e-30": lambda rng, shape: 1e-30 * rng.normal(size=shape),
    **{name: lambda rng, shape, values=values: rng.choice(values, size=shape)
       for name, values in (("ordinary", ORDINARY), ("large, denormal", LARGE), ("largest", LARGEST),
                            ("NaN, inf", NOT_FINITE))},
}
# Nodes for which a large integer is a crash of the runtime (its least by -1), no end, or more memory than there is.
COUNTING = {"Div", "Mod", "Loop", "Range", "Tile", "Expand", "ConstantOfShape", "OneHot", "Reshape"}


def has_any(model, operators):
    return any(node.op_type in operators for node in model.graph.node)


def may_divide_casts(model):
    """A float that is no such integer is cast to the least one, which the runtime can't divide by -1."""
    return has_any(model, {"Cast"}) and has_any(model, {"Div", "Mod"})


def with_special_weights(model, feeds, rng):
    """Some elements of float constants are others; the same model where that is none any more."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    values = (ORDINARY, ORDINARY, LARGE, NOT_FINITE)[rng.integers(4)]
    if may_divide_casts(model):
        values = ORDINARY
    for tensor in changed.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.dtype != FLOAT or rng.random() < 0.4:
            continue
        chosen = rng.random(array.shape) < rng.choice([0.1, 0.5])
        tensor.CopyFrom(numpy_helper.from_array(
            np.where(chosen, rng.choice(values, size=array.shape), array).astype(FLOAT), tensor.name))
    try:
        onnx.checker.check_model(changed, full_check=True)
        outputs = evaluated(model, feeds), evaluated(changed, feeds)
    except Exception:
        return model
    # A weight may have decided a size that the model states.
    return changed if [each.shape for each in outputs[0]] == [each.shape for each in outputs[1]] else model


def feeds_of(kind, model, feeds, rng):
    """Float inputs get values of the kind. Others stay, or get any integers where that is no crash."""
    counts = has_any(model, COUNTING)
    result = {}
    if may_divide_casts(model) and kind in ("large, denormal", "largest", "NaN, inf"):
        kind = "ordinary"
    for name, array in feeds.items():
        if array.dtype == FLOAT:
            result[name] = np.asarray(KINDS[kind](rng, array.shape), FLOAT)
        elif array.dtype == INT and kind == "largest" and not counts:
            result[name] = rng.choice(INTEGERS, size=array.shape)
        else:
            result[name] = array
    return result


# The comparison

# These give bits of what they read, or what compares it.
EXACT = {
    "Relu", "Neg", "Abs", "Floor", "Ceil", "Round", "Sign", "Identity", "Max", "Min", "Less", "Greater", "Equal",
    "ReduceMax", "ArgMax", "ArgMin", "Transpose", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Slice", "Split", "Concat",
    "Expand", "Tile", "Pad", "Gather", "GatherElements", "ScatterElements", "Where", "Cast", "Clip", "Shape", "Size",
    "ConstantOfShape", "Range", "OneHot", "TopK", "Unique", "NonZero", "Trilu", "MaxPool", "Dropout", "Not", "And", "Or"
}
SQUARING = {"ReduceL2", "InstanceNormalization", "LayerNormalization"}


class Reference:
    """The model as it was: what its outputs may be."""

    def __init__(self, model):
        self.model = model
        self.runtime = Runtime(model)
        self.all = None

    def outputs(self, feeds):
        return self.runtime.outputs(feeds)

    def values(self, feeds):
        """All that nodes give, by name."""
        if self.all is None:
            shown = onnx.ModelProto()
            shown.CopyFrom(self.model)
            known = {each.name for each in shown.graph.output}
            shown.graph.output.extend(onnx.ValueInfoProto(name=each) for node in shown.graph.node for each in node.output
                                      if each and each not in known)
            self.all = [each.name for each in shown.graph.output], Runtime(shown)
        return dict(zip(self.all[0], self.all[1].outputs(feeds)))

    def arrays(self, feeds):
        """All that there are, by name."""
        return {**{each.name: numpy_helper.to_array(each) for each in self.model.graph.initializer}, **feeds,
                **self.values(feeds)}

    def is_usual(self, feeds, names):
        """None of these values comes near an overflow, nor does a square where there are some."""
        squares = any(node.op_type in SQUARING for node in self.model.graph.node if not names.isdisjoint(node.output))
        most = 1e18 if squares else 1e36
        arrays = [array for name, array in self.arrays(feeds).items() if name in names and array.dtype.kind == "f"]
        return all(np.isfinite(array).all() and
                   np.abs(array.astype(np.float64)).max(initial=0) < (1e4 if array.dtype == np.float16 else most)
                   for array in arrays)

    def undefined_casts(self, feeds):
        """Names of casts to integers of floats that are none: ONNX Runtime then gives what its choice of instructions
        gives, and makes one cast of two even without optimizations."""
        values = self.arrays(feeds)
        cast, undefined = {}, set()
        for node in self.model.graph.node:
            array = cast.get(node.input[0], values.get(node.input[0])) if node.op_type == "Cast" else None
            to = helper.tensor_dtype_to_np_dtype(node.attribute[0].i) if node.op_type == "Cast" else None
            if array is not None and array.dtype.kind == "f" and to.kind in "iu":
                cast[node.output[0]] = array
                range_of = np.iinfo(to)
                whole = np.trunc(array.astype(np.float64))
                if not ((whole >= range_of.min) & (whole < 2.0**(range_of.bits - (to.kind == "i")))).all():
                    undefined.add(node.output[0])
        return undefined

    def has_near_ties(self, feeds, names):
        """Unique reads floats that differ by no more than rounding where exact ones may be equal (a DFT's of reals)."""
        arrays = None
        for node in self.model.graph.node:
            if node.op_type != "Unique" or names.isdisjoint(node.output):
                continue
            if all(each.op_type in EXACT for each in behind(self.model, node.input[0])[0]):
                continue
            arrays = arrays or self.arrays(feeds)
            array = np.unique(arrays[node.input[0]])
            if array.dtype.kind == "f" and array.size and np.diff(array).min(initial=np.inf) <= TOLERANCE * np.abs(array).max():
                return True
        return False

    def moved(self, feeds, rng):
        """Outputs with noise where nodes round."""
        arrays = self.arrays(feeds)
        noisy = onnx.ModelProto()
        noisy.CopyFrom(self.model)
        del noisy.graph.node[:]

        def move(name, read, made, squares=False):
            """Adds nodes between two names of the value. Squares of what is small are lost: they move by the root of
            the least number."""
            array, places = arrays[name], {"float16": (-9, -24), "float32": (-22, -149)}
            scale, least = places.get(str(array.dtype), (-50, -1074))
            least = least // 2 if squares else least
            factor = 1 + rng.uniform(-1, 1, array.shape) * 2.0**scale
            summand = rng.choice([-4, 0, 4], size=array.shape) * 2.0**least
            k = len(noisy.graph.node)
            for part, each in (("factor", factor), ("summand", summand)):
                noisy.graph.initializer.append(numpy_helper.from_array(np.asarray(each, array.dtype), f"{part} {k}"))
            noisy.graph.node.append(helper.make_node("Mul", [read, f"factor {k}"], [f"product {k}"]))
            noisy.graph.node.append(helper.make_node("Add", [f"product {k}", f"summand {k}"], [made]))

        for node in self.model.graph.node:
            made = onnx.NodeProto()
            made.CopyFrom(node)
            floats = {each for each in (*node.input, *node.output) if each in arrays and arrays[each].dtype.kind == "f"
                      } if node.op_type not in EXACT else ()
            for k, name in enumerate(node.input):
                if name in floats:
                    made.input[k] = f"moved {len(noisy.graph.node)}"
                    move(name, name, made.input[k], node.op_type in SQUARING)
            for k, name in enumerate(node.output):
                if name in floats:
                    made.output[k] = f"exact {name}"
            noisy.graph.node.append(made)
            for name in node.output:
                if name in floats:
                    move(name, f"exact {name}", name)
        return evaluated(noisy, feeds)

    def judge(self, feeds, expected, found, mode):
        """(what is wrong, what else there is to say), each a sentence or nothing; what excuses an output excuses no
        other one."""
        undefined = moved = said = None
        for k, (port, a, b) in enumerate(zip(self.model.graph.output, expected, found)):
            wrong = bits_differ(a, b) if mode == "strict" else values_differ(a, b)
            if not wrong:
                continue
            if undefined is None:
                undefined = self.undefined_casts(feeds)
            _, names = behind(self.model, port.name)
            note = None
            if not names.isdisjoint(undefined):
                note = "differs where casts are undefined"
            elif mode != "strict" and not self.is_usual(feeds, names):
                note = "differs where nothing is promised"
            elif mode != "strict" and self.has_near_ties(feeds, names):
                note = "rounding decides"
            elif mode != "strict":
                if moved is None:
                    moved = self.all_moved(feeds)
                wrong, note = judge_by_noise(a, b, [each[k] for each in moved], mode)
            if not note:
                return f"{port.name}: {wrong}", None
            said = said or note
        return None, said

    def all_moved(self, feeds):
        """Nothing where it depends on rounding whether it runs at all."""
        rng = np.random.default_rng(0)
        try:
            return [self.moved(feeds, rng) for _ in range(NOISES)]
        except Exception:
            return []


def judge_by_noise(a, b, others, mode):
    """Of an output that differs by more than usual, beside what it is where nodes round otherwise: what is wrong, or why
    nothing is."""
    if not others or any(each.shape != a.shape for each in others):
        return None, "rounding decides"
    if a.shape != b.shape or a.dtype != b.dtype:
        return values_differ(a, b), None
    if a.dtype.kind != "f":
        is_decided = any((each != a).any() for each in others)
        return (None, "rounding decides") if is_decided else (values_differ(a, b), None)
    if any(not np.isfinite(each).all() for each in others):
        return None, "rounding decides"
    difference = values_differ(a, b)
    a, b = a.astype(np.float64), b.astype(np.float64)
    counted = np.isfinite(b) if mode == "fast" else np.ones(b.shape, bool)
    spread = max(np.abs(each.astype(np.float64) - a).max() for each in others)
    bound = TOLERANCE * np.abs(a).max() + GROWTH * spread
    if not (np.abs(a - b)[counted] <= bound).all():
        return f"{difference}, {bound:.3g} allowed", None
    return None, "rounding decides how much"


def bits_differ(a, b):
    """A sentence, or nothing; one NaN is as good as another."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{list(a.shape)} expected, {b.dtype}{list(b.shape)} found"
    a, b = a.reshape(-1), b.reshape(-1)  # of a scalar too
    if a.dtype.kind == "f":
        bits = f"u{a.itemsize}"
        differ = (np.ascontiguousarray(a).view(bits) != np.ascontiguousarray(b).view(bits)) & ~(np.isnan(a) & np.isnan(b))
    else:
        differ = a != b
    if not differ.any():
        return None
    return f"{differ.sum()} of {a.size} bits differ, {a[differ][0]!r} became {b[differ][0]!r}"


def values_differ(a, b, tolerance=TOLERANCE, least=0):
    """A sentence, or nothing; NaN and infinities stand where they stood."""
    if a.shape != b.shape or a.dtype != b.dtype or a.dtype.kind != "f":
        return bits_differ(a, b)
    finite = np.isfinite(a)
    if wrong := bits_differ(a[~finite], b[~finite]):
        return wrong
    if not np.isfinite(b[finite]).all():
        return f"{(~np.isfinite(b[finite])).sum()} of {a.size} values are not finite any more"
    a, b = a[finite].astype(np.float64), b[finite].astype(np.float64)
    error = np.abs(a - b)
    if not a.size or error.max() <= tolerance * max(least, np.abs(a).max()):
        return None
    return f"values differ by up to {error.max():.3g}, the largest is {np.abs(a).max():.3g}"


def is_runtime_alone(model, written, feeds, expected, found):
    """ONNX Runtime's Where adds what it chose to zeros, which makes 0 of -0; its MaxPool takes another maximum where NaN
    is read and nobody wants the indices. Is that all that tells the two apart? `found` is nothing where the model written
    ends in an error."""
    if all(node.op_type != "Where" and (node.op_type != "MaxPool" or len(node.output) < 2) for node in model.graph.node):
        return False
    for port, a, b in zip(model.graph.output, expected, found or [None] * len(expected)):
        if b is not None and not bits_differ(a, b):
            continue
        try:
            before, after = (ReferenceEvaluator(made).run(None, given)[0]
                             for made, given in (cut(each, port.name, feeds) for each in (model, written)))
        except Exception:  # it lacks operators
            return False
        if bits_differ(np.asarray(before), np.asarray(after)):
            return False
    return True


def judge_run(reference, feeds, expected, found):
    """Of what `isomer run` gives, whose own functions round otherwise than the runtime's: as Reference.judge."""
    said = None
    for k, (port, a, b) in enumerate(zip(reference.model.graph.output, expected, found)):
        if not values_differ(a, b, RUN_TOLERANCE, 1):
            continue
        alone = [(b if at == k else each) for at, each in enumerate(expected)]
        wrong, note = reference.judge(feeds, expected, alone, "reassociate")
        if wrong:
            # What cancels may leave a rounding of either sign in the runtime's, and none in that of another.
            made, given = cut(reference.model, port.name, feeds)
            try:
                other = ReferenceEvaluator(made).run(None, given)
            except Exception:  # it lacks operators
                return wrong, None
            if values_differ(np.asarray(other[0]), b):
                return wrong, None
            note = "another runtime rounds so"
        said = said or note
    return None, said


def called(command):
    """Exit status and standard error."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "timeout", ""
    return done.returncode, done.stderr.strip().splitlines()[-1:]


def mode_of(index, options):
    return MODES[index % len(MODES)] if options.fp == "turns" else options.fp


def failure_of(model, feeds, options, index):
    """(stage, sentence) of the first thing that is wrong, or (None, notes)."""
    notes, mode = [], mode_of(index, options)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        files = [folder / "in.onnx", folder / "out.onnx", folder / "out.proof"]
        onnx.save(model, files[0])
        np.savez(folder / "in.npz", **feeds)
        is_proved = options.proof_every > 0 and index // len(MODES) % options.proof_every == 0
        status, said = called([options.isomer, "optimize", files[0], "-o", files[1], "-q", "--level", str(options.level),
                               "--fp", mode, "--threads", "1", *(["--time", options.time] if options.time else []),
                               *(["--proof", files[2]] if is_proved else [])])
        if status:
            return "optimize", f"exit {status} {said}"
        if is_proved:
            status, said = called([options.isomer, "verify", *files, "-q", "--no-check", "--fp", mode, "--threads", "1"])
            if status:
                return "verify", f"exit {status} {said}"
            notes.append("verified")
        written = onnx.load(files[1])
        try:
            onnx.checker.check_model(written, full_check=True)
        except Exception as error:
            return "checker", " ".join(str(error).split())[:200]
        reference = Reference(model)
        expected = reference.outputs(feeds)
        try:
            after = Runtime(written)
        except Exception as error:
            return "runtime", " ".join(str(error).split())[:200]
        rng = np.random.default_rng([options.seed, index])
        for kind in ("as given", *KINDS):
            given = feeds_of(kind, model, feeds, rng) if kind in KINDS else feeds
            try:
                before = reference.outputs(given)
            except Exception:  # indices out of range
                notes.append(f"{kind}: not run")
                continue
            try:
                found = after.outputs(given)
            except Exception as error:
                found, wrong, note = None, " ".join(str(error).split())[:200], None
                if mode != "strict" and not reference.is_usual(given, reference.arrays(given).keys()):
                    wrong, note = None, "ends where nothing is promised"
            else:
                with np.errstate(all="ignore"):
                    wrong, note = reference.judge(given, before, found, mode)
            if wrong and is_runtime_alone(model, written, given, before, found):
                wrong, note = None, "ONNX Runtime's Where or MaxPool"
            if wrong:
                feeds.update(given)
                return "runtime", f"{kind}: {wrong}"
            if note:
                notes.append(f"{kind}: {note}")
        if options.no_run:
            return None, notes
        status, said = called([options.isomer, "run", files[0], "-q", "--load-inputs", folder / "in.npz",
                               "--save-outputs", folder / "found.npz"])
        if status == 3 and "internal error" not in str(said):
            return None, [*notes, f"run: {said}"]
        if status:
            return "run", f"exit {status} {said}"
        found = np.load(folder / "found.npz")
        found = [found[each.name] for each in model.graph.output]
        with np.errstate(all="ignore"):
            wrong, note = judge_run(reference, feeds, expected, found)
        if wrong:
            return "run", wrong
        return None, [*notes, f"run: {note}"] if note else notes


def behind(model, output):
    """The nodes that a value needs, and the names of all that it is made of, its own among them."""
    names, nodes = {output}, []
    for node in reversed(model.graph.node):
        if names.isdisjoint(node.output):
            continue
        nodes.insert(0, node)
        names.update(node.input)
        for attribute in node.attribute:
            names.update(each for inner in attribute.g.node for each in inner.input)
    return nodes, names


def cut(model, output, feeds):
    """The model as far as one value needs it."""
    nodes, needed = behind(model, output)
    infos = {each.name: each for each in model.graph.output}
    graph = helper.make_graph(nodes, "cut", [each for each in model.graph.input if each.name in needed],
                              [infos.get(output, onnx.ValueInfoProto(name=output))],
                              [each for each in model.graph.initializer if each.name in needed])
    made = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    return onnx.shape_inference.infer_shapes(made), {each.name: feeds[each.name] for each in graph.input}


def smaller(model, feeds, stage, options, index):
    for count, node in enumerate(model.graph.node, 1):
        for output in filter(None, node.output):
            try:
                made, given = cut(model, output, feeds)
                onnx.checker.check_model(made)
                if len(made.graph.node) < len(model.graph.node) and \
                        failure_of(made, dict(given), options, index)[0] == stage:
                    return made, given
            except Exception:
                continue
    return model, feeds


def checked(index, options):
    """What the results file gets."""
    begin = time.monotonic()
    model, feeds = random_model(options.seed, index)
    rng = np.random.default_rng([options.seed, index, 1])
    if rng.random() < 0.5:
        model = with_special_weights(model, feeds, rng)
    stage, said = failure_of(model, feeds, options, index)
    if stage and options.keep:
        small, given = smaller(model, feeds, stage, options, index)
        options.keep.mkdir(parents=True, exist_ok=True)
        onnx.save(small, options.keep / f"{options.seed}-{index}.onnx")
        np.savez(options.keep / f"{options.seed}-{index}.npz", **given)
        said += f" ({len(small.graph.node)} of {len(model.graph.node)} nodes: " \
                f"{' '.join(each.op_type for each in small.graph.node)})"
    return {**asked(index, options), "failed": stage, "said": said, "nodes": [each.op_type for each in model.graph.node],
            "seconds": round(time.monotonic() - begin, 2)}


def asked(index, options):
    """What a row of results is of."""
    return {"seed": options.seed, "index": index, "level": options.level, "fp": mode_of(index, options),
            "time": options.time, "proof_every": options.proof_every, "run": not options.no_run}


def child(index, options, sending):
    try:
        sending.send(checked(index, options))
    except Exception as error:
        sending.send({**asked(index, options), "failed": "script", "said": repr(error)[:300], "nodes": [], "seconds": 0})


def results_of(indices, options):
    """A process each: a runtime that crashes or does not end takes no other model with it."""
    fork = multiprocessing.get_context("fork")
    running, left = {}, iter(indices)
    while True:
        while len(running) < options.jobs and (index := next(left, None)) is not None:
            receiving, sending = fork.Pipe(False)
            process = fork.Process(target=child, args=(index, options, sending))
            process.start()
            sending.close()
            running[receiving] = index, process, time.monotonic()
        if not running:
            return
        ready = multiprocessing.connection.wait(list(running), 1)
        late = [each for each, (_, _, begin) in running.items() if time.monotonic() - begin > MOST_SECONDS]
        for receiving in {*ready, *late}:
            index, process, _ = running.pop(receiving)
            try:
                result = receiving.recv() if receiving in ready else None
            except EOFError:
                result = None
            process.kill()
            process.join()
            yield result or {**asked(index, options), "failed": "peer", "nodes": [], "seconds": MOST_SECONDS,
                             "said": "the runtime " + ("crashed" if receiving in ready else "did not end")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--isomer", default=ROOT / "build" / "bin" / "isomer")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="this model alone")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for failures")
    parser.add_argument("--level", type=int, default=2)
    parser.add_argument("--time", help="of a search, as isomer optimize takes it")
    parser.add_argument("--fp", choices=[*MODES, "turns"], default="turns")
    parser.add_argument("--proof-every", type=int, default=5, help="proofs are written and verified; 0: of none")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--no-run", action="store_true", help="optimize alone")
    parser.add_argument("--results", type=pathlib.Path, help="a line of JSON a model; what is there is not done again")
    options = parser.parse_args()
    indices = range(options.count) if options.only is None else [options.only]
    done = {}
    if options.results and options.results.exists():
        for line in options.results.read_text().splitlines():
            each = json.loads(line)
            if each["index"] in indices and each.items() >= asked(each["index"], options).items():
                done[each["index"]] = each
    program = subprocess.run([options.isomer, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    for result in results_of([each for each in indices if each not in done], options):
        result["program"] = program
        done[result["index"]] = result
        if options.results:
            with options.results.open("a") as file:
                file.write(json.dumps(result) + "\n")
        if result["failed"]:
            print(f"{result['seed']}-{result['index']}: {result['fp']}: {result['failed']}: {result['said']}", flush=True)
    notes, operators, modes, programs = (collections.Counter() for _ in range(4))
    for result in done.values():
        operators.update(result["nodes"])
        programs[result["program"]] += 1
        modes[result["fp"]] += 1
        if not result["failed"]:
            notes.update(each[:100] for each in result["said"])
    for note, count in notes.most_common():
        print(f"{count} {note}")
    for program, count in programs.items():
        print(f"{count} by {program}")
    failed = sum(result["failed"] is not None for result in done.values())
    print(f"{len(done)} models ({', '.join(f'{count} {mode}' for mode, count in modes.items())}), "
          f"{sum(operators.values())} nodes of {len(operators)} operators, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
