// SPDX-License-Identifier: Apache-2.0
// processes: 8 4 3
// What a world of processes says and does where something is wrong.
#include <hyperparallel/mpi/program_world.hpp>

#include "mpi/compared_courses.hpp"
#include "support/error_of.hpp"
#include "support/small_links.hpp"

namespace hp = hyperparallel;

namespace {

using namespace mpi_worlds;
using tested::error_of;

TEST(mpi_program_world, names_who_has_another_strategy) {
  const hp::mpi_world world = eight_ranks();
  const hp::graph g = training::small_step(1, 1), other = training::small_step(2, 1);
  const int last = world.processes() - 1;
  const bool differs = world.process() == last;
  const auto error = [&](const hp::graph& mine, const char* name, const hp::model_run_options& options = {}) {
    return error_of([&] { const mpi_run<float> run(world, mine, hp::strategy_called(name, 8).strategy, options); });
  };
  const std::string who = world.name(last) + " has \"", zero = "\" where " + world.name(0) + " has \"";
  EXPECT_EQ(error(g, differs ? "tp" : "dp"), who + "mesh tp=8" + zero + "mesh dp=8\"");
  EXPECT_EQ(error(differs ? other : g, "dp"), who + "2 micro-batches" + zero + "1 micro-batches\"");
  EXPECT_EQ(error(g, "dp", {.program = {.lookahead = differs ? 3 : 0}}), who + "lookahead 3" + zero + "lookahead 0\"");
  hp::model_run_options linked;
  if (differs) linked.program.topology = tested::node_links();
  const std::string moved = error(g, "dp", linked);
  EXPECT_EQ(moved.find(who + "move of value "), 0U) << moved;
  const std::string layout = error(g, differs ? "zero1" : "dp");
  EXPECT_EQ(layout.find(who), 0U) << layout;
  const std::string refused =
      error_of([&] { const mpi_run<float> run(world, g, hp::strategy_called("dp", differs ? 16 : 8).strategy); });
  EXPECT_EQ(refused.find(world.name(last) + ": strategy \"dp\" is refused: dim_does_not_divide"), 0U) << refused;
  EXPECT_EQ(error_of([&] { const mpi_run<float> run(world, g, hp::strategy_called("dp", 4).strategy); }),
            world.name(0) + ": the program is for 4 ranks, the world has 8");
}

TEST(mpi_program_world, names_who_has_other_elements_or_operators) {
  const hp::mpi_world world = eight_ranks();
  const int last = world.processes() - 1;
  const hp::strategy_value dp = hp::strategy_called("dp", 8).strategy;
  const std::string who = world.name(last) + " has \"";
  const std::string elements = error_of([&] {
    if (world.process() == last)
      const mpi_run<double> run(world, training::tiny_step(hp::f64), dp);
    else
      const mpi_run<float> run(world, training::tiny_step(hp::f32), dp);
  });
  EXPECT_EQ(elements, who + "elements f64\" where " + world.name(0) + " has \"elements f32\"");
  hp::graph g = training::tiny_step(hp::f32);
  if (world.process() == last)
    for (hp::graph_operator& op : g.op)
      if (op.kind == hp::id_of<hp::ops::rms_norm>) op.real[0] = 0.5;
  const std::string operators = error_of([&] { const mpi_run<float> run(world, g, dp); });
  EXPECT_EQ(operators.find(who), 0U) << operators;
  EXPECT_NE(operators.find("(rms_norm) placed"), std::string::npos) << operators;
}

bool fails = false;
hp::operator_kernel failing_kernels(hp::operator_id kind) {
  if (kind != hp::id_of<hp::ops::softmax> && kind != hp::id_of<hp::ops::rms_norm>) return hp::kernel_of<float>(kind);
  return [](const hp::operator_call& call) {
    if (fails) throw std::runtime_error("no more");
    const bool softmax = std::string(call.rule->name.text) == "softmax";
    hp::kernel_of<float>(softmax ? hp::id_of<hp::ops::softmax> : hp::id_of<hp::ops::rms_norm>)(call);
  };
}

TEST(mpi_program_world, a_kernel_that_throws_ends_the_run_on_all_alike) {
  const hp::graph g = training::small_step(1, 1);
  for (const char* const name : {"zero3", "tp-sp", "dp-tp-ep-cp"}) {
    const bool strict = name == std::string("tp-sp");
    const hp::mpi_world world = strict ? strict_world() : eight_ranks();
    mpi_run<float> run(world, g, hp::strategy_called(name, 8).strategy, {.program = {.kernels = &failing_kernels}});
    const auto step = [&] { run.train_step([&](int) { run.set_random_inputs(1); }); };
    ASSERT_EQ(error_of(step), "no error");
    fails = world.process() == 1;
    const std::string what = error_of(step);
    fails = false;
    EXPECT_EQ(what.find(world.name(1) + ": step "), 0U) << what;
    EXPECT_NE(what.find("(rms_norm) failed: no more"), std::string::npos) << what;
    const std::string after = error_of(step);  // a parameter was to be replaced
    EXPECT_NE(after.find(world.name(0) + ": parameter"), std::string::npos) << after;
    EXPECT_NE(after.find("was not set"), std::string::npos) << after;
    run.set_first_values();
    EXPECT_EQ(error_of(step), "no error");
    if (world.process() != 0) continue;
    threaded_run<float> alone(g, hp::strategy_called(name, 8).strategy, {.program = {.execution = {.threads = 1}}});
    alone.train_step([&](int) { alone.set_random_inputs(1); });
    EXPECT_EQ(run.world().loss(), alone.world().loss());
  }
}

TEST(mpi_program_world, what_cannot_be_run_or_read_is_named_to_all) {
  const hp::mpi_world world = eight_ranks();
  const hp::graph g = training::small_step(1, 1);
  mpi_run<float> run(world, g, hp::strategy_called("dp", 8).strategy);
  EXPECT_EQ(error_of([&] { run.world().run_micro(); }), world.name(0) + ": input \"tokens\" was not set");
  if (world.process() != 1) run.set_random_inputs(0);
  EXPECT_EQ(error_of([&] { run.world().run_micro(); }), world.name(1) + ": input \"tokens\" was not set");
  run.set_random_inputs(0);
  const std::string loss = world.name(0) + ": activation \"" + g.name_of_tensor(g.loss) + "\" has ";
  EXPECT_EQ(error_of([&] { run.world().get(g.loss); }).find(loss + "no value"), 0U);
  EXPECT_EQ(error_of([&] { run.world().get_index(g.loss); }), loss + "elements of type f32, asked as i32");
  EXPECT_EQ(error_of([&] { run.world().get("tokns"); }),
            "the graph has no tensor \"tokns\", the nearest is \"tokens\"");
  const std::string update = error_of([&] {
    if (world.process() == 1)
      run.world().run_update(1);
    else
      run.world().run_micro();
  });
  EXPECT_NE(update.find(world.name(1)), std::string::npos) << update;
  run.world().run_micro();
  EXPECT_GT(run.world().get(g.loss).front(), 0.0F);
  EXPECT_EQ(run.world().get_index("tokens").size(), 8U * 16U);
}

// What trained on one device in silence, or on zero rows, or nothing at all.
TEST(mpi_program_world, what_would_train_wrongly_is_refused_on_all) {
  const hp::mpi_world world = eight_ranks();
  const hp::graph g = training::small_step(1, 1);
  const std::string unknown = error_of([&] { mpi_run<float> run(world, g, hp::strategy_called("zero9", 8).strategy); });
  EXPECT_NE(unknown.find("no strategy is called \"zero9\", the nearest is \"zero1\"; there are single, dp, "),
            std::string::npos)
      << unknown;
  mpi_run<float> run(world, g, hp::strategy_called("dp", 8).strategy);
  const std::string row = error_of([&] {
    run.train_step([&](int) {
      run.set_random_inputs(1);
      std::vector<std::int32_t> tokens = run.world().get_index("tokens");
      tokens[17] = 1'000'000;
      run.world().set("tokens", tokens);
    });
  });
  EXPECT_EQ(row.find("input \"tokens\" is 1000000 at [1, 1], expected 0 to "), 0U) << row;
  hp::model_builder m(hp::build_options{.unrolled = true});
  const int batch = m.dim("batch", 8), in = m.dim("in", 6), out = m.dim("out", 5);
  const int y = m.contract("y", "bk,kn->bn", m.input("x", {batch, in}), m.parameter("w", {in, out}));
  m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = "*->"}));
  hp::differentiate(m.graph);
  mpi_run<float> judge(world, m.graph, hp::strategy_called("dp", 8).strategy);
  EXPECT_EQ(error_of([&] { judge.train_step([&](int) { judge.set_random_inputs(1); }); }),
            "steps of this graph would not train it: no operator updates a parameter: call append_optimizer after "
            "differentiate");
}

}  // namespace
