#!/usr/bin/env python3
"""What searching over proved rules gives whole models: a line a model, geometric means at the end.

    bench/search.py [--for isomer|any|onnxruntime] [--graphs K] [--threads 1] [--time 60s] [--rounds 30] [--strategy beam] [--bind] [--weights FOLDER] [--results FILE] [MODEL…]

MODEL is a name in models/ without its ending, or one of real_models.json where FOLDER holds it; all of models/ (but loop_decoder) where none is given.

--for isomer (the default): `isomer compile` as it comes against `isomer compile --level 2`; both artifacts run in turns.
--graphs K: tuned both, each in --time with records of its own: what was found first (`compile --tune`) against K programs of each region that are
tuned together (`--graphs K`).
--for any, onnxruntime: what `isomer optimize --for …` writes against the file that it was given, both run by ONNX Runtime in turns, and a third time the
file that was given (A/A: what noise is). The proof is checked by `isomer verify`. Sizes that a model leaves open stay open, or are bound with --bind.

Each side is a process of its own that is stopped while another measures. --results keeps rows as JSON lines: models that are in it,
measured with the same options, are not measured again. --singles tells the best single steps where nothing was taken.

ratio: time before / time after, the median over rounds.
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
from results import Results

PAPERS = ("resnet50", "resnext50_32x4d", "nasnet_a", "nasrnn", "bert_base", "inception_v3", "squeezenet1_1", "resnet18")


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"{command[1]} ended with {done.returncode}"])[-1])
    return done.stdout


def described():
    """Inputs by model."""
    inputs = {name: model["inputs"] for name, model in json.loads((models.ROOT / "models" / "inputs.json").read_text())["models"].items()}
    for model in json.loads((models.ROOT / "models" / "real_models.json").read_text()):
        inputs[model["id"]] = [{"name": name, "shape": value["shape"]} for name, value in model["inputs"].items()]
    return inputs


def filled(name, options, folder):
    model = options.weights and next((file for file in (options.weights / f"{name}.onnx", options.weights / name / f"{name}.onnx") if file.exists()), None)
    if not model:
        model = folder / f"{name}.onnx"
        shutil.copy(models.ROOT / "models" / f"{name}.onnx", model)
        run([options.bin / "isomer-fill", model])
    return model


def compiled(model, shapes, options, folder):
    """Artifacts without and with the search, and what the search says."""
    common = ["--threads", options.threads, "--no-check", "--json", "-q", *shapes]
    tuned = lambda side: [*options.search, "--tune", "--records", folder / f"{side}.sqlite"] if options.graphs else []
    run([options.bin / "isomer", "compile", model, "-o", folder / "before.iso", *(tuned("before") or ["--level", "2"]), *common])
    start = time.perf_counter()
    more = [*tuned("after"), "--graphs", options.graphs] if options.graphs else options.search
    report = json.loads(run([options.bin / "isomer", "compile", model, "-o", folder / "after.iso", *more, *common]))
    if options.graphs:
        report["search"][0]["tuning"] = report["tuning"][0]
    seconds = time.perf_counter() - start
    serve = [options.bin / "isomer", "bench", "--serve", "--threads", options.threads]
    return [[*serve, folder / "before.iso"], [*serve, folder / "after.iso"]], report["search"][0], seconds


def written(model, inputs, shapes, options, folder):
    """Files before and after, for ONNX Runtime, and what the search says."""
    after, proof, report = folder / "after.onnx", folder / "proof", folder / "report"
    start = time.perf_counter()
    run([options.bin / "isomer", "optimize", model, "-o", after, "--proof", proof, "--report", report, "--for", options.backend, "--threads", options.threads, "-q",
         *options.search, *(["--onnxruntime", options.onnxruntime] if options.onnxruntime else []), *(shapes if options.bind else [])])
    seconds = time.perf_counter() - start
    run([options.bin / "isomer", "verify", model, after, proof, "--no-check", *(shapes if options.bind else [])])
    facts = json.loads(report.read_text())
    fixed = json.dumps({value["name"]: value["shape"] for value in inputs})
    serve = [[sys.executable, models.__file__, "--serve-onnxruntime", file, "--threads", options.threads, "--shapes", fixed] for file in (model, after, model)]
    return serve, {**facts["search"], "nodes": [facts["nodes_before"], facts["nodes_after"]]}, seconds


def measured(name, inputs, options, folder):
    model = filled(name, options, folder)
    shapes = []
    for value in inputs:
        if value["shape"]:
            shapes += ["--input-shapes", f"{value['name']}:{value['shape']}".replace(" ", "")]
    make = (lambda: compiled(model, shapes, options, folder)) if options.backend == "isomer" else (lambda: written(model, inputs, shapes, options, folder))
    commands, search, seconds = make()
    processors = sorted(models.os.sched_getaffinity(0))[:options.threads]
    sides = [models.Side([str(part) for part in command], processors) for command in commands]
    count = max(1, min(200, int(30 / max(min(sides[0].run(3)), 1e-3))))
    rounds = []
    for number in range(options.rounds):
        order = range(len(sides)) if number % 2 == 0 else reversed(range(len(sides)))
        times = {k: min(sides[k].run(count)) for k in order}
        rounds.append([times[k] for k in range(len(sides))])
    for side in sides:
        side.close()
    quartiles = lambda k: [sorted(r[0] / r[k] for r in rounds)[len(rounds) * q // 4] for q in (2, 1, 3)]
    return {"model": name, "before": models.median([r[0] for r in rounds]), "after": models.median([r[1] for r in rounds]), "ratio": quartiles(1),
            "same": quartiles(2) if len(sides) > 2 else None, "seconds": seconds, "search": search}


def line(row):
    search, ratio = row["search"], row["ratio"]
    steps = sum(gain["steps"] for gain in search.get("gains", [])) if search["outcome"] == "faster" else 0
    if "graphs" in search:
        regions, tuning = search["graphs"]["regions"], search["tuning"]
        others, taken = sum(len(region["programs"]) - 1 for region in regions), sum(region["taken"] for region in regions)
        return (f"| {row['model']} | {row['before']:.3f} | {row['after']:.3f} | {ratio[0]:.3f} | {ratio[1]:.3f} | {ratio[2]:.3f} | {others} | {taken} | {len(tuning['cuts'])} | "
                f"{tuning['trials']} | {100 * tuning['trials_of_other_programs'] / max(tuning['trials'], 1):.0f} % | {row['seconds']:.0f} |")
    more = f" {row['same'][0]:.3f} | {search['nodes'][0]} | {search['nodes'][1]} |" if row["same"] else ""
    return f"| {row['model']} | {row['before']:.3f} | {row['after']:.3f} | {ratio[0]:.3f} | {ratio[1]:.3f} | {ratio[2]:.3f} | {steps} | {row['seconds']:.0f} | {search['outcome']} |{more}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--time", help="of each search; where it is not given, what isomer takes")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--strategy")
    parser.add_argument("--for", dest="backend", default="isomer", choices=["isomer", "any", "onnxruntime"])
    parser.add_argument("--graphs", type=int)
    parser.add_argument("--bind", action="store_true")
    parser.add_argument("--onnxruntime")
    parser.add_argument("--singles", action="store_true")
    parser.add_argument("--weights", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, default=models.BIN)
    options = parser.parse_args()
    options.search = [part for flag, value in (("--time", options.time), ("--strategy", options.strategy)) if value for part in (flag, value)]
    inputs = described()
    models.stop_on_termination()
    asked = ("threads", "time", "strategy", "backend", "graphs", "bind", "onnxruntime")
    rows, failed = Results(options.results, "model", {name: getattr(options, name) for name in asked}, options.bin / "isomer"), []
    columns = ["model", "ms before", "ms after", "ratio", "25 %", "75 %"]
    columns += ["other programs", "taken", "cuts taken", "trials", "of them for others", "seconds"] if options.graphs else ["steps", "seconds", "outcome"]
    columns += ["A/A", "nodes before", "after"] if options.backend != "isomer" else []
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    names = options.models or sorted(name for name in inputs if (models.ROOT / "models" / f"{name}.onnx").exists() and name != "loop_decoder")
    for name in names:
        if name not in rows:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    rows.add(measured(name, inputs[name], options, pathlib.Path(folder)))
                except RuntimeError as error:
                    print(f"| {name} | {error} |", flush=True)
                    failed.append(name)
                    continue
        print(line(rows[name]), flush=True)
        if options.singles and rows[name]["search"]["outcome"] != "faster":
            for single in rows[name]["search"].get("best_single_steps", []):
                print(f"    {single['saved_us']:10.1f} us  {single['rule']} at {single['where']}" + (f" and {single['places'] - 1} equal places" if single["places"] > 1 else ""), flush=True)
    ratios = {name: rows[name]["ratio"][0] for name in names if name in rows}
    if ratios:
        print(f"\nGeometric mean of {len(ratios)}: {models.geometric_mean(list(ratios.values())):.3f}; lowest {min(ratios.values()):.3f}")
    papers = [ratio for name, ratio in ratios.items() if name in PAPERS]
    if papers:
        print(f"Of the {len(papers)} of the papers: {models.geometric_mean(papers):.3f}")
    rows.print_programs(ratios)
    return models.print_failed(failed)


if __name__ == "__main__":
    sys.exit(main())
