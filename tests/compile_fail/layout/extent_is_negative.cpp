// SPDX-License-Identifier: Apache-2.0
// A tensor with an extent below 0.
// expect: diag::extent_is_negative<
// expect: dim<1>
// expect: extent<-4096>
#include <hyperparallel/layout.hpp>

namespace hp = hyperparallel;

#ifdef NEGATIVE
using activations = hp::tensor<hp::bf16, 8, -4096>;
#else
using activations = hp::tensor<hp::bf16, 8, 4096>;
#endif

constexpr hp::shape shape = activations::shape;
constexpr int element_bytes = activations::element_bytes;
