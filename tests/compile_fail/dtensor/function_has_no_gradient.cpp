// SPDX-License-Identifier: Apache-2.0
// Running sums in a program that is differentiated.
// expect: diag::function_has_no_gradient<
// expect: alias<'c', 'u', 'm', 's', 'u', 'm'>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::dtensor<float, hp::extents<8, 16>, hp::layout<mesh, "dp", hp::none>>;

struct good {
  template <class X>
  auto operator()(const X& x) const {
    return sum(tanh(x) - x);
  }
};
struct bad {
  template <class X>
  auto operator()(const X& x) const {
    return sum(cumsum<1>(x) - x);
  }
};

#ifdef NEGATIVE
using program = bad;
#else
using program = good;
#endif

auto once(const rows& x) { return hp::gradient(program{}, x); }
auto again(const rows& x) { return hp::value_and_gradient(program{}, x).value; }
