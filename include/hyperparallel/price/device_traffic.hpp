// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who receives how many bytes from whom in a step of training: all moves of a program together, device by device.
//
//   hp::device_traffic t = hp::traffic_between(p, moves, hp::pipeline_form(p.graph, 1));
//   t.of(receiver, sender)
//
// Laws: no device receives from itself. A device receives the sum of its pulls (move_pulls.hpp) over all runs of all moves. This
// is at most the traffic account, which adds up the busiest receiver of each move. Of a
// pipeline it is the traffic among the devices of one stage, as on average: what stages hand over is not in it.
// O(kinds · (plan + transfers) + moves · devices²).

#include <hyperparallel/lowering/move_pulls.hpp>
#include <hyperparallel/price/pipeline_form.hpp>
#include <hyperparallel/price/traffic_account.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct device_traffic {
  int devices = 0;
  growing_array<extent_t> bytes;  ///< at receiver · devices + sender

  constexpr extent_t of(int receiver, int sender) const { return bytes[receiver * devices + sender]; }
  constexpr extent_t received(int receiver) const {
    extent_t sum = 0;
    for (int s = 0; s < devices; ++s) sum += of(receiver, s);
    return sum;
  }
};

namespace detail {

/// Elements that one run of a move brings, at receiver · devices + sender.
constexpr growing_array<extent_t> elements_between(const move_pulls& pulls, int devices) {
  growing_array<extent_t> elements(devices * devices, extent_t{0});
  for (int i = 0; i < pulls.row.size; ++i)
    for (int p = 0; p < devices; ++p) {
      if (pulls.parts.count == 0) {  // whole blocks, each of one sender
        elements[p * devices + pulls.sender[pulls.sender_begin[p]]] += pulls.pulled[p];
        continue;
      }
      const move_plan& plan = pulls.parts.part[pulls.row[i].part];
      const move_step& step = plan.step[pulls.row[i].step];
      const step_receiver r = receiver_of(step, plan.shape, p);
      for (extent_t k = 0; k < r.transfers; ++k)
        if (const transfer t = transfer_at(step, r, k); !is_own(r, t))
          elements[p * devices + t.sender] += volume(part_of_row(pulls.row[i], t.part), plan.shape, plan.padding);
    }
  return elements;
}

}  // namespace detail

/// Of a program whose moves are `moves`; without devices where the program is refused or a move has no pulls.
constexpr device_traffic traffic_between(const sharded_program& p, const program_moves& moves,
                                         const pipeline_form& form) {
  device_traffic t;
  if (p.status.code != strategy_code::ok) return t;
  const program_pulls pulls = pulls_of(p, moves);
  if (pulls.status.code != move_pulls_code::ok) return t;
  t.devices = position_count(p.mesh.shape);
  t.bytes.resize(t.devices * t.devices, extent_t{0});
  growing_array<growing_array<extent_t>> elements;  // of each kind
  for (const move_pulls& kind : pulls.kind) elements.push(detail::elements_between(kind, t.devices));
  for (const program_step& s : p.step) {
    if (!s.is_move) continue;
    const int tensor = p.value[p.move[s.index].source].tensor;
    const extent_t weight = bytes_of(p.graph.tensor[tensor].type) * times_of(p, s);
    const growing_array<extent_t>& one = elements[moves.of[s.index]];
    const stage_share share = form.held(s.segment);
    for (int i = 0; i < one.size; ++i)
      if (one[i] > 0) t.bytes[i] += share.of(one[i] * weight);
  }
  return t;
}

}}  // namespace hyperparallel::v0_2
