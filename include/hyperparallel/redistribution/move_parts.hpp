// SPDX-License-Identifier: Apache-2.0
#pragma once
// A move as one plan, or as two that each move an interval of one dim at the same time, and what it costs.
//
// The shape of the plans may be finer than the tensor's: every position keeps the flat order of its block, so the steps
// run on the same memory. Step k of both parts is one step: it ends when both have ended, and they share the links.
// Law: what two parts receive together is what one plan of the same steps receives.
// Units: elements, messages, picoseconds.

#include <hyperparallel/redistribution/move_plan.hpp>
#include <hyperparallel/redistribution/step_price.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct move_parts {
  int count = 0;       ///< 0: there is no plan
  int dim = 0;         ///< of the plans' shape: two parts share it
  extent_t split = 0;  ///< part 0 moves [0, split) of it, part 1 the rest
  move_plan part[2] = {};
};

struct move_figures {
  extent_t received_maximum = 0;  ///< by the rank that receives most, over all steps
  extent_t received_total = 0;    ///< by all ranks
  extent_t sent_maximum = 0;      ///< by the rank that sends most
  extent_t messages_maximum = 0;  ///< to the rank that gets most
  /// Elements that the largest rank holds at once when each step gives up its source after use and a slice works in
  /// place. A source that is kept adds its own size from the second step on.
  extent_t peak_elements = 0;
  int steps = 0;  ///< in which something is received
  time_cost time{};
  friend constexpr bool operator==(const move_figures&, const move_figures&) = default;
};

/// Steps in a row, those without communication included.
constexpr int step_count(const move_parts& m) {
  int n = 0;
  for (int i = 0; i < m.count; ++i) n = n < m.part[i].step_count ? m.part[i].step_count : n;
  return n;
}

namespace detail {

/// The parts of step `k`; returns how many have one.
constexpr int parts_at(const move_parts& m, int k, step_part* part) {
  int n = 0;
  for (int i = 0; i < m.count; ++i)
    if (k < m.part[i].step_count) part[n++] = {&m.part[i].step[k], &m.part[i].shape};
  return n;
}

/// The most elements that a position holds during step `k`. A part that has ended holds its last block.
constexpr extent_t held_at(const move_parts& m, int k, bool moves, int position) {
  extent_t before = 0, after = 0;
  for (int i = 0; i < m.count; ++i) {
    const move_plan& p = m.part[i];
    if (p.step_count == 0) continue;
    const bool ended = k >= p.step_count;
    const move_step& step = p.step[ended ? p.step_count - 1 : k];
    const extent_t left = volume(target_frame(step, p.shape, position));
    before += ended ? left : volume(source_frame(step, p.shape, position));
    after += ended ? 0 : left;
  }
  return moves || after > before ? before + after : before;
}

}  // namespace detail

/// Counts and prices a move on one mesh. `entries` has room for `tally_size(net, positions)`. The time has the code of
/// the links where they are refused or do not carry the move; everything else is counted all the same.
/// O(steps · positions · (transfers of a receiver + links)).
constexpr move_figures figures_of(const move_parts& m, const interconnect& net, extent_t element_bytes,
                                  extent_t* entries) {
  move_figures f;
  if (m.count == 0 || step_count(m) == 0) return f;
  const cost_code refused = check(net);
  const interconnect links = refused == cost_code::ok ? net : interconnect{};
  int positions = 0;
  for (int i = 0; i < m.count; ++i)
    if (m.part[i].step_count > 0) positions = position_count(m.part[i].step[0].source.mesh);
  const move_tally tally = detail::tally_in(entries, links, positions);
  for (int k = 0; k < step_count(m); ++k) {
    step_part part[2] = {};
    const step_price price = price_step(part, detail::parts_at(m, k, part), links, element_bytes, tally);
    f.time = then(f.time, price.time);
    if (price.communicates) ++f.steps;
    for (int p = 0; p < positions; ++p)
      f.peak_elements = larger(f.peak_elements, detail::held_at(m, k, price.communicates, p));
  }
  for (int p = 0; p < positions; ++p) {
    f.received_total += tally.received[p];
    f.received_maximum = larger(f.received_maximum, tally.received[p]);
    f.sent_maximum = larger(f.sent_maximum, tally.sent[p]);
    f.messages_maximum = larger(f.messages_maximum, tally.messages[p]);
  }
  if (refused != cost_code::ok) f.time = {refused, 0};
  return f;
}

}}  // namespace hyperparallel::v0_2
