"""ONNX Runtime's names of what goes wrong."""
from .._errors import Error, InvalidModel, RunFailed, Unsupported, UsageError

Fail = Error
InvalidArgument = NoSuchFile = NoModel = UsageError
InvalidGraph = InvalidProtobuf = InvalidModel
NotImplemented = Unsupported
RuntimeException = EPFail = EngineError = RunFailed


class ModelLoaded(Error):
    """Never raised, as those below."""


class ModelLoadCanceled(Error):
    pass


class ModelRequiresCompilation(Error):
    pass


class NotFound(Error):
    pass
