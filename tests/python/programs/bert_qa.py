"""Questions to BERT, as the scoring scripts of onnxruntime-inference-examples do it (python/azureml/score.py): inputs by
name, batches and lengths that vary, the best span of each."""
import sys

import numpy as np
from onnxruntime import InferenceSession, SessionOptions


def init():
    global session
    options = SessionOptions()
    options.intra_op_num_threads = 1
    session = InferenceSession("bert.onnx", options, providers=["CPUExecutionProvider"])


def run(features):
    length = max(len(ids) for ids in features)
    ids = np.array([each + [0] * (length - len(each)) for each in features], np.int64)
    inputs = {"input_ids": ids, "input_mask": (ids > 0).astype(np.int64), "segment_ids": np.zeros_like(ids)}
    start, end = session.run(["start_logits", "end_logits"], {each.name: inputs[each.name] for each in session.get_inputs()})
    print([(int(a.argmax()), int(b.argmax())) for a, b in zip(start, end)])
    return [start, end]


init()
rng = np.random.default_rng(7)
results = []
for lengths in ((9,), (16,), (5, 12, 7), (9,)):
    results += run([rng.integers(1, 100, length).tolist() for length in lengths])
np.savez(sys.argv[1], *results)
