"""Programs written for ONNX Runtime, after its own examples and its users' (programs/*.py): what they make with `isomer` in
their imports is what they make with `onnxruntime`."""
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

PROGRAMS = sorted((pathlib.Path(__file__).parent / "programs").glob("*.py"))


class Builder:
    """A model in the making: weights are seeded."""

    def __init__(self, seed):
        self.rng, self.nodes, self.weights, self.count = np.random.default_rng(seed), [], [], 0

    def weight(self, *shape, scale=None):
        return self.constant((self.rng.standard_normal(shape) * (scale or 1 / np.sqrt(shape[0]))).astype(np.float32))

    def constant(self, array):
        self.count += 1
        self.weights.append(numpy_helper.from_array(np.asarray(array), f"c{self.count}"))
        return self.weights[-1].name

    def add(self, op, *inputs, outputs=None, **attributes):
        self.count += 1
        names = outputs or [f"v{self.count}"]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[0]

    def save(self, name, inputs, outputs):
        values = lambda ports: [helper.make_tensor_value_info(port, kind, shape) for port, kind, shape in ports]
        graph = helper.make_graph(self.nodes, name, values(inputs), values(outputs), self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="tests",
                                  model_version=3, doc_string="a test")
        model.metadata_props.add(key="author", value="nobody")
        onnx.checker.check_model(model)
        onnx.save(model, f"{name}.onnx")


FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def sigmoid():
    made = Builder(0)
    made.add("Sigmoid", "x", outputs=["y"])
    made.save("sigmoid", [("x", FLOAT, [3, 4, 5])], [("y", FLOAT, [3, 4, 5])])


def add():
    made = Builder(0)
    made.add("Add", "x", "y", outputs=["z"])
    made.save("add", [("x", FLOAT, ["n"]), ("y", FLOAT, ["n"])], [("z", FLOAT, ["n"])])


def classes():
    """Of two numbers: a label, and how probable each of three is."""
    made = Builder(1)
    shares = made.add("Softmax", made.add("Gemm", "x", made.weight(2, 3), made.weight(3)), outputs=["probabilities"], axis=-1)
    made.add("ArgMax", shares, outputs=["label"], axis=1, keepdims=0)
    made.save("classes", [("x", FLOAT, ["n", 2])], [("label", INT64, ["n"]), ("probabilities", FLOAT, ["n", 3])])


def classifier():
    made, value = Builder(2), "pixels"
    for channels, step in ((3, 16), (16, 32)):
        value = made.add("Conv", value, made.weight(step, channels, 3, 3, scale=0.2), made.weight(step), pads=[1] * 4,
                         strides=[2, 2])
        value = made.add("Relu", value)
    pooled = made.add("Flatten", made.add("GlobalAveragePool", value))
    made.add("Gemm", pooled, made.weight(32, 10), made.weight(10), outputs=["scores"])
    made.save("classifier", [("pixels", FLOAT, ["batch", 3, 32, 32])], [("scores", FLOAT, ["batch", 10])])


def detector():
    """Of each 8x8 patch of the image a box: low corner, high corner, confidence."""
    made = Builder(3)
    value = made.add("Relu", made.add("Conv", "images", made.weight(8, 3, 8, 8, scale=0.1), strides=[8, 8]))
    value = made.add("Sigmoid", made.add("Conv", value, made.weight(5, 8, 1, 1, scale=0.5)))
    rows = made.add("Transpose", made.add("Reshape", value, made.constant(np.int64([0, 5, -1]))), perm=[0, 2, 1])
    corner = made.add("Mul", made.add("Slice", rows, *(made.constant(np.int64([k])) for k in (0, 2, 2))),
                      made.constant(np.float32(30)))
    size = made.add("Mul", made.add("Slice", rows, *(made.constant(np.int64([k])) for k in (2, 4, 2))),
                    made.constant(np.float32(20)))
    sure = made.add("Slice", rows, *(made.constant(np.int64([k])) for k in (4, 5, 2)))
    made.add("Concat", corner, made.add("Add", corner, size), sure, outputs=["boxes"], axis=2)
    made.save("detector", [("images", FLOAT, ["batch", 3, "height", "width"])], [("boxes", FLOAT, ["batch", "anchors", 5])])


def attend(made, width, query, keys, values, bias=None):
    scores = made.add("MatMul", query, made.add("Transpose", keys, perm=[0, 1, 3, 2]))
    scores = made.add("Div", scores, made.constant(np.float32(np.sqrt(width))))
    if bias:
        scores = made.add("Add", scores, bias)
    return made.add("MatMul", made.add("Softmax", scores, axis=-1), values)


def heads(made, value, count, width):
    split = made.add("Reshape", made.add("MatMul", value, made.weight(count * width, count * width)),
                     made.constant(np.int64([0, 0, count, width])))
    return made.add("Transpose", split, perm=[0, 2, 1, 3])


def joined(made, value, width):
    return made.add("Reshape", made.add("Transpose", value, perm=[0, 2, 1, 3]), made.constant(np.int64([0, 0, width])))


def normal(made, value, width):
    return made.add("LayerNormalization", value, made.constant(np.ones(width, np.float32)),
                    made.constant(np.zeros(width, np.float32)))


def bert():
    made, ports = Builder(4), [(name, INT64, ["batch", "sequence"]) for name in ("input_ids", "input_mask", "segment_ids")]
    value = made.add("Add", made.add("Gather", made.weight(100, 16, scale=1), "input_ids"),
                     made.add("Gather", made.weight(2, 16, scale=1), "segment_ids"))
    mask = made.add("Unsqueeze", made.add("Cast", "input_mask", to=FLOAT), made.constant(np.int64([1, 2])))
    bias = made.add("Mul", made.add("Sub", made.constant(np.float32(1)), mask), made.constant(np.float32(-10000)))
    for _ in range(2):
        query, keys, values = (heads(made, value, 2, 8) for _ in range(3))
        attended = joined(made, attend(made, 8, query, keys, values, bias), 16)
        value = normal(made, made.add("Add", value, attended), 16)
        hidden = made.add("Tanh", made.add("MatMul", value, made.weight(16, 32)))
        value = normal(made, made.add("Add", value, made.add("MatMul", hidden, made.weight(32, 16))), 16)
    logits = made.add("MatMul", value, made.weight(16, 2))
    for k, name in enumerate(("start_logits", "end_logits")):
        made.add("Gather", logits, made.constant(np.int64(k)), outputs=[name], axis=2)
    made.save("bert", ports, [(name, FLOAT, ["batch", "sequence"]) for name in ("start_logits", "end_logits")])


def decoder():
    made = Builder(5)
    inputs = [("input_ids", INT64, ["batch", "sequence"]), ("position_ids", INT64, ["batch", "sequence"])]
    outputs = [("logits", FLOAT, ["batch", "sequence", 50])]
    words = made.weight(50, 16, scale=1)
    value = made.add("Add", made.add("Gather", words, "input_ids"),
                     made.add("Gather", made.weight(64, 16, scale=1), "position_ids"))
    for layer in range(2):
        query, *fresh = (heads(made, value, 2, 8) for _ in range(3))
        cached = []
        for kind, new in zip(("key", "value"), fresh):
            cached.append(made.add("Concat", f"past_{kind}_{layer}", new, outputs=[f"present_{kind}_{layer}"], axis=2))
            inputs.append((f"past_{kind}_{layer}", FLOAT, ["batch", 2, "past", 8]))
            outputs.append((f"present_{kind}_{layer}", FLOAT, ["batch", 2, "total", 8]))
        value = normal(made, made.add("Add", value, joined(made, attend(made, 8, query, *cached), 16)), 16)
    made.add("MatMul", value, made.add("Transpose", words, perm=[1, 0]), outputs=["logits"])
    made.save("decoder", inputs, outputs)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder, before = tmp_path_factory.mktemp("models"), os.getcwd()
    os.chdir(folder)
    for make in (sigmoid, add, classes, classifier, detector, bert, decoder):
        make()
    os.chdir(before)
    return folder


def results(program, models, tmp_path, package):
    """The arrays that a program writes, and what it prints, with this package in its imports."""
    text = re.sub(r"^(\s*(?:import|from) )onnxruntime\b(?=(.*))",
                  lambda found: found[1] + (package if "as " in found[2] or found[1].strip().startswith("from")
                                            else f"{package} as onnxruntime"),
                  program.read_text(), flags=re.MULTILINE)
    script, out = tmp_path / f"{package}_{program.name}", tmp_path / f"{package}.npz"
    script.write_text(text)
    done = subprocess.run([sys.executable, script, out], cwd=models, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert done.returncode == 0, done.stderr
    with np.load(out) as arrays:
        return list(arrays.values()), done.stdout


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.stem for program in PROGRAMS])
def test_with_the_import_changed(program, models, tmp_path):
    pytest.importorskip("onnxruntime")
    expected, _ = results(program, models, tmp_path, "onnxruntime")
    found, _ = results(program, models, tmp_path, "isomer")
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
