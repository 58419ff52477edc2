#!/usr/bin/env python3
"""Exports models that are not in models/ from PyTorch, optimizes them with a proof, verifies it and runs them.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install torch torchvision timm transformers onnxscript onnxruntime
    /tmp/peers/bin/python scripts/check_exports.py timm:ghostnet_100 torchvision:swin_t transformers:Llama...
        [--isomer build/bin/isomer] [--folder FOLDER] [--dynamo] [--threads 1] [--duration 0.6] [--results FILE]

LIBRARY:NAME is a model of torchvision's (detection, segmentation and video ones, too) or timm's registry, or what
transformers calls the configuration without `Config`: a small one of it is made. `timm:*` stands for one architecture of
each of timm's modules. Weights are drawn (seed 0), statistics of batch normalization, too. FOLDER keeps the files.

FILE gets a line of JSON a model; those that it has are not done again: seconds of `optimize --level 2`, what passes it
left out, whether `verify` accepts the proof, what ONNX Runtime without its optimizer says of both files (the largest
difference, as a part of the largest element), and ONNX Runtime's time over ours. Exit status 1 where a pass was left
out, a proof or a model was refused, or outputs differ by more than 1e-3.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FAR = 1e-3
SMALL = {"vocab_size": 1000, "hidden_size": 256, "num_hidden_layers": 3, "num_attention_heads": 4,
         "num_key_value_heads": 2, "intermediate_size": 512, "head_dim": 64}
MOST_SECONDS = 600


def of_torchvision(name):
    import torch
    from torchvision import models

    is_detector = name in models.list_models(module=models.detection)
    kind = {"weights_backbone": None} if is_detector or name in models.list_models(module=models.segmentation) else {}
    model = models.get_model(name, weights=None, **kind)
    if is_detector:
        return model, ([torch.rand(3, 320, 320)],)
    if name in models.list_models(module=models.video):
        return model, (torch.randn(1, 3, 16, 112, 112),)
    return model, (torch.randn(1, 3, 224, 224),)


def of_timm(name):
    import timm
    import torch

    model = timm.create_model(name, pretrained=False, exportable=True)
    return model, (torch.randn(1, *model.default_cfg.get("input_size", (3, 224, 224))),)


def of_transformers(name):
    import torch
    import transformers

    kind = getattr(transformers, f"{name}Config")
    known = kind().to_dict()
    config = kind(**{key: value for key, value in SMALL.items() if key in known})
    config._attn_implementation = "eager"
    config.use_cache = False
    whole = transformers.AutoModel.from_config(config)

    class Tokens(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.whole = whole

        def forward(self, tokens, mask):
            return self.whole(input_ids=tokens, attention_mask=mask, return_dict=False)[0]

    return Tokens(), (torch.randint(0, 900, (1, 64)), torch.ones(1, 64, dtype=torch.long))


LIBRARIES = {"torchvision": of_torchvision, "timm": of_timm, "transformers": of_transformers}


def one_of_each():
    """The smallest-named architecture of each of timm's modules."""
    import timm

    return [f"timm:{sorted(timm.list_models(module=module))[0]}" for module in timm.list_modules()]


def export(library, name, file, dynamo):
    import torch

    torch.manual_seed(0)
    model, inputs = LIBRARIES[library](name)
    for part in model.modules():
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm) and part.running_mean is not None:
            part.running_mean.normal_(0, 0.1)
            part.running_var.uniform_(0.5, 1.5)
    how = {"dynamo": True, "external_data": False} if dynamo else {"dynamo": False, "opset_version": 17}
    with torch.no_grad():
        torch.onnx.export(model.eval(), inputs, str(file), **how)


def differ(first, second):
    """The largest difference of outputs, as a part of the largest element: by ONNX Runtime as the files stand."""
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    sessions = [onnxruntime.InferenceSession(str(file), options, ["CPUExecutionProvider"]) for file in (first, second)]
    random = numpy.random.default_rng(0)
    inputs = {}
    for value in sessions[0].get_inputs():
        shape = [size if isinstance(size, int) else 1 for size in value.shape]
        is_float = "float" in value.type
        inputs[value.name] = random.standard_normal(shape).astype(numpy.float32) if is_float else random.integers(0, 2, shape)
    largest = 0.0
    for x, y in zip(*(session.run(None, inputs) for session in sessions)):
        if x.shape != y.shape:
            return float("inf")
        if x.size:
            largest = max(largest, float(abs(x - y).max() / max(abs(x).max(), 1e-30)))
    return largest


def called(command):
    start = time.monotonic()
    words = ["timeout", str(MOST_SECONDS), *(str(part) for part in command)]
    done = subprocess.run(words, capture_output=True, text=True)
    return done, round(time.monotonic() - start, 2)


def check(file, options, folder):
    row = {}
    written, proof = folder / "out.onnx", folder / "out.proof"
    done, row["seconds"] = called([options.isomer, "optimize", file, "-o", written, "--proof", proof, "--level", 2, "-q"])
    said = done.stdout + done.stderr
    row["left out"] = sorted({line.strip() for line in said.splitlines() if "left out" in line})
    if done.returncode != 0:
        return row | {"failed": "optimize", "said": said[-600:]}
    done, _ = called([options.isomer, "verify", file, written, proof, "--no-check"])
    if done.returncode != 0:
        return row | {"failed": "verify", "said": (done.stdout + done.stderr)[-600:]}
    row["difference"] = differ(file, written)
    if not row["difference"] <= FAR:
        return row | {"failed": "outputs"}
    done, _ = called([options.isomer, "bench", file, "--threads", options.threads, "-q", "--duration", options.duration,
                      "--against", "onnxruntime", "--json"])
    if done.returncode != 0:
        return row | {"failed": "bench", "said": (done.stdout + done.stderr)[-600:]}
    row["ratio"] = round(json.loads(done.stdout)["against"]["onnxruntime"]["ratio"], 3)
    return row | {"failed": "left out" if row["left out"] else None}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="LIBRARY:NAME, or timm:*")
    parser.add_argument("--isomer", type=pathlib.Path, default=ROOT / "build" / "bin" / "isomer")
    parser.add_argument("--folder", type=pathlib.Path, help="keeps the exported files")
    parser.add_argument("--dynamo", action="store_true", help="by torch.export, else by tracing")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--duration", type=float, default=0.6)
    parser.add_argument("--results", type=pathlib.Path)
    options = parser.parse_args()
    names = [name for given in options.models for name in (one_of_each() if given == "timm:*" else [given])]
    known = []
    if options.results and options.results.exists():
        known = [json.loads(line) for line in options.results.read_text().splitlines()]
    rows = [row for row in known if row["model"] in names and row["dynamo"] == options.dynamo]
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            if any(row["model"] == name for row in rows):
                continue
            file = folder / f"{name.replace(':', '_')}{'_dynamo' if options.dynamo else ''}.onnx"
            row = {"model": name, "dynamo": options.dynamo}
            try:
                if not file.exists():
                    export(*name.split(":", 1), file, options.dynamo)
            except Exception as error:  # Exporters fail in many ways.
                row |= {"failed": "exporting", "said": repr(error)[:300]}
            else:
                row |= check(file, options, pathlib.Path(scratch))
            rows.append(row)
            if options.results:
                with options.results.open("a") as results:
                    results.write(json.dumps(row) + "\n")
            print(name, *(f"{key} {row[key]}" for key in ("failed", "seconds", "ratio", "said") if row.get(key)), flush=True)
    failed = [row for row in rows if row["failed"] not in (None, "exporting")]
    print(f"{len(rows)} models, {sum(row['failed'] == 'exporting' for row in rows)} not exported, {len(failed)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
