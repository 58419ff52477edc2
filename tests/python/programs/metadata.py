"""What a model's file says of it (docs/python/inference/examples/plot_metadata.py)."""
import sys

import numpy
import onnxruntime as rt

meta = rt.InferenceSession("sigmoid.onnx", providers=rt.get_available_providers()).get_modelmeta()
for name in ("custom_metadata_map", "description", "domain", "graph_name", "producer_name", "version"):
    print(name, getattr(meta, name))
numpy.savez(sys.argv[1], numpy.array([meta.version]))
