"""As ONNX Runtime's documentation begins (docs/python/inference/examples/plot_load_and_predict.py): a file, what it takes
and gives, a prediction."""
import sys

import numpy
import onnxruntime as rt

session = rt.InferenceSession("sigmoid.onnx", providers=rt.get_available_providers())
first, last = session.get_inputs()[0], session.get_outputs()[0]
print("input", first.name, first.shape, first.type)
print("output", last.name, last.shape, last.type)
x = numpy.random.default_rng(0).random((3, 4, 5)).astype(numpy.float32)
numpy.savez(sys.argv[1], *session.run([last.name], {first.name: x}))
