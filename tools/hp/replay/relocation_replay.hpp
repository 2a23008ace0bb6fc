// SPDX-License-Identifier: Apache-2.0
#pragma once
// Executes a planned relocation value by value on simulated ranks, partial states included (see move_replay.hpp).
//
// Blocks are row-major, so the elements of a block ascend in the flat index in whatever shape it is seen; what a rank
// holds and wants is looked up element by element, and so are the bounds, without the planner's arithmetic.

#include <hyperparallel/redistribution/flat_move.hpp>
#include <hyperparallel/redistribution/relocation.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "move_replay.hpp"

namespace replay {

struct relocation_report {
  std::string trouble{};                                    ///< empty: right on every rank
  std::map<int, hp::extent_t> received{}, sent{}, least{};  ///< by rank; `least` without partial states
  hp::extent_t received_total = 0, received_max = 0, sent_max = 0;
  hp::extent_t least_total = 0;
  hp::extent_t least_sent = 0;  ///< by the heaviest sender of any plan: demand of a piece over its replicas
  bool every_rank_at_least = true;
};

namespace detail {

/// Flat indices of a block's elements, ascending.
inline std::vector<hp::extent_t> elements_in(const hp::box& b, const hp::shape& s) {
  std::vector<hp::extent_t> found;
  elements_of(b, b, s, [&](hp::extent_t flat, hp::extent_t) { found.push_back(flat); });
  return found;
}

inline std::vector<hp::extent_t> elements_at(const hp::tensor_side& side, int position) {
  return elements_in(hp::slice_at(side.layout, side.shape, hp::coordinates_of(side.layout.mesh, position)), side.shape);
}

inline std::vector<std::vector<hp::extent_t>> elements_of_side(const hp::tensor_side& side) {
  std::vector<std::vector<hp::extent_t>> all;
  for (int p = 0; p < side.ranks.count; ++p) all.push_back(elements_at(side, p));
  return all;
}

/// One run of elements from a sender's block into a receiver's.
struct copied {
  int sender, receiver, term;
  hp::extent_t source, target;
};

/// Every element that step `k` copies, in the planned order of the terms; reports parts outside of blocks.
inline std::vector<copied> copies_of_step(const hp::relocation& r, const hp::tensor_side& from,
                                          const hp::tensor_side& to, int k, std::string& trouble) {
  std::vector<copied> all;
  const hp::move_step& step = r.plan.step[k];
  const int receivers = hp::receiver_ranks(r, step).count;
  for (int q = 0; q < receivers; ++q) {
    if (r.form == hp::relocation_form::runs) {
      const hp::flat_step f{step, from.shape, to.shape};
      hp::flat_receiver receiver = hp::receiver_of(f, q);
      for (hp::flat_transfer t; hp::next_transfer(f, receiver, t);)
        for (hp::extent_t i = 0; i < t.length; ++i)
          all.push_back({t.sender, q, t.term, t.source_offset + i, t.target_offset + i});
      continue;
    }
    const hp::box own = hp::target_frame(step, r.plan.shape, q);
    const hp::step_receiver receiver = hp::receiver_of(step, r.plan.shape, q);
    for (hp::extent_t x = 0; x < receiver.transfers; ++x) {
      const hp::transfer t = hp::transfer_at(step, receiver, x);
      if (hp::volume(t.part) == 0) continue;
      const hp::box frame = hp::source_frame(step, r.plan.shape, t.sender);
      if (!(hp::intersection(t.part, frame) == t.part) || !(hp::intersection(t.part, own) == t.part)) {
        trouble = "a part is not its sender's to give or its receiver's to take";
        return {};
      }
      std::vector<hp::extent_t> at;
      elements_of(t.part, frame, r.plan.shape, [&](hp::extent_t, hp::extent_t local) { at.push_back(local); });
      std::size_t i = 0;
      elements_of(t.part, own, r.plan.shape,
                  [&](hp::extent_t, hp::extent_t local) { all.push_back({t.sender, q, t.term, at[i++], local}); });
    }
  }
  return all;
}

/// What all ranks must receive, and each one where no state is partial, by looking at every element.
inline void bounds_by_elements(const hp::relocation& r, const hp::tensor_side& from, const hp::tensor_side& to,
                               relocation_report& report) {
  const auto held = elements_of_side(from), wanted = elements_of_side(to);
  const std::size_t n = static_cast<std::size_t>(hp::element_count(from.shape).value);
  std::vector<std::set<int>> holders(n), targets(n), groups(n);
  const unsigned filled = hp::detail::with_identity(to.layout, hp::detail::partial_axes(to.layout));
  const hp::axis_list reduced = hp::detail::axes_of(from.layout.mesh, hp::detail::partial_axes(from.layout));
  const hp::extent_t g = hp::group_size(from.layout.mesh, reduced);
  const auto group_of = [&](int q) {  // the first of the devices along filled axes
    hp::coordinate c = hp::coordinates_of(to.layout.mesh, q);
    hp::detail::enter_group(c, to.layout.mesh, filled, 0);
    return hp::position_of(to.layout.mesh, c);
  };
  for (std::size_t p = 0; p < held.size(); ++p)
    for (const hp::extent_t e : held[p])
      holders[static_cast<std::size_t>(e)].insert(hp::rank_at(from.ranks, static_cast<int>(p)));
  for (std::size_t q = 0; q < wanted.size(); ++q)
    for (const hp::extent_t e : wanted[q]) {
      targets[static_cast<std::size_t>(e)].insert(static_cast<int>(q));
      groups[static_cast<std::size_t>(e)].insert(group_of(static_cast<int>(q)));
    }
  std::map<std::set<int>, hp::extent_t> demand;
  for (std::size_t e = 0; e < n; ++e) {
    std::set<int> served;
    for (const int q : targets[e])
      if (holders[e].count(hp::rank_at(to.ranks, q)) > 0) served.insert(group_of(q));
    for (const int q : targets[e])
      if (holders[e].count(hp::rank_at(to.ranks, q)) == 0) ++report.least[hp::rank_at(to.ranks, q)];
    const hp::extent_t copies = static_cast<hp::extent_t>(groups[e].size());
    const hp::extent_t unserved = copies - static_cast<hp::extent_t>(served.size());
    report.least_total += g == 1 ? unserved : g + copies - 1 - (served.empty() ? 0 : 1);
    demand[holders[e]] += unserved;
  }
  for (const auto& [who, elements] : demand)
    report.least_sent = std::max(report.least_sent, hp::ceil_divide(elements, static_cast<hp::extent_t>(who.size())));
  if (r.form == hp::relocation_form::one_mesh)  // terms may be kept beside each other
    report.least_total = r.plan.step_count == 0 ? 0
                                                : least_by_elements(r.plan.step[0].source,
                                                                    r.plan.step[r.plan.step_count - 1].target, r.plan);
}

}  // namespace detail

/// Runs `r`, which plans `from` → `to`. Domain: r.code is ok.
inline relocation_report replay_relocation(const hp::tensor_side& from, const hp::tensor_side& to,
                                           const hp::relocation& r) {
  relocation_report report;
  const auto complain = [&report](const std::string& text) {
    if (report.trouble.empty()) report.trouble = text;
  };
  using block = std::vector<std::uint64_t>;
  std::vector<block> held;
  for (int p = 0; p < from.ranks.count; ++p) {
    held.emplace_back();
    for (const hp::extent_t flat : detail::elements_at(from, p))
      held.back().push_back(detail::own_term(from.layout, flat, hp::coordinates_of(from.layout.mesh, p)));
  }
  const auto wanted = detail::elements_of_side(to);
  if (r.plan.step_count == 0) {  // a block stays where its rank wants it
    std::vector<block> next(wanted.size());
    for (std::size_t q = 0; q < wanted.size(); ++q) {
      const int p = hp::position_in(from.ranks, hp::rank_at(to.ranks, static_cast<int>(q)));
      if (p >= 0) next[q] = held[static_cast<std::size_t>(p)];
    }
    held = next;
  }
  for (int k = 0; k < r.plan.step_count; ++k) {
    const hp::move_step& step = r.plan.step[k];
    const bool collecting = hp::receives_at_source(step), folds = collecting || step.kind == hp::step_kind::reduce;
    const hp::rank_list& ranks = hp::receiver_ranks(r, step);
    const hp::reduce_op op = detail::operation_of(step.source, step.reduced);
    const std::uint64_t scale = folds ? field::inverse(detail::divisor_of(step.source, step.reduced)) : 1;
    std::vector<block> next;
    std::vector<std::vector<int>> terms;
    for (int q = 0; q < ranks.count; ++q) {
      const std::size_t i = static_cast<std::size_t>(q);
      next.emplace_back(collecting ? held[i].size() : wanted[i].size());
      terms.emplace_back(next.back().size());
    }
    for (const detail::copied& c : detail::copies_of_step(r, from, to, k, report.trouble)) {
      const int sender = hp::rank_at(r.source_ranks, c.sender), receiver = hp::rank_at(ranks, c.receiver);
      if (sender != receiver) {
        ++report.received[receiver];
        ++report.sent[sender];
      }
      const std::size_t i = static_cast<std::size_t>(c.receiver), at = static_cast<std::size_t>(c.target);
      if (at >= next[i].size()) {
        complain("an element falls outside of its block");
        return report;
      }
      const std::uint64_t value = held[static_cast<std::size_t>(c.sender)].at(static_cast<std::size_t>(c.source));
      if (terms[i][at]++ != c.term) complain("a term is out of order");
      next[i][at] = c.term == 0 ? value : field::fold(op, next[i][at], value);
    }
    const int all_terms = hp::group_size(step.source.mesh, hp::detail::axes_of(step.source.mesh, step.reduced));
    const std::uint64_t identity = detail::operation_of(step.target, step.filled) == hp::reduce_op::prod ? 1 : 0;
    for (std::size_t i = 0; i < next.size(); ++i)
      for (std::size_t at = 0; at < next[i].size(); ++at) {
        if (terms[i][at] > 0) {
          if (folds && terms[i][at] != all_terms) complain("a term is missing");
          next[i][at] = field::times(next[i][at], scale);
        } else if (!collecting) {
          if (step.filled == 0) complain("an element was brought by nobody");
          next[i][at] = identity;
        }
      }
    held = std::move(next);
  }
  const unsigned waiting = detail::partial_axes(to.layout);
  const hp::axis_list along = hp::detail::axes_of(to.layout.mesh, waiting);
  const std::uint64_t scale = field::inverse(detail::divisor_of(to.layout, waiting));
  for (std::size_t q = 0; q < wanted.size(); ++q) {
    if (held[q].size() != wanted[q].size()) {
      complain("a block does not have its target's size");
      return report;
    }
    for (std::size_t at = 0; at < wanted[q].size(); ++at) {
      std::uint64_t sum = 0;
      for (int i = 0; i < hp::group_size(to.layout.mesh, along); ++i) {
        const int p = hp::group_member(to.layout.mesh, along, static_cast<int>(q), i);
        const std::uint64_t x = held[static_cast<std::size_t>(p)][at];
        sum = i == 0 ? x : field::fold(detail::operation_of(to.layout, waiting), sum, x);
      }
      if (field::times(sum, scale) != detail::reduced_value(from.layout, wanted[q][at])) complain("a value is wrong");
    }
  }
  detail::bounds_by_elements(r, from, to, report);
  for (const auto& [rank, n] : report.received) {
    report.received_total += n;
    report.received_max = std::max(report.received_max, n);
  }
  for (const auto& [rank, n] : report.sent) report.sent_max = std::max(report.sent_max, n);
  if (r.plan.reduced == 0 && r.plan.filled == 0 && r.plan.kept == 0)
    report.every_rank_at_least = report.received == report.least;
  return report;
}

}  // namespace replay
