#!/usr/bin/env python3
"""Writes what ONNX says of its operators' forms from opset 18 on, as tests/ops/schema_test.cpp reads it.

The distribution's libonnx ends at opset 17; the onnx package of the Python index has the newer ones:

    python3 -m venv /tmp/onnx && /tmp/onnx/bin/pip install onnx
    /tmp/onnx/bin/python scripts/generate_schemas.py > tests/ops/schemas.txt
"""

import numpy as np
import onnx
from onnx import AttributeProto, defs

OLDEST = 18
KINDS = {"INT": "int", "FLOAT": "float", "STRING": "string", "TENSOR": "tensor",
         "GRAPH": "graph", "INTS": "ints", "FLOATS": "floats", "STRINGS": "strings"}  # fmt: skip
ARITIES = {"Single": "required", "Optional": "optional", "Variadic": "variadic"}


def number(value):
    """The shortest text that says a float32."""
    return str(np.float32(value)).removesuffix(".0")


def default(value):
    if value.type == AttributeProto.INT:
        return str(value.i)
    if value.type == AttributeProto.FLOAT:
        return number(value.f)
    if value.type == AttributeProto.STRING:
        return value.s.decode()
    if value.type == AttributeProto.INTS:
        return "[" + ",".join(str(i) for i in value.ints) + "]"
    if value.type == AttributeProto.FLOATS:
        return "[" + ",".join(number(f) for f in value.floats) + "]"
    if value.type == AttributeProto.STRINGS:
        return "[" + ",".join(s.decode() for s in value.strings) + "]"
    return ""


def arity(parameter):
    return ARITIES[parameter.option.name.removeprefix("FormalParameterOption.")]


def write(schema):
    endless = schema.inputs and arity(schema.inputs[-1]) == "variadic"
    most = -1 if endless else schema.max_input
    print("form", schema.name, schema.since_version, schema.min_input, most, schema.min_output)
    if schema.deprecated:
        print("deprecated")
    for parameter in schema.inputs:
        print("input", arity(parameter), parameter.name, *sorted(parameter.types))
    for parameter in schema.outputs:
        print("output", arity(parameter), parameter.name)
    for name, attribute in sorted(schema.attributes.items()):
        kind = attribute.type.name
        if kind in ("SPARSE_TENSOR", "TYPE_PROTO"):
            continue
        value = default(attribute.default_value)
        text = f"{name}: {KINDS.get(kind, 'another')}"
        print("attribute", text + (", required" if attribute.required else "") + (f" = {value}" if value else ""))


def main():
    print(f"# Forms of opsets {OLDEST} to {defs.onnx_opset_version()}, written by scripts/generate_schemas.py of onnx {onnx.__version__}.")
    print("# form NAME VERSION: the least and most inputs (-1: any number), the least outputs")
    schemas = [s for s in defs.get_all_schemas_with_history() if s.domain == "" and s.since_version >= OLDEST]
    for schema in sorted(schemas, key=lambda s: (s.name, s.since_version)):
        write(schema)


main()
