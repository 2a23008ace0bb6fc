// SPDX-License-Identifier: Apache-2.0
// A slice of a sharded dim that leaves 6 elements for 4 devices.
// expect: diag::extent_is_not_divisible_by_its_shards<
// expect: extent<6>
// expect: shards<4>
#include <hyperparallel/dtensor/forms/halo.hpp>

namespace hp = hyperparallel;
namespace hpd = hyperparallel::distributed;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using tensor = hp::dtensor<float, hp::extents<8, 16>, hp::layout<mesh, "dp", "tp">>;
template <hp::extent_t Begin, hp::extent_t End>
inline constexpr hpd::forms::slice_dim part{{1, Begin, End}};

static_assert(hpd::applies_form<part<2, 10>, tensor>);
static_assert(!hpd::applies_form<part<2, 8>, tensor>);

#ifdef NEGATIVE
auto once(const tensor& x) { return hpd::slice_dim<1, 2, 8>(x); }
auto again(const tensor& x) { return hpd::slice_dim<1, 2, 8>(x).shape(); }
#else
auto once(const tensor& x) { return hpd::slice_dim<1, 2, 10>(x); }
#endif
