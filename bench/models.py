#!/usr/bin/env python3
"""Whole models against ONNX Runtime, in turns: a line a model, the geometric mean at the end.

    bench/models.py [--threads 1] [--duration 2] [--onnxruntime libonnxruntime.so.1.31.1] [MODEL…]

MODEL is a name in models/ without its ending; all of them where none is given. Weights are filled in a temporary folder.
"""
import argparse
import json
import math
import pathlib
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = ROOT / "build" / "bin"


def measured(name, inputs, options, folder):
    model = folder / f"{name}.onnx"
    shutil.copy(ROOT / "models" / f"{name}.onnx", model)
    subprocess.run([options.bin / "isomer-fill", model], check=True, stdout=subprocess.DEVNULL)
    command = [options.bin / "isomer", "bench", model, "--json", "--threads", str(options.threads), "--duration", str(options.duration), "--against", "onnxruntime"]
    if options.onnxruntime:
        command += ["--onnxruntime", options.onnxruntime]
    for value in inputs:
        if value["shape"]:
            command += ["--input-shapes", f"{value['name']}:{value['shape']}".replace(" ", "")]
    done = subprocess.run(command, capture_output=True, text=True)
    for file in folder.iterdir():
        file.unlink()
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--duration", type=float, default=2)
    parser.add_argument("--onnxruntime", default="")
    parser.add_argument("--bin", type=pathlib.Path, default=BIN)
    options = parser.parse_args()
    described = json.loads((ROOT / "models" / "inputs.json").read_text())["models"]
    ratios = []
    print("| model | ms | GFLOP/s | of peak | ONNX Runtime ms | ratio | 25 % | 75 % |\n|---|---|---|---|---|---|---|---|")
    for name in options.models or sorted(described):
        with tempfile.TemporaryDirectory() as folder:
            result = measured(name, described[name]["inputs"], options, pathlib.Path(folder))
        if isinstance(result, str):
            print(f"| {name} | {result} |", flush=True)
            continue
        peer = result["against"]["onnxruntime"]
        ratios.append(peer["ratio"])
        times = sorted(peer["times_ms"])
        print(f"| {name} | {result['median_ms']:.3f} | {result['gflops']:.1f} | {100 * result['gflops'] / result['fma_peak_gflops']:.0f} % | "
              f"{times[len(times) // 2]:.3f} | {peer['ratio']:.2f} | {peer['ratio_p25']:.2f} | {peer['ratio_p75']:.2f} |", flush=True)
    if ratios:
        print(f"\nGeometric mean of {len(ratios)}: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}; lowest {min(ratios):.2f}")


if __name__ == "__main__":
    main()
