// SPDX-License-Identifier: Apache-2.0
// The gradient through the maximum of each row, of which the library has none.
// expect: diag::operator_on_dtensors_has_no_gradient<
// expect: ops::reduce
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::dtensor<float, hp::extents<8, 16>, hp::layout<mesh, "dp", hp::none>>;
using first = std::index_sequence<0>;

template <hp::reduce_op Reduction>
struct program {
  template <class X>
  auto operator()(const X& x) const {
    return sum(hp::apply<hp::listed<hp::ops::reduce, "ab->a">{{.reduction = Reduction}}>(x));
  }
};
using good = program<hp::reduce_op::sum>;
using bad = program<hp::reduce_op::max>;
static_assert(hp::differentiable<good, first, rows> && !hp::differentiable<bad, first, rows>);

#ifdef NEGATIVE
auto once(const rows& x) { return hp::gradient(bad{}, x); }
auto again(const rows& x) { return hp::value_and_gradient(bad{}, x).value; }
auto more(const rows& x) { return std::get<0>(hp::value_and_gradient(bad{}, x).gradient).full_tensor(); }
#else
auto once(const rows& x) { return hp::gradient(good{}, x); }
#endif
