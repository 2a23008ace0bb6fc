// SPDX-License-Identifier: Apache-2.0
// A tensor whose layout does not divide it.
// expect: diag::extent_is_not_divisible_by_its_shards<
// expect: dim<1>
// expect: extent<6>
// expect: shards<4>
// expect: axes_named<'t', 'p'>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using layout = hp::layout<mesh, "dp", "tp">;

static_assert(hp::divides<hp::extents<2, 8>, layout>);
static_assert(!hp::divides<hp::extents<2, 6>, layout>);

#ifdef NEGATIVE
using extents = hp::extents<2, 6>;
#else
using extents = hp::extents<2, 8>;
#endif
using tensor = hp::dtensor<float, extents, layout>;

tensor make(const hp::rank_group& ranks) { return hp::zeros<tensor>(ranks); }
std::vector<float> read(const tensor& x) { return x.full_tensor(); }
constexpr int size = sizeof(tensor);
