#!/usr/bin/env python3
"""What bench/gpu.sh runs where a GPU is.

    gpu.py [--emulated] [--seconds 500] [--part PART]… PLACE OUT

PLACE holds what `gpu.sh pack` took along. Parts, all of them by default: rows (kernels of each operator on the GPU against plain loops and the
interpreter), space (schedules of products and rows on small integers, exact), sanitizer (the same under compute-sanitizer), models (compiled for GPU and CPU, outputs compared), layers
(device times beside cuDNN and cuBLASLt where they are found), times (of whole models), sweep (of other schedules of the layers, only where it is asked for). What doesn't fit into the seconds is left out and counted.
"""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import subprocess
import sys
import threading
import time

PARTS = ["rows", "space", "sanitizer", "models", "layers", "times", "sweep"]
SMALL_MODELS = ["mlp", "espcn"]
NO_TIME = "no time left"


def log(text):
    print(f"[{time.monotonic() - START:6.1f} s] {text}", flush=True)


class Run:
    def __init__(self, options):
        self.place, self.out = options.place.resolve(), options.out.resolve()
        self.end = START + options.seconds
        self.emulated = options.emulated
        self.environment = dict(os.environ, XDG_CACHE_HOME=str(self.place / "cache"), TMPDIR=str(self.place))
        if options.emulated:
            self.environment["ISOMER_CUDA_DRIVER"] = str(self.place / "lib" / "libisomer_fake_driver.so")
        self.result = {}
        self.failures = []
        self.left_out = 0
        self.lock = threading.Lock()

    def left(self):
        return self.end - time.monotonic()

    def call(self, command, seconds=240, **variables):
        """Exit code and output; 124 where it took too long."""
        seconds = min(seconds, self.left())
        if seconds <= 1:
            return 124, NO_TIME
        try:
            done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=seconds, cwd=self.place,
                                  env=self.environment | variables)
        except subprocess.TimeoutExpired as late:
            return 124, (late.stdout or b"").decode(errors="replace")[-2000:] + "\nstopped: it took too long"
        return done.returncode, done.stdout if done.returncode == 0 else done.stdout + done.stderr

    def isomer(self, *arguments, **options):
        return self.call([self.place / "bin" / "isomer", *arguments], **options)

    def fail(self, what, output):
        """Or leaves it out, where there is no time left for it."""
        with self.lock:
            if output == NO_TIME:
                self.left_out += 1
                return
            self.failures.append({"what": what, "output": output[-3000:]})
            log(f"FAILED {what}: {output.strip().splitlines()[-1][:300] if output.strip() else 'no output'}")


def test(run, name, shards, pattern="*"):
    """Counts of a gtest program's shards, side by side."""
    def shard(number):
        where = {} if run.emulated else {"ISOMER_TEST_GPU": "1"}  # these tests bring their own emulator
        code, output = run.call([run.place / "bin/tests" / name, f"--gtest_filter={pattern}"], 150, GTEST_TOTAL_SHARDS=str(shards),
                                GTEST_SHARD_INDEX=str(number), **where)
        if code != 0:
            wrong = [line for line in output.splitlines() if line.startswith("[  FAILED  ]")]
            run.fail(f"{name} {number}", output if not wrong else output[-2500:] + "\n" + " ".join(wrong)[:400])
        return output
    with concurrent.futures.ThreadPoolExecutor(shards) as pool:
        output = "\n".join(pool.map(shard, range(shards)))
    (run.out / f"{name}.log").write_text(output)
    named = lambda start: {line.split()[3] for line in output.splitlines() if line.startswith(start) and len(line.split()) > 3}
    passed, skipped, failed = output.count("[       OK ]"), len(named("[  SKIPPED ] All/")), len(named("[  FAILED  ] "))
    run.result[name] = {"passed": passed, "skipped": skipped, "failed": failed}
    if passed == 0 and run.left() > 1:
        run.fail(name, "no test passed")
    log(f"{name}: {passed} passed, {skipped} skipped, {failed} failed")


def sanitize(run):
    """Kernels of default and random schedules under compute-sanitizer's tools."""
    result = run.result["sanitizer"] = {}
    for tool in ("memcheck", "racecheck"):
        code, output = run.call(["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", run.place / "bin/tests/cuda_space",
                                 "--gtest_filter=*Default*:*RandomDecisions*:*Exact*"], 100, ISOMER_TEST_GPU="1")
        (run.out / f"{tool}.log").write_text(output)
        summary = [line for line in output.splitlines() if "SUMMARY" in line]
        result[tool] = {"code": code, "summary": summary}
        log(f"{tool}: exit code {code} {summary}")
        if code != 0:
            run.fail(tool, output)


def in_parallel(work, items, jobs):
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return dict(zip(items, pool.map(work, items)))


def may_round(layer):
    return layer.endswith("_tf32")


def compile_layer(run, name):
    folder = run.place / "layers"
    target = run.target + ("+tf32" if may_round(name) else "")
    code, output = run.call([run.place / "bin/isomer-fill", folder / f"{name}.onnx"])
    if code == 0:
        code, output = run.isomer("compile", folder / f"{name}.onnx", "-o", folder / f"{name}.iso", "--target", target, "--level", "2", "--no-check", "-q")
    if code != 0:
        run.fail(f"compile {name}", output)
    return code == 0


def shapes_of(run, name):
    inputs = json.loads((run.place / "models/expected.json").read_text())["models"][name]["inputs"]
    return [flag for each in inputs if each["shape"] for flag in ("--input-shapes", f"{each['name']}:{json.dumps(each['shape'], separators=(',', ':'))}")]


def check_model(run, name):
    """Compiled for GPU and CPU, and compared."""
    folder = run.place / "filled" / name
    folder.mkdir(parents=True, exist_ok=True)
    code, output = run.call([run.place / "bin/isomer-fill", run.place / "models" / f"{name}.onnx", "-o", folder])
    if code != 0:
        return run.fail(f"fill {name}", output)
    started = time.monotonic()
    for target, file in ((run.target, "gpu.iso"), ("cpu", "cpu.iso")):
        code, output = run.isomer("compile", folder / f"{name}.onnx", "-o", folder / file, "--target", target, "--level", "2", "--no-check", "-q", "--threads", "2", *shapes_of(run, name))
        if code != 0:
            return run.fail(f"compile {name} for {target}", output)
    compiled = time.monotonic()
    code, output = run.isomer("compare", folder / "cpu.iso", folder / "gpu.iso", "--json", "-q")
    if code != 0:
        return run.fail(f"compare {name}", output)
    facts = json.loads(output)
    log(f"{name}: agrees, compiled in {compiled - started:.0f} s, compared in {time.monotonic() - compiled:.0f} s")
    return facts


def measure(run, file, duration, *more):
    code, output = run.isomer("bench", file, "--json", "-q", "--duration", duration, *more, seconds=40)
    if code != 0:
        run.fail(f"bench {file.name}", output)
        return None
    facts = json.loads(output)
    median = lambda times: sorted(times)[len(times) // 2]
    short = {"copy_gbs": facts["copy_gbs"], "ms": median(facts["device_times_ms"]), "wall_ms": facts["median_ms"], "control": facts["control"], "gflop": facts["gflop"], "against": {}}
    for name, peer in facts["against"].items():
        short["against"][name] = {"ms": median(peer["times_ms"]), **{key: peer[key] for key in ("ratio", "ratio_p25", "ratio_p75", "algorithm", "ways", "version")}}
    short["tasks"] = sorted(((task["median_us"], task["name"]) for task in facts["tasks"]), reverse=True)[:12]
    return short


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def save(run):
    run.result["failures"] = run.failures
    (run.out / "gpu.json").write_text(json.dumps(run.result, indent=1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--emulated", action="store_true")
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--layers", default="", help="those whose name holds one of these, by commas")
    parser.add_argument("--models", default="", help="these alone, by commas")
    parser.add_argument("--duration", default="0.2")
    parser.add_argument("--sweep", default="", help="the layers of the sweep; those of --layers")
    parser.add_argument("--count", default="40", help="candidates of a layer in a sweep")
    parser.add_argument("--sweep-seconds", default="60", help="after which a sweep compiles no more")
    parser.add_argument("place", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    options = parser.parse_args()
    run = Run(options)
    parts = options.part or PARTS[:-1]
    jobs = os.cpu_count()
    code, output = run.isomer("env", "--json")
    run.result["env"] = json.loads(output) if code == 0 else output
    log(f"env: {json.dumps(run.result['env'].get('cuda', run.result['env'])) if code == 0 else output}"[:1500])
    query = "--query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem,temperature.gpu"
    run.result["smi"] = run.call(["sh", "-c", f"nvidia-smi {query} --format=csv || true"])[1]
    log(run.result["smi"].strip())
    run.target = "cuda=emulated" if options.emulated else "cuda"
    models = [name for name in options.models.split(",") if name] or (SMALL_MODELS if options.emulated else sorted(path.stem for path in (run.place / "models").glob("*.onnx")))
    wanted = [part for part in options.layers.split(",") if part] or (["softmax_128_f32"] if options.emulated else [""])
    layers = sorted(path.stem for path in (run.place / "layers").glob("*.onnx") if any(part in path.stem for part in wanted))

    # What needs processors, all at once; then times, with nothing beside.
    if "layers" in parts or "sweep" in parts:
        made = in_parallel(lambda name: compile_layer(run, name), layers, jobs)
        layers = [name for name in layers if made[name]]
        log(f"{len(layers)} layers compiled")
    if "sweep" in parts:
        code, output = run.call([run.place / "bin/bench/gpu_sweep", "--count", options.count, "--threads", str(jobs), "--seconds", options.sweep_seconds,
                                 *[run.place / "layers" / f"{name}.onnx" for name in layers if not options.sweep or name in options.sweep.split(",")]], 240)
        (run.out / "sweep.txt").write_text(output)
        log(f"sweep: exit code {code}, {output.count(chr(10))} candidates")
        if code != 0:
            run.fail("sweep", output)
    if "rows" in parts:
        test(run, "cuda_rows", jobs, "*Softmax*:*Relu*" if options.emulated else "*")
    if "space" in parts:
        test(run, "cuda_space", 1 if options.emulated else 4, "*ProductsAndRows*" if options.emulated else "-*Found*")
    if "sanitizer" in parts and not run.emulated:
        sanitize(run)
    save(run)
    if "models" in parts or "times" in parts:
        run.result["models"] = in_parallel(lambda name: check_model(run, name), models, max(1, jobs // 2))
        log(f"{sum(facts is not None for facts in run.result['models'].values())} of {len(models)} models agree")
    save(run)
    if "times" in parts:
        table = run.result["times"] = {}
        for name in models:
            if run.result["models"][name] is None:
                continue
            if run.left() < 5:
                run.left_out += 1
                continue
            table[name] = measure(run, run.place / "filled" / name / "gpu.iso", options.duration)
            save(run)
    if "times" in parts and not run.emulated:
        code, output = run.call(["python3", pathlib.Path(__file__).parent / "gpu_torch.py"], 60)
        run.result["torch"] = json.loads(output.splitlines()[-1]) if code == 0 else {"why_not": output[-500:]}
        log(f"PyTorch: {json.dumps(run.result['torch'])}")
    if "layers" in parts:
        table = run.result["layers"] = {}
        for name in layers:
            if run.left() < 5:
                run.left_out += 1
                continue
            table[name] = measure(run, run.place / "layers" / f"{name}.iso", options.duration, "--model", run.place / "layers" / f"{name}.onnx", *(["--tf32"] if may_round(name) else []), *([] if run.emulated else ["--against", "cudnn,cublaslt"]))
            save(run)
    save(run)
    print_table(run)
    return len(run.failures) > 0


def print_table(run):
    groups, memory = {}, {}
    for name, facts in run.result.get("layers", {}).items():
        if facts is None:
            continue
        peers = " ".join(f"{peer} {each['ms'] * 1e3:.1f} us {each['ratio']:.2f} ({each['algorithm'][:40]})" for peer, each in facts["against"].items())
        share = ""
        if "_large_" in name:
            moved = (3 if name.startswith("add") else 2) * (64 << 20) / 1e6 / facts["ms"] / facts["copy_gbs"]
            memory.setdefault(name.rsplit("_", 1)[1], []).append(moved)
            share = f"{moved:.2f} of copying ({facts['copy_gbs']:.0f} GB/s)"
        print(f"{name:26} {facts['ms'] * 1e3:9.1f} us {facts['gflop'] / facts['ms']:9.2f} TFLOP/s control {facts['control']:.2f} {share} {peers}")
        if facts["against"] and not share:
            groups.setdefault(name.rsplit("_", 1)[1], []).append(min(each["ratio"] for each in facts["against"].values()))
    for name, facts in run.result.get("times", {}).items():
        if facts is not None:
            peer = run.result.get("torch", {}).get(name)
            beside = f", PyTorch {peer:.3f} ms, {peer / facts['ms']:.2f} times ours" if peer else ""
            print(f"{name:26} {facts['ms']:9.3f} ms on the device, {facts['wall_ms']:.3f} from call to return, {facts['gflop'] / facts['ms']:.2f} TFLOP/s{beside}")
    for kind, ratios in groups.items():
        print(f"{kind}: geometric mean of library time / ours {mean(ratios):.3f} over {len(ratios)} layers")
    for kind, shares in memory.items():
        print(f"{kind}: of the bandwidth of copying {mean(shares):.3f} over {len(shares)} layers, at least {min(shares):.3f}")
    for name in ("cuda_rows", "cuda_space"):
        if name in run.result:
            print(name, run.result[name])
    if "models" in run.result:
        agreeing = sum(facts is not None for facts in run.result["models"].values())
        print(f"{agreeing} of {len(run.result['models'])} models agree with the CPU")
    print(f"{len(run.failures)} failures, {run.left_out} left out, {time.monotonic() - START:.0f} s")


START = time.monotonic()
if __name__ == "__main__":
    sys.exit(main())
