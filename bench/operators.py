#!/usr/bin/env python3
"""Single operators against ONNX Runtime and oneDNN, all in turns: a line an operator, geometric means at the end.

    bench/operators.py [--threads 1] [--duration 0.5] [--passes 1] [--onnxruntime libonnxruntime.so.1.31.1] [PART-OF-A-NAME…]

Weights are constants, packed before anything is measured. ONNX Runtime and we take and give row-major tensors; beside oneDNN, which
runs what it has a primitive for in its own layouts, our changes of layout don't count either. Times are minima; ratios are those of
turns (the median over rounds of one pass, the middle one of several passes). GB/s: what is read and written at least; of limit: of the multiply-adds of `isomer env --peak` (changes of layout not counted), or of the bandwidth of the level that holds what is read and
written (memory: of copying, if as much is written as read), whichever is the larger share. Needs the Python packages onnx and numpy.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

BIN = pathlib.Path(__file__).resolve().parent.parent / "build" / "bin"


def model(nodes, inputs, output, **weights):
    """Inputs and output as shapes, weights as shapes too: seeded normal numbers of the size that keeps results near 1."""
    random = numpy.random.default_rng(0)
    tensors = [numpy_helper.from_array((random.standard_normal(shape) / math.sqrt(max(1, math.prod(shape[1:])))).astype(numpy.float32), name) for name, shape in weights.items()]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    graph = helper.make_graph(nodes, "operator", infos, [helper.make_tensor_value_info("y", TensorProto.FLOAT, output)], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def conv(channels, size, filters, kernel, stride=1, group=1, dilation=1, rank=2, batch=1):
    pad = dilation * (kernel // 2)
    out = (size + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], strides=[stride] * rank, pads=[pad] * 2 * rank, group=group, dilations=[dilation] * rank)
    return model([node], {"x": [batch, channels] + [size] * rank}, [batch, filters] + [out] * rank, w=(filters, channels // group) + (kernel,) * rank, b=(filters,))


def in_a_row(count, channels, size):
    """Depthwise 3x3 convolutions: the changes of layout before and behind them count once."""
    shape = [1, channels, size, size]
    names = ["x"] + [f"t{k}" for k in range(1, count)] + ["y"]
    nodes = [helper.make_node("Conv", [names[k], f"w{k}"], [names[k + 1]], pads=[1] * 4, group=channels) for k in range(count)]
    return model(nodes, {"x": shape}, shape, **{f"w{k}": (channels, 1, 3, 3) for k in range(count)})


def transposed(channels, size, filters, kernel, stride, pad):
    out = (size - 1) * stride + kernel - 2 * pad
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[stride] * 2, pads=[pad] * 4)
    return model([node], {"x": [1, channels, size, size]}, [1, filters, out, out], w=(channels, filters, kernel, kernel))


def product(m, k, n):
    return model([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": [m, k]}, [m, n], w=(k, n))


def batched(batch, m, k, n):
    return model([helper.make_node("MatMul", ["x", "z"], ["y"])], {"x": [batch, m, k], "z": [batch, k, n]}, [batch, m, n])


def single(op, shape, output=None, weights=None, **attributes):
    weights = weights or {}
    return model([helper.make_node(op, ["x", *weights], ["y"], **attributes)], {"x": shape}, output or shape, **weights)


def binary(op, shape, other):
    return model([helper.make_node(op, ["x", "z"], ["y"])], {"x": shape, "z": other}, shape)


def row_mean(rows, columns):
    made = model([helper.make_node("ReduceMean", ["x", "axes"], ["y"])], {"x": [rows, columns]}, [rows, 1])
    made.graph.initializer.append(numpy_helper.from_array(numpy.array([1], dtype=numpy.int64), "axes"))
    return made


def padded(size):
    made = model([helper.make_node("Pad", ["x", "pads"], ["y"])], {"x": [size, size]}, [size + 2, size + 2])
    made.graph.initializer.append(numpy_helper.from_array(numpy.array([1, 1, 1, 1], dtype=numpy.int64), "pads"))
    return made


def add_relu(shape):
    return model([helper.make_node("Add", ["x", "z"], ["s"]), helper.make_node("Relu", ["s"], ["y"])], {"x": shape, "z": shape}, shape)


def pool(op, channels, size, kernel, stride, pad):
    out = (size + 2 * pad - kernel) // stride + 1
    return single(op, [1, channels, size, size], [1, channels, out, out], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)


# ResNet-18's convolutions in the numbering of the TVM papers: input channels, size, filters, kernel, stride.
RESNET = [(3, 224, 64, 7, 2), (64, 56, 64, 3, 1), (64, 56, 64, 1, 1), (64, 56, 128, 3, 2), (64, 56, 128, 1, 2), (128, 28, 128, 3, 1),
          (128, 28, 256, 3, 2), (128, 28, 256, 1, 2), (256, 14, 256, 3, 1), (256, 14, 512, 3, 2), (256, 14, 512, 1, 2), (512, 7, 512, 3, 1)]

OPERATORS = {f"C{k + 1}: {c}, {s}, {f}, {n}x{n}, {t}": lambda c=c, s=s, f=f, n=n, t=t: conv(c, s, f, n, t) for k, (c, s, f, n, t) in enumerate(RESNET)}
OPERATORS |= {f"depthwise {c}, {s}, 3x3, {t}": lambda c=c, s=s, t=t: conv(c, s, c, 3, t, c)
              for c, s, t in [(32, 112, 1), (96, 112, 2), (144, 56, 1), (576, 14, 1), (960, 7, 1)]}
OPERATORS |= {f"6 depthwise in a row, {c}, {s}, 3x3, 1": lambda c=c, s=s: in_a_row(6, c, s) for c, s in [(32, 112), (144, 56), (576, 14), (960, 7)]}
OPERATORS |= {f"pointwise {c}→{f}, {s}": lambda c=c, f=f, s=s: conv(c, s, f, 1) for c, f, s in [(32, 16, 112), (144, 24, 56), (96, 576, 14), (960, 320, 7)]}
OPERATORS |= {
    "32 groups, 128→128, 56, 3x3": lambda: conv(128, 56, 128, 3, 1, 32),
    "dilated 2, 128, 28, 3x3": lambda: conv(128, 28, 128, 3, 1, 1, 2),
    "3-D 64→64, 14, 3x3x3": lambda: conv(64, 14, 64, 3, rank=3),
    "1-D 80→384, 3000, 3": lambda: conv(80, 3000, 384, 3, rank=1),
    "transposed 256→128, 14, 4x4, 2": lambda: transposed(256, 14, 128, 4, 2, 1),
}
OPERATORS |= {f"{name} {m}x{k}x{n}": lambda m=m, k=k, n=n: product(m, k, n)
              for name, m, k, n in [("bert qkv", 128, 768, 768), ("bert ffn1", 128, 768, 3072), ("bert ffn2", 128, 3072, 768)]}
OPERATORS |= {
    "bert scores 12x128x64x128": lambda: batched(12, 128, 64, 128),
    "bert context 12x128x128x64": lambda: batched(12, 128, 128, 64),
    "square 512": lambda: product(512, 512, 512),
    "square 1024": lambda: product(1024, 1024, 1024),
}
OPERATORS |= {"micro-kernel 192x256x16": lambda: product(192, 256, 16)}
OPERATORS |= {f"matrix-vector {k}x{n}, {level}": lambda k=k, n=n: product(1, k, n) for k, n, level in [(64, 80, "l1"), (256, 192, "l2"), (1024, 1024, "l3"), (8192, 8192, "memory")]}
OPERATORS |= {f"gpt2 1x{k}x{n}": lambda k=k, n=n: product(1, k, n) for k, n in [(768, 768), (768, 3072), (3072, 768), (768, 50257)]}
OPERATORS |= {
    "softmax 12x128x128": lambda: single("Softmax", [12, 128, 128], axis=-1),
    "layernorm 128x768": lambda: single("LayerNormalization", [128, 768], weights={"s": (768,), "b": (768,)}),
    "gelu 128x3072": lambda: single("Gelu", [128, 3072]),
    "maxpool 64 112": lambda: pool("MaxPool", 64, 112, 3, 2, 1),
    "meanpool 256 28": lambda: pool("AveragePool", 256, 28, 3, 1, 1),
    "global meanpool 2048 7": lambda: single("GlobalAveragePool", [1, 2048, 7, 7], [1, 2048, 1, 1]),
    "mean of rows 128x768": lambda: row_mean(128, 768),
    "add relu 256 56": lambda: add_relu([1, 256, 56, 56]),
    "add 16 MB": lambda: binary("Add", [4096, 1024], [4096, 1024]),
    "sigmoid 128x3072": lambda: single("Sigmoid", [128, 3072]),
    "transpose 1024x1024": lambda: single("Transpose", [1024, 1024], perm=[1, 0]),
    "add 256 MB": lambda: binary("Add", [8192, 8192], [8192, 8192]),
    "relu 256 MB": lambda: single("Relu", [8192, 8192]),
    "transpose 8192x8192": lambda: single("Transpose", [8192, 8192], perm=[1, 0]),
    "concat 2x128 MB": lambda: model([helper.make_node("Concat", ["x", "z"], ["y"], axis=1)], {"x": [8192, 4096], "z": [8192, 4096]}, [8192, 8192]),
    "pad 256 MB": lambda: padded(8192),
    "transpose 12x128x64": lambda: single("Transpose", [1, 128, 12, 64], [1, 12, 128, 64], perm=[0, 2, 1, 3]),
}


def measured(name, options, folder):
    file = folder / "operator.onnx"
    made = OPERATORS[name]()
    onnx.save(made, file)
    command = [options.bin / "isomer", "bench", file, "--json", "-q", "--threads", str(options.threads), "--duration", str(options.duration), "--against", "onnxruntime,onednn"]
    if options.onnxruntime:
        command += ["--onnxruntime", options.onnxruntime]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr.strip()
    return json.loads(done.stdout) | dict(zip(("read", "written"), bytes_of(made)))


def bytes_of(made):
    """What an operator reads and writes at least."""
    size = lambda value: 4 * math.prod(dim.dim_value for dim in value.type.tensor_type.shape.dim)
    return sum(map(size, made.graph.input)) + sum(len(tensor.raw_data) for tensor in made.graph.initializer), sum(map(size, made.graph.output))


def layout_share(result):
    return sum(task["share"] for task in result["tasks"] if task["name"] == "Relayout")


def share_of_limit(result, limits, caches):
    """Of the peak, changes of layout aside, or of the bandwidth of the level that what is read and written fits into."""
    size = result["read"] + result["written"]
    level = next((level for level, cache in caches if size <= cache), "memory")
    bandwidth = limits["copy_gbs" if level == "memory" and 2 * result["written"] >= result["read"] else "read_gbs"][level]
    return max(1e3 * result["gflop"] / result["min_ms"] / (1 - layout_share(result)) / limits["fma_gflops"], size / 1e6 / result["min_ms"] / bandwidth)


def faster_of(before, result):
    """Of several passes: our shortest time, each peer's ratios."""
    if isinstance(result, str):
        return before or result
    for facts in result["against"].values():
        facts["ratios"] = [facts["ratio"]]
    if before is None or isinstance(before, str):
        return result
    faster = min(before, result, key=lambda each: each["min_ms"])
    ratios = {peer: {**facts, "ratios": facts["ratios"] + before["against"].get(peer, {"ratios": []})["ratios"]} for peer, facts in result["against"].items()}
    return {**faster, "against": ratios}


def machine(options):
    """What `isomer env --peak` measures now: others on the machine lower it."""
    return json.loads(subprocess.run([options.bin / "isomer", "env", "--json", "--peak"], check=True, capture_output=True, text=True).stdout) | {"threads": options.threads}


def best_of(machines):
    """The highest of each limit; the sizes of the caches."""
    peaks = [each["peak"][f"threads_{each['threads']}"] for each in machines]
    sizes = machines[0]["cpu"]["caches"]
    limits = {"fma_gflops": max(peak["fma_gflops"] for peak in peaks)}
    for kind in ("read_gbs", "copy_gbs"):
        limits[kind] = {level: max(peak[kind][level] for peak in peaks) for level in peaks[0][kind]}
    # Of the last level a machine with many tenants has a part.
    return limits, [("l1", sizes["l1d"]), ("l2", sizes["l2"]), ("l3", min(sizes["l3"], 16 << 20))]


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="all whose name holds one of these")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--duration", type=float, default=0.5)
    parser.add_argument("--passes", type=int, default=1, help="over all operators")
    parser.add_argument("--onnxruntime", default="")
    parser.add_argument("--bin", type=pathlib.Path, default=BIN)
    options = parser.parse_args()
    all_ratios = {"onnxruntime": [], "onednn": [], "faster": []}
    names = [name for name in OPERATORS if not options.names or any(part in name for part in options.names)]
    results, machines = {}, [machine(options)]
    for turn in range(options.passes):
        for number, name in enumerate(names):
            with tempfile.TemporaryDirectory() as folder:
                results[name] = faster_of(results.get(name), measured(name, options, pathlib.Path(folder)))
            print(f"pass {turn + 1}, {number + 1} of {len(names)}: {name}", file=sys.stderr)
            if number % 10 == 9 or number + 1 == len(names):
                machines.append(machine(options))
    limits, caches = best_of(machines)
    print("| operator | ms | GFLOP/s | GB/s | of limit | ONNX Runtime / ours | oneDNN / ours | faster / ours | oneDNN's algorithm |\n|---|---|---|---|---|---|---|---|---|")
    for name, result in results.items():
        if isinstance(result, str):
            print(f"| {name} | {result} |")
            continue
        gflops = 1e3 * result["gflop"] / result["min_ms"]
        ratios = {peer: statistics.median(facts["ratios"]) for peer, facts in result["against"].items()}
        if "onednn" in ratios:
            ratios["onednn"] /= 1 - layout_share(result)
        ratios["faster"] = min(ratios.values())
        for peer, ratio in ratios.items():
            all_ratios[peer].append(ratio)
        shown = [f"{ratios[peer]:.2f}" if peer in ratios else "–" for peer in all_ratios]
        algorithm = result["against"].get("onednn", {}).get("algorithm", "–")
        share, gigabytes = share_of_limit(result, limits, caches), (result["read"] + result["written"]) / 1e9
        print(f"| {name} | {result['min_ms']:.4f} | {gflops:.1f} | {1e3 * gigabytes / result['min_ms']:.1f} | {100 * share:.0f} % | {' | '.join(shown)} | {algorithm} |")
    means = ", ".join(f"{peer} {mean(ratios):.3f} (of {len(ratios)}, lowest {min(ratios, default=math.nan):.2f})" for peer, ratios in all_ratios.items())
    print(f"\nGeometric means: {means}")
    failed = [name for name, result in results.items() if isinstance(result, str)]
    if failed:
        print(f"{len(failed)} not measured: {', '.join(failed)}")
    return len(failed) > 0


if __name__ == "__main__":
    sys.exit(main())
