// SPDX-License-Identifier: Apache-2.0
// Distributed attention whose keys are cut along their head's dim, which every device reads whole.
// expect: diag::dim_must_be_whole<
// expect: attention
// expect: operand<1>
// expect: dim<3>
#include <hyperparallel/dtensor/forms/attention.hpp>

namespace hp = hyperparallel;
namespace hpd = hyperparallel::distributed;

struct mesh : hp::device_matrix<hp::axis{"cp", 2}> {};
template <class Layout>
using tensor = hp::dtensor<float, hp::extents<2, 4, 8, 4>, Layout>;
using good = tensor<hp::layout<mesh, hp::none, hp::none, "cp", hp::none>>;
using bad = tensor<hp::layout<mesh, hp::none, hp::none, hp::none, "cp">>;

static_assert(hpd::attends<good, good, good>);
static_assert(!hpd::attends<good, bad, good>);

#ifdef NEGATIVE
auto once(const good& q, const bad& k) { return hpd::attention(q, k, q); }
auto again(const good& q, const bad& k) { return hpd::attention(q, k, q).full_tensor(); }
#else
auto once(const good& q, const good& k) { return hpd::attention(q, k, q); }
#endif
