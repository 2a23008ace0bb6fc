// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/world/program_world.hpp>

#include <hyperparallel/kernels/keyed_random.hpp>
#include <hyperparallel/kernels/ops/builtin_kernels.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <lowering/random_cache_actions.hpp>
#include <support/error_of.hpp>
#include <support/small_links.hpp>
#include <support/tries.hpp>
#include <world/small_models.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>

namespace hp = hyperparallel;

namespace {

using std::size_t;
using tested::error_of;
using doubles = std::vector<double>;

template <class T>
std::vector<T> numbers(std::uint64_t stream, size_t n) {
  std::vector<T> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = hp::keyed_uniform(3, stream, i);
  return v;
}

/// c (m, n) = a (m, k) · b (k, n).
doubles product(const doubles& a, const doubles& b, size_t m, size_t k, size_t n) {
  doubles c(m * n);
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j)
      for (size_t l = 0; l < k; ++l) c[i * n + j] += a[i * k + l] * b[l * n + j];
  return c;
}
void expect_near(const doubles& a, const doubles& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << i;
}

TEST(ProgramWorld, HandWrittenProgramsComputeWhatTheDenseProductsAre) {
  const doubles x = numbers<double>(1, 48), first = numbers<double>(2, 24), second = numbers<double>(3, 20),
                dh = numbers<double>(4, 32);
  doubles h = product(x, first, 8, 6, 4), transposed(48);
  for (double& one : h) one = one / (1 + std::exp(-one));
  for (size_t i = 0; i < 48; ++i) transposed[i % 6 * 8 + i / 6] = x[i];
  const doubles y = product(h, second, 8, 4, 5), d_first = product(transposed, dh, 6, 8, 4);
  for (const bool data_parallel : {true, false})
    for (const int ranks : {1, 2, 4}) {
      hp::program_world<double> world(small_models::two_layers_on(ranks, data_parallel, hp::f64),
                                      {.keep = {"y", "d_first"}});
      EXPECT_EQ(world.ranks(), ranks);
      world.set("x", x);
      world.set("first", first);
      world.set("second", second);
      world.set("dh", dh);
      ASSERT_EQ(world.run_micro(), hp::run_result::complete);
      expect_near(world.get("y"), y, 1e-14);
      expect_near(world.get("d_first"), d_first, 1e-14);
      EXPECT_EQ(world.get("x"), x);
      EXPECT_EQ(world.received(ranks - 1) > 0, ranks > 1);
    }
}

/// First values by name and index, as any strategy sees them.
template <class T>
void set_everything(hp::program_world<T>& world) {
  const hp::graph& g = world.program().graph;
  for (int t = 0; t < g.tensor.size; ++t) {
    if (!world.is_used(t) || g.tensor[t].replaces >= 0 || g.tensor[t].producer >= 0) continue;
    const size_t n = static_cast<size_t>(hp::elements_of(g.tensor[t]));
    std::uint64_t stream = 0;
    for (const char* c = g.name_of_tensor(t); *c != '\0'; ++c) stream = stream * 31 + static_cast<unsigned char>(*c);
    if (g.tensor[t].type == hp::data_type::i32) {
      std::vector<std::int32_t> index(n);
      for (size_t i = 0; i < n; ++i) index[i] = static_cast<std::int32_t>(hp::keyed_bits(5, stream, i) % 32);
      world.set(t, index);
    } else if (g.tensor[t].kind == hp::graph_tensor_kind::parameter) {
      std::vector<T> values = numbers<T>(stream, n);
      for (T& one : values) one *= static_cast<T>(0.3);
      world.set(t, values);
    }
  }
}
void set_batch(hp::program_world<double>& world, int number) {
  std::vector<std::int32_t> tokens(32), labels(32);
  for (size_t i = 0; i < 32; ++i) {
    tokens[i] = static_cast<std::int32_t>(hp::keyed_bits(6, static_cast<std::uint64_t>(number), i) % 32);
    labels[i] = static_cast<std::int32_t>(hp::keyed_bits(7, static_cast<std::uint64_t>(number), i) % 32);
  }
  world.set("tokens", tokens);
  world.set("labels", labels);
}

/// Losses of a few steps, and all parameters afterwards.
struct trained {
  doubles loss;
  std::map<std::string, doubles> parameter;
  std::map<std::string, doubles> kept;
  friend bool operator==(const trained&, const trained&) = default;
};

struct how_to_train {
  hp::program_options options{};
  int steps = 2;
  bool split = false;               ///< micro-batches and update as runs of their own
  std::mt19937* leaving = nullptr;  ///< where given, storages leave tier 0 and come back at random
};

hp::sharded_program with_cache_operators(const hp::sharded_program& p, std::mt19937& random) {
  const programs::cache_plan plan = programs::random_cache_plan(p, random);
  hp::cache_insertion_status status;
  const hp::sharded_program with = hp::insert_cache_operators(p, plan.home_tier, plan.action, status);
  EXPECT_EQ(status.code, hp::cache_insertion_code::ok) << to_text(status.code);
  return with;
}

trained train(const hp::graph& g, const char* strategy, int ranks, const how_to_train& how = {}) {
  const hp::strategy_result s = hp::strategy_called(strategy, ranks);
  EXPECT_EQ(s.status.code, hp::strategy_code::ok) << strategy;
  hp::sharded_program p = hp::partition(g, s.strategy);
  if (how.leaving != nullptr) p = with_cache_operators(p, *how.leaving);
  hp::program_world<double> world(p, how.options);
  set_everything(world);
  trained result;
  for (int step = 1; step <= how.steps; ++step) {
    if (how.split) {
      world.clear_accumulated();
      for (int m = 0; m < g.micro_batches; ++m) {
        set_batch(world, 10 * step + m);
        EXPECT_EQ(world.run_micro(), hp::run_result::complete);
      }
      EXPECT_EQ(world.run_update(step), hp::run_result::complete);
    } else {
      EXPECT_EQ(world.run_step(step, [&](int m) { set_batch(world, 10 * step + m); }), hp::run_result::complete);
      result.loss.push_back(world.loss());
    }
  }
  if (how.options.budget.bytes > 0) {
    EXPECT_LE(world.planned_bytes(), how.options.budget.bytes);
  }
  if (how.options.measured) {
    int steps = 0;
    for (const std::int64_t d : world.step_durations()) steps += d > 0 ? 1 : 0;
    EXPECT_GT(steps, world.program().compute.size);
  }
  for (int r = 0; r < ranks; ++r)
    for (int tier = 0; tier < world.tiers(); ++tier) EXPECT_EQ(world.high_water(r, tier), world.planned_bytes(tier));
  for (int t = 0; t < g.tensor.size; ++t)
    if (g.tensor[t].kind == hp::graph_tensor_kind::parameter && g.tensor[t].replaces < 0)
      result.parameter[g.name_of_tensor(t)] = world.get(t);
  for (const std::string& name : how.options.keep) result.kept[name] = world.get(name);
  return result;
}

void expect_near(const trained& a, const trained& b, double tolerance) {
  expect_near(a.loss, b.loss, tolerance);
  for (const auto& [name, values] : a.parameter) {
    SCOPED_TRACE(name);
    expect_near(values, b.parameter.at(name), tolerance);
  }
}

TEST(ProgramWorld, EveryStrategyTrainsLikeOneDevice) {
  for (const bool experts : {false, true}) {
    const hp::graph g = small_models::decoder({.experts = experts, .type = hp::f64});
    ASSERT_EQ(g.status.code, hp::graph_code::ok);
    const trained alone = train(g, "single", 1);
    for (int i = 0; i < hp::named_strategy_count; ++i) {
      const char* const name = hp::named_strategy_at(i).name;
      const hp::strategy_result s = hp::strategy_called(name, 4);
      if (hp::partition(g, s.strategy).status.code != hp::strategy_code::ok) continue;  // experts that are not there
      SCOPED_TRACE(name);
      expect_near(train(g, name, 4), alone, 2e-7);  // Adam's first steps enlarge what rounding leaves of a gradient
    }
  }
}

/// Moves by levels of links and along the axes of a full mesh; where terms meet in several steps, sums are rounded
/// otherwise than by fewest bytes.
TEST(ProgramWorld, MovesInTheWayThatLinksMakeFastestTrainLikeOneDevice) {
  const hp::graph g = small_models::decoder({.experts = true, .type = hp::f64});
  const trained alone = train(g, "single", 1);
  int by_steps = 0, other_bits = 0, runs = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const char* const name = hp::named_strategy_at(i).name;
    const hp::sharded_program p = hp::partition(g, hp::strategy_called(name, 4).strategy);
    if (p.status.code != hp::strategy_code::ok) continue;
    SCOPED_TRACE(name);
    const trained plain = train(g, name, 4);
    for (const hp::interconnect& links : {tested::node_links(), tested::mesh_links({2, {2, 2}})}) {
      how_to_train how;
      how.options.topology = links;
      const trained t = train(g, name, 4, how);
      expect_near(t, alone, 2e-7);
      for (const hp::move_kind& k : hp::kinds_of_moves(p, links).kind)
        by_steps += k.candidate != hp::move_candidate::exchange;
      other_bits += t.parameter == plain.parameter ? 0 : 1;
      how.options.execution.threads = 2;
      how.options.lookahead = 5;
      EXPECT_EQ(train(g, name, 4, how).parameter, t.parameter);
      ++runs;
    }
  }
  EXPECT_GE(by_steps, 20);
  EXPECT_GE(runs, 40);
  EXPECT_GT(other_bits, 0);
  EXPECT_LT(other_bits, runs);
}

TEST(ProgramWorld, MicroBatchesAreAccumulated) {
  const hp::graph g =
      small_models::decoder({.micro_batches = 3, .optimizer = hp::optimizer_kind::sgd, .type = hp::f64});
  const trained alone = train(g, "single", 1);
  for (const char* const name : {"dp", "zero3", "tp-sp", "dp-tp"}) {
    SCOPED_TRACE(name);
    expect_near(train(g, name, 4), alone, 1e-11);
  }
}

TEST(ProgramWorld, BitsDependNeitherOnThreadsNorOnTheRun) {
  const hp::graph g = small_models::decoder({.layers = 2, .type = hp::f64});
  for (const char* const name : {"dp-tp", "zero3", "ring"}) {
    how_to_train how;
    how.options.keep = {"gradient(layer.0.attention.query.weight)"};
    how.options.execution.threads = 1;
    const trained first = train(g, name, 4, how);
    for (const int threads : {1, 2, 4}) {
      how.options.execution.threads = threads;
      EXPECT_EQ(train(g, name, 4, how), first) << name << " on " << threads;
    }
    how.options.vector_queue = true;
    EXPECT_EQ(train(g, name, 4, how), first) << name << " with a vector queue";
    how.options.lookahead = 8;
    EXPECT_EQ(train(g, name, 4, how), first) << name << " with lookahead";
  }
}

TEST(ProgramWorld, WhatLeavesTheFastTierChangesNoBit) {
  std::mt19937 random(11);
  const hp::graph g = small_models::decoder({.layers = 2, .experts = true, .type = hp::f64});
  for (const char* const name : {"dp", "zero3", "tp-sp", "ep"}) {
    if (tested::watches_threads && name[0] != 'z') continue;
    const trained resident = train(g, name, 4);
    for (int i = 0; i < 3; ++i) {
      how_to_train how;
      how.leaving = &random;
      how.options.execution.threads = i;
      how.options.lookahead = 4 * i;
      if (i == 2) how.options.budget.tiers = {{1'000'000'000, 1'000'000}, {400'000'000, 2'000'000}};
      EXPECT_EQ(train(g, name, 4, how), resident) << name << " " << i;
    }
  }
}

TEST(ProgramWorld, ABudgetChangesNoBit) {
  const hp::graph g = small_models::decoder({.layers = 2, .experts = true, .type = hp::f64});
  for (const char* const name : {"dp", "zero3", "tp-sp", "ep"}) {
    const trained resident = train(g, name, 4);
    const std::int64_t whole =
        hp::program_world<double>(hp::partition(g, hp::strategy_called(name, 4).strategy)).planned_bytes();
    for (const int percent : {75, 50, 35}) {
      if (tested::watches_threads && (percent != 50 || name[0] != 'z')) continue;
      how_to_train how;
      how.options.budget = {.bytes = whole * percent / 100, .tiers = {{4'000'000'000, 1'000'000}}};
      how.options.budget.planning.effort = tested::watches_threads ? 50'000 : 1'000'000;
      how.options.budget.recomputation = percent == 50;
      how.options.measured = percent == 75;
      EXPECT_EQ(train(g, name, 4, how), resident) << name << " in " << percent << " %";
    }
  }
}

TEST(ProgramWorld, MicroBatchesRunUnderABudget) {
  const hp::graph g = small_models::decoder({.layers = 2, .micro_batches = 3, .type = hp::f64});
  for (const char* const name : {"dp", "zero2", "tp-sp"}) {
    const trained resident = train(g, name, 4);
    const std::int64_t whole =
        hp::program_world<double>(hp::partition(g, hp::strategy_called(name, 4).strategy)).planned_bytes();
    for (const int percent : {80, 50}) {
      if (tested::watches_threads && (percent != 50 || name[0] != 'z')) continue;
      how_to_train how;
      how.options.budget = {.bytes = whole * percent / 100, .tiers = {{4'000'000'000, 1'000'000}}};
      how.options.budget.planning.effort = tested::watches_threads ? 50'000 : 500'000;
      EXPECT_EQ(train(g, name, 4, how), resident) << name << " in " << percent << " %";
    }
  }
}

TEST(ProgramWorld, PhasesMayRunByThemselves) {
  for (const int micro_batches : {1, 2}) {
    const hp::graph g = small_models::decoder({.micro_batches = micro_batches, .type = hp::f64});
    how_to_train how;
    const trained whole = train(g, "zero2", 4, how);
    how.split = true;
    EXPECT_EQ(train(g, "zero2", 4, how).parameter, whole.parameter);
  }
}

TEST(ProgramWorld, RunsInSinglePrecision) {
  const hp::graph g = small_models::decoder({});
  const hp::strategy_result s = hp::strategy_called("tp", 2);
  hp::program_world<float> world(hp::partition(g, s.strategy));
  set_everything(world);
  ASSERT_EQ(world.run_step(1), hp::run_result::complete);
  EXPECT_GT(world.loss(), 0.0F);
  EXPECT_EQ(world.monitor(0), world.loss());
  EXPECT_GT(world.monitors(), 1);  // the norm of the gradient
  EXPECT_GT(world.monitor(1), 0.0F);
}

TEST(ProgramWorld, WhatDoesNotFitIsNamed) {
  hp::program_world<double> world(small_models::two_layers_on(2, true, hp::f64));
  EXPECT_EQ(error_of([&] { world.set("z", doubles(1)); }), "the graph has no tensor \"z\", the nearest is \"x\"");
  EXPECT_EQ(error_of([&] { world.get("frist"); }), "the graph has no tensor \"frist\", the nearest is \"first\"");
  EXPECT_EQ(error_of([&] { world.set("x", doubles(47)); }), "input \"x\" has 48 elements, given 47");
  EXPECT_EQ(error_of([&] { world.set("x", std::vector<std::int32_t>(48)); }),
            "input \"x\" has elements of type f64, given i32");
  EXPECT_EQ(error_of([&] { world.set("y", doubles(40)); }), "activation \"y\" is read by no step and has no place");
  EXPECT_EQ(error_of([&] { world.run_micro(); }), "input \"x\" was not set");
  world.set("x", doubles(48));
  EXPECT_EQ(error_of([&] { world.run_micro(); }), "parameter \"first\" was not set");
  EXPECT_NE(error_of([&] { world.get("y"); }).find("activation \"y\" has no value"), std::string::npos);
  EXPECT_EQ(error_of([&] { world.get_index("x"); }), "input \"x\" has elements of type f64, asked as i32");
  EXPECT_EQ(error_of([&] { world.monitor(0); }), "monitor 0 of 0");
  hp::sharded_program refused = small_models::two_layers_on(2, true, hp::f64);
  refused.status.code = hp::strategy_code::dim_does_not_divide;
  EXPECT_EQ(error_of([&] { hp::program_world<double> none(refused); }), "the program was refused: dim_does_not_divide");
  hp::sharded_program folded = small_models::two_layers_on(2, true, hp::f64);
  folded.graph.segment.push({folded.graph.tensor[0].name, 4});
  EXPECT_EQ(error_of([&] { hp::program_world<double> none(folded); }),
            "segment \"x\" is folded: only graphs that are built unrolled can run");
  EXPECT_EQ(
      error_of([&] { hp::program_world<double> none(small_models::two_layers_on(2, true, hp::f64), {.keep = {"q"}}); }),
      "keep: the graph has no tensor \"q\", the nearest is \"x\"");
}

TEST(ProgramWorld, WhatIsNotKeptIsGoneOnceItsMemoryIsUsedAgain) {
  const hp::graph g = small_models::decoder({.type = hp::f64});
  const hp::strategy_result s = hp::strategy_called("dp", 2);
  const auto values_left = [&](const std::vector<std::string>& keep) {
    hp::program_world<double> world(hp::partition(g, s.strategy), {.keep = keep});
    set_everything(world);
    world.run_step(1);
    return error_of([&] { world.get("layer.0.feed_forward.gate"); });
  };
  EXPECT_NE(values_left({}).find("has no value"), std::string::npos);
  EXPECT_EQ(values_left({"layer.0.feed_forward.gate"}), "no error");
}

bool fails = false;
hp::operator_kernel failing_kernels(hp::operator_id kind) {
  if (kind != hp::id_of<hp::ops::silu>) return hp::kernel_of<double>(kind);
  return [](const hp::operator_call& call) {
    if (fails && call.loop[0].begin > 0) throw std::runtime_error("no more");
    hp::kernel_of<double>(hp::id_of<hp::ops::silu>)(call);
  };
}

TEST(ProgramWorld, AFailedRunLeavesNoHalfWrittenValues) {
  hp::program_world<double> world(small_models::two_layers_on(2, true, hp::f64),
                                  {.keep = {"y"}, .kernels = &failing_kernels});
  world.set("x", numbers<double>(1, 48));
  world.set("first", numbers<double>(2, 24));
  world.set("second", numbers<double>(3, 20));
  world.set("dh", numbers<double>(4, 32));
  ASSERT_EQ(world.run_micro(), hp::run_result::complete);
  const doubles y = world.get("y");
  fails = true;
  const std::string what = error_of([&] { world.run_micro(); });
  EXPECT_NE(what.find("on rank 1: a (silu)"), std::string::npos) << what;
  EXPECT_NE(what.find("no more"), std::string::npos) << what;
  EXPECT_NE(error_of([&] { world.get("y"); }).find("has no value"), std::string::npos);
  fails = false;
  ASSERT_EQ(world.run_micro(), hp::run_result::complete);
  EXPECT_EQ(world.get("y"), y);
}

hp::program_world<double>* cancelled = nullptr;
hp::operator_kernel cancelling_kernels(hp::operator_id kind) {
  if (kind != hp::id_of<hp::ops::silu>) return hp::kernel_of<double>(kind);
  return [](const hp::operator_call& call) {
    if (cancelled != nullptr) cancelled->cancel();
    hp::kernel_of<double>(hp::id_of<hp::ops::silu>)(call);
  };
}

TEST(ProgramWorld, CanBeCancelledAndRunAgain) {
  hp::program_world<double> world(small_models::two_layers_on(2, false, hp::f64), {.kernels = &cancelling_kernels});
  world.cancel();
  set_everything(world);
  world.set("x", numbers<double>(1, 48));
  world.set("dh", numbers<double>(4, 32));
  cancelled = &world;
  EXPECT_EQ(world.run_micro(), hp::run_result::cancelled);
  EXPECT_EQ(world.received(0), 0);
  cancelled = nullptr;
  EXPECT_EQ(world.run_micro(), hp::run_result::complete);
  EXPECT_GT(world.received(0), 0);
}

}  // namespace
