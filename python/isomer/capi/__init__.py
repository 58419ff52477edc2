"""Where programs of ONNX Runtime's look for its errors."""
