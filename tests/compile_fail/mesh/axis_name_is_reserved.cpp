// SPDX-License-Identifier: Apache-2.0
// An axis has a name that maps write for something else: two axes, a padded dim, no axis.
// expect: diag::device_matrix_is_not_valid<
// expect: axis_name_is_reserved
// expect: dim<1>
#include <hyperparallel/mesh.hpp>

namespace hp = hyperparallel;

static_assert(hp::valid_device_matrix<hp::axis{"dp", 2}, hp::axis{"tp/2", 4}>);
static_assert(!hp::valid_device_matrix<hp::axis{"dp", 2}, hp::axis{"tp,cp", 4}>);
static_assert(!hp::valid_device_matrix<hp::axis{"~dp", 2}>);
static_assert(!hp::valid_device_matrix<hp::axis{"None", 2}>);
static_assert(!hp::valid_device_matrix<hp::axis{" ", 2}>);

#ifdef NEGATIVE
struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp,cp", 4}> {};
#else
struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp/2", 4}> {};
#endif

constexpr int axes = mesh::value.shape.axis_count;
constexpr hp::mesh_value value = mesh::value;
struct again : mesh {};
