// SPDX-License-Identifier: Apache-2.0
// A sum of 16 columns and 8.
// expect: diag::attributes_do_not_fit_operands<
// expect: ops::sum
// expect: rule_code::sizes_do_not_fit
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
template <class T, class Extents, class Layout>
using tensor = hp::dtensor<T, Extents, Layout>;
using good = tensor<float, hp::extents<8, 16>, hp::layout<mesh, "dp", hp::none>>;
using bad = tensor<float, hp::extents<8, 8>, hp::layout<mesh, "dp", hp::none>>;

static_assert(hp::applies<hp::elementwise<hp::ops::sum>{}, good, good>);
static_assert(!hp::applies<hp::elementwise<hp::ops::sum>{}, bad, good>);

#ifdef NEGATIVE
auto once(const bad& x) { return (x + static_cast<const good*>(nullptr)[0]); }
auto again(const bad& x) { return (x + static_cast<const good*>(nullptr)[0]).full_tensor(); }
auto more(const bad& x) { return (x + static_cast<const good*>(nullptr)[0]).reduce_partial(); }
#else
auto once(const good& x) { return x + x; }
#endif
