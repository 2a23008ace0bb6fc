// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small models that train, and a small product of two layers whose program is written by hand.

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/strategy/sharded_program.hpp>

#include "models/language_model.hpp"

namespace small_models {

namespace hp = hyperparallel;

struct sizes {
  int layers = 1;
  int micro_batches = 1;
  bool experts = false;
  hp::optimizer_kind optimizer = hp::optimizer_kind::adamw;
  hp::data_type type = hp::data_type::f32;
};

/// A decoder with inputs "tokens" and "labels" (4, 8).
inline hp::graph decoder(const sizes& s) {
  hp::model_builder m(hp::build_options{.activation = s.type, .parameter = s.type, .unrolled = true});
  m.graph.micro_batches = s.micro_batches;
  const programs::text_sizes text{.batch = 4, .sequence = 8, .vocabulary = 32, .hidden = 16};
  programs::language_model(m, text, "layer", s.layers, [&](hp::model_builder& layer, int x) {
    const hp::attention_layer attention{.query_heads = 4, .key_heads = 4, .head_dim = 8, .rope_base = 10000.0};
    if (!s.experts)
      return hp::transformer_block<hp::attention_layer, hp::swiglu_layer>{attention, {.width = 32}}(layer, x);
    const hp::mixture_of_experts experts{
        .experts = 4, .top_k = 2, .width = 8, .slots = hp::expert_slots::dropless, .balance_scale = 0.01};
    return hp::transformer_block<hp::attention_layer, hp::mixture_of_experts>{attention, experts}(layer, x);
  });
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {.kind = s.optimizer});
  return m.graph;
}

/// What a tensor of the hand-written program is cut along, on a mesh of one axis.
enum class lies : unsigned char { whole, cut_first, cut_last, waits };

constexpr hp::layout_value layout_of(lies how, int rank, const hp::mesh_shape& m) {
  hp::layout_value l;
  l.mesh = m;
  l.rank = rank;
  if (how == lies::cut_first) hp::append_cut(l, {0, 0, 1, m.size[0]});
  if (how == lies::cut_last) hp::append_cut(l, {rank - 1, 0, 1, m.size[0]});
  if (how == lies::waits && m.size[0] > 1) l.partial[0] = hp::reduce_op::sum;
  return l;
}

/// y = silu(x · first) · second, x (8, 6), first (6, 4), second (4, 5), and the gradient of `first` for a given dh:
/// xᵀ · dh.
constexpr hp::graph two_layers(hp::data_type type) {
  hp::model_builder m(hp::build_options{.activation = type, .parameter = type, .unrolled = true});
  const int batch = m.dim("batch", 8), in = m.dim("in", 6), wide = m.dim("wide", 4), out = m.dim("out", 5);
  const int x = m.input("x", {batch, in}), first = m.parameter("first", {in, wide});
  const int second = m.parameter("second", {wide, out}), dh = m.input("dh", {batch, wide});
  const int h = m.contract("h", "bk,kn->bn", x, first);
  const int a = m.apply<hp::ops::silu>("a", {h});
  m.contract("y", "bk,kn->bn", a, second);
  m.contract("d_first", "bk,bn->kn", x, dh);
  return m.graph;
}

/// The program of `two_layers` on `ranks` devices, all values and steps written here: data parallel cuts the batch and
/// adds the gradient's terms, tensor parallel cuts the width and adds those of y.
constexpr hp::sharded_program two_layers_on(int ranks, bool data_parallel, hp::data_type type = hp::data_type::f32) {
  hp::sharded_program p;
  p.graph = two_layers(type);
  p.mesh.shape = {1, {ranks}};
  p.mesh.label[0] = data_parallel ? "dp" : "tp";
  p.home.resize(p.graph.tensor.size, -1);
  const auto add_value = [&](const char* name, lies how, bool home) {
    const int t = hp::find_tensor(p.graph, name);
    const int v = p.value.push({t, layout_of(how, 2, p.mesh.shape), {}, p.storage.size});
    p.storage.push({t, home, hp::local_bytes(p, v)});
    if (home) p.home[t] = v;
    return v;
  };
  // The dims of the loops "bk,kn->bn" are numbered b = 0, k = 1, n = 2; those of "*->*" from 0.
  const auto compute = [&](const char* name, int loop, int first, int second, int result) {
    hp::program_compute c;
    c.op = p.graph.tensor[hp::find_tensor(p.graph, name)].producer;
    if (ranks > 1) c.placement.add(0, loop);
    c.operand[0] = first;
    c.operand[1] = second;
    c.result[0] = result;
    p.step.push({false, p.compute.push(c), hp::graph_phase::forward, -1});
  };
  const auto move = [&](int source, int target) {
    p.step.push({true, p.move.push({source, target, -1}), hp::graph_phase::forward, -1});
  };
  const lies rows = data_parallel ? lies::cut_first : lies::whole,
             columns = data_parallel ? lies::whole : lies::cut_last;
  const lies hidden = data_parallel ? lies::cut_first : lies::cut_last;
  const int x = add_value("x", rows, true), first = add_value("first", columns, true);
  const int second = add_value("second", data_parallel ? lies::whole : lies::cut_first, true);
  const int dh = add_value("dh", hidden, true);
  const int h = add_value("h", hidden, false), a = add_value("a", hidden, false);
  compute("h", data_parallel ? 0 : 2, x, first, h);
  compute("a", data_parallel ? 0 : 1, h, -1, a);
  const int y = add_value("y", data_parallel ? lies::cut_first : lies::waits, false);
  compute("y", data_parallel ? 0 : 1, a, second, y);
  if (!data_parallel) move(y, add_value("y", lies::whole, false));
  const int gradient = add_value("d_first", data_parallel ? lies::waits : lies::cut_last, false);
  compute("d_first", data_parallel ? 0 : 2, x, dh, gradient);
  if (data_parallel) move(gradient, add_value("d_first", lies::whole, false));
  return p;
}

}  // namespace small_models
