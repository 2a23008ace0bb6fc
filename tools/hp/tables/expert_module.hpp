// SPDX-License-Identifier: Apache-2.0
#pragma once
// The experts of a MoE layer as a model, planned by the tile pass and played in the cost model of these tables: what lies
// between dispatch and combine, forward and backward, with expert parallelism.
//
// Steps have the prices of the library (price/clock.hpp); but moves take their share of the fitted all-to-all, and what the
// model has around the module, its input, loss and the sum of the two input gradients, takes no time. The whole layer, with
// router, dispatch and combine, has the library's prices throughout. A rank is one among equals, so one is played. Where experts
// get fewer rows than the plan has room for, steps take what those rows take, in the plan's order.

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/hardware/expert_all_to_all.hpp>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/price/clock.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include "parameters.hpp"
#include "published.hpp"

namespace tables {

enum class module_pass : unsigned char { forward, backward };
inline constexpr int degrees[] = {4, 8, 16};
inline constexpr module_pass passes[] = {module_pass::forward, module_pass::backward};

constexpr const char* name_of(module_pass pass) { return pass == module_pass::forward ? "forward" : "backward"; }
constexpr unsigned phases_of(module_pass pass) {
  return 1u << static_cast<int>(pass == module_pass::forward ? hp::graph_phase::forward : hp::graph_phase::backward);
}
constexpr double milliseconds(std::int64_t picoseconds) {
  return static_cast<double>(picoseconds) / static_cast<double>(hp::millisecond);
}

/// Rows of each expert that one rank sends, if the router spreads them evenly.
constexpr int balanced_rows(int ep) {
  return static_cast<int>(published::tokens * published::top_k / (published::local_experts * ep));
}

/// Rows that are dispatched, products, rows that are combined; `rows` of each expert and rank.
inline hp::graph experts_of_a_layer(int ep, int rows) {
  hp::model_builder m({.activation = hp::data_type::bf16, .parameter = hp::data_type::bf16, .unrolled = true});
  const int batch = m.dim("batch", ep), expert = m.dim("experts", published::local_experts * ep),
            capacity = m.dim("capacity", rows), hidden = m.dim("hidden", published::hidden),
            wide = m.dim("wide", published::intermediate);
  const int routed =
      m.apply<hp::ops::scale>("routed", {m.parameter("rows", {expert, batch, capacity, hidden})}, {.real = {1.0}});
  const int y = m.scope("layer.experts", [&] {
    const int gate = m.contract("gate", "ebch,ehf->ebcf", routed, m.parameter("w_gate", {expert, hidden, wide}));
    const int up = m.contract("up", "ebch,ehf->ebcf", routed, m.parameter("w_up", {expert, hidden, wide}));
    const int activation = m.apply<hp::ops::swiglu>("activation", {gate, up});
    return m.contract("down", "ebcf,efh->ebch", activation, m.parameter("w_down", {expert, wide, hidden}));
  });
  const int merged = m.apply<hp::ops::scale>("merged", {y}, {.real = {1.0}});
  m.loss(m.apply<hp::ops::reduce>("loss", {merged}, {.text = "ebch->"}));
  hp::differentiate(m.graph);
  return std::move(m.graph);
}

/// The whole layer: router, dispatch, experts, combine.
inline hp::graph whole_layer(int ep) {
  hp::model_builder m({.activation = hp::data_type::bf16, .parameter = hp::data_type::bf16, .unrolled = true});
  const int batch = m.dim("batch", ep), sequence = m.dim("seq", published::tokens),
            hidden = m.dim("hidden", published::hidden);
  const int x = m.apply<hp::ops::scale>("input", {m.parameter("x", {batch, sequence, hidden})}, {.real = {1.0}});
  const int y = hp::mixture_of_experts{.name = "layer",
                                       .experts = published::local_experts * ep,
                                       .top_k = published::top_k,
                                       .width = published::intermediate,
                                       .scores = hp::expert_scores::sigmoid,
                                       .balanced_by_bias = false,
                                       .capacity_factor = 1.0}(m, x);
  m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = "bsh->"}));
  hp::differentiate(m.graph);
  return std::move(m.graph);
}

/// How the module is planned and priced.
struct module_options {
  int ep = 8;
  module_pass pass = module_pass::forward;
  int tiles = 1;         ///< of a step, at most; 1: operators
  std::int64_t hop = 0;  ///< from a signal to the wait that it releases
  int rows = 0;          ///< that each expert gets of each rank; 0: as many as there is room for
  int room = 0;          ///< rows that the plan is made for; 0: balanced ones
  bool layer = false;    ///< the whole layer
};

struct module_run {
  std::int64_t makespan = 0;
  std::int64_t serial = 0;              ///< all steps one after the other
  std::int64_t products = 0;            ///< of them
  std::int64_t moved = 0, exposed = 0;  ///< time of moves, and what of it lies beside no product
  int tasks = 0;
};

/// The module lowered, on a machine with queues of products, of vector operators and of moves.
inline hp::lowered_program lowered_module(const module_options& o, int rows, const hp::device_value& device) {
  hp::strategy_value s = hp::strategy_called("ep", o.ep).strategy;
  s.keep_moved = true;  // backward begins with the rows that forward has dispatched
  const hp::sharded_program program = hp::partition(o.layer ? whole_layer(o.ep) : experts_of_a_layer(o.ep, rows), s);
  hp::lowering_options how{
      .topology = hp::interconnect_of(hp::matrix384::topology), .vector_queue = true, .lookahead = 64};
  how.synchronisation = o.hop;
  if (o.tiles > 1) how.tiles.push("*.experts.*");
  how.most_tiles = o.tiles;
  how.step_duration = hp::prices_of_steps(program, hp::kinds_of_moves(program, how.topology), device).duration;
  hp::lowered_program l = hp::lower(program, how, phases_of(o.pass));
  if (!l.status.ok()) throw std::logic_error(fmt::format("experts, EP{}, {} tiles: no plan is proved", o.ep, o.tiles));
  return l;
}

/// What the rows of the plan take in the cost model of these tables.
inline std::vector<std::int64_t> prices_of(const parameters& p, const module_options& o, const hp::lowered_program& l,
                                           const hp::device_value& device) {
  const hp::row_prices price = hp::prices_of_rows(l, l.run[0], device);
  if (price.code != hp::cost_code::ok) throw std::logic_error("experts: a step has no price");
  std::vector<std::int64_t> all;
  for (int i = 0; i < l.run[0].plan.row.size; ++i) {
    const hp::program_step& s = l.program.step[l.run[0].plan.row[i].step];
    if (o.layer) {
      all.push_back(price.duration[i]);
      continue;
    }
    if (s.is_move) {
      const std::int64_t bytes = hp::local_bytes(l.program, l.program.move[s.index].target);
      all.push_back(hp::expert_all_to_all_time(bytes, o.ep, p.all_to_all()).picoseconds / s.tile.count);
      continue;
    }
    const hp::graph_operator& op = l.program.graph.op[l.program.compute[s.index].op];
    const bool is_of_module = l.program.graph.value_of(op).unit == hp::compute_unit::matrix ||
                              op.kind == hp::id_of<hp::ops::swiglu> || op.kind == hp::id_of<hp::ops::swiglu_gradient>;
    all.push_back(is_of_module ? price.duration[i] : 0);
  }
  return all;
}

/// Time in `covers` intervals that lies in none of `over`. Domain: both rising and disjoint.
using intervals = std::vector<std::pair<std::int64_t, std::int64_t>>;
inline std::int64_t uncovered(const intervals& covers, const intervals& over) {
  std::int64_t left = 0;
  std::size_t at = 0;
  for (const auto& [begin, end] : covers) {
    std::int64_t from = begin;
    while (at < over.size() && over[at].second <= begin) ++at;
    for (std::size_t i = at; i < over.size() && over[i].first < end; ++i) {
      left += std::max<std::int64_t>(0, over[i].first - from);
      from = std::max(from, over[i].second);
    }
    left += std::max<std::int64_t>(0, end - from);
  }
  return left;
}

inline module_run run_module(const parameters& p, const module_options& o) {
  hp::device_value device = p.device();
  if (o.tiles > 1) device.gmm_cold = device.gmm_warm;
  const int room = o.room > 0 ? o.room : balanced_rows(o.ep), rows = o.rows > 0 ? o.rows : room;
  const hp::lowered_program l = lowered_module(o, room, device);
  const std::vector<std::int64_t> price =
      rows == room ? prices_of(p, o, l, device) : prices_of(p, o, lowered_module(o, rows, device), device);
  const hp::program_plan& plan = l.run[0].plan;
  if (static_cast<int>(price.size()) != plan.row.size)
    throw std::logic_error("experts: the plan has other tiles for these rows");
  hp::growing_array<hp::extent_t> duration;
  for (const std::int64_t time : price) duration.push(time);
  const hp::plan_timeline times = hp::play(plan, duration, o.hop);
  module_run out;
  intervals moves, products;
  std::int64_t first = hp::longest_time;  // what the model has around the module is no part of its time
  for (int i = 0; i < plan.row.size; ++i) {
    const int task = plan.row[i].first_task;
    out.serial += duration[i];
    if (duration[i] == 0) continue;
    first = std::min(first, std::int64_t{times.begin[task]});
    out.makespan = std::max(out.makespan, times.end[task] - first);
    const bool is_move = l.program.step[plan.row[i].step].is_move;
    if (is_move) out.moved += duration[i];
    if (plan.row[i].kind == hp::resource::aic) out.products += duration[i];
    if (is_move || plan.row[i].kind == hp::resource::aic)
      (is_move ? moves : products).emplace_back(times.begin[task], times.end[task]);
  }
  out.exposed = uncovered(moves, products);
  out.tasks = plan.row.size;
  return out;
}

/// The fastest of the numbers of tiles that the planner tries.
inline module_run run_fastest(const parameters& p, module_options o) {
  module_run best;
  for (o.tiles = 2; o.tiles <= 64; o.tiles *= 2)
    if (const module_run r = run_module(p, o); best.tasks == 0 || r.makespan < best.makespan) best = r;
  return best;
}

}  // namespace tables
