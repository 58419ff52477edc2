"""A decoder that keeps its keys and values, as the GPT-2 notebooks of onnxruntime.transformers do it: one token a step,
`present` of a step is `past` of the next, all of it bound."""
import sys

import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession("decoder.onnx", providers=["CPUExecutionProvider"])
layers = [each.name for each in session.get_inputs() if each.name.startswith("past")]
tokens, scores = [3], []
past = {name: onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros((1, 2, 0, 8), np.float32), "cpu", 0) for name in layers}
for step in range(12):
    binding = session.io_binding()
    binding.bind_cpu_input("input_ids", np.array([[tokens[-1]]], np.int64))
    binding.bind_cpu_input("position_ids", np.array([[step]], np.int64))
    for name, value in past.items():
        binding.bind_ortvalue_input(name, value)
    for output in session.get_outputs():
        binding.bind_output(output.name, "cpu")
    session.run_with_iobinding(binding)
    outputs = dict(zip([each.name for each in session.get_outputs()], binding.get_outputs()))
    scores.append(outputs["logits"].numpy()[0, -1])
    tokens.append(int(scores[-1].argmax()))
    past = {name: outputs[name.replace("past", "present")] for name in layers}
assert past[layers[0]].shape() == [1, 2, 12, 8]
print(tokens)
np.savez(sys.argv[1], np.array(tokens), *scores)
