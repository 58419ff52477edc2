#!/usr/bin/env python3
"""What searching over proved rules gives whole models: a line a model, geometric means at the end.

    bench/search.py [--threads 1] [--time 60s] [--rounds 30] [--for isomer|onnxruntime] [--strategy beam] [--weights FOLDER] [MODEL…]

MODEL is a name in models/ without its ending; all of them (but loop_decoder) where none is given. Each is optimized by `isomer optimize`, once with the
search and once without (--level 2); both results are run in turns by what they are for, each in a process of its own that is stopped while the other
measures. The proof of each searched model is checked by `isomer verify`. --singles tells the best single steps where nothing was taken.

ratio: time without the search / time with it, the median over rounds.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import models

PAPERS = ("resnet50", "resnext50_32x4d", "nasnet_a", "nasrnn", "bert_base", "inception_v3", "squeezenet1_1", "resnet18")


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return done.stdout


def measured(name, inputs, options, folder):
    model = (options.weights or folder) / f"{name}.onnx"
    if not model.exists():
        model = folder / f"{name}.onnx"
        shutil.copy(models.ROOT / "models" / f"{name}.onnx", model)
        run([options.bin / "isomer-fill", model])
    isomer, threads = options.bin / "isomer", str(options.threads)
    shapes = []
    for value in inputs:
        if value["shape"]:
            shapes += ["--input-shapes", f"{value['name']}:{value['shape']}".replace(" ", "")]
    common = ["--threads", threads, "--no-check", "-q", *shapes]
    run([isomer, "optimize", model, "-o", folder / "before.onnx", "--level", "2", *common])
    searched = [isomer, "optimize", model, "-o", folder / "after.onnx", "--proof", folder / "proof", "--report", folder / "report", "--time", options.time, "--strategy", options.strategy,
                "--for", options.backend, *common]
    if options.onnxruntime:
        searched += ["--onnxruntime", options.onnxruntime]
    start = time.perf_counter()
    run(searched)
    seconds = time.perf_counter() - start
    run([isomer, "verify", model, folder / "after.onnx", folder / "proof"])
    report = json.loads((folder / "report").read_text())
    rules = {step["rule"] for step in report["steps"] if step["gain_us"]}
    sides, processors = [], sorted(models.os.sched_getaffinity(0))[:options.threads]
    for file in ("before", "after"):
        if options.backend == "isomer":
            run([isomer, "compile", folder / f"{file}.onnx", "-o", folder / f"{file}.iso", "--no-check", "--threads", threads])
            command = [isomer, "bench", "--serve", "--threads", threads, folder / f"{file}.iso"]
        else:
            command = [sys.executable, models.__file__, "--serve-onnxruntime", folder / f"{file}.onnx", "--threads", threads,
                       "--shapes", json.dumps({value["name"]: value["shape"] for value in inputs})]
        sides.append(models.Side([str(part) for part in command], processors))
    count = max(1, min(200, int(30 / max(min(sides[0].run(3)), 1e-3))))
    rounds = [[min(side.run(count)) for side in sides] for _ in range(options.rounds)]
    for side in sides:
        side.close()
    ratios = sorted(before / after for before, after in rounds)
    return {"before": models.median([r[0] for r in rounds]), "after": models.median([r[1] for r in rounds]), "ratio": models.median(ratios), "low": ratios[len(ratios) // 4], "high": ratios[3 * len(ratios) // 4],
            "steps": sum(1 for step in report["steps"] if step["gain_us"]), "rules": len(rules), "seconds": seconds, "report": report}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--time", default="60s")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--strategy", default="beam")
    parser.add_argument("--for", dest="backend", default="isomer", choices=["isomer", "onnxruntime"])
    parser.add_argument("--onnxruntime")
    parser.add_argument("--singles", action="store_true")
    parser.add_argument("--weights", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, default=models.BIN)
    options = parser.parse_args()
    described = json.loads((models.ROOT / "models" / "inputs.json").read_text())["models"]
    ratios = {}
    print("| model | without ms | with ms | ratio | 25 % | 75 % | steps | rules | search s | outcome |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in options.models or sorted(set(described) - {"loop_decoder"}):
        with tempfile.TemporaryDirectory() as folder:
            try:
                row = measured(name, described[name]["inputs"], options, pathlib.Path(folder))
            except RuntimeError as error:
                print(f"| {name} | {error} |", flush=True)
                continue
        ratios[name] = row["ratio"]
        search = row["report"]["search"]
        print(f"| {name} | {row['before']:.3f} | {row['after']:.3f} | {row['ratio']:.3f} | {row['low']:.3f} | {row['high']:.3f} | {row['steps']} | {row['rules']} | {row['seconds']:.0f} | {search['outcome']} |", flush=True)
        if options.singles and search["outcome"] != "faster":
            for single in search.get("best_single_steps", []):
                print(f"    {single['saved_us']:10.1f} us  {single['rule']} at {single['where']}" + (f" and {single['places'] - 1} equal places" if single["places"] > 1 else ""), flush=True)
    if ratios:
        print(f"\nGeometric mean of {len(ratios)}: {models.geometric_mean(list(ratios.values())):.3f}; lowest {min(ratios.values()):.3f}")
    papers = [ratio for name, ratio in ratios.items() if name in PAPERS]
    if papers:
        print(f"Of the {len(papers)} of the papers: {models.geometric_mean(papers):.3f}")


if __name__ == "__main__":
    main()
