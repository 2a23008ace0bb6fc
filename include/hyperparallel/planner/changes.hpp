// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one change makes of a plan: the steps of a descent.
//
//   hp::visit_plan_changes(plan, [&](const hp::decoder_plan& next) { … });
//
// One change is: any ZeRO stage, recomputation and sequence parallelism of the same degrees; or a prime factor that goes from one
// degree to another. With each the micro-batches stay as many, or are a prime factor more or fewer.
//
// Laws: what is visited has the devices, batch and sequence of the plan, and micro-batches that divide the batch; whether the
// sizes of a model allow it, `check_plan` says. If q is one change away from p, p is from q. O(prime factors of devices and batch).

#include <hyperparallel/planner/plan_check.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Calls `visit(q)` for each prime number q that divides n. O(sqrt(n)).
template <class Visit>
constexpr void visit_primes(extent_t n, const Visit& visit) {
  for (extent_t q = 2; q * q <= n; ++q) {
    if (n % q == 0) visit(q);
    while (n % q == 0) n /= q;
  }
  if (n > 1) visit(n);
}

/// As many micro-batches as `p` has, and a prime factor more or fewer.
template <class Visit>
constexpr void visit_micro_batches(decoder_plan p, const Visit& visit) {
  const extent_t now = p.micro_batches;
  visit(static_cast<const decoder_plan&>(p));
  visit_primes(p.batch, [&](extent_t q) {
    for (const extent_t next : {now % q == 0 ? now / q : now, p.batch % (now * q) == 0 ? now * q : now}) {
      p.micro_batches = static_cast<int>(next);
      if (next != now) visit(static_cast<const decoder_plan&>(p));
    }
  });
}

}  // namespace detail

/// Calls `visit(plan)` for every plan that is one change away from `from`. Precondition: its numbers are in range,
/// its micro-batches divide its batch, and nothing is recomputed selectively.
template <class Visit>
constexpr void visit_plan_changes(const decoder_plan& from, const Visit& visit) {
  detail::visit_micro_batches(from, [&](decoder_plan p) {
    for (p.zero = 0; p.zero <= 3; ++p.zero)
      for (const bool recomputed : {false, true})
        for (const bool sequence_parallel : {false, true}) {
          p.recomputed = recomputed;
          p.modules = recomputed ? 0 : from.modules;
          p.sequence_parallel = sequence_parallel;
          if (p != from) visit(static_cast<const decoder_plan&>(p));
        }
  });
  for (const plan_degree& giver : plan_degrees)
    for (const plan_degree& taker : plan_degrees) {
      if (giver.of == taker.of) continue;
      detail::visit_primes(from.*giver.of, [&](extent_t q) {
        decoder_plan p = from;
        p.*giver.of /= static_cast<int>(q);
        p.*taker.of *= static_cast<int>(q);
        detail::visit_micro_batches(p, visit);
      });
    }
}

}}  // namespace hyperparallel::v0_2
