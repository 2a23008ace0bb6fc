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
//                                 whatever -march and -ffp-contract the user's command line has; with clang, none of
//                                 the parts of -ffast-math either
//   HYPERPARALLEL_UNFUSED_BEGIN, HYPERPARALLEL_UNFUSED_END
//                                 the same on every target
// So -march=native changes no bit. What -ffast-math allows cannot be forbidden function by function (its start-up code
// flushes small numbers to zero), so it is refused at compile time by the macros it defines; what defines none (clang's
// -ffp-contract=fast where there are fused operations, its -funsafe-math-optimizations) ends the program before `main`
// with one line. HYPERPARALLEL_ALLOW_FAST_MATH takes both, and promises no bits. The law holds for one compiler and
// target; it needs float evaluated as float (FLT_EVAL_METHOD 0).

#include <cfloat>
#include <cstdio>
#include <cstdlib>

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
#define HYPERPARALLEL_UNFUSED_BEGIN                                    \
  _Pragma("float_control(push)") _Pragma("float_control(precise, on)") \
      _Pragma("clang fp contract(off) reassociate(off)")
#define HYPERPARALLEL_UNFUSED_END _Pragma("float_control(pop)")
#elif defined(__GNUC__)
#define HYPERPARALLEL_EXACT [[gnu::noinline, gnu::optimize("fp-contract=off", "no-associative-math")]]
#define HYPERPARALLEL_EXACT_BODY
#define HYPERPARALLEL_UNFUSED_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"fp-contract=off\")")
#define HYPERPARALLEL_UNFUSED_END _Pragma("GCC pop_options")
#else
#error "portable kernels know g++ and clang only"
#endif

// Functions of g++ with options of their own are inlined less, so they have them only where the target has fused
// operations.
#if defined(__clang__) || defined(__FMA__) || defined(__FMA4__) || defined(__FP_FAST_FMA) || \
    defined(__FP_FAST_FMAF) || defined(__ARM_FEATURE_FMA) || !defined(__x86_64__)
#define HYPERPARALLEL_EXACT_BEGIN HYPERPARALLEL_UNFUSED_BEGIN
#define HYPERPARALLEL_EXACT_END HYPERPARALLEL_UNFUSED_END
#else
#define HYPERPARALLEL_EXACT_BEGIN
#define HYPERPARALLEL_EXACT_END
#endif

#if !defined(HYPERPARALLEL_ALLOW_FAST_MATH)
HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace detail {

/// Ends the program where its command line changes the bits of kernels and defines no macro that says so.
struct arithmetic_check {
  arithmetic_check() {
    // Volatile, so that the machine computes. (1 + 2^-12)² rounded by itself is 1 + 2^-11; fused it has more.
    const volatile float root = 1.0F + 1.0F / 4096.0F, square = 1.0F + 1.0F / 2048.0F, tiny = FLT_MIN, half = 0.5F;
    const float a = root, b = square, c = tiny, d = half;
    if (a * a - b == 0.0F && c * d != 0.0F) return;
    std::fputs(
        "hyperparallel: -ffp-contract=fast or a part of -ffast-math changes the bits of kernels: leave it out where "
        "programs are compiled and linked, or define HYPERPARALLEL_ALLOW_FAST_MATH\n",
        stderr);
    std::_Exit(EXIT_FAILURE);
  }
};
inline const arithmetic_check checked_arithmetic;

}}}}  // namespace hyperparallel::v0_2::kernels::detail

HYPERPARALLEL_EXACT_END
#endif
