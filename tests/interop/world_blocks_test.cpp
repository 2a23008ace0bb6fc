// SPDX-License-Identifier: Apache-2.0
// Blocks of runs, against whole values under a strategy that shards; what is written trains on.

#include <hyperparallel/interop/world_blocks.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include <support/error_of.hpp>
#include <world/small_models.hpp>

namespace hp = hyperparallel;
namespace interop = hyperparallel::interop;

namespace {

using run = hp::model_run<float>;

std::shared_ptr<run> run_under(const char* strategy) {
  return std::make_shared<run>(small_models::decoder({}), hp::strategy_called(strategy, 4).strategy);
}

/// The parameter that is cut, and its whole value from the blocks of all ranks.
std::vector<float> gathered(const std::shared_ptr<run>& r, int t) {
  const hp::sharded_program& p = r->world().program();
  const hp::shape s = p.graph.tensor[t].shape;
  std::vector<float> whole(static_cast<std::size_t>(hp::element_count(s).value), -9.0F);
  for (int rank = 0; rank < 4; ++rank) {
    const interop::exported_tensor e = interop::to_dlpack(r, p.graph.name_of_tensor(t), rank);
    EXPECT_EQ(e->tensor.data, r->world().block_of(r->world().home_of(t), rank));
    EXPECT_EQ(e->flags, interop::dlpack::read_only);
    const hp::box place = hp::box_of(p, r->world().home_of(t), rank);
    const auto* from = static_cast<const float*>(e->tensor.data);
    for (hp::extent_t i = 0; i < hp::volume(place); ++i) {
      hp::extent_t number = 0, rest = i, step = 1;
      for (int d = s.rank; d-- > 0; step *= s.extent[d]) {
        const hp::extent_t n = place.dim[d].end - place.dim[d].begin;
        EXPECT_EQ(e->tensor.extents[d], n);
        number += (place.dim[d].begin + rest % n) * step;
        rest /= n;
      }
      whole[static_cast<std::size_t>(number)] = from[i];
    }
  }
  return whole;
}

int cut_parameter(const run& r) {
  const hp::sharded_program& p = r.world().program();
  for (int t = 0; t < p.graph.tensor.size; ++t)
    if (p.graph.tensor[t].kind == hp::graph_tensor_kind::parameter && p.home[t] >= 0 &&
        p.value[p.home[t]].layout.cut_count > 0)
      return t;
  return -1;
}

}  // namespace

TEST(WorldBlocks, AreTheValueOfARun) {
  for (const char* strategy : {"zero3", "tp"}) {
    const std::shared_ptr<run> r = run_under(strategy);
    const int t = cut_parameter(*r);
    ASSERT_GE(t, 0) << strategy;
    EXPECT_EQ(gathered(r, t), r->world().get(t));
    const auto feed = [&](int micro) { r->set_random_inputs(static_cast<std::uint64_t>(micro)); };
    r->train_step(feed);
    EXPECT_EQ(gathered(r, t), r->world().get(t));
  }
}

TEST(WorldBlocks, AreWrittenWhereTheyLie) {
  const std::shared_ptr<run> r = run_under("zero3");
  const int t = cut_parameter(*r);
  const std::string name = r->model().name_of_tensor(t);
  for (int rank = 0; rank < 4; ++rank) {
    const interop::exported_tensor e = interop::to_dlpack(r, name, rank, interop::block_access::write);
    EXPECT_EQ(e->flags, 0u);
    std::int64_t n = 1;
    for (int d = 0; d < e->tensor.dims; ++d) n *= e->tensor.extents[d];
    for (std::int64_t i = 0; i < n; ++i) static_cast<float*>(e->tensor.data)[i] = 0.25F;
  }
  // The same losses as of a run that was set so.
  const std::shared_ptr<run> other = run_under("zero3");
  other->world().set(t, std::vector<float>(other->world().get(t).size(), 0.25F));
  EXPECT_EQ(r->world().get(t), other->world().get(t));
  for (std::uint64_t step = 0; step < 3; ++step)
    EXPECT_EQ(r->train_step([&](int) { r->set_random_inputs(step); }),
              other->train_step([&](int) { other->set_random_inputs(step); }));
  EXPECT_EQ(r->world().get(t), other->world().get(t));
}

TEST(WorldBlocks, KeepTheRunAlive) {
  std::shared_ptr<run> r = run_under("zero3");
  const std::weak_ptr<run> watched = r;
  const std::string name = r->model().name_of_tensor(cut_parameter(*r));
  interop::exported_tensor e = interop::to_dlpack(r, name, 0);
  r.reset();
  EXPECT_FALSE(watched.expired());
  e.reset();
  EXPECT_TRUE(watched.expired());
}

TEST(WorldBlocks, AreRefusedByName) {
  const std::shared_ptr<run> r = run_under("zero3");
  const std::string name = r->model().name_of_tensor(cut_parameter(*r));
  const auto refusal = [&](const std::shared_ptr<run>& of, const std::string& what, int rank,
                           interop::block_access access = interop::block_access::read) {
    return tested::error_of([&] { interop::to_dlpack(of, what, rank, access); });
  };
  EXPECT_EQ(refusal(nullptr, name, 0), "owner_is_missing: there is no run");
  EXPECT_EQ(refusal(r, name, 4),
            "position_is_outside_the_mesh: rank 4 has nothing here of \"" + name + "\", which ranks 0 to 3 have");
  r->set_random_inputs(0);
  EXPECT_EQ(refusal(r, "tokens", 0), "no error");
  EXPECT_EQ(refusal(r, "tokens", 0, interop::block_access::write),
            "value_is_an_input: \"tokens\" is checked where it is set; expected set()");
  EXPECT_NE(refusal(r, "no such tensor", 0).find("no such tensor"), std::string::npos);
}
