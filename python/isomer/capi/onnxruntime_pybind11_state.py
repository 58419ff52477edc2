"""ONNX Runtime's names of what goes wrong."""
from .._errors import Error, InternalError, InvalidArgument, InvalidModel, NoSuchFile, RunFailed, Unsupported

Fail = InternalError
InvalidGraph = InvalidProtobuf = InvalidModel
NotImplemented = Unsupported
RuntimeException = RunFailed


class ModelLoaded(Error):
    """Never raised, as those below."""


class ModelLoadCanceled(Error):
    pass


class ModelRequiresCompilation(Error):
    pass


class NotFound(Error):
    pass


class NoModel(Error):
    pass


class EPFail(Error):
    pass


class EngineError(Error):
    pass
