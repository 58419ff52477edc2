"""What users do wrong (docs/python/inference/examples/plot_common_errors.py): types, names, ranks, sizes."""
import sys

import numpy
import onnxruntime as rt
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

session = rt.InferenceSession("classes.onnx", providers=rt.get_available_providers())
given, wanted = session.get_inputs()[0].name, session.get_outputs()[0].name
x = numpy.float32([[1, 2], [3, 4], [5, 6]])
refused = []


def attempt(outputs, feed):
    try:
        session.run(outputs, feed)
        refused.append(False)
    except (RuntimeError, ValueError, InvalidArgument) as error:
        assert str(error)
        refused.append(True)


attempt([wanted], {given: x.astype(numpy.float64)})
attempt(["misspelled"], {given: x})
attempt([wanted], {"misspelled": x})
attempt(None, {given: x})
for other in (numpy.float32([1, 2, 3, 4]), numpy.float32([[1, 2, 3, 4]]), numpy.float32([[1, 2, 3]]),
              numpy.float32([[[1, 2], [3, 4]]])):
    attempt([wanted], {given: other})
numpy.savez(sys.argv[1], numpy.array(refused))
