// SPDX-License-Identifier: Apache-2.0
// A softmax over dim 3 of a tensor of two.
// expect: diag::attributes_do_not_fit_operands<
// expect: softmax
// expect: rule_code::axis_is_out_of_range
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
template <class T, class Extents, class Layout>
using tensor = hp::dtensor<T, Extents, Layout>;
using good = tensor<float, hp::extents<8, 16>, hp::layout<mesh, "dp", hp::none>>;
using bad = tensor<float, hp::extents<8, 8>, hp::layout<mesh, "dp", hp::none>>;

static_assert(hp::applies<hp::operations::softmax{}, good>);
static_assert(!hp::applies<hp::operations::softmax{3}, bad>);

#ifdef NEGATIVE
auto once(const bad& x) { return hp::softmax<3>(x); }
auto again(const bad& x) { return hp::softmax<3>(x).full_tensor(); }
auto more(const bad& x) { return hp::softmax<3>(x).reduce_partial(); }
#else
auto once(const good& x) { return hp::softmax<-1>(x); }
#endif
