// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/controller/tensor_edge.hpp>

#include <hyperparallel/groups/check_programs.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include <support/all_layouts.hpp>
#include <support/error_of.hpp>
#include <support/tries.hpp>
#include <world/small_models.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <set>

namespace hp = hyperparallel;

namespace {

/// A world of one parameter "w" of numbers of 32 bits under any layout: blocks by position.
class one_tensor {
 public:
  one_tensor(const hp::layout_value& l, const hp::shape& s) {
    hp::model_builder m(hp::build_options{.parameter = hp::f32});
    hp::number_list dims;
    const char* const names[] = {"a", "b", "c"};
    for (int d = 0; d < s.rank; ++d) dims.item[dims.count++] = m.dim(names[d], s.extent[d]);
    m.parameter("w", dims);
    p_.graph = m.graph;
    p_.mesh.shape = l.mesh;
    p_.value.push({0, l, {}, 0});
    p_.storage.push({0, true, hp::local_bytes(p_, 0)});
    p_.home.resize(1, 0);
    for (int r = 0; r < hp::position_count(l.mesh); ++r)
      block_.emplace_back(static_cast<std::size_t>(hp::volume(hp::box_of(p_, 0, r))), -1.0F);
  }
  const hp::sharded_program& program() const { return p_; }
  const std::byte* block_of(int, int rank) const {
    return reinterpret_cast<const std::byte*>(block_[static_cast<std::size_t>(rank)].data());
  }
  void set_block(int, int rank, std::span<const std::byte> bits) {
    std::memcpy(block_[static_cast<std::size_t>(rank)].data(), bits.data(), bits.size());
  }
  /// Flat indices of the elements of a rank, in the order of its block.
  std::vector<std::int64_t> elements(int rank) const {
    const hp::box b = hp::box_of(p_, 0, rank);
    const hp::shape& s = p_.graph.tensor[0].shape;
    std::vector<std::int64_t> all{0};
    for (int d = 0; d < s.rank; ++d) {
      std::vector<std::int64_t> longer;
      for (const std::int64_t flat : all)
        for (hp::extent_t i = b.dim[d].begin; i < b.dim[d].end; ++i) longer.push_back(flat * s.extent[d] + i);
      all = longer;
    }
    return all;
  }
  std::vector<float>& block(int rank) { return block_[static_cast<std::size_t>(rank)]; }
  int ranks() const { return static_cast<int>(block_.size()); }

 private:
  hp::sharded_program p_;
  std::vector<std::vector<float>> block_;
};

hp::program_graph writer_and_reader(const hp::group_table& t) {
  hp::program_graph g;
  const int train = hp::add_program(g, "train", "training"), rollout = hp::add_program(g, "rollout", "generation");
  hp::connect(g, {.name = "weights", .from = train, .to = rollout, .ready = 1, .room = 2});
  if (!t.group.empty()) g.row = hp::rows_of(g, t);
  return g;
}

TEST(TensorEdge, EachRankReceivesWhatItLacksBetweenAnyTwoLayoutsAndMeshes) {
  std::mt19937 random(1);
  const hp::mesh_shape meshes[] = {{1, {1}}, {1, {2}}, {1, {3}}, {1, {4}}, {2, {2, 2}}, {2, {2, 3}}, {3, {2, 2, 2}}};
  const hp::shape s{24, 24};
  int pairs = 0, moved = 0;
  while (pairs < tested::tries(2100, 20000)) {
    const auto any = [&](const auto& of) { return of[random() % std::size(of)]; };
    const hp::layout_value from = any(worlds::all_layouts(any(meshes), 2)),
                           to = any(worlds::all_layouts(any(meshes), 2));
    if (from.mesh == to.mesh && pairs % 8 != 0) continue;  // mostly unequal ones
    one_tensor writer(from, s), reader(to, s);
    const int first_of_reader = static_cast<int>(random() % 9);  // apart, overlapping, or the same ranks
    hp::group_table t;
    t.world = 32;
    hp::add_group(t, "training", hp::rank_range(0, writer.ranks() - 1));
    hp::add_group(t, "generation", hp::rank_range(first_of_reader, first_of_reader + reader.ranks() - 1));
    hp::controller c(writer_and_reader(t), t, {.threads = 1});
    hp::tensor_edge weights(c, "weights", writer, reader);
    ++pairs;
    const auto fill = [&](int version) {
      for (int r = 0; r < writer.ranks(); ++r) {
        const std::vector<std::int64_t> flat = writer.elements(r);
        for (std::size_t i = 0; i < flat.size(); ++i) writer.block(r)[i] = static_cast<float>(version * 1000 + flat[i]);
      }
    };
    fill(0);
    weights.begin();
    c.set_program("train", {[&](const hp::firing& f) {
                    fill(static_cast<int>(f.number()) + 1);
                    weights.write(f);
                  }});
    c.set_program("rollout", {[&](const hp::firing& f) {
                    weights.read(f);
                    for (int r = 0; r < reader.ranks(); ++r) {
                      const std::vector<std::int64_t> flat = reader.elements(r);
                      for (std::size_t i = 0; i < flat.size(); ++i)
                        ASSERT_EQ(reader.block(r)[i], static_cast<float>(f.number() * 1000 + flat[i])) << pairs;
                    }
                  }});
    c.run(2);
    std::int64_t sum = 0;
    for (int r = 0; r < reader.ranks(); ++r) {
      const int rank = first_of_reader + r;
      std::set<std::int64_t> lacks;
      for (const std::int64_t e : reader.elements(r)) lacks.insert(e);
      if (rank < writer.ranks())
        for (const std::int64_t e : writer.elements(rank)) lacks.erase(e);
      ASSERT_EQ(weights.received(rank), static_cast<std::int64_t>(lacks.size()) * 4) << pairs;
      ASSERT_EQ(weights.least(rank), weights.received(rank)) << pairs;
      ASSERT_EQ(weights.needed(rank), std::ssize(reader.elements(r)) * 4) << pairs;
      sum += weights.received(rank);
    }
    EXPECT_EQ(weights.received(31), 0);
    moved += sum > 0;
  }
  EXPECT_GT(moved, 1500);
}

TEST(TensorEdge, WeightsGoFromTrainingToRolloutUnderOtherStrategies) {
  const struct {
    const char *train, *rollout;
    int train_ranks, rollout_ranks, first;
  } cases[] = {{"tp", "dp", 2, 2, 0},       {"tp", "dp", 2, 4, 2},       {"dp", "tp", 4, 2, 4},
               {"zero3-tp", "tp", 4, 2, 2}, {"zero3", "dp-tp", 4, 4, 0}, {"single", "vocab", 1, 4, 1}};
  for (const auto& one : cases) {
    const hp::graph g = small_models::decoder({.layers = 2});
    hp::model_run<float> train(g, hp::strategy_called(one.train, one.train_ranks).strategy, {.seed = 1});
    hp::model_run<float> rollout(g, hp::strategy_called(one.rollout, one.rollout_ranks).strategy, {.seed = 2});
    hp::group_table t;
    t.world = 8;
    hp::add_group(t, "training", hp::rank_range(0, one.train_ranks - 1));
    hp::add_group(t, "generation", hp::rank_range(one.first, one.first + one.rollout_ranks - 1));
    hp::controller c(writer_and_reader(t), t);
    hp::tensor_edge weights(c, "weights", train.world(), rollout.world());
    weights.begin();
    c.set_program("train", {[&](const hp::firing& f) {
                    train.train_step([&](int) { train.set_random_inputs(static_cast<std::uint64_t>(f.number())); });
                    weights.write(f);
                  }});
    c.set_program("rollout", {[&](const hp::firing& f) { weights.read(f); }});
    c.run(3);  // version 3 is written and not read
    hp::model_run<float> again(g, hp::strategy_called(one.train, one.train_ranks).strategy, {.seed = 1});
    for (int step = 0; step < 2; ++step)
      again.train_step([&](int) { again.set_random_inputs(static_cast<std::uint64_t>(step)); });
    for (int p = 0; p < g.tensor.size; ++p)
      if (g.tensor[p].kind == hp::graph_tensor_kind::parameter && g.tensor[p].replaces < 0) {
        EXPECT_EQ(rollout.world().get(p), again.world().get(p)) << one.train << " " << g.name_of_tensor(p);
      }
    for (int rank = 0; rank < 8; ++rank) EXPECT_EQ(weights.received(rank), weights.least(rank));
  }
}

TEST(TensorEdge, RefusesWhatItCannotCarry) {
  const hp::shape s{24, 24};
  const hp::layout_value two = worlds::all_layouts({1, {2}}, 2)[0];
  one_tensor writer(two, s), reader(two, s), other(two, hp::shape{24, 12});
  const auto refusal = [&](auto& from, auto& to, const hp::group_table& t, const std::vector<hp::tensor_pair>& pairs) {
    hp::controller c(writer_and_reader(t), t);
    return tested::error_of<hp::program_error>([&] { hp::tensor_edge(c, "weights", from, to, pairs); });
  };
  EXPECT_EQ(refusal(writer, reader, {}, {}), "no error");
  EXPECT_EQ(refusal(writer, other, {}, {}), "edge weights: w to w: (24, 24) is not (24, 12)");
  EXPECT_EQ(refusal(writer, reader, {}, {{"w", "v"}}), "edge weights: a program has no tensor \"v\"");
  hp::group_table t;
  t.world = 4;
  hp::add_group(t, "training", hp::rank_range{0, 2});
  hp::add_group(t, "generation", 2, 3);
  EXPECT_EQ(refusal(writer, reader, t, {}), "edge weights: program train has 2 ranks, its group training has 3");
}

}  // namespace
