// SPDX-License-Identifier: Apache-2.0
// Split flows of training steps under every named strategy, whole and broken in one place: the proof accepts all that are whole and
// none that is unsafe. The oracle (split_oracle.hpp) knows nothing of the rule.

#include <hyperparallel/lowering/split_proof.hpp>

#include <lowering/broken_tables.hpp>
#include <lowering/one_move.hpp>
#include <lowering/random_cache_actions.hpp>
#include <lowering/runnable_program.hpp>
#include <lowering/split_oracle.hpp>
#include <models/piped_model.hpp>
#include <support/tries.hpp>
#include <world/small_models.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace hp = hyperparallel;

namespace {

using hp::split_kind;
using hp::split_proof_code;
using programs::split_oracle;

struct split {
  std::shared_ptr<const hp::lowered_program> lowered;
  hp::split_flow flow;

  hp::split_proof proof() const { return hp::prove_split(*lowered, lowered->run[0], flow); }
  bool is_safe() const { return split_oracle(*lowered, flow).is_safe(); }
};

hp::growing_array<int> list(std::initializer_list<int> numbers) {
  hp::growing_array<int> all;
  for (const int n : numbers) all.push(n);
  return all;
}

/// Each strategy on two and four ranks, on all sorts of links, with windows of one, two and eight rows, the ranks on processes
/// of their own or together: one of each by turns, or all of them.
std::vector<split> whole_splits(bool all) {
  std::vector<split> found;
  int turn = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i)
    for (const int devices : {4, 2}) {
      const hp::sharded_program p = programs::program_of(hp::named_strategy_at(i).name, devices, 1 + i % 3 / 2);
      if (p.status.code != hp::strategy_code::ok) continue;
      int n = 0;
      for (const hp::interconnect& links : programs::links_of(p)) {
        if (!all && n++ != i % 3) continue;
        const auto l = std::make_shared<const hp::lowered_program>(
            hp::lower(p, {.topology = links, .vector_queue = i % 2 == 0, .lookahead = i % 4},
                      hp::micro_phases | hp::update_phases));
        EXPECT_TRUE(l->status.ok());
        for (const int window : {1, 2, 8})
          for (const bool alone : {true, false}) {
            if (!all && ++turn % 3 != 0) continue;
            const hp::growing_array<int> home = devices == 2 ? (alone ? list({1, 0}) : list({0, 2}))
                                                : alone      ? list({2, 0, 3, 1})
                                                             : list({1, 0, 1, 2});
            found.push_back({l, hp::split_messages(*l, l->run[0], home, devices == 2 || !alone ? 3 : 4,
                                                   {.most_in_flight = window})});
          }
      }
    }
  // Pipelines: a part on a process of its own, parts torn apart, and all on one.
  for (const auto& [schedule, strategy] : {std::pair{"1F1B", "tp"}, {"ZB-H1", "dp"}, {"GPipe", "tp-sp"}}) {
    const hp::pipelined_program p = programs::piped({hp::schedule_called(schedule), {2, 1, 2}}, strategy, 2);
    EXPECT_TRUE(p.ok());
    const auto l =
        std::make_shared<const hp::lowered_program>(hp::lower(p.program, {}, hp::micro_phases | hp::update_phases));
    EXPECT_TRUE(l->status.ok());
    for (const int window : {1, 2, 8})
      for (const hp::growing_array<int>& home : {list({0, 0, 1, 1}), list({2, 0, 1, 2}), list({0, 1, 2, 3})})
        found.push_back({l, hp::split_messages(*l, l->run[0], home, 4, {.most_in_flight = window})});
  }
  return found;
}

std::string text_of(const hp::split_proof& p) {
  return std::string(hp::to_text(p.code)) + ": " + hp::name_of(p.task.kind) + " of row " + std::to_string(p.task.row) +
         " on process " + std::to_string(p.task.process) + ", " + hp::to_text(p.rule);
}

TEST(SplitProof, AcceptsTheSplitFlowsOfEveryStrategy) {
  int strategies = 0, safe = 0;
  std::shared_ptr<const hp::lowered_program> last;
  for (const split& s : whole_splits(true)) {
    ++strategies;
    EXPECT_EQ(s.proof().code, split_proof_code::ok) << text_of(s.proof());
    if (tested::exhaustive() || strategies % 7 == 0) safe += s.is_safe() ? 1 : 0;
  }
  EXPECT_GE(strategies, 700);
  EXPECT_EQ(safe, tested::exhaustive() ? strategies : strategies / 7);
}

// With tiers of memory, and moves of all sorts.
TEST(SplitProof, AcceptsRandomPrograms) {
  std::mt19937 random(7);
  int several_tiers = 0;
  for (int n = tested::tries(40, 600); n > 0; --n) {
    hp::sharded_program p;
    if (n % 2 == 0) {
      p = programs::random_program(random, {4, 60, 2000, 0.35});
    } else {
      const hp::sharded_program within = small_models::two_layers_on(4, n % 4 == 1);
      const programs::cache_plan plan = programs::random_cache_plan(within, random, {.recomputed = 0});
      hp::cache_insertion_status status;
      p = hp::insert_cache_operators(within, plan.home_tier, plan.action, status);
      ASSERT_EQ(status.code, hp::cache_insertion_code::ok);
    }
    const auto l = std::make_shared<const hp::lowered_program>(
        hp::lower(p, {.vector_queue = n % 3 == 0, .lookahead = n % 4}, hp::micro_phases | hp::update_phases));
    ASSERT_TRUE(l->status.ok());
    several_tiers += hp::tiers_of(l->program) > 1 ? 1 : 0;
    hp::growing_array<int> home;
    for (int r = 0; r < hp::position_count(l->program.mesh.shape); ++r) home.push(static_cast<int>(random() % 5));
    const split s{l, hp::split_messages(*l, l->run[0], home, 5, {.most_in_flight = 1 + n % 9})};
    EXPECT_TRUE(s.is_safe());
    EXPECT_EQ(s.proof().code, split_proof_code::ok) << text_of(s.proof());
  }
  EXPECT_GT(several_tiers, 10);
}

// ---- broken in one place ----

enum class mutation { dropped_message, doubled_message, crossed_messages, wrong_order, missing_credit, count };
constexpr const char* mutation_names[] = {"dropped message", "doubled message", "crossed messages", "wrong order",
                                          "missing credit"};

bool is_message(split_kind k) { return k == split_kind::send || k == split_kind::receive; }
using entries = std::vector<hp::split_entry>;
entries entries_of(const hp::split_flow& f, int process) { return {f.entry[process].begin(), f.entry[process].end()}; }
void put(hp::split_flow& f, int process, const entries& all) {
  f.entry[process].clear();
  for (const hp::split_entry& e : all) f.entry[process].push(e);
}

/// The row's entries from its open to its copy go in front of the close of the row that had its place before.
bool take_place_early(hp::split_flow& f, int process, int row) {
  entries all = entries_of(f, process);
  const auto is = [&](split_kind k) { return [=](const hp::split_entry& e) { return e.kind == k && e.row == row; }; };
  const auto open = std::ranges::find_if(all, is(split_kind::open));
  if (open == all.end()) return false;
  const auto behind = std::ranges::find_if(all, is(split_kind::copy)) + 1;
  auto before = open;
  while (before != all.begin() && !((before - 1)->kind == split_kind::open && (before - 1)->place == open->place))
    --before;
  if (before == all.begin()) return false;
  const int tenant = (before - 1)->row;
  const auto close = std::ranges::find_if(
      all, [&](const hp::split_entry& e) { return e.kind == split_kind::close && e.row == tenant; });
  if (close >= open) return false;
  std::rotate(close, open, behind);
  put(f, process, all);
  return true;
}

/// All that the process does in row `later` goes in front of row `earlier`.
void do_row_earlier(hp::split_flow& f, int process, int later, int earlier) {
  entries all = entries_of(f, process), moved;
  for (const hp::split_entry& e : all)
    if (e.row == later) moved.push_back(e);
  std::erase_if(all, [&](const hp::split_entry& e) { return e.row == later; });
  all.insert(std::ranges::find_if(all, [&](const hp::split_entry& e) { return e.row == earlier; }), moved.begin(),
             moved.end());
  put(f, process, all);
}

struct draw {
  hp::split_flow& f;
  std::mt19937& random;

  std::size_t below(std::size_t n) const { return static_cast<std::size_t>(random() % n); }
  bool coin() const { return random() % 2 == 0; }
  static std::ptrdiff_t at(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }

  /// Visits the list of the process with the message, and for every other draw also that of its peer, with the place of
  /// the message there.
  template <class Visit>
  bool at_its_ends(int process, std::size_t i, const Visit& visit) const {
    const hp::split_entry e = f.entry[process][static_cast<int>(i)];
    if (!is_message(e.kind)) return false;
    const hp::split_entry met{e.kind == split_kind::send ? split_kind::receive : split_kind::send, e.row, process};
    entries here = entries_of(f, process), there = entries_of(f, e.peer);
    visit(here, i);
    put(f, process, here);
    if (coin()) return true;
    visit(there, static_cast<std::size_t>(std::ranges::find(there, met) - there.begin()));
    put(f, e.peer, there);
    return true;
  }

  bool dropped(int process, std::size_t i) const {
    return at_its_ends(process, i, [&](entries& all, std::size_t k) { all.erase(all.begin() + at(k)); });
  }
  bool doubled(int process, std::size_t i) const {
    return at_its_ends(process, i, [&](entries& all, std::size_t k) {
      const hp::split_entry twice = all[k];
      all.insert(all.begin() + at(coin() ? k : below(all.size())), twice);
    });
  }
  /// With the next message of the pair, or any other one.
  bool crossed(int process, std::size_t i) const {
    const bool next = coin();
    return at_its_ends(process, i, [&](entries& all, std::size_t k) {
      std::vector<std::size_t> others;
      for (std::size_t o = 0; o < all.size(); ++o)
        if (o != k && all[o].kind == all[k].kind && all[o].peer == all[k].peer && (!next || o > k)) others.push_back(o);
      if (!others.empty()) std::swap(all[k], all[next ? others.front() : others[below(others.size())]]);
    });
  }
  /// One entry, or a whole row on some of the processes.
  bool moved(int process, std::size_t i) const {
    entries all = entries_of(f, process);
    const std::size_t to = coin() ? below(all.size()) : std::min(all.size() - 1, i + below(9));
    if (coin()) {
      const int later = all[std::max(i, to)].row, earlier = all[std::min(i, to)].row;
      for (int p = 0; p < f.processes(); ++p)
        if (later != earlier && f.entry[p].size > 0 && coin()) do_row_earlier(f, p, later, earlier);
      return later != earlier;
    }
    const hp::split_entry one = all[i];
    all.erase(all.begin() + at(i));
    all.insert(all.begin() + at(to), one);
    put(f, process, all);
    return true;
  }
  /// A row that does not wait for its place, on one process or all, or takes another one.
  bool without_credit(int process, std::size_t i) const {
    entries all = entries_of(f, process);
    if (all[i].kind != split_kind::open) return false;
    if (coin()) {
      bool taken = false;
      for (int p = 0; p < f.processes(); ++p) taken = take_place_early(f, p, all[i].row) || taken;
      return taken;
    }
    if (coin()) return take_place_early(f, process, all[i].row);
    all[i].place = static_cast<int>(below(static_cast<std::size_t>(f.window) + 1));
    put(f, process, all);
    return true;
  }
};

bool mutate(mutation how, hp::split_flow& f, std::mt19937& random) {
  const draw d{f, random};
  const int process = static_cast<int>(d.below(static_cast<std::size_t>(f.processes())));
  if (f.entry[process].size == 0) return false;
  const std::size_t i = d.below(static_cast<std::size_t>(f.entry[process].size));
  switch (how) {
    case mutation::dropped_message:
      return d.dropped(process, i);
    case mutation::doubled_message:
      return d.doubled(process, i);
    case mutation::crossed_messages:
      return d.crossed(process, i);
    case mutation::wrong_order:
      return d.moved(process, i);
    case mutation::missing_credit:
      return d.without_credit(process, i);
    case mutation::count:
      break;
  }
  return false;
}

TEST(SplitProof, NoBrokenSplitFlowIsAccepted) {
  std::mt19937 random(39);
  const std::vector<split> whole = whole_splits(tested::exhaustive());
  const int wanted = tested::tries(50, 500);
  for (int k = 0; k < static_cast<int>(mutation::count); ++k) {
    int unsafe = 0, harmless = 0, refused_harmless = 0, drawn = 0;
    for (; unsafe < wanted && drawn < 400 * wanted; ++drawn) {
      split s = whole[random() % whole.size()];
      if (!mutate(static_cast<mutation>(k), s.flow, random)) continue;
      const bool accepted = s.proof().code == split_proof_code::ok, safe = s.is_safe();
      ASSERT_FALSE(accepted && !safe) << mutation_names[k] << ", draw " << drawn;
      (safe ? harmless : unsafe) += 1;
      refused_harmless += safe && !accepted ? 1 : 0;
    }
    EXPECT_EQ(unsafe, wanted) << mutation_names[k];
    std::printf("%-18s %d unsafe, none accepted; %d harmless, %d of them refused\n", mutation_names[k], unsafe,
                harmless, refused_harmless);
  }
}

// What is wrong with a flow, one mistake for each answer.
TEST(SplitProof, SaysWhatIsWrong) {
  const auto l = std::make_shared<const hp::lowered_program>(
      hp::lower(programs::program_of("dp-tp", 4, 1), {.lookahead = 9}, hp::micro_phases | hp::update_phases));
  const split whole{l, hp::split_messages(*l, l->run[0], list({0, 1, 2, 3}), 4, {.most_in_flight = 2})};
  const auto code_of = [&](const auto& change) {
    split s = whole;
    entries all = entries_of(s.flow, 1);
    change(all);
    put(s.flow, 1, all);
    EXPECT_EQ(s.is_safe(), s.proof().code == split_proof_code::ok) << text_of(s.proof());
    return s.proof().code;
  };
  const auto first = [](entries& all, split_kind k) {
    return std::ranges::find_if(all, [=](const hp::split_entry& e) { return e.kind == k; });
  };
  using enum split_proof_code;
  EXPECT_EQ(code_of([](entries&) {}), ok);
  EXPECT_EQ(code_of([&](entries& all) { first(all, split_kind::send)->peer = 1; }), entry_is_not_of_the_program);
  EXPECT_EQ(code_of([](entries& all) { all[0].row = 100'000; }), entry_is_not_of_the_program);
  EXPECT_EQ(code_of([](entries& all) { all.push_back(all[3]); }), entry_appears_twice);
  EXPECT_EQ(code_of([](entries& all) { all.pop_back(); }), entry_is_missing);
  EXPECT_EQ(code_of([&](entries& all) { first(all, split_kind::open)->place = 2; }), place_is_outside_the_window);
  EXPECT_EQ(code_of([](entries& all) {
              for (hp::split_entry& e : all) e.place = e.kind == split_kind::open ? 0 : -1;
            }),
            place_is_taken);
  EXPECT_EQ(code_of([&](entries& all) {
              const auto one = first(all, split_kind::receive);
              const auto next = std::find_if(one + 1, all.end(), [&](const hp::split_entry& e) {
                return e.kind == one->kind && e.peer == one->peer;
              });
              std::iter_swap(one, next);
            }),
            messages_cross);
  EXPECT_EQ(code_of([&](entries& all) {  // a row ends before its send is posted
              const auto send = first(all, split_kind::send);
              const int row = send->row;
              const auto close = std::ranges::find_if(
                  all, [=](const hp::split_entry& e) { return e.kind == split_kind::close && e.row == row; });
              std::rotate(send, send + 1, close + 1);
            }),
            use_is_not_ordered);
  // Of a mesh of two by two: two processes begin with the messages of one axis, their peers with those of the other one.
  int circles = 0;
  const entries all = entries_of(whole.flow, 1);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t k = i + 1; k < all.size() && k < i + 40; ++k) {
      if (all[i].kind != split_kind::open || all[k].kind != split_kind::open) continue;
      split s = whole;
      for (const int p : {1, 2}) do_row_earlier(s.flow, p, all[k].row, all[i].row);
      if (s.proof().code != never_ends) continue;
      EXPECT_FALSE(s.is_safe());
      ++circles;
    }
  EXPECT_GT(circles, 0);
  for (int c = 0; c <= static_cast<int>(use_is_not_ordered); ++c)
    EXPECT_STRNE(hp::to_text(static_cast<hp::split_proof_code>(c)), "unknown");
}

/// On a mesh of three by three, a block travels along the rows, and another one along the columns.
hp::sharded_program two_rings() {
  const hp::layout_value cut = programs::layout_by({2, {3, 3}}, {0, 1});
  hp::sharded_program p = programs::one_move(cut, cut, hp::shape{24, 24}, {0, 0}, {0, 1});
  p.value.push({0, cut, {1, 0}, p.storage.push({0, true, hp::local_bytes(p, 0)})});
  p.value.push({0, cut, {1, 1}, p.storage.push({0, false, hp::local_bytes(p, 0)})});
  p.move.push({2, 3, -1});
  p.step.push({true, 1, hp::graph_phase::forward, -1});
  return p;
}

// Messages that are buffered would come: some processes of a diagonal begin with the other ring. Where a send waits for its
// receive, two of them are enough for a circle.
TEST(SplitProof, CountsOnNoBuffers) {
  const auto l = std::make_shared<const hp::lowered_program>(hp::lower(two_rings(), {}, hp::micro_phases));
  ASSERT_TRUE(l->status.ok());
  hp::growing_array<int> home;
  for (int r = 0; r < 9; ++r) home.push(r);
  const split whole{l, hp::split_messages(*l, l->run[0], home, 9, {.most_in_flight = 1})};
  EXPECT_EQ(whole.proof().code, split_proof_code::ok) << text_of(whole.proof());
  EXPECT_TRUE(whole.is_safe());
  for (const int swapped : {1, 2, 3}) {
    split s = whole;
    for (int i = 0; i < swapped; ++i) do_row_earlier(s.flow, 3 * i + 2 - i, 1, 0);
    EXPECT_EQ(s.proof().code, swapped == 1 ? split_proof_code::ok : split_proof_code::never_ends) << swapped;
    EXPECT_EQ(s.is_safe(), swapped == 1);
  }
}

}  // namespace
