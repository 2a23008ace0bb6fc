// SPDX-License-Identifier: Apache-2.0
// Laws of planned moves inside constant expressions, without a test framework and within the compilers' default limits.
// The run-time twin is tests/redistribution/move_plan_test.cpp, on the same frozen table.
#include "../redistribution/frozen_moves.hpp"

namespace {

namespace hp = hyperparallel;

constexpr bool frozen_moves_receive_the_least() {
  for (const frozen::move_findings& f : frozen::compiled_moves.of)
    if (f.certificate.received_total != f.certificate.least_total) return false;
  return true;
}
static_assert(frozen_moves_receive_the_least());

static_assert(frozen::compiled_moves.of[1].kind == hp::plan_kind::all_reduce);
static_assert(frozen::compiled_moves.of[1].certificate.received_maximum == 8 + 56);
static_assert(frozen::compiled_moves.of[2].kind == hp::plan_kind::reduce_scatter);
static_assert(frozen::compiled_moves.of[4].kind == hp::plan_kind::fill);
static_assert(frozen::compiled_moves.of[8].parts == 2 && frozen::compiled_moves.of[8].certificate.sent_maximum <= 15);
static_assert(frozen::compiled_moves.of[12].code == hp::move_code::reductions_do_not_commute);
static_assert(frozen::compiled_moves.of[13].kind == hp::plan_kind::no_op);

}  // namespace
