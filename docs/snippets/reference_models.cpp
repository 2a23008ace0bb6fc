// SPDX-License-Identifier: Apache-2.0
// docs/reference/models.md
#undef NDEBUG
#include <cassert>
#include <cmath>
#include <string>
#include <vector>

#include <hyperparallel/model.hpp>
#include <hyperparallel/report/format_program.hpp>
#include <hyperparallel/step/training_step.hpp>
#include <hyperparallel/world/world.hpp>

namespace hp = hyperparallel;

// docs/reference/models.md: a model
struct language_model {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 8), seq = m.dim("seq", 16);
    const int tokens = m.index_input("tokens", {batch, seq}), labels = m.index_input("labels", {batch, seq});
    const hp::transformer_block<hp::attention_layer, hp::mixture_of_experts> block{
        .attention = {.query_heads = 8, .key_heads = 4, .head_dim = 4, .rope_base = 10000.0},
        .feed_forward = {.experts = 8, .top_k = 2, .width = 32}};
    int x = hp::token_embedding{.vocabulary = 64, .hidden = 32}(m, tokens);
    x = m.repeat("layers", 2, x, block);
    hp::language_head{.vocabulary = 64}(m, x, labels);
  }
};

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};

// docs/reference/models.md: a step as a type
using strategy = hp::strategy<mesh, hp::replicated_expert_parallel<"tp">, hp::fully_sharded<"dp", 3>,
                              hp::tensor_parallel<"tp">, hp::pin<"*norm.weight", hp::none>>;
using training = hp::train_step<language_model, strategy, hp::adamw, hp::matrix384, hp::accumulating<4>,
                                hp::recomputing<"layers.*">>;
static_assert(training::lawful && training::verified && hp::fits<training, hp::MiB>());
static_assert(training::clock.ok() && training::clock.makespan >= training::clock.bound.most());

void building() {
  hp::model_builder m;
  const int batch = m.dim("batch", 8), hidden = m.dim("hidden", 64);
  const int x = m.input("x", {batch, hidden}), weight = m.parameter("weight", {hidden, m.dim("ffn", 256)});
  const int y = m.contract("up", "*k,kn->*n", x, weight);
  m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = "*->"}));
  assert(m.graph.status.code == hp::graph_code::ok && m.graph.tensor[y].shape == hp::shape(8, 256));

  m.contract("again", "*k,kn->*n", y, weight);  // 256 numbers of y against 64 of the weight
  assert(m.graph.status.code == hp::graph_code::dim_differs_between_operands);
}

void shapes() {
  hp::model_builder m;
  const int batch = m.dim("batch", 8), hidden = m.dim("hidden", 6), both = m.dim("both", 8);
  const int heads = m.dim("heads", 4), width = m.dim("width", 2), x = m.input("x", {batch, hidden});
  const int tail = m.apply<hp::ops::slice>(
      "tail", {x}, {.text = "bA->bC", .created = {{'C', width}}, .created_count = 1, .integer = {4}});
  const int joined = m.apply<hp::ops::concat>("joined", {x, tail},
                                              {.text = "bA,bB->bC", .created = {{'C', both}}, .created_count = 1});
  const int split = m.apply<hp::ops::reshape>(
      "split", {joined}, {.text = "bC->bHW", .created = {{'H', heads}, {'W', width}}, .created_count = 2});
  const int turned = m.apply<hp::ops::transpose>("turned", {split}, {.text = "bhw->hbw"});
  const int averaged = m.apply<hp::ops::mean>("averaged", {turned}, {.text = "hbw->h"});
  assert(m.graph.status.code == hp::graph_code::ok && m.graph.tensor[averaged].shape == hp::shape(4));
}

hp::graph step_graph() {
  hp::graph g = hp::build_model<language_model>({.unrolled = true});
  hp::differentiate(g);
  hp::recompute(g, "*.moe.*");
  hp::append_optimizer(g, {.kind = hp::optimizer_kind::muon, .rate = 3e-4, .clip = 1.0, .local_norms = true});
  assert(g.status.code == hp::graph_code::ok && hp::check_graph(g).code == hp::graph_code::ok);

  const int weight = hp::find_tensor(g, "layers.0.attention.query.weight");
  const int gradient = hp::gradient_of(g, weight);
  assert(std::string(g.name_of_tensor(gradient)) == "gradient(layers.0.attention.query.weight)");
  return g;
}

void rules(const hp::graph& g) {
  hp::strategy_value s = hp::strategy_called("dp-tp", 8).strategy;  // dp 2, tp 4
  assert(s.mesh.shape.size[0] == 2 && s.mesh.shape.size[1] == 4);

  hp::strategy_value own;
  own.mesh = mesh::value;
  own.add(hp::shard_dim("batch", "dp"));                           // an error where it does not divide
  own.add(hp::shard_dim_if_divisible("hidden", "tp", "*.moe.*"));  // of these operators, where it does
  own.add(hp::shard_stage(hp::rule_stage::state, "dp"));           // optimizer states cut further
  own.add(hp::strategy_pin{"head.logits.weight", 2, {{}, "tp"}});  // hidden whole, vocab along tp
  assert(hp::partition(g, own).status.code == hp::strategy_code::ok);

  own.add(hp::shard_dim("vocabulary", "tp"));
  assert(hp::partition(g, own).status.code == hp::strategy_code::rule_matches_nothing);
}

// docs/reference/models.md: the short form
using by_name = hp::strategy<mesh, hp::data_parallel<"dp">, hp::column_parallel<"*.query", "tp">,
                             hp::column_parallel<"*.key", "tp">, hp::column_parallel<"*.value", "tp">,
                             hp::row_parallel<"*attention.output", "tp">, hp::column_parallel<"head.logits", "tp">>;

void programs(const hp::graph& g) {
  const hp::sharded_program p = hp::partition(g, strategy::value);
  assert(p.status.code == hp::strategy_code::ok && hp::check_program(p).code == hp::program_code::ok);

  const int weight = hp::find_tensor(p.graph, "layers.0.moe.experts.up.weight");
  const hp::layout_value home = p.value[p.home[weight]].layout;  // 8 experts along tp, then ZeRO along dp
  assert(hp::local_elements(p, p.home[weight]) * 8 == hp::elements_of(p.graph.tensor[weight]) && home.cut_count == 2);

  const hp::step_account a = hp::account_on<hp::matrix384>(p);
  assert(a.memory.peak <= 64 * hp::GiB && a.traffic.bytes >= hp::traffic_of(p).bytes);
  const std::string text = to_text(a);  // report.hpp: tables of memory, work, traffic and time
  assert(text.starts_with("8 devices: dp 2, tp 4"));
}

void running_the_step() {
  std::vector<std::int32_t> tokens, labels;
  for (int i = 0; i < 4 * 8 * 16; ++i) {
    tokens.push_back(i % 64);
    labels.push_back((i + 1) % 64);
  }
  hp::world<training> world({.execution = {.threads = 2}});
  world.feed("tokens", tokens).feed("labels", labels);  // of four micro-batches each
  const std::vector<double> losses =
      world.train(3, {.after_step = [](const hp::trained_step& s) { return s.loss > 0.1; }});
  const std::vector<float> table = world.fetch("embedding.weight");  // whole, row-major
  assert(losses.size() == 3 && table.size() == 64 * 32);
}

void running(const hp::graph& g) {
  hp::model_run_options options;
  options.program.keep = {"gradient(head.logits.weight)"};  // its memory is not given to another
  const hp::graph exact = hp::in_floats(g, hp::f64);
  hp::model_run<double> many(exact, strategy::value, options), one(exact, hp::strategy_called("single", 1).strategy);
  for (int i = 0; i < 3; ++i) {
    const double loss = many.train_step([&](int) { many.set_random_inputs(7); });
    const double alone = one.train_step([&](int) { one.set_random_inputs(7); });
    assert(std::abs(loss - alone) <= 1e-9 * alone);
  }
  const std::vector<double> gradient = many.world().get("gradient(head.logits.weight)");  // whole, row-major
  assert(gradient.size() == 32 * 64);
}

int main() {
  building();
  shapes();
  const hp::graph g = step_graph();
  rules(g);
  static_assert(hp::valid_train_step<language_model, by_name, hp::adamw, hp::matrix384>);
  programs(g);
  running(g);
  running_the_step();
}
