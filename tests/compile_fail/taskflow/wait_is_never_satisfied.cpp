// SPDX-License-Identifier: Apache-2.0
// Two tasks that wait for each other.
// expect: diag::wait_is_never_satisfied<
// expect: task<0>
// expect: event<1>
#include <hyperparallel/taskflow.hpp>

namespace hp = hyperparallel;

inline constexpr hp::machine_shape machine{1, {1, 1, 0, 0, 0}};

template <bool Circular>
struct layer {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const int first = hp::add_event(f, 0, 2);
    hp::add_task(f, hp::resource::aic, 0, 10, 0, 0);
    if (Circular) hp::add_wait(f, first + 1);
    hp::add_signal(f, first);
    hp::add_task(f, hp::resource::aiv, 0, 10, 1, 0);
    hp::add_wait(f, first);
    hp::add_signal(f, first + 1);
  }
};

static_assert(hp::safe_taskflow<layer<false>, machine>);
static_assert(!hp::safe_taskflow<layer<true>, machine>);
static_assert(hp::static_taskflow<layer<true>, machine>::size.tasks == 2);

#ifdef NEGATIVE
using plan = hp::static_taskflow<layer<true>, machine>;
#else
using plan = hp::static_taskflow<layer<false>, machine>;
#endif

constexpr const auto& schedule = plan::schedule;
constexpr std::int64_t makespan = plan::makespan;
constexpr std::int64_t ratio = plan::certificate.ratio();
constexpr bool proved = plan::safety.code == hp::verify_code::ok;
