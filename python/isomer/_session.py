"""Sessions as users of `onnxruntime.InferenceSession` write them."""
import collections
import contextlib
import enum
import errno
import hashlib
import json
import os
import pathlib
import shutil
import threading
import time
import weakref

import numpy as np

from . import _isomer
from ._background import Background
from ._errors import InvalidArgument, NoSuchFile, Stopped, UsageError, Unsupported, in_python, raised, sentence_of
from ._models import HeldFiles, OwnFolder, bytes_of, cache_folder, is_in_memory, make_room
from ._optimize import seconds_of
from ._progress import warn

# By ONNX's numbers: the name in ONNX Runtime's words, and the array's type; None: NumPy has none of its own.
_TYPES = {
    1: ("float", np.float32), 2: ("uint8", np.uint8), 3: ("int8", np.int8), 4: ("uint16", np.uint16), 5: ("int16", np.int16),
    6: ("int32", np.int32), 7: ("int64", np.int64), 9: ("bool", np.bool_), 10: ("float16", np.float16),
    11: ("double", np.float64), 12: ("uint32", np.uint32), 13: ("uint64", np.uint64), 14: ("complex64", np.complex64),
    15: ("complex128", np.complex128), 16: ("bfloat16", "bfloat16"), 17: ("float8e4m3fn", "float8_e4m3fn"),
    18: ("float8e4m3fnuz", "float8_e4m3fnuz"), 19: ("float8e5m2", "float8_e5m2"), 20: ("float8e5m2fnuz", "float8_e5m2fnuz"),
    21: ("uint4", "uint4"), 22: ("int4", "int4"), 23: ("float4e2m1", "float4_e2m1fn"), 24: ("float8e8m0", "float8_e8m0fnu"),
    25: ("uint2", "uint2"), 26: ("int2", "int2"),
}
NUMBERS_BY_NAME = {"float32": 1, "float64": 11, **{name: number for number, (name, _) in _TYPES.items()}}
# Those that NumPy has not, as DLPack calls them: code and bits.
_DLPACK = {16: (4, 16), 17: (10, 8), 18: (11, 8), 19: (12, 8), 20: (13, 8), 24: (14, 8)}
# Bits of the integers.
_SIGNED = {3: 8, 5: 16, 6: 32, 7: 64, 22: 4, 26: 2}
_UNSIGNED = {2: 8, 4: 16, 12: 32, 13: 64, 21: 4, 25: 2}
_MAGIC = b"\x7fISOMER\n"
# Of a session, each with threads and memory of its own; bytes of artifacts that are kept; and files of a model.
_MOST_VARIANTS = 32
_MOST_KEPT = 8 << 30
_MOST_FILES = 1 << 16
# What is older was left by a program that ended.
_LONGEST_COPY = 3600
# So many shapes are compiled as soon as they are seen; more of them when they come again, if they are still remembered.
_SEEN_ONCE = 4
_REMEMBERED = 1024
# What the system was in the way of (no room for a file) is tried again after these and more, where that may pass.
_SECONDS_TO_PASS, _MOST_SECONDS_TO_PASS = 5, 600
_PASSING = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOENT}
_SECONDS_TO_LOOK = 0.01
# What the check says where it can't be made.
_UNCHECKED = "--no-check skips the check"
# Of a variant, when others ask for its place: what was used long ago is forgotten.
_MOST_USES = 32
# Those that wait to be compiled.
_MOST_WAITING = 4


def _may_pass(error):
    """No place on the disk, too many files."""
    if isinstance(error, _isomer.Refused):
        return error.args[0] == "system"
    return isinstance(error, MemoryError) or isinstance(error, OSError) and error.errno in _PASSING


def _in_words(error):
    if isinstance(error, _isomer.Refused):
        return in_python(error.args[1])
    return error.strerror if isinstance(error, OSError) else "out of memory"


def _array_type(number):
    """What callers give and get: of ml_dtypes where NumPy has no such type, numbers of as many bits without it."""
    if number not in _TYPES:
        raise Unsupported("tensors of numbers expected at the model's interface")
    dtype = _TYPES[number][1]
    if not isinstance(dtype, str):
        return np.dtype(dtype)
    try:
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, dtype))
    except ImportError:
        return np.dtype(np.uint16 if dtype == "bfloat16" else np.int8 if dtype.startswith("int") else np.uint8)


def _number_of(type):
    """Of "tensor(float)"."""
    try:
        return NUMBERS_BY_NAME[type[len("tensor("):-1]]
    except KeyError:
        raise Unsupported(f"tensors of numbers expected at the model's interface, {type} found") from None


class GraphOptimizationLevel(enum.IntEnum):
    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class SessionOptions:
    """`intra_op_num_threads`, `graph_optimization_level` (ORT_ENABLE_BASIC: bit-exact changes alone), `enable_profiling`,
    `profile_file_prefix` and `add_free_dimension_override_by_name` count; what else ONNX Runtime's has may be set, and
    changes nothing: code takes denormal numbers for zeros whatever `session.set_denormal_as_zero` says."""

    def __init__(self):
        self.intra_op_num_threads = 0
        self.inter_op_num_threads = 0
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.optimized_model_filepath = ""
        self.log_severity_level = 2
        self.log_verbosity_level = 0
        self.logid = ""
        self.enable_profiling = False
        self.profile_file_prefix = "isomer_profile_"
        self.enable_mem_reuse = True
        self.use_deterministic_compute = False
        self.enable_mem_pattern = True
        self.enable_cpu_mem_arena = True
        self.execution_mode = ExecutionMode.ORT_SEQUENTIAL
        self._entries, self._dims = {}, {}

    def add_session_config_entry(self, key, value):
        self._entries[key] = value

    def get_session_config_entry(self, key):
        return self._entries[key]

    def has_providers(self):
        return False

    def add_free_dimension_override_by_name(self, name, size):
        self._dims[name] = size

    def register_custom_ops_library(self, path):
        raise Unsupported(f"{path}: operators that Isomer has expected, a library of others found")


class RunOptions:
    """May be given to `run`, which ends at once where `terminate` is set before, and soon where it is set while the model is
    interpreted: compiled code runs to its end. Nothing else changes anything."""

    def __init__(self):
        self.log_severity_level = 2
        self.log_verbosity_level = 0
        self.logid = ""
        self.terminate = False
        self.only_execute_path_to_fetches = False
        self._entries = {}

    def add_run_config_entry(self, key, value):
        self._entries[key] = value

    def get_run_config_entry(self, key):
        return self._entries[key]


class NodeArg:
    """An input or output: `name`, `type` ("tensor(float)") and `shape`, of numbers and of names of sizes that vary; an empty
    one where nothing is known of it, too."""

    def __init__(self, name, type, shape):
        self.name, self.type = name, type
        self._shape = None if shape is None else tuple(shape)

    @property
    def shape(self):
        return list(self._shape or ())

    def __repr__(self):
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape!r})"


class ModelMetadata:
    """What the model's file says of it."""

    def __init__(self, facts):
        self.producer_name = facts.get("producer_name", "")
        self.graph_name = facts.get("graph_name", "")
        self.domain = facts.get("domain", "")
        self.description = facts.get("description", "")
        self.graph_description = facts.get("graph_description", "")
        self.version = facts.get("version", 0)
        self.custom_metadata_map = facts.get("metadata", {})


def get_available_providers():
    return ["CPUExecutionProvider"]


def get_device():
    return "CPU"


def set_default_logger_severity(severity):
    pass


set_default_logger_verbosity = set_default_logger_severity


def get_all_providers():
    return get_available_providers()


def get_build_info():
    return f"Isomer {_isomer.version()}"


def get_version_string():
    return _isomer.version()


def set_seed(seed):
    """Changes nothing: what runs here draws no numbers."""


def disable_telemetry_events():
    """Changes nothing: there are none."""


enable_telemetry_events = disable_telemetry_events


class _Profile:
    """Of a session: events in the form that chrome://tracing shows."""

    def __init__(self, prefix):
        self._prefix, self._start = prefix, time.perf_counter_ns()
        self.start_time_ns = time.time_ns()
        self._lock, self._events = threading.Lock(), []

    def renew(self):
        """In a process that was forked, where nobody gives the lock back."""
        self._lock = threading.Lock()

    def add(self, name, start):
        event = {"cat": "Session", "ph": "X", "name": name, "pid": os.getpid(), "tid": threading.get_ident(),
                 "ts": (start - self._start) // 1000, "dur": (time.perf_counter_ns() - start) // 1000, "args": {}}
        with self._lock:
            self._events.append(event)

    def write(self):
        file = time.strftime(f"{self._prefix}_%Y-%m-%d_%H-%M-%S.json")
        with self._lock, open(file, "w", encoding="utf-8") as out:
            json.dump(self._events, out)
        return file


class _Port:
    def __init__(self, name, number):
        self.name, self.number = name, number
        self.dtype = _array_type(number)
        # As the extension module takes and gives it.
        self.is_plain = not isinstance(_TYPES[number][1], str)
        self.stored = self.dtype if self.is_plain else np.dtype(f"u{self.dtype.itemsize}")


class _Interpreted:
    """Takes a variant's place where a model can't be compiled for some shapes, or is not yet: slow, and of any sizes."""

    def __init__(self, files, inputs, threads):
        files.check_unchanged()
        self._interpreter, self._threads = _isomer.Interpreter(files.path()), threads
        files.check_unchanged()
        self._files = files  # weights are read there in each run
        self.uses = 0
        self.inputs = [_Port(arg.name, _number_of(arg.type)) for arg in inputs]
        self.outputs = [_Port("", number) for number in self._interpreter.output_types]
        self.are_outputs_plain = all(port.is_plain for port in self.outputs)

    def run(self, arrays, outputs, until=None, others={}):
        results = self._interpreter.run(arrays, self._threads, until, others)
        self._files.check_unchanged()
        return results


class _Overridden:
    """Interprets with other initializers."""

    def __init__(self, interpreted, others):
        self._interpreted, self._others = interpreted, others
        self.inputs, self.outputs = interpreted.inputs, interpreted.outputs
        self.are_outputs_plain = interpreted.are_outputs_plain

    def run(self, arrays, outputs, until=None):
        return self._interpreted.run(arrays, outputs, until, self._others)


class _Meanwhile:
    """Interprets as long as no variant is there; what can't be interpreted waits for one."""

    def __init__(self, interpreted, variant_now, variant_made):
        self._interpreted, self._variant_now, self._variant_made = interpreted, variant_now, variant_made
        self.inputs, self.outputs = interpreted.inputs, interpreted.outputs
        self.are_outputs_plain = interpreted.are_outputs_plain

    def run(self, arrays, outputs, until=lambda: False):
        while (variant := self._variant_now()) is None:
            try:
                return self._interpreted.run(arrays, outputs, lambda: self._variant_now() is not None or until())
            except _isomer.Refused as refused:
                if refused.args[0] not in ("stopped", "unsupported", "system") or until():
                    raise
                if refused.args[0] != "stopped":
                    return self._variant_made(refused).run(arrays, outputs)
        return variant.run(arrays, outputs)


class _Variant:
    """A session of the extension module for some shapes."""

    def __init__(self, artifact, number, threads):
        self.session = _isomer.Session(artifact, number, threads)
        self.inputs = [_Port(name, number) for name, number, _ in self.session.inputs]
        self.outputs = [_Port(name, number) for name, number, _ in self.session.outputs]
        self.shapes = tuple(tuple(shape) for _, _, shape in self.session.inputs)
        self.run = self.session.run
        self.uses = 0
        self.are_outputs_plain = all(port.is_plain for port in self.outputs)


def _args_of(variants):
    """Of each variant's ports: the sizes that all of them have."""
    args = []
    for ports in zip(*variants):
        name, number, _ = ports[0]
        sizes = zip(*(shape for _, _, shape in ports))
        args.append(NodeArg(name, f"tensor({_TYPES[number][0]})",
                            [size[0] if set(size) == {max(size[0], 0)} else None for size in sizes]))
    return args


def _statuses(folder, pattern):
    """Of its files, without those that another process lets go meanwhile."""
    for each in folder.glob(pattern):
        with contextlib.suppress(FileNotFoundError):
            yield each, each.stat()


def _keep(file, kept):
    """Copies an artifact into the cache, where that can be, and lets those go that were used longest ago."""
    partial = kept.with_name(f"{kept.name}.{os.getpid()}.{threading.get_ident()}.partial")
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        for each, status in _statuses(kept.parent, "*.partial"):
            if time.time() - status.st_mtime > _LONGEST_COPY:
                each.unlink(missing_ok=True)
        shutil.copyfile(file, partial)
        os.replace(partial, kept)
        files = sorted(_statuses(kept.parent, "*.iso"), key=lambda pair: -pair[1].st_atime_ns)
        total = 0
        for each, status in files:
            total += status.st_size
            if total > _MOST_KEPT and each != kept:
                each.unlink(missing_ok=True)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink()


_SESSIONS = weakref.WeakSet()


def _after_fork():
    """Threads of the parent's may have held locks."""
    for session in list(_SESSIONS):
        session._lock = threading.Lock()
        for each in (session._background, session._files, session._profile):
            if each is not None:
                each.renew()


os.register_at_fork(after_in_child=_after_fork)


class InferenceSession:
    """Runs a model; the interface is that of `onnxruntime.InferenceSession`.

    A model is compiled for the shapes of its inputs: at once where these are known, else on a thread beside, while what
    `run` is given is interpreted. Of more than four shapes those are compiled that come again. Artifacts are kept in the
    user's cache, by the model's content. What can't be compiled is interpreted, with a warning.

    Args:
        path_or_bytes: An ONNX model (a path, bytes, an `onnx.ModelProto`), or an artifact (.iso) of `isomer.compile`.
        sess_options: `intra_op_num_threads`; 0: as many threads as this process may use.
        providers, provider_options: Accepted; the CPU runs it.
        search: Time for a search over proved rules, as in `isomer.optimize`: "30s". None: no search.
        jit: Compile for shapes that have not been seen yet. "wait": `run` waits for it, and never interprets what can be
            compiled. False: those of the artifact alone.
        cache: Keep artifacts; 8 GB of them, those used last.
        check: Run what was compiled beside the model's own meaning, before it is used.
    """

    def __init__(self, path_or_bytes, sess_options=None, providers=None, provider_options=None, *, search=None, jit=True,
                 cache=True, check=True, **others):
        # Of ONNX Runtime's optimizers there are none here, and of its providers none to fall back from.
        others.pop("disabled_optimizers", None)
        others.pop("enable_fallback", None)
        if others:
            raise UsageError(f"{', '.join(others)}: an argument that is known expected")
        if jit not in (True, False, "wait"):
            raise UsageError(f"jit: True, False or 'wait' expected, {jit!r} found")
        self._options = sess_options or SessionOptions()
        self._threads = max(self._options.intra_op_num_threads, 0)
        self._seconds = seconds_of(search)
        self._level = 3 if search is not None else min(int(self._options.graph_optimization_level), 2)
        self._jit, self._wants_check = jit, check
        self._cache = cache_folder() if cache else None
        self._lock = threading.Lock()
        self._variants = {}
        self._artifact, self._numbers = None, {}  # of its variants, by shapes
        self._interpreted = None
        self._seen, self._failures = {}, {}
        self._not_before = {}  # when shapes are tried again that the system was in the way of, and after how long
        self._has_waited = False  # for what the system was in the way of
        self._told, self._untold = set(), collections.deque()  # sentences for who calls
        self._misses = 0
        self._background = Background(self._compile_beside, _MOST_WAITING)
        self._folder = None
        self._facts = {}
        self._files = None
        self._overridable = []
        self._profile = _Profile(self._options.profile_file_prefix) if self._options.enable_profiling else None
        _SESSIONS.add(self)
        begin = time.perf_counter_ns()
        content = bytes_of(path_or_bytes) if is_in_memory(path_or_bytes) else None
        if content is None:
            self._path = os.path.abspath(os.fspath(path_or_bytes))
        else:
            with raised():
                self._folder = OwnFolder()
                self._path = os.path.join(self._folder.name, "model.iso" if content.startswith(_MAGIC) else "model.onnx")
                pathlib.Path(self._path).write_bytes(content)
        if self._is_artifact():
            self._open_artifact()
        else:
            self._open_model()
        if self._profile:
            self._profile.add("session_initialization", begin)
        self._tell()

    def _is_artifact(self):
        try:
            with open(self._path, "rb") as file:
                return file.read(len(_MAGIC)) == _MAGIC
        except OSError as error:
            kind = NoSuchFile if isinstance(error, FileNotFoundError) else UsageError
            raise kind(f"{self._path}: a model expected, {error.strerror}") from None

    # Artifacts and models

    def _open_artifact(self):
        self._jit = False
        with raised():
            self._artifact = _isomer.Artifact(self._path)
            kinds, inputs, outputs = [], [], []
            for number, sizes in enumerate(self._artifact.variants):
                if sizes in kinds:  # of another target
                    continue
                kinds.append(sizes)
                stays = len(self._variants) < _MOST_VARIANTS
                variant = _Variant(self._artifact, number, self._threads if stays else 1)
                inputs.append(variant.session.inputs)
                outputs.append(variant.session.outputs)
                self._numbers[variant.shapes] = number
                if stays:
                    self._variants[variant.shapes] = variant
        self._inputs, self._outputs = _args_of(inputs), _args_of(outputs)

    def _open_model(self):
        with raised():
            self._files = HeldFiles(self._path)
            self._facts = self._described()
            self._files.hold(self._facts["external_files"])
            self._files.digest()
            self._files.check_unchanged(is_there=True)

        def args(ports):
            return [
                NodeArg(name, f"tensor({_TYPES[NUMBERS_BY_NAME[kind]][0]})" if kind in NUMBERS_BY_NAME else f"tensor({kind or 'unknown'})",
                        [dim if dim != "" else None for dim in shape] if shape is not None else None)
                for name, kind, shape in ports]

        self._inputs, self._outputs = args(self._facts["inputs"]), args(self._facts["outputs"])
        self._overridable = args(self._facts["overridable"])
        dims = getattr(self._options, "_dims", {})
        for arg in (*self._inputs, *self._outputs):
            if arg._shape is not None:
                arg._shape = tuple(dims.get(dim, dim) for dim in arg._shape)
        shapes = tuple((None,) if arg._shape is None else arg._shape for arg in self._inputs)
        if all(isinstance(dim, int) for shape in shapes for dim in shape):
            self._variant_for(shapes, may_interpret=False)
            if not self._overridable and self._interpreted is None:
                self._files.close()  # no other shapes will come

    def _described(self):
        """Each of the files is open meanwhile, and how many there are is not known before."""
        try:
            return _isomer.describe(self._path)
        except _isomer.Refused as refused:
            if refused.args[0] != "system":
                raise
        make_room(_MOST_FILES)
        return _isomer.describe(self._path)

    def _key(self, shapes):
        """Of the model's content, and of what the artifact is made for; a folder may be shared by machines."""
        made_for = (self._files.digest(), self._facts["external_files"], _isomer.build(), _isomer.tuned(), _isomer.processor(), shapes,
                    self._thread_count(), self._level, self._seconds, bool(self._wants_check))
        return hashlib.sha256(repr(made_for).encode()).hexdigest()

    def _thread_count(self):
        return self._threads or _isomer.available_threads()

    def _compile(self, shapes, target, check, until):
        by_name = {arg.name: list(shape) for arg, shape in zip(self._inputs, shapes)}
        return _isomer.compile(self._files.path(), str(target), "cpu", self._level, self._seconds, {}, by_name, [{}], False, check,
                               "", self._threads, 0, None, None, until)

    def _opened(self, file):
        return _Variant(_isomer.Artifact(file), 0, self._threads)

    def _made(self, shapes, until=None):
        kept = self._cache and self._cache / "artifacts" / f"{self._key(shapes)}.iso"
        if kept is not None:
            try:
                if kept.exists():
                    _isomer.verify_weights(str(kept))
                    variant = self._opened(kept)
                    # Its time of change stays: others that use it would find it changed.
                    with contextlib.suppress(OSError):  # of another user, or of a place that can only be read
                        os.utime(kept, ns=(time.time_ns(), kept.stat().st_mtime_ns))
                    return variant
            except (_isomer.Refused, OSError):
                pass  # one that is damaged, or of another machine
        self._files.check_unchanged()
        with OwnFolder() as scratch:
            file = os.path.join(scratch, "model.iso")
            made = self._compile_checked(shapes, file, until)
            if made["interrupted"]:
                raise KeyboardInterrupt
            self._files.check_unchanged()
            if kept is not None:
                _keep(file, kept)
            return self._opened(file)  # mapped: it may go

    def _compile_checked(self, shapes, file, until):
        """A check that can't be made is no reason to interpret."""
        if self._wants_check:
            try:
                return self._compile(shapes, file, True, until)
            except _isomer.Refused as refused:
                if _UNCHECKED not in refused.args[1]:
                    raise
                why = refused.args[1]
        made = self._compile(shapes, file, False, until)
        if self._wants_check:
            self._say(f"not checked: {in_python(why)}")
        return made

    def _say(self, sentence):
        """Once, to who calls: on another thread nobody would hear, and where warnings are errors they end no work."""
        if sentence not in self._told:
            self._told.add(sentence)
            self._untold.append(sentence)

    def _tell(self):
        with contextlib.suppress(IndexError):
            while True:
                warn(self._untold.popleft())

    def _made_or_interpreted(self, shapes):
        """Kept, unless code may be made for these shapes later."""
        if self._waits(shapes):
            return self._interpreter()
        try:
            variant = self._made(shapes)
        except (_isomer.Refused, OSError, MemoryError) as error:
            if _may_pass(error):
                self._wait_for_room(shapes, _in_words(error))
                return self._interpreter()
            if isinstance(error, _isomer.Refused) and error.args[0] != "unsupported":
                raise
            variant = self._interpreter()
            self._say(f"interpreting, which is slow: {sentence_of(error)}")
        self._keep_variant(shapes, variant)
        return variant

    def _interpreter(self):
        """The one that all shapes share."""
        if self._interpreted is None:
            self._interpreted = _Interpreted(self._files, self._inputs, self._thread_count())
        return self._interpreted

    def _keep_variant(self, shapes, variant):
        """Instead of the one that is used least, where there are as many as may be."""
        while len(self._variants) >= _MOST_VARIANTS and shapes not in self._variants:
            self._variants.pop(min(self._variants, key=self._uses_of))
        variant.uses = max(variant.uses, self._seen.get(shapes, 0))
        self._variants[shapes] = variant

    def _uses_of(self, shapes):
        variant = self._variants[shapes]
        return variant.uses if isinstance(variant, _Variant) else 0

    def _is_worth_a_place(self, times):
        """Shapes that come in turn, more than there may be variants, are to leave those that there are alone."""
        self._misses += 1
        if self._misses > 4 * (len(self._variants) + len(self._seen)):
            self._misses = 0
            for variant in self._variants.values():
                variant.uses = min(variant.uses, _MOST_USES) // 2
            for each in self._seen:
                self._seen[each] //= 2
        return len(self._variants) < _MOST_VARIANTS or times > 2 * min(map(self._uses_of, self._variants)) + 2

    # Variants that are compiled while others wait for nothing

    def _compile_beside(self, shapes, is_over):
        try:
            variant = self._made(shapes, is_over)
        except Exception as error:
            with self._lock:
                self._keep_failure(shapes, error)
            return
        with self._lock:
            self._keep_variant(shapes, variant)

    def _keep_failure(self, shapes, error):
        """It is told to who runs these shapes next."""
        if _may_pass(error):
            self._wait_for_room(shapes, _in_words(error))
        elif not (isinstance(error, _isomer.Refused) and error.args[0] == "stopped"):
            self._failures[shapes] = sentence_of(error)

    def _wait_for_room(self, shapes, why):
        """Twice as long as the last time: what always needs too much is not to be made again and again."""
        _, seconds = self._not_before.get(shapes, (0, _SECONDS_TO_PASS / 2))
        seconds = min(2 * seconds, _MOST_SECONDS_TO_PASS)
        self._not_before[shapes] = time.monotonic() + seconds, seconds
        if not self._has_waited:
            self._has_waited = True
            self._say(f"interpreting, which is slow, until code can be made: {why}")

    def _waits(self, shapes):
        return time.monotonic() < self._not_before.get(shapes, (0, 0))[0]

    def _meanwhile(self, shapes):
        """What runs now: the interpreter, while a variant is made, if it is worth it."""
        failure = self._failures.get(shapes)
        if failure is not None:
            variant = self._interpreter()
            self._say(f"interpreting, which is slow: {failure}")
            self._keep_variant(shapes, variant)
            return variant
        self._seen[shapes] = times = self._seen.pop(shapes, 0) + 1
        if (times > 1 or len(self._seen) <= _SEEN_ONCE) and not self._waits(shapes) and self._is_worth_a_place(times):
            if not self._background.want(shapes):
                self._wait_for_room(shapes, "no thread can be started")
        while len(self._seen) > _REMEMBERED:
            forgotten = next(iter(self._seen))
            self._seen.pop(forgotten)
            self._not_before.pop(forgotten, None)
        return _Meanwhile(self._interpreter(), lambda: self._variants.get(shapes), lambda error: self._waited_for(shapes, error))

    def _waited_for(self, shapes, error):
        """The code for shapes that the interpreter can't run, which `error` says; that, where there is no code either."""
        while shapes not in self._variants and self._background.is_at(shapes):
            time.sleep(_SECONDS_TO_LOOK)
        with self._lock:
            variant = self._variants.get(shapes)
            if variant is None:
                if shapes in self._failures:
                    raise error
                try:
                    variant = self._made(shapes)
                except (_isomer.Refused, OSError, MemoryError) as failure:
                    self._keep_failure(shapes, failure)
                    raise error from None
                self._keep_variant(shapes, variant)
        return variant

    def _variant_for(self, shapes, may_interpret=True):
        with self._lock:
            variant = self._variants.get(shapes)
            if variant is None:
                if not self._jit:
                    variant = self._of_artifact(shapes)
                    self._keep_variant(shapes, variant)
                    return variant
                if self._jit is True and may_interpret:
                    try:
                        return self._meanwhile(shapes)
                    except _isomer.Refused:
                        pass  # what can't be interpreted may be compiled
                with raised(by_data=may_interpret):
                    variant = self._made_or_interpreted(shapes)
        return variant

    def _of_artifact(self, shapes):
        number = self._numbers.get(shapes)
        if number is None:
            known = "; ".join(", ".join(str(list(shape)) for shape in each) for each in self._numbers)
            found = ", ".join(str(list(shape)) for shape in shapes)
            raise InvalidArgument(f"inputs of shapes that it is compiled for expected ({known}), {found} found")
        with raised():
            return _Variant(self._artifact, number, self._threads)

    # What ONNX Runtime's sessions have

    def get_inputs(self):
        return list(self._inputs)

    def get_outputs(self):
        return list(self._outputs)

    def get_overridable_initializers(self):
        return list(self._overridable)

    def get_modelmeta(self):
        return ModelMetadata(self._facts)

    def get_providers(self):
        return ["CPUExecutionProvider"]

    def get_provider_options(self):
        return {"CPUExecutionProvider": {}}

    def set_providers(self, providers=None, provider_options=None):
        pass

    def get_session_options(self):
        return self._options

    def disable_fallback(self):
        pass

    enable_fallback = disable_fallback

    def _arrays(self, feed):
        """Of the inputs, in their order; and by name those for initializers."""
        arrays = []
        for arg in self._inputs:
            try:
                array = feed[arg.name]
            except KeyError:
                raise InvalidArgument(f"{arg.name}: a value expected, none given") from None
            arrays.append(array if type(array) is np.ndarray else _array_of(array, arg))
        others = {}
        if len(feed) != len(arrays):
            others = {arg.name: _array_of(feed[arg.name], arg) for arg in self._overridable if arg.name in feed}
            names = {arg.name for arg in (*self._inputs, *self._overridable)}
            for name in feed:
                if name not in names:
                    raise InvalidArgument(f"{name}: a name of an input expected")
        return arrays, others

    def run_async(self, output_names, input_feed, callback, user_data, run_options=None):
        """Runs on another thread, and gives `callback(outputs, user_data, error)` what comes of it: the error's sentence
        is empty where there is none."""

        def work():
            outputs, sentence = [], ""
            try:
                outputs = self.run(output_names, input_feed, run_options)
            except Exception as error:
                sentence = str(error)
            callback(outputs, user_data, sentence)

        threading.Thread(target=work, name="isomer run").start()

    def end_profiling(self):
        """The name of the file, in the working folder, in which the times of what was done are as JSON; "": a session
        without `SessionOptions.enable_profiling`."""
        return self._profile.write() if self._profile else ""

    def get_profiling_start_time_ns(self):
        return self._profile.start_time_ns if self._profile else 0

    def run(self, output_names, input_feed, run_options=None):
        """Outputs by name (None: all of them), as arrays, of inputs by name: arrays, or what DLPack or NumPy takes."""
        self._check_goes_on(run_options)
        if isinstance(output_names, str):
            raise InvalidArgument(f"output_names: a list of names expected, {output_names!r} found")
        results = self._results(*self._arrays(input_feed), run_options=run_options)
        if not output_names:
            return results
        by_name = {arg.name: result for arg, result in zip(self._outputs, results)}
        try:
            return [by_name[name] for name in output_names]
        except KeyError as error:
            raise InvalidArgument(f"{error.args[0]}: a name of an output expected") from None

    def _results(self, arrays, others=None, outputs=None, run_options=None):
        begin = time.perf_counter_ns() if self._profile else 0
        variant = self._variants.get(tuple([array.shape for array in arrays])) if not others else None
        if variant is not None:
            variant.uses += 1
        else:
            for arg, array in zip(self._inputs, arrays):
                self._check(arg, array)
            if others:
                variant = self._with_initializers(others)
            else:
                variant = self._variant_for(tuple(array.shape for array in arrays))
        if self._untold:
            self._tell()
        for k, port in enumerate(variant.inputs):
            array = arrays[k]
            if array.dtype != port.dtype:
                raise InvalidArgument(f"{port.name}: {port.dtype} expected, {array.dtype} found")
            if not port.is_plain:
                array = array.view(port.stored)
            arrays[k] = array if array.flags.c_contiguous else np.asarray(array, order="C")
        if outputs is not None and not variant.are_outputs_plain:
            outputs = [array if array is None or port.is_plain else array.view(port.stored)
                       for port, array in zip(variant.outputs, outputs)]
        try:
            if run_options is None or isinstance(variant, _Variant):
                results = variant.run(arrays, outputs)
            else:
                results = variant.run(arrays, outputs, lambda: getattr(run_options, "terminate", False))
        except _isomer.Refused:
            with raised():
                raise
        if not variant.are_outputs_plain:
            results = [result if port.is_plain else result.view(port.dtype) for port, result in zip(variant.outputs, results)]
        if self._profile:
            self._profile.add("model_run", begin)
        return results

    def _with_initializers(self, others):
        """Code is made for those that the model has."""
        arrays = {}
        for arg in self._overridable:
            if arg.name in others:
                self._check(arg, others[arg.name])
                port = _Port(arg.name, _number_of(arg.type))
                arrays[arg.name] = np.asarray(others[arg.name].view(port.stored), order="C")
        self._say(f"interpreting, which is slow: {', '.join(arrays)}: the model's own value expected, another one given")
        with self._lock, raised():
            return _Overridden(self._interpreter(), arrays)

    @staticmethod
    def _check_goes_on(run_options):
        if getattr(run_options, "terminate", False):
            raise Stopped("RunOptions.terminate: False expected, True found")

    @staticmethod
    def _check(arg, array):
        """A sentence before anything is compiled."""
        number = NUMBERS_BY_NAME.get(arg.type[len("tensor("):-1])
        if number in _TYPES and array.dtype != _array_type(number):
            raise InvalidArgument(f"{arg.name}: {_array_type(number)} expected, {array.dtype} found")
        if arg._shape is None:
            return
        fits = len(arg._shape) == array.ndim and all(
            not isinstance(dim, int) or dim == size for dim, size in zip(arg._shape, array.shape))
        if not fits:
            raise InvalidArgument(f"{arg.name}: shape {arg.shape} expected, {list(array.shape)} found")

    def io_binding(self):
        return IOBinding(self)

    def run_with_iobinding(self, iobinding, run_options=None):
        if iobinding._session is not self:
            raise UsageError("iobinding: one that this session's io_binding() made expected, another session's found")
        self._check_goes_on(run_options)
        iobinding._run(run_options)

    def run_with_ort_values(self, output_names, input_dict_ort_values, run_options=None):
        feed = {name: value.numpy() for name, value in input_dict_ort_values.items()}
        return [OrtValue(result) for result in self.run(output_names, feed, run_options)]

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(f"isomer.InferenceSession has no {name}")


def _array_of(value, arg=None):
    """Lists and numbers of Python's become the input's type, where that loses no more than digits."""
    if isinstance(value, OrtValue):
        return value.numpy()
    if isinstance(value, np.ndarray):
        return np.asarray(value)  # of a class below it
    number = NUMBERS_BY_NAME.get(arg.type[len("tensor("):-1]) if arg is not None else None
    if hasattr(value, "__dlpack__") and not isinstance(value, np.generic):
        return _of_dlpack(value.detach() if hasattr(value, "detach") else value, arg, number)
    try:
        array = np.asarray(value)
    except ValueError:  # rows of several lengths
        name = f"{arg.name}: " if arg is not None else ""
        raise InvalidArgument(f"{name}an array expected, {type(value).__name__} of several lengths found") from None
    if number is None or isinstance(value, np.generic) or array.dtype == _array_type(number):
        return array
    if array.size == 0:
        return array.astype(_array_type(number))
    if number in _SIGNED or number in _UNSIGNED:
        return _as_integers(array, arg.name, number)
    return _as_reals(array, arg.name, number)


def _of_dlpack(value, arg, number):
    try:
        bits = _isomer.bits_of(value, *_DLPACK[number]) if number in _DLPACK else None
        return np.from_dlpack(value) if bits is None else bits.view(_array_type(number))
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        name = f"{arg.name}: " if arg is not None else ""
        raise InvalidArgument(f"{name}an array of the CPU that NumPy can take expected, "
                         f"{type(value).__name__} found: {error}") from None


def _as_integers(array, name, number):
    """Numbers that are none stay what they are."""
    if array.dtype.kind not in "biu":
        return array
    signed = _SIGNED.get(number, 0)
    least, most = (-(1 << signed - 1), (1 << signed - 1) - 1) if signed else (0, (1 << _UNSIGNED[number]) - 1)
    if int(array.min()) < least or int(array.max()) > most:
        raise InvalidArgument(f"{name}: numbers of {_TYPES[number][0]} expected, {array.min()} to {array.max()} found")
    return array.astype(_array_type(number))


def _as_reals(array, name, number):
    """Complex ones, too. What is not of numbers, or becomes what is not, stays what it is."""
    wanted = _array_type(number)
    is_narrow = isinstance(_TYPES[number][1], str)
    kinds = "biufc" if wanted.kind == "c" else "biuf"
    if array.dtype.kind not in kinds or wanted == np.bool_ or is_narrow and wanted.kind == "u":
        return array
    if is_narrow:
        import ml_dtypes
        limits = ml_dtypes.finfo(wanted)
    else:
        limits = np.finfo(wanted)
    with np.errstate(all="ignore"):
        made = array.astype(wanted)
        # Beyond what the type has they are infinite, none, or the largest.
        error = np.abs(made.astype(np.complex128 if wanted.kind == "c" else np.float64) - array)
    lost = np.isfinite(array) & ~(error <= float(limits.max) * float(limits.eps))
    if lost.any():
        raise InvalidArgument(f"{name}: numbers of {_TYPES[number][0]} expected, {array[lost][0]} found")
    return made


class _OfCapsule:
    """What DLPack's capsule holds, of the CPU."""

    def __init__(self, capsule):
        self._capsule = capsule

    def __dlpack__(self, **options):
        return self._capsule

    def __dlpack_device__(self):
        return 1, 0


class OrtValue:
    """An array; of the CPU."""

    def __init__(self, array):
        self._array = array

    @staticmethod
    def from_dlpack(data):
        """Of what DLPack takes, or of its capsule, in the same memory."""
        given = data if hasattr(data, "__dlpack__") else _OfCapsule(data)
        try:
            return OrtValue(np.from_dlpack(given))
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            for number, (code, bits) in _DLPACK.items():
                array = _isomer.bits_of(given, code, bits)
                if array is not None:
                    return OrtValue(array.view(_array_type(number)))
            raise InvalidArgument(f"an array of the CPU that DLPack knows expected, {type(data).__name__} found: {error}") from None

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(data, onnx_element_type):
        """In the array's memory, as numbers of another type that has as many bits."""
        dtype = _array_type(onnx_element_type)
        if data.dtype.itemsize != dtype.itemsize:
            raise InvalidArgument(f"an array of elements of {dtype.itemsize} bytes expected, one of {data.dtype} found")
        return OrtValue(np.asarray(data, order="C").view(dtype))

    @staticmethod
    def ortvalue_from_numpy(numpy_obj, device_type="cpu", device_id=0):
        if device_type != "cpu":
            raise Unsupported(f"a value of the CPU expected, one of {device_type} asked for")
        return OrtValue(np.asarray(numpy_obj, order="C"))

    @staticmethod
    def ortvalue_from_shape_and_type(shape, element_type, device_type="cpu", device_id=0):
        if device_type != "cpu":
            raise Unsupported(f"a value of the CPU expected, one of {device_type} asked for")
        dtype = _array_type(element_type) if isinstance(element_type, int) else np.dtype(element_type)
        return OrtValue(np.empty(shape, dtype))

    def numpy(self):
        return self._array

    def __array__(self, dtype=None, copy=None):
        if copy is None:
            return np.asarray(self._array, dtype)
        return np.array(self._array, dtype, copy=copy)

    def shape(self):
        return list(self._array.shape)

    def data_type(self):
        for name, dtype in _TYPES.values():
            if self._array.dtype == dtype or self._array.dtype.name == dtype:
                return f"tensor({name})"
        return f"tensor({self._array.dtype})"

    def element_type(self):
        return NUMBERS_BY_NAME[self.data_type()[len("tensor("):-1]]

    def device_name(self):
        return "cpu"

    def is_tensor(self):
        return True

    def has_value(self):
        return True

    def is_sparse_tensor(self):
        return False

    is_tensor_sequence = is_sparse_tensor

    def data_ptr(self):
        return self._array.ctypes.data

    def tensor_size_in_bytes(self):
        return self._array.nbytes

    def update_inplace(self, data):
        """Of an array or of another value."""
        array = np.asarray(data)
        if array.shape != self._array.shape or array.dtype != self._array.dtype:
            raise InvalidArgument(f"an array of {self._array.dtype} of shape {list(self._array.shape)} expected, one of {array.dtype} "
                             f"of shape {list(array.shape)} found")
        np.copyto(self._array, array)

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class IOBinding:
    """Inputs and outputs that stay bound from run to run; outputs that are bound to arrays are written there."""

    def __init__(self, session):
        self._session = session
        self._inputs, self._outputs, self._results = {}, {}, []
        self._names = [arg.name for arg in session.get_outputs()]

    @staticmethod
    def _on_cpu(device_type):
        if device_type != "cpu":
            raise Unsupported(f"values of the CPU expected, one of {device_type} bound")

    def bind_cpu_input(self, name, array):
        arg = next((arg for arg in self._session.get_inputs() if arg.name == name), None)
        self._inputs[name] = array if isinstance(array, np.ndarray) else _array_of(array, arg)

    def bind_input(self, name, device_type, device_id, element_type, shape, buffer_ptr):
        self._on_cpu(device_type)
        self._inputs[name] = _array_at(buffer_ptr, element_type, shape)

    def bind_ortvalue_input(self, name, ortvalue):
        self._inputs[name] = ortvalue.numpy()

    def bind_output(self, name, device_type="cpu", device_id=0, element_type=None, shape=None, buffer_ptr=None):
        self._on_cpu(device_type)
        self._bind_output(name, _array_at(buffer_ptr, element_type, shape) if buffer_ptr else None)

    def _bind_output(self, name, array):
        if name not in self._names:
            raise InvalidArgument(f"{name}: a name of an output expected")
        if array is not None and not (array.flags.writeable and array.flags.c_contiguous):
            raise InvalidArgument(f"{name}: an array that can be written to, row by row, expected")
        self._outputs[name] = array

    def bind_ortvalue_output(self, name, ortvalue):
        self._bind_output(name, ortvalue.numpy())

    def synchronize_inputs(self):
        pass

    synchronize_outputs = synchronize_inputs

    def clear_binding_inputs(self):
        self._inputs.clear()

    def clear_binding_outputs(self):
        self._outputs.clear()

    def _run(self, run_options):
        session = self._session
        outputs = [self._outputs.get(name) for name in self._names]
        results = session._results(*session._arrays(self._inputs), outputs, run_options)
        by_name = dict(zip(self._names, results))
        for name, array in self._outputs.items():
            result = by_name[name]
            if array is None or array.size and np.shares_memory(array, result):
                continue
            if array.shape != result.shape or array.dtype != result.dtype:
                raise InvalidArgument(f"{name}: an array of {result.dtype} of shape {list(result.shape)} expected, one of {array.dtype} "
                                 f"of shape {list(array.shape)} bound")
            np.copyto(array, result)  # interpreted, or of a shape that data decide
            by_name[name] = array
        self._results = [by_name[name] for name in self._outputs]

    def get_outputs(self):
        return [OrtValue(result) for result in self._results]

    def copy_outputs_to_cpu(self):
        """Copies, which the next run leaves as they are."""
        return [result.copy() for result in self._results]


def _array_at(address, element_type, shape):
    """A view of memory that the caller keeps alive."""
    import ctypes
    dtype = _array_type(element_type) if isinstance(element_type, int) else np.dtype(element_type)
    count = int(np.prod(shape, dtype=np.int64))
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(memory, dtype).reshape(shape)
