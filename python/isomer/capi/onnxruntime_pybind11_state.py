"""ONNX Runtime's names of what goes wrong."""
from .._errors import Error, InvalidModel, RunFailed, Unsupported, UsageError

Fail = Error
InvalidArgument = NoSuchFile = NoModel = UsageError
InvalidGraph = InvalidProtobuf = InvalidModel
NotImplemented = Unsupported
RuntimeException = EPFail = EngineError = RunFailed
