// SPDX-License-Identifier: Apache-2.0
#pragma once
// Alpha-beta prices of collectives among evenly spaced ranks of an interconnect, by closed form: no plan is made.
//
//   hp::all_reduce_time(net, 16, bytes)         ranks 0 … 15: reduce-scatter from the inside out, all-gather back
//   hp::all_to_all_time(net, 8, 4, bytes)       ranks 0, 4, … 28
//
// An all-reduce goes level by level: inside a group of links, then between groups with what a rank holds of its own.
// Ranks that do not fill groups evenly are taken as all joined by the outermost link among them alone. In an all-to-all
// of a topology a rank sends to its peers one after the other, on all levels at once; on a full mesh data goes along
// one axis after the other. Laws: one rank takes no time; no price is below what the links of a rank have to carry.
// Units: picoseconds, bytes.

#include <hyperparallel/hardware/collective_cost.hpp>
#include <hyperparallel/redistribution/interconnect.hpp>
#include <hyperparallel/support/growing_array.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// The links of an interconnect from the inside out, and how many groups of the level before each joins.
constexpr link_level link_from_inside(const interconnect& net, int number) {
  const bool mesh = net.kind == interconnect_kind::full_mesh;
  return link_at(net, mesh ? link_count(net) - 1 - number : number);
}
constexpr int ranks_from_inside(const interconnect& net, int number) {
  if (net.kind == interconnect_kind::full_mesh) return net.mesh.size[link_count(net) - 1 - number];
  const link_level* level = net.topology.level;
  return number > 0 ? level[number].group / level[number - 1].group : level[0].group;
}

constexpr time_cost all_reduce_from(const interconnect& net, int number, int ranks, std::int64_t bytes) {
  if (ranks == 1) return {};
  if (number >= link_count(net)) return {cost_code::ranks_are_not_connected, 0};
  const link_level link = link_from_inside(net, number);
  const bool mesh = net.kind == interconnect_kind::full_mesh;
  const int joined = ranks_from_inside(net, number);
  if (ranks <= joined)
    return cheapest_algorithm({.kind = collective::all_reduce, .ranks = ranks, .bytes = bytes}, link, mesh).cost;
  if (joined == 1) return all_reduce_from(net, number + 1, ranks, bytes);
  if (ranks % joined != 0) {
    int outermost = number, left = static_cast<int>(ceil_divide(ranks, joined));
    while (left > 1 && ++outermost < link_count(net))
      left = static_cast<int>(ceil_divide(left, ranks_from_inside(net, outermost)));
    if (left > 1) return {cost_code::ranks_are_not_connected, 0};
    return cheapest_algorithm({.kind = collective::all_reduce, .ranks = ranks, .bytes = bytes},
                              link_from_inside(net, outermost), false)
        .cost;
  }
  const time_cost gather =
      cheapest_algorithm({.kind = collective::all_gather, .ranks = joined, .bytes = bytes}, link, mesh).cost;
  return then(then(gather, gather), all_reduce_from(net, number + 1, ranks / joined, ceil_divide(bytes, joined)));
}

}  // namespace detail

/// Of `bytes` on each of the ranks 0 … `ranks` - 1. Domain: `status_of` is ok, ranks ≥ 1, bytes ≥ 0. O(levels · log
/// ranks).
constexpr time_cost all_reduce_time(const interconnect& net, int ranks, std::int64_t bytes) {
  if (ranks < 1) return {cost_code::count_is_not_positive, 0};
  if (bytes < 0) return {cost_code::amount_is_negative, 0};
  return detail::all_reduce_from(net, 0, ranks, bytes);
}

/// Of `bytes` on each of the ranks 0, `stride`, … (`ranks` - 1) · `stride`, an even part for each. Domain: `status_of`
/// is ok, ranks and stride ≥ 1, bytes ≥ 0. O(levels), on a full mesh
/// O(ranks · levels).
constexpr time_cost all_to_all_time(const interconnect& net, int ranks, int stride, std::int64_t bytes) {
  if (ranks < 1 || stride < 1) return {cost_code::count_is_not_positive, 0};
  if (bytes < 0) return {cost_code::amount_is_negative, 0};
  const int links = link_count(net);
  time_cost time;
  if (net.kind != interconnect_kind::full_mesh) {
    std::int64_t reached = 0;  // peers within the groups of a level
    for (int l = 0; l < links; ++l) {
      const std::int64_t peers = smaller(ranks - 1, (net.topology.level[l].group - 1) / stride) - reached;
      time = slower(time, detail::alpha_beta(link_at(net, l), peers, bytes, peers, ranks));
      reached += peers;
    }
    if (reached < ranks - 1) return {cost_code::ranks_are_not_connected, 0};
    return time;
  }
  if (std::int64_t{ranks - 1} * stride >= position_count(net.mesh)) return {cost_code::ranks_are_not_connected, 0};
  for (int a = links - 1, inner = 1; a >= 0; inner *= net.mesh.size[a--]) {
    growing_array<int> peers(net.mesh.size[a], 0);  // by coordinate: those that a link along the axis is for
    int busiest = 0;
    for (int p = 1; p < ranks; ++p)
      if (const int c = p * stride / inner % net.mesh.size[a]; c > 0)
        busiest = ++peers[c] > busiest ? peers[c] : busiest;
    if (busiest > 0) time = then(time, detail::alpha_beta(net.along[a], 1, bytes, busiest, ranks));
  }
  return time;
}

}}  // namespace hyperparallel::v0_2
