#!/usr/bin/env python3
"""Changes models of proofs by one bit, name or edge: `isomer verify` must refuse each.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install onnx numpy
    /tmp/peers/bin/python scripts/attack_proofs.py MODEL.onnx... [--count 100] [--seed 1] [--results FILE] [--jobs 1]
        [--isomer build/bin/isomer] [--level 2] [--only I] [--seconds S]

Each model is optimized with a proof. Then, for each attack, one thing is another in the output or, one time in four,
in the input:

  weight      a bit of a tensor that nodes read
  attribute   a bit of a number, a string or a tensor of one, in bodies too
  operator    a bit of a node's operator, or another operator that takes as many inputs
  edge        a node reads another value of the same type, one that stands before it
  port        a bit of an input's or output's name, throughout the model
  dim         a bit of one of its stated sizes or of a symbolic one's name, or its element type
  opset       a bit of the version of the operators
  collision   two words of a tensor such that the structural hash of the model stays as it is

An attack is made twice: on the proof as it is, which knows the models' hashes, and on one that somebody signed again,
with the hashes of the models as they are now: equality is never a hash. `verify` runs neither model (--no-check).
It must exit with 1 or 3; but an input may be changed such that the output is its function still (a Slice that ends
later beyond the end), or such that it cannot be run any more (an index out of range): what a proof signed again is
accepted for is compared by `isomer compare`. A float that was changed by a bit is changed by much before: else compare
would call both equal, whatever reads it. Attack I of a seed and a model is always the same, `--only I` makes it again;
FILE gets a line of JSON an attack, those that it has of the level are not made again. Exit status 1 where anything else
was accepted, or where verify crashed.
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).resolve().parent.parent
KINDS = ["weight"] * 4 + ["attribute"] * 3 + ["edge"] * 3 + ["operator"] * 2 + ["port", "dim", "opset", "collision"]
ALIKE = [["Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Exp", "Sqrt", "Erf", "Floor", "Identity", "Reciprocal", "HardSwish"],
         ["Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "PRelu"], ["MaxPool", "AveragePool", "LpPool"],
         ["GlobalAveragePool", "GlobalMaxPool"], ["ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"],
         ["Less", "Greater", "Equal", "LessOrEqual"], ["Softmax", "LogSoftmax", "Hardmax"], ["And", "Or", "Xor"],
         ["MatMul", "MatMulInteger"], ["Conv", "ConvInteger"], ["Gather", "GatherElements"], ["Shape", "Size"]]
MOST_SECONDS = 600


class Unfit(Exception):
    """The model has nothing of the kind."""


def called(command):
    """Exit status and the last line of standard error."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        return "timeout", ""
    return done.returncode, (done.stderr.strip().splitlines() or [""])[-1]


# What a model has

def graphs_of(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                if inner.node or inner.output:
                    yield from graphs_of(inner)


def nodes_of(model):
    return [node for graph in graphs_of(model.graph) for node in graph.node]


def size_of(tensor):
    """In bytes, of one whose bytes are raw or in a file; 0 of others."""
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return int({each.key: each.value for each in tensor.external_data}.get("length", 0))
    return len(tensor.raw_data)


def tensors_of(model):
    """Constants that are read."""
    read = {name for graph in graphs_of(model.graph) for node in graph.node for name in node.input}
    read |= {each.name for graph in graphs_of(model.graph) for each in graph.output}
    tensors = [each for graph in graphs_of(model.graph) for each in graph.initializer if each.name in read]
    return [each for each in tensors if size_of(each)]


def types_of(model):
    """(element type, dims) of values outside of bodies, where known."""
    try:
        inferred = onnx.shape_inference.infer_shapes(model)
    except Exception:
        inferred = model
    types = {}
    for each in (*inferred.graph.input, *inferred.graph.value_info, *inferred.graph.output):
        tensor = each.type.tensor_type
        if tensor.HasField("shape"):
            types[each.name] = tensor.elem_type, tuple(d.dim_value or d.dim_param for d in tensor.shape.dim)
    for each in model.graph.initializer:
        types[each.name] = each.data_type, tuple(each.dims)
    return types


# Changes: each of a model in memory, or of bytes in its file of weights. They say what they did.

class Bytes:
    """Those of a tensor, for reading and writing."""

    def __init__(self, tensor, folder):
        self.tensor, self.size = tensor, size_of(tensor)
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            entries = {each.key: each.value for each in tensor.external_data}
            self.file, self.offset = folder / entries["location"], int(entries.get("offset", 0))
        else:
            self.file = None

    def read(self, at, count):
        if not self.file:
            return self.tensor.raw_data[at:at + count]
        with self.file.open("rb") as file:
            file.seek(self.offset + at)
            return file.read(count)

    def write(self, at, data):
        if not self.file:
            raw = self.tensor.raw_data
            self.tensor.raw_data = raw[:at] + data + raw[at + len(data):]
            return
        with self.file.open("r+b") as file:
            file.seek(self.offset + at)
            file.write(data)


def much_more(floats):
    return np.where(np.isfinite(floats), 3 * floats + 1, 1).astype(floats.dtype)


class Attack:
    def __init__(self, model, folder, rng):
        self.model, self.folder, self.rng = model, folder, rng
        self.undone = []  # bytes of files to put back
        self.enlarge = lambda: None  # makes floats that were changed differ by much

    def one_of(self, items):
        items = list(items)
        if not items:
            raise Unfit
        return items[self.rng.integers(len(items))]

    def flipped(self, data):
        """Bytes of which one bit is another."""
        if not data:
            raise Unfit
        at, bit = int(self.rng.integers(len(data))), int(self.rng.integers(8))
        return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1:], f"byte {at}, bit {bit}"

    def flipped_text(self, text):
        """Of one that can be a name: no control characters, nothing that is no ASCII."""
        for _ in range(100):
            made, _ = self.flipped(text.encode())
            if all(32 < each < 127 for each in made):
                return made.decode()
        raise Unfit

    def flipped_integer(self, value, bits):
        """Mostly one that may be of use still."""
        return value ^ 1 << int(self.rng.integers(bits if self.rng.random() < 0.3 else 3))

    def put(self, where, at, data):
        if where.file:
            self.undone.append((where, at, where.read(at, len(data))))
        where.write(at, data)

    def undo(self):
        for where, at, data in reversed(self.undone):
            where.write(at, data)

    def enlarge_bytes(self, tensor, where, at, count):
        """Of the elements that these bytes are of, where they are floats."""
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        if dtype.kind != "f":
            return
        begin, end = at // dtype.itemsize * dtype.itemsize, -(-(at + count) // dtype.itemsize) * dtype.itemsize
        self.put(where, begin, much_more(np.frombuffer(where.read(begin, end - begin), dtype)).tobytes())

    def weight(self):
        tensor = self.one_of(tensors_of(self.model))
        where = Bytes(tensor, self.folder)
        at = int(self.rng.integers(where.size))
        data, _ = self.flipped(where.read(at, 1))
        said = f"{tensor.name}, byte {at} of {where.size}: {where.read(at, 1)[0]} to {data[0]}"
        self.put(where, at, data)
        self.enlarge = lambda: self.enlarge_bytes(tensor, where, at, 1)
        return said

    def collision(self):
        """A word of the first block of the hash, and the one of the second that takes it back (src/util/hash.cpp)."""
        ones, turn = (1 << 64) - 1, 0x9FB21C651E98DF25

        def mixed(z):
            z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & ones
            z = (z ^ z >> 27) * 0x94D049BB133111EB & ones
            return z ^ z >> 31

        def step(state, word):
            product = (state ^ word) * turn & ones
            return (product << 29 | product >> 35) & ones

        tensor = self.one_of(each for each in tensors_of(self.model) if size_of(each) >= 128)
        where = Bytes(tensor, self.folder)
        lane, bit = int(self.rng.integers(8)), int(self.rng.integers(64))
        first, second = (int.from_bytes(where.read(at, 8), "little") for at in (8 * lane, 64 + 8 * lane))
        start = mixed(lane + 1)
        other = first ^ 1 << bit
        repaired = second ^ step(start, first) ^ step(start, other)
        self.put(where, 8 * lane, other.to_bytes(8, "little"))
        self.put(where, 64 + 8 * lane, repaired.to_bytes(8, "little"))
        self.enlarge = lambda: [self.enlarge_bytes(tensor, where, at, 8) for at in (8 * lane, 64 + 8 * lane)]
        return f"{tensor.name}, lane {lane}, bit {bit}"

    def attribute(self):
        node, attribute = self.one_of((node, each) for node in nodes_of(self.model) for each in node.attribute
                                      if each.type not in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS))
        said = f"{node.op_type} {node.name or node.output[0]}, {attribute.name}: "
        kind = attribute.type
        if kind == onnx.AttributeProto.INT:
            before, attribute.i = attribute.i, self.flipped_integer(attribute.i, 63)
            return said + f"{before} to {attribute.i}"
        if kind == onnx.AttributeProto.FLOAT:
            before = attribute.f
            attribute.f = float(np.frombuffer(self.flipped(np.float32(before).tobytes())[0], np.float32)[0])

            def enlarge():
                attribute.f = float(much_more(np.float32(attribute.f)))

            self.enlarge = enlarge
            return said + f"{before} to {attribute.f}"
        if kind == onnx.AttributeProto.STRING:
            before, attribute.s = attribute.s, self.flipped(attribute.s)[0]
            return said + f"{before} to {attribute.s}"
        if kind == onnx.AttributeProto.INTS and attribute.ints:
            k = int(self.rng.integers(len(attribute.ints)))
            before, attribute.ints[k] = attribute.ints[k], self.flipped_integer(attribute.ints[k], 63)
            return said + f"{before} to {attribute.ints[k]} at {k}"
        if kind == onnx.AttributeProto.TENSOR and attribute.t.raw_data:
            where, before = Bytes(attribute.t, self.folder), attribute.t.raw_data
            attribute.t.raw_data, what = self.flipped(before)
            at = next(k for k, byte in enumerate(attribute.t.raw_data) if byte != before[k])
            self.enlarge = lambda: self.enlarge_bytes(attribute.t, where, at, 1)
            return said + what
        raise Unfit

    def operator(self):
        node = self.one_of(nodes_of(self.model))
        before = node.op_type
        alike = [each for group in ALIKE if before in group for each in group if each != before]
        node.op_type = self.one_of(alike) if alike and self.rng.random() < 0.7 else self.flipped_text(before)
        return f"{before} {node.name or node.output[0]} to {node.op_type}"

    def edge(self):
        types, graph = types_of(self.model), self.model.graph
        node_at = int(self.rng.integers(len(graph.node)))
        node = graph.node[node_at]
        k = self.one_of(k for k, name in enumerate(node.input) if name in types)
        before = node.input[k]
        there = [each.name for each in (*graph.input, *graph.initializer)]
        there += [name for each in graph.node[:node_at] for name in each.output if name]
        node.input[k] = self.one_of(each for each in dict.fromkeys(there)
                                    if each != before and types.get(each) == types[before])
        tensors = {each.name: each for each in graph.initializer} | {
            each.output[0]: value.t for each in graph.node if each.op_type == "Constant" for value in each.attribute if value.name == "value"}
        if before in tensors and node.input[k] in tensors:
            contents = [Bytes(tensors[name], self.folder) for name in (before, node.input[k])]
            if len({each.read(0, each.size) for each in contents}) == 1:
                raise Unfit  # constants with the same elements
        return f"{node.op_type} {node.name or node.output[0]}, input {k}: {before} to {node.input[k]}"

    def port(self):
        each = self.one_of((*self.model.graph.input, *self.model.graph.output))
        before, after = each.name, self.flipped_text(each.name)
        for graph in graphs_of(self.model.graph):
            for node in graph.node:
                for names in (node.input, node.output):
                    for k, name in enumerate(names):
                        if name == before:
                            names[k] = after
            for value in (*graph.input, *graph.output, *graph.initializer, *graph.value_info):
                if value.name == before:
                    value.name = after
        return f"{before} to {after}"

    def dim(self):
        each = self.one_of(each for each in (*self.model.graph.input, *self.model.graph.output)
                           if each.type.HasField("tensor_type"))
        tensor = each.type.tensor_type
        k = int(self.rng.integers(len(tensor.shape.dim) + 1))
        if k == len(tensor.shape.dim):
            before, tensor.elem_type = tensor.elem_type, self.one_of({1, 6, 7, 9, 10, 11} - {tensor.elem_type})
            return f"{each.name}: type {before} to {tensor.elem_type}"
        size = tensor.shape.dim[k]
        if size.HasField("dim_value"):
            before, size.dim_value = size.dim_value, self.flipped_integer(size.dim_value, 31)
            return f"{each.name}, {k}: {before} to {size.dim_value}"
        if not size.dim_param:
            raise Unfit
        before, size.dim_param = size.dim_param, self.flipped_text(size.dim_param)
        return f"{each.name}, {k}: {before} to {size.dim_param}"

    def opset(self):
        each = self.one_of(each for each in self.model.opset_import if not each.domain)
        before, each.version = each.version, self.flipped_integer(each.version, 6)
        return f"{before} to {each.version}"


# One model

class Files:
    """A model, what was made of it, and the proof, in a folder."""

    def __init__(self, source, folder, options):
        self.options, self.folder = options, folder
        self.input, self.output, self.proof = folder / source.name, folder / "out.onnx", folder / "out.proof"
        for each in source.parent.glob(source.stem + ".*"):
            shutil.copy(each, folder / each.name)
        flags = [f"{name}={value}" for name, value in (each.split("=", 1) for each in options.input_shapes)
                 if name == source.stem]
        self.shapes = [part for each in flags for part in ("--input-shapes", each.split("=", 1)[1])]
        status, said = called([options.isomer, "optimize", self.input, "-o", self.output, "--level", str(options.level),
                               "--proof", self.proof, "--no-check", "-q", *self.shapes])
        if status == 0:
            status, said = self.verdict([self.input, self.output, self.proof])
        self.trouble = f"exit {status} {said}" if status else None
        if not status:
            self.models = {each: onnx.load(each, load_external_data=False) for each in (self.input, self.output)}

    def verdict(self, files):
        return called([self.options.isomer, "verify", *files, "--no-check", "-q", *self.shapes])

    def hash_of(self, file):
        """Nothing where it is no model."""
        status, _ = called([self.options.isomer, "optimize", file, "-o", self.folder / "hashed.onnx", "--level", "0",
                            "--proof", self.folder / "hashed.proof", "--no-check", "-q", *self.shapes])
        if status:
            return None
        return re.search("^input ([0-9a-f]{32})$", (self.folder / "hashed.proof").read_text(), re.M)[1]

    def attacked(self, index):
        """What the results file gets."""
        rng = np.random.default_rng([self.options.seed, zlib.crc32(self.input.stem.encode()), index])
        side = self.input if rng.random() < 0.25 else self.output
        while True:
            kind = KINDS[rng.integers(len(KINDS))]
            changed = onnx.ModelProto()
            changed.CopyFrom(self.models[side])
            attack = Attack(changed, self.folder, rng)
            try:
                said = getattr(attack, kind)()
                break
            except (Unfit, ValueError):  # a number that its field does not hold
                attack.undo()
        file = self.folder / "changed.onnx"
        file.write_bytes(changed.SerializeToString())
        files = [file if each == side else each for each in (self.input, self.output)]
        try:
            plain, why = self.verdict([*files, self.proof])
            signed, hash_now = None, self.hash_of(file)
            if hash_now:
                line = "input" if side == self.input else "output"
                proof = re.sub(f"^{line} [0-9a-f]{{32}}$", f"{line} {hash_now}", self.proof.read_text(), flags=re.M)
                (self.folder / "signed.proof").write_text(proof)
                signed, other = self.verdict([*files, self.folder / "signed.proof"])
                why = f"{why}; {other}"
            compared = None
            if 0 in (plain, signed):
                attack.enlarge()
                file.write_bytes(changed.SerializeToString())
                compared, other = called([self.options.isomer, "compare", *files, "-q", *self.shapes])
                why = f"{why}; {other}"
        finally:
            attack.undo()
        return {"model": self.input.stem, "seed": self.options.seed, "level": self.options.level, "index": index,
                "side": "input" if side == self.input else "output", "kind": kind, "said": said, "plain": plain,
                "signed": signed, "compared": compared, "why": why.replace(str(self.folder) + "/", "")[:600]}


def attacks_on(source, indices, options, until):
    """Yields results; a sentence where the proof itself is none."""
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        files = Files(source, pathlib.Path(folder), options)
        if files.trouble:
            return [], f"{source.stem}: {files.trouble}"
        results = []
        for index in indices:
            if time.monotonic() > until:
                break
            results.append(files.attacked(index))
            if options.results:
                with options.results.open("a") as file:
                    file.write(json.dumps(results[-1]) + "\n")
        return results, None


def is_refused(result):
    """Or, of an input, the output's function still, or none that can be run, by `isomer compare`."""
    if result["plain"] not in (1, 3) or "internal error" in result["why"]:
        return False
    is_same = result["side"] == "input" and result["compared"] in (0, 3)
    return result["signed"] in (1, 3, None) or is_same


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=pathlib.Path, nargs="+")
    parser.add_argument("--isomer", default=ROOT / "build" / "bin" / "isomer")
    parser.add_argument("--count", type=int, default=100, help="attacks a model")
    parser.add_argument("--only", type=int, help="this attack alone")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--level", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="no attack begins later, a model")
    parser.add_argument("--results", type=pathlib.Path, help="a line of JSON an attack; what is there is not done again")
    parser.add_argument("--scratch", type=pathlib.Path, help="where copies of the models lie meanwhile")
    parser.add_argument("--input-shapes", action="append", default=[], help="MODEL=x:[1,3,4,4]: of the model so called")
    options = parser.parse_args()
    options.isomer = pathlib.Path(options.isomer).resolve()
    indices = range(options.count) if options.only is None else [options.only]
    asked = {source.stem for source in options.models}
    done = []
    if options.results and options.results.exists():
        done = [each for each in map(json.loads, options.results.read_text().splitlines())
                if (each["seed"], each.get("level")) == (options.seed, options.level)
                and each["model"] in asked and each["index"] in indices]
    known = {(each["model"], each["index"]) for each in done}
    troubles = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = []
        for source in options.models:
            left = [each for each in indices if (source.stem, each) not in known]
            if left:
                futures.append(pool.submit(lambda source=source, left=left: attacks_on(
                    source, left, options, time.monotonic() + options.seconds)))
        for future in concurrent.futures.as_completed(futures):
            results, trouble = future.result()
            done += results
            if trouble:
                troubles += 1
                print(trouble, flush=True)
    accepted = [each for each in done if not is_refused(each)]
    for each in accepted:
        print(f"{each['model']} {each['index']}: {each['side']}: {each['kind']}: {each['said']}: exit {each['plain']}, "
              f"signed {each['signed']} {each['why']}")
    counts = collections.Counter((each["kind"], is_refused(each)) for each in done)
    for kind in dict.fromkeys(KINDS):
        signed = sum(each["kind"] == kind and each["signed"] is not None for each in done)
        print(f"{kind}: {counts[kind, True]} refused, {signed} of them signed again; {counts[kind, False]} not refused")
    same = sum(each["compared"] in (0, 3) for each in done)
    print(f"{len(done)} attacks on {len({each['model'] for each in done})} models, {len(accepted)} not refused, "
          f"{same} left the function as it was, or none")
    return bool(accepted or troubles)


if __name__ == "__main__":
    sys.exit(main())
