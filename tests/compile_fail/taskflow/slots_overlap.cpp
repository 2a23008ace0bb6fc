// SPDX-License-Identifier: Apache-2.0
// Two buffers that share addresses.
// expect: diag::slots_overlap<
// expect: slot<1>
// expect: slot<0>
#include <hyperparallel/taskflow.hpp>

namespace hp = hyperparallel;

inline constexpr hp::machine_shape machine{1, {1, 1, 0, 0, 0}};

template <std::int64_t Offset>
struct layer {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const int buffers[] = {hp::add_slot(f, 0, 0, 0, 64), hp::add_slot(f, 0, 0, Offset, 64)};
    for (const int buffer : buffers) {
      hp::add_task(f, hp::resource::aic, 0, 10, 0, buffer);
      hp::add_access(f, buffer, 0, 64, hp::access_mode::write);
    }
  }
};

static_assert(hp::safe_taskflow<layer<64>, machine, hp::schedule_options{}, hp::memory_tiers<128>>);
static_assert(!hp::safe_taskflow<layer<32>, machine, hp::schedule_options{}, hp::memory_tiers<128>>);
static_assert(hp::static_taskflow<layer<32>, machine, hp::schedule_options{}, hp::memory_tiers<128>>::size.tasks == 2);

#ifdef NEGATIVE
using plan = hp::static_taskflow<layer<32>, machine, hp::schedule_options{}, hp::memory_tiers<128>>;
#else
using plan = hp::static_taskflow<layer<64>, machine, hp::schedule_options{}, hp::memory_tiers<128>>;
#endif

constexpr const auto& schedule = plan::schedule;
constexpr std::int64_t makespan = plan::makespan;
constexpr std::int64_t ratio = plan::certificate.ratio();
constexpr bool proved = plan::safety.code == hp::verify_code::ok;
