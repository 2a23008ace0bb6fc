// SPDX-License-Identifier: Apache-2.0
// processes: 4
#include <hyperparallel/mpi/remote_edge.hpp>

#include <hyperparallel/controller/tensor_edge.hpp>
#include <hyperparallel/groups/check_programs.hpp>
#include <hyperparallel/mpi/program_world.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include <support/error_of.hpp>
#include <world/flipping_kernels.hpp>
#include <world/small_models.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace hp = hyperparallel;

namespace {

constexpr int firings = 6;

/// Training on 2 ranks, a rollout on 2 that are others, are partly the same, or are the same.
struct placed_loop {
  hp::group_table t;
  hp::program_graph g;
  hp::graph model = small_models::decoder({.layers = 1});
  hp::strategy_value train_strategy = hp::strategy_called("zero1", 2).strategy,
                     rollout_strategy = hp::strategy_called("tp", 2).strategy;
  hp::model_run_options options;

  explicit placed_loop(int first) {
    t.world = 4;
    hp::add_group(t, "training", 0, 1);
    hp::add_group(t, "generation", hp::rank_range(first, first + 1));
    const int rollout = hp::add_program(g, "rollout", "generation"), train = hp::add_program(g, "train", "training");
    hp::connect(g, {.name = "samples", .from = rollout, .to = train, .room = 2});
    hp::connect(g, {.name = "weights", .from = train, .to = rollout, .ready = 2, .room = 2});
    g.row = hp::rows_of(g, t);
    options.program.keep = {"head.logits"};
    options.program.execution.threads = 1;
    options.program.kernels = &flipping::kernel_of;
  }
};

const std::vector<hp::tensor_pair> sampled = {{"tokens", "tokens"}, {"labels", "labels"}};

template <class Run, class Samples, class Weights>
void rollout(const hp::firing& f, Run& actor, Samples& samples, Weights& weights) {
  weights.read(f);
  std::vector<std::int32_t> tokens(32);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<std::int32_t>(hp::keyed_bits(5, static_cast<std::uint64_t>(f.number()), i) % 32);
  actor.world().set("tokens", tokens);
  actor.world().set("labels", tokens);
  actor.world().run_micro();
  const std::vector<float> logits = actor.world().get("head.logits");
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<std::int32_t>(std::max_element(&logits[32 * i], &logits[32 * i] + 32) - &logits[32 * i]);
  actor.world().set("labels", tokens);
  samples.write(f);
}
template <class Run, class Samples, class Weights>
void train(const hp::firing& f, Run& learner, Samples& samples, Weights& weights) {
  samples.read(f);
  learner.train_step([](int) {});
  weights.write(f);
}

template <class Run>
std::vector<float> parameters(Run& run) {
  std::vector<float> all;
  const hp::graph& g = run.model();
  for (int p = 0; p < g.tensor.size; ++p)
    if (g.tensor[p].kind == hp::graph_tensor_kind::parameter && g.tensor[p].replaces < 0) {
      const std::vector<float> one = run.world().get(p);
      all.insert(all.end(), one.begin(), one.end());
    }
  return all;
}

std::vector<float> on_threads(int first) {
  const placed_loop l(first);
  hp::model_run<float> learner(l.model, l.train_strategy, l.options), actor(l.model, l.rollout_strategy, l.options);
  hp::controller c(l.g, l.t);
  hp::tensor_edge samples(c, "samples", actor.world(), learner.world(), sampled);
  hp::tensor_edge weights(c, "weights", learner.world(), actor.world());
  weights.begin();
  c.set_program("rollout", {[&](const hp::firing& f) { rollout(f, actor, samples, weights); }});
  c.set_program("train", {[&](const hp::firing& f) { train(f, learner, samples, weights); }});
  c.run(firings);
  return parameters(learner);
}

std::int64_t calls_left = -1;
void fail_when_none_is_left(const hp::operator_call&) {
  if (calls_left >= 0 && calls_left-- == 0) throw std::runtime_error("the device is lost");
}

TEST(RemoteEdge, TrainingBesideARolloutOnProcessesHasTheBitsOfThreadsAlsoAfterAFailure) {
  using world = hp::mpi_program_world<float>;
  using run = hp::model_run<float, world>;
  for (const int first : {2, 1, 0})
    for (const bool fails : {false, true}) {
      const placed_loop l(first);
      hp::process_link link(MPI_COMM_WORLD, l.g, l.t);
      hp::controller c(l.g, l.t, {.link = &link});
      std::optional<run> learner, actor;
      std::optional<hp::mpi_world> of_train, of_rollout;
      if (link.is_here(1))
        learner.emplace(of_train.emplace(link.processes_of(1)), l.model, l.train_strategy, l.options);
      if (link.is_here(0))
        actor.emplace(of_rollout.emplace(link.processes_of(0)), l.model, l.rollout_strategy, l.options);
      world *from = learner ? &learner->world() : nullptr, *to = actor ? &actor->world() : nullptr;
      const hp::sharded_program train_program = hp::partitioned(l.model, l.train_strategy),
                                rollout_program = hp::partitioned(l.model, l.rollout_strategy);
      hp::remote_edge samples(link, c, "samples", rollout_program, train_program, to, from, sampled);
      hp::remote_edge weights(link, c, "weights", train_program, rollout_program, from, to);
      weights.begin();
      if (actor) c.set_program("rollout", {[&](const hp::firing& f) { rollout(f, *actor, samples, weights); }});
      if (learner) c.set_program("train", {[&](const hp::firing& f) { train(f, *learner, samples, weights); }});
      if (fails) {
        c.run(2);
        flipping::between = &fail_when_none_is_left;  // in the rollout's second rank, which has no state to restore
        calls_left = link.process() == first + 1 && first == 2 ? 30 : -1;
        if (first == 2) {
          const std::string text = tested::error_of<hp::controller_error>([&] { c.run(firings); });
          EXPECT_NE(
              text.find("program rollout on ranks 2-3 failed in firing 2, which read version 2 of edge weights: "),
              std::string::npos)
              << text;
          c.restart("rollout");
        }
        flipping::between = nullptr;
      }
      EXPECT_EQ(c.run(firings), hp::run_result::complete);
      if (learner) {
        EXPECT_EQ(parameters(*learner), on_threads(first)) << first;
      }
      const std::int64_t brought = weights.received();
      const std::int64_t versions = firings + 2;
      EXPECT_EQ(brought, actor ? weights.plan().received(link.process()) * versions : 0);
      EXPECT_EQ(weights.plan().received(link.process()), weights.plan().least(link.process()));
    }
}

}  // namespace
