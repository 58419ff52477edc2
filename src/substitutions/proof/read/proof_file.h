// The text of a proof, read; substitutions/library/print_proof.h writes it. Test: tests/substitutions/proof_test.cpp
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "substitutions/proof/proof.h"

namespace isomer::substitutions {

/// The first line of a proof file.
inline constexpr std::string_view kProofTitle = "isomer proof 3";

/// The proof file, with tabs where rule_text.h has them; indented lines belong to the one before:
///
///   isomer proof 3
///   input d94e2d6e1f9c0c2aa2a6c2f2f7a39f43
///   output 2f7e0b9a3d1c4e5f60718293a4b5c6d7
///   fp reassociate
///   dim "batch"=8
///   shape "x"=[8,3,224,224]
///   rules
///   relu_concat-concat_relu-3f0a11  exact  Concat(Relu(x),Relu(y)){..p} = Relu(Concat(x,y){..p})  x:float32[2,3] ;
///   y:float32[2,3] ; ..p={axis=1}
///     Concat.1d09ab ; ..p={..p} ; x=x ; y=y
///   steps
///   fold  %12
///   make
///     graph (%3: float32[2,3]) -> (%14) {
///       %14: float32[2,3] = Relu(%3)
///     }
///   rule  relu_concat-concat_relu-3f0a11  x=%3 ; y=%9 ; ..p={axis=1}
///   same  %17  %14  %3  %9,%12
///   output
///   end
///
/// Errors, kInvalid, name the line, what was expected there, what was found. Nothing is replayed: ProofSteps does.
Result<ModelProof> parse_proof(std::string_view text, std::span<const verify::StatedAxiom> axioms);

/// Of a file. Errors besides: it can't be read, or has too many bytes.
Result<ModelProof> read_proof(const std::filesystem::path& file, std::span<const verify::StatedAxiom> axioms);

}  // namespace isomer::substitutions
