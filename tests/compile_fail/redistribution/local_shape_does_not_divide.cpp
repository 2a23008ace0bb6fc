// SPDX-License-Identifier: Apache-2.0
// The local shape of a tensor that does not divide.
// expect: diag::extent_is_not_divisible_by_its_shards<
// expect: dim<0>
// expect: extent<10>
// expect: shards<4>
// expect: axes_named<'t', 'p'>
#include <hyperparallel/shard.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::layout<mesh, "tp">;

static_assert(hp::places<rows, hp::tensor<hp::f32, 12>>);
static_assert(!hp::places<rows, hp::tensor<hp::f32, 10>>);

#ifdef NEGATIVE
using vector = hp::tensor<hp::f32, 10>;
#else
using vector = hp::tensor<hp::f32, 12>;
#endif

constexpr hp::shape local = hp::local_shape_of<rows, vector>;
constexpr hp::extent_t extent = hp::local_shape_of<rows, vector>.extent[0];
constexpr int rank = hp::local_shape_of<rows, vector>.rank;
constexpr int again = hp::local_shape_of<rows, vector>.rank;
static_assert(hp::local_shape_of<rows, vector>.extent[0] == 3 && hp::local_shape_of<rows, vector>.rank == 1);
static_assert(hp::local_shape_of<rows, vector> == hp::shape{3});
