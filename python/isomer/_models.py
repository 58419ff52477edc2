"""Models as callers have them, and as files."""
import contextlib
import hashlib
import os
import pathlib
import resource
import shutil
import tempfile
import threading
import weakref

from ._errors import UsageError

_SHARED_MEMORY = "/dev/shm"
# Of a session, each with a descriptor of each file: what holds them, the interpreter, a compilation and one that begins.
_READERS = 4


def _remove(folder, process):
    """A copy of the process that was forked leaves it to its parent."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _new_folder():
    """Where the system has its own, in the cache or in memory; an error says what is wrong with the first place."""
    cache, first = cache_folder(), None
    for place in (None, cache or _SHARED_MEMORY, _SHARED_MEMORY):
        try:
            if place is not None:
                os.makedirs(place, exist_ok=True)
            return tempfile.mkdtemp(prefix="isomer-", dir=place)
        except OSError as error:
            first = first or error
    raise first


class OwnFolder:
    """A folder that goes with its last owner, or at the end of a `with`, which gives its name."""

    def __init__(self):
        self.name = _new_folder()
        self._finalizer = weakref.finalize(self, _remove, self.name, os.getpid())

    def __enter__(self):
        return self.name

    def __exit__(self, *raised):
        self._finalizer()


def make_room(count):
    """For so many descriptors more, as far as the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = len(os.listdir("/proc/self/fd")) + count
    if hard != resource.RLIM_INFINITY:
        needed = min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _close(files):
    while files:
        os.close(files.pop())


class HeldFiles:
    """A model's file and those of its weights beside it, which can be read when nobody else finds them any more."""

    def __init__(self, path):
        self._path = self._place = path
        self._names, self._state, self._digest = [], [], None
        self._files, self._copies, self._lock = [], None, threading.Lock()
        self._finalizer = weakref.finalize(self, _close, self._files)
        self.hold([os.path.basename(path)])

    def renew(self):
        """In a process that was forked, where nobody gives the lock back."""
        self._lock = threading.Lock()

    def hold(self, names):
        """Those, too, from what is there now on."""
        make_room(_READERS * len(names))
        for name in names:
            self._files.append(os.open(os.path.join(os.path.dirname(self._place), name), os.O_RDONLY))
        self._names += names
        self._state += self._state_now()[len(self._state):]

    def _state_now(self):
        return [(status.st_size, status.st_mtime_ns) for status in map(os.fstat, self._files)]

    def check_unchanged(self, is_there=False):
        """An error where they hold something else by now; `is_there`: or where others have their names."""
        if self._files and (not self._hold_the_same() or is_there and not self._are_there()):
            raise UsageError(f"{self._place}: a file that stays as it is expected, it changed since the session was opened")

    def _hold_the_same(self):
        """Also where the times are others: of a file that was touched, or that the same was written to."""
        now = self._state_now()
        if now == self._state:
            return True
        if self._digest is None or [size for size, _ in now] != [size for size, _ in self._state]:
            return False
        if self._digest_now() != self._digest or self._state_now() != now:
            return False
        self._state = now
        return True

    def _digest_now(self):
        digest = hashlib.sha256()
        for file in self._files:
            at = 0
            while block := os.pread(file, 1 << 20, at):
                digest.update(block)
                at += len(block)
        return digest.hexdigest()

    def digest(self):
        """Of what they hold, by which it is known again."""
        if self._digest is None:
            digest = self._digest_now()
            self.check_unchanged()
            self._digest = digest
        return self._digest

    def _are_there(self):
        folder = os.path.dirname(self._path)
        try:
            return all(os.path.samestat(os.stat(os.path.join(folder, name)), os.fstat(file))
                       for name, file in zip(self._names, self._files))
        except OSError:
            return False

    def path(self):
        """The model's, or that of a copy."""
        with self._lock:
            if self._copies is None and not self._are_there():
                copies = OwnFolder()
                for name, file in zip(self._names, self._files):
                    place = os.path.join(copies.name, name)
                    os.makedirs(os.path.dirname(place), exist_ok=True)
                    shutil.copyfile(f"/proc/self/fd/{file}", place)
                self._path, self._copies = os.path.join(copies.name, self._names[0]), copies
            return self._path

    def close(self):
        """What comes now finds the model where it was."""
        self._finalizer()


def cache_folder():
    """This user's folder for what can be made again, which the command line uses, too; None: there is no place."""
    cache, home = os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", "")
    if os.path.isabs(cache):
        return pathlib.Path(cache, "isomer")
    return pathlib.Path(home, ".cache", "isomer") if os.path.isabs(home) else None


def _is_proto(model):
    return hasattr(model, "SerializeToString") and hasattr(model, "graph")


def bytes_of(model):
    """The bytes of a model that is none of a path."""
    return bytes(model) if isinstance(model, (bytes, bytearray, memoryview)) else model.SerializeToString()


def is_in_memory(model):
    if isinstance(model, (bytes, bytearray, memoryview)) or _is_proto(model):
        return True
    if isinstance(model, (str, os.PathLike)):
        return False
    raise TypeError(f"a path, bytes or an onnx.ModelProto expected, {type(model).__name__} found")


@contextlib.contextmanager
def file_of(model):
    """A path of the model's file, for as long as the context lasts."""
    own = getattr(model, "_path", None)  # of an Optimized
    if own is not None:
        yield str(own)
    elif is_in_memory(model):
        with OwnFolder() as folder:
            path = pathlib.Path(folder, "model.onnx")
            path.write_bytes(bytes_of(model))
            yield str(path)
    else:
        yield os.fspath(model)
