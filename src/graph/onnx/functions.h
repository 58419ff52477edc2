// Model-local functions: calls are replaced by their bodies, on the level of messages.
#pragma once

#include "graph/onnx/limits.h"
#include "graph/onnx/onnx.pb.h"
#include "util/result.h"

namespace isomer {

/// Inlines every call of a function of the model, in bodies of control flow too, until none is left. Inner values get
/// names of their own; attribute references take the call's attributes or the function's defaults; a node whose
/// function imports another version of its domain than the model carries it in `opset`. Errors: functions that call
/// themselves, calls nested deeper or growing larger than the limits (counted before anything is expanded), more
/// arguments than formals, two functions of one name.
Result<void> expand_functions(onnx_proto::ModelProto& model, const ImportLimits& limits);

}  // namespace isomer
