// SPDX-License-Identifier: Apache-2.0
// The kernel of a user's operation takes its views in another order, whatever their elements.
// expect: diag::kernel_does_not_take_its_operator<
// expect: squared_reversed
// expect: operands<1>
// expect: tensors_made<1>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using tensor = hp::dtensor<float, hp::extents<8, 8>, hp::layout<mesh, "dp", hp::none>>;

struct squared {
  constexpr hp::rule_result rule(const hp::shape* x, int) const {
    return hp::rules::same_shape("squared", x[0].rank, 1, hp::refuse_partials(), 2);
  }
  template <class T>
  void run(const hp::local_operation&, hp::const_view<T>, hp::tensor_view<T>) const {}
};
struct squared_reversed : squared {
  template <class T>
  void run(const hp::local_operation&, hp::tensor_view<T>, hp::const_view<T>) const {}
};

static_assert(hp::applies<squared{}, tensor>);
static_assert(!hp::applies<squared_reversed{}, tensor>);

#ifdef NEGATIVE
using own = squared_reversed;
#else
using own = squared;
#endif

auto once(const tensor& x) { return hp::apply<own{}>(x); }
