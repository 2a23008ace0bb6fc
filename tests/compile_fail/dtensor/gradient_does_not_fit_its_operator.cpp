// SPDX-License-Identifier: Apache-2.0
// The gradient of a user's operator hands its backward operator, which needs whole rows, shards of rows.
// expect: diag::gradient_does_not_fit_its_operator<
// expect: centring<
// expect: gradient_text<'g', '0', '>', '0'>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::dtensor<float, hp::extents<8, 16>, hp::layout<mesh, "dp", "tp">>;
using first = std::index_sequence<0>;

struct centred_pieces {
  static constexpr const char *name = "centred_pieces", *text = "bh->bh";
  template <class T>
  static void run(hp::const_view<T> x, hp::tensor_view<T> y) {
    const hp::extent_t h = y.extents.extent[1];
    for (hp::extent_t i = 0; i < hp::volume(y); ++i) y.data[i] = x.data[i] - x.data[i / h * h];
  }
};
struct centred_rows : centred_pieces {
  static constexpr const char *name = "centred_rows", *text = "bH->bH";
};
template <class Backward>
struct centring : centred_pieces {
  static constexpr const char* name = "centring";
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<Backward>("g0>0");
  }
};
template <class Operator>
struct program {
  template <class X>
  auto operator()(const X& x) const {
    return sum(hp::apply<Operator>(x));
  }
};
using good = program<centring<centred_pieces>>;
using bad = program<centring<centred_rows>>;
static_assert(hp::differentiable<good, first, rows> && !hp::differentiable<bad, first, rows>);

#ifdef NEGATIVE
auto once(const rows& x) { return hp::gradient(bad{}, x); }
auto again(const rows& x) { return hp::value_and_gradient(bad{}, x).value; }
auto more(const rows& x) { return std::get<0>(hp::value_and_gradient(bad{}, x).gradient).full_tensor(); }
#else
auto once(const rows& x) { return hp::gradient(good{}, x); }
#endif
