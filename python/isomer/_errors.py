"""Exceptions: one sentence each, which says where, what was expected and what was found."""
import contextlib
import os
import re

from . import _isomer


class Error(RuntimeError):
    """The base of all that Isomer raises."""


class InvalidModel(Error, ValueError):
    """A file breaks a rule of its format."""


class Unsupported(Error, NotImplementedError):
    """A model or a request is well-formed, but beyond what this version can do."""


class UsageError(Error, ValueError):
    """An argument is wrong."""


class NoSuchFile(UsageError):
    """A model is to be opened where there is no file."""


class InvalidArgument(UsageError):
    """What a session is given to run on, or to write to, is none that it takes."""


class CheckFailed(Error):
    """Two models differ, or a proof does not hold."""


class Stopped(Error):
    """The work was asked to stop before it had a result."""


class RunFailed(Error):
    """The data led to an index outside of its axis, a division by zero or a wrong shape."""


class InternalError(Error):
    """A bug in Isomer."""


_BY_KIND = {
    "invalid": InvalidModel, "unsupported": Unsupported, "usage": UsageError, "mismatch": CheckFailed, "stopped": Stopped,
    "run": RunFailed, "bug": InternalError, "system": Unsupported,
}


def sentence_of(error):
    """Of what the extension module or the system refuses; of others their own."""
    if isinstance(error, _isomer.Refused):
        return in_python(error.args[1])
    if isinstance(error, OSError):
        place = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
        return f"{place}a file that can be used expected, {error.strerror or error}"
    return str(error)


@contextlib.contextmanager
def raised(by_data=False):
    """What the extension module or the system refuses becomes an exception of the package. `by_data`: the model is valid,
    and what is wrong are the arrays that it was given."""
    try:
        yield
    except _isomer.Refused as refused:
        kind = refused.args[0]
        raise _BY_KIND["run" if by_data and kind == "invalid" else kind](sentence_of(refused)) from None
    except OSError as error:
        raise UsageError(sentence_of(error)) from None


# What the command line calls otherwise.
_NAMES = [
    (r"(?<![^ ])--for(?=: )", "runtime"), (r"(?<![^ ])--dim(?=: )", "dims"), (r"(?<![^ ])--input-shapes(?=: )", "shapes"),
    (r"(?<![^ ])--(?=[a-z]+: )", ""),
    (r"with --dim (.+)=SIZE", r"with dims={'\1': SIZE}"), (r"with CompileModelOptions::dims", "with dims"),
    (r"--memory SIZE allows", "memory=BYTES allows"), (r"--no-check skips", "check=False skips"),
    (r"; name its shared library with --onnxruntime", ""), (r"with --onednn", "in libraries"),
    (r"with --(cudnn|cublaslt)", "in libraries"), (r"name it with --model", "give it as reference"),
]


def in_python(sentence):
    """As callers of this package name what it is about."""
    for pattern, name in _NAMES if "--" in sentence or "::" in sentence else ():
        sentence = re.sub(pattern, name, sentence)
    return sentence
