// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the portable kernels fix their bits.
//
// Whether a·b + c is rounded once or twice is the compiler's choice unless it is told, and it may choose differently in
// the vectorised body of a loop and in its remainder. Law: a function marked EXACT rounds every operation by itself, in
// the order written, and exists once in the program, so all its callers get the same bits.
//   HYPERPARALLEL_EXACT           before the function: one copy, no fused operations, no reassociation (g++)
//   HYPERPARALLEL_EXACT_BODY      first line of its body: the same for clang
// The law holds for one compiler, target and set of flags; it needs float evaluated as float (FLT_EVAL_METHOD 0).

#include <cfloat>

static_assert(FLT_EVAL_METHOD == 0, "portable kernels need float arithmetic without excess precision");

#if defined(__clang__)
#define HYPERPARALLEL_EXACT [[gnu::noinline]]
#define HYPERPARALLEL_EXACT_BODY _Pragma("clang fp contract(off) reassociate(off)")
#elif defined(__GNUC__)
#define HYPERPARALLEL_EXACT [[gnu::noinline, gnu::optimize("fp-contract=off", "no-associative-math")]]
#define HYPERPARALLEL_EXACT_BODY
#else
#error "portable kernels know g++ and clang only"
#endif
