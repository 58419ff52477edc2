"""ONNX's backend interface (docs/python/inference/examples/plot_backend.py): of a model in memory and of a file."""
import sys

import numpy as np
import onnxruntime.backend as backend
from onnx import load
from onnxruntime import get_device

x = np.float32([[-1, -2]])
results = []
for model in (load("classes.onnx"), "classes.onnx"):
    results += list(backend.prepare(model, get_device()).run(x))
np.savez(sys.argv[1], *results)
