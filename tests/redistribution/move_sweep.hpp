// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs planned moves between all layouts of a small world, partial states included, value by value on every rank, and
// holds what is emitted against the plan's certificate, the element-wise least and the best that any senders can do.
//
// With HYPERPARALLEL_EXHAUSTIVE in the environment samples become whole sets; under a sanitizer they get thinner.

#include <hyperparallel/redistribution/certificate.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

#include "replay/move_replay.hpp"
#include "support/all_layouts.hpp"

namespace sweeps {

namespace hp = hyperparallel;

inline bool exhaustive() { return std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr; }

/// Every how many pairs are taken.
inline std::size_t thinned(std::size_t stride) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return exhaustive() || stride == 1 ? 1 : 5 * stride;
#else
  return exhaustive() ? 1 : stride;
#endif
}

inline std::string text_of(const hp::layout_value& l) {
  std::string text;
  for (int d = 0; d < l.rank; ++d) {
    text += d == 0 ? "[" : ", ";
    for (int i = 0; i < l.cut_count; ++i)
      if (l.cut[i].dim == d) text += "abcdefgh"[l.cut[i].axis];
  }
  text += "]";
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if (l.partial[a] != hp::reduce_op::none)
      text += std::string(" ") + hp::name_of(l.partial[a]) + "(" + "abcdefgh"[a] + ")";
  return text;
}

/// The least that the heaviest sender of a plan of these bytes can send, in whole elements: devices that hold the same
/// terms of the same piece may share what others want of it, but what a device reduced it alone can pass on.
inline hp::extent_t least_heaviest_sender(const hp::move_plan& p) {
  const hp::mesh_shape& m = p.step[0].source.mesh;
  const unsigned all = hp::detail::all_axes(m);
  const hp::axis_list replicas =
      hp::detail::axes_of(m, all & ~hp::detail::cut_axes(p.step[0].source) & ~p.reduced & ~p.kept);
  std::vector<hp::extent_t> passed_on(static_cast<std::size_t>(hp::position_count(m))), wanted = passed_on;
  for (int i = 0; i < p.step_count; ++i)
    for (int q = 0; q < hp::position_count(m); ++q) {
      const hp::step_receiver r = hp::receiver_of(p.step[i], p.shape, q);
      for (hp::extent_t k = 0; k < r.transfers; ++k) {
        const hp::transfer t = hp::transfer_at(p.step[i], r, k);
        if (t.sender == q) continue;
        const bool alone = p.step[i].kind == hp::step_kind::spread;
        (alone ? passed_on : wanted)[static_cast<std::size_t>(t.sender)] += hp::volume(t.part);
      }
    }
  hp::extent_t least = 0;
  const int holders = hp::group_size(m, replicas);
  for (int q = 0; q < hp::position_count(m); ++q) {
    least = hp::larger(least, passed_on[static_cast<std::size_t>(q)]);
    hp::extent_t sum = 0;
    for (int i = 0; i < holders; ++i) {
      const auto holder = static_cast<std::size_t>(hp::group_member(m, replicas, q, i));
      sum += passed_on[holder] + wanted[holder];
    }
    least = hp::larger(least, hp::ceil_divide(sum, holders));
  }
  return least;
}

struct sweep {
  long pairs = 0;    ///< of different states that are planned
  long refused = 0;  ///< for reductions that do not commute
  long reductions = 0;
  long two_steps = 0;        ///< reductions that pass reduced shares on
  long heavy = 0;            ///< heaviest sender above 1.25 times the heaviest receiver
  long unattainable = 0;     ///< of these, those where no senders of a plan of these bytes get down to 1.25
  long passed_over = 0;      ///< of the others, in one step
  long uneven_shares = 0;    ///< of the others, in two steps
  double worst = 0;          ///< heaviest sender ÷ heaviest receiver
  double worst_refined = 0;  ///< the same where cut points refine and nothing is passed on
  std::string example{};     ///< of an unattainable balance
};

inline void expect_right(const hp::layout_value& a, const hp::layout_value& b, const hp::move_plan& p, sweep& result) {
  SCOPED_TRACE(text_of(a) + " -> " + text_of(b));
  const replay::move_report r = replay::replay_move(a, b, p);
  ASSERT_EQ(r.trouble, "");
  ASSERT_EQ(r.received_total, r.least_total);
  ASSERT_TRUE(r.every_rank_at_least);
  std::vector<hp::extent_t> tally(static_cast<std::size_t>(3 * hp::position_count(a.mesh)));
  const hp::move_certificate c = hp::certify(p, tally.data());
  ASSERT_EQ(c.received_total, r.received_total);
  ASSERT_EQ(c.received_maximum, r.received_max);
  ASSERT_EQ(c.sent_maximum, r.sent_max);
  ASSERT_EQ(c.least_total, r.least_total);
  if (r.received_max == 0) return;
  const bool passes_on = p.step_count == 2;
  const double ratio = static_cast<double>(r.sent_max) / static_cast<double>(r.received_max);
  result.worst = std::max(result.worst, ratio);
  if (!passes_on && hp::refine(a, b, p.shape).refinable) result.worst_refined = std::max(result.worst_refined, ratio);
  if (ratio <= 1.25) return;
  ++result.heavy;
  if (static_cast<double>(least_heaviest_sender(p)) > 1.25 * static_cast<double>(r.received_max)) {
    if (result.unattainable++ == 0) result.example = text_of(a) + " -> " + text_of(b);
  } else {
    ++(passes_on ? result.uneven_shares : result.passed_over);
  }
}

/// Every `stride`-th ordered pair of different states.
inline sweep run(const std::vector<hp::layout_value>& states, const hp::shape& s, std::size_t stride = 1) {
  sweep result;
  const std::size_t n = states.size();
  for (std::size_t k = 0; k < n * n && !testing::Test::HasFatalFailure(); k += thinned(stride)) {
    const hp::layout_value &a = states[k / n], &b = states[k % n];
    if (a == b) continue;
    const hp::move_plan p = hp::plan_move(a, b, s);
    if (p.code == hp::move_code::reductions_do_not_commute) {
      ++result.refused;
      continue;
    }
    EXPECT_EQ(p.code, hp::move_code::ok);
    ++result.pairs;
    if (p.reduced != 0) ++result.reductions;
    if (p.step_count == 2) ++result.two_steps;
    expect_right(a, b, p, result);
  }
  std::printf(
      "  %ld pairs, %ld reductions (%ld in two steps); heaviest sender at most %.2f times the heaviest receiver (%.2f "
      "where digits refine, in one step); above 1.25: %ld, of which replicas do not allow it: %ld%s%s\n",
      result.pairs, result.reductions, result.two_steps, result.worst, result.worst_refined, result.heavy,
      result.unattainable, result.example.empty() ? "" : ", as ", result.example.c_str());
  return result;
}

}  // namespace sweeps
