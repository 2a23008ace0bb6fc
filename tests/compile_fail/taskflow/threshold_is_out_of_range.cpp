// SPDX-License-Identifier: Apache-2.0
// A wait for more signals than the event ever gets.
// expect: diag::threshold_is_out_of_range<
// expect: task<1>
// expect: event<0>
// expect: threshold<2>
// expect: signals<1>
#include <hyperparallel/taskflow.hpp>

namespace hp = hyperparallel;

inline constexpr hp::machine_shape machine{1, {1, 1, 0, 0, 0}};

template <int Threshold>
struct layer {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const int written = hp::add_event(f, 0), buffer = hp::add_slot(f, 0, 0, 0, 64);
    hp::add_task(f, hp::resource::aic, 0, 10, 0, 0);
    hp::add_signal(f, written);
    hp::add_access(f, buffer, 0, 64, hp::access_mode::write);
    hp::add_task(f, hp::resource::aiv, 0, 10, 1, 0);
    hp::add_wait(f, written, Threshold);
    hp::add_access(f, buffer, 0, 64, hp::access_mode::read);
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
