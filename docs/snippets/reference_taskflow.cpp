// SPDX-License-Identifier: Apache-2.0
// docs/reference/taskflow.md
#include <hyperparallel/taskflow.hpp>

namespace hp = hyperparallel;

struct write_then_read {
  bool waits = true;
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const int written = hp::add_event(f, 0), buffer = hp::add_slot(f, 0, 0, 0, 64);
    hp::add_task(f, hp::resource::aic, 0, 10, 0, 0);
    hp::add_signal(f, written);
    hp::add_access(f, buffer, 0, 64, hp::access_mode::write);
    hp::add_task(f, hp::resource::aiv, 0, 10, 1, 0);
    if (waits) hp::add_wait(f, written);
    hp::add_access(f, buffer, 0, 64, hp::access_mode::read);
  }
};

constexpr hp::machine_shape one_rank{1, {1, 1, 0, 0, 0}};

constexpr hp::verify_status proof(bool waits) {
  constexpr hp::taskflow_size size{2, 1, 1, 2, 1, 1};  // room for either
  hp::fixed_taskflow<size> f;
  write_then_read{waits}(f);
  hp::seal(f);
  return hp::verify(f, hp::schedule_fixed<2>(f, one_rank));
}
static_assert(proof(true).code == hp::verify_code::ok);
static_assert(proof(false) == hp::verify_status{hp::verify_code::conflict_is_not_ordered, 1, 0, -1, 0});

using plan = hp::static_taskflow<hp::builder_of<write_then_read{true}>, one_rank>;
static_assert(plan::makespan == 20 && plan::certificate.ratio() == 10000);
static_assert(!hp::safe_taskflow<hp::builder_of<write_then_read{false}>, one_rank>);

int main() {}
