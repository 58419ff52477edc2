#!/usr/bin/env python3
"""Draws what whole models gain against ONNX Runtime, a bar a model and a color a kind of model, as SVG.

    bench/plot.py RESULTS -o docs/gains.svg      RESULTS: of bench/models.py --searched --results RESULTS

Prints the geometric mean of each kind, for README's table.
"""
import argparse
import math
import pathlib
import sys

import models
import results

KINDS = {
    "convolutions": "#4878a8",
    "small and depthwise convolutions": "#6aa36f",
    "attention": "#c98540",
    "recurrent and small": "#9a6fa8",
}
SMALL = ("mobilenet", "efficientnet", "shufflenet", "squeezenet", "nasnet", "resnext", "deeplabv3_mobilenet")
ATTENTION = ("bert", "distilbert", "gpt2", "llama", "t5", "vit", "swin", "clip", "whisper")
RECURRENT = ("lstm", "gru", "nasrnn", "mlp", "dqn")


def kind_of(name):
    prefixes = zip(list(KINDS)[1:], (SMALL, ATTENTION, RECURRENT))
    return next((kind for kind, starts in prefixes if name.startswith(starts)), "convolutions")


def drawn(rows):
    rows = sorted(rows, key=lambda row: row["ratio"], reverse=True)
    left, height, wide, bar = 210, 16, 420, 11
    largest = max(row["ratio"] for row in rows) * 1.05
    place = lambda ratio: left + wide * math.log(ratio / 0.5) / math.log(largest / 0.5)
    total = 60 + height * len(rows)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + wide + 60}" height="{total}" font-family="sans-serif" font-size="11">',
             f'<rect width="100%" height="100%" fill="white"/>',
             f'<text x="{left}" y="14">ONNX Runtime\'s time / Isomer\'s, {rows[0]["threads"]} thread{"s" if rows[0]["threads"] > 1 else ""}</text>']
    for k, (kind, color) in enumerate(KINDS.items()):
        parts.append(f'<rect x="{left - 100 + 190 * (k % 3)}" y="{total - 26 + 13 * (k // 3)}" width="9" height="9" fill="{color}"/>'
                     f'<text x="{left - 100 + 190 * (k % 3) + 13}" y="{total - 18 + 13 * (k // 3)}">{kind}</text>')
    for tick in (0.5, 0.75, 1, 1.5, 2, 3):
        if tick < largest:
            parts.append(f'<line x1="{place(tick):.1f}" x2="{place(tick):.1f}" y1="20" y2="{total - 30}" stroke="{"#444" if tick == 1 else "#ddd"}"/>'
                         f'<text x="{place(tick):.1f}" y="{total - 32}" text-anchor="middle" fill="#666">{tick:g}</text>')
    for k, row in enumerate(rows):
        y, end = 22 + height * k, place(row["ratio"])
        start, stop = sorted((place(1), end))
        parts.append(f'<text x="{left - 6}" y="{y + 9}" text-anchor="end">{row["model"]}</text>'
                     f'<rect x="{start:.1f}" y="{y}" width="{max(stop - start, 1):.1f}" height="{bar}" fill="{KINDS[kind_of(row["model"])]}"/>'
                     f'<text x="{max(stop, place(1)) + 4:.1f}" y="{y + 9}">{row["ratio"]:.2f}</text>')
    return "\n".join(parts + ["</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("-o", dest="output", type=pathlib.Path, required=True)
    options = parser.parse_args()
    rows = results.read(options.results)
    if any(row.get("asked") != rows[0].get("asked") for row in rows):
        sys.exit(f"{options.results}: rows that were measured with the same options expected, others found")
    options.output.write_text(drawn(rows))
    for kind in KINDS:
        ratios = [row["ratio"] for row in rows if kind_of(row["model"]) == kind]
        if ratios:
            print(f"{kind}: {models.geometric_mean(ratios):.2f} ({len(ratios)} models, {min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
