// SPDX-License-Identifier: Apache-2.0
// A machine without the vector core that a task needs.
// expect: diag::no_queue_of_the_class<
// expect: resource::aiv
// expect: task<1>
#include <hyperparallel/taskflow.hpp>

namespace hp = hyperparallel;

inline constexpr hp::machine_shape machine{1, {1, 1, 0, 0, 0}}, matrix_only{1, {1, 0, 0, 0, 0}};

struct layer {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const int written = hp::add_event(f, 0), buffer = hp::add_slot(f, 0, 0, 0, 64);
    hp::add_task(f, hp::resource::aic, 0, 10, 0, 0);
    hp::add_signal(f, written);
    hp::add_access(f, buffer, 0, 64, hp::access_mode::write);
    hp::add_task(f, hp::resource::aiv, 0, 10, 1, 0);
    hp::add_wait(f, written);
    hp::add_access(f, buffer, 0, 64, hp::access_mode::read);
  }
};

static_assert(hp::safe_taskflow<layer, machine>);
static_assert(!hp::safe_taskflow<layer, matrix_only>);
static_assert(hp::static_taskflow<layer, matrix_only>::size.tasks == 2);

#ifdef NEGATIVE
using plan = hp::static_taskflow<layer, matrix_only>;
#else
using plan = hp::static_taskflow<layer, machine>;
#endif

constexpr const auto& schedule = plan::schedule;
constexpr std::int64_t makespan = plan::makespan;
constexpr std::int64_t ratio = plan::certificate.ratio();
constexpr bool proved = plan::safety.code == hp::verify_code::ok;
