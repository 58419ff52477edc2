"""Exceptions: one sentence each, which says where, what was expected and what was found."""
import contextlib

from . import _isomer


class Error(RuntimeError):
    """The base of all that Isomer raises."""


class InvalidModel(Error, ValueError):
    """A file breaks a rule of its format."""


class Unsupported(Error, NotImplementedError):
    """A model or a request is well-formed, but beyond what this version can do."""


class UsageError(Error, ValueError):
    """An argument is wrong."""


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
    "run": RunFailed, "bug": InternalError,
}


@contextlib.contextmanager
def raised():
    """What the extension module refuses becomes an exception of the package."""
    try:
        yield
    except _isomer.Refused as refused:
        kind, sentence = refused.args
        raise _BY_KIND[kind](sentence) from None
