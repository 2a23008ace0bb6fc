// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front headers include this first: a compiler without C++20 says so in one line, not in hundreds about its syntax.

#if defined(__cplusplus) && __cplusplus < 202002L
#error "HyperParallel needs C++20: compile with -std=c++20 (g++ 12 or clang 16 and newer)"
#include <HyperParallel_needs_C++20>  // is not there: the compilation ends here
#endif
