// SPDX-License-Identifier: Apache-2.0
// Relocations by brute force: every ordered layout pair between small meshes over equal, permuted, overlapping and
// disjoint ranks is executed value by value, and held against bounds that are counted element by element.
#include <hyperparallel/redistribution/relocation.hpp>

#include <gtest/gtest.h>

#include <limits>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <hyperparallel/redistribution/relocation_certificate.hpp>

#include "replay/relocation_replay.hpp"
#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

struct devices {
  hp::mesh_shape mesh;
  std::vector<int> ranks;
};

struct world {
  const char* name;
  devices from, to;
};

const std::vector<world>& worlds_of_ranks() {
  static const hp::mesh_shape one{1, {4}}, square{2, {2, 2}}, pair{1, {2}};
  static const std::vector<world> list{
      {"2x2 to 4", {square, {0, 1, 2, 3}}, {one, {0, 1, 2, 3}}},
      {"4 to 2x2, not from 0", {one, {4, 9, 2, 7}}, {square, {4, 9, 2, 7}}},
      {"2x2 permuted", {square, {0, 1, 2, 3}}, {square, {2, 0, 3, 1}}},
      {"2x3 to 3x2", {{2, {2, 3}}, {0, 1, 2, 3, 4, 5}}, {{2, {3, 2}}, {0, 1, 2, 3, 4, 5}}},
      {"2x3 to 3x2 permuted", {{2, {2, 3}}, {0, 1, 2, 3, 4, 5}}, {{2, {3, 2}}, {5, 3, 1, 0, 2, 4}}},
      {"2 to 4", {pair, {0, 1}}, {one, {0, 1, 2, 3}}},
      {"2 to 2x2, interleaved", {pair, {1, 2}}, {square, {0, 1, 2, 3}}},
      {"2x2 to 2", {square, {0, 1, 2, 3}}, {pair, {0, 1}}},
      {"disjoint", {square, {0, 1, 2, 3}}, {square, {4, 5, 6, 7}}},
      {"disjoint, 2x2 to 2x3", {square, {0, 1, 2, 3}}, {{2, {2, 3}}, {4, 5, 6, 7, 8, 9}}},
      {"disjoint, 2x3 to 2x2", {{2, {2, 3}}, {4, 5, 6, 7, 8, 9}}, {square, {0, 1, 2, 3}}},
      {"half overlapping", {square, {0, 1, 2, 3}}, {square, {2, 3, 4, 5}}},
      {"half overlapping, permuted", {square, {0, 1, 2, 3}}, {square, {4, 3, 0, 5}}},
      {"2x2x2 to 2x2", {{3, {2, 2, 2}}, {0, 1, 2, 3, 4, 5, 6, 7}}, {square, {6, 9, 1, 8}}},
  };
  return list;
}

hp::tensor_side side_of(const hp::layout_value& l, const hp::shape& s, const std::vector<int>& ranks) {
  return {l, s, hp::rank_list(static_cast<int>(ranks.size()), ranks.data())};
}

/// All layouts, and with `states` also each with every one of these reductions on every set of its free axes.
std::vector<hp::layout_value> layouts(const hp::mesh_shape& m, int rank,
                                      const std::vector<hp::reduce_op>& states = {}) {
  std::vector<hp::layout_value> found;
  for (const hp::layout_value& l : worlds::all_layouts(m, rank)) {
    found.push_back(l);
    const unsigned free = ((1u << m.axis_count) - 1u) & ~hp::detail::cut_axes(l);
    for (const hp::reduce_op op : states)
      for (unsigned set = free; set != 0; set = (set - 1) & free) {
        found.push_back(l);
        for (int a = 0; a < m.axis_count; ++a)
          if ((set >> a & 1u) != 0) found.back().partial[a] = op;
      }
  }
  return found;
}

std::string text_of(const hp::tensor_side& side) {
  std::string text = "(";
  for (int d = 0; d < side.shape.rank; ++d) {
    text += (d == 0 ? "" : " | ") + std::to_string(side.shape.extent[d]);
    for (int i = 0; i < side.layout.cut_count; ++i)
      if (side.layout.cut[i].dim == d) text += " axis " + std::to_string(side.layout.cut[i].axis);
  }
  for (int a = 0; a < side.layout.mesh.axis_count; ++a)
    if (side.layout.partial[a] != hp::reduce_op::none)
      text += std::string(", ") + hp::name_of(side.layout.partial[a]) + " over " + std::to_string(a);
  return text + ")";
}

struct sweep {
  long pairs = 0, one_mesh = 0, boxes = 0, runs = 0;
  long above = 0;       ///< pairs that receive more than the least, in all
  long unbalanced = 0;  ///< heaviest sender above 1.25 times what the heaviest receiver, or any plan's sender, has
  double worst = 0;     ///< heaviest sender ÷ heaviest receiver
};

void run_pair(const hp::tensor_side& from, const hp::tensor_side& to, sweep& all) {
  const hp::relocation r = hp::plan_relocation(from, to);
  ASSERT_EQ(r.code, hp::relocation_code::ok);
  const replay::relocation_report report = replay::replay_relocation(from, to, r);
  ASSERT_EQ(report.trouble, "") << text_of(from) << " -> " << text_of(to);
  ASSERT_TRUE(report.every_rank_at_least);
  ASSERT_GE(report.received_total, report.least_total) << text_of(from) << " -> " << text_of(to);
  std::vector<hp::extent_t> tally(static_cast<std::size_t>(hp::tally_size(r)));
  const hp::relocation_certificate c = hp::certify(r, tally.data());
  ASSERT_EQ(c.received_total, report.received_total);
  ASSERT_EQ(c.received_maximum, report.received_max);
  ASSERT_EQ(c.sent_maximum, report.sent_max);
  ASSERT_EQ(c.least_total, report.least_total) << text_of(from) << " -> " << text_of(to);
  if (r.plan.reduced == 0 && r.plan.filled == 0 && r.plan.kept == 0) {
    ASSERT_EQ(c.least_maximum, c.received_maximum);
  }
  ++all.pairs;
  ++(r.form == hp::relocation_form::one_mesh ? all.one_mesh
     : r.form == hp::relocation_form::boxes  ? all.boxes
                                             : all.runs);
  if (report.received_total != report.least_total) ++all.above;
  if (r.plan.kind == hp::plan_kind::no_op || r.plan.kind == hp::plan_kind::local_slice) {
    ASSERT_EQ(report.received_total, 0);
  } else if (r.form == hp::relocation_form::boxes && r.plan.kind != hp::plan_kind::fill) {
    ASSERT_GT(report.received_total, 0);
  }
  if (hp::is_partial(from.layout) || report.received_max == 0) return;
  const double sent = static_cast<double>(report.sent_max), most = static_cast<double>(report.received_max);
  all.worst = std::max(all.worst, sent / most);
  const double reachable = std::max(most, static_cast<double>(report.least_sent));
  if (sent > 1.25 * reachable) ++all.unbalanced;
  EXPECT_LE(sent, 2 * reachable) << text_of(from) << " -> " << text_of(to);
}

void print(const char* name, const sweep& s) {
  std::printf(
      "  %-28s %6ld pairs: %ld on one mesh, %ld by boxes, %ld by runs; %ld above the least, %ld unbalanced, "
      "sender at most %.2f\n",
      name, s.pairs, s.one_mesh, s.boxes, s.runs, s.above, s.unbalanced, s.worst);
}

void run_sides(const world& w, const hp::shape& from_shape, const hp::shape& to_shape, unsigned padded,
               const std::vector<hp::reduce_op>& source_states, const std::vector<hp::reduce_op>& target_states,
               sweep& all) {
  for (hp::layout_value from : layouts(w.from.mesh, from_shape.rank, source_states))
    for (hp::layout_value to : layouts(w.to.mesh, to_shape.rank, target_states)) {
      if (padded != 0) {
        from.padded = (1u << from_shape.rank) - 1u;
        to.padded = (1u << to_shape.rank) - 1u;
      }
      const bool fits = hp::check_shape(from, from_shape).code == hp::layout_code::ok &&
                        hp::check_shape(to, to_shape).code == hp::layout_code::ok;
      if (fits) run_pair(side_of(from, from_shape, w.from.ranks), side_of(to, to_shape, w.to.ranks), all);
      if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(relocation, every_pair_between_meshes_receives_what_it_lacks_by_rank) {
  for (const world& w : worlds_of_ranks()) {
    sweep all;
    for (const hp::shape& s : {hp::shape{12}, hp::shape{12, 12}}) run_sides(w, s, s, 0, {}, {}, all);
    print(w.name, all);
    EXPECT_EQ(all.above, 0) << w.name;
    EXPECT_EQ(all.unbalanced, 0) << w.name;
    EXPECT_EQ(all.runs, 0) << w.name;
  }
}

TEST(relocation, uneven_shapes_too) {
  for (const world& w : worlds_of_ranks()) {
    sweep all;
    for (const hp::shape& s : {hp::shape{7}, hp::shape{10, 5}, hp::shape{3, 5}, hp::shape{1, 3}, hp::shape{0, 4}})
      run_sides(w, s, s, 1, {}, {}, all);
    print(w.name, all);
    EXPECT_EQ(all.above, 0) << w.name;
    EXPECT_LE(all.unbalanced, 1) << w.name << ": three elements on six ranks";
  }
}

TEST(relocation, partial_sources_meet_on_the_way_at_the_least) {
  for (const world& w : worlds_of_ranks()) {
    sweep all;
    run_sides(w, hp::shape{12, 12}, hp::shape{12, 12}, 0, {hp::reduce_op::sum, hp::reduce_op::avg}, {}, all);
    run_sides(w, hp::shape{7}, hp::shape{7}, 1, {hp::reduce_op::max}, {}, all);
    print(w.name, all);
    EXPECT_EQ(all.above, 0) << w.name;
  }
}

TEST(relocation, partial_targets_are_filled) {
  for (const world& w : worlds_of_ranks()) {
    sweep all;
    run_sides(w, hp::shape{12, 12}, hp::shape{12, 12}, 0, {}, {hp::reduce_op::sum, hp::reduce_op::max}, all);
    run_sides(w, hp::shape{12}, hp::shape{12}, 0, {hp::reduce_op::sum}, {hp::reduce_op::sum, hp::reduce_op::prod}, all);
    run_sides(w, hp::shape{5}, hp::shape{5}, 1, {hp::reduce_op::min}, {hp::reduce_op::min}, all);
    print(w.name, all);
    EXPECT_EQ(all.above, 0) << w.name;
  }
}

TEST(relocation, reshape_and_new_layout_are_one_move) {
  struct reshape {
    const char* name;
    hp::shape from, to;
    unsigned padded;
  };
  const reshape reshapes[] = {{"(8,4) to (2,16)", {8, 4}, {2, 16}, 0},
                              {"(12,12) to (6,24)", {12, 12}, {6, 24}, 0},
                              {"(12) to (3,4), padded", hp::shape{12}, {3, 4}, 1},
                              {"(6,4) to (4,6), padded", {6, 4}, {4, 6}, 1},
                              {"(12,12) to (18,8), padded", {12, 12}, {18, 8}, 1}};
  sweep total;
  for (const reshape& x : reshapes) {
    sweep all;
    for (const world& w : worlds_of_ranks()) {
      run_sides(w, x.from, x.to, x.padded, {}, {}, all);
      run_sides(w, x.to, x.from, x.padded, {hp::reduce_op::sum}, {hp::reduce_op::sum}, all);
    }
    print(x.name, all);
    EXPECT_EQ(all.above, 0) << x.name;
    total.pairs += all.pairs;
    total.unbalanced += all.unbalanced;
    total.runs += all.runs;
  }
  EXPECT_GT(total.runs, 0);
  EXPECT_LE(total.unbalanced, 40) << "of 25 thousand pairs: pieces of a few elements, in form runs";
}

constexpr hp::layout_value rows(const hp::mesh_shape& m, int axis = 0, int rank = 2) {
  hp::layout_value l = hp::replicated(m, rank);
  hp::append_cut(l, {0, axis, 1, m.size[axis]});
  return l;
}

TEST(relocation, a_legal_view_on_the_same_ranks_is_nothing) {
  const std::vector<int> ranks{9, 4, 6, 1, 0, 2, 3, 5};
  const hp::relocation r = hp::plan_relocation(side_of(rows({1, {8}}), {128, 64}, ranks),
                                               side_of(rows({2, {8, 1}}, 0, 1), hp::shape{128 * 64}, ranks));
  ASSERT_EQ(r.code, hp::relocation_code::ok);
  EXPECT_EQ(r.form, hp::relocation_form::one_mesh);
  EXPECT_EQ(r.plan.kind, hp::plan_kind::no_op);
  EXPECT_EQ(r.plan.step_count, 0);
}

TEST(relocation, terms_stay_on_one_mesh_where_a_shape_splits_an_axis) {
  const hp::mesh_shape m{2, {2, 4}};
  const std::vector<int> ranks{0, 1, 2, 3, 4, 5, 6, 7};
  hp::layout_value terms = hp::replicated(m, 2);
  terms.partial[0] = hp::reduce_op::sum;
  const hp::tensor_side from = side_of(terms, {2, 4}, ranks), to = side_of(rows(m, 1, 1), hp::shape{8}, ranks);
  for (const bool back : {false, true}) {
    const hp::tensor_side &a = back ? to : from, &b = back ? from : to;
    EXPECT_EQ(hp::plan_relocation(a, b).form, hp::relocation_form::one_mesh);
    sweep all;
    run_pair(a, b, all);
    EXPECT_EQ(all.above, 0);
  }
}

TEST(relocation, kinds_say_what_moves) {
  const hp::mesh_shape m{2, {2, 2}};
  const std::vector<int> here{0, 1, 2, 3}, there{4, 5, 6, 7}, half{0, 1};
  const auto kind = [](const hp::tensor_side& a, const hp::tensor_side& b) {
    return hp::plan_relocation(a, b).plan.kind;
  };
  const hp::layout_value whole = hp::replicated(m, 2), parts = rows(m, 1);
  EXPECT_EQ(kind(side_of(parts, {4, 4}, here), side_of(parts, {4, 4}, there)), hp::plan_kind::collective_permute);
  EXPECT_EQ(kind(side_of(parts, {4, 4}, here), side_of(rows(m, 0), {4, 4}, there)), hp::plan_kind::collective_permute);
  EXPECT_EQ(kind(side_of(whole, {4, 4}, here), side_of(parts, {4, 4}, there)), hp::plan_kind::exchange);
  EXPECT_EQ(kind(side_of(whole, {4, 4}, here), side_of(rows({1, {2}}), {4, 4}, half)), hp::plan_kind::local_slice);
  EXPECT_EQ(kind(side_of(whole, {4, 4}, here), side_of(hp::replicated({1, {2}}, 2), {4, 4}, half)),
            hp::plan_kind::no_op);
  hp::layout_value terms = whole;
  terms.partial[0] = hp::reduce_op::sum;
  EXPECT_EQ(kind(side_of(terms, {4, 4}, here), side_of(parts, {4, 4}, there)), hp::plan_kind::reduction);
  EXPECT_EQ(kind(side_of(parts, {4, 4}, here), side_of(terms, {4, 4}, there)), hp::plan_kind::fill);
}

TEST(relocation, refusals_name_the_side) {
  using enum hp::relocation_code;
  const hp::mesh_shape m{1, {4}};
  const std::vector<int> ranks{0, 1, 2, 3}, twice{0, 1, 1, 3}, three{0, 1, 2}, negative{0, -1, 2, 3};
  const hp::tensor_side good = side_of(rows(m), {8, 2}, ranks);
  const hp::relocation shape = hp::plan_relocation(side_of(rows(m), {6, 2}, ranks), good);
  EXPECT_EQ(shape.code, source_is_refused);
  EXPECT_EQ(shape.layout.code, hp::layout_code::extent_is_not_divisible_by_its_shards);
  EXPECT_EQ(shape.layout.extent, 6);
  EXPECT_EQ(hp::plan_relocation(good, side_of(rows(m), hp::shape{8}, ranks)).code, target_is_refused);
  const hp::relocation repeated = hp::plan_relocation(side_of(rows(m), {8, 2}, twice), good);
  EXPECT_EQ(repeated.code, source_ranks_do_not_fit_the_mesh);
  EXPECT_EQ(repeated.ranks.code, hp::rank_list_code::rank_is_listed_twice);
  EXPECT_EQ(repeated.ranks.position, 2);
  EXPECT_EQ(hp::plan_relocation(good, side_of(rows(m), {8, 2}, three)).code, target_ranks_do_not_fit_the_mesh);
  EXPECT_EQ(hp::plan_relocation(good, side_of(rows(m), {8, 2}, negative)).ranks.code,
            hp::rank_list_code::rank_is_negative);
  const hp::relocation counts = hp::plan_relocation(good, side_of(rows(m), {8, 3}, ranks));
  EXPECT_EQ(counts.code, element_counts_differ);
  EXPECT_EQ(counts.source_elements, 16);
  EXPECT_EQ(counts.target_elements, 24);
  hp::layout_value mixed = hp::replicated({2, {2, 2}}, 2);
  mixed.partial[0] = hp::reduce_op::sum;
  mixed.partial[1] = hp::reduce_op::max;
  const hp::relocation clash = hp::plan_relocation(side_of(mixed, {8, 2}, ranks), good);
  EXPECT_EQ(clash.code, source_reductions_do_not_commute);
  EXPECT_EQ(clash.axis, 1);
  EXPECT_EQ(hp::plan_relocation(good, side_of(mixed, {8, 2}, ranks)).code, target_reductions_do_not_commute);
  const hp::shape huge{hp::extent_t{1} << 40, hp::extent_t{1} << 20};
  EXPECT_EQ(hp::plan_relocation(side_of(rows(m), huge, ranks), side_of(rows(m), huge, ranks)).code, traffic_overflows);
}

/// A frozen case, planned and certified by the compiler and again at run time.
constexpr int turned[] = {5, 2, 0, 3};

constexpr hp::relocation_certificate frozen(bool partial) {
  hp::layout_value from = hp::replicated({2, {2, 2}}, 2);
  hp::append_cut(from, {0, 1, 1, 2});
  if (partial) from.partial[0] = hp::reduce_op::sum;
  const hp::relocation r =
      hp::plan_relocation({from, {4, 6}, {4, 0}}, {rows({1, {4}}, 0, 1), hp::shape(24), {4, turned}});
  hp::extent_t tally[24] = {};
  return hp::certify(r, tally);
}

constexpr hp::relocation_certificate compiled[] = {frozen(false), frozen(true)};
static_assert(compiled[0].received_total == compiled[0].least_total && compiled[0].steps == 1);
static_assert(compiled[1].received_total == compiled[1].least_total);

TEST(relocation, the_compiler_plans_the_same) {
  EXPECT_TRUE(frozen(false) == compiled[0]);
  EXPECT_TRUE(frozen(true) == compiled[1]);
}

TEST(relocation, ranks_and_extents_beyond_their_types_are_refused) {
  using enum hp::relocation_code;
  const int most = std::numeric_limits<int>::max();
  hp::layout_value l = hp::replicated({1, {4}}, 1);
  hp::append_cut(l, {0, 0, 1, 4});
  const hp::tensor_side low{l, hp::shape{8}, {4, 0}};
  EXPECT_EQ(hp::plan_relocation({l, hp::shape{8}, {4, most - 1}}, low).code, source_ranks_do_not_fit_the_mesh);
  EXPECT_EQ(hp::plan_relocation(low, {l, hp::shape{8}, {4, most - 2}}).ranks.code,
            hp::rank_list_code::rank_is_too_large);
  EXPECT_EQ(hp::plan_relocation(low, {l, hp::shape{8}, {4, most - 4}}).code, ok);
  const int listed[] = {0, 1, 2, most};
  EXPECT_EQ(hp::plan_relocation({l, hp::shape{8}, {4, listed}}, low).code, source_ranks_do_not_fit_the_mesh);
  EXPECT_EQ(hp::plan_relocation({l, hp::shape{8}, {}}, low).code, source_ranks_do_not_fit_the_mesh);
  EXPECT_EQ(hp::plan_relocation({l, hp::shape{-8}, {4, 0}}, low).layout.code, hp::layout_code::extent_is_negative);
  hp::layout_value huge = hp::replicated({1, {1 << 30}}, 1);
  hp::append_cut(huge, {0, 0, 1, 1 << 30});
  const hp::tensor_side side{huge, hp::shape{hp::extent_t{1} << 30}, {1 << 30, 0}};
  EXPECT_EQ(hp::plan_relocation(side, side).code, traffic_overflows) << "2^31 ranks on both sides";
  hp::relocation counted;
  counted.source_ranks = counted.target_ranks = {1 << 30, 0};
  EXPECT_EQ(hp::tally_size(counted), 3 * (hp::extent_t{1} << 31));
}

}  // namespace
