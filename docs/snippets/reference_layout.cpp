// SPDX-License-Identifier: Apache-2.0
// docs/reference/layout.md
#include <type_traits>

#include <hyperparallel/layout/unify.hpp>
#include <hyperparallel/shard.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"cp", 2}, hp::axis{"tp", 4}> {};
using x = hp::layout<mesh, "dp", hp::none, hp::axes("cp", "tp")>;

static_assert(std::is_same_v<x, hp::layout<mesh, "dp", "", "cp,tp">>);  // one canonical type
static_assert(hp::local_shape_of<x, hp::tensor<hp::f32, 8, 16, 32>> == hp::shape{4, 16, 4});
static_assert(hp::placements_of(x::value).at[2] == hp::shard(/*dim=*/2, /*order=*/1));  // tp, inside cp
static_assert(hp::numeric_of(x::value, 2) == hp::numeric_entry{2, {1, 0}});             // MindSpore's numbers

// An extent that does not divide is refused, unless the dim is padded: cut into chunks of ceil(10 / 4).
using uneven = hp::layout<mesh, hp::padded("tp"), "dp">;
static_assert(hp::slice<uneven>(hp::shape{10, 4}, /*rank=*/3) == hp::box{{9, 10}, {0, 2}});

// The same at run time, on values: a map from text, a status instead of an error line.
constexpr const char* entries[] = {"dp", "ep"};
static_assert(hp::layout_from_map(mesh::value, entries, 2).status.code == hp::layout_code::axis_is_not_in_the_mesh);

// A cross-mesh move or a reshape: both sides on one mesh and one shape, then planned like any other.
struct line : hp::device_matrix<hp::axis{"all", 16}> {};
constexpr auto both = hp::unify(x::value, {8, 16, 32}, hp::layout<line, "all">::value, hp::shape{4096});
static_assert(both.status.code == hp::refinement_code::ok);
static_assert(hp::plan_redistribution(both.source, both.target, both.shape).received_maximum == 224);

int main() {}
