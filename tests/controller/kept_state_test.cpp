// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/controller/kept_state.hpp>

#include <hyperparallel/controller/tensor_edge.hpp>
#include <hyperparallel/groups/check_programs.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include <support/tries.hpp>
#include <world/flipping_kernels.hpp>
#include <world/small_models.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

namespace hp = hyperparallel;

namespace {

std::atomic<std::int64_t> calls_left{-1};

void fail_when_none_is_left(const hp::operator_call&) {
  if (calls_left.load() >= 0 && calls_left.fetch_sub(1) == 0) throw std::runtime_error("the device is lost");
}

hp::model_run_options options(std::vector<std::string> keep) {
  hp::model_run_options o;
  o.program.kernels = &flipping::kernel_of;
  o.program.execution.threads = 1;
  o.program.keep = std::move(keep);
  return o;
}

/// Training on tokens that a rollout chooses by the weights of one firing before.
struct small_loop {
  hp::model_run<float> learner{small_models::decoder({.layers = 1}), hp::strategy_called("zero1", 2).strategy,
                               options({})};
  hp::model_run<float> actor{small_models::decoder({.layers = 1}), hp::strategy_called("dp", 4).strategy,
                             options({"head.logits"})};
  hp::controller c;
  hp::channel<std::vector<std::int32_t>> samples{c, "samples", std::vector<std::int32_t>(32)};
  hp::tensor_edge<hp::program_world<float>, hp::program_world<float>> weights{c, "weights", learner.world(),
                                                                              actor.world()};
  hp::kept_state<hp::model_run<float>> kept{learner};

  static hp::group_table groups() {
    hp::group_table t;
    t.world = 6;
    hp::add_group(t, "training", 0, 1);
    hp::add_group(t, "generation", hp::rank_range{2, 5});
    return t;
  }
  static hp::program_graph graph() {
    hp::program_graph g;
    const int rollout = hp::add_program(g, "rollout", "generation"), train = hp::add_program(g, "train", "training");
    hp::connect(g, {.name = "samples", .from = rollout, .to = train, .room = 2});
    hp::connect(g, {.name = "weights", .from = train, .to = rollout, .ready = 2, .room = 2, .behind = 1});
    g.row = hp::rows_of(g, groups());
    return g;
  }

  explicit small_loop(int threads) : c(graph(), groups(), {.threads = threads}) {
    weights.begin();
    c.set_program("rollout", {[this](const hp::firing& f) {
                                weights.read(f);
                                std::vector<std::int32_t>& tokens = samples.write(f);
                                for (std::size_t i = 0; i < tokens.size(); ++i)
                                  tokens[i] = static_cast<std::int32_t>(
                                      hp::keyed_bits(5, static_cast<std::uint64_t>(f.number()), i) % 32);
                                actor.world().set("tokens", tokens);
                                actor.world().set("labels", tokens);
                                if (actor.world().run_micro() != hp::run_result::complete)
                                  throw std::runtime_error("ended early");
                                const std::vector<float> logits = actor.world().get("head.logits");
                                for (std::size_t i = 0; i < tokens.size(); ++i)
                                  tokens[i] = static_cast<std::int32_t>(
                                      std::max_element(&logits[32 * i], &logits[32 * i] + 32) - &logits[32 * i]);
                              },
                              {},
                              {},
                              [this] { actor.world().cancel(); }});
    c.set_program("train", {[this](const hp::firing& f) {
                              learner.train_step([&](int) {
                                learner.world().set("tokens", samples.read(f));
                                learner.world().set("labels", samples.read(f));
                              });
                              if (learner.result() != hp::run_result::complete) throw std::runtime_error("ended early");
                              weights.write(f);
                            },
                            [this] { kept.keep(); }, [this] { kept.restore(); }, [this] { learner.world().cancel(); }});
  }
  std::vector<float> values() {
    std::vector<float> all;
    const hp::graph& g = learner.model();
    for (int t = 0; t < g.tensor.size; ++t)
      if ((g.tensor[t].kind == hp::graph_tensor_kind::parameter || g.tensor[t].kind == hp::graph_tensor_kind::state) &&
          g.tensor[t].replaces < 0 && learner.world().is_used(t)) {
        const std::vector<float> one = learner.world().get(t);
        all.insert(all.end(), one.begin(), one.end());
      }
    return all;
  }
};

TEST(KeptState, ALoopThatIsKilledAtRandomMomentsEndsWithTheBitsOfOneThatIsNot) {
  std::mt19937 random(7);
  small_loop calm(1), hurt(2);
  flipping::between = &fail_when_none_is_left;
  int killed[2] = {}, cancelled = 0;
  std::int64_t until = 0;
  double longest = 0;
  const int kills = tested::watches_threads ? 12 : tested::tries(60, 600);
  while (killed[0] + killed[1] < kills || std::min(killed[0], killed[1]) < 5) {
    until += 2;
    const bool cancels = random() % 4 == 0;
    const char* const name = random() % 2 == 0 ? "rollout" : "train";
    if (!cancels) calls_left = static_cast<std::int64_t>(random() % 500);
    std::atomic<bool> hit{false};
    std::chrono::steady_clock::time_point at;
    std::jthread killer([&, wait = std::chrono::microseconds(random() % 4000)] {
      if (!cancels) return;
      std::this_thread::sleep_for(wait);
      at = std::chrono::steady_clock::now();
      hit = true;
      hurt.c.cancel(name);
    });
    for (bool complete = false; !complete;) {
      try {
        hurt.c.run(until);
        complete = true;
      } catch (const hp::controller_error& e) {
        if (hit)
          longest = std::max(longest, std::chrono::duration<double>(std::chrono::steady_clock::now() - at).count());
        ASSERT_FALSE(e.failed.empty()) << e.what();
        for (const hp::failed_firing& f : e.failed) {
          const char* const failed = hurt.c.graph().program[f.program].name.text;
          EXPECT_EQ(f.number, hurt.c.firings(failed));
          EXPECT_NE(std::string(e.what()).find(f.program == 0 ? "program rollout on ranks 2-5 failed in firing "
                                                              : "program train on ranks 0, 1 failed in firing "),
                    std::string::npos)
              << e.what();
          ++killed[f.program];
          cancelled += f.cause == nullptr || f.why == "it was cancelled";
          hurt.c.restart(failed);
        }
      }
    }
    killer.join();
    calls_left = -1;
  }
  flipping::between = nullptr;
  hurt.c.run(until += 2);
  calm.c.run(until);
  EXPECT_EQ(hurt.c.firings("train"), until);
  EXPECT_EQ(hurt.learner.steps(), until);
  EXPECT_EQ(hurt.values(), calm.values());
  EXPECT_GT(cancelled, 0);
  EXPECT_LT(longest, 5.0);  // seconds, until the others have drained and the error is there
}

TEST(KeptState, RestoresBitsAndTheCountOfSteps) {
  small_loop one(1);
  const std::vector<float> first = one.values();
  one.c.run(2);
  EXPECT_NE(one.values(), first);
  EXPECT_EQ(one.learner.steps(), 2);
  hp::kept_state kept(one.learner);
  const std::vector<float> second = one.values();
  one.c.run(4);
  EXPECT_NE(one.values(), second);
  kept.restore();
  EXPECT_EQ(one.values(), second);
  EXPECT_EQ(one.learner.steps(), 2);
}

}  // namespace
