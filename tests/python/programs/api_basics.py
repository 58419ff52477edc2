"""The three ways to give and take data of onnxruntime-inference-examples/python/api/onnxruntime-python-api.py: arrays,
OrtValues, memory of somebody else's."""
import sys

import numpy as np
import onnxruntime


def session():
    return onnxruntime.InferenceSession("add.onnx", providers=["CPUExecutionProvider"])


def of_arrays(x, y):
    return session().run(["z"], {"x": x, "y": y})[0]


def of_values(x, y):
    x_value, y_value = (onnxruntime.OrtValue.ortvalue_from_numpy(each, "cpu", 0) for each in (x, y))
    runner = session()
    binding = runner.io_binding()
    for name, value in (("x", x_value), ("y", y_value)):
        binding.bind_input(name=name, device_type=value.device_name(), device_id=0, element_type=x.dtype,
                           shape=value.shape(), buffer_ptr=value.data_ptr())
    binding.bind_output(name="z", device_type="cpu", device_id=0, element_type=x.dtype, shape=x_value.shape())
    runner.run_with_iobinding(binding)
    return binding.get_outputs()[0].numpy()


def into_memory(x, y):
    runner, z = session(), np.empty_like(x)
    binding = runner.io_binding()
    for name, array in (("x", x), ("y", y)):
        binding.bind_input(name=name, device_type="cpu", device_id=0, element_type=np.float32, shape=array.shape,
                           buffer_ptr=array.ctypes.data)
    binding.bind_output(name="z", device_type="cpu", device_id=0, element_type=np.float32, shape=z.shape,
                        buffer_ptr=z.ctypes.data)
    runner.run_with_iobinding(binding)
    return z


a, b = np.float32([1, 2, 3]), np.float32([4, 5, 6, 7, 8])
np.savez(sys.argv[1], of_arrays(a, a), of_values(b, b), into_memory(b, 2 * b))
