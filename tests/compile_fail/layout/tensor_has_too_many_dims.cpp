// SPDX-License-Identifier: Apache-2.0
// A tensor of more dims than the library holds.
// expect: diag::too_many_dims<
// expect: map_entries<9>
// expect: tensor_dims<8>
#include <hyperparallel/layout.hpp>

namespace hp = hyperparallel;

#ifdef NEGATIVE
using activations = hp::tensor<hp::bf16, 2, 2, 2, 2, 2, 2, 2, 2, 2>;
#else
using activations = hp::tensor<hp::bf16, 2, 2, 2, 2, 2, 2, 2, 2>;
#endif

constexpr hp::shape shape = activations::shape;
constexpr hp::extent_t bytes = activations::bytes;
