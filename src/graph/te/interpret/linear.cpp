#include "graph/te/interpret/linear.h"

#include "graph/te/interpret/arithmetic.h"

namespace isomer::te::interpreter {

int64_t Linear::factor_of(Atom atom) const {
  for (const Term& term : terms)
    if (term.atom == atom) return term.factor;
  return 0;
}

Linear add_scaled(const Linear& a, const Linear& b, int64_t factor) {
  Linear sum;
  sum.constant = wrapping::add(a.constant, wrapping::mul(b.constant, factor));
  sum.terms.reserve(a.terms.size() + b.terms.size());
  auto left = a.terms.begin();
  auto right = b.terms.begin();
  while (left != a.terms.end() || right != b.terms.end()) {
    Term term;
    if (right == b.terms.end() || (left != a.terms.end() && left->atom < right->atom)) {
      term = *left++;
    } else {
      term = {right->atom, wrapping::mul(right->factor, factor)};
      ++right;
      if (left != a.terms.end() && left->atom == term.atom) term.factor = wrapping::add(term.factor, (left++)->factor);
    }
    if (term.factor != 0) sum.terms.push_back(term);
  }
  return sum;
}

Linear scaled(const Linear& a, int64_t factor) { return add_scaled({}, a, factor); }

Linear shifted(Linear a, int64_t constant) {
  a.constant = wrapping::add(a.constant, constant);
  return a;
}

}  // namespace isomer::te::interpreter
