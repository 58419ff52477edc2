#!/usr/bin/env python3
"""Writes the node cases of ONNX's backend tests to a folder, as onnx_suite --dir reads them.

The distribution's libonnx-testdata ends at opset 17; the onnx package of the Python index has the newer ones:

    python3 -m venv /tmp/onnx && /tmp/onnx/bin/pip install onnx
    /tmp/onnx/bin/python scripts/generate_node_cases.py /tmp/node_cases
    build/bin/onnx_suite --dir /tmp/node_cases
"""

import argparse
import pathlib
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case import node as node_cases


def to_proto(value, info):
    """A test's value as the message that its type asks for."""
    kind = info.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(value, info.name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, info.name)
    if kind == "map_type":
        return numpy_helper.from_dict(value, info.name)
    if isinstance(value, onnx.TensorProto):
        return value
    return numpy_helper.from_array(np.asarray(value), info.name)


def write_case(case, folder):
    folder.mkdir(parents=True)
    onnx.save(case.model, folder / "model.onnx")
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for prefix, values, infos in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
            for position, (value, info) in enumerate(zip(values, infos)):
                (data / f"{prefix}_{position}.pb").write_bytes(to_proto(value, info).SerializeToString())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="is made; one folder a case")
    parser.add_argument("--max-opset", type=int, default=28, help="leave out cases of newer opsets (default %(default)s)")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = node_cases.collect_testcases(None)
    written = 0
    for case in cases:
        if any(opset.domain in ("", "ai.onnx") and opset.version > options.max_opset for opset in case.model.opset_import):
            continue
        write_case(case, options.folder / case.name)
        written += 1
    print(f"{written} of {len(cases)} cases of onnx {onnx.__version__} written to {options.folder}")


if __name__ == "__main__":
    main()
