#!/usr/bin/env python3
"""Hours of tuning: does the tuner keep its size? Runs `isomer tune` on models for a time and prints, at intervals, the
memory and the descriptors that it and the processes that it has started hold.

    bench/soak.py MODEL... --time 2h --every 5min
"""

import argparse
import atexit
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = os.sysconf("SC_PAGESIZE")
UNITS = {"s": 1, "min": 60, "h": 3600}


def seconds(text):
    unit = text.lstrip("0123456789.")
    return float(text[: len(text) - len(unit)]) * UNITS[unit or "s"]


def resident_mb(process):
    return int(pathlib.Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE / 1e6


def descriptors(process):
    return len(os.listdir(f"/proc/{process}/fd"))


def children(process):
    tasks = pathlib.Path(f"/proc/{process}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


class Progress:
    """What the tuner last said, a line of JSON a round."""

    def __init__(self, stream):
        self.last = {}
        threading.Thread(target=self.follow, args=(stream,), daemon=True).start()

    def follow(self, stream):
        for line in stream:
            self.last = json.loads(line)


def sample(process):
    held = []
    for worker in children(process):
        try:
            held.append(resident_mb(worker))
        except (FileNotFoundError, ProcessLookupError, IndexError):
            pass  # it has ended since
    return resident_mb(process), descriptors(process), len(held), sum(held)


def megabytes_of(folder):
    """Of its files, but those that vanish meanwhile."""
    total = 0
    for file in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            total += file.stat().st_size
    return total / 1e6


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("models", nargs="+")
    arguments.add_argument("--time", default="2h")
    arguments.add_argument("--every", default="5min")
    arguments.add_argument("--threads", default="1")
    arguments.add_argument("--isomer", default=str(ROOT / "build/bin/isomer"))
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        records = pathlib.Path(folder) / "records"
        command = [options.isomer, "tune", *options.models, "--json", "--trials", str(1 << 40), "--threads",
                   options.threads, "--time", f"{seconds(options.time):.0f}s", "--records", str(records)]
        tuner = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        atexit.register(tuner.kill)
        progress, begin = Progress(tuner.stdout), time.monotonic()
        time.sleep(1)
        print("  seconds   trials   failed   MB  descriptors  workers  their MB  records MB")
        samples = []
        while tuner.poll() is None:
            try:
                megabytes, files, workers, theirs = sample(tuner.pid)
            except (FileNotFoundError, ProcessLookupError, IndexError):
                break
            if megabytes == 0:
                break  # it is about to end
            now = time.monotonic() - begin
            tasks = progress.last.get("tasks", [])
            failed = sum(sum(task["failed"].values()) for task in tasks)
            size = megabytes_of(pathlib.Path(folder))
            print(f"{now:9.0f} {progress.last.get('trials', 0):8} {failed:8} {megabytes:4.0f} {files:12} {workers:8}"
                  f" {theirs:9.0f} {size:11.1f}", flush=True)
            if progress.last.get("trials"):
                samples.append((now, megabytes, files))
            try:
                tuner.wait(seconds(options.every))
            except subprocess.TimeoutExpired:
                pass
        code = tuner.wait()
    if len(samples) > 3:
        half = samples[len(samples) // 2 :]
        hours = (half[-1][0] - half[0][0]) / 3600
        print(f"in the second half: {(half[-1][1] - half[0][1]) / hours:+.0f} MB and"
              f" {(half[-1][2] - half[0][2]) / hours:+.1f} descriptors an hour")
    return code


if __name__ == "__main__":
    sys.exit(main())
