// SPDX-License-Identifier: Apache-2.0
// processes: 8 4 3
// A training step over processes against the same step over threads: losses, norms, gradients, parameters, states and
// bytes, bit for bit.
#include <hyperparallel/runtime/mpi/program_world.hpp>

#include <hyperparallel/graph/in_floats.hpp>
#include <hyperparallel/runtime/model_run.hpp>

#include "mpi/worlds.hpp"
#include "runtime/training_models.hpp"
#include "support/error_of.hpp"
#include "support/small_links.hpp"
#include "support/tries.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>

namespace hp = hyperparallel;

/// Messages are posted late at random, while this is on.
struct late_messages {
  static inline bool on = false;
  static inline int posted = 0;
  static inline std::mt19937 random;

  static void wait() {
    if (!on) return;
    ++posted;
    if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
  }
};
// The profiling interface of MPI: these are called in place of the library's, whose other name begins with a P.
extern "C" int MPI_Isend(const void* block, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  late_messages::wait();
  return PMPI_Isend(block, count, type, to, tag, comm, request);
}
extern "C" int MPI_Issend(const void* block, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                          MPI_Request* request) {
  late_messages::wait();
  return PMPI_Issend(block, count, type, to, tag, comm, request);
}
extern "C" int MPI_Irecv(void* block, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  late_messages::wait();
  return PMPI_Irecv(block, count, type, from, tag, comm, request);
}

namespace {

using namespace mpi_worlds;
using tested::error_of;

template <class T>
using threaded_run = hp::model_run<T>;
template <class T>
using mpi_run = hp::model_run<T, hp::mpi_program_world<T>>;

/// Everything that a few steps leave.
template <class T>
struct course {
  std::vector<T> loss;
  std::vector<std::vector<T>> monitors;
  std::vector<std::vector<T>> gradient;  ///< of the first step
  std::vector<std::vector<T>> values;    ///< parameters and states after the last step
  std::vector<std::int64_t> received;    ///< of each rank
  std::int64_t planned_bytes = 0;
  friend bool operator==(const course&, const course&) = default;
};

template <class T, class Run>
course<T> train(Run& run, const hp::graph& g, int steps) {
  course<T> c;
  auto& world = run.world();
  for (int s = 0; s < steps; ++s) {
    c.loss.push_back(
        run.train_step([&](int micro) { run.set_random_inputs(static_cast<std::uint64_t>(16 * s + micro)); }));
    std::vector<T>& monitors = c.monitors.emplace_back();
    for (int i = 0; i < world.monitors(); ++i) monitors.push_back(world.monitor(i));
    if (s == 0)
      for (const std::string& name : training::gradient_names(g)) c.gradient.push_back(world.get(name));
  }
  for (int t = 0; t < g.tensor.size; ++t) {
    const bool lives =
        g.tensor[t].kind == hp::graph_tensor_kind::parameter || g.tensor[t].kind == hp::graph_tensor_kind::state;
    if (lives && world.is_used(t)) c.values.push_back(world.get(t));
  }
  for (int r = 0; r < world.ranks(); ++r) c.received.push_back(world.received(r));
  c.planned_bytes = world.planned_bytes();
  return c;
}

template <class T>
struct compared {
  const char* strategy;
  const hp::graph* model;
  int steps;
  int lookahead;
  std::int64_t budget = 0;
  hp::interconnect topology = hp::without_links;
  course<T> spread{};
};

template <class T>
hp::model_run_options options_for(const compared<T>& c) {
  hp::model_run_options options;
  options.program.keep = training::gradient_names(*c.model);
  options.program.execution.threads = 1;
  options.program.lookahead = c.lookahead;
  options.program.topology = c.topology;
  if (c.budget == 0) return options;
  options.program.budget = {.bytes = c.budget, .tiers = {{hp::unlimited_bandwidth, 0}}};
  options.program.budget.planning.effort = 200'000;
  return options;
}

/// Trains all over processes; then each process repeats some of it over threads. What differed between processes would
/// differ from that on one of them.
template <class T>
void expect_same(const hp::mpi_world& world, std::vector<compared<T>> all) {
  for (compared<T>& c : all) {
    mpi_run<T> run(world, *c.model, hp::strategy_called(c.strategy, 8).strategy, options_for(c));
    c.spread = train<T>(run, *c.model, c.steps);
    for (const int r : world.hosted()) EXPECT_EQ(run.world().high_water(r), run.world().planned_bytes());
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (static_cast<int>(i) % world.processes() != world.process()) continue;
    const compared<T>& c = all[i];
    SCOPED_TRACE(c.strategy);
    threaded_run<T> alone(*c.model, hp::strategy_called(c.strategy, 8).strategy, options_for(c));
    const course<T> expected = train<T>(alone, *c.model, c.steps);
    EXPECT_EQ(c.spread.loss, expected.loss);
    EXPECT_EQ(c.spread.monitors, expected.monitors);
    EXPECT_TRUE(c.spread.gradient == expected.gradient);
    EXPECT_TRUE(c.spread.values == expected.values);
    EXPECT_FALSE(expected.values.empty());
    EXPECT_EQ(c.spread.received, expected.received);
    EXPECT_EQ(c.spread.planned_bytes, expected.planned_bytes);
  }
  world.channel().agree("comparison");
}

TEST(mpi_program_world, trains_as_threads_do_under_every_kind_of_strategy) {
  const hp::graph g = training::small_step(1, 2);
  ASSERT_EQ(g.status.code, hp::graph_code::ok);
  if (tested::exhaustive()) {
    const hp::graph exact = hp::in_floats(g, hp::f64);
    std::vector<compared<double>> all;
    for (int i = 0; i < hp::named_strategy_count; ++i) all.push_back({hp::named_strategy_at(i).name, &exact, 3, 0});
    expect_same<double>(eight_ranks(), all);
  }
  std::vector<compared<float>> some;
  for (const char* const name :
       {"dp", "zero1", "zero3", "hsdp3", "tp-sp", "2d", "summa", "ulysses", "ring", "ep", "ep-tp", "dp-tp-ep-cp"})
    some.push_back({name, &g, 3, 0});
  expect_same<float>(eight_ranks(), some);
}

/// One move open at a time, and sends that wait for their receives: no buffer of MPI hides a wrong order.
hp::mpi_world strict_world() {
  return {MPI_COMM_WORLD, homes_of_eight(), {.timeout = 60s, .open_moves = 1, .synchronous_sends = true}};
}

TEST(mpi_program_world, needs_no_buffers_and_one_open_move) {
  const hp::graph g = training::small_step(1, 2, hp::f64);
  std::vector<compared<double>> some;
  if (tested::exhaustive())
    for (int i = 0; i < hp::named_strategy_count; ++i) some.push_back({hp::named_strategy_at(i).name, &g, 2, 0});
  else
    for (const char* const name : {"zero3", "tp-sp", "ring", "dp-tp-ep-cp"}) some.push_back({name, &g, 2, 0});
  for (const int ahead : {4, 100}) some.push_back({"zero3", &g, 1, ahead});
  some.push_back({"tp-sp", &g, 2, 0, 0, tested::node_links()});
  expect_same<double>(strict_world(), some);
}

/// Each step of training is a run with delays of its own. Two hundred runs, with --exhaustive ten thousand and another
/// thousand without buffers.
TEST(mpi_program_world_on_8_processes, late_messages_change_no_bit_and_hang_nobody) {
  const hp::graph g = training::small_step(1, 1, hp::f64);
  late_messages::on = true;
  late_messages::random.seed(static_cast<unsigned>(eight_ranks().process()));
  for (const bool strict : {false, true}) {
    std::vector<compared<double>> some;
    const int steps = strict ? tested::tries(25, 250) : tested::tries(25, 2500);
    for (const char* const name : {"zero3", "tp-sp", "ring", "dp-tp-ep-cp"}) some.push_back({name, &g, steps, 0});
    expect_same<double>(strict ? strict_world() : eight_ranks(), some);
  }
  late_messages::on = false;
  EXPECT_GT(late_messages::posted, 10'000);
}

/// By levels of nodes of two and four ranks, and on a full mesh of four by two.
TEST(mpi_program_world, moves_as_threads_do_in_the_way_that_links_make_fastest) {
  const hp::graph g = training::small_step(1, 2);
  std::vector<compared<float>> some;
  for (const char* const name : {"zero3", "tp-sp", "ep", "dp-tp"})
    for (const hp::interconnect& links : {tested::node_links(), tested::mesh_links({2, {4, 2}})})
      some.push_back({name, &g, 2, 0, 0, links});
  expect_same<float>(eight_ranks(), some);
}

TEST(mpi_program_world, accumulates_micro_batches_as_threads_do) {
  const hp::graph g = training::small_step(2, 2, hp::f64);
  expect_same<double>(eight_ranks(), {{"zero2", &g, 2, 0}, {"ring", &g, 2, 0}});
}

TEST(mpi_program_world, moves_that_run_ahead_change_no_bit) {
  const hp::graph g = training::small_step(1, 2);
  expect_same<float>(eight_ranks(), {{"zero3", &g, 1, 4}, {"zero3", &g, 1, 100}});
}

TEST(mpi_program_world, a_budget_of_memory_changes_no_bit) {
  const hp::graph g = training::small_step(1, 2);
  const hp::strategy_value s = hp::strategy_called("zero3", 8).strategy;
  compared<float> within{"zero3", &g, 2, 0};
  threaded_run<float> without(g, s, options_for(within));
  within.budget = without.world().planned_bytes() * 17 / 20;
  expect_same<float>(eight_ranks(), {within});
  threaded_run<float> with(g, s, options_for(within));
  EXPECT_LE(with.world().planned_bytes(), within.budget);
  EXPECT_EQ(train<float>(with, g, 2).values, train<float>(without, g, 2).values);
}

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
