"""Where programs of ONNX Runtime's look for its errors."""
from . import onnxruntime_pybind11_state
