#!/usr/bin/env python3
"""Sizes that vary: a session of the Python package over sequence lengths, and artifacts with variants.

    bench/lengths.py [--model distilbert] [--lengths 1,2,4,8,16,32,64,128] [--threads 1] [--runs 30] [--bin build/bin]

Needs the package (`pip install .`) and, to stand beside it, onnxruntime. MODEL is one of models/ whose inputs are int64[batch,sequence].

A row a length, in turns: `first` is what the first call of a length takes in a session that has not seen it (the interpreter answers, a thread
beside compiles); `compiled` how long after that call the compiled code was there; `steady` the median of later calls; the same calls of ONNX
Runtime; `ratio`: its steady time over ours. Then the sizes of artifacts with one variant and with four, and what a call costs more that takes
another variant than the last one.
"""
import argparse
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time
import warnings

import numpy as np

import isomer
import models


def milliseconds(work):
    start = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - start)


def feed(session, length):
    rng = np.random.default_rng(length)
    return {arg.name: np.ones((1, length), np.int64) if "mask" in arg.name else
            rng.integers(0, 2 if "type" in arg.name else 1000, (1, length)) for arg in session.get_inputs()}


def ours(path, options):
    session_options = isomer.SessionOptions()
    session_options.intra_op_num_threads = options.threads
    return isomer.InferenceSession(path, session_options, cache=False)


def theirs(path, options):
    try:
        import onnxruntime
    except ImportError:
        return None
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = options.threads
    return onnxruntime.InferenceSession(path, session_options, providers=["CPUExecutionProvider"])


def row(path, length, options):
    """Each length in sessions of its own: the first call is the session's first, and nothing else is called until its code is there."""
    sessions = [session for session in (ours(path, options), theirs(path, options)) if session]
    given = feed(sessions[0], length)
    calls = [lambda session=session: session.run(None, given) for session in sessions]
    first = [milliseconds(calls[0])]
    after = milliseconds(lambda: wait(sessions[0]))
    demand_code(sessions[0], calls[0])
    first += [milliseconds(call) for call in calls[1:]]
    times = [[] for _ in calls]
    for _ in range(options.runs):
        for call, list_of in zip(calls, times):
            list_of.append(milliseconds(call))
    return first, after, [statistics.median(each) for each in times]


def wait(session):
    while session._background.is_at(next(iter(session._seen), None)):
        time.sleep(0.001)


def demand_code(session, call):
    """What kept it from being made is a warning of the next call."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call()
    if not session._variants:
        raise RuntimeError("no code was made, and nothing says why")


def variants(path, folder, options):
    counts = [options.lengths[-1:], options.lengths[-4:]]
    files = []
    for lengths in counts:
        file = folder / f"{len(lengths)}.iso"
        isomer.compile(path, file, level=2, dims={"batch": 1, "sequence": lengths}, threads=options.threads)
        files.append(file)
    session = ours(files[1], options)
    feeds = [feed(session, length) for length in counts[1]]
    for each in feeds:
        session.run(None, each)
    staying, changing = [], []
    for _ in range(options.runs):
        for each in feeds:
            changing.append(milliseconds(lambda: session.run(None, each)))
            staying.append(milliseconds(lambda: session.run(None, each)))
    megabytes = [file.stat().st_size / 1e6 for file in files]
    print(f"\nfile of 1 variant {megabytes[0]:.1f} MB, of 4 {megabytes[1]:.1f} MB; a call after one of another size takes "
          f"{1e3 * (statistics.median(changing) - statistics.median(staying)):.0f} us more (median of {len(changing)})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="distilbert")
    parser.add_argument("--lengths", default="1,2,4,8,16,32,64,128", type=lambda text: [int(each) for each in text.split(",")])
    parser.add_argument("--threads", default=1, type=int)
    parser.add_argument("--runs", default=30, type=int)
    parser.add_argument("--bin", default=models.ROOT / "build" / "bin", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / f"{options.model}.onnx"
        shutil.copy(models.ROOT / "models" / path.name, path)
        subprocess.run([options.bin / "isomer-fill", path], check=True, stdout=subprocess.DEVNULL)
        print("| length | first, ms | compiled after, ms | steady, ms | onnxruntime: first | steady | ratio |\n|---|---|---|---|---|---|---|")
        for length in options.lengths:
            first, after, steady = row(path, length, options)
            others = f"{first[1]:.0f} | {steady[1]:.1f} | {steady[1] / steady[0]:.2f}" if len(steady) > 1 else " | | "
            print(f"| {length} | {first[0]:.0f} | {after:.0f} | {steady[0]:.1f} | {others} |", flush=True)
        variants(path, pathlib.Path(scratch), options)


if __name__ == "__main__":
    main()
