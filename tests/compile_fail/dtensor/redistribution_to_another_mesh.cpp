// SPDX-License-Identifier: Apache-2.0
// A tensor moved to the layout of another mesh, of equal sizes.
// expect: diag::layouts_are_on_different_meshes<
// expect: mesh
// expect: other
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
struct other : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using tensor = hp::dtensor<float, hp::extents<8, 16>, hp::layout<mesh, "dp", hp::none>>;

static_assert(hp::movable<tensor::extents, tensor::layout, hp::layout<mesh, hp::none, "tp">>);
static_assert(!hp::movable<tensor::extents, tensor::layout, hp::layout<other, hp::none, "tp">>);

#ifdef NEGATIVE
using target = hp::layout<other, hp::none, "tp">;
#else
using target = hp::layout<mesh, hp::none, "tp">;
#endif

auto once(const tensor& x) { return x.redistribute<target>(); }
auto again(const tensor& x) { return x.redistribute<target>().full_tensor(); }
auto more(const tensor& x) { return x.redistribute<target>().reduce_partial(); }
