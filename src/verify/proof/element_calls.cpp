// Functions of elements, and the greatest of them: what is known of functions stands here.
#include <algorithm>
#include <array>
#include <string_view>

#include "verify/proof/element.h"

namespace isomer::verify {
namespace {

constexpr std::string_view kExp = "exp", kReciprocal = "reciprocal", kLog = "log", kLeast = "-inf";
/// f(-x) = -f(x)
constexpr std::array<std::string_view, 9> kOdd = {"erf",  "tanh", "sin",   "tan",  "asin",
                                                  "atan", "sinh", "asinh", "round"};
/// f(-x) = f(x)
constexpr std::array<std::string_view, 4> kEven = {"cos", "cosh", "is_zero", "isnan"};
/// Defined everywhere, and x <= y gives f(x) <= f(y).
constexpr std::array<std::string_view, 8> kGrowing = {"exp", "erf", "tanh", "atan", "sinh", "asinh", "floor", "round"};
constexpr std::array<std::string_view, 2> kToIntegers = {"floor", "round"};
constexpr int64_t kMostUnrolled = 64;  ///< values of a maximum's bounds

template <class List>
bool is_one_of(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

bool has_few_values(const std::vector<Bound>& bounds) {
  int64_t count = 1;
  for (const Bound& bound : bounds) count *= std::min(te::as_constant(bound.extent).value_or(1), kMostUnrolled + 1);
  return count <= kMostUnrolled;
}

/// Whether it is more than zero wherever it has a value: a sum of positive numbers and exponentials.
bool is_positive(const Element& element) {
  const auto is_exp = [](const FactorRef& factor) { return is_call(factor, kExp); };
  return !element.products.empty() && std::ranges::all_of(element.products, [&](const Product& product) {
    return product.coefficient.sign() > 0 && product.bounds.empty() && product.conditions.empty() &&
           std::ranges::all_of(product.factors, is_exp);
  });
}

/// Whether it is an integer wherever it has a value.
bool is_integral(const Element& element) {
  const auto is_integer = [](const FactorRef& factor) {
    return factor->is_truth || factor->kind == Factor::Kind::kInteger ||
           (factor->kind == Factor::Kind::kCall && is_one_of(kToIntegers, factor->name));
  };
  return std::ranges::all_of(element.products, [&](const Product& product) {
    return product.coefficient.is_integer() && std::ranges::all_of(product.factors, is_integer);
  });
}

std::optional<te::Rational> constant(const Element& element) {
  if (element.products.empty()) return te::Rational();
  const Product& product = element.products[0];
  const bool is_constant =
      element.products.size() == 1 && product.bounds.empty() && product.conditions.empty() && product.factors.empty();
  return is_constant ? std::optional(product.coefficient) : std::nullopt;
}

FactorRef called(std::string_view name, Element argument) {
  return std::make_shared<const Factor>(
      Factor{.kind = Factor::Kind::kCall, .name = std::string(name), .arguments = {std::move(argument)}});
}

}  // namespace

Element ElementMaker::call(const std::string& name, std::vector<Element> arguments, bool is_truth) {
  if (exhausted_) return {};
  for (const Element& argument : arguments) {
    called_ = called_ || std::ranges::any_of(argument.products, [](const Product& p) { return !p.factors.empty(); });
    const te::Expr* found = free_condition(argument);
    if (!found) continue;
    const te::Expr condition = *found, opposite = simplified(te::logical_not(condition));
    std::vector<Element> where, elsewhere;
    for (const Element& each : arguments) {
      where.push_back(assumed(each, condition));
      elsewhere.push_back(assumed(each, opposite));
    }
    return sum(restricted(call(name, std::move(where), is_truth), condition),
               restricted(call(name, std::move(elsewhere), is_truth), opposite));
  }
  if (name == kExp) return exponential(arguments[0]);
  if (name == kReciprocal) return reciprocal(arguments[0]);
  if (name == kLog) return logarithm(arguments[0]);
  if (name == "ceil") return negated(call("floor", {negated(arguments[0])}));
  if (is_one_of(kToIntegers, name) && is_integral(arguments[0])) return arguments[0];
  if (const FactorRef inner = name.starts_with("not of ") ? only_factor(arguments[0]) : nullptr; is_call(inner, name))
    return inner->arguments[0];
  if (is_one_of(kOdd, name) || name.starts_with("cast of float64 to int")) {
    if (arguments[0].products.empty()) return {};
    if (arguments[0].products[0].coefficient.sign() < 0) return negated(call(name, {negated(arguments[0])}));
  }
  if (is_one_of(kEven, name) && !arguments[0].products.empty() && arguments[0].products[0].coefficient.sign() < 0)
    arguments[0] = negated(arguments[0]);
  return single({.kind = Factor::Kind::kCall, .name = name, .is_truth = is_truth, .arguments = std::move(arguments)});
}

/// exp(a + b) = exp(a) * exp(b)
Element ElementMaker::exponential(const Element& argument) {
  Product result{te::Rational(1), {}, {}, {}};
  for (const Product& part : argument.products) result.factors.push_back(called(kExp, {{part}}));
  return {{std::move(result)}};
}

/// 1 / (a * b) = 1/a * 1/b, 1 / exp(a) = exp(-a); where the reciprocal has no value, neither side has.
Element ElementMaker::reciprocal(const Element& argument) {
  if (argument.products.size() != 1) return single(called(kReciprocal, argument));
  const Product& product = argument.products[0];
  Product result{te::Rational(1) / product.coefficient, {}, {}, {}},
      sum{te::Rational(1), product.bounds, product.conditions, {}};
  Element exponents;
  for (const FactorRef& factor : product.factors) {
    const FactorRef inner = is_call(factor, kReciprocal) ? only_factor(factor->arguments[0]) : nullptr;
    if (mentions(factor, product.bounds))
      sum.factors.push_back(factor);
    else if (is_call(factor, kExp))
      exponents = difference(exponents, factor->arguments[0]);
    else if (inner && inner->kind == Factor::Kind::kInteger)
      result.factors.push_back(inner);
    else
      result.factors.push_back(called(kReciprocal, single(factor)));
  }
  if (!sum.bounds.empty()) result.factors.push_back(called(kReciprocal, {{std::move(sum)}}));
  return this->product({{std::move(result)}}, exponential(exponents));
}

/// log(exp(a) * b) = a + log(b), log(1 / a) = -log(a), log(sqrt(a)) = log(a) / 2, log(1 + exp(-a)) = log(1 + exp(a)) -
/// a; where one side has no value, neither has the other.
Element ElementMaker::logarithm(const Element& argument) {
  const Element one = number(te::Rational(1));
  const auto of = [](const Element& element) { return single(called(kLog, element)); };
  Element exponents;
  if (argument.products.size() == 1) {
    Product rest = argument.products[0];
    std::erase_if(rest.factors, [&](const FactorRef& factor) {
      if (!is_call(factor, kExp) || mentions(factor, rest.bounds)) return false;
      exponents = sum(exponents, factor->arguments[0]);
      return true;
    });
    const Element left{{rest}};
    const FactorRef factor = only_factor(left);
    if (is_call(factor, kReciprocal)) return difference(exponents, logarithm(factor->arguments[0]));
    if (is_call(factor, "sqrt"))
      return sum(exponents, scaled(logarithm(factor->arguments[0]), te::Rational(1) / te::Rational(2)));
    return constant(left) == te::Rational(1) ? exponents : sum(exponents, of(left));
  }
  const Element beside = difference(argument, one);
  if (beside.products.size() != 1 || beside.products[0].coefficient != te::Rational(1) || !is_positive(beside))
    return of(argument);
  for (const FactorRef& factor : beside.products[0].factors) exponents = sum(exponents, factor->arguments[0]);
  if (exponents.products.empty() || exponents.products[0].coefficient.sign() > 0) return of(argument);
  const Element opposite = negated(exponents);
  const Element* size = absolute(opposite);
  if (!size) return sum(of(sum(one, exponential(opposite))), exponents);
  // log(1 + exp(-|a|)) = log(1 + exp(a)) - max(a, 0)
  return difference(logarithm(sum(one, exponential(*size))), greatest({{{}, {}, *size}, {}}));
}

/// The a of |a| that begins with a positive coefficient; nullptr where it is something else.
const Element* ElementMaker::absolute(const Element& element) {
  const FactorRef most = only_factor(element);
  if (!most || most->kind != Factor::Kind::kGreatest || most->pieces.size() != 2) return nullptr;
  const Piece &a = most->pieces[0], &b = most->pieces[1];
  const bool is_plain = a.bounds.empty() && b.bounds.empty() && a.conditions.empty() && b.conditions.empty();
  if (!is_plain || a.value.products.empty() || !sum(a.value, b.value).products.empty()) return nullptr;
  return a.value.products[0].coefficient.sign() > 0 ? &a.value : &b.value;
}

/// tanh, sinh and cosh as what they are of exponentials; nothing where there are none.
std::optional<Element> ElementMaker::with_exponentials(const Element& element) {
  Element result;
  bool is_other = false;
  for (const Product& product : element.products) {
    Product rest = product;
    Element factors = number(te::Rational(1));
    std::erase_if(rest.factors, [&](const FactorRef& factor) {
      const bool is_tanh = is_call(factor, "tanh"), is_sinh = is_call(factor, "sinh");
      if ((!is_tanh && !is_sinh && !is_call(factor, "cosh")) || mentions(factor, rest.bounds)) return false;
      const Element one = exponential(factor->arguments[0]), other = exponential(negated(factor->arguments[0]));
      const Element apart = difference(one, other), both = sum(one, other);
      const Element value = is_tanh ? this->product(apart, reciprocal(both))
                                    : scaled(is_sinh ? apart : both, te::Rational(1) / te::Rational(2));
      factors = this->product(factors, value);
      return is_other = true;
    });
    result = sum(result, this->product({{rest}}, factors));
  }
  return is_other ? std::optional(std::move(result)) : std::nullopt;
}

bool ElementMaker::is_always_there(const Piece& piece) const {
  return piece.conditions.empty() &&
         std::ranges::all_of(piece.bounds, [&](const Bound& bound) { return is_at_least_one(bound.extent); });
}

Element ElementMaker::greatest(std::vector<Piece> pieces) {
  if (exhausted_ || pieces.size() > kMostProducts) {
    exhausted_ = true;
    return {};
  }
  // Conditions that do not depend on bounds come before the maximum, others from values to their pieces.
  for (size_t k = 0; k < pieces.size(); ++k) {
    const te::Expr* found = free_condition(pieces[k].value);
    for (const te::Expr& condition : pieces[k].conditions)
      if (!found && !mentions(condition, pieces[k].bounds)) found = &condition;
    if (!found) continue;
    const te::Expr condition = *found, opposite = simplified(te::logical_not(condition));
    if (mentions(condition, pieces[k].bounds)) {
      Piece elsewhere{pieces[k].bounds, pieces[k].conditions, assumed(pieces[k].value, opposite)};
      const bool is_elsewhere = add_condition(elsewhere.conditions, opposite);
      pieces[k].value = assumed(pieces[k].value, condition);
      if (!add_condition(pieces[k].conditions, condition))
        pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(k));
      if (is_elsewhere) pieces.push_back(std::move(elsewhere));
      return greatest(std::move(pieces));
    }
    const auto under = [&](const te::Expr& known, const te::Expr& refuted) {
      std::vector<Piece> result;
      for (Piece piece : pieces) {
        if (std::ranges::find(piece.conditions, refuted) != piece.conditions.end()) continue;
        std::erase(piece.conditions, known);
        piece.value = assumed(piece.value, known);
        result.push_back(std::move(piece));
      }
      return result;
    };
    return sum(restricted(greatest(under(condition, opposite)), condition),
               restricted(greatest(under(opposite, condition)), opposite));
  }
  return flatten(pieces) ? greatest(std::move(pieces)) : greatest_of_some(std::move(pieces));
}

/// Maxima among the values become pieces, bounds that nothing mentions go, few values of bounds become pieces each.
/// Whether anything did.
bool ElementMaker::flatten(std::vector<Piece>& pieces) {
  for (size_t k = 0; k < pieces.size(); ++k) {
    Piece& piece = pieces[k];
    const auto replace_by = [&](std::vector<Piece> others) {
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(k));
      pieces.insert(pieces.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
      return true;
    };
    if (const FactorRef inner = only_factor(piece.value); inner && inner->kind == Factor::Kind::kGreatest) {
      std::vector<Piece> others = inner->pieces;
      for (Piece& other : others) {
        other.bounds.insert(other.bounds.begin(), piece.bounds.begin(), piece.bounds.end());
        for (const te::Expr& condition : piece.conditions) exhausted_ |= !add_condition(other.conditions, condition);
      }
      return replace_by(std::move(others));
    }
    for (size_t b = 0; b < piece.bounds.size(); ++b) {
      const Bound bound = piece.bounds[b];
      const auto extent = te::as_constant(bound.extent);
      const bool is_used = mentions(piece.value, {bound}) || mentions(piece.conditions, {bound});
      const bool goes = extent == 1 || (!is_used && is_at_least_one(bound.extent));
      if (!goes &&
          (!extent || !piece.conditions.empty() || !has_few_values(piece.bounds) || pieces.size() >= kMostProducts / 2))
        continue;
      std::vector<Piece> others;
      for (int64_t value = 0; value < (goes ? 1 : *extent); ++value) {
        Piece other{piece.bounds, {}, replaced(piece.value, {{bound.name, te::index(value)}})};
        other.bounds.erase(other.bounds.begin() + static_cast<std::ptrdiff_t>(b));
        bool is_possible = true;
        for (const te::Expr& condition : piece.conditions)
          is_possible &= add_condition(other.conditions, te::with_names(condition, {{bound.name, te::index(value)}}));
        if (is_possible) others.push_back(std::move(other));
      }
      return replace_by(std::move(others));
    }
  }
  return false;
}

/// Of pieces that are in normal form themselves.
Element ElementMaker::greatest_of_some(std::vector<Piece> pieces) {
  std::map<std::string, Piece> sorted;
  std::optional<te::Rational> number;
  for (Piece& piece : pieces) {
    if (is_call(only_factor(piece.value), kLeast)) continue;
    const auto value = piece.bounds.empty() && piece.conditions.empty() ? constant(piece.value) : std::nullopt;
    if (value && number && !(*number < *value)) continue;
    if (value)
      number = value;
    else
      sorted.emplace(text(std::make_shared<const Factor>(Factor{.kind = Factor::Kind::kGreatest, .pieces = {piece}})),
                     piece);
  }
  std::vector<Piece> distinct;
  for (auto& [name, piece] : sorted) distinct.push_back(std::move(piece));
  if (number) distinct.push_back({{}, {}, this->number(*number)});
  if (distinct.empty()) return single({.kind = Factor::Kind::kCall, .name = std::string(kLeast)});
  if (distinct.size() == 1 && distinct[0].bounds.empty() && distinct[0].conditions.empty()) return distinct[0].value;
  if (auto through = through_function(distinct)) return *std::move(through);
  // What all have in common, and no bounds change, comes before the maximum.
  Element common;
  for (const Product& product : distinct[0].value.products) {
    const auto has_it = [&](const Piece& piece) {
      const auto& products = piece.value.products;
      return !mentions(Element{{product}}, piece.bounds) &&
             std::ranges::any_of(products, [&](const Product& other) { return text(other) == text(product); });
    };
    if (std::ranges::all_of(distinct, has_it)) common.products.push_back(product);
  }
  const auto is_all = [&](const Piece& piece) { return piece.value.products.size() == common.products.size(); };
  if (!common.products.empty() && std::ranges::none_of(distinct, is_all)) {
    for (Piece& piece : distinct) piece.value = difference(piece.value, common);
    return sum(common, greatest(std::move(distinct)));
  }
  return single({.kind = Factor::Kind::kGreatest, .pieces = std::move(distinct)});
}

/// max f(x) = f(max x) and max -f(x) = -f(min x) for what grows, max 1/x = 1/(min x) for what is positive.
std::optional<Element> ElementMaker::through_function(const std::vector<Piece>& pieces) {
  const bool is_negative = !only_factor(pieces[0].value);
  const auto call_of = [&](const Piece& piece) {
    return only_factor(is_negative ? negated(piece.value) : piece.value);
  };
  const FactorRef first = call_of(pieces[0]);
  if (!first || first->kind != Factor::Kind::kCall) return std::nullopt;
  const bool falls = first->name == kReciprocal && !is_negative;
  if (!falls && !is_one_of(kGrowing, first->name)) return std::nullopt;
  std::vector<Piece> arguments;
  for (const Piece& piece : pieces) {
    if (!is_always_there(piece)) return std::nullopt;
    const FactorRef call = call_of(piece);
    if (first->name == kExp && constant(piece.value) == te::Rational(is_negative ? -1 : 1)) {
      arguments.emplace_back();  // exp(0)
      continue;
    }
    if (!is_call(call, first->name) || (falls && !is_positive(call->arguments[0]))) return std::nullopt;
    arguments.push_back({piece.bounds, {}, falls || is_negative ? negated(call->arguments[0]) : call->arguments[0]});
  }
  const Element most = greatest(std::move(arguments));
  const Element result = call(first->name, {falls || is_negative ? negated(most) : most});
  return is_negative ? negated(result) : result;
}

}  // namespace isomer::verify
