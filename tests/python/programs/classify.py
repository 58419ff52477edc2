"""Classification of images, one at a time and by batches, as ONNX Runtime's ResNet tutorials do it: options, a warm-up,
probabilities, the best five."""
import sys
import time

import numpy as np
import onnxruntime

options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
options.intra_op_num_threads = 2
options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
session = onnxruntime.InferenceSession("classifier.onnx", sess_options=options, providers=["CPUExecutionProvider"])


def preprocess(image):
    mean, deviation = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
    return ((image.transpose(2, 0, 1) / 255 - mean[:, None, None]) / deviation[:, None, None]).astype(np.float32)


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


images = np.random.default_rng(3).integers(0, 256, (8, 32, 32, 3))
name = session.get_inputs()[0].name
results = []
for batch in (1, 8):
    pixels = np.stack([preprocess(image) for image in images[:batch]])
    start = time.time()
    shares = softmax(session.run([], {name: pixels})[0])
    print(f"{batch} images in {1e3 * (time.time() - start):.1f} ms, best {np.argsort(-shares)[0, :5]}")
    results.append(shares)
np.savez(sys.argv[1], *results)
