// SPDX-License-Identifier: Apache-2.0
// The gradient through a user's operator whose backward operator has no kernel.
// expect: diag::backward_operator_has_no_kernel<
// expect: halved<
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using rows = hp::dtensor<float, hp::extents<8, 16>, hp::layout<mesh, "dp", hp::none>>;
using first = std::index_sequence<0>;

struct kernelless {
  static constexpr const char *name = "kernelless", *text = "*->*";
};
struct with_kernel {
  static constexpr const char *name = "with_kernel", *text = "*->*";
  template <class T>
  static void run(hp::const_view<T> x, hp::tensor_view<T> y) {
    for (hp::extent_t i = 0; i < hp::volume(y); ++i) y.data[i] = x.data[i] / 2;
  }
};
template <class Backward>
struct halved : with_kernel {
  static constexpr const char* name = "halved";
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
using good = program<halved<with_kernel>>;
using bad = program<halved<kernelless>>;
static_assert(hp::differentiable<good, first, rows> && !hp::differentiable<bad, first, rows>);

#ifdef NEGATIVE
auto once(const rows& x) { return hp::gradient(bad{}, x); }
auto again(const rows& x) { return hp::value_and_gradient(bad{}, x).value; }
auto more(const rows& x) { return std::get<0>(hp::value_and_gradient(bad{}, x).gradient).full_tensor(); }
#else
auto once(const rows& x) { return hp::gradient(good{}, x); }
#endif
