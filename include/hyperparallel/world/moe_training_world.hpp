// SPDX-License-Identifier: Apache-2.0
#pragma once
// A MoE layer that learns: forward, loss and backward as one taskflow over the memory of all ranks.
//
//   hp::moe_training_world<> layer(shape, 8, options);
//   layer.set_router(w); layer.set_expert(0, w1, w2); …
//   layer.step(tokens, loss, output, token_gradient);
//   layer.gate_up_gradient(0), layer.down_gradient(0), layer.router_gradient(), layer.choices()
//
// The taskflow ends at the gradient of each choice's weight. What lies between that and the router's weight is small,
// so the step computes it behind the taskflow, on the calling thread, rank by rank; the choice is taken as fixed. Law:
// output and gradients are bit-equal for every number of devices, tile sizes, threads and orders of the weight
// gradients; nothing runs that the verifier has not proved safe.

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <hyperparallel/kernels/choice.hpp>
#include <hyperparallel/kernels/elementwise_functions.hpp>
#include <hyperparallel/world/moe_gradient_kernels.hpp>
#include <hyperparallel/world/moe_world.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// One choice of a token: what the router gave, and the gradient of its weight.
struct moe_choice {
  int expert = 0;
  float weight = 0;
  float gradient = 0;
  friend bool operator==(const moe_choice&, const moe_choice&) = default;
};

template <class Profile = no_profile>
class moe_training_world : private moe_world<Profile> {
  using base = moe_world<Profile>;

 public:
  /// As `moe_world`, whatever `options.pass` says. Weights stay from forward to backward: with fewer weight buffers
  /// than local experts it throws plan_error.
  moe_training_world(const moe_layer& layer, int devices, moe_options options, const executor_options& execution = {},
                     bool serialized = false)
      : base(moe_pass::training, layer, devices, (options.pass = moe_pass::training, options), execution, serialized),
        router_gradient_(elements(layer.hidden, layer.experts)),
        logits_gradient_(elements(local_tokens(base::plan()), layer.experts)) {
    for (int o = moe_forward_operation_count; o < moe_operation_count; ++o)
      base::world().bind(o, moe_gradient_kernels[o - moe_forward_operation_count], base::context_.get());
  }

  using base::plan;
  using base::planned;
  using base::received_rows;
  using base::set_expert;
  using base::set_router;
  using base::world;

  /// One step over the first rows of `tokens` (at most layer.tokens, hidden each). `output` and `token_gradient` get as
  /// many rows; the gradient is through the experts and through the router. Throws what the executor throws, and a
  /// task_error around what `loss` throws; the world can then run again.
  run_result step(std::span<const float> tokens, const moe_loss& loss, std::span<float> output,
                  std::span<float> token_gradient, const progress& watch = {}) {
    base::require(output.size(), static_cast<extent_t>(tokens.size()), "the output");
    base::require(token_gradient.size(), static_cast<extent_t>(tokens.size()), "the tokens' gradient");
    if (!loss) throw std::invalid_argument("a training step needs a loss");
    base::load_tokens(tokens);
    base::context_->loss = &loss;
    const run_result result = base::world().run(watch);
    if (result != run_result::complete) return result;
    base::gather(base::tensors().output, output);
    base::gather(base::tensors().input_gradient, token_gradient);
    differentiate_router(token_gradient);
    return result;
  }

  /// Gradients of a weight, laid out as it, where the device that owns it has them. Valid until the next step. Domain:
  /// of these and of `choices`, the last step was complete. Throws std::out_of_range.
  std::span<const float> gate_up_gradient(int expert) const {
    return weight_gradient(base::tensors().gate_up_weight_gradient, expert);
  }
  std::span<const float> down_gradient(int expert) const {
    return weight_gradient(base::tensors().down_weight_gradient, expert);
  }
  std::span<const float> router_gradient() const { return router_gradient_; }

  /// top_k choices of each token of the last step, best first.
  std::vector<moe_choice> choices() const {
    std::vector<moe_choice> all;
    for (int r = 0; r < plan().ranks; ++r) {
      const detail::moe_rank_view v(*base::context_, r);
      const detail::moe_routes routes = v.routes();
      const float* const gradient = v.data<float>(v.t.probability_gradient);
      for (int i = 0; i < v.valid_tokens() * plan().layer.top_k; ++i)
        all.push_back({routes.choice[i], routes.weight[i], gradient[i]});
    }
    return all;
  }

 private:
  static std::size_t elements(int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }

  std::span<const float> weight_gradient(int tensor, int expert) const {
    const moe_plan& p = plan();
    if (expert < 0 || expert >= p.layer.experts)
      throw std::out_of_range("expert " + std::to_string(expert) + " of " + std::to_string(p.layer.experts));
    return base::world().template data<float>(base::slot_number(expert % p.devices, tensor, expert / p.devices));
  }

  /// dLogits from the choices' gradients; dX += dLogits · Wrᵀ; dWr = xᵀ · dLogits over all tokens in order.
  void differentiate_router(std::span<float> token_gradient) {
    const int h = plan().layer.hidden, experts = plan().layer.experts, k = plan().layer.top_k;
    gemm_mode mode = gemm_mode::overwrite;
    for (int r = 0; r < plan().ranks; ++r) {
      const detail::moe_rank_view v(*base::context_, r);
      const detail::moe_routes routes = v.routes();
      const int tokens = v.valid_tokens();
      for (int t = 0; t < tokens; ++t) {
        const float* const score = v.data<float>(v.t.scores) + extent_t{t} * experts;
        float* const to = logits_gradient_.data() + extent_t{t} * experts;
        kernels::choice_gradient(experts, k, v.data<float>(v.t.probability_gradient) + t * k, score,
                                 routes.choice + t * k, true, 1.0F, to);
        for (int e = 0; e < experts; ++e) to[e] = kernels::functions::sigmoid_gradient::of(to[e], score[e]);
      }
      if (tokens > 0)  // else the part may have no address
        gemm_nt(tokens, h, experts, logits_gradient_.data(), experts, v.data<float>(v.t.router_weight), experts,
                base::part(token_gradient, r).data(), h, gemm_mode::accumulate);
      const row_segment rows{v.data<float>(v.t.tokens), logits_gradient_.data(), tokens};
      gemm_tn(h, experts, &rows, 1, h, experts, router_gradient_.data(), experts, mode);
      mode = gemm_mode::accumulate;
    }
  }

  std::vector<float> router_gradient_;  ///< hidden × experts
  std::vector<float> logits_gradient_;  ///< of one rank, tokens × experts
};

}}  // namespace hyperparallel::v0_2
