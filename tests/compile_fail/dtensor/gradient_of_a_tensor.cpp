// SPDX-License-Identifier: Apache-2.0
// The gradient of a value that has dims.
// expect: diag::gradient_is_of_no_single_number<
// expect: extents<8, 16>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::dtensor<float, hp::extents<8, 16>, hp::layout<mesh, "dp", hp::none>>;
using first = std::index_sequence<0>;

struct good {
  template <class X>
  auto operator()(const X& x) const {
    return sum(x * x);
  }
};
struct bad {
  template <class X>
  auto operator()(const X& x) const {
    return x * x;
  }
};
static_assert(hp::differentiable<good, first, rows> && !hp::differentiable<bad, first, rows>);

#ifdef NEGATIVE
using program = bad;
auto once(const rows& x) { return hp::gradient(program{}, x); }
auto again(const rows& x) { return hp::value_and_gradient(program{}, x).value; }
auto more(const rows& x) { return std::get<0>(hp::value_and_gradient(program{}, x).gradient).full_tensor(); }
#else
auto once(const rows& x) { return hp::gradient(good{}, x); }
#endif
