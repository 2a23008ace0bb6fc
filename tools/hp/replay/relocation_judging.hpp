// SPDX-License-Identifier: Apache-2.0
#pragma once
// Judges a move between any two sides: other rank lists, and reshapes whose pieces are no boxes of a common shape, are
// relocations; the rest are moves on one mesh (move_judging.hpp).

#include <map>

#include "move_judging.hpp"
#include "relocation_replay.hpp"
#include "stated_cost.hpp"

namespace replay {

namespace detail {

/// Counts what the steps emit, by rank. Runs are contiguous whatever they are.
inline std::map<int, hp::extent_t> received_by_rank(const hp::relocation& r, const hp::tensor_side& from,
                                                    const hp::tensor_side& to, move_figures& f) {
  std::map<int, hp::extent_t> received;
  for (int k = 0; k < r.plan.step_count; ++k) {
    const hp::move_step& step = r.plan.step[k];
    const hp::rank_list& receivers = hp::receiver_ranks(r, step);
    bool any = false;
    const auto count = [&](int sender, int q, hp::extent_t n) {
      const int rank = hp::rank_at(receivers, q);
      if (n == 0 || hp::rank_at(r.source_ranks, sender) == rank) return false;
      received[rank] += n;
      return any = true;
    };
    for (int q = 0; q < receivers.count; ++q) {
      if (r.form == hp::relocation_form::runs) {
        const hp::flat_step flat{step, from.shape, to.shape};
        hp::flat_receiver receiver = hp::receiver_of(flat, q);
        for (hp::flat_transfer t; hp::next_transfer(flat, receiver, t);) count(t.sender, q, t.length);
        continue;
      }
      const hp::step_receiver receiver = hp::receiver_of(step, r.plan.shape, q);
      for (hp::extent_t x = 0; x < receiver.transfers; ++x) {
        const hp::transfer t = hp::transfer_at(step, receiver, x);
        if (count(t.sender, q, hp::volume(t.part)))
          f.contiguous = f.contiguous && is_run(t.part, hp::target_frame(step, r.plan.shape, q));
      }
    }
    f.collectives += any ? 1 : 0;
  }
  return received;
}

/// A plan without partial states, by the numbers of the elements alone: each one that is copied is the same in its
/// sender's block and in its receiver's, and each block is filled once. For tensors too large to carry values.
/// Fills in what each rank needs and does not hold.
inline std::string check_numbers(const hp::relocation& r, const hp::tensor_side& from, const hp::tensor_side& to,
                                 std::map<int, hp::extent_t>& least) {
  const auto held = elements_of_side(from), wanted = elements_of_side(to);
  std::vector<std::vector<int>> written;
  for (const auto& block : wanted) written.emplace_back(block.size(), 0);
  std::string trouble;
  for (int k = 0; k < r.plan.step_count; ++k)
    for (const copied& c : copies_of_step(r, from, to, k, trouble)) {
      const std::size_t q = static_cast<std::size_t>(c.receiver), at = static_cast<std::size_t>(c.target);
      if (held[static_cast<std::size_t>(c.sender)].at(static_cast<std::size_t>(c.source)) != wanted[q].at(at))
        return "an element lands in another's place";
      ++written[q][at];
    }
  for (std::size_t q = 0; q < wanted.size(); ++q) {
    const int p = hp::position_in(from.ranks, hp::rank_at(to.ranks, static_cast<int>(q)));
    const std::vector<hp::extent_t> nothing, &own = p >= 0 ? held[static_cast<std::size_t>(p)] : nothing;
    const hp::extent_t missed = std::count_if(wanted[q].begin(), wanted[q].end(), [&own](hp::extent_t e) {
      return !std::binary_search(own.begin(), own.end(), e);
    });
    if (missed > 0) least[hp::rank_at(to.ranks, static_cast<int>(q))] = missed;
    const bool stays = r.plan.step_count == 0 && own == wanted[q];
    for (const int times : written[q])
      if (times != (stays ? 0 : 1)) return "a block is not filled once";
  }
  return trouble;
}

}  // namespace detail

/// More elements, over all ranks of both sides, are not judged at all.
inline constexpr hp::extent_t number_limit = hp::extent_t{1} << 25;

/// A move between two rank lists, or one that no common shape has.
inline verdict judge_relocation(const stated_move& m, move_figures& f) {
  const hp::tensor_side from{m.from.layout, m.from_shape, m.from.mesh.ranks()};
  const hp::tensor_side to{m.to.layout, m.to_shape, m.to.mesh.ranks()};
  const hp::relocation r = hp::plan_relocation(from, to);
  if (r.code != hp::relocation_code::ok) return fail("no relocation, code " + std::to_string(static_cast<int>(r.code)));
  const hp::extent_t blocks = from.ranks.count + to.ranks.count;
  hp::tensor_side small_from = from, small_to = to;
  const bool whole = r.source_elements * blocks <= value_limit;
  if (!whole && m.from_shape == m.to_shape)
    small_from.shape = small_to.shape = small_shape(m.from.layout, m.to.layout, m.from_shape);
  relocation_report report;
  if (hp::element_count(small_from.shape).value * blocks <= value_limit) {
    report = replay_relocation(small_from, small_to, whole ? r : hp::plan_relocation(small_from, small_to));
  } else if (!hp::is_partial(from.layout) && !hp::is_partial(to.layout) && r.source_elements * blocks <= number_limit) {
    report.trouble = detail::check_numbers(r, from, to, report.least);
  } else {
    return fail("the tensor has too many elements to be replayed");
  }
  if (!report.trouble.empty()) return fail(report.trouble);
  if (!report.every_rank_at_least) return fail("a rank receives more than it needs and does not hold");
  if (report.received_total != report.least_total)
    return fail("all ranks receive " + std::to_string(report.received_total) + " elements, the least is " +
                std::to_string(report.least_total));
  const std::map<int, hp::extent_t> received = detail::received_by_rank(r, from, to, f);
  for (const auto& [rank, n] : received) {
    f.received_sum += n;
    f.received_max = hp::larger(f.received_max, n);
  }
  if (whole && received != report.received) return fail("the steps do not emit what the replay counts");
  f.reduces = r.plan.reduced != 0;
  f.fills = r.plan.filled != 0;
  f.factor = f.reduces ? factor_of(m.from.layout, r.plan.reduced) : 1;
  f.least_sum = whole ? report.least_total : -1;
  if (f.reduces || f.fills) return pass();
  stated_cost least;
  if (m.from_shape == m.to_shape) {
    least = cost_of_states({m.from, m.to}, m.from_shape);
  } else {
    for (const auto& [rank, n] : report.least) {
      least.total += n;
      least.maximum = hp::larger(least.maximum, n);
    }
  }
  f.least_max = least.maximum;
  f.least_sum = least.total;
  return pass_if(
      f.received_max == f.least_max && f.received_sum == f.least_sum,
      "ours receives " + std::to_string(f.received_sum) + " elements, the least is " + std::to_string(f.least_sum));
}

/// Any move. What is planned on one mesh is judged there.
inline verdict judge_move(const stated_move& m, move_figures& f) {
  for (const hp::shape* s : {&m.from_shape, &m.to_shape})
    for (int d = 0; d < s->rank; ++d)
      if (s->extent[d] < 0) throw malformed_vector("an extent is negative");
  const hp::relocation r = hp::plan_relocation({m.from.layout, m.from_shape, m.from.mesh.ranks()},
                                               {m.to.layout, m.to_shape, m.to.mesh.ranks()});
  if (r.code == hp::relocation_code::ok && r.form == hp::relocation_form::one_mesh)
    return judge_unified(m.from.layout, m.from_shape, m.to.layout, m.to_shape, f);
  return judge_relocation(m, f);
}

}  // namespace replay
