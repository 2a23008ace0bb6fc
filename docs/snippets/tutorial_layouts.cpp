// SPDX-License-Identifier: Apache-2.0
// docs/tutorial/from-layout-to-running-layer.md, parts 1 to 4: everything here is decided by the compiler.
#include <cstdio>
#include <type_traits>

#include <hyperparallel/shard.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};  // 8 ranks, tp fastest

static_assert(hp::device_count(mesh::value) == 8);
static_assert(hp::coordinates_of(mesh::value.shape, 6) == hp::coordinate{{1, 2}});  // rank 6: dp 1, tp 2

using tokens = hp::tensor<hp::bf16, 64, 512>;                       // rows, width
using by_row = hp::layout<mesh, "dp", hp::none>;                    // dp cuts the rows, tp replicates
using by_column = hp::layout<mesh, "dp", "tp">;                     // tp cuts the width
using all_rows = hp::layout<mesh, hp::axes("dp", "tp"), hp::none>;  // both axes on one dim, dp outermost

static_assert(std::is_same_v<by_row, hp::layout<mesh, "dp", "">>);  // the empty entry is none, too
static_assert(hp::local_shape_of<by_column, tokens> == hp::shape{32, 128});

static_assert(hp::slice<by_column>(tokens::shape, /*rank=*/6) == hp::box{{32, 64}, {256, 384}});
static_assert(hp::slice<all_rows>(tokens::shape, 6) == hp::box{{48, 56}, {0, 512}});
constexpr hp::slice_result held = hp::slice<by_column>(tokens::shape, 6);  // .box, or in .status why there is none
static_assert(held.status.code == hp::layout_code::ok && hp::volume(held.box) == 32 * 128);

using gather = hp::redistribution<by_column, by_row, tokens>;
static_assert(gather::kind == hp::plan_kind::all_gather && gather::steps == 1);
static_assert(gather::bytes_received == 32 * 384 * 2);         // three of four columns, bf16
static_assert(gather::bytes_received == gather::lower_bound);  // and nothing can do with less

using both = hp::redistribution<all_rows, hp::layout<mesh, hp::none, "dp">, tokens>;  // tp gathered, dp changes its dim
static_assert(both::kind == hp::plan_kind::exchange && both::steps == 1);
static_assert(both::bytes_received == both::lower_bound);

using weight = hp::layout<mesh, hp::none, "tp">;
using hidden = hp::result_layout<hp::ops::matmul, by_row, weight>;
static_assert(std::is_same_v<hidden, hp::layout<mesh, "dp", "tp">>);

using down_weight = hp::layout<mesh, "tp", hp::none>;
using sums = hp::result_layout<hp::ops::matmul, hidden, down_weight>;
static_assert(std::is_same_v<sums, hp::layout<mesh, "dp", hp::none, hp::partial("tp")>>);

static_assert(!hp::accepts<hp::ops::matmul, hidden, weight>);  // tp would shard two factors

int main() {
  for (int rank = 0; rank < hp::device_count(mesh::value); ++rank) {
    const hp::box part = hp::slice<by_column>(tokens::shape, rank).box;
    std::printf("rank %d holds rows %2d to %2d, columns %3d to %3d\n", rank, static_cast<int>(part.dim[0].begin),
                static_cast<int>(part.dim[0].end), static_cast<int>(part.dim[1].begin),
                static_cast<int>(part.dim[1].end));
  }
  std::printf("by column to by row is one %s: a rank receives %lld bytes, the least is %lld\n",
              hp::name_of(gather::kind), static_cast<long long>(gather::bytes_received),
              static_cast<long long>(gather::lower_bound));
}
