"""Models optimized, verified, compared and compiled."""
import contextlib
import dataclasses
import glob
import importlib.util
import json
import numbers
import operator
import os
import pathlib

from . import _isomer
from ._errors import UsageError, raised
from ._models import OwnFolder, cache_folder, file_of
from ._progress import progress_of

_UNITS = {"": 1, "s": 1, "min": 60, "m": 60, "h": 3600}


def seconds_of(time):
    """90, "90", "60s", "10min", "1h": seconds; None stays None."""
    if time is None or isinstance(time, numbers.Real):
        return None if time is None else float(time)
    try:
        number = time.rstrip("abcdefghijklmnopqrstuvwxyz")
        return float(number) * _UNITS[time[len(number):]]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise UsageError(f"time: a time such as 90, '60s', '10min' or '1h' expected, {time!r} found") from None


def _dims(dims):
    return {name: operator.index(size) for name, size in (dims or {}).items()}


def _shapes(shapes):
    return {name: [operator.index(size) for size in shape] for name, shape in (shapes or {}).items()}


def _check_place(output):
    """Before hours go into what is to be saved there."""
    place = os.path.abspath(os.fspath(output))
    folder = os.path.dirname(place)
    if os.path.isdir(place):
        raise UsageError(f"{os.fspath(output)}: a file expected, a folder found")
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{os.fspath(output)}: a folder that can be written to expected")


def _onnxruntime():
    """The shared library of the package, where this Python has it; "": the extension module looks elsewhere."""
    found = importlib.util.find_spec("onnxruntime")
    folders = list(found.submodule_search_locations or ()) if found else []
    for folder in folders:
        for file in sorted(glob.glob(os.path.join(glob.escape(folder), "capi", "libonnxruntime.so*"))):
            return file
    return ""


class Optimized:
    """An optimized model, with its proof and its report.

    Attributes:
        proof: The text of a proof, for `isomer.verify`; empty where none was asked for.
        report: What was done, as a dict: "steps" (rule, where, gain in us), "search", "check", "seconds", ….
        speedup: How many times as fast it is, raced end to end in what it is for; None: it was not raced.
        interrupted: Ctrl-C ended the search: there may be more to find.
    """

    def __init__(self, folder, name, made):
        self._folder = folder
        self._path = pathlib.Path(folder.name, name)
        self._page = made["page"]
        self.proof = made["proof"]
        self.report = json.loads(made["report"])
        self.speedup = made["speedup"]
        self.interrupted = made["interrupted"]

    def __getstate__(self):
        """With the files, which end with the folder: for copies, and for other processes."""
        folder = pathlib.Path(self._folder.name)
        files = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
        return {**self.__dict__, "_folder": files, "_path": self._path.name}

    def __setstate__(self, state):
        folder = OwnFolder()
        for name, content in state["_folder"].items():
            place = pathlib.Path(folder.name, name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        self.__dict__.update(state, _folder=folder, _path=pathlib.Path(folder.name, state["_path"]))

    @property
    def steps(self):
        """(rule, where, microseconds saved or None, floating-point class), in the order in which they were made."""
        return [(step["rule"], step["where"], step["gain_us"], step["fp_class"]) for step in self.report["steps"]]

    @property
    def model(self):
        """The bytes of the ONNX file. Of a model whose weights lie in a file beside it, `save` gives both."""
        return self._path.read_bytes()

    def to_onnx(self):
        """As an `onnx.ModelProto`, with its weights."""
        import onnx
        return onnx.load(self._path)

    def save(self, path, *, proof=None, report=None):
        """Writes the model (and its weights beside it, where they are too large for an ONNX file), and the proof and the
        report where paths are given: a report to a path that ends in .html is a page to look at."""
        with raised():
            _isomer.save_model(str(self._path), os.fspath(path))
        if proof is not None:
            pathlib.Path(proof).write_text(self.proof, encoding="utf-8")
        if report is not None:
            is_page = str(report).endswith(".html")
            pathlib.Path(report).write_text(self._page if is_page else json.dumps(self.report, indent=2), encoding="utf-8")
        return pathlib.Path(path)

    def __repr__(self):
        speedup = f", {self.speedup:.3f} times as fast" if self.speedup is not None else ""
        return f"<isomer.Optimized: {self.report['nodes_before']} -> {self.report['nodes_after']} nodes{speedup}>"


def optimize(model, *, output=None, level=3, fp="reassociate", runtime="any", time=None, dims=None, shapes=None,
             strategy="beam", rules=(), mutate=False, check=True, check_runs=2, proof=True, records="", onnxruntime="",
             threads=0, seed=0, memory=0, progress=None):
    """Makes a model faster: the same inputs, outputs and function, fewer or cheaper nodes.

    Args:
        model: A path, the bytes of a file, or an `onnx.ModelProto`.
        output: A path to save the result to, besides returning it.
        level: 0: nothing but what reading writes out (functions, some operators that old opsets had); 1: bit-exact
            changes; 2: arithmetic folded, too; 3: searched over proved rules, too.
        fp: What may happen to rounding: "strict" (nothing), "reassociate" (what is equal in the reals on finite
            values), "fast" (overflow may lose results, too).
        runtime: What it is to be fast in: "any", "onnxruntime" or "isomer".
        time: Of the whole call: seconds, or "60s", "10min". None: 2 to 60 s, more for models that take longer to run.
        dims: Sizes of symbolic dims: {"batch": 8}.
        shapes: Of inputs: {"x": (1, 3, 224, 224)}.
        strategy: Of the search: "beam", "best-first" or "e-graph".
        rules: Paths of STEM.rules to search over, instead of the rules that come with Isomer.
        mutate: Look for mutants of the model's own convolutions, too.
        check: Run old and new side by side on `check_runs` seeded inputs, in double precision.
        proof: Write a proof of every step.
        records: A file of measured times; by default in the user's cache.
        onnxruntime: ONNX Runtime's shared library; by default that of the package `onnxruntime`, if there is one.
        threads: 0: as many as this process may use.
        memory: Bytes that all of it may take; 0: three quarters of what there is.
        progress: A function of (what, seconds left or None); True, False; None: a line where somebody looks.

    Ctrl-C ends the search with the best so far (`interrupted`); twice, the call.

    Raises:
        InvalidModel, Unsupported, UsageError, CheckFailed, InternalError.
    """
    if output is not None:
        _check_place(output)
    folder = OwnFolder()
    told = progress_of(progress)
    try:
        with file_of(model) as path, raised():
            name = pathlib.Path(path).name
            files = [rules] if isinstance(rules, (str, os.PathLike)) else rules
            library = os.fspath(onnxruntime) or _onnxruntime()
            made = _isomer.optimize(path, os.path.join(folder.name, name), level, fp, runtime, seconds_of(time), _dims(dims),
                                    _shapes(shapes), strategy, [os.fspath(file) for file in files], mutate, check,
                                    check_runs, proof, os.fspath(records), library, threads, seed, memory, told.doing,
                                    told.note)
    finally:
        told.close()
    result = Optimized(folder, name, made)
    if output is not None:
        result.save(output)
    return result


@dataclasses.dataclass(frozen=True)
class Verified:
    """A proof that holds: so many steps by so many rules; `fp_class` is that of its weakest step."""
    steps: int
    rules: int
    fp: str
    fp_class: str


def verify(model, optimized, proof=None, *, fp="reassociate", dims=None, shapes=None, check_runs=2, threads=0, seed=0,
           memory=0):
    """Checks each step of a proof, without the search and the passes that made it.

    Args:
        model, optimized: Paths, bytes or `onnx.ModelProto`; `optimized` may be what `isomer.optimize` returned.
        proof: A path, or the text of a proof; None: that of `optimized`.
        fp: What the proof may do to rounding, at most.
        dims, shapes: What the proof may bind.
        check_runs: Inputs on which both models are run besides; 0: they are not.

    Raises:
        CheckFailed: The proof does not hold, or is one of other models.
    """
    text = optimized.proof if proof is None and isinstance(optimized, Optimized) else proof
    if not text:
        raise UsageError("proof: a path or a text expected, none given")
    with OwnFolder() as folder:
        if isinstance(text, os.PathLike) or "\n" not in text:
            file = os.fspath(text)
        else:
            file = os.path.join(folder, "proof")
            pathlib.Path(file).write_text(text, encoding="utf-8")
        with file_of(model) as before, file_of(optimized) as after, raised():
            return Verified(**_isomer.verify(before, after, file, fp, _dims(dims), _shapes(shapes), check_runs, threads,
                                             seed, memory))


@dataclasses.dataclass(frozen=True)
class Comparison:
    """How far two models are from each other; true where no further than rounding allows."""
    equal: bool
    max_abs_error: float
    max_error_over_bound: float
    runs: int
    text: str

    def __bool__(self):
        return self.equal


def compare(reference, candidate, *, dims=None, shapes=None, runs=2, threads=0, seed=0):
    """Runs two models on the same seeded inputs, in double precision."""
    with file_of(reference) as first, file_of(candidate) as second, raised():
        return Comparison(**_isomer.compare(first, second, _dims(dims), _shapes(shapes), runs, threads, seed))


@dataclasses.dataclass(frozen=True)
class Compiled:
    """An artifact: `path` for `isomer.InferenceSession` and the C interface. `check`: how near it is to the model."""
    path: pathlib.Path
    check: str
    report: dict
    interrupted: bool


def compile(model, output, *, target="cpu", level=None, time=None, dims=None, shapes=None, tune=False, check=True, records="",
            threads=0, seed=0, progress=None):
    """Optimizes a model and builds the artifact (.iso) that runs it.

    Args:
        output: The artifact's path.
        target: "cpu", "cpu=NAME" as LLVM calls it, "cuda=sm_90a", or several by commas. Behind a GPU "+tf32": tensor
            cores may round factors of products of floats to 11 significant bits.
        level: As in `isomer.optimize`; other ways to cut the model into kernels are measured at 3. None: 3, for GPUs 2.
        time: Of the whole call.
        dims: Sizes of symbolic dims; where one has several, {"batch": (1, 8, 32)}, the artifact has a variant for each.
        tune: Tune the kernels, in half of the time, or a minute more where none is given.
        check: Run it beside the model's own meaning.
    """
    sizes, variants = {}, [{}]
    for name, size in (dims or {}).items():
        if hasattr(size, "__index__"):
            sizes[name] = operator.index(size)
        else:
            variants = [{**variant, name: operator.index(each)} for variant in variants for each in size]
    if level is None:
        level = 2 if "cuda" in target else 3
    told = progress_of(progress)
    try:
        with file_of(model) as path, raised():
            made = _isomer.compile(path, os.fspath(output), target, level, seconds_of(time), sizes, _shapes(shapes),
                                   variants, tune, check, os.fspath(records), threads, seed, told.doing, told.note, None)
    finally:
        told.close()
    return Compiled(pathlib.Path(output), made["check"], json.loads(made["report"]) if made["report"] else {},
                    made["interrupted"])


@dataclasses.dataclass(frozen=True)
class BackendTimes:
    """Another library's times. `ratio`: its time over ours, the median of turns; `ratio_p25`, `ratio_p75`: the quartiles."""
    name: str
    version: str
    median_ms: float
    ratio: float
    ratio_p25: float
    ratio_p75: float


@dataclasses.dataclass(frozen=True)
class Times:
    """How long a model takes. `report`: all times, and those of its tasks."""
    runs: int
    min_ms: float
    median_ms: float
    p90_ms: float
    p99_ms: float
    against: list
    report: dict


def backends():
    """The libraries of others that this machine has: a dict of what is opened by name ("onnxruntime", "onednn", "cudnn", "cublaslt")."""
    found = dict(_isomer.found_backends())
    if "onnxruntime" not in found and (library := _onnxruntime()):
        found = {"onnxruntime": library, **found}
    return found


def bench(model, *, against=(), time="3s", target="cpu", reference=None, libraries=None, dims=None, shapes=None, threads=0, seed=0,
          progress=None):
    """Measures a model, compiled in memory, or an artifact (.iso), with libraries of others in turns.

    Args:
        against: Names of `isomer.backends()`; "onednn", "cudnn" and "cublaslt" run models of one operator.
        time: Of each turn.
        target: Of a model: "cpu", "cpu=NAME" as LLVM calls it, "cuda" or "cuda=sm_90a".
        reference: The model that others run, where an artifact is measured.
        libraries: {name: file} of those that are not to be searched for.
    """
    known = {"onnxruntime": _onnxruntime(), **(libraries or {})}
    told = progress_of(progress)
    try:
        with file_of(model) as path, contextlib.ExitStack() as stack, raised():
            other = stack.enter_context(file_of(reference)) if reference is not None else ""
            found = _isomer.bench(path, seconds_of(time), [against] if isinstance(against, str) else list(against),
                                  {name: os.fspath(file) for name, file in known.items()}, other, target,
                                  _dims(dims), _shapes(shapes), threads, seed, told.note)
    finally:
        told.close()
    return Times(found["runs"], found["min_ms"], found["median_ms"], found["p90_ms"], found["p99_ms"],
                 [BackendTimes(*each) for each in found["against"]], json.loads(found["report"]))


@dataclasses.dataclass(frozen=True)
class TunedTask:
    """A kernel's time with every choice as it is preferred, and with what is in the records now, in microseconds."""
    name: str
    first_us: float
    best_us: float
    trials: int


def tune(model, *, trials=1000, time=None, resume=False, records=None, dims=None, shapes=None, threads=0, seed=0):
    """Measures schedules of the model's kernels on this machine; `compile` takes what is faster from then on.

    Args:
        trials: Schedules that are measured, of all kernels.
        time: No round begins after it.
        resume: Go on from what the records have.
        records: The file that the schedules are left in; None: in the user's cache.
        dims, shapes: All sizes must be known.

    Returns:
        A list of `TunedTask`.
    """
    if records is None:
        folder = cache_folder()
        if folder is None:
            raise UsageError("records: a file expected, as there is no cache of the user's")
        folder.mkdir(parents=True, exist_ok=True)
        records = folder / "records.sqlite"
    with file_of(model) as path, raised():
        return [TunedTask(*task) for task in _isomer.tune(path, os.fspath(records), trials, seconds_of(time), resume,
                                                         _dims(dims), _shapes(shapes), threads, seed)]


def describe(model):
    """What a model takes and gives, its operators and what its file says of it, as a dict."""
    with file_of(model) as path, raised():
        return _isomer.describe(path)
