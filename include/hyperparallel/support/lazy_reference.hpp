// SPDX-License-Identifier: Apache-2.0
#pragma once
// The type of a static member of a class template that names a constant elsewhere, which is made only where it is used.
//
//   static constexpr HYPERPARALLEL_LAZY_REFERENCE(move_plan) plan = planned::plan;
//
// Law: naming the class does not evaluate the constant, so that a plan which is not used costs nothing and refuses
// nothing. EDG (nvcc, nvc++) initialises such a reference twice unless its type is `auto`, which is deduced with the class.

#include <hyperparallel/support/integer.hpp>

#if defined(HYPERPARALLEL_EDG)
#define HYPERPARALLEL_LAZY_REFERENCE(...) const auto&
#else
#define HYPERPARALLEL_LAZY_REFERENCE(...) const __VA_ARGS__&
#endif
