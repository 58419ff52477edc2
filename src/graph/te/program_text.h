// Whole programs as text, and back: for tests, logs and files.
//
//   s0 = map [n, 3] { in0[i0, i1]:float32*2 }
//   s1 = reduce [n] over [3] with sum:float32 { s0[i0, r0]:float32 }
//   s2 = update [n] from 0:float32 over [4] at [in1[r0]] with max:float32 { s1[r0]:float32 }
//   s3 = scan n {
//     state [] = 0:float32
//     step map [] { state0[]:float32 + s2[t0]:float32 }
//     next 0
//   }
//   s4 = imperative {
//     local0: int64[]
//     for k0 < n {
//       if s3[k0]:float32 < 0 {
//         local0[] = local0[] + 1
//       }
//     }
//     output local0
//   }
//   output s3, s4, none
#pragma once

#include <string>
#include <string_view>

#include "graph/te/program.h"
#include "util/result.h"

namespace isomer::te {

std::string print(const Program& program);
/// The inverse of `print`. The program is well-formed (validate.h) but for what its inputs are.
Result<Program> parse_program(std::string_view text);

}  // namespace isomer::te
