// Clang's own CUDA compiler, which needs no toolkit.
#pragma once

#include <string>

namespace isomer::kernel::test {

/// What it says of the code behind the prelude, compiled to PTX for a target ("sm_80"); empty: it takes all of it.
std::string clang_to_ptx(const std::string& text, const std::string& arch);

}  // namespace isomer::kernel::test
