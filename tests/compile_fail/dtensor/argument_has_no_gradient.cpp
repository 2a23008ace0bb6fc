// SPDX-License-Identifier: Apache-2.0
// The gradient for an argument that holds indices.
// expect: diag::argument_has_no_gradient<
// expect: argument<0>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::dtensor<float, hp::extents<8, 16>, hp::layout<mesh, "dp", hp::none>>;
using first = std::index_sequence<0>;

using ids = hp::dtensor<std::int32_t, hp::extents<8>, hp::layout<mesh, "dp">>;
using table = hp::dtensor<float, hp::extents<32, 16>, hp::layout<mesh, hp::none, "tp">>;
using second = std::index_sequence<1>;

struct program {
  template <class I, class T>
  auto operator()(const I& id, const T& rows_of) const {
    return sum(embedding(id, rows_of));
  }
};
static_assert(hp::differentiable<program, second, ids, table> && !hp::differentiable<program, first, ids, table>);

#ifdef NEGATIVE
auto once(const ids& i, const table& t) { return hp::gradient<0>(program{}, i, t); }
auto again(const ids& i, const table& t) { return hp::value_and_gradient<0>(program{}, i, t).value; }
auto more(const ids& i, const table& t) { return std::get<0>(hp::value_and_gradient<0>(program{}, i, t).gradient); }
#else
auto once(const ids& i, const table& t) { return hp::gradient<1>(program{}, i, t); }
#endif
