#include "substitutions/library/print_proof.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "graph/te/parser.h"
#include "substitutions/library/print_rule.h"
#include "substitutions/proof/read/proof_file.h"
#include "substitutions/proof/read/rule_text.h"

namespace isomer::substitutions {
namespace {

std::string print_values(const std::vector<int>& values) {
  std::vector<std::string> parts;
  for (const int value : values) parts.push_back(fmt::format("%{}", value));
  return fmt::format("{}", fmt::join(parts, ","));
}

std::string print_step(const ProofStep& step) {
  return std::visit(
      te::Overloaded{
          [](const MakeStep& made) {
            std::string text = "make\n";
            for (size_t first = 0; first < made.graph.size();) {
              const size_t end = std::min(made.graph.find('\n', first), made.graph.size());
              text += fmt::format("\t{}\n", std::string_view(made.graph).substr(first, end - first));
              first = end + 1;
            }
            return text;
          },
          [](const RuleStep& used) {
            std::vector<std::string> names;
            for (const auto& [name, value] : used.tensors) names.push_back(fmt::format("{}=%{}", name, value));
            for (std::string& part : binding_parts(used.names)) names.push_back(std::move(part));
            return fmt::format("rule\t{}\t{}\n", used.rule, fmt::join(names, kBetween));
          },
          [](const FoldStep& folded) { return fmt::format("fold\t%{}\n", folded.value); },
          [](const InferStep& inferred) { return fmt::format("infer\t%{}\n", inferred.value); },
          [](const SameStep& same) {
            const std::string through = same.through.empty() ? "" : "\t" + print_values(same.through);
            return fmt::format("same\t%{}\t%{}\t{}{}\n", same.first, same.second, print_values(same.over), through);
          },
          [](const ExpandStep& expanded) { return fmt::format("expand\t%{}\n", expanded.value); },
          [](const OutputStep& read) {
            if (read.constants.empty()) return std::string("output\n");
            return fmt::format("output\t{}\t{}\n", print_values(read.constants), print_values(read.values));
          },
      },
      step);
}

std::string print(const ModelProof& proof, std::span<const verify::StatedAxiom> axioms) {
  std::string result = fmt::format("{}\ninput {}\noutput {}\nfp {}\n", kProofTitle, proof.input.hex(),
                                   proof.output.hex(), name(proof.fp));
  for (const auto& [name, value] : proof.dims) result += fmt::format("dim {}={}\n", te::quoted(name), value);
  for (const auto& [name, dims] : proof.shapes)
    result += fmt::format("shape {}=[{}]\n", te::quoted(name), fmt::join(dims, ","));
  result += "rules\n";
  for (const Rule& rule : proof.rules) {
    result += print_rule(rule) + "\n";
    for (const verify::LawUse& use : rule.proof.uses) result += fmt::format("\t{}\n", print_use(use, axioms));
  }
  result += "steps\n";
  for (const ProofStep& step : proof.steps) result += print_step(step);
  return result + "end\n";
}

}  // namespace

Result<std::string> print_proof(const ModelProof& proof, std::span<const verify::StatedAxiom> axioms) {
  std::string text = print(proof, axioms);
  TRY(const ModelProof read, parse_proof(text, axioms));
  if (print(read, axioms) != text) return unsupported("", "steps that a text can say expected, others found");
  return text;
}

}  // namespace isomer::substitutions
