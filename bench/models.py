#!/usr/bin/env python3
"""Whole models against ONNX Runtime: a line a model, geometric means at the end.

    bench/models.py [--threads 1] [--duration 2] [--weights FOLDER] [--without PART] [--searched] [--tune TIME]
                    [--quantized KIND] [--results FILE] [MODEL…]

MODEL is a name in models/ without its ending; all of them (but loop_decoder) where none is given. Each side is a process of its own, pinned to
as many processors as it has threads, stopped while the other measures (its workers can't spin into the other's turn). Weights are filled in a
temporary folder, or taken from FOLDER where it holds models of these names. Needs Python's onnxruntime. With --without the other side is
Isomer too, less that part (`isomer compile --without`). Models are compiled without a search (--level 2), or with --searched as `isomer compile`
does by itself. With --tune `isomer tune` has so much time for a model first, with records of its own (--without tuning: the other side goes
without what it found). With --quantized models are quantized first by ONNX Runtime's tools, on random inputs: to qdq (DequantizeLinear before each
operand, filters of int8, activations of uint8), to qoperator (QLinearConv) or dynamic (MatMulInteger). --results keeps rows as JSON lines: models that
are in it, measured with the same options, are not measured again (bench/plot.py draws them).

ratio: ONNX Runtime's time / ours, the median over rounds in turns. ONNX Runtime is called from Python with inputs and outputs bound, which takes it
some microseconds that our program does not need: ratios of models that run for less than 0.1 ms say less. peak: largest resident set, less weights and what the
process took before it opened the model.
"""
import argparse
import atexit
import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from results import Results

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = ROOT / "build" / "bin"
LIGHT = ("mobilenet", "efficientnet", "shufflenet", "resnext", "lstm", "gru", "nasrnn", "mlp", "dqn")


def resident(key, pid="self"):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def serve_onnxruntime(model, threads, shapes):
    """`isomer bench --serve` for ONNX Runtime."""
    import numpy
    import onnxruntime
    before = resident("VmRSS")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    random = numpy.random.default_rng(0)
    feed = {}
    for value in session.get_inputs():
        kind = value.type[len("tensor("):-1].replace("float", "float32").replace("float3216", "float16").replace("double", "float64")
        shape = shapes[value.name]
        feed[value.name] = random.standard_normal(shape).astype(kind) if "float" in kind else random.integers(0, 2, shape).astype(kind)
    bound = session.io_binding()
    for name, array in feed.items():
        bound.bind_cpu_input(name, array)
    for value in session.get_outputs():
        bound.bind_output(value.name)
    print(json.dumps({"ready": True, "before_mb": before, "version": onnxruntime.__version__}), flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            session.run_with_iobinding(bound)
            times.append(1e3 * (time.perf_counter() - start))
        print(json.dumps({"times_ms": times}), flush=True)


class Side:
    """A process that runs a model as often as it is told to, stopped in between."""

    def __init__(self, command, processors):
        self.said = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, text=True, preexec_fn=lambda: os.sched_setaffinity(0, processors))
        atexit.register(self.process.kill)  # whatever goes wrong: what is stopped does not end by itself
        self.ready = self.answer()
        self.run(1)

    def answer(self):
        if line := self.process.stdout.readline():
            return json.loads(line)
        code = self.process.wait()
        self.said.seek(0)
        raise RuntimeError((self.said.read().strip().splitlines() or [f"{self.process.args[0]} ended with {code}"])[-1])

    def run(self, count):
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(f"{count}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the answer says why
        times = self.answer()["times_ms"]
        self.process.send_signal(signal.SIGSTOP)
        return times

    def close(self):
        peak = resident("VmHWM", self.process.pid) - self.ready["before_mb"]
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        self.process.wait()
        return peak


def quantized(model, kind, inputs, folder):
    """The file of the model, quantized."""
    import logging
    import numpy
    import onnx.version_converter
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
    logging.disable(logging.WARNING)
    made = folder / f"{model.stem}_{kind}.onnx"
    # Scales of channels came with opset 13.
    whole = onnx.load(model)
    if whole.opset_import[0].version < 13:
        model = folder / "converted.onnx"
        onnx.save(onnx.version_converter.convert_version(whole, 17), model)
    if kind == "dynamic":
        quantize_dynamic(model, made, weight_type=QuantType.QInt8)
        return made

    class Reader(CalibrationDataReader):
        def __init__(self):
            random = numpy.random.default_rng(0)
            self.feeds = iter([{value["name"]: random.standard_normal(value["shape"]).astype(numpy.float32) for value in inputs} for _ in range(3)])

        def get_next(self):
            return next(self.feeds, None)

    quantize_static(model, made, Reader(), quant_format=QuantFormat.QDQ if kind == "qdq" else QuantFormat.QOperator, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    return made


def median(values):
    return sorted(values)[len(values) // 2]


def measured(name, inputs, options, folder):
    model = (options.weights or folder) / f"{name}.onnx"
    if not model.exists():
        model = folder / f"{name}.onnx"
        shutil.copy(ROOT / "models" / f"{name}.onnx", model)
        subprocess.run([options.bin / "isomer-fill", model], check=True, stdout=subprocess.DEVNULL)
    if options.quantized:
        model = quantized(model, options.quantized, inputs, folder)
    threads = str(options.threads)

    def isomer(*arguments):
        command = [options.bin / "isomer", *arguments, "-q", "--threads", threads]
        if options.tune:
            command += ["--records", folder / "records"]
        for value in inputs:
            if value["shape"]:
                command += ["--input-shapes", f"{value['name']}:{value['shape']}".replace(" ", "")]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())

    def compiled(file, *more):
        isomer("compile", model, "-o", folder / file, "--no-check", *([] if options.searched else ["--level", "2"]), *more)
        return folder / file

    if options.tune:
        isomer("tune", model, "--trials", "1000000", "--time", options.tune)
    start = time.perf_counter()
    artifact = compiled("model.iso")
    compile_s = time.perf_counter() - start
    about = json.loads(subprocess.run([options.bin / "isomer", "inspect", "--json", artifact], check=True, capture_output=True, text=True).stdout)
    processors = sorted(os.sched_getaffinity(0))[:options.threads]
    shapes = json.dumps({value["name"]: value["shape"] for value in inputs})
    serve = [options.bin / "isomer", "bench", "--serve", "--threads", threads]
    peer = [sys.executable, __file__, "--serve-onnxruntime", str(model), "--threads", threads, "--shapes", shapes]
    if options.without:
        peer = serve + [compiled("less.iso", *(["--untuned"] if options.without == "tuning" else ["--without", options.without]))]
    ours, theirs = Side(serve + [artifact], processors), Side(peer, processors)
    count = max(1, min(200, int(50 / max(min(theirs.run(3)), 1e-3))))
    rounds, end = [], time.perf_counter() + options.duration
    while len(rounds) < 5 or time.perf_counter() < end:
        order = (ours, theirs) if len(rounds) % 2 == 0 else (theirs, ours)
        times = {side: min(side.run(count)) for side in order}
        rounds.append((times[ours], times[theirs]))
    ratios = sorted(other / our for our, other in rounds)
    weights = about["weights_mb"]
    return {"model": name, "threads": options.threads, "ms": median([r[0] for r in rounds]), "peer_ms": median([r[1] for r in rounds]), "ratio": median(ratios), "low": ratios[len(ratios) // 4],
            "high": ratios[3 * len(ratios) // 4], "compile_s": compile_s, "weights": weights, "arena": about["variants"][0]["arena_mb"],
            "peak": ours.close() - weights, "peer_peak": theirs.close() - weights}


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def print_failed(failed):
    """The exit status."""
    if failed:
        print(f"{len(failed)} not measured: {', '.join(failed)}")
    return len(failed) > 0


def stop_on_termination():
    """What atexit does is done then, too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--duration", type=float, default=2)
    parser.add_argument("--weights", type=pathlib.Path)
    parser.add_argument("--without")
    parser.add_argument("--searched", action="store_true")
    parser.add_argument("--tune", metavar="TIME")
    parser.add_argument("--quantized", choices=["qdq", "qoperator", "dynamic"])
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, default=BIN)
    parser.add_argument("--serve-onnxruntime", help=argparse.SUPPRESS)
    parser.add_argument("--shapes", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve_onnxruntime:
        return serve_onnxruntime(options.serve_onnxruntime, options.threads, options.shapes)
    described = json.loads((ROOT / "models" / "inputs.json").read_text())["models"]
    stop_on_termination()
    rows = Results(options.results, "model", {name: getattr(options, name) for name in ("threads", "without", "searched", "tune", "quantized")}, options.bin / "isomer")
    ratios, failed = {}, []
    print(f"| model | ms | {'without ' + options.without if options.without else 'ONNX Runtime'} ms | ratio | 25 % | 75 % | compile s | weights MB | arena MB | peak MB | its peak MB |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    # How often loop_decoder loops depends on its inputs, which each side draws itself.
    for name in options.models or sorted(set(described) - {"loop_decoder"}):
        if name not in rows:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    rows.add(measured(name, described[name]["inputs"], options, pathlib.Path(folder)))
                except RuntimeError as error:
                    print(f"| {name} | {error} |", flush=True)
                    failed.append(name)
                    continue
        row = rows[name]
        ratios[name] = row["ratio"]
        print(f"| {name} | {row['ms']:.3f} | {row['peer_ms']:.3f} | {row['ratio']:.2f} | {row['low']:.2f} | {row['high']:.2f} | {row['compile_s']:.1f} | "
              f"{row['weights']:.1f} | {row['arena']:.1f} | {row['peak']:.0f} | {row['peer_peak']:.0f} |", flush=True)
    light = [ratio for name, ratio in ratios.items() if name.startswith(LIGHT)]
    if ratios:
        print(f"\nGeometric mean of {len(ratios)}: {geometric_mean(list(ratios.values())):.3f}; lowest {min(ratios.values()):.2f}")
    if light:
        print(f"Of the {len(light)} small and depthwise ones: {geometric_mean(light):.3f}")
    rows.print_programs(ratios)
    return print_failed(failed)


if __name__ == "__main__":
    sys.exit(main())
