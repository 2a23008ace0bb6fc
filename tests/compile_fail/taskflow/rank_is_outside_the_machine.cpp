// SPDX-License-Identifier: Apache-2.0
// A task on a rank that the machine does not have.
// expect: diag::rank_is_outside_the_machine<
// expect: rank<1>
// expect: task<1>
#include <hyperparallel/taskflow.hpp>

namespace hp = hyperparallel;

inline constexpr hp::machine_shape machine{1, {1, 1, 0, 0, 0}};

template <int Ranks>
struct layer {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    for (int tile = 0; tile < 2; ++tile) hp::add_task(f, hp::resource::aic, tile % Ranks, 10, 0, tile);
  }
};

static_assert(hp::safe_taskflow<layer<1>, machine>);
static_assert(!hp::safe_taskflow<layer<2>, machine>);
static_assert(hp::static_taskflow<layer<2>, machine>::size.tasks == 2);

#ifdef NEGATIVE
using plan = hp::static_taskflow<layer<2>, machine>;
#else
using plan = hp::static_taskflow<layer<1>, machine>;
#endif

constexpr const auto& schedule = plan::schedule;
constexpr std::int64_t makespan = plan::makespan;
constexpr std::int64_t ratio = plan::certificate.ratio();
constexpr bool proved = plan::safety.code == hp::verify_code::ok;
