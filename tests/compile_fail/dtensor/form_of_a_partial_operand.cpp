// SPDX-License-Identifier: Apache-2.0
// A distributed softmax of terms that nobody has added up: forms take sharded rows, not partial ones.
// expect: diag::partial_operand_is_refused<
// expect: softmax
// expect: operand<0>
// expect: alias<'d', 'p'>
#include <hyperparallel/dtensor/forms/normalization.hpp>

namespace hp = hyperparallel;
namespace hpd = hyperparallel::distributed;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using good = hp::dtensor<float, hp::extents<8, 16>, hp::layout<mesh, "dp", "tp">>;
using bad = hp::dtensor<float, hp::extents<8, 16>, hp::layout<mesh, hp::none, "tp", hp::partial("dp")>>;

static_assert(hpd::applies_form<hpd::forms::softmax{}, good>);
static_assert(!hpd::applies_form<hpd::forms::softmax{}, bad>);

#ifdef NEGATIVE
auto once(const bad& x) { return hpd::softmax(x); }
auto again(const bad& x) { return hpd::softmax(x).full_tensor(); }
#else
auto once(const good& x) { return hpd::softmax(x); }
#endif
