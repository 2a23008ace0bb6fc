// SPDX-License-Identifier: Apache-2.0
// docs/reference/periodic-schedules.md
#include <hyperparallel/taskflow/periodic_bounds.hpp>
#include <hyperparallel/taskflow/periodic_plan.hpp>
#include <hyperparallel/taskflow/periodic_verify.hpp>

namespace hp = hyperparallel;

struct layer {
  int banks = 2;
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    using enum hp::access_mode;
    const int loaded = hp::add_event(f, 0), used = hp::add_event(f, 0);
    const int weights = hp::add_banked_slot(f, 0, 0, 0, 64, banks, 64), state = hp::add_slot(f, 0, 0, 512, 64);
    hp::bank_events(f, 2);
    hp::add_task(f, hp::resource::copy_in, 0, 80, 0, 0);
    hp::add_wait(f, hp::carried(used, 2));  // the layer that used this bank is done
    hp::add_signal(f, loaded);
    hp::add_access(f, weights, 0, 64, write);
    hp::add_task(f, hp::resource::aic, 0, 100, 1, 0);
    hp::add_wait(f, loaded);
    hp::add_wait(f, hp::carried(used, 1));  // the layer before
    hp::add_signal(f, used);
    hp::add_access(f, weights, 0, 64, read);
    hp::add_access(f, state, 0, 64, write);
  }
};

constexpr hp::machine_shape one_rank{1, {1, 0, 0, 1, 0}};
inline constexpr auto period = hp::build_period<hp::measure(layer{})>(layer{});
constexpr auto schedule = hp::schedule_period<period, 2>(one_rank);
static_assert(hp::verify_period<period>(schedule) == hp::periodic_status{});

constexpr hp::periodic_simulation timed = hp::simulate_period(period, schedule, 61);
constexpr hp::periodic_bound bound = hp::bound_period<period, 2>(one_rank, 61);
static_assert(timed.total.makespan == 80 + 61 * 100 && timed.simulated < 8);
static_assert(hp::makespan_certificate{timed.total.makespan, bound.value()}.ratio() == 10000);

inline constexpr auto one_bank = hp::build_period<hp::measure(layer{1})>(layer{1});
constexpr hp::periodic_status refused = hp::verify_period<one_bank>(hp::schedule_period<one_bank, 2>(one_rank));
static_assert(refused.code == hp::periodic_code::copies_are_unsafe);
static_assert(refused.task == 0 && refused.other == 1 && refused.slot == 0 && refused.distance == 1);

int main() { return hp::task_at(schedule, 61, 0, 60) == hp::placed_task{60, 1} ? 0 : 1; }
