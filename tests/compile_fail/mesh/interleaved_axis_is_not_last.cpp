// SPDX-License-Identifier: Apache-2.0
// The virtual axis stands before a real one.
// expect: diag::device_matrix_is_not_valid<
// expect: interleaved_axis_is_not_last
// expect: dim<0>
#include <hyperparallel/mesh.hpp>

namespace hp = hyperparallel;

static_assert(hp::valid_device_matrix<hp::axis{"tp", 4}, hp::axis{"interleaved_parallel", 2}>);
static_assert(!hp::valid_device_matrix<hp::axis{"interleaved_parallel", 2}, hp::axis{"tp", 4}>);

#ifdef NEGATIVE
struct mesh : hp::device_matrix<hp::axis{"interleaved_parallel", 2}, hp::axis{"tp", 4}> {};
#else
struct mesh : hp::device_matrix<hp::axis{"tp", 4}, hp::axis{"interleaved_parallel", 2}> {};
#endif

constexpr int axes = mesh::value.shape.axis_count;
constexpr hp::mesh_value value = mesh::value;
struct again : mesh {};
