// SPDX-License-Identifier: Apache-2.0
// A world that carries nothing out, so that what is set, written and spoilt is the test's to say.
#include <hyperparallel/world/program_values.ipp>

#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/world/program_values.ipp>  // a world of its own: its values are in no library

#include <support/error_of.hpp>
#include <world/small_models.hpp>

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
      : values(hp::detail::lowered_for(p, hp::data_type::f64), hosted, hp::overflow_response::stop) {}

  template <class Choose, class U>
  void read(int, const Choose& choose, U* whole) const {
    memory_->gather(choose(), whole);
  }
  void set_training_step(std::int64_t step) { steps.push_back(step); }
  static int least_of_all(int here) { return here; }
  hp::run_result run(unsigned phases) {
    runs.push_back(phases);
    run_of everything;
    for (int s = 0; s < program().storage.size; ++s) everything.written.insert(s);
    carry_out(everything, result == hp::run_result::complete);
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
  quiet_world world(small_models::two_layers_on(2, true, hp::f64));
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

hp::sharded_program decoder_of(int micro_batches) {
  return hp::partition(small_models::decoder({.micro_batches = micro_batches, .type = hp::f64}),
                       hp::strategy_called("dp", 2).strategy);
}

TEST(ProgramValues, AStepIsItsMicroBatchesThenTheUpdate) {
  quiet_world world(decoder_of(3));
  std::vector<int> fed;
  const auto feed = [&](int micro_batch) { fed.push_back(micro_batch); };
  EXPECT_EQ(world.run_step(7, feed), hp::run_result::complete);
  constexpr std::int64_t next = std::int64_t{1} << 40;  // random numbers of micro-batches differ
  EXPECT_EQ(world.steps, (std::vector<std::int64_t>{7, 7 + next, 7 + 2 * next, 7}));
  EXPECT_EQ(fed, (std::vector<int>{0, 1, 2}));
  const unsigned micro = hp::micro_phases, update = hp::update_phases;
  EXPECT_EQ(world.runs, (std::vector<unsigned>{micro, micro, micro, update}));
  world.result = hp::run_result::cancelled;
  EXPECT_EQ(world.run_step(8), hp::run_result::cancelled);
  EXPECT_EQ(world.runs.size(), 5U);
  quiet_world one(decoder_of(1));
  one.run_step(1);
  EXPECT_EQ(one.runs, std::vector<unsigned>{micro | update});
  EXPECT_EQ(one.run_micro(), hp::run_result::complete);
  EXPECT_EQ(one.run_update(2), hp::run_result::complete);
  EXPECT_EQ(one.runs.back(), update);
  EXPECT_EQ(one.steps.back(), 2);
}

TEST(ProgramValues, MayHoldTheMemoryOfSomeRanks) {
  quiet_world world(small_models::two_layers_on(4, true, hp::f64), {2, 1});
  EXPECT_EQ(world.ranks(), 4);
  EXPECT_EQ(world.high_water(1), world.planned_bytes());
  EXPECT_EQ(world.high_water(2), world.planned_bytes());
  EXPECT_LE(world.alive_maximum(), world.planned_bytes());
  world.set("first", doubles(24, 1.5));
  EXPECT_THROW(world.get("x"), hp::program_error);
  EXPECT_EQ(error_of<hp::program_error>([&] { world.monitor(0); }), "monitor 0 of 0");
}

// A step that would train nothing returned a loss, and nobody noticed.
TEST(ProgramValues, AStepThatTrainsNothingIsRefused) {
  hp::model_builder m(hp::build_options{.activation = hp::f64, .parameter = hp::f64, .unrolled = true});
  const int batch = m.dim("batch", 8), in = m.dim("in", 6), out = m.dim("out", 5);
  const int y = m.contract("y", "bk,kn->bn", m.input("x", {batch, in}), m.parameter("w", {in, out}));
  const auto world_of = [](const hp::graph& g) { return hp::partition(g, hp::strategy_called("dp", 2).strategy); };
  const auto error = [&](const hp::graph& g) {
    quiet_world world(world_of(g));
    EXPECT_EQ(world.run_micro(), hp::run_result::complete) << "forward alone may run";
    const std::size_t runs = world.runs.size();
    const std::string what = error_of<hp::program_error>([&] { world.run_step(1); });
    EXPECT_EQ(world.runs.size(), what == "no error" ? runs + 1 : runs);
    return what;
  };
  const std::string prefix = "steps of this graph would not train it: ";
  EXPECT_EQ(error(m.graph), prefix + "the model names no loss");
  m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = "*->"}));
  EXPECT_EQ(error(m.graph), prefix +
                                "no parameter has a gradient of the loss \"loss\": call differentiate, then "
                                "append_optimizer, on a loss that depends on parameters");
  hp::differentiate(m.graph);
  EXPECT_EQ(error(m.graph), prefix + "no operator updates a parameter: call append_optimizer after differentiate");
  hp::append_optimizer(m.graph, {});
  EXPECT_EQ(error(m.graph), "no error");
  m.graph.micro_batches = 2;
  EXPECT_EQ(error(m.graph), prefix +
                                "the step has 2 micro-batches, its gradients are those of 1: set "
                                "graph::micro_batches before differentiate and append_optimizer");
}

TEST(ProgramValues, StepsCountFromOne) {
  quiet_world world(decoder_of(1));
  for (const std::int64_t step : {0, -1}) {
    const std::string expected = "training step " + std::to_string(step) + ": steps count from 1";
    EXPECT_EQ(error_of<hp::program_error>([&] { world.run_step(step); }), expected);
    EXPECT_EQ(error_of<hp::program_error>([&] { world.run_update(step); }), expected);
  }
  EXPECT_TRUE(world.runs.empty() && world.steps.empty());
}

// Rows and labels that the model does not have were read as zero rows.
TEST(ProgramValues, NumbersOfRowsAndLabelsAreThoseOfTheModel) {
  quiet_world world(decoder_of(1));  // 32 rows, tokens and labels (4, 8)
  using indices = std::vector<std::int32_t>;
  const auto with = [](std::size_t place, std::int32_t number) {
    indices all(32, 3);
    all[place] = number;
    return all;
  };
  for (const std::int32_t good : {0, 31}) {
    world.set("tokens", with(5, good));
    world.set("labels", with(5, good));
  }
  world.set("labels", indices(32, -100));  // no label
  const auto error = [&](const char* name, const indices& all) {
    return error_of<hp::program_error>([&] { world.set(name, all); });
  };
  const indices before = world.get_index("tokens");
  EXPECT_EQ(error("tokens", with(0, 1'000'000)),
            "input \"tokens\" is 1000000 at [0, 0], expected 0 to 31 (read by operator \"embedding\")");
  EXPECT_EQ(error("tokens", with(13, 32)),
            "input \"tokens\" is 32 at [1, 5], expected 0 to 31 (read by operator \"embedding\")");
  EXPECT_EQ(error("tokens", with(31, -5)),
            "input \"tokens\" is -5 at [3, 7], expected 0 to 31 (read by operator \"embedding\")");
  EXPECT_EQ(world.get_index("tokens"), before) << "nothing was set";
  const std::string label = error("labels", with(9, 32));
  EXPECT_EQ(label.find("input \"labels\" is 32 at [1, 1], expected at most 31, or a negative number for no label"), 0U)
      << label;
}

}  // namespace
