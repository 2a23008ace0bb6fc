// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of run_place.hpp; see support/compiled.hpp.

#include <random>

#include <hyperparallel/checkpoint/run_place.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard { namespace detail {

HYPERPARALLEL_JSON_BODY int random_31_bits() { return static_cast<int>(std::random_device()() >> 1); }

}}}}  // namespace hyperparallel::v0_2::reshard::detail
