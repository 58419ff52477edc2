#include "cli/float_classes.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "substitutions/proof/rule.h"

namespace isomer::cli {
namespace {

using nlohmann::json;

std::vector<verify::FloatClassCheck> checked(const std::vector<verify::CheckedAxiom>& all, int trials, uint64_t seed,
                                             int threads) {
  std::vector<verify::StatedAxiom> stated;
  for (const verify::CheckedAxiom& each : all) stated.push_back(each.stated);
  return verify::check_float_classes(stated, trials, seed, threads);
}

}  // namespace

FloatClasses::FloatClasses(const std::vector<verify::CheckedAxiom>& all, int trials, uint64_t seed, int threads)
    : all_(all), checks_(checked(all, trials, seed, threads)) {
  for (size_t k = 0; k < all_.size(); ++k) {
    const verify::FloatClassCheck& check = checks_[k];
    by_class_[static_cast<size_t>(declared(k))] += check.holds() ? 1 : 0;
    refuted_ += check.counterexample ? 1 : 0;
    unchecked_ += !check.holds() && !check.counterexample ? 1 : 0;
  }
}

json FloatClasses::facts() const {
  json result = {{"refuted", refuted_}, {"unchecked", unchecked_}};
  for (size_t k = 0; k < by_class_.size(); ++k) result[std::string(name(static_cast<FloatClass>(k)))] = by_class_[k];
  return result;
}

json FloatClasses::facts(size_t axiom) const {
  const verify::FloatClassCheck& check = checks_[axiom];
  json result = {{"class", name(declared(axiom))},
                 {"class_seen", name(check.seen)},
                 {"class_holds", check.holds()},
                 {"float_inputs", check.inputs}};
  if (check.counterexample) result["class_counterexample"] = check.counterexample->text();
  return result;
}

std::string FloatClasses::text() const {
  return fmt::format(
      "in floating point {} are exact, {} up to the sign of zero, {} on finite values, {} up to rounding, {} where "
      "nothing overflows; {} refuted, {} without a value",
      by_class_[0], by_class_[1], by_class_[2], by_class_[3], by_class_[4], refuted_, unchecked_);
}

std::string FloatClasses::text(size_t axiom, bool is_verbose) const {
  const verify::FloatClassCheck& check = checks_[axiom];
  if (check.counterexample) return fmt::format("  not {}: {}\n", name(declared(axiom)), check.counterexample->text());
  if (!check.holds()) return fmt::format("  {}: no values on which both sides are known\n", name(declared(axiom)));
  std::string result;
  if (is_verbose && check.takes_floats && check.seen < declared(axiom))
    result +=
        fmt::format("  declared {}, seen {} on {} inputs\n", name(declared(axiom)), name(check.seen), check.inputs);
  return result;
}

}  // namespace isomer::cli
