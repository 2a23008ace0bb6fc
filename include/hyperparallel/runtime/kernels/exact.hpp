// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the portable kernels fix their bits.
//
// Whether a·b + c is rounded once or twice is the compiler's choice unless it is told, and it may choose differently in
// the vectorised body of a loop and in its remainder. Law: a function marked EXACT rounds every operation by itself, in
// the order written, and exists once in the program, so all its callers get the same bits.
//   HYPERPARALLEL_EXACT           before the function: one copy, no fused operations, no reassociation (g++)
//   HYPERPARALLEL_EXACT_BODY      first line of its body: the same for clang
//   HYPERPARALLEL_EXACT_BEGIN, HYPERPARALLEL_EXACT_END
//                                 around all code of a header of kernels, behind its includes: no fused operations,
//                                 whatever -march and -ffp-contract the user's command line has
// So -march=native changes no bit. What -ffast-math allows cannot be forbidden function by function (its start-up code
// flushes small numbers to zero), so it is refused; HYPERPARALLEL_ALLOW_FAST_MATH takes it, and promises no bits.
// The law holds for one compiler and target; it needs float evaluated as float (FLT_EVAL_METHOD 0).

#include <cfloat>

#if !defined(HYPERPARALLEL_ALLOW_FAST_MATH)
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \
    defined(__NO_SIGNED_ZEROS__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)
#error \
    "-ffast-math (or a part of it, or -Ofast) changes the bits of kernels: leave it out, or define HYPERPARALLEL_ALLOW_FAST_MATH"
#endif
#endif

static_assert(FLT_EVAL_METHOD == 0, "portable kernels need float arithmetic without excess precision");

#if defined(__clang__)
#define HYPERPARALLEL_EXACT [[gnu::noinline]]
#define HYPERPARALLEL_EXACT_BODY _Pragma("clang fp contract(off) reassociate(off)")
#define HYPERPARALLEL_EXACT_BEGIN _Pragma("float_control(push)") _Pragma("clang fp contract(off) reassociate(off)")
#define HYPERPARALLEL_EXACT_END _Pragma("float_control(pop)")
#elif defined(__GNUC__)
#define HYPERPARALLEL_EXACT [[gnu::noinline, gnu::optimize("fp-contract=off", "no-associative-math")]]
#define HYPERPARALLEL_EXACT_BODY
#define HYPERPARALLEL_EXACT_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"fp-contract=off\")")
#define HYPERPARALLEL_EXACT_END _Pragma("GCC pop_options")
#else
#error "portable kernels know g++ and clang only"
#endif
