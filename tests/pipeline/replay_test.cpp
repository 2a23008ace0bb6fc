// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/replay.hpp>

#include <hyperparallel/pipeline/place_transfers.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/schedule_oracle.hpp"

namespace hp = hyperparallel;

namespace {

using code = hp::pipeline_code;
using schedule_oracle::kind;
using schedule_oracle::rows;

hp::pipeline_schedule any_schedule(std::mt19937& random) {
  for (;;) {
    const hp::named_schedule& named = hp::schedule_table.item[random() % hp::detail::published_schedule_count];
    const int chunks = named.fixed_chunks > 0 ? named.fixed_chunks : 1 + static_cast<int>(random() % 3);
    const hp::pipeline_shape n{1 + static_cast<int>(random() % 5), chunks, 1 + static_cast<int>(random() % 11)};
    if (named.check(n).ok()) return named.generate(n, random() % 2 == 0);
  }
}

hp::pipeline_costs any_costs(std::mt19937& random, const hp::pipeline_schedule& s) {
  hp::pipeline_costs c;
  const int lengths[] = {0, 1, s.stages, s.stages * s.micro_batches};
  const int length = lengths[random() % 4];
  for (int i = 0; i < length; ++i)
    c.times.push({static_cast<int>(random() % 9), static_cast<int>(random() % 9), static_cast<int>(random() % 9)});
  c.latency = random() % 4;
  c.overlapped_pair = random() % 2 == 0 ? -1 : static_cast<int>(random() % 20);
  return c;
}

void expect_as_the_oracle_says(const hp::pipeline_schedule& s, const hp::pipeline_costs& c) {
  const schedule_oracle::outcome o = schedule_oracle::run(s, c);
  const hp::pipeline_account a = hp::replay(s, c);
  ASSERT_EQ(a.ok(), o.safe) << hp::name_of(a.status.code);
  if (!o.safe) return;
  EXPECT_EQ(a.makespan, o.makespan);
  EXPECT_EQ(a.longest_rank_span, o.span);
  for (int r = 0; r < s.ranks; ++r) {
    const auto at = static_cast<std::size_t>(r);
    EXPECT_EQ(a.rank[r].busy, o.busy[at]);
    EXPECT_EQ(a.rank[r].peak_until_weight_gradient, o.peak[at]);
    EXPECT_EQ(a.rank[r].peak_until_input_gradient, o.peak_until_input[at]);
  }
}

TEST(pipeline_replay, published_schedules_are_timed_as_the_oracle_times_them) {
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    const hp::pipeline_schedule s = any_schedule(random);
    expect_as_the_oracle_says(s, any_costs(random, s));
  }
}

TEST(pipeline_replay, what_is_changed_at_random_is_safe_where_the_oracle_says_so) {
  std::mt19937 random(2);
  int refused = 0;
  for (int i = 0; i < 6000; ++i) {
    const hp::pipeline_schedule s = any_schedule(random);
    rows r = schedule_oracle::rows_of(s);
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes) {
      auto& row = r[random() % r.size()];
      if (row.size() < 2) continue;
      const std::size_t a = random() % row.size(), b = random() % row.size();
      switch (random() % 5) {
        case 0:
          std::swap(row[a], row[b]);
          break;
        case 1:
          std::swap(row[a], row[a + 1 < row.size() ? a + 1 : a - 1]);
          break;
        case 2:
          row.erase(row.begin() + static_cast<std::ptrdiff_t>(a));
          break;
        case 3:
          row.insert(row.begin() + static_cast<std::ptrdiff_t>(a), row[b]);
          break;
        default: {
          auto& other = r[random() % r.size()];
          const hp::pipeline_action moved = row[a];
          row.erase(row.begin() + static_cast<std::ptrdiff_t>(a));
          other.push_back(moved);
        }
      }
    }
    const hp::pipeline_schedule changed = schedule_oracle::schedule_of(s, r);
    refused += !hp::replay(changed).ok();
    expect_as_the_oracle_says(changed, any_costs(random, changed));
  }
  EXPECT_GT(refused, 3000);
}

TEST(pipeline_replay, every_order_of_a_small_pipeline_is_judged_as_the_oracle_judges_it) {
  // Two ranks, two micro-batches: all 6! orders of each rank's F, I, W are too many to pair, so one rank keeps its order.
  const hp::pipeline_schedule s = hp::generate<hp::zero_bubble_h1>({2, 1, 2});
  for (int rank = 0; rank < 2; ++rank) {
    rows r = schedule_oracle::rows_of(s);
    auto& row = r[static_cast<std::size_t>(rank)];
    std::vector<std::size_t> order(row.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto original = row;
    int safe = 0;
    do {
      for (std::size_t i = 0; i < order.size(); ++i) row[i] = original[order[i]];
      const hp::pipeline_schedule one = schedule_oracle::schedule_of(s, r);
      expect_as_the_oracle_says(one, {});
      safe += hp::replay(one).ok();
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_GT(safe, 1);
    EXPECT_LT(safe, 720);
  }
}

/// The schedule of rows of actions on ranks in a loop.
hp::pipeline_schedule of_rows(const rows& r, int micro_batches) {
  const hp::pipeline_shape n{static_cast<int>(r.size()), 1, micro_batches};
  return schedule_oracle::schedule_of(hp::empty_schedule(n, hp::stage_placement::loop), r);
}

TEST(pipeline_replay, a_refusal_names_rank_action_and_place) {
  const rows good = {{{kind::forward, 0, 0}, {kind::backward, 0, 0}},
                     {{kind::forward, 1, 0}, {kind::input_gradient, 1, 0}, {kind::weight_gradient, 1, 0}}};
  ASSERT_TRUE(hp::replay(of_rows(good, 1)).ok());
  rows r = good;
  r[1].pop_back();
  hp::pipeline_status s = hp::check_schedule(of_rows(r, 1));
  EXPECT_EQ(s.code, code::action_is_missing);
  EXPECT_EQ(s.rank, 1);
  EXPECT_EQ(s.action, (hp::pipeline_action{kind::weight_gradient, 1, 0}));

  r = good;
  r[0].push_back({kind::weight_gradient, 0, 0});
  s = hp::check_schedule(of_rows(r, 1));
  EXPECT_EQ(s.code, code::action_stands_twice);
  EXPECT_EQ(s.rank, 0);
  EXPECT_EQ(s.position, 2);

  r = good;
  std::swap(r[0][0], r[1][0]);
  s = hp::check_schedule(of_rows(r, 1));
  EXPECT_EQ(s.code, code::action_is_on_a_wrong_rank);
  EXPECT_EQ(s.rank, 1);
  EXPECT_EQ(s.action, good[0][0]);
  EXPECT_EQ(s.needed, 0);

  r = good;
  std::swap(r[0][0], r[0][1]);
  s = hp::check_schedule(of_rows(r, 1));
  EXPECT_EQ(s.code, code::waits_in_a_circle);
  ASSERT_EQ(s.cycle.size, 1);
  EXPECT_EQ(s.cycle[0].action, good[0][1]);
  EXPECT_EQ(s.cycle[0].needs, good[0][0]);

  r = good;
  r[0][0].kind = kind::overlapped_forward;
  EXPECT_EQ(hp::check_schedule(of_rows({{r[0][0]}, r[1]}, 1)).code, code::pair_has_no_backward);
}

TEST(pipeline_replay, a_circle_is_told_link_by_link) {
  // Rank 0 wants the gradient of micro-batch 0 before it sends micro-batch 1, which rank 1 runs first.
  const rows r = {{{kind::forward, 0, 0}, {kind::backward, 0, 0}, {kind::forward, 0, 1}, {kind::backward, 0, 1}},
                  {{kind::forward, 1, 1}, {kind::backward, 1, 1}, {kind::forward, 1, 0}, {kind::backward, 1, 0}}};
  const hp::pipeline_status s = hp::check_schedule(of_rows(r, 2));
  ASSERT_EQ(s.code, code::waits_in_a_circle);
  ASSERT_EQ(s.cycle.size, 2);
  EXPECT_EQ(s.cycle[0], (hp::waiting_action{0, 1, {kind::backward, 0, 0}, {kind::backward, 1, 0}}));
  EXPECT_EQ(s.cycle[1], (hp::waiting_action{1, 0, {kind::forward, 1, 1}, {kind::forward, 0, 1}}));
}

TEST(pipeline_replay, activations_are_offloaded_after_f_and_back_before_their_gradients) {
  const auto with = [](std::vector<hp::pipeline_action> row) {
    return hp::check_schedule(of_rows({std::move(row)}, 1)).code;
  };
  const hp::pipeline_action f{kind::forward, 0, 0}, b{kind::backward, 0, 0}, out{kind::offload, 0, 0},
      in{kind::reload, 0, 0};
  EXPECT_EQ(with({f, out, in, b}), code::ok);
  EXPECT_EQ(with({f, out, b}), code::activation_is_elsewhere);
  EXPECT_EQ(with({f, out, out, in, b}), code::activation_is_elsewhere);
  EXPECT_EQ(with({f, in, b}), code::activation_is_elsewhere);
  EXPECT_EQ(with({out, f, in, b}), code::activation_is_elsewhere);
  EXPECT_EQ(with({f, b, out}), code::activation_is_elsewhere);
  const hp::pipeline_action i{kind::input_gradient, 0, 0}, w{kind::weight_gradient, 0, 0};
  EXPECT_EQ(with({f, i, out, in, w}), code::ok);
  EXPECT_EQ(with({f, i, out, w}), code::activation_is_elsewhere);
}

TEST(pipeline_replay, bytes_peak_where_activations_pile_up) {
  hp::pipeline_costs c;
  c.bytes.push({30, 12});
  // 1F1B holds P − r whole micro-batches on rank r.
  const hp::pipeline_account a = hp::replay(hp::generate<hp::one_forward_one_backward>({4, 1, 9}), c);
  for (int r = 0; r < 4; ++r) EXPECT_EQ(a.rank[r].peak_bytes, (4 - r) * 42);
  EXPECT_EQ(a.peak_bytes(), 4 * 42);
  // Of ZB-H1, W holds its share of r more micro-batches.
  const hp::pipeline_account h1 = hp::replay(hp::generate<hp::zero_bubble_h1>({4, 1, 9}), c);
  for (int r = 0; r < 4; ++r) EXPECT_EQ(h1.rank[r].peak_bytes, (4 - r) * 42 + r * 12);
  // Offloaded, one micro-batch more fits in the same bytes.
  const rows spill = {{{kind::forward, 0, 0},
                       {kind::offload, 0, 0},
                       {kind::forward, 0, 1},
                       {kind::backward, 0, 1},
                       {kind::reload, 0, 0},
                       {kind::backward, 0, 0}}};
  EXPECT_EQ(hp::replay(of_rows(spill, 2), c).peak_bytes(), 42);
}

TEST(pipeline_replay, starts_are_recorded_for_each_action_and_idle_slots_have_none) {
  const hp::pipeline_schedule s = hp::generate<hp::gpipe>({2, 1, 2}, true);
  hp::growing_array<std::int64_t> starts;
  ASSERT_TRUE(hp::replay(s, hp::equal_stages({2, 3, 1}), {}, &starts).ok());
  const std::int64_t expected[] = {0, 2, -1, -1, -1, 10, 14, -1, 2, 4, 6, 10};
  ASSERT_EQ(starts.size, 12);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(starts[i], expected[i]) << i;
}

TEST(pipeline_replay, recomputation_takes_time_and_transfers_take_none) {
  hp::pipeline_costs c = hp::equal_stages({4, 2, 2});
  c.recompute = 3;
  const rows r = {{{kind::unshard, 0, 0},
                   {kind::forward, 0, 0},
                   {kind::recompute, 0, 0},
                   {kind::backward, 0, 0},
                   {kind::reduce_gradient, 0, 0},
                   {kind::reshard, 0, 0}}};
  const hp::pipeline_account a = hp::replay(of_rows(r, 1), c);
  EXPECT_EQ(a.makespan, 4 + 3 + 4);
  EXPECT_EQ(a.rank[0].first_start, 0);
}

TEST(pipeline_replay, no_amount_of_a_refused_schedule_meets_a_limit) {
  hp::pipeline_costs c;
  c.times.resize(3, {1, 1, 1});
  const hp::pipeline_account a = hp::replay(hp::generate<hp::gpipe>({2, 1, 2}), c);
  EXPECT_EQ(a.status.code, code::costs_do_not_fit);
  for (const std::int64_t amount :
       {a.makespan, a.longest_rank_span, a.ideal, a.bubble(), a.bubble_of_span(), a.peak_bytes()})
    EXPECT_EQ(amount, hp::not_counted);
  EXPECT_EQ(a.peak_until_weight_gradient(), 0x7fffffff);
}

TEST(pipeline_replay, unequal_stages_wait_for_the_slowest) {
  // Stages of 1.6, 1, 1 and 0.8; F, I and W alike; in thirtieths.
  hp::pipeline_costs c;
  for (const int tenths : {16, 10, 10, 8}) c.times.push({tenths, tenths, tenths});
  const hp::pipeline_account a = hp::replay(hp::generate<hp::one_forward_one_backward>({4, 1, 16}), c);
  EXPECT_EQ(a.makespan, 3 * 268);
  EXPECT_EQ(a.ideal, 3 * 176);
  EXPECT_EQ(1000 * a.bubble() / a.makespan, 343);   // 34.3 %
  const std::int64_t above = 16 * 48 + (132 - 48);  // m of the slowest, one of each other
  EXPECT_EQ(100 * (above - a.ideal) / above, 38);
  // The same layers in stages that are alike: 15.8 %.
  const hp::pipeline_account balanced =
      hp::replay(hp::generate<hp::one_forward_one_backward>({4, 1, 16}), hp::equal_stages({11, 11, 11}));
  EXPECT_EQ(balanced.ideal, a.ideal);
  EXPECT_EQ(1000 * balanced.bubble() / balanced.makespan, 157);
}

/// `s` with `more` ranks behind its own that have no action.
hp::pipeline_schedule with_idle_ranks(hp::pipeline_schedule s, int more) {
  s.ranks += more;
  for (int i = 0; i < more; ++i) s.first.push(s.action.size);
  return s;
}

/// A circle from its least rank on: where it is told to begin depends on how many ranks there are.
hp::pipeline_status from_least_rank(hp::pipeline_status s) {
  if (s.code != code::waits_in_a_circle) return s;
  const auto by_rank = [](const hp::waiting_action& a, const hp::waiting_action& b) { return a.rank < b.rank; };
  std::rotate(s.cycle.begin(), std::min_element(s.cycle.begin(), s.cycle.end(), by_rank), s.cycle.end());
  s.rank = s.cycle[0].rank;
  s.position = s.cycle[0].position;
  s.action = s.cycle[0].action;
  return s;
}

constexpr hp::transport all_transports[] = {hp::unbounded::value, hp::ordered_queues::value, hp::buffered<1>::value,
                                            hp::buffered<3>::value, hp::blocking_rows::value};

// So the replay of many ranks, which leaves out those that wait, is that of whole sweeps: refusals too.
TEST(pipeline_replay, ranks_without_actions_change_nothing) {
  std::mt19937 random(49);
  int safe = 0, refused = 0;
  for (int i = 0; i < 1500; ++i) {
    const hp::pipeline_schedule published = any_schedule(random);
    const hp::transport t = all_transports[random() % 5];
    const bool transfers = t.kind != hp::transport_kind::unbounded;
    rows r = schedule_oracle::rows_of(transfers ? hp::place_transfers(published) : published);
    for (int changes = static_cast<int>(random() % 4); changes > 0; --changes) {
      auto& row = r[random() % r.size()];
      const std::size_t a = random() % row.size(), b = random() % 3 == 0 ? random() % row.size() : (a + 1) % row.size();
      if (row[a].kind != kind::overlapped_forward && row[b].kind != kind::overlapped_forward)
        random() % 8 == 0 ? void(row[a] = row[b]) : std::swap(row[a], row[b]);
    }
    const hp::pipeline_schedule s = schedule_oracle::schedule_of(published, r);
    const hp::pipeline_schedule wide = with_idle_ranks(s, 64 + static_cast<int>(random() % 200));
    const hp::pipeline_costs c = any_costs(random, s);
    hp::growing_array<std::int64_t> starts, wide_starts;
    const hp::pipeline_account a = hp::replay(s, c, t, &starts), b = hp::replay(wide, c, t, &wide_starts);
    ASSERT_EQ(from_least_rank(b.status), from_least_rank(a.status))
        << hp::name_of(a.status.code) << ' ' << hp::name_of(b.status.code);
    ++(a.ok() ? safe : refused);
    if (!a.ok()) continue;
    EXPECT_EQ(b.makespan, a.makespan);
    EXPECT_TRUE(wide_starts == starts);
    EXPECT_EQ(b.longest_rank_span, a.longest_rank_span);
    for (int rank = 0; rank < s.ranks; ++rank) EXPECT_EQ(b.rank[rank], a.rank[rank]);
    EXPECT_EQ(b.rank[s.ranks], hp::rank_account{});
    if (transfers) continue;
    const hp::pipeline_schedule placed = hp::place_transfers(s), wide_placed = hp::place_transfers(wide);
    EXPECT_TRUE(wide_placed.action == placed.action);
    EXPECT_EQ(wide_placed.first[s.ranks], placed.first[s.ranks]);
  }
  EXPECT_GT(safe, 300);
  EXPECT_GT(refused, 300);
}

/// 1F1B of `ranks` stages with two micro-batches, the stages on ranks in an order drawn at random.
hp::pipeline_schedule shuffled(int ranks, std::mt19937& random) {
  std::vector<int> stage_of(static_cast<std::size_t>(ranks));
  std::iota(stage_of.begin(), stage_of.end(), 0);
  std::shuffle(stage_of.begin(), stage_of.end(), random);
  hp::pipeline_schedule s = hp::empty_schedule({ranks, 1, 2}, hp::stage_placement::loop);
  for (int r = 0; r < ranks; ++r) s.rank_of_stage[stage_of[static_cast<std::size_t>(r)]] = r;
  hp::row_writer out(s, false);
  for (const int stage : stage_of) {
    for (const int k : {0, 1}) out.forward(stage, k);
    for (const int k : {0, 1}) out.backward(stage, k);
    s.first.push(s.action.size);
  }
  return s;
}

// Time and memory follow the entries, not the square of the ranks: 60 000 ranks squared are more than an int counts.
TEST(pipeline_replay, many_ranks_in_any_order_take_what_their_entries_take) {
  std::mt19937 random(8);
  constexpr int ranks = 60'000;
  const hp::pipeline_schedule s = shuffled(ranks, random);
  // Forwards of the two micro-batches go up, one behind the other, and their B of twice the length down.
  const std::int64_t expected = ranks + 1 + 2 * (ranks + 1);
  EXPECT_EQ(hp::replay(s).makespan, expected);
  const hp::pipeline_schedule placed = hp::place_transfers(s);
  EXPECT_TRUE(hp::check_messages(placed).ok());
  for (const hp::transport t : all_transports) {
    const hp::pipeline_account a = hp::replay(placed, {}, t);
    ASSERT_TRUE(a.ok()) << hp::name_of(a.status.code);
    EXPECT_GE(a.makespan, expected);
  }
  // Refusals are as cheap: an action that is missing, and all ranks in one circle.
  rows r = schedule_oracle::rows_of(s);
  const auto last = static_cast<std::size_t>(s.rank_of_stage[ranks - 1]);
  r[last].pop_back();
  const hp::pipeline_status missing = hp::check_schedule(schedule_oracle::schedule_of(s, r));
  EXPECT_EQ(missing.code, code::action_is_missing);
  EXPECT_EQ(missing.action, (hp::pipeline_action{kind::backward, ranks - 1, 1})) << "as the schedule writes it";
  r[last] = {{kind::backward, ranks - 1, 0}, {kind::forward, ranks - 1, 0}};
  r[last].insert(r[last].end(), {{kind::forward, ranks - 1, 1}, {kind::backward, ranks - 1, 1}});
  EXPECT_EQ(hp::check_schedule(schedule_oracle::schedule_of(s, r)).code, code::waits_in_a_circle);
}

}  // namespace
