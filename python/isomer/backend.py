"""ONNX's backend interface (onnx.backend.base): `isomer.backend.prepare(model).run(inputs)`."""
import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep, Device, DeviceType, namedtupledict

from . import _isomer
from ._errors import Unsupported, raised
from ._models import file_of
from ._optimize import describe
from ._session import NUMBERS_BY_NAME, GraphOptimizationLevel, InferenceSession, SessionOptions


class IsomerBackendRep(BackendRep):
    """A model that was prepared."""

    def __init__(self, session):
        self._session = session
        self._names = [arg.name for arg in session.get_outputs()]

    def run(self, inputs, **options):
        """Outputs of inputs: a list in the model's order, a dict by name, or one array."""
        names = [arg.name for arg in self._session.get_inputs()]
        if isinstance(inputs, np.ndarray) and len(names) == 1:
            inputs = [inputs]
        feed = inputs if isinstance(inputs, dict) else dict(zip(names, inputs))
        return namedtupledict("Outputs", self._names)(*self._session.run(None, feed))


class IsomerBackend(Backend):
    """Isomer on the CPU."""

    @classmethod
    def is_compatible(cls, model, device="CPU", **options):
        """Whether all its operators are known and its inputs and outputs are tensors of numbers."""
        facts = describe(model)
        kinds = {kind for _, kind, _ in facts["inputs"] + facts["outputs"]}
        if not kinds <= set(NUMBERS_BY_NAME):
            return False
        try:
            with file_of(model) as path, raised():
                _isomer.Interpreter(path)
        except Unsupported:
            return False
        return True

    @classmethod
    def prepare(cls, model, device="CPU", *, threads=0, search=None, cache=False, **options):
        if not cls.supports_device(device):
            raise Unsupported(f"the CPU expected as the device, {device} found")
        session_options = SessionOptions()
        session_options.intra_op_num_threads = threads
        # Rounded as the model says, node by node.
        session_options.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_BASIC
        return IsomerBackendRep(InferenceSession(model, session_options, search=search, cache=cache, jit="wait"))

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **options):
        return cls.prepare(model, device, **options).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **options):
        names = [name for name in node.input if name]
        values = [onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
                  for name, array in zip(names, inputs)]
        if outputs_info is None:
            outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name]
        else:
            outputs = [onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
                       for name, (dtype, shape) in zip(node.output, outputs_info)]
        graph = onnx.helper.make_graph([node], "node", values, outputs)
        return cls.run_model(onnx.helper.make_model(graph), list(inputs), device, **options)

    @classmethod
    def supports_device(cls, device):
        return Device(device).type == DeviceType.CPU


is_compatible = IsomerBackend.is_compatible
prepare = IsomerBackend.prepare
run_model = IsomerBackend.run_model
run_node = IsomerBackend.run_node
supports_device = IsomerBackend.supports_device
