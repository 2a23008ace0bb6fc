// SPDX-License-Identifier: Apache-2.0
// A rank list names one rank for two positions.
// expect: diag::rank_list_does_not_name_each_position_once<
// expect: rank_is_listed_twice
// expect: 2>
#include <hyperparallel/mesh.hpp>

namespace hp = hyperparallel;

struct matrix : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};

constexpr int twice[] = {3, 1, 1, 2};
static_assert(hp::check_rank_list(matrix::value.shape, {4, twice}).code == hp::rank_list_code::rank_is_listed_twice);

#ifdef NEGATIVE
struct mesh : hp::on_ranks<matrix, 3, 1, 1, 2> {};
#else
struct mesh : hp::on_ranks<matrix, 3, 1, 0, 2> {};
#endif

constexpr int axes = mesh::value.shape.axis_count;
constexpr hp::rank_list ranks = hp::ranks_of<mesh>();
struct again : mesh {};
