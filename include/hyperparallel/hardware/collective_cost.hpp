// SPDX-License-Identifier: Apache-2.0
#pragma once
// Alpha-beta prices of collectives by algorithm. p ranks, a latency, b seconds per byte of one link.
//
//                               ring                       log_step                      full_mesh
//   all_gather, reduce_scatter  (p-1)a + (p-1)/p n b       log2(p) a + (p-1)/p n b       a + n b/p
//   all_reduce                  2(p-1)a + 2(p-1)/p n b     2log2(p) a + 2(p-1)/p n b     2a + 2n b/p
//   all_to_all                  (p-1)a + (p-1)/p m b       log2(p) (a + m b/2)           a + m b/p
//   broadcast, reduce           (p-2+k)(a + n b/k)         log2(p) (a + n b)             2a + 2n b/p
//
//   all_reduce, one_shot        a + n b: on a full mesh everybody sends all to all and reduces locally
//   exchange, direct            (p-1)a + r b
//
// n is the full buffer, m the local one, r the most that one rank receives, k the chunks of a pipelined ring; a full
// mesh has p-1 private links a rank. log2 is rounded up where p is no power of two. Law: a price is never below what
// the links (and the NIC, where it caps injection) must carry; a group of one rank costs 0.

#include <hyperparallel/hardware/cost.hpp>
#include <hyperparallel/hardware/link.hpp>

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 {

enum class collective : unsigned char {
  all_gather,
  reduce_scatter,
  all_reduce,
  all_to_all,
  broadcast,
  reduce,
  exchange,
};

/// `ring` is pairwise for all_to_all. `direct` is one message from each peer through one port.
enum class collective_algorithm : unsigned char { ring, log_step, full_mesh, one_shot, direct };
namespace detail {

inline constexpr int collective_algorithm_count = 5;

}  // namespace detail

struct collective_request {
  collective kind = collective::all_gather;
  collective_algorithm algorithm = collective_algorithm::ring;
  int ranks = 1;               ///< p; for exchange one more than the peers that a rank receives from
  std::int64_t bytes = 0;      ///< n, m or r, as the table says
  std::int64_t injection = 0;  ///< bytes per second at which one rank's NIC sends all its traffic; 0: no cap
  int chunks = 1;              ///< k of the pipelined ring of broadcast and reduce
};

namespace detail {

/// ⌈log2 p⌉ for p ≥ 1.
constexpr int log2_ceiling(int p) {
  int steps = 0;
  while ((std::int64_t{1} << steps) < p) ++steps;
  return steps;
}

/// `steps` latencies and bytes · factor / divisor on one link; each step is a message.
constexpr time_cost alpha_beta(const link_level& link, std::int64_t steps, std::int64_t bytes, std::int64_t factor,
                               std::int64_t divisor) {
  const time_cost latency = latencies(steps, link.latency);
  if (link.by_size[0].bytes == 0) return then(latency, work_time(bytes, factor, divisor, link.bandwidth));
  const checked_extent all = checked_multiply(bytes, factor);
  if (all.overflow) return {cost_code::overflow, longest_time};
  return then(latency, occupied_time(link, steps, ceil_divide(all.value, divisor), 1));
}

inline constexpr time_cost not_served{cost_code::algorithm_does_not_serve_the_collective, 0};

constexpr time_cost gather_time(const collective_request& q, const link_level& link) {
  const std::int64_t p = q.ranks;
  switch (q.algorithm) {
    case collective_algorithm::ring:
      return alpha_beta(link, p - 1, q.bytes, p - 1, p);
    case collective_algorithm::log_step:
      return alpha_beta(link, log2_ceiling(q.ranks), q.bytes, p - 1, p);
    case collective_algorithm::full_mesh:
      return alpha_beta(link, 1, q.bytes, 1, p);
    default:
      return not_served;
  }
}

constexpr time_cost all_reduce_time(const collective_request& q, const link_level& link) {
  const std::int64_t p = q.ranks;
  switch (q.algorithm) {
    case collective_algorithm::ring:
      return alpha_beta(link, 2 * (p - 1), q.bytes, 2 * (p - 1), p);
    case collective_algorithm::log_step:
      return alpha_beta(link, 2 * log2_ceiling(q.ranks), q.bytes, 2 * (p - 1), p);
    case collective_algorithm::full_mesh:
      return alpha_beta(link, 2, q.bytes, 2, p);
    case collective_algorithm::one_shot:
      return alpha_beta(link, 1, q.bytes, 1, 1);
    default:
      return not_served;
  }
}

constexpr time_cost all_to_all_time(const collective_request& q, const link_level& link) {
  const std::int64_t p = q.ranks;
  const int steps = log2_ceiling(q.ranks);
  switch (q.algorithm) {
    case collective_algorithm::ring:
      return alpha_beta(link, p - 1, q.bytes, p - 1, p);
    case collective_algorithm::log_step:
      return alpha_beta(link, steps, q.bytes, steps, 2);
    case collective_algorithm::full_mesh:
      return alpha_beta(link, 1, q.bytes, 1, p);
    default:
      return not_served;
  }
}

constexpr time_cost broadcast_time(const collective_request& q, const link_level& link) {
  const std::int64_t p = q.ranks;
  const std::int64_t hops = p - 2 + q.chunks;
  const int steps = log2_ceiling(q.ranks);
  switch (q.algorithm) {
    case collective_algorithm::ring:
      return alpha_beta(link, hops, q.bytes, hops, q.chunks);
    case collective_algorithm::log_step:
      return alpha_beta(link, steps, q.bytes, steps, 1);
    case collective_algorithm::full_mesh:
      return alpha_beta(link, 2, q.bytes, 2, p);
    default:
      return not_served;
  }
}

constexpr time_cost uncapped_time(const collective_request& q, const link_level& link) {
  switch (q.kind) {
    case collective::all_gather:
    case collective::reduce_scatter:
      return gather_time(q, link);
    case collective::all_reduce:
      return all_reduce_time(q, link);
    case collective::all_to_all:
      return all_to_all_time(q, link);
    case collective::broadcast:
    case collective::reduce:
      return broadcast_time(q, link);
    case collective::exchange:
      if (q.algorithm != collective_algorithm::direct) return not_served;
      return alpha_beta(link, q.ranks - 1, q.bytes, 1, 1);
  }
  return not_served;
}

}  // namespace detail

/// Least time that any algorithm needs at `rate` bytes per second of one rank, latency aside: what a rank must send or
/// receive divided by the rate. all_reduce moves 2(p-1)/p n, gathers and all_to_all (p-1)/p, broadcast and reduce n,
/// exchange r. Domain as `collective_time`. O(1).
constexpr time_cost bandwidth_bound(collective kind, int ranks, std::int64_t bytes, std::int64_t rate) {
  if (ranks < 1) return {cost_code::count_is_not_positive, 0};
  if (bytes < 0) return {cost_code::amount_is_negative, 0};
  if (ranks == 1) return {};
  const bool whole = kind == collective::broadcast || kind == collective::reduce || kind == collective::exchange;
  if (whole) return work_time(bytes, 1, 1, rate);
  const std::int64_t passes = kind == collective::all_reduce ? 2 : 1;
  return work_time(bytes, passes * (std::int64_t{ranks} - 1), ranks, rate);
}

/// Price of a collective on one level. Domain: ranks ≥ 1, bytes ≥ 0, chunks ≥ 1, injection ≥ 0; the pair of kind and
/// algorithm stands in the table, or the code is `algorithm_does_not_serve_the_collective`. With an injection cap the
/// price is at least `bandwidth_bound` at the cap; a one-shot all_reduce injects (p-1) n. O(log ranks).
/// Source: Thakur, Rabenseifner, Gropp 2005 for ring and log-step; the full mesh follows by counting.
constexpr time_cost collective_time(const collective_request& q, const link_level& link) {
  if (q.ranks < 1 || q.chunks < 1) return {cost_code::count_is_not_positive, 0};
  if (q.bytes < 0) return {cost_code::amount_is_negative, 0};
  if (q.injection < 0 || link.bandwidth < 1) return {cost_code::rate_is_not_positive, 0};
  const time_cost free = detail::uncapped_time(q, link);
  if (!free.ok()) return free;
  if (q.ranks == 1) return {};
  if (q.injection == 0) return free;
  if (q.algorithm == collective_algorithm::one_shot)
    return slower(free, work_time(q.bytes, q.ranks - 1, 1, q.injection));
  return slower(free, bandwidth_bound(q.kind, q.ranks, q.bytes, q.injection));
}

struct algorithm_choice {
  collective_algorithm algorithm = collective_algorithm::ring;
  time_cost cost{};
};

/// The cheapest algorithm for a request on a level: among ring and log_step, and where `mesh` says that every pair has
/// a private link also full_mesh and one_shot. Ties go to the first in enumeration order. O(log ranks).
constexpr algorithm_choice cheapest_algorithm(collective_request q, const link_level& link, bool mesh) {
  algorithm_choice best{q.algorithm, detail::not_served};
  for (int a = 0; a < detail::collective_algorithm_count; ++a) {
    q.algorithm = static_cast<collective_algorithm>(a);
    const bool needs_mesh =
        q.algorithm == collective_algorithm::full_mesh || q.algorithm == collective_algorithm::one_shot;
    if (needs_mesh && !mesh) continue;
    const time_cost cost = collective_time(q, link);
    const bool first = !best.cost.ok() && cost.code != detail::not_served.code;
    if (first || (cost.ok() && cost.picoseconds < best.cost.picoseconds)) best = {q.algorithm, cost};
  }
  return best;
}

/// Bytes below which a one-shot all_reduce on a full mesh beats two-shot: a / (b (1 - 2/p)), rounded down; with two
/// ranks or fewer it always does. Domain: a valid level. O(1).
constexpr std::int64_t one_shot_limit(const link_level& link, int ranks) {
  if (ranks <= 2) return INT64_MAX;
  const detail::wide_product bytes = detail::product(link.latency, link.bandwidth, ranks);
  const detail::wide_unsigned limit =
      bytes.value / (static_cast<detail::wide_unsigned>(ranks - 2) * static_cast<detail::wide_unsigned>(second));
  if (bytes.overflow || limit > static_cast<detail::wide_unsigned>(INT64_MAX)) return INT64_MAX;
  return static_cast<std::int64_t>(limit);
}

/// All-reduce over `inner_ranks` × `outer_ranks`: ring reduce-scatter inside, all-reduce of the n/g shards outside,
/// all-gather inside: 2(g-1)/g n b_i + 2(h-1)/h (n/g) b_o + 2(g-1) a_i + 2(h-1) a_o. Law: the outer links carry g times
/// fewer bytes than a flat ring over them. Domain: both counts ≥ 1, n ≥ 0. O(1).
constexpr time_cost hierarchical_all_reduce_time(const link_level& inner, int inner_ranks, const link_level& outer,
                                                 int outer_ranks, std::int64_t bytes) {
  if (inner_ranks < 1 || outer_ranks < 1) return {cost_code::count_is_not_positive, 0};
  const std::int64_t g = inner_ranks;
  const std::int64_t h = outer_ranks;
  return then(detail::alpha_beta(inner, 2 * (g - 1), bytes, 2 * (g - 1), g),
              detail::alpha_beta(outer, 2 * (h - 1), bytes, 2 * (h - 1), h * g));
}

}}  // namespace hyperparallel::v0_2
