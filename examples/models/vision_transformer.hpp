// SPDX-License-Identifier: Apache-2.0
#pragma once
// A vision transformer: patches of an image through pre-norm blocks with layer norms and GELU, their mean, and a class.
//
// Inputs: "image" (batch, patches, patch_values), the values of each patch; "labels" (batch). Dropout follows both
// branches of a block. Source: Dosovitskiy et al., "An image is worth 16x16 words", 2020, with the mean of all patches
// for a class token (its appendix D.3).

#include <hyperparallel/layers.hpp>

namespace models {

namespace hp = hyperparallel;

struct vision_sizes {
  hp::extent_t batch = 1, patches = 196, patch_values = 16 * 16 * 3, classes = 1000;
  hp::extent_t layers = 12, hidden = 768, heads = 12, width = 3072;
  double dropout = 0.0;
};

template <vision_sizes S = vision_sizes{}>
struct vision_transformer {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", S.batch), hidden = m.dim("hidden", S.hidden);
    const int image = m.input("image", {batch, m.dim("patches", S.patches), m.dim("patch_values", S.patch_values)});
    const int labels = m.index_input("labels", {batch});
    int x = hp::position_embedding{}(m, hp::linear_layer{"patch_embedding", {hidden}}(m, image));
    x = m.repeat("layers", S.layers, x, [](hp::model_builder& b, int y) {
      y = branch(b, "attention", y,
                 hp::attention_layer{
                     .query_heads = S.heads, .key_heads = S.heads, .head_dim = S.hidden / S.heads, .causal = false});
      return branch(b, "feed_forward", y, hp::gelu_layer{.width = S.width});
    });
    x = hp::layer_norm_layer{"norm"}(m, x);
    const int sum = m.apply<hp::ops::reduce>("pooled_sum", {x}, {.text = "bsh->bh"});
    const int pooled = m.apply<hp::ops::scale>("pooled", {sum}, {.real = {1.0 / static_cast<double>(S.patches)}});
    const int logits = hp::linear_layer{"classes", {m.dim("classes", S.classes)}}(m, pooled);
    const int loss = hp::mean_cross_entropy(m, logits, labels);
    m.monitor(loss);
    m.loss(loss);
  }

 private:
  template <class Layer>
  static constexpr int branch(hp::model_builder& m, const char* name, int x, const Layer& layer) {
    return m.scope(name, [&] {
      const int made = hp::dropout_layer{.rate = S.dropout}(m, layer(m, hp::layer_norm_layer{"norm"}(m, x)));
      return m.sum("residual", x, made);
    });
  }
};

}  // namespace models
