// SPDX-License-Identifier: Apache-2.0
// docs/how-to/run-programs-beside-each-other.md
#undef NDEBUG
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include <hyperparallel/controller.hpp>
#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/groups/staleness.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include "../../examples/models/small_moe.hpp"

namespace hp = hyperparallel;

using batch = std::vector<std::int32_t>;

// Greedy: the most likely next token everywhere.
void choose(const std::vector<float>& logits, batch& tokens) {
  const std::size_t width = logits.size() / tokens.size();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::size_t best = i * width;
    for (std::size_t v = i * width; v < (i + 1) * width; ++v)
      if (logits[v] > logits[best]) best = v;
    tokens[i] = static_cast<std::int32_t>(best - i * width);
  }
}

int main() {
  hp::model_builder m({.unrolled = true});
  models::build_small_moe(m, {.batch = 4, .sequence = 8, .layers = 1, .hidden = 16});
  const hp::graph forward = m.graph;
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});

  hp::group_table t;
  t.world = 6;
  hp::add_group(t, "training", hp::rank_range{0, 3});
  hp::add_group(t, "generation", 4, 5);

  hp::program_graph g;
  const int rollout = hp::add_program(g, "rollout", "generation"), train = hp::add_program(g, "train", "training");
  hp::connect(g, {.name = "samples", .from = rollout, .to = train, .room = 2});
  hp::connect(g, {.name = "weights",
                  .from = train,
                  .to = rollout,
                  .ready = 2,
                  .room = 2,
                  .reads = hp::edge_reads::newest,
                  .behind = 1});
  g.row = hp::rows_of(g, t);

  hp::model_run<float> learner(m.graph, hp::strategy_called("dp-tp", 4).strategy);
  hp::model_run_options keeps;
  keeps.program.keep = {"head.logits"};
  hp::model_run<float> actor(forward, hp::strategy_called("dp", 2).strategy, keeps);

  hp::controller c(g, t);
  hp::channel<batch> samples(c, "samples", batch(32));
  hp::tensor_edge weights(c, "weights", learner.world(), actor.world());  // every parameter, by name
  weights.begin();

  c.set_program("rollout", {[&](const hp::firing& f) {
                  weights.read(f);
                  actor.set_random_inputs(static_cast<std::uint64_t>(f.number()));
                  actor.world().run_micro();
                  choose(actor.world().get("head.logits"), samples.write(f));
                }});
  hp::kept_state kept(learner);
  const auto learn = [&](const hp::firing& f) {
    learner.train_step([&](int) {
      learner.world().set("tokens", std::span<const std::int32_t>(samples.read(f)));
      learner.world().set("labels", std::span<const std::int32_t>(samples.read(f)));
    });
    weights.write(f);
  };
  c.set_program("train", {.fire = learn, .keep = [&] { kept.keep(); }, .restore = [&] { kept.restore(); }});
  c.run(4);  // each program has then fired four times

  for (int rank = 0; rank < 6; ++rank) assert(weights.received(rank) == weights.least(rank));
  assert(weights.received(4) == weights.needed(4));  // rank 4 trains nothing, so it has nothing yet

  const std::vector<std::int64_t> read = c.versions_read("weights");  // by firing of the rollout
  {
    hp::controller again(g, t);
    again.replay("weights", read);
  }

  c.set_program("train", {[&](const hp::firing& f) {
                            if (f.number() == 5) throw std::runtime_error("the device is lost");
                            learn(f);
                          },
                          [&] { kept.keep(); }, [&] { kept.restore(); }});
  for (bool complete = false; !complete;) {
    try {
      c.run(8);
      complete = true;
    } catch (const hp::controller_error& e) {  // e.what(): program, ranks, firing, versions that it had read
      std::fprintf(stderr, "%s\n", e.what());
      for (const hp::failed_firing& f : e.failed) {
        c.restart(g.program[f.program].name.text);  // from what it kept last
        c.set_program("train", {learn, [&] { kept.keep(); }, [&] { kept.restore(); }});
      }
    }
  }
  assert(c.firings("train") == 8 && learner.steps() == 8);

  assert(hp::staleness_of(g, hp::find_edge(g, "weights")).behind == 1);
  const hp::program_use use = c.use("train");
  std::printf("train: every %.3f ms, busy %.0f %%\n", use.period() * 1e3, use.utilisation() * 100);
}
