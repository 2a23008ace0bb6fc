// SPDX-License-Identifier: Apache-2.0
// The kernel of a user's operator in a model has no view of the result.
// expect: diag::kernel_does_not_take_its_operator<
// expect: twice
// expect: operands<1>
// expect: tensors_made<1>
#include <hyperparallel/runtime.hpp>

namespace hp = hyperparallel;

struct twice {
  static constexpr const char *name = "twice", *text = "*->*";
#ifdef NEGATIVE
  template <class T>
  static void run(hp::const_view<T>) {}
#else
  template <class T>
  static void run(hp::const_view<T> x, hp::tensor_view<T> y) {
    for (hp::extent_t i = 0; i < hp::volume(y); ++i) y.data[i] = 2 * x.data[i];
  }
#endif
};

hp::operator_kernel kernel(hp::operator_id op) { return hp::kernels_of<float, hp::operators<hp::builtin, twice>>(op); }
