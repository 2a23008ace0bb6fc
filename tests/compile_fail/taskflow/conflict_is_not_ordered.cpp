// SPDX-License-Identifier: Apache-2.0
// A tile that reads what another queue writes, without waiting for it.
// expect: diag::conflict_is_not_ordered<
// expect: task<1,
// expect: alias<'S', 'w', 'i', 'G', 'L', 'U'>
// expect: after<0,
// expect: alias<'G', 'M', 'M', '1'>
// expect: slot<0>
#include <hyperparallel/taskflow.hpp>

namespace hp = hyperparallel;

inline constexpr hp::machine_shape machine{1, {1, 1, 0, 0, 0}};

template <bool Waits>
struct layer {
  static constexpr const char* operation_name(int operation) { return operation == 0 ? "GMM1" : "SwiGLU"; }

  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const int written = hp::add_event(f, 0), buffer = hp::add_slot(f, 0, 0, 0, 64);
    hp::add_task(f, hp::resource::aic, 0, 10, 0, 0);
    hp::add_signal(f, written);
    hp::add_access(f, buffer, 0, 64, hp::access_mode::write);
    hp::add_task(f, hp::resource::aiv, 0, 10, 1, 0);
    if (Waits) hp::add_wait(f, written);
    hp::add_access(f, buffer, 0, 64, hp::access_mode::read);
  }
};

static_assert(hp::safe_taskflow<layer<true>, machine>);
static_assert(!hp::safe_taskflow<layer<false>, machine>);
static_assert(hp::static_taskflow<layer<false>, machine>::size.tasks == 2);

#ifdef NEGATIVE
using plan = hp::static_taskflow<layer<false>, machine>;
#else
using plan = hp::static_taskflow<layer<true>, machine>;
#endif

constexpr const auto& schedule = plan::schedule;
constexpr std::int64_t makespan = plan::makespan;
constexpr std::int64_t ratio = plan::certificate.ratio();
constexpr bool proved = plan::safety.code == hp::verify_code::ok;
