// SPDX-License-Identifier: Apache-2.0
#pragma once
// A diffusion transformer: blocks conditioned on the embedded time say what noise is in a latent image.
//
// Inputs: "latent" (batch, patches, patch_values), patches of the noised latent; "time" (batch, condition), features of
// the time; "noise" like the latent. The loss is the mean squared difference. Source: Peebles & Xie, "Scalable diffusion
// models with transformers", 2023 (adaLN).

#include <hyperparallel/layers.hpp>

namespace models {

namespace hp = hyperparallel;

struct diffusion_sizes {
  hp::extent_t batch = 1, patches = 256, patch_values = 16, condition = 256;
  hp::extent_t layers = 12, hidden = 384, heads = 6, width = 1024;
};

template <diffusion_sizes S = diffusion_sizes{}>
struct diffusion_transformer {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", S.batch), hidden = m.dim("hidden", S.hidden);
    const int patches = m.dim("patches", S.patches), values = m.dim("patch_values", S.patch_values);
    const int latent = m.input("latent", {batch, patches, values});
    const int time = m.input("time", {batch, m.dim("condition", S.condition)});
    const int noise = m.input("noise", {batch, patches, values});
    const hp::diffusion_block<> block{
        .attention = {.query_heads = S.heads, .key_heads = S.heads, .head_dim = S.hidden / S.heads},
        .feed_forward = {.width = S.width}};
    int x = hp::position_embedding{}(m, hp::linear_layer{"patch_embedding", {hidden}}(m, latent));
    x = m.repeat("layers", S.layers, x, [&](hp::model_builder& b, int y) { return block(b, y, time); });
    const int said = hp::linear_layer{"noise_prediction", {values}}(m, hp::rms_norm_layer{"norm"}(m, x));
    const int off = m.sum("difference", said, m.apply<hp::ops::scale>("negated_noise", {noise}, {.real = {-1.0}}));
    const int square = m.apply<hp::ops::multiply>("squared", {off, off});
    const int total = m.apply<hp::ops::reduce>("squared_sum", {square}, {.text = "*->"});
    const double count = static_cast<double>(S.batch * S.patches * S.patch_values);
    const int loss = m.apply<hp::ops::scale>("mean_square", {total}, {.real = {1.0 / count}});
    m.monitor(loss);
    m.loss(loss);
  }
};

}  // namespace models
