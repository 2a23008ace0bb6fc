// SPDX-License-Identifier: Apache-2.0
#pragma once
// The schedules that declare a period, as a list for tests.

#include <hyperparallel/pipeline/many_micro_batches.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>
#include <hyperparallel/pipeline/schedules/sequence_1f1b.hpp>

namespace periodic_schedules {

namespace hp = hyperparallel;

using candidates =
    boost::mp11::mp_append<hp::published_schedules,
                           boost::mp11::mp_list<hp::sequence_1f1b<1>, hp::sequence_1f1b<2>, hp::sequence_1f1b<3>>>;

template <class Schedule>
using has_period = std::bool_constant<hp::periodic_schedule<Schedule>>;

/// Calls `f` with `mp_identity<schedule>` of each.
void for_each(const auto& f) {
  using all = boost::mp11::mp_copy_if<candidates, has_period>;
  // All but GPipe and LoopedBFS, whose rows grow in two places, and those whose stages lie on two ranks.
  static_assert(boost::mp11::mp_size<all>::value == boost::mp11::mp_size<candidates>::value - 4);
  boost::mp11::mp_for_each<boost::mp11::mp_transform<boost::mp11::mp_identity, all>>(f);
}

}  // namespace periodic_schedules
