// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <chrono>
#include <cstdio>

#include <hyperparallel/controller/tensor_edge.hpp>
#include <hyperparallel/groups/check_programs.hpp>
#include <hyperparallel/io/atomic_file.hpp>
#include <hyperparallel/report/trace_programs.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include "policy.hpp"

namespace rl {
namespace {

hp::group_table groups_of(const placement& p) {
  hp::group_table t;
  t.world = 8;
  hp::add_group(t, "training", hp::rank_range{0, 3});
  hp::add_group(t, "generation", hp::rank_range{p.first, p.last});
  return t;
}

/// Programs on common ranks take turns: rollout, reward, training.
hp::program_graph graph_of(const rl_options& o, const placement& p) {
  hp::program_graph g;
  const int rollout = hp::add_program(g, "rollout", "generation"), judge = hp::add_program(g, "reward", "generation"),
            training = hp::add_program(g, "train", "training");
  const int ahead = 1 + o.staleness;
  hp::connect(g, {.name = "samples", .from = rollout, .to = judge, .room = ahead});
  hp::connect(g, {.name = "rewards", .from = judge, .to = training, .room = ahead});
  hp::connect(g, {.name = "weights",
                  .from = training,
                  .to = rollout,
                  .ready = ahead,
                  .room = ahead,
                  .reads = o.newest ? hp::edge_reads::newest : hp::edge_reads::every,
                  .behind = o.staleness});
  g.row = hp::rows_of(g, groups_of(p));
  return g;
}

hp::model_run_options options_of(std::uint64_t seed) {
  hp::model_run_options o;
  o.seed = seed;
  o.program.execution.threads = 1;
  return o;
}

}  // namespace

rl_course train(const rl_options& o, const placement& p, const std::vector<std::int64_t>* replayed, bool shows) {
  hp::model_run<float> learner(policy(true, o.rate), hp::strategy_called("dp-tp", 4).strategy, options_of(o.seed));
  hp::model_run_options forward = options_of(o.seed);
  forward.program.keep = {"logits"};
  hp::model_run<float> actor(policy(false, o.rate), hp::strategy_called(p.strategy, p.last - p.first + 1).strategy,
                             forward);

  hp::controller c(graph_of(o, p), groups_of(p), {.threads = o.threads, .keeps_times = !o.trace.empty()});
  hp::channel<answered_prompts> samples(c, "samples");
  hp::channel<rewarded_answers> rewards(c, "rewards");
  hp::tensor_edge weights(c, "weights", learner.world(), actor.world());
  weights.begin();
  if (replayed != nullptr) c.replay("weights", *replayed);

  rl_course course;
  const auto began = std::chrono::steady_clock::now();
  c.set_program("rollout", {[&](const hp::firing& f) {
                  weights.read(f);
                  answered_prompts& a = samples.write(f);
                  draw_prompts(o.seed, f.number(), a);
                  for (int i = 0; i < length; ++i) {
                    actor.world().set("tokens", std::span<const std::int32_t>(a.tokens));
                    actor.world().run_micro();
                    draw_digit(o.seed, f.number(), i, actor.world().get("logits"), a);
                  }
                }});
  c.set_program("reward", {[&](const hp::firing& f) { reward(samples.read(f), rewards.write(f)); }});
  c.set_program("train", {[&](const hp::firing& f) {
                  const rewarded_answers& a = rewards.read(f);
                  learner.train_step([&](int) {
                    learner.world().set("tokens", std::span<const std::int32_t>(a.tokens));
                    learner.world().set("labels", std::span<const std::int32_t>(a.labels));
                    learner.world().set("advantage", std::span<const float>(a.advantage));
                  });
                  weights.write(f);
                  course.reward.push_back(a.mean);
                  if (shows && (f.number() % 50 == 0 || f.number() + 1 == o.steps))
                    std::printf("step %3lld  reward %.3f\n", static_cast<long long>(f.number()), a.mean);
                }});
  c.run(o.steps);

  const hp::graph& g = learner.model();
  for (int t = 0; t < g.tensor.size; ++t)
    if (g.tensor[t].kind == hp::graph_tensor_kind::parameter && g.tensor[t].replaces < 0) {
      const std::vector<float> whole = learner.world().get(t);
      course.weights.insert(course.weights.end(), whole.begin(), whole.end());
    }
  if (o.newest) course.versions = c.versions_read("weights");
  if (!shows) return course;
  if (!o.trace.empty()) {
    hp::atomic_file file(o.trace);
    hp::report::write_program_trace(file, c.graph(), c.times());
    file.commit();
  }
  for (const char* name : {"rollout", "reward", "train"}) {
    const hp::program_use u = c.use(name);
    std::printf("%-8s period %7.3f ms, busy %4.1f %%\n", name, u.period() * 1e3, u.utilisation() * 100);
  }
  for (int rank = p.first; rank <= p.last; ++rank)
    std::printf("rank %d receives %lld of the %lld bytes of weights that it needs, the least is %lld\n", rank,
                static_cast<long long>(weights.received(rank)), static_cast<long long>(weights.needed(rank)),
                static_cast<long long>(weights.least(rank)));
  std::printf("%d steps in %.1f s\n", o.steps,
              std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  return course;
}

}  // namespace rl
