// SPDX-License-Identifier: Apache-2.0
// A program that is differentiated multiplies by a weight of another extent: its gradient says nothing of its own.
// expect: diag::operand_extent_differs_from_rule<
// expect: operand<1>
// expect: extent<24>
// expect: expected<16>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
template <class Extents>
using tensor = hp::dtensor<float, Extents, hp::layout<mesh, hp::none, hp::none>>;
using tokens = tensor<hp::extents<8, 16>>;
using good = tensor<hp::extents<16, 32>>;
using bad = tensor<hp::extents<24, 32>>;

struct program {
  template <class X, class W>
  auto operator()(const X& x, const W& w) const {
    return sum(hp::reshape<256>(matmul(x, w)));
  }
};

#ifdef NEGATIVE
using weight = bad;
#else
using weight = good;
#endif

auto once(const tokens& x, const weight& w) { return hp::gradient(program{}, x, w); }
auto again(const tokens& x, const weight& w) { return hp::value_and_gradient(program{}, x, w).value; }
auto more(const tokens& x, const weight& w) { return hp::value_and_gradient<1>(program{}, x, w).gradient; }
