// SPDX-License-Identifier: Apache-2.0
// A dynamic extent that promises a multiple of 6 where 4 shards need one of 4.
// expect: diag::extent_is_not_divisible_by_its_shards<
// expect: dim<0>
// expect: extent<6>
// expect: shards<4>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::layout<mesh, "tp", hp::none>;

static_assert(hp::divides<hp::extents<hp::dyn(8), 6>, rows> && hp::divides<hp::extents<hp::dyn, 6>, rows>);
static_assert(!hp::divides<hp::extents<hp::dyn(6), 6>, rows>);

#ifdef NEGATIVE
using tensor = hp::dtensor<float, hp::extents<hp::dyn(6), 6>, rows>;
#else
using tensor = hp::dtensor<float, hp::extents<hp::dyn(8), 6>, rows>;
#endif

tensor make(const hp::rank_group& ranks) { return hp::zeros<tensor>(ranks, hp::shape(24, 6)); }
std::vector<float> read(const tensor& x) { return x.full_tensor(); }
constexpr int size = sizeof(tensor);
