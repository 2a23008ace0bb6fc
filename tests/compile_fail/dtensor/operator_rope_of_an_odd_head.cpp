// SPDX-License-Identifier: Apache-2.0
// The rotary operator of models on a variable whose rows have seven elements, in a program that is differentiated.
// expect: diag::attributes_do_not_fit_operands<
// expect: rope
// expect: rule_code::last_dim_is_no_multiple
// expect: 7
#include <hyperparallel/dtensor.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
template <class Extents>
using tensor = hp::dtensor<float, Extents, hp::layout<mesh, "dp", "tp", hp::none>>;
using good = tensor<hp::extents<4, 8, 8>>;
using bad = tensor<hp::extents<4, 8, 7>>;

constexpr auto turned = [](const auto& x) {
  return hp::sum(hp::apply<hp::ops::rope>(hp::operator_attributes{.integer = {1}, .real = {1e4}}, x));
};

#ifdef NEGATIVE
auto once(const bad& x) { return hp::gradient<0>(turned, x); }
#else
auto once(const good& x) { return hp::gradient<0>(turned, x); }
#endif
