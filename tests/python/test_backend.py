"""ONNX's own backend tests against isomer.backend: what it does not support is skipped, with the reason."""
import unittest
import warnings

import onnx.backend.test

import isomer
from isomer.backend import IsomerBackend


class Tested(IsomerBackend):
    @classmethod
    def prepare(cls, model, device="CPU", **options):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what is interpreted counts, too
                return super().prepare(model, device, **options)
        except isomer.Unsupported as reason:
            raise unittest.SkipTest(str(reason)) from None


tests = onnx.backend.test.BackendTest(Tested, __name__)
# Lists of tensors are no tensors: what these give as inputs can't be told from arrays of unequal rows.
tests.exclude("test_sequence_.*|test_.*_sequence_.*|test_identity_sequence.*|test_loop.*_seq.*|test_if_seq.*|test_(identity_opt|optional)_.*")
# Whole networks are fetched from the network.
tests.exclude("test_(bvlc_alexnet|densenet121|inception_v1|inception_v2|resnet50|shufflenet|squeezenet|vgg19|zfnet512)_.*")
globals().update(tests.test_cases)
