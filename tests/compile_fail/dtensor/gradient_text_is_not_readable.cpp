// SPDX-License-Identifier: Apache-2.0
// The gradient of a user's operator of one operand reads operand 1.
// expect: diag::gradient_does_not_fit_its_operator<
// expect: square<
// expect: gradient_text<'g', '0', ',', 'x', '1', '>', '0'>
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::dtensor<float, hp::extents<8, 16>, hp::layout<mesh, "dp", "tp">>;
using first = std::index_sequence<0>;

struct square_gradient {
  static constexpr const char *name = "square_gradient", *text = "*,*->*";
  template <class T>
  static void run(hp::const_view<T> dy, hp::const_view<T> x, hp::tensor_view<T> dx) {
    for (hp::extent_t i = 0; i < hp::volume(dx); ++i) dx.data[i] = 2 * x.data[i] * dy.data[i];
  }
};
template <hp::fixed_string Text>
struct square {
  static constexpr const char *name = "square", *text = "*->*";
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<square_gradient>(Text.text);
  }
  template <class T>
  static void run(hp::const_view<T> x, hp::tensor_view<T> y) {
    for (hp::extent_t i = 0; i < hp::volume(y); ++i) y.data[i] = x.data[i] * x.data[i];
  }
};
template <class Operator>
struct program {
  template <class X>
  auto operator()(const X& x) const {
    return sum(hp::apply<Operator>(x));
  }
};
using good = program<square<"g0,x0>0">>;
using bad = program<square<"g0,x1>0">>;
template <hp::fixed_string Text>
inline constexpr bool refused = !hp::differentiable<program<square<Text>>, first, rows>;
static_assert(refused<""> && refused<"g0"> && refused<"g0,x0>1"> && refused<"g0,x0>00">);
static_assert(hp::differentiable<good, first, rows> && !hp::differentiable<bad, first, rows>);

#ifdef NEGATIVE
auto once(const rows& x) { return hp::gradient(bad{}, x); }
auto again(const rows& x) { return hp::value_and_gradient(bad{}, x).value; }
auto more(const rows& x) { return std::get<0>(hp::value_and_gradient(bad{}, x).gradient).full_tensor(); }
#else
auto once(const rows& x) { return hp::gradient(good{}, x); }
#endif
