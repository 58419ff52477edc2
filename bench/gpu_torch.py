#!/usr/bin/env python3
"""Models of torchvision by PyTorch on the GPU here: captured in a graph, caches cold, float32 without TF32; a JSON object of milliseconds.

    gpu_torch.py [MODEL…]        beside the models of these names in bench/gpu.py's times; weights are random
"""
import json
import sys
import time

import torch
import torchvision

SHAPES = {"resnet18": 224, "resnet50": 224, "vgg16": 224, "densenet121": 224, "mobilenet_v2": 224, "squeezenet1_1": 224, "convnext_tiny": 224, "resnext50_32x4d": 224}


def median_of(model, x):
    with torch.inference_mode():
        for _ in range(3):
            model(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            model(x)
        cold = torch.empty(128 << 20, dtype=torch.uint8, device="cuda")
        times = []
        for _ in range(15):
            cold.zero_()
            first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            first.record()
            graph.replay()
            last.record()
            last.synchronize()
            times.append(first.elapsed_time(last))
    return sorted(times)[len(times) // 2]


def main():
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    result, started = {"version": torch.__version__}, time.monotonic()
    for name in sys.argv[1:] or SHAPES:
        if time.monotonic() - started > 25:
            break
        model = getattr(torchvision.models, name)(weights=None).eval().cuda()
        result[name] = median_of(model, torch.randn(1, 3, SHAPES[name], SHAPES[name], device="cuda"))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
