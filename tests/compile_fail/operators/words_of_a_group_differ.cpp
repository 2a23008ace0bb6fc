// SPDX-License-Identifier: Apache-2.0
// An operator whose operands may wait for a sum together, and say different reductions of the result.
// expect: diag::attributes_do_not_fit_operands<
// expect: words_of_a_group_differ
// expect: total
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;
using hp::extent_t;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}> {};

/// x + y. `Second` is what a pending sum of y becomes.
template <hp::reduce_op Second>
struct total {
  static constexpr hp::partial_words words() {
    hp::partial_words w = hp::linear_together(0b11u);
    say(w, 1, hp::reduce_op::sum, hp::partial_mode::together, Second);
    return w;
  }
  static constexpr const char *name = "total", *text = "*,*->*";
  static constexpr hp::partial_words partials = words();
  template <class T>
  static void run(hp::const_view<T> x, hp::const_view<T> y, hp::tensor_view<T> z) {
    for (extent_t i = 0; i < hp::volume(z); ++i) z.data[i] = x.data[i] + y.data[i];
  }
};
using pending = hp::dtensor<float, hp::extents<4>, hp::layout<mesh, hp::none, hp::partial("dp")>>;

#ifdef NEGATIVE
constexpr hp::reduce_op second = hp::reduce_op::max;
#else
constexpr hp::reduce_op second = hp::reduce_op::sum;
#endif

auto added(const pending& x, const pending& y) { return hp::apply<total<second>>(x, y); }
