// SPDX-License-Identifier: Apache-2.0
// Two axes of one device matrix have the same name.
// expect: diag::device_matrix_is_not_valid<
// expect: axis_name_is_used_twice
// expect: dim<1>
#include <hyperparallel/mesh.hpp>

namespace hp = hyperparallel;

static_assert(hp::valid_device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}>);
static_assert(!hp::valid_device_matrix<hp::axis{"dp", 2}, hp::axis{"dp", 4}>);

#ifdef NEGATIVE
struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"dp", 4}> {};
#else
struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
#endif

constexpr int axes = mesh::value.shape.axis_count;
constexpr hp::mesh_value value = mesh::value;
struct again : mesh {};
