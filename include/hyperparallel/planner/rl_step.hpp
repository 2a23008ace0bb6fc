// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long a step of training by reinforcement takes: its phases on one set of devices in turn, or generator and trainer on sets of
// their own at the same time.
//
//   hp::rl_phases p{.generation = {.fixed = 60, .work = 3200}, .training = {.work = 9600}, .rest = 5};
//   hp::synchronous_step(p, 32)                                    60 + 3200/32 + 9600/32 + 5
//   hp::asynchronous_step(p, {16, 16}, {.chunks = 4, .staleness = 0.5})
//   hp::best_split(p, 32, how)
//
// A phase takes `fixed` + `work` / devices. What is fixed of generation is the wait for the longest response, of which each token needs
// the one before it. Between two hand-overs of weights the trainer takes a batch in `chunks`; of the next batch a share of `staleness` may
// be generated with the old weights. With g and u the times of generator and trainer, chunk j of K is there at (j/K − staleness) · g,
// and so a step takes
//
//   max(g, max(0, 1/K − staleness) · g + u, max(0, 1 − staleness) · g + u/K) + rest
//
// A generator that streams works on the share of the next batch that it may begin while the longest responses of this run on, and waits
// for what outlasts it: g is the longer of work and fixed + (1 − staleness) · work; where it interrupts them (`partial`) it is work. One
// that takes whole batches waits for all.
//
// Laws: in one chunk without staleness a step is g + u + rest; with a whole batch of staleness max(g, u) + rest; it is never below either
// with the rest, nor above their sum; more devices of a side, staleness or chunks take no longer. On the same devices the synchronous step
// is the sum of the phases. Fitted phases are exact where points lie on such a curve. Units: seconds. O(1), O(devices), O(points).

#include <span>

namespace hyperparallel { inline namespace v0_2 {

struct rl_phase {
  double fixed = 0;  ///< seconds, whatever the devices
  double work = 0;   ///< seconds on one device
  constexpr double on(double devices) const { return fixed + work / devices; }
};

struct rl_phases {
  rl_phase generation{}, training{};
  double rest = 0;  ///< rewards, moves of weights and data
};

struct rl_split {
  int trainer = 1, rollout = 1;
};

/// How an asynchronous step hands over. Domain: chunks ≥ 1, staleness ≥ 0.
struct rl_handover {
  int chunks = 1;
  double staleness = 0;         ///< of a batch; one step off is 1
  bool partial = false;         ///< responses are interrupted for new weights, and go on
  bool by_whole_batch = false;  ///< the generator begins a batch when all responses of the one before have ended
};

/// Phases one after the other on the same devices.
constexpr double synchronous_step(const rl_phases& p, double devices) {
  return p.generation.on(devices) + p.training.on(devices) + p.rest;
}

/// Seconds of a batch on the generator's devices, with what it waits for.
constexpr double generator_seconds(const rl_phase& generation, double devices, const rl_handover& how) {
  const double busy = generation.work / devices;
  if (how.by_whole_batch) return busy + generation.fixed;
  if (how.partial && how.staleness > 0) return busy;
  const double waited = generation.fixed + (how.staleness < 1 ? (1 - how.staleness) * busy : 0.0);
  return busy > waited ? busy : waited;
}

constexpr double asynchronous_step(const rl_phases& p, rl_split split, const rl_handover& how) {
  const double g = generator_seconds(p.generation, split.rollout, how), u = p.training.on(split.trainer);
  const auto still_to_come = [&](double share) { return share > how.staleness ? (share - how.staleness) * g : 0.0; };
  const double first = still_to_come(1.0 / how.chunks) + u, last = still_to_come(1.0) + u / how.chunks;
  const double longer = first > last ? first : last;
  return (g > longer ? g : longer) + p.rest;
}

/// The split of so many devices with the shortest step, the first of several. Precondition: devices ≥ 2.
constexpr rl_split best_split(const rl_phases& p, int devices, const rl_handover& how) {
  rl_split best{devices - 1, 1};
  for (int rollout = 2; rollout < devices; ++rollout)
    if (const rl_split split{devices - rollout, rollout};
        asynchronous_step(p, split, how) < asynchronous_step(p, best, how))
      best = split;
  return best;
}

/// Seconds that a phase was measured to take.
struct rl_point {
  double devices = 1, seconds = 0;
};

/// A phase through its measurements by least squares of relative errors, no part below 0; `fixed_share` is of one that was measured on one
/// number of devices alone. Precondition: there is a point, all are above 0.
constexpr rl_phase fitted_phase(std::span<const rl_point> points, double fixed_share) {
  double aa = 0, ab = 0, bb = 0, a = 0, b = 0, least = points[0].devices, most = least;
  for (const rl_point& p : points) {
    const double fixed = 1 / p.seconds, work = 1 / (p.seconds * p.devices);
    aa += fixed * fixed;
    ab += fixed * work;
    bb += work * work;
    a += fixed;
    b += work;
    least = p.devices < least ? p.devices : least;
    most = p.devices > most ? p.devices : most;
  }
  if (least == most) return {fixed_share * a / aa, (1 - fixed_share) * b / bb};
  const double determinant = aa * bb - ab * ab;
  const rl_phase free{(a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant};
  if (free.fixed < 0) return {0, b / bb};
  if (free.work < 0) return {a / aa, 0};
  return free;
}

/// The share of a synchronous generation in which the longest responses are waited for, where a token of a batch takes as long as one of a
/// single response: the longest is so many times as long as the mean. Domain: at least 1.
constexpr double waiting_share(double longest_over_mean) { return 1 - 1 / longest_over_mean; }

}}  // namespace hyperparallel::v0_2
