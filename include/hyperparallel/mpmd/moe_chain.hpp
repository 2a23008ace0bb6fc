// SPDX-License-Identifier: Apache-2.0
#pragma once
// A MoE layer as a chain of operators over tiles, forward and backward:
//
//   route → arrange → dispatch → GMM1 → SwiGLU → GMM2 → combine → merge
//   dispatch(p · dY) → act grad → SwiGLU grad → input grad → combine → merge
//                    ↘ W2 grad               ↘ W1 grad          router grad = ⟨dY, y⟩ on the source, which has y
//
// Items are row blocks, groups are experts. Blocks have events of their own: a GMM1 tile starts when its block has
// arrived, whatever the other blocks do. Weight gradients need all rows of an expert, so they wait for its group; W1's
// needs the gradient of SwiGLU and the dispatched rows, not that of the input. Law: the serialized chain writes every
// slot with the same values. Sources: arXiv 2605.23764 (operators, put-with-signal, rank rotation); the finer events,
// the ordered merge and the router's gradient are ours.

#include <hyperparallel/mpmd/lower_chain.hpp>
#include <hyperparallel/mpmd/moe_tensors.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Adds the stages of a plan to a chain that has its tensors.
struct moe_describer {
  const moe_plan& p;
  moe_chain& m;

  constexpr std::int64_t time(moe_operation o) const { return p.time.of[static_cast<int>(o)]; }
  constexpr tile_stage& stage(moe_operation o, int space, grain per, resource kind, int tiles, int lag = at_once) {
    return add_stage(m.chain, static_cast<int>(o), space, per, {kind, tiles, time(o)}, lag);
  }
  /// Rows of a block over the link, or copied in pieces where they stay.
  constexpr tile_stage& put(moe_operation o, stage_route route, int lag = at_once) {
    tile_stage& s = stage(o, moe_blocks_space, grain::item, resource::link, 1, lag);
    s.route = route;
    if (!p.even_exchange) s.stay = {resource::aiv, copy_pieces(p), p.time.local_copy};
    return s;
  }

  constexpr void prefetch(moe_operation o, int source, int buffer) {
    tile_stage& s = stage(o, moe_blocks_space, grain::group, resource::copy_in, 1);
    add_read(s, source, grain::group);
    add_write(s, buffer);
  }

  constexpr void route() {
    moe_tensors& t = m.tensor;
    tile_stage& logits = stage(moe_operation::route_logits, moe_tokens_space, grain::item, resource::aic, 1);
    add_read(logits, t.tokens, grain::whole);
    add_read(logits, t.router_weight, grain::whole);
    add_write(logits, t.scores);
    tile_stage& choose = stage(moe_operation::route_top_k, moe_tokens_space, grain::item, resource::aiv, 1);
    add_read(choose, t.scores);
    add_write(choose, t.routes);
    add_write(choose, add_update(m.chain, t.scores));  // logits become probabilities in place
    t.arranged = add_update(m.chain, t.routes);
    tile_stage& arrange = stage(moe_operation::arrange, moe_tokens_space, grain::whole, resource::aiv, 1);
    add_read(arrange, t.routes, grain::whole);
    add_write(arrange, t.arranged);
  }

  /// The routes that the experts' stages read.
  constexpr int routes() const { return m.tensor.arranged >= 0 ? m.tensor.arranged : m.tensor.routes; }

  constexpr void matmul(moe_operation o, int tiles, int input, int weight, int result, int lag) {
    tile_stage& s = stage(o, moe_blocks_space, grain::item, resource::aic, tiles, lag);
    add_read(s, input);
    add_read(s, weight, grain::group);
    add_write(s, result);
  }

  /// Adds what came back into `sum`, expert by expert; all experts in one pass where operators are serialized.
  constexpr void merge(moe_operation o, int returned, int sum, int lag) {
    tile_stage& s = p.serialized ? add_stage(m.chain, static_cast<int>(o), moe_blocks_space, grain::whole,
                                             {resource::aiv, p.tiling.merge_pieces, p.time.merge_all})
                                 : stage(o, moe_blocks_space, grain::group, resource::aiv, p.tiling.merge_pieces, lag);
    add_read(s, returned, grain::group);
    add_read(s, routes(), grain::whole);
    s.folds = !p.serialized;
    if (s.folds) add_read(s, sum, grain::tile);
    add_write(s, sum);
  }

  constexpr void forward() {
    moe_tensors& t = m.tensor;
    const int lag = p.tiling.lag;
    if (p.weights.windowed) {
      prefetch(moe_operation::prefetch_gate_up, t.gate_up_source, t.gate_up_weight);
      prefetch(moe_operation::prefetch_down, t.down_source, t.down_weight);
    }
    if (p.scope == moe_scope::layer) route();
    tile_stage& dispatch = put(moe_operation::dispatch, stage_route::to_receiver);
    add_read(dispatch, t.tokens, grain::whole);
    add_read(dispatch, routes(), grain::whole);
    add_write(dispatch, t.received);
    matmul(moe_operation::gate_up, gate_up_tiles(p), t.received, t.gate_up_weight, t.gate_up, 0);
    tile_stage& swiglu =
        stage(moe_operation::swiglu, moe_blocks_space, grain::item, resource::aiv, swiglu_pieces(p), 0);
    add_read(swiglu, t.gate_up);
    add_write(swiglu, t.act);
    matmul(moe_operation::down, down_tiles(p), t.act, t.down_weight, t.result, lag);
    tile_stage& combine = put(moe_operation::combine, stage_route::to_source, lag);
    add_read(combine, t.result);
    add_write(combine, t.returns);
    if (p.scope == moe_scope::layer) merge(moe_operation::merge, t.returns, t.output, lag);
  }

  constexpr void weight_gradient(moe_operation o, int tiles, int rows, int gradient, int result, int lag) {
    tile_stage& s = stage(o, moe_blocks_space, grain::group, resource::aic, tiles, lag);
    add_read(s, rows, grain::group);
    add_read(s, gradient, grain::group);
    add_write(s, result);
  }

  constexpr void backward() {
    moe_tensors& t = m.tensor;
    const bool interleaved = p.weight_gradients == weight_gradient_order::interleaved;
    const int lag = p.tiling.lag;
    tile_stage& dispatch = put(moe_operation::dispatch_gradient, stage_route::to_receiver);
    add_read(dispatch, t.output_gradient, grain::whole);
    add_read(dispatch, routes(), grain::whole);
    add_write(dispatch, t.received_gradient);
    const auto down_weight = [&](int at) {
      weight_gradient(moe_operation::down_weight_gradient, down_weight_tiles(p), t.act, t.received_gradient,
                      t.down_weight_gradient, at);
    };
    const auto gate_up_weight = [&](int at) {
      weight_gradient(moe_operation::gate_up_weight_gradient, gate_up_weight_tiles(p), t.received, t.gate_up_gradient,
                      t.gate_up_weight_gradient, at);
    };
    matmul(moe_operation::act_gradient, act_gradient_tiles(p), t.received_gradient, t.down_weight, t.act_gradient, 0);
    if (interleaved) down_weight(0);
    tile_stage& swiglu =
        stage(moe_operation::swiglu_gradient, moe_blocks_space, grain::item, resource::aiv, swiglu_pieces(p), 0);
    add_read(swiglu, t.act_gradient);
    add_read(swiglu, t.gate_up);
    add_write(swiglu, t.gate_up_gradient);
    matmul(moe_operation::input_gradient, input_gradient_tiles(p), t.gate_up_gradient, t.gate_up_weight,
           t.result_gradient, lag);
    if (interleaved) gate_up_weight(lag);
    tile_stage& combine = put(moe_operation::combine_gradient, stage_route::to_source, lag);
    add_read(combine, t.result_gradient);
    add_write(combine, t.returned_gradient);
    if (p.scope == moe_scope::layer) merge(moe_operation::merge_gradient, t.returned_gradient, t.input_gradient, lag);
    if (!interleaved) {
      down_weight(at_once);
      gate_up_weight(at_once);
    }
    tile_stage& router =
        stage(moe_operation::router_gradient, moe_blocks_space, grain::group, resource::aiv, p.tiling.merge_pieces);
    add_read(router, t.output_gradient, grain::whole);
    add_read(router, t.returns, grain::group);
    add_read(router, routes(), grain::whole);
    add_write(router, t.probability_gradient);
  }

  constexpr void loss() {
    tile_stage& s = stage(moe_operation::loss, moe_tokens_space, grain::item, resource::aiv, 1);
    add_read(s, m.tensor.output, grain::whole);
    add_write(s, m.tensor.output_gradient);
  }
};

}  // namespace detail

/// The chain of `p`. Domain: `check(p.layer, p.devices)` is ok, at most `max_moe_ranks` ranks and `max_local_experts`
/// local experts, a serialized plan is not windowed; training needs the whole layer and, windowed, a buffer for every
/// local expert, for weights stay from forward to backward. O(experts).
constexpr moe_chain describe_moe(const moe_plan& p) {
  moe_chain m = declare_moe(p);
  detail::moe_describer d{p, m};
  if (p.pass != moe_pass::backward) d.forward();
  if (p.pass == moe_pass::training) d.loss();
  if (p.pass != moe_pass::forward) d.backward();
  if (p.serialized) serialize(m.chain);
  return m;
}

/// Writes the taskflow of `p` into `f`; call `seal` after it. O(tasks).
struct moe_builder {
  moe_plan plan;
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const moe_chain m = describe_moe(plan);
    lower_chain(m.chain, f);
  }
};

}}  // namespace hyperparallel::v0_2
