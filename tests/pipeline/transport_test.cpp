// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/transport.hpp>

#include <hyperparallel/pipeline/place_transfers.hpp>
#include <hyperparallel/pipeline/replay.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "pipeline/schedule_oracle.hpp"

namespace hp = hyperparallel;

namespace {

using schedule_oracle::kind;
using schedule_oracle::rows;

/// What the transports mean, for one state of all ranks: which can go on, and where to. Messages are what travels, with the
/// stage that they go to.
class interleavings {
 public:
  interleavings(const hp::pipeline_schedule& s, hp::transport t) : s_(s), t_(t), rows_(schedule_oracle::rows_of(s)) {}

  /// Whether some order of steps ends in which every rank has ended, and whether some does not: all orders, by search.
  void search() { visit(state{std::vector<std::size_t>(rows_.size(), 0), {}, {}, {}}); }
  bool some_end = false, some_hang = false, crosses = false;

 private:
  using message = std::pair<int, std::pair<int, int>>;  // 0 forward, 1 gradient; stage that it goes to; micro-batch
  struct state {
    std::vector<std::size_t> at;
    std::set<message> there;                                             // on the receiver's rank, where it computes
    std::map<std::pair<int, int>, std::deque<message>> sends, receives;  // posted and not passed, by pair of ranks
    friend bool operator<(const state& a, const state& b) {
      return std::tie(a.at, a.there, a.sends, a.receives) < std::tie(b.at, b.there, b.sends, b.receives);
    }
  };

  int rank_of(int stage, int k) const { return schedule_oracle::rank_of(s_, stage, k); }
  bool local(int a, int b, int k) const { return rank_of(a, k) == rank_of(b, k); }
  bool ran(const state& x, kind wanted, int stage, int k) const {
    const auto r = static_cast<std::size_t>(rank_of(stage, k));
    for (std::size_t i = 0; i < x.at[r]; ++i) {
      const hp::pipeline_action& a = rows_[r][i];
      if (a.stage != stage || a.micro_batch != k) continue;
      if (a.kind == wanted || (wanted == kind::input_gradient && a.kind == kind::backward) ||
          (wanted == kind::forward && a.kind == kind::overlapped_forward))
        return true;
    }
    return false;
  }
  bool can_compute(const state& x, const hp::pipeline_action& a) const {
    const int t = a.stage, k = a.micro_batch;
    if (a.kind == kind::weight_gradient) return ran(x, kind::input_gradient, t, k);
    if (a.kind == kind::forward)
      return t == 0 || (local(t - 1, t, k) ? ran(x, kind::forward, t - 1, k) : x.there.count({0, {t, k}}) > 0);
    return ran(x, kind::forward, t, k) &&
           (t + 1 == s_.stages ||
            (local(t, t + 1, k) ? ran(x, kind::input_gradient, t + 1, k) : x.there.count({1, {t, k}}) > 0));
  }

  void visit(const state& x) {
    if (!seen_.insert(x).second) return;
    bool ended = true, stands = true;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (x.at[r] == rows_[r].size()) continue;
      ended = false;
      const hp::pipeline_action a = rows_[r][x.at[r]];
      state y = x;
      ++y.at[r];
      if (!hp::is_transfer(a.kind)) {
        if (!hp::is_compute(a.kind) || can_compute(x, a)) {
          stands = false;
          visit(y);
        }
        continue;
      }
      const bool forwards = a.kind == kind::send_forward || a.kind == kind::receive_forward;
      const bool sends = a.kind == kind::send_forward || a.kind == kind::send_backward;
      const int to = sends ? a.stage + (forwards ? 1 : -1) : a.stage,
                from = sends ? a.stage : a.stage - (forwards ? 1 : -1);
      if (sends && !ran(x, forwards ? kind::forward : kind::input_gradient, a.stage, a.micro_batch)) continue;
      const message m{forwards ? 0 : 1, {to, a.micro_batch}};
      const std::pair<int, int> pair{rank_of(from, a.micro_batch), rank_of(to, a.micro_batch)};
      if (t_.kind == hp::transport_kind::blocking_rows) {
        if (!sends) continue;  // the sender leads
        const auto peer = static_cast<std::size_t>(pair.second);
        if (x.at[peer] == rows_[peer].size()) continue;
        const hp::pipeline_action& b = rows_[peer][x.at[peer]];
        if (b != hp::pipeline_action{forwards ? kind::receive_forward : kind::receive_backward, to, a.micro_batch})
          continue;
        ++y.at[peer];
        y.there.insert(m);
      } else if (t_.kind == hp::transport_kind::buffered) {
        auto& queue = y.sends[pair];
        if (sends) {
          if (static_cast<int>(queue.size()) >= t_.buffers) continue;
          queue.push_back(m);
        } else {
          if (queue.empty()) continue;
          if (queue.front() != m) {
            crosses = true;
            continue;
          }
          queue.pop_front();
          y.there.insert(m);
        }
      } else {
        (sends ? y.sends : y.receives)[pair].push_back(m);
        auto &left = y.sends[pair], &right = y.receives[pair];
        while (!left.empty() && !right.empty()) {
          if (left.front() != right.front()) {
            crosses = true;
            break;
          }
          y.there.insert(left.front());
          left.pop_front();
          right.pop_front();
        }
        if (crosses) return;
      }
      stands = false;
      visit(y);
    }
    for (const auto* queues : {&x.sends, &x.receives})
      for (const auto& [pair, queue] : *queues) ended = ended && queue.empty();
    if (ended) some_end = true;
    if (!ended && stands) some_hang = true;
  }

  const hp::pipeline_schedule& s_;
  hp::transport t_;
  rows rows_;
  std::set<state> seen_;
};

constexpr hp::transport transports[] = {hp::ordered_queues::value, hp::buffered<1>::value, hp::buffered<2>::value,
                                        hp::blocking_rows::value};

TEST(pipeline_transport, verdicts_are_those_of_all_interleavings) {
  std::mt19937 random(3);
  int safe[4] = {}, hung[4] = {};
  for (int i = 0; i < 5000; ++i) {
    const int which = static_cast<int>(random() % 6);
    const hp::pipeline_shape n{2 + static_cast<int>(random() % 2), 1 + static_cast<int>(random() % 2),
                               1 + static_cast<int>(random() % 2)};
    const char* const names[] = {"GPipe", "1F1B", "Interleaved1F1B", "LoopedBFS", "ZB-V", "Chimera"};
    const hp::named_schedule& named = *hp::schedule_called(names[which]);
    const hp::pipeline_shape shape{n.ranks, named.fixed_chunks > 0 ? named.fixed_chunks : n.chunks, n.micro_batches};
    if (!named.check(shape).ok()) continue;
    const hp::pipeline_schedule placed = hp::place_transfers(named.generate(shape, false));
    rows r = schedule_oracle::rows_of(placed);
    for (int changes = static_cast<int>(random() % 4); changes > 0; --changes) {
      auto& row = r[random() % r.size()];
      const std::size_t a = random() % row.size(), b = random() % 3 == 0 ? random() % row.size() : (a + 1) % row.size();
      std::swap(row[a], row[b]);
    }
    const hp::pipeline_schedule s = schedule_oracle::schedule_of(placed, r);
    for (int t = 0; t < 4; ++t) {
      interleavings all(s, transports[t]);
      all.search();
      const hp::pipeline_status status = hp::check_schedule(s, transports[t]);
      EXPECT_EQ(status.ok(), all.some_end && !all.some_hang && !all.crosses)
          << named.name << " transport " << t << ": " << hp::name_of(status.code);
      EXPECT_FALSE(all.some_end && all.some_hang) << "who runs first decides";
      ++(status.ok() ? safe : hung)[t];
    }
  }
  for (int t = 0; t < 4; ++t) {
    EXPECT_GT(safe[t], 500) << t;
    EXPECT_GT(hung[t], 500) << t;
  }
}

TEST(pipeline_transport, what_is_placed_by_the_rule_ends_under_every_transport) {
  for (const hp::named_schedule& named : hp::schedule_table.item)
    for (int ranks = 1; ranks <= 6; ++ranks)
      for (int chunks = 1; chunks <= 3; ++chunks)
        for (int m = 1; m <= 13; ++m) {
          const hp::pipeline_shape n{ranks, chunks, m};
          if (!named.check(n).ok()) continue;
          const hp::pipeline_schedule s = named.generate(n, false), placed = hp::place_transfers(s);
          ASSERT_TRUE(hp::check_messages(placed).ok());
          for (const std::int64_t latency : {0, 3}) {
            const hp::pipeline_costs c = hp::equal_stages({3, 2, 1}, latency);
            const hp::pipeline_account light = hp::replay(s, c);
            for (const hp::transport t : transports) {
              const hp::pipeline_account a = hp::replay(placed, c, t);
              ASSERT_TRUE(a.ok()) << named.name << ' ' << hp::name_of(a.status.code);
              EXPECT_GE(a.makespan, light.makespan);
              EXPECT_EQ(a.ideal, light.ideal);
              EXPECT_EQ(a.peak_until_weight_gradient(), light.peak_until_weight_gradient());
            }
            // More buffers never hurt.
            std::int64_t before = hp::not_counted;
            for (int k = 1; k <= 4; ++k) {
              const std::int64_t now = hp::replay(placed, c, {hp::transport_kind::buffered, k}).makespan;
              EXPECT_LE(now, before);
              before = now;
            }
          }
        }
}

TEST(pipeline_transport, blocking_rows_cost_what_was_measured) {
  // ZB-V on 16 ranks with 64 micro-batches in unit times: 399 with unbounded buffers, 571 where a send blocks its rank.
  const hp::pipeline_schedule placed = hp::place_transfers(hp::generate<hp::zero_bubble_v>({16, 2, 64}));
  EXPECT_EQ(hp::replay(placed, {}, hp::unbounded::value).makespan, 399);
  EXPECT_EQ(hp::replay(placed, {}, hp::ordered_queues::value).makespan, 399);
  EXPECT_EQ(hp::replay(placed, {}, hp::blocking_rows::value).makespan, 571);
}

TEST(pipeline_transport, a_send_before_a_receive_hangs_in_blocking_rows_alone) {
  const rows r = {{{kind::forward, 0, 0},
                   {kind::send_forward, 0, 0},
                   {kind::forward, 0, 1},
                   {kind::send_forward, 0, 1},
                   {kind::receive_backward, 0, 0},
                   {kind::backward, 0, 0},
                   {kind::receive_backward, 0, 1},
                   {kind::backward, 0, 1}},
                  {{kind::receive_forward, 1, 0},
                   {kind::forward, 1, 0},
                   {kind::backward, 1, 0},
                   {kind::send_backward, 1, 0},
                   {kind::receive_forward, 1, 1},
                   {kind::forward, 1, 1},
                   {kind::backward, 1, 1},
                   {kind::send_backward, 1, 1}}};
  const hp::pipeline_schedule s =
      schedule_oracle::schedule_of(hp::empty_schedule({2, 1, 2}, hp::stage_placement::loop), r);
  EXPECT_TRUE(hp::check_schedule(s, hp::ordered_queues::value).ok());
  EXPECT_TRUE(hp::check_schedule(s, hp::buffered<1>::value).ok());
  const hp::pipeline_status status = hp::check_schedule(s, hp::blocking_rows::value);
  ASSERT_EQ(status.code, hp::pipeline_code::waits_in_a_circle);
  ASSERT_EQ(status.cycle.size, 2);
  EXPECT_EQ(status.cycle[0], (hp::waiting_action{0, 3, {kind::send_forward, 0, 1}, {kind::receive_forward, 1, 1}}));
  EXPECT_EQ(status.cycle[1], (hp::waiting_action{1, 3, {kind::send_backward, 1, 0}, {kind::receive_backward, 0, 0}}));
}

}  // namespace
