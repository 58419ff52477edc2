"""Detection in images of any size, as YOLOv8's samples do it (onnxruntime-inference-examples/python/OpenVINO_EP/
yolov8_object_detection/yolov8.py): letterboxed to a multiple of the stride, timed, boxes that overlap dropped."""
import sys
from datetime import datetime

import numpy as np
import onnxruntime as rt

STRIDE = 8
model = rt.InferenceSession("detector.onnx", rt.SessionOptions(), providers=["CPUExecutionProvider"])
input_name, output_names = model.get_inputs()[0].name, [output.name for output in model.get_outputs()]


def letterbox(image):
    height, width = (-(-size // STRIDE) * STRIDE for size in image.shape[:2])
    padded = np.full((height, width, 3), 114, np.uint8)
    padded[:image.shape[0], :image.shape[1]] = image
    pixels = np.ascontiguousarray(padded.transpose(2, 0, 1)[::-1]).astype(np.float32) / 255
    return np.expand_dims(pixels, axis=0)


def overlap(box, others):
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:4], others[:, 2:4])
    inside = np.prod(np.clip(high - low, 0, None), axis=1)
    area = lambda boxes: np.prod(boxes[..., 2:4] - boxes[..., :2], axis=-1)
    return inside / (area(box) + area(others) - inside)


def kept(boxes):
    boxes, result = boxes[np.argsort(-boxes[:, 4], kind="stable")], []
    while len(boxes):
        result.append(boxes[0])
        boxes = boxes[1:][overlap(boxes[0], boxes[1:]) < 0.45]
    return np.array(result)


rng, results, seconds = np.random.default_rng(5), [], []
for height, width in ((40, 56), (33, 47), (64, 64), (40, 56)):
    pixels = letterbox(rng.integers(0, 256, (height, width, 3), np.uint8))
    for _ in range(3):
        start = datetime.now()
        prediction = model.run(output_names, {input_name: pixels})
        seconds.append((datetime.now() - start).total_seconds())
    results.append(kept(prediction[0][0]))
print(f"Average inference time is {np.average(seconds)}")
np.savez(sys.argv[1], *results)
