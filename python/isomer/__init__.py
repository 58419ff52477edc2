"""Isomer makes ONNX models faster, with a proof for every step.

    optimized = isomer.optimize("model.onnx")
    optimized.save("faster.onnx")

    session = isomer.InferenceSession("model.onnx")
    outputs = session.run(None, {"x": x})

Models are given as a path, as the bytes of a file, or as an `onnx.ModelProto`.
"""
from . import capi, library
from ._errors import (CheckFailed, Error, InternalError, InvalidModel, RunFailed, Stopped, Unsupported, UsageError)
from ._optimize import (BackendTimes, Comparison, Compiled, Optimized, Times, TunedTask, Verified, backends, bench, compare,
                        compile, describe, optimize, tune, verify)
from ._session import (ExecutionMode, GraphOptimizationLevel, InferenceSession, IOBinding, ModelMetadata, NodeArg, OrtValue,
                       RunOptions, SessionOptions, disable_telemetry_events, enable_telemetry_events, get_all_providers,
                       get_available_providers, get_build_info, get_device, get_version_string, set_default_logger_severity,
                       set_default_logger_verbosity, set_seed)
from ._isomer import version as _version

__version__ = _version()

__all__ = [
    "BackendTimes", "CheckFailed", "Comparison", "Compiled", "Error", "ExecutionMode", "GraphOptimizationLevel", "IOBinding", "InferenceSession",
    "InternalError", "InvalidModel", "ModelMetadata", "NodeArg", "Optimized", "OrtValue", "RunFailed", "RunOptions",
    "SessionOptions", "Stopped", "Times", "TunedTask", "Unsupported", "UsageError", "Verified", "backends", "bench", "capi", "compare", "compile", "describe",
    "disable_telemetry_events", "enable_telemetry_events", "get_all_providers", "get_available_providers", "get_build_info", "get_device",
    "get_version_string", "library", "optimize", "set_default_logger_severity", "set_default_logger_verbosity", "set_seed", "tune", "verify",
]
