// SPDX-License-Identifier: Apache-2.0
#pragma once
// A mixture-of-experts feed-forward layer: each token goes through `top_k` of the routed experts and all shared ones.
//
//   scores    softmax(x · router) or sigmoid(x · router)                       (batch, seq, experts)
//   choice    top k of the scores (sigmoid: of scores + bias)      weight, index (batch, seq, top_k)
//   slots     dispatch(x, index)                               (batch, experts, capacity, hidden)
//   experts   down[e] · swiglu(gate[e] · slots, up[e] · slots), one einsum for all
//   y         combine(slots, index, weight) + shared(x), with `shared_gate` + sigmoid(x · shared_gate) · shared(x)
//
// A group is a row of the batch: tokens beyond an expert's capacity are dropped, earlier tokens first served. `joint`
// has one group of all tokens and slots (experts, capacity, hidden); `dropless` gives an expert a slot for each token
// of the group. Sigmoid routers have a bias, a state that balances the load, unless `balanced_by_bias` is off: "router.bias" (experts),
// chosen by but not weighed with. Auxiliary loss, where `balance_scale` > 0: balance_scale · E · Σ_e f_e · p_e, f_e the share of choices
// and p_e the mean softmax probability of expert e; it is `balance_scale` where the load is even.
//
// With `bias`, router and experts have biases (gpt-oss); a `gate_limit` makes the activation clamped_swiglu.
//
// Parameters "name.router.weight" (hidden, experts), "name.experts.{gate,up}.weight" (experts, hidden, expert_ffn),
// "name.experts.down.weight" (experts, expert_ffn, hidden), "name.shared.…" as `swiglu_layer` with width "shared_ffn",
// "name.shared_gate.weight" (hidden).
// Sources: Shazeer et al., 2017; GShard, 2020; Switch Transformers, 2021; DeepSeekMoE and DeepSeek-V3, 2024;
// Qwen1.5-MoE, 2024, for the gate.

#include <hyperparallel/layers/feed_forward.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class expert_slots : unsigned char { per_group, joint, dropless };
enum class expert_scores : unsigned char { softmax, sigmoid };

namespace detail {

/// Slots of one expert for `tokens` tokens of a group: their even share times `factor`, rounded up, at most all tokens.
constexpr extent_t expert_capacity(extent_t tokens, extent_t experts, extent_t top_k, double factor) {
  const double share = factor * static_cast<double>(tokens * top_k) / static_cast<double>(experts);
  if (share >= static_cast<double>(tokens)) return tokens;
  const extent_t floor = static_cast<extent_t>(share);
  const extent_t slots = floor + (static_cast<double>(floor) < share ? 1 : 0);
  return slots < 1 ? 1 : slots;
}

}  // namespace detail

struct mixture_of_experts {
  const char* name = "moe";
  extent_t experts = 1;
  extent_t top_k = 1;
  extent_t width = 1;         ///< of one expert
  extent_t shared_width = 0;  ///< of all shared experts together
  extent_t latent = 0;        ///< routed experts read and give vectors of this width (Nemotron 3); 0: hidden ones
  bool gated = true;          ///< by SiLU; else experts are max(up · x, 0)² behind one product
  bool shared_gate = false;   ///< weighs what the shared experts give, by token (Qwen2-MoE)
  expert_scores scores = expert_scores::softmax;
  bool balanced_by_bias = true;   ///< a sigmoid router has the bias that balances the load
  bool bias = false;              ///< of a router with softmax scores, and of experts
  double gate_limit = 0.0;        ///< 0: none
  double gate_steepness = 1.702;  ///< where there is a limit
  bool normalise = true;          ///< the weights of a token sum to `weight_scale`
  double weight_scale = 1.0;
  expert_slots slots = expert_slots::per_group;
  double capacity_factor = 1.0;
  double balance_scale = 0.0;

  /// Of what routed experts read, in a model of this hidden width.
  constexpr extent_t row_width(extent_t hidden) const { return latent > 0 ? latent : hidden; }

  constexpr int operator()(model_builder& m, int x) const {
    const token_dims d = detail::token_dims_of(m, name, x);
    if (!d.valid) return -1;
    if (top_k < 1 || top_k > experts) {
      m.graph.fail({graph_code::top_k_exceeds_experts, m.scoped(name), -1, 0, 0, top_k, experts});
      return -1;
    }
    return m.scope(name, [&] {
      const int expert = m.dim("experts", experts);
      const choice chosen = route(m, x, expert);
      int y = x, row = d.hidden;
      if (latent > 0) {
        row = m.dim("expert_latent", latent);
        y = linear_layer{"latent_down", {row}}(m, x);
      }
      y = through_experts(m, y, d, row, expert, chosen);
      if (latent > 0) y = linear_layer{"latent_up", {d.hidden}}(m, y);
      if (shared_width > 0) {
        int shared = gated ? swiglu_layer{"shared", shared_width, "shared_ffn"}(m, x)
                           : squared_relu_layer{"shared", shared_width, "shared_ffn"}(m, x);
        if (shared_gate) {
          const int score = m.apply<ops::sigmoid>("shared_score", {linear_layer{"shared_gate"}(m, x)});
          shared = m.contract("shared_gated", "*h,*->*h", shared, score);
        }
        y = m.sum("output", y, shared);
      }
      return y;
    });
  }

 private:
  struct choice {
    int weight = -1;
    int index = -1;
  };

  constexpr choice route(model_builder& m, int x, int expert) const {
    const int logits = linear_layer{.name = "router", .output = {expert}, .bias = bias}(m, x);
    const bool by_sigmoid = scores == expert_scores::sigmoid, biased = by_sigmoid && balanced_by_bias;
    const operator_options how{.created = {{'K', m.dim("top_k", top_k)}},
                               .created_count = 1,
                               .integer = {0, normalise ? 1 : 0},
                               .real = {weight_scale}};
    int probability = -1, weight = -1;
    if (biased) {
      probability = m.apply<ops::sigmoid>("scores", {logits});
      const data_type type = detail::at_least_f32(m.options.activation);
      const int balance_bias = m.scope("router", [&] { return m.state("bias", type, {expert}); });
      weight = m.apply<ops::biased_top_k>("choice", {probability, balance_bias}, how);
    } else {
      probability = by_sigmoid ? m.apply<ops::sigmoid>("scores", {logits}) : m.apply<ops::softmax>("scores", {logits});
      weight = m.apply<ops::top_k>("choice", {probability}, how);
    }
    const choice chosen{weight, weight < 0 ? -1 : weight + 1};
    if (biased || balance_scale > 0.0) {
      const int counts = m.apply<ops::count_experts>("expert_counts", {chosen.index},
                                                     {.created = {{'e', expert}}, .created_count = 1});
      if (balance_scale > 0.0) {
        if (by_sigmoid) probability = m.apply<ops::softmax>("balance_scores", {logits});
        balance(m, probability, counts);
      }
    }
    return chosen;
  }

  /// E · Σ_e (count_e / (tokens · k)) · (Σ_t p_te / tokens), scaled.
  constexpr void balance(model_builder& m, int probability, int counts) const {
    if (probability < 0 || counts < 0) return;
    const int mass = m.apply<ops::reduce>("balance_mass", {probability}, {.text = "bse->e"});
    const int product = m.contract("balance_product", "e,e->", counts, mass);
    const double tokens = static_cast<double>(elements_of(m.graph.tensor[probability]) / experts);
    const double scale = balance_scale * static_cast<double>(experts) / (tokens * tokens * static_cast<double>(top_k));
    m.auxiliary_loss(m.apply<ops::scale>("balance_loss", {product}, {.real = {scale}}));
  }

  constexpr int through_experts(model_builder& m, int x, const token_dims& d, int row, int expert,
                                const choice& chosen) const {
    const bool joint = slots == expert_slots::joint;
    const extent_t tokens = m.extent_of(d.sequence) * (joint ? m.extent_of(d.batch) : 1);
    const extent_t room =
        slots == expert_slots::dropless ? tokens : detail::expert_capacity(tokens, experts, top_k, capacity_factor);
    const int capacity = m.dim("capacity", room), wide = m.dim("expert_ffn", width);
    const int rows = m.apply<ops::dispatch>(
        "dispatch", {x, chosen.index},
        {.text = joint ? "BSh,BSK->ech" : nullptr, .created = {{'e', expert}, {'c', capacity}}, .created_count = 2});
    const int results = m.scope("experts", [&] {
      const auto weight = [&](const char* part, const number_list& dims) {
        return m.scope(part, [&] { return m.parameter("weight", dims); });
      };
      const int gate_weight = gated ? weight("gate", {expert, row, wide}) : -1;
      const int up_weight = weight("up", {expert, row, wide});
      const int down_weight = weight("down", {expert, wide, row});
      const auto product = [&](const char* part, const char* text, int of, int weight_of_part) {
        const int y = m.contract(part, text, of, weight_of_part);
        if (!bias || y < 0) return y;
        const int rank = m.graph.tensor[y].shape.rank;  // of (…, experts, capacity, width)
        return with_bias(m, part, y, 1u << (rank - 3) | 1u << (rank - 1));
      };
      const int gate = gated ? product("gate", "*ech,ehf->*ecf", rows, gate_weight) : -1;
      const int up = product("up", "*ech,ehf->*ecf", rows, up_weight);
      const int activation = !gated             ? m.apply<ops::squared_relu>("activation", {up})
                             : gate_limit > 0.0 ? m.apply<ops::clamped_swiglu>("activation", {gate, up},
                                                                               {.real = {gate_limit, gate_steepness}})
                                                : m.apply<ops::swiglu>("activation", {gate, up});
      return product("down", "*ecf,efh->*ech", activation, down_weight);
    });
    return m.apply<ops::combine>("combine", {results, chosen.index, chosen.weight},
                                 {.text = joint ? "ech,BSK,BSK->BSh" : nullptr});
  }
};

}}  // namespace hyperparallel::v0_2
