// SPDX-License-Identifier: Apache-2.0
// The gradient for an argument that the program does not read.
// expect: diag::value_does_not_depend_on_argument<
// expect: argument<1>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::dtensor<float, hp::extents<8, 16>, hp::layout<mesh, "dp", hp::none>>;
using first = std::index_sequence<0>;

using both = std::index_sequence<0, 1>;

template <bool Reads>
struct program {
  template <class X, class Y>
  auto operator()(const X& x, const Y& y) const {
    if constexpr (Reads)
      return sum(x * y);
    else
      return sum(x * x);
  }
};
using good = program<true>;
using bad = program<false>;
static_assert(hp::differentiable<good, both, rows, rows> && !hp::differentiable<bad, both, rows, rows>);

#ifdef NEGATIVE
auto once(const rows& x) { return hp::gradient<0, 1>(bad{}, x, x); }
auto again(const rows& x) { return hp::value_and_gradient<0, 1>(bad{}, x, x).value; }
auto more(const rows& x) { return std::get<1>(hp::value_and_gradient<0, 1>(bad{}, x, x).gradient).full_tensor(); }
#else
auto once(const rows& x) { return hp::gradient<0, 1>(good{}, x, x); }
#endif
