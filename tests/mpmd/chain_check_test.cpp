// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/mpmd/chain_check.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "chains.hpp"

namespace {

using namespace chain_test;

TEST(chain_check, what_it_accepts_runs_safely_in_every_interleaving) {
  std::mt19937 random(11);
  int accepted = 0, refused_by_the_local_rule = 0, folds = 0, routes = 0, windows = 0, updates = 0, multiple = 0;
  const int wanted = exhaustive() ? 20000 : 1500;
  while (accepted < wanted) {
    const hp::tile_chain c = accepted_chain(random);
    ++accepted;
    bool has[3] = {};
    for (int s = 0; s < c.stages; ++s) {
      has[0] = has[0] || c.stage[s].folds;
      has[1] = has[1] || c.stage[s].route != hp::stage_route::local;
    }
    for (int t = 0; t < c.tensors; ++t) has[2] = has[2] || c.tensor[t].shares >= 0;
    folds += has[0];
    routes += has[1];
    updates += has[2];
    windows += c.window.buffers > 0;
    multiple += c.ranks > 1;
    lowered l(c);
    const hp::flow_status structure = l.structure();
    ASSERT_EQ(structure.code, hp::flow_code::ok) << hp::to_text(structure.code) << " task " << structure.task;
    for (const hp::priority policy : {hp::priority::upward_rank, hp::priority::reference_order}) {
      l.freeze(policy);
      const hp::exact_status exact = l.exact();
      ASSERT_EQ(exact.code, hp::exact_code::safe)
          << hp::to_text(exact.code) << " task " << exact.task << " after " << exact.other << " slot " << exact.slot;
      refused_by_the_local_rule += l.proof().code != hp::verify_code::ok;
    }
  }
  // The local rule may refuse what it finds no witness for: rare kinds of updates behind a folded or split slot.
  EXPECT_LT(refused_by_the_local_rule * 100, 2 * accepted);
  for (const int kind : {folds, routes, windows, updates, multiple}) EXPECT_GT(kind * 20, accepted);
}

hp::tile_chain pair_of_stages() {
  hp::tile_chain c;
  const int space = hp::add_space(c, 4, 2);
  const int x = hp::add_tensor(c, space, hp::grain::item, 64), y = hp::add_tensor(c, space, hp::grain::item, 64);
  const int z = hp::add_tensor(c, space, hp::grain::group, 64);
  hp::tile_stage& first = hp::add_stage(c, 0, space, hp::grain::item, {hp::resource::aic, 2, 5}, 0);
  hp::add_read(first, x);
  hp::add_write(first, y);
  hp::tile_stage& second = hp::add_stage(c, 1, space, hp::grain::item, {hp::resource::aiv, 1, 5}, 1);
  hp::add_read(second, y);
  hp::add_write(second, z);
  return c;
}

using change = void (*)(hp::tile_chain&);

TEST(chain_check, each_refusal_names_what_is_wrong) {
  struct mistake {
    hp::chain_status expected;
    change make;
  };
  using enum hp::chain_code;
  const mistake mistakes[] = {
      {{ok}, [](hp::tile_chain&) {}},
      {{ranks_are_not_valid}, [](hp::tile_chain& c) { c.ranks = 2; }},
      {{space_is_not_valid, -1, 0}, [](hp::tile_chain& c) { c.space[0].per_group = 3; }},
      {{tensor_is_not_valid, -1, 1}, [](hp::tile_chain& c) { c.tensor[1].tier = 2; }},
      {{stage_is_not_valid, 1}, [](hp::tile_chain& c) { c.stage[1].work.tiles = 0; }},
      {{tensor_has_two_writers, 0, 1}, [](hp::tile_chain& c) { hp::add_write(c.stage[1], 1); }},
      {{tensor_is_finer_than_its_stage, 0, 1}, [](hp::tile_chain& c) { c.stage[0].per = hp::grain::group; }},
      {{result_is_read_too_early, 1, 1}, [](hp::tile_chain& c) { c.stage[0].lag = 2; }},
      {{result_is_read_too_early, 1, 1},  // the group's last item is not there yet
       [](hp::tile_chain& c) {
         c.stage[1].lag = 0;
         c.stage[1].read[0] = {1, hp::grain::group, hp::grain::group};
       }},
      {{ok}, [](hp::tile_chain& c) { c.stage[1].read[0] = {1, hp::grain::group, hp::grain::group}; }},
      {{fold_is_not_valid, 1, 2}, [](hp::tile_chain& c) { c.stage[1].folds = true; }},
      {{ok},
       [](hp::tile_chain& c) {
         c.stage[1].folds = true;
         hp::add_read(c.stage[1], 2, hp::grain::tile);
       }},
      {{route_is_not_valid, 1, 2},
       [](hp::tile_chain& c) {
         c.stage[1].route = hp::stage_route::to_source;
         c.stage[1].per = hp::grain::group;
       }},
      {{update_is_not_valid, 1, 4},  // it does not read what it overwrites
       [](hp::tile_chain& c) { c.stage[1].write[0] = hp::add_update(c, hp::add_tensor(c, 0, hp::grain::item, 64)); }},
      {{update_is_not_valid, 0, 0},  // the second stage may overwrite what the first reads
       [](hp::tile_chain& c) {
         hp::add_read(c.stage[1], 0);
         c.stage[1].write[0] = hp::add_update(c, 0);
       }},
      {{window_is_not_valid, 1, 2}, [](hp::tile_chain& c) { c.tensor[2].windowed = true; }},
      {{slot_is_too_small, 0, 1}, [](hp::tile_chain& c) { c.tensor[1].bytes = 1; }},
  };
  std::set<hp::chain_code> seen;
  for (const mistake& m : mistakes) {
    hp::tile_chain c = pair_of_stages();
    m.make(c);
    EXPECT_EQ(hp::check(c), m.expected) << hp::to_text(hp::check(c).code) << ", not " << hp::to_text(m.expected.code);
    seen.insert(m.expected.code);
  }
  for (int code = 0; code <= static_cast<int>(slot_is_too_small); ++code) {
    EXPECT_EQ(seen.count(static_cast<hp::chain_code>(code)), 1U) << code;
    EXPECT_NE(std::string(hp::to_text(static_cast<hp::chain_code>(code))), "unknown");
  }
}

}  // namespace
