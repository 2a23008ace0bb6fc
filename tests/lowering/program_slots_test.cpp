// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/program_slots.hpp>

#include <models/random_program.hpp>

#include <gtest/gtest.h>

#include <cstdlib>

namespace hp = hyperparallel;

namespace {

bool meet(const hp::program_place& a, const hp::program_place& b) {
  return a.tier == b.tier && a.bytes > 0 && b.bytes > 0 && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

void expect_laws(const hp::program_slots& s) {
  for (int i = 0; i < s.place.size; ++i) {
    const hp::program_place& one = s.place[i];
    if (one.bytes == 0) continue;
    EXPECT_LE(one.offset + one.bytes, s.bytes[one.tier]);
  }
}

TEST(ProgramSlots, AreThePlannedAddresses) {
  std::mt19937 random(3);
  for (int n = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 500 : 40; n > 0; --n) {
    const hp::sharded_program p = programs::random_program(random);
    const hp::program_addresses a = hp::plan_addresses(p);
    const hp::program_slots s = hp::detail::slots_of(p, a);
    expect_laws(s);
    EXPECT_EQ(s.bytes[0], a.high_water[0]);
    EXPECT_EQ(s.place.size, hp::detail::place_count(p, hp::kinds_of_moves(p)));
    for (int i = 0; i < p.storage.size; ++i)
      EXPECT_TRUE(s.place[i].bytes == 0 || s.place[i].bytes >= p.storage[i].bytes);
  }
}

TEST(ProgramSlots, LookaheadKeepsMovesApartFromOtherTenants) {
  std::mt19937 random(6);
  for (int n = 0; n < 30; ++n) {
    const hp::sharded_program p = programs::random_program(random, {3, 40, 2000, 0.3});
    const hp::extent_t least = hp::plan_addresses(p).high_water[0];
    EXPECT_EQ(hp::plan_addresses(p, {.lookahead = 0}).high_water[0], least);
    for (const int lookahead : {1, 4, 100}) {
      const hp::program_addresses a = hp::plan_addresses(p, {.lookahead = lookahead});
      const hp::program_slots s = hp::detail::slots_of(p, a);
      expect_laws(s);
      EXPECT_GE(a.high_water[0], a.alive_maximum[0]);
      const hp::growing_array<hp::storage_lifetime> lives = hp::lifetimes_of(p);
      for (int i = 0; i < p.step.size; ++i) {
        if (!p.step[i].is_move) continue;
        hp::detail::visit_values(p, p.step[i], [&](int v, bool) {
          const int place = p.value[v].storage;
          for (int k = 0; k < p.storage.size; ++k) {
            if (k == place || !meet(s.place[k], s.place[place])) continue;
            const hp::storage_lifetime& other = lives[k];
            EXPECT_TRUE(other.last < i - lookahead || other.first > i + lookahead);
          }
        });
      }
    }
  }
}

TEST(ProgramSlots, HoldForAnyAddresses) {
  std::mt19937 random(4);
  for (int n = 0; n < 60; ++n) {
    hp::sharded_program p = programs::random_program(random, {3, 20, 600, 0.0});
    hp::program_addresses a = hp::plan_addresses(p);
    for (hp::extent_t& offset : a.storage)
      offset = hp::detail::storage_alignment * static_cast<hp::extent_t>(random() % 80);
    expect_laws(hp::detail::slots_of(p, a));
  }
}

}  // namespace
