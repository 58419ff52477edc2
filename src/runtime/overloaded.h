// std::visit by the type of the alternative.
#pragma once

namespace isomer::runtime {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace isomer::runtime
