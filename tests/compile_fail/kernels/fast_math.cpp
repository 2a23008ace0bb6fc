// SPDX-License-Identifier: Apache-2.0
// Kernels under -ffast-math, which the macro of the compilers tells.
// expect: -ffast-math (or a part of it, or -Ofast) changes the bits of kernels
// expect: HYPERPARALLEL_ALLOW_FAST_MATH
#ifdef NEGATIVE
#define __FAST_MATH__ 1
#endif
#include <hyperparallel/kernels/gemm.hpp>
#include <hyperparallel/kernels/swiglu.hpp>
