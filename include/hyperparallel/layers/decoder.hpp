// SPDX-License-Identifier: Apache-2.0
#pragma once
// A decoder-only language model as one value: pre-norm blocks of attention and a feed-forward layer, some with experts.
//
//   embedding (+ positions) -> layers x (norm, attention (, norm), norm, feed-forward or experts (, norm)) -> norm -> logits
//
//   constexpr hp::decoder llama3{.vocabulary = 128256, .hidden = 4096, .layers = 32,
//                                .attention = {.query_heads = 32, .key_heads = 8, .head_dim = 128, .rope_base = 500000.0},
//                                .feed_forward = {.width = 14336}};
//   llama3(m, tokens, labels);                    adds the operators to a graph under construction
//   hp::parameters_of(llama3).total();            decoder_parameters.hpp: the same from the sizes alone
//
// The families llama, mistral, qwen2, qwen3, phi3, minicpm, gpt2, gpt_neox, gemma2, gemma3_text, mixtral, qwen2_moe,
// qwen3_moe, deepseek_v2, deepseek_v3, deepseek_v32, kimi_k2, glm4_moe, glm_moe_dsa, gpt_oss, llama4_text, mimo and minimax_m2
// are values of this type; io/model_config.hpp reads them from their config.json. Equal layers behind each other are one repeated segment: "layers", in a decoder with experts
// "dense_layers" where they have none; of several segments of one name the second is "layers_1". So are equal groups of
// layers where windows, or linear attention, are in turn with full attention, and of layers of one branch each. Modules of multi-token prediction and indexers of sparse attention are counted
// and not built: the graph attends to all keys. A norm over all heads of a projection is built head by head.

#include <hyperparallel/layers/embedding.hpp>
#include <hyperparallel/layers/language_head.hpp>
#include <hyperparallel/layers/latent_attention.hpp>
#include <hyperparallel/layers/linear_attention.hpp>
#include <hyperparallel/layers/mixture_of_experts.hpp>
#include <hyperparallel/layers/norm.hpp>
#include <hyperparallel/support/static_vector.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Which layers have experts: those from `first` on whose number is `phase` modulo `period`, but for `except`.
/// Invariant: period ≥ 1, 0 ≤ phase < period.
struct expert_layers {
  extent_t first = 0;
  extent_t period = 1;
  extent_t phase = 0;
  static_vector<extent_t, 64> except{};

  constexpr bool has(extent_t layer) const {
    if (layer < first || layer % period != phase) return false;
    for (const extent_t e : except)
      if (e == layer) return false;
    return true;
  }
  friend constexpr bool operator==(const expert_layers&, const expert_layers&) = default;
};

/// Picks the keys that latents attend to: a few narrow heads score each query with each key, and the best `top_k` count. Layers
/// below `first`, and those whose number is `phase` modulo `period`, have one of their own; others take that of the layer
/// before. Source: DeepSeek-V3.2, 2025.
struct attention_indexer {
  extent_t heads = 0;  ///< 0: there is none
  extent_t head_dim = 0;
  extent_t top_k = 0;
  extent_t first = 0;
  extent_t period = 1;
  extent_t phase = 0;

  constexpr bool is_own(extent_t layer) const { return heads > 0 && (layer < first || layer % period == phase); }
  friend constexpr bool operator==(const attention_indexer&, const attention_indexer&) = default;
};

/// The activation of layers without experts: of a gate and a width, or of a width alone.
enum class feed_forward_form : unsigned char { swiglu, geglu, gelu, gelu_tanh, squared_relu };
constexpr bool is_gated(feed_forward_form f) { return f == feed_forward_form::swiglu || f == feed_forward_form::geglu; }

/// What a layer of one branch is, in a decoder whose layers have one each (Nemotron-H). Experts are a feed-forward layer.
enum class layer_branch : unsigned char { attention, linear_attention, feed_forward, experts };
using layer_branches = static_vector<layer_branch, 256>;

/// Invariants: sizes are positive, key heads divide query heads, top_k ≤ experts.
struct decoder {
  extent_t vocabulary = 1;
  extent_t hidden = 1;
  extent_t layers = 1;
  attention_layer attention{};                ///< where `has_latents` is not set
  latent_attention_layer latent_attention{};  ///< where it is
  bool has_latents = false;
  attention_indexer indexer{};      ///< of latents
  linear_attention_layer linear{};  ///< where `has_linear`
  bool has_linear = false;
  extent_t first_windowed =
      0;  ///< layers from this one on have linear attention or the window of `attention`, those before it none
  extent_t full_every = 0;          ///< but for one in so many, the last of them; 0: all have it
  double windowed_rope_base = 0.0;  ///< of layers with a window; 0: that of `attention`
  swiglu_layer feed_forward{};      ///< sizes and bias of layers without experts
  feed_forward_form form = feed_forward_form::swiglu;
  mixture_of_experts experts{};  ///< of the layers `sparse`
  bool has_experts = false;
  expert_layers sparse{};
  layer_branches branches{};        ///< of each layer its one; empty: layers have attention, then a feed-forward layer
  norm_form norm = norm_form::rms;  ///< of blocks and head
  bool branch_norms = false;        ///< what a branch gives is normed before it is added
  bool side_by_side = false;        ///< attention and feed-forward both read the block's input, each through its norm
  extent_t positions = 0;           ///< rows of a table of learned positions; 0: there is none
  bool tied = false;                ///< the head reads the table of the embedding
  double epsilon = 1e-6;            ///< of the norms of blocks and head
  double embedding_scale = 1.0;     ///< of what the embedding gives
  double branch_scale = 1.0;        ///< of what attention and feed-forward layers add to the residual stream
  double hidden_scale = 1.0;        ///< of what the logits are made of
  double logit_cap = 0.0;           ///< bounds logits by a tanh; 0: none
  extent_t prediction_modules = 0;  ///< of multi-token prediction, behind the layers
  bool prediction_has_tables = true;  ///< each module has copies of embedding and head

  /// Whether layer `layer` has experts; modules of multi-token prediction are numbered behind the layers.
  constexpr bool is_sparse(extent_t layer) const {
    return has_experts && (has_one_branch(layer) ? branch_is(layer, layer_branch::experts) : sparse.has(layer));
  }
  /// Whether it has a feed-forward layer without experts.
  constexpr bool is_dense(extent_t layer) const {
    return has_one_branch(layer) ? branch_is(layer, layer_branch::feed_forward) : !is_sparse(layer);
  }
  /// Of a decoder whose layers have one branch each; modules of prediction have both.
  constexpr bool has_one_branch(extent_t layer) const { return layer < branches.size; }
  constexpr bool is_windowed(extent_t layer) const {
    return !has_latents && !has_linear && attention.window > 0 && layer >= first_windowed &&
           (full_every == 0 || (layer + 1) % full_every != 0);
  }

  constexpr bool is_linear(extent_t layer) const {
    if (has_one_branch(layer)) return branch_is(layer, layer_branch::linear_attention);
    return has_linear && layer < layers && layer >= first_windowed &&
           (full_every == 0 || (layer + 1) % full_every != 0);
  }
  /// Whether it attends to all tokens.
  constexpr bool is_full(extent_t layer) const {
    if (has_one_branch(layer)) return branch_is(layer, layer_branch::attention);
    return !is_windowed(layer) && !is_linear(layer);
  }
  constexpr bool has_attention(extent_t layer) const {
    return is_full(layer) || is_windowed(layer) || is_linear(layer);
  }

  /// Attention and feed-forward layers of all layers.
  constexpr extent_t branch_count() const { return branches.empty() ? 2 * layers : layers; }

  /// Equal layers behind each other, or equal groups of layers: one segment of the graph.
  struct layer_run {
    extent_t first = 0;    ///< its first layer
    extent_t group = 1;    ///< layers in a repetition
    extent_t repeats = 1;  ///< of the group
  };

  /// Calls `visit(run)` for the runs of the layers, in order. Where windows or linear attention are in turn with full attention,
  /// and at least twice, the first run is of groups, each with one layer of it. O(layers).
  template <class Visit>
  constexpr void visit_runs(const Visit& visit) const {
    const auto alike = [&](extent_t a, extent_t b) {
      return is_sparse(a) == is_sparse(b) && is_dense(a) == is_dense(b) && is_windowed(a) == is_windowed(b) &&
             is_linear(a) == is_linear(b);
    };
    if (!branches.empty()) return visit_branch_runs(visit);
    extent_t begin = 0;
    if (full_every > 1 && layers / full_every > 1) {
      extent_t end = full_every;
      while (end < layers && alike(end, end - full_every)) ++end;
      const layer_run groups{0, full_every, end / full_every};
      if (groups.repeats > 1 && !is_full(0)) {
        visit(groups);
        begin = groups.group * groups.repeats;
      }
    }
    for (extent_t end = begin; begin < layers; begin = end) {
      while (end < layers && alike(begin, end)) ++end;
      visit(layer_run{begin, 1, end - begin});
    }
  }

  /// Makes the graph's loss of `tokens` and `labels` (batch, seq) and returns the cross entropy. A size that cannot be is
  /// in the graph's status. Law: the elements of the graph's parameters and router biases are `parameters_of(*this)`, but for
  /// indexers and for norms over all heads of a projection.
  constexpr int operator()(model_builder& m, int tokens, int labels) const {
    int x = token_embedding{.vocabulary = vocabulary, .hidden = hidden}(m, tokens);
    x = scaled(m, "embedding_scaled", x, embedding_scale);
    if (positions > 0) x = position_embedding{.rows = positions}(m, x);
    int dense_runs = 0, other_runs = 0;
    visit_runs([&](const layer_run& run) {
      const bool named_dense = has_experts && branches.empty() && !is_sparse(run.first);
      const run_name name(named_dense ? "dense_layers" : "layers", named_dense ? dense_runs++ : other_runs++);
      x = m.repeat(name.text, run.repeats, x, [&](model_builder& b, int y) { return blocks(b, y, run); });
    });
    return language_head{.vocabulary = vocabulary,
                         .epsilon = epsilon,
                         .norm = norm,
                         .hidden_scale = hidden_scale,
                         .logit_cap = logit_cap,
                         .tied_to = tied ? "embedding" : nullptr}(m, x, labels);
  }

 private:
  constexpr bool branch_is(extent_t layer, layer_branch b) const { return branches[static_cast<int>(layer)] == b; }

  /// Groups of up to 16 layers that repeat: from each layer on those that cover the most, of several the shortest group.
  template <class Visit>
  constexpr void visit_branch_runs(const Visit& visit) const {
    constexpr extent_t longest_group = 16;
    for (extent_t begin = 0; begin < layers;) {
      layer_run best{begin, 1, 1};
      for (extent_t group = 1; group <= longest_group && begin + 2 * group <= layers; ++group) {
        extent_t end = begin + group;
        while (end < layers && branches[static_cast<int>(end)] == branches[static_cast<int>(end - group)]) ++end;
        const layer_run r{begin, group, (end - begin) / group};
        if (r.repeats > 1 && r.group * r.repeats > best.group * best.repeats) best = r;
      }
      visit(best);
      begin += best.group * best.repeats;
    }
  }

  /// The name of run number `run`, "layers" or "layers_1".
  struct run_name {
    char text[32] = {};
    constexpr run_name(const char* name, int run) {
      int size = 0;
      while (*name != '\0') text[size++] = *name++;
      if (run == 0) return;
      text[size++] = '_';
      int digit = 1;
      while (run / digit >= 10) digit *= 10;
      for (; digit > 0; digit /= 10) text[size++] = static_cast<char>('0' + run / digit % 10);
    }
  };

  /// A feed-forward layer of another activation with the sizes of `feed_forward`.
  template <class Layer>
  constexpr int feed_through(model_builder& m, int x) const {
    return Layer{feed_forward.name, feed_forward.width, feed_forward.width_dim, feed_forward.bias}(m, x);
  }
  constexpr int feed_dense(model_builder& m, int x) const {
    switch (form) {
      case feed_forward_form::geglu:
        return feed_through<geglu_layer>(m, x);
      case feed_forward_form::gelu:
        return feed_through<gelu_layer>(m, x);
      case feed_forward_form::gelu_tanh:
        return feed_through<gelu_tanh_layer>(m, x);
      case feed_forward_form::squared_relu:
        return feed_through<squared_relu_layer>(m, x);
      case feed_forward_form::swiglu:
        break;
    }
    return feed_forward(m, x);
  }

  static constexpr const char* group_names[4] = {"full", "windowed", "linear", "feed"};
  constexpr int kind_in_group(extent_t layer) const {
    return is_full(layer) ? 0 : is_windowed(layer) ? 1 : is_linear(layer) ? 2 : 3;
  }
  /// One repetition of a run. The layers of a group are "windowed" or "linear", "windowed_1", …, "full", and of one branch "feed".
  constexpr int blocks(model_builder& m, int x, const layer_run& run) const {
    if (run.group == 1) return block(m, x, run.first);
    int count[4] = {};
    for (extent_t layer = run.first; layer < run.first + run.group; ++layer) {
      const int kind = kind_in_group(layer);
      const run_name name(group_names[kind], count[kind]++);
      x = m.scope(name.text, [&] { return block(m, x, layer); });
    }
    return x;
  }

  constexpr int block(model_builder& m, int x, extent_t layer) const {
    const bool windowed = is_windowed(layer);
    attention_layer grouped = attention;
    if (!windowed) grouped.window = 0;
    if (windowed && windowed_rope_base > 0.0) grouped.rope_base = windowed_rope_base;
    const auto normed = [&](const char* name, int y) { return norm_layer{name, epsilon, norm}(m, y); };
    const auto attended = [&](int y) {
      y = is_linear(layer) ? linear(m, y) : has_latents ? latent_attention(m, y) : grouped(m, y);
      return scaled(m, "attention_scaled", branch_norms ? normed("attention_branch_norm", y) : y, branch_scale);
    };
    const auto fed = [&](int y) {
      y = is_sparse(layer) ? experts(m, y) : feed_dense(m, y);
      return scaled(m, "feed_forward_scaled", branch_norms ? normed("feed_forward_branch_norm", y) : y, branch_scale);
    };
    if (has_one_branch(layer)) {
      const bool attends = has_attention(layer);
      const int branch = attends ? attended(normed("attention_norm", x)) : fed(normed("feed_forward_norm", x));
      return m.sum(attends ? "attention_residual" : "feed_forward_residual", x, branch);
    }
    const int attention_branch = attended(normed("attention_norm", x));
    if (side_by_side) {
      const int other_branch = fed(normed("feed_forward_norm", x));
      return m.apply<ops::sum>("residual", {x, attention_branch, other_branch});
    }
    x = m.sum("attention_residual", x, attention_branch);
    return m.sum("feed_forward_residual", x, fed(normed("feed_forward_norm", x)));
  }
};

}}  // namespace hyperparallel::v0_2
