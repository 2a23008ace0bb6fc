// SPDX-License-Identifier: Apache-2.0
// A world that carries nothing out, so that what is set, written and spoilt is the test's to say.
#include <hyperparallel/runtime/program_values.hpp>

#include <runtime/small_models.hpp>
#include <support/error_of.hpp>

#include <gtest/gtest.h>

#include <set>

namespace hp = hyperparallel;

namespace {

using tested::error_of;
using doubles = std::vector<double>;

struct quiet_world : hp::program_values<quiet_world, double> {
  using values = hp::program_values<quiet_world, double>;
  struct run_of {
    std::set<int> written, spoilt;
    bool writes(int storage) const { return written.contains(storage); }
    bool survives(int storage) const { return !spoilt.contains(storage); }
    std::int64_t received(int rank) const { return 10 + rank; }
  };

  explicit quiet_world(const hp::sharded_program& p, const std::vector<int>& hosted = {0, 1})
      : values(hp::prepare_program(p, hp::data_type::f64, {}), 0, hosted) {}

  template <class U>
  void read(int t, hp::data_type type, U* whole) const {
    memory_->gather(value_to_read(t, type), whole);
  }
  void set_training_step(std::int64_t step) { steps.push_back(step); }
  hp::run_result run(unsigned phases) {
    runs.push_back(phases);
    return result;
  }
  void check(const std::vector<int>& reads) { check_reads(reads); }
  void carry_out(const run_of& r, bool completes) {
    begin_run(r);
    if (completes) end_run(r);
  }

  std::vector<std::int64_t> steps;
  std::vector<unsigned> runs;
  hp::run_result result = hp::run_result::complete;
};

TEST(ProgramValues, AValueIsThereOnceItIsSetOrWritten) {
  quiet_world world(small_models::two_layers_on(2, true));
  const hp::sharded_program& p = world.program();
  const int x = p.home[world.tensor("x")];
  EXPECT_EQ(error_of<hp::program_error>([&] { world.check({x}); }), "input \"x\" was not set");
  world.set("x", doubles(48, 2.0));
  world.check({x});
  EXPECT_EQ(world.get("x"), doubles(48, 2.0));
  world.clear(world.tensor("x"));
  EXPECT_EQ(world.get("x"), doubles(48, 0.0));
  const int h = p.compute[0].result[0], storage = p.value[h].storage, other = p.value[p.compute[1].result[0]].storage;
  EXPECT_EQ(error_of<hp::program_error>([&] { world.check({h}); }), "activation \"h\" has no value yet");
  world.carry_out({{storage, other}, {other}}, true);
  world.check({h});
  EXPECT_EQ(world.get("h").size(), 32U);
  EXPECT_NE(error_of<hp::program_error>([&] { world.get("a"); }).find("activation \"a\" has no value"),
            std::string::npos);
  // A run that fails leaves no value of what it would have written, or spoilt.
  world.carry_out({{storage}, {p.value[x].storage}}, false);
  EXPECT_NE(error_of<hp::program_error>([&] { world.get("h"); }).find("has no value"), std::string::npos);
  EXPECT_EQ(error_of<hp::program_error>([&] { world.check({x}); }), "input \"x\" was not set");
  EXPECT_EQ(world.received(1), 11);  // of the complete run alone
}

TEST(ProgramValues, AStepIsItsMicroBatchesThenTheUpdate) {
  hp::sharded_program p = small_models::two_layers_on(2, true);
  p.graph.micro_batches = 3;
  quiet_world world(p);
  std::vector<int> fed;
  const auto feed = [&](int micro_batch) { fed.push_back(micro_batch); };
  EXPECT_EQ(world.run_step(7, feed), hp::run_result::complete);
  EXPECT_EQ(world.steps, std::vector<std::int64_t>{7});
  EXPECT_EQ(fed, (std::vector<int>{0, 1, 2}));
  const unsigned micro = hp::micro_phases, update = hp::update_phases;
  EXPECT_EQ(world.runs, (std::vector<unsigned>{micro, micro, micro, update}));
  world.result = hp::run_result::cancelled;
  EXPECT_EQ(world.run_step(8), hp::run_result::cancelled);
  EXPECT_EQ(world.runs.size(), 5U);
  p.graph.micro_batches = 1;
  quiet_world one(p);
  one.run_step(1);
  EXPECT_EQ(one.runs, std::vector<unsigned>{micro | update});
  EXPECT_EQ(one.run_micro(), hp::run_result::complete);
  EXPECT_EQ(one.run_update(2), hp::run_result::complete);
  EXPECT_EQ(one.runs.back(), update);
  EXPECT_EQ(one.steps.back(), 2);
}

TEST(ProgramValues, MayHoldTheMemoryOfSomeRanks) {
  quiet_world world(small_models::two_layers_on(4, true), {2, 1});
  EXPECT_EQ(world.ranks(), 4);
  EXPECT_EQ(world.high_water(1), world.planned_bytes());
  EXPECT_EQ(world.high_water(2), world.planned_bytes());
  EXPECT_LE(world.alive_maximum(), world.planned_bytes());
  world.set("first", doubles(24, 1.5));
  EXPECT_THROW(world.get("x"), hp::program_error);
  EXPECT_EQ(error_of<hp::program_error>([&] { world.monitor(0); }), "monitor 0 of 0");
}

}  // namespace
