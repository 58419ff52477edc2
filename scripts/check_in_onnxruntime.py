#!/usr/bin/env python3
"""Optimizes models and runs both forms in ONNX Runtime and in isomer: all four must agree.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install onnxruntime numpy
    /tmp/peers/bin/python scripts/check_in_onnxruntime.py [NAME or FILE.onnx ...]

NAME is a model of models/ (default: all of them), filled with its weights in a temporary folder; FILE.onnx runs on the
inputs of FILE.npz (models/fetch_real_models.py --inputs writes such pairs). Outputs of a and b agree where they differ by
at most 1e-4 of the largest absolute value of a, plus 1e-6. Exit status 1 where any do not, or a model does not load.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parent.parent


def mixed(z):
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def generated(rule, shape, dtype):
    """An input by the rule of models/README.md."""
    kind, *words = rule.split()
    count = int(np.prod(shape, dtype=np.int64))
    if kind == "constant":
        return np.full(shape, float(words[0])).astype(dtype)
    if kind == "arange":
        return np.broadcast_to(int(words[0]) + np.arange(shape[-1]), shape).astype(dtype)
    with np.errstate(over="ignore"):
        z = mixed(np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(int(words[-1])))
    if kind == "tokens":
        return (z % np.uint64(int(words[0]))).reshape(shape).astype(dtype)
    assert kind == "uniform", rule
    low, high = float(words[0]), float(words[1])
    return (low + (high - low) * ((z >> np.uint64(11)).astype(np.float64) * 2.0**-53)).reshape(shape).astype(dtype)


class Isomer:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def tool(self, name, *arguments):
        done = subprocess.run([self.folder / name, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip() or f"{name} exits with {done.returncode}")

    def run(self, model, inputs, work):
        outputs = work / "outputs.npz"
        self.tool("isomer", "run", model, "--interpret", "-q", "--load-inputs", inputs, "--save-outputs", outputs)
        return dict(np.load(outputs))


def run_in_onnxruntime(model, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(np.load(inputs)))))


def error(a, b):
    """Largest difference as a share of what is allowed."""
    if list(a) != list(b):
        raise RuntimeError(f"outputs {list(a)} expected, {list(b)} found")
    worst = 0.0
    for name, x in a.items():
        y = b[name]
        if x.shape != y.shape or x.dtype != y.dtype:
            raise RuntimeError(f"{name}: {x.dtype}{x.shape} expected, {y.dtype}{y.shape} found")
        if x.dtype.kind != "f":
            if (x != y).any():
                raise RuntimeError(f"{name}: {(x != y).sum()} of {x.size} elements differ")
            continue
        x, y = x.astype(np.float64), y.astype(np.float64)
        finite = np.isfinite(x)
        if (finite != np.isfinite(y)).any() or not np.array_equal(x[~finite], y[~finite], equal_nan=True):
            raise RuntimeError(f"{name}: NaN or infinity in one of them only")
        if finite.any():
            allowed = 1e-4 * np.abs(x[finite]).max() + 1e-6
            worst = max(worst, float(np.abs(x - y)[finite].max() / allowed))
    return worst


def check(isomer, name, work):
    model = pathlib.Path(name)
    inputs = work / "inputs.npz"
    if model.suffix == ".onnx":
        inputs = model.with_suffix(".npz")
    else:
        isomer.tool("isomer-fill", ROOT / "models" / f"{name}.onnx", "-o", work)
        model = work / f"{name}.onnx"
        recorded = json.loads((ROOT / "models" / "expected.json").read_text())["models"][name]
        np.savez(inputs, **{i["name"]: generated(i["rule"], i["shape"], i["dtype"]) for i in recorded["inputs"]})
    optimized = work / "optimized.onnx"
    report = work / "report.json"
    isomer.tool("isomer", "optimize", model, "-o", optimized, "-q", "--no-check", "--report", report)
    nodes = json.loads(report.read_text())
    peer, peer_after = run_in_onnxruntime(model, inputs), run_in_onnxruntime(optimized, inputs)
    ours, ours_after = isomer.run(model, inputs, work), isomer.run(optimized, inputs, work)
    errors = [error(peer, peer_after), error(ours, peer), error(ours, ours_after)]
    return nodes["nodes_before"], nodes["nodes_after"], errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="NAME or FILE.onnx")
    parser.add_argument("--isomer", default=ROOT / "build" / "bin", help="folder of isomer and isomer-fill (default %(default)s)")
    options = parser.parse_args()
    isomer = Isomer(options.isomer)
    names = options.models or sorted(path.stem for path in (ROOT / "models").glob("*.onnx"))
    print(f"ONNX Runtime {onnxruntime.__version__}; errors as shares of what is allowed")
    print(f"{'model':30}{'nodes':>7}{'after':>7}{'peer after/before':>19}{'peer/ours':>11}{'ours after/before':>19}")
    failed = 0
    for name in names:
        with tempfile.TemporaryDirectory() as work:
            try:
                before, after, errors = check(isomer, name, pathlib.Path(work))
            except Exception as problem:
                print(f"{name:30} {problem}", flush=True)
                failed += 1
                continue
        print(f"{pathlib.Path(name).stem:30}{before:7}{after:7}{errors[0]:19.3g}{errors[1]:11.3g}{errors[2]:19.3g}", flush=True)
        failed += max(errors) > 1
    print(f"{len(names) - failed} of {len(names)} models agree")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
