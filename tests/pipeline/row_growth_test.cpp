// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/row_growth.hpp>

#include <hyperparallel/pipeline/many_micro_batches.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>

#include <gtest/gtest.h>

#include <random>

#include "pipeline/periodic_schedules.hpp"
#include "pipeline/schedule_oracle.hpp"

namespace hp = hyperparallel;

namespace {

using action_row = std::vector<hp::pipeline_action>;
using growth = hp::detail::row_growth<hp::growing_pipeline_sizes>;

/// `part` with `more` added to each micro-batch, behind `row`.
void append(action_row& row, action_row part, int more) {
  for (hp::pipeline_action& a : part) a.micro_batch += more;
  row.insert(row.end(), part.begin(), part.end());
}

/// Row of m + n q micro-batches, for n up to 4, from those of m and m + q, at the cut where these differ first.
void expect_rows_grow(const action_row& few, const action_row& more, int q, const std::vector<action_row>& larger) {
  ASSERT_GT(more.size(), few.size());
  std::ptrdiff_t cut = 0;
  while (static_cast<std::size_t>(cut) < few.size() &&
         few[static_cast<std::size_t>(cut)] == more[static_cast<std::size_t>(cut)])
    ++cut;
  const action_row head(few.begin(), few.begin() + cut), tail(few.begin() + cut, few.end());
  const action_row body(more.begin() + cut, more.begin() + cut + static_cast<std::ptrdiff_t>(more.size() - few.size()));
  for (std::size_t n = 0; n < larger.size(); ++n) {
    action_row row = head;
    for (int i = 0; i < static_cast<int>(n); ++i) append(row, body, i * q);
    append(row, tail, static_cast<int>(n) * q);
    ASSERT_EQ(row, larger[n]);
  }
}

TEST(row_growth, rows_of_published_schedules_grow_as_their_periods_say) {
  int held = 0;
  periodic_schedules::for_each([&](auto one) {
    using schedule = typename decltype(one)::type;
    for (int ranks = 1; ranks <= 16; ++ranks)
      for (int chunks = 1; chunks <= 3; ++chunks)
        for (int later = 0; later < 2 * ranks + 9; ++later) {
          hp::pipeline_shape n{ranks, chunks, 2 * ranks};
          n.micro_batches = schedule::period(n).from + later;
          const int q = schedule::period(n).micro_batches;
          if (q == 0 || !hp::check_shape_of<schedule>(n).ok() || (ranks > 6 && later % ranks > 1)) continue;
          std::vector<schedule_oracle::rows> by_size;
          for (int i = 0; i < 5; ++i, n.micro_batches += q) {
            ASSERT_EQ(schedule::period(n).micro_batches, q);
            by_size.push_back(schedule_oracle::rows_of(hp::generate<schedule>(n)));
          }
          n.micro_batches -= 5 * q;
          for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) {
            std::vector<action_row> larger;
            for (const auto& rows : by_size) larger.push_back(rows[r]);
            expect_rows_grow(by_size[0][r], by_size[1][r], q, larger);
          }
          if (::testing::Test::HasFatalFailure()) FAIL() << schedule::name << ' ' << ranks << ' ' << n.micro_batches;
          const auto few = hp::generate<schedule>(n);
          n.micro_batches += q;
          ASSERT_TRUE(growth(few, hp::generate<schedule>(n)).is_periodic()) << schedule::name;
          ++held;
        }
  });
  EXPECT_GT(held, 1900);
}

TEST(row_growth, schedules_that_grow_elsewhere_have_no_period) {
  const auto grows = [](const auto& generate, hp::pipeline_shape n, int q) {
    const hp::pipeline_schedule few = generate(n);
    n.micro_batches += q;
    return growth(few, generate(n)).is_periodic();
  };
  // All forwards first: a micro-batch more puts actions in several places. With one stage a rank that looks like an F and a B
  // at the cut once; no body stands before it, so that nothing is told from it.
  EXPECT_FALSE(grows([](const auto& n) { return hp::generate<hp::looped_breadth_first>(n); }, {4, 2, 12}, 1));
  // Too few micro-batches, and half of a round.
  EXPECT_FALSE(grows([](const auto& n) { return hp::generate<hp::zero_bubble_h2>(n); }, {4, 1, 5}, 1));
  EXPECT_TRUE(grows([](const auto& n) { return hp::generate<hp::zero_bubble_h2>(n); }, {4, 1, 7}, 1));
  EXPECT_FALSE(grows([](const auto& n) { return hp::generate<hp::sequence_1f1b<4>>(n); }, {4, 1, 16}, 2));
  EXPECT_TRUE(grows([](const auto& n) { return hp::generate<hp::sequence_1f1b<4>>(n); }, {4, 1, 16}, 4));
}

TEST(row_growth, one_action_changed_is_found_out) {
  std::mt19937 random(4);
  int left = 0, found_out = 0;
  periodic_schedules::for_each([&](auto one) {
    using schedule = typename decltype(one)::type;
    hp::pipeline_shape n{3, schedule::placement == hp::stage_placement::v ? 2 : 1, 12};
    const hp::pipeline_schedule few = hp::generate<schedule>(n);
    n.micro_batches += schedule::period(n).micro_batches;
    const hp::pipeline_schedule more = hp::generate<schedule>(n);
    for (int i = 0; i < 400; ++i) {
      hp::pipeline_schedule a = few, b = more;
      hp::pipeline_schedule& s = random() % 2 == 0 ? a : b;
      const auto at = static_cast<int>(random() % static_cast<unsigned>(s.action.size));
      hp::pipeline_action x = s.coding().action(s.action[at]);
      if (random() % 2 == 0)
        x.micro_batch = static_cast<int>(random() % static_cast<unsigned>(s.micro_batches));
      else
        x.kind = static_cast<hp::action_kind>(random() % hp::detail::action_kinds);
      if (s.coding().code(x) == s.action[at]) continue;
      s.action[at] = s.coding().code(x);
      if (!growth(a, b).is_periodic() || !hp::check_schedule(a).ok()) {
        ++found_out;
        continue;
      }
      // What is left holds each action once. Order, and an F that became half of a pair, are held by bodies in `a`.
      const hp::pipeline_code code = hp::check_schedule(b).code;
      EXPECT_TRUE(code == hp::pipeline_code::ok || code == hp::pipeline_code::pair_has_no_backward ||
                  code == hp::pipeline_code::waits_in_a_circle)
          << schedule::name << ' ' << hp::text_of(x).text << hp::name_of(code);
      ++left;
    }
  });
  EXPECT_GT(found_out, 50 * left);
  EXPECT_GT(left, 0);
}

}  // namespace
