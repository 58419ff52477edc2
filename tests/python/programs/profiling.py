"""Times of a session as JSON (docs/python/inference/examples/plot_profiling.py)."""
import json
import sys

import numpy
import onnxruntime as rt

options = rt.SessionOptions()
options.enable_profiling = True
with open("sigmoid.onnx", "rb") as file:
    session = rt.InferenceSession(file.read(), options, providers=rt.get_available_providers())
for _ in range(3):
    result = session.run(None, {session.get_inputs()[0].name: numpy.ones((3, 4, 5), numpy.float32)})
with open(session.end_profiling()) as file:
    events = json.load(file)
assert sum(event["name"] == "model_run" for event in events) == 3, events
assert all(event["ts"] >= 0 and event["dur"] >= 0 for event in events)
numpy.savez(sys.argv[1], *result)
