#include <nanobind/nanobind.h>
#include "isomer/optimize.h"
NB_MODULE(_isomer, m) { m.def("f", [] { return isomer::optimize_model("", "").has_value(); }); }
