// SPDX-License-Identifier: Apache-2.0
// A tensor moved to a layout that does not divide it.
// expect: diag::extent_is_not_divisible_by_its_shards<
// expect: dim<1>
// expect: extent<6>
// expect: shards<4>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using tensor = hp::dtensor<float, hp::extents<8, 6>, hp::layout<mesh, "dp", hp::none>>;

static_assert(hp::movable<tensor::extents, tensor::layout, hp::layout<mesh, "tp", hp::none>>);
static_assert(!hp::movable<tensor::extents, tensor::layout, hp::layout<mesh, hp::none, "tp">>);

#ifdef NEGATIVE
using target = hp::layout<mesh, hp::none, "tp">;
#else
using target = hp::layout<mesh, "tp", hp::none>;
#endif

auto once(const tensor& x) { return x.redistribute<target>(); }
auto again(const tensor& x) { return x.redistribute<target>().full_tensor(); }
auto more(const tensor& x) { return x.redistribute<target>().reduce_partial(); }
