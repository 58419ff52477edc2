#!/usr/bin/env python3
"""Optimizes random valid models: whatever `isomer optimize` writes must be accepted and give the same.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install onnx onnxruntime numpy
    /tmp/peers/bin/python scripts/check_random_models.py [--count 200] [--seed 1] [--only I] [--keep FOLDER]
        [--isomer build/bin/isomer] [--level 2] [--jobs 1] [--no-run]

Model I of a seed is always the same; `--only I` makes it again. A model that onnx's checker (with shape inference) or
ONNX Runtime refuses, be it on other numbers, or whose outputs are not finite, is replaced by another. For each of the
others:

  optimize  `isomer optimize` exits with 0
  checker   onnx's checker accepts what it writes, with shape inference
  runtime   so does ONNX Runtime, and its outputs are those of the input model
  run       `isomer run` of the model gives them too ("unsupported" is counted, not a failure)

Integers and bools agree exactly, floats within 1e-3 of the largest absolute value, except where onnx's own evaluator
gives what was found, or where ONNX Runtime does not agree with itself on inputs moved in the seventh digit: rounding
decides these (Ceil of a DFT that is 2 but for rounding). A failure is kept in FOLDER as SEED-I.onnx with SEED-I.npz,
and cut to the nodes before one value where it still fails. Exit status 1 where any failed.
"""

import argparse
import collections
import concurrent.futures
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOLERANCE = 1e-3
MOST_ELEMENTS = 4096
FLOAT, INT, BOOL = np.float32, np.int64, np.bool_


class Unfit(Exception):
    """No node like this fits here."""


def evaluated(model, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {each.name: feeds[each.name] for each in session.get_inputs()})


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


def difference(model, expected, found):
    """A sentence, or nothing."""
    for port, a, b in zip(model.graph.output, expected, found):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{port.name}: {a.dtype}{list(a.shape)} expected, {b.dtype}{list(b.shape)} found"
        if a.dtype.kind != "f":
            if not np.array_equal(a, b):
                return f"{port.name}: {(a != b).sum()} of {a.size} integers differ"
        elif a.size and not np.allclose(a, b, rtol=0, atol=TOLERANCE * max(1, np.abs(a).max())):
            return f"{port.name}: values differ by up to {np.abs(a - b).max():.3g}"
    return None


def is_decided_by_rounding(model, feeds, expected, found):
    rng = np.random.default_rng(0)
    for _ in range(16):
        moved = {name: (value * (1 + rng.uniform(-1, 1, value.shape) * 2**-22)).astype(value.dtype)
                 if value.dtype.kind == "f" else value for name, value in feeds.items()}
        if difference(model, expected, evaluated(model, moved)):
            return True
    try:
        other = ReferenceEvaluator(model).run(None, feeds)
    except Exception:  # it lacks operators
        return False
    return difference(model, [np.asarray(each) for each in other], found) is None


def called(command):
    """Exit status and standard error."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "timeout", ""
    return done.returncode, done.stderr.strip().splitlines()[-1:]


def failure_of(model, feeds, options):
    """(stage, sentence) of the first thing that is wrong, or (None, note)."""
    expected = evaluated(model, feeds)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        onnx.save(model, folder / "in.onnx")
        np.savez(folder / "in.npz", **feeds)
        status, said = called([options.isomer, "optimize", folder / "in.onnx", "-o", folder / "out.onnx", "-q",
                               "--level", str(options.level)])
        if status:
            return "optimize", f"exit {status} {said}"
        written = onnx.load(folder / "out.onnx")
        try:
            onnx.checker.check_model(written, full_check=True)
        except Exception as error:
            return "checker", " ".join(str(error).split())[:200]
        try:
            found = evaluated(written, feeds)
        except Exception as error:
            return "runtime", " ".join(str(error).split())[:200]
        if wrong := difference(model, expected, found):
            return (None, "rounding decides") if is_decided_by_rounding(model, feeds, expected, found) else ("runtime", wrong)
        if options.no_run:
            return None, ""
        status, said = called([options.isomer, "run", folder / "in.onnx", "-q", "--load-inputs", folder / "in.npz",
                               "--save-outputs", folder / "found.npz"])
        if status == 3 and "internal error" not in str(said):
            return None, f"run: {said}"
        if status:
            return "run", f"exit {status} {said}"
        found = np.load(folder / "found.npz")
        found = [found[each.name] for each in model.graph.output]
        wrong = difference(model, expected, found)
        if wrong and not is_decided_by_rounding(model, feeds, expected, found):
            return "run", wrong
        return None, "rounding decides" if wrong else ""


def cut(model, output, feeds):
    """The model as far as one value needs it."""
    needed, nodes = {output}, []
    for node in reversed(model.graph.node):
        if needed.isdisjoint(node.output):
            continue
        nodes.insert(0, node)
        needed.update(node.input)
        for attribute in node.attribute:
            needed.update(each for inner in attribute.g.node for each in inner.input)
    infos = {each.name: each for each in model.graph.output}
    graph = helper.make_graph(nodes, "cut", [each for each in model.graph.input if each.name in needed],
                              [infos.get(output, onnx.ValueInfoProto(name=output))],
                              [each for each in model.graph.initializer if each.name in needed])
    made = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    return onnx.shape_inference.infer_shapes(made), {each.name: feeds[each.name] for each in graph.input}


def smaller(model, feeds, stage, options):
    for count, node in enumerate(model.graph.node, 1):
        for output in filter(None, node.output):
            try:
                made, given = cut(model, output, feeds)
                onnx.checker.check_model(made)
                if len(made.graph.node) < len(model.graph.node) and failure_of(made, given, options)[0] == stage:
                    return made, given
            except Exception:
                continue
    return model, feeds


def checked(index, options):
    model, feeds = random_model(options.seed, index)
    stage, sentence = failure_of(model, feeds, options)
    if stage and options.keep:
        small, given = smaller(model, feeds, stage, options)
        options.keep.mkdir(parents=True, exist_ok=True)
        onnx.save(small, options.keep / f"{options.seed}-{index}.onnx")
        np.savez(options.keep / f"{options.seed}-{index}.npz", **given)
        sentence += f" ({len(small.graph.node)} of {len(model.graph.node)} nodes: " \
                    f"{' '.join(each.op_type for each in small.graph.node)})"
    return index, stage, sentence, [each.op_type for each in model.graph.node]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--isomer", default=ROOT / "build" / "bin" / "isomer")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="this model alone")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for failures")
    parser.add_argument("--level", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--no-run", action="store_true", help="optimize alone")
    options = parser.parse_args()
    indices = range(options.count) if options.only is None else [options.only]
    failed, notes, operators = 0, collections.Counter(), collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for index, stage, sentence, used in pool.map(checked, indices, [options] * len(indices)):
            operators.update(used)
            if stage:
                failed += 1
                print(f"{options.seed}-{index}: {stage}: {sentence}", flush=True)
            elif sentence:
                notes[sentence.split(": ", 3)[-1][:80]] += 1
    for note, count in notes.most_common():
        print(f"{count} not run: {note}")
    print(f"{len(indices)} models, {sum(operators.values())} nodes of {len(operators)} operators, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
