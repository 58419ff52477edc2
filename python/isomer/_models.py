"""Models as callers have them, and as files."""
import contextlib
import os
import pathlib
import shutil
import tempfile
import weakref


class OwnFolder:
    """A folder that goes with its last owner."""

    def __init__(self):
        self.name = tempfile.mkdtemp(prefix="isomer-")
        self._finalizer = weakref.finalize(self, shutil.rmtree, self.name, True)


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
        with tempfile.TemporaryDirectory(prefix="isomer-") as folder:
            path = pathlib.Path(folder, "model.onnx")
            path.write_bytes(bytes_of(model))
            yield str(path)
    else:
        yield os.fspath(model)
