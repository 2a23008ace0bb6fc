// SPDX-License-Identifier: Apache-2.0
// Programs beside each other, broken in each way. What is unsafe is found by playing every order of firings, which knows
// nothing of the checks: ranks and versions are looked at, waits are those of what was broken. None may be accepted.
#include <hyperparallel/groups/check_programs.hpp>

#include <gtest/gtest.h>

#include <cstdio>

#include "groups/played_programs.hpp"

namespace hp = hyperparallel;

namespace {

struct tally {
  int unsafe = 0, safe = 0, accepted = 0;
};

/// `try_one` says of a mutant whether it is unsafe, and whether it was accepted: {complete, unsafe, accepted}.
struct answer {
  bool complete = true, unsafe = false, accepted = false;
};

template <class TryOne>
void break_many(const char* name, unsigned seed, const TryOne& try_one) {
  played::dice roll(seed);
  tally t;
  const int wanted = played::tries(50, 500);
  for (long tries = 0; t.unsafe < wanted; ++tries) {
    ASSERT_LT(tries, 2'000'000) << name;
    const answer a = try_one(roll);
    if (!a.complete) continue;
    ++(a.unsafe ? t.unsafe : t.safe);
    if (a.unsafe) {
      ASSERT_FALSE(a.accepted) << name;
    } else {
      t.accepted += a.accepted;
    }
  }
  std::printf("  %-28s %d unsafe, 0 accepted; %d of %d safe ones accepted\n", name, t.unsafe, t.accepted, t.safe);
  EXPECT_GT(t.accepted, 0) << name << ": a check that refuses all proves nothing";
}

TEST(program_mutants, a_device_is_used_twice) {
  break_many("device used twice", 21, [](played::dice& roll) {
    played::setting s = played::safe_setting(roll, 3, 2);
    if (s.graph.row.size == 0) return answer{false};
    hp::program_row& row = s.graph.row[roll(s.graph.row.size)];
    switch (roll(5)) {
      case 0: {  // a turn is left out
        const int out = roll(row.turn.size);
        for (int i = out; i + 1 < row.turn.size; ++i) row.turn[i] = row.turn[i + 1];
        row.turn.resize(row.turn.size - 1);
        break;
      }
      case 1:  // the ranks of a row are in no row
        row.turn.clear();
        break;
      case 2:  // a program runs on another group, the rows stay
        s.graph.program[roll(s.graph.program.size)].group = s.table.group[roll(s.table.group.size)].name;
        break;
      case 3:  // a group grows, the rows stay
        s.table.group[roll(s.table.group.size)].ranks[0] = {0, roll(4)};
        break;
      default: {  // another row takes ranks of this one, with turns of its own
        hp::program_row other = row;
        other.turn.resize(1, roll(s.graph.program.size));
        row.turn.resize(1);
        s.graph.row.push(other);
      }
    }
    const played::seen seen = played::play(s, 2);
    return answer{seen.complete, seen.device_twice, hp::check_programs(s.graph, s.table).ok()};
  });
}

/// Waits of a safe graph, some of `kind` left out or late.
template <class Unsafe>
answer with_fewer_waits(played::dice& roll, hp::wait_kind kind, const Unsafe& unsafe) {
  const bool rooms = kind == hp::wait_kind::room;
  const played::setting s = played::safe_setting(roll, rooms ? 2 : 3, 3, !rooms);
  hp::growing_array<hp::program_wait> kept;
  for (hp::program_wait w : hp::waits_of(s.graph)) {
    const int how = w.kind == kind ? roll(3) : 2;
    if (how == 0) continue;
    if (how == 1) w.back += 1 + roll(2);
    kept.push(w);
  }
  const played::seen seen = played::player(s, kept, played::enough_firings(kept)).play(played::tries(3'000, 40'000));
  return {seen.complete, unsafe(seen), hp::check_waits(s.graph, kept).ok()};
}

TEST(program_mutants, a_version_is_read_before_it_is_written) {
  break_many("missing edge", 22, [](played::dice& roll) {
    return with_fewer_waits(roll, hp::wait_kind::delivery, [](const played::seen& s) { return s.read_too_early; });
  });
}

TEST(program_mutants, a_version_is_handed_over_before_its_last_reader) {
  break_many("hand-over too early", 23, [](played::dice& roll) {
    return with_fewer_waits(roll, hp::wait_kind::room, [](const played::seen& s) { return s.held_too_many; });
  });
}

TEST(program_mutants, a_turn_is_taken_too_early) {
  break_many("turn too early", 24, [](played::dice& roll) {
    return with_fewer_waits(roll, hp::wait_kind::turn, [](const played::seen& s) { return s.device_twice; });
  });
}

TEST(program_mutants, rows_take_their_turns_in_crossed_orders) {
  break_many("crossed gang order", 25, [](played::dice& roll) {
    played::setting s = played::safe_setting(roll, 4, 2);
    for (hp::program_row& row : s.graph.row)
      for (int i = row.turn.size - 1; i > 0; --i) std::swap(row.turn[i], row.turn[roll(i + 1)]);
    const played::seen seen = played::play(s, 2);
    return answer{seen.complete, seen.stuck, hp::check_programs(s.graph, s.table).ok()};
  });
}

TEST(program_mutants, weights_are_further_behind_than_claimed) {
  break_many("staleness exceeded", 26, [](played::dice& roll) {
    played::setting s = played::safe_setting(roll, 3, 3);
    const int edge = roll(s.graph.edge.size);
    const hp::staleness bound = hp::staleness_of(s.graph, edge);
    if (!bound.status.ok() || bound.behind < 0) return answer{false};
    s.graph.edge[edge].behind = bound.behind;
    if (!hp::check_programs(s.graph, s.table).ok()) return answer{true, true, true};
    hp::program_edge& other = s.graph.edge[roll(s.graph.edge.size)];
    switch (roll(3)) {
      case 0:
        ++other.ready;
        other.room += 1 + roll(2);
        break;
      case 1:
        ++other.room;
        break;
      default:
        other.move = 1;
    }
    int ready = 0;
    for (const hp::program_edge& e : s.graph.edge) ready += e.ready;
    const played::seen seen =
        played::player(s, hp::waits_of(s.graph), ready + 2, edge).play(played::tries(1'000, 5'000));
    return answer{seen.complete || seen.behind > bound.behind, seen.behind > bound.behind,
                  hp::check_programs(s.graph, s.table).ok()};
  });
}

}  // namespace
