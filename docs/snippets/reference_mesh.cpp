// SPDX-License-Identifier: Apache-2.0
// docs/reference/mesh.md
#include <hyperparallel/mesh.hpp>

namespace hp = hyperparallel;

struct matrix : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
struct mesh : hp::on_ranks<matrix, 3, 1, 0, 2> {};  // position 0 is rank 3

static_assert(hp::position_in(hp::ranks_of<mesh>(), /*rank=*/1) == 1);
static_assert(hp::coordinates_of(mesh::value.shape, 1) == hp::coordinate{{0, 1}});

constexpr hp::axis_list over_tp{1, {1}};
static_assert(hp::group_member(mesh::value.shape, over_tp, /*position=*/3, /*index=*/0) == 2);
static_assert(hp::index_in_group(mesh::value.shape, over_tp, 3) == 1);

constexpr const char* names[] = {"tp"};
static_assert(hp::device_count(hp::sub_mesh(mesh::value, names, 1).mesh) == 2);

int main() {}
