// SPDX-License-Identifier: Apache-2.0
// The body of architectures.hpp.

#include "architectures.hpp"

#include <string_view>

namespace truth {

namespace {

using form = hp::feed_forward_form;

/// What is published of a name. Sources: the configurations and modelling files that are published with the checkpoints, of
/// Megatron's GPT its model code, of Grok-1 xai-org/grok-1.
struct architecture {
  std::string_view begins;  ///< of the name in lower case; of several the longest counts
  form feed_forward = form::swiglu;
  bool layer_norm = false, bias = false, attention_bias = false;
  bool positions = false;  ///< a table of them, no rotation
  bool tied = false, side_by_side = false, query_key_norm = false;
  hp::extent_t head_dim = 0;  ///< where the row has none; 0: hidden / heads
};

constexpr bool yes = true;

constexpr architecture architectures[] = {
    {.begins = "gpt", .feed_forward = form::gelu_tanh, .layer_norm = yes, .bias = yes, .positions = yes, .tied = yes},
    {.begins = "megatron",
     .feed_forward = form::gelu_tanh,
     .layer_norm = yes,
     .bias = yes,
     .positions = yes,
     .tied = yes},
    {.begins = "turing",
     .feed_forward = form::gelu_tanh,
     .layer_norm = yes,
     .bias = yes,
     .positions = yes,
     .tied = yes},
    {.begins = "mt-nlg",
     .feed_forward = form::gelu_tanh,
     .layer_norm = yes,
     .bias = yes,
     .positions = yes,
     .tied = yes},
    {.begins = "opt-", .feed_forward = form::gelu, .layer_norm = yes, .bias = yes, .positions = yes, .tied = yes},
    {.begins = "bloom", .feed_forward = form::gelu_tanh, .layer_norm = yes, .bias = yes, .tied = yes},
    {.begins = "mpt", .feed_forward = form::gelu, .layer_norm = yes, .tied = yes},
    {.begins = "nemotron_3", .feed_forward = form::squared_relu},
    {.begins = "nemotron-3", .feed_forward = form::squared_relu},
    {.begins = "nemotron4", .feed_forward = form::gelu, .layer_norm = yes},
    {.begins = "nemotron-4", .feed_forward = form::gelu, .layer_norm = yes},
    {.begins = "falcon", .feed_forward = form::gelu, .layer_norm = yes, .tied = yes, .side_by_side = yes},
    {.begins = "pythia", .feed_forward = form::gelu, .layer_norm = yes, .bias = yes, .side_by_side = yes},
    {.begins = "gpt-neox", .feed_forward = form::gelu, .layer_norm = yes, .bias = yes, .side_by_side = yes},
    {.begins = "gpt-oss", .bias = yes, .head_dim = 64},
    {.begins = "gpt_oss", .bias = yes, .head_dim = 64},
    {.begins = "llama"},
    {.begins = "codellama"},
    {.begins = "mistral"},
    {.begins = "mixtral"},
    {.begins = "yi-"},
    {.begins = "aquila"},
    {.begins = "baichuan"},
    {.begins = "internlm"},
    {.begins = "deepseek"},
    {.begins = "kimi"},
    {.begins = "moonlight"},
    {.begins = "grok"},
    {.begins = "phi-3"},
    {.begins = "minicpm", .tied = yes},
    {.begins = "qwen", .attention_bias = yes},
    {.begins = "qwen3", .query_key_norm = yes, .head_dim = 128},
    {.begins = "chatglm", .attention_bias = yes},
    {.begins = "glm", .attention_bias = yes},
    {.begins = "gemma", .feed_forward = form::geglu, .tied = yes},
};

/// A plan is simulated with its layers one by one.
constexpr hp::extent_t most_layers = 4096;

const architecture& architecture_of(const std::string& name) {
  const std::string small = lower_case(name);
  const architecture* found = nullptr;
  for (const architecture& a : architectures)
    if (small.starts_with(a.begins) && (found == nullptr || a.begins.size() > found->begins.size())) found = &a;
  if (found == nullptr) throw not_predicted("the layers of '" + name + "' are not known by name");
  return *found;
}

/// Ranks of latent attention that DeepSeek-V2, V3 and what is built as they are have. Source: their config.json.
void set_latents(hp::decoder& d, const model_sizes& m) {
  d.has_latents = true;
  d.latent_attention = {
      .heads = m.heads, .head_dim = 128, .rope_dim = 64, .value_dim = 128, .query_rank = 1536, .key_value_rank = 512};
}

void set_heads(hp::decoder& d, const model_sizes& m, const architecture& a) {
  hp::attention_layer& to = d.attention;
  to.query_heads = m.heads;
  to.key_heads = m.key_heads > 0 ? m.key_heads : m.heads;
  if (m.heads % to.key_heads != 0) throw not_predicted("key and value heads do not divide the heads");
  to.head_dim = m.head_dim > 0 ? m.head_dim : a.head_dim > 0 ? a.head_dim : m.hidden / m.heads;
  if (m.head_dim == 0 && a.head_dim == 0 && m.hidden % m.heads != 0) throw not_predicted("heads do not divide hidden");
  to.rope_base = a.positions || to.head_dim % 2 != 0 ? 0.0 : 1e4;
  to.query_key_norm = a.query_key_norm;
  to.query_key_value_bias = a.bias || a.attention_bias;
  to.output_bias = a.bias;
}

void set_experts(hp::decoder& d, const model_sizes& m) {
  d.has_experts = true;
  d.experts.experts = m.experts;
  d.experts.top_k = m.top_k;
  d.experts.width = m.expert_width;
  d.experts.shared_width = m.shared_experts * m.expert_width;
  d.sparse.first = m.dense_layers;
  if (m.top_k < 1 || m.top_k > m.experts) throw not_predicted("how many experts a token has is not told");
}

/// Layers of one branch each, which Nemotron 3 has: M Mamba-2, * attention, E experts. Source: the config.json of Nano and Super.
void set_branches(hp::decoder& d, bool is_super) {
  constexpr std::string_view
      nano = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
      super = "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME";
  for (const char letter : is_super ? super : nano)
    d.branches.push(letter == 'M'   ? hp::layer_branch::linear_attention
                    : letter == '*' ? hp::layer_branch::attention
                                    : hp::layer_branch::experts);
  d.layers = d.branches.size;
  d.attention.rope_base = 0.0;
  d.has_linear = true;
  d.linear = {.key_heads = 8,
              .value_heads = is_super ? 128 : 64,
              .key_dim = 128,
              .value_dim = 64,
              .form = hp::linear_form::state_space};
  d.experts.gated = false;
  d.experts.latent = is_super ? 1024 : 0;
  d.experts.shared_width = 2 * d.experts.width;
  d.experts.scores = hp::expert_scores::sigmoid;
}

}  // namespace

row_decoder decoder_of(const model_sizes& m, hp::extent_t sequence) {
  const architecture& a = architecture_of(m.name);
  if (m.layers > most_layers) throw not_predicted("its model has more than " + std::to_string(most_layers) + " layers");
  row_decoder out;
  hp::decoder& d = out.model;
  out.assumed_vocabulary = m.vocabulary == 0;
  d.vocabulary = m.vocabulary > 0 ? m.vocabulary : assumed_vocabulary;
  d.hidden = m.hidden;
  d.layers = m.layers;
  d.feed_forward = {.width = m.width > 0 ? m.width : m.expert_width};
  d.feed_forward.bias = a.bias && m.experts == 0;
  d.form = a.feed_forward;
  d.norm = a.layer_norm ? hp::norm_form::layer : hp::norm_form::rms;
  d.positions = a.positions ? sequence : 0;
  d.tied = a.tied;
  d.side_by_side = a.side_by_side;
  if (m.has_latents)
    set_latents(d, m);
  else
    set_heads(d, m, a);
  if (m.experts > 0) set_experts(d, m);
  if (lower_case(m.name).starts_with("gpt-oss") || lower_case(m.name).starts_with("gpt_oss")) {
    d.attention.sinks = d.experts.bias = true;
    d.attention.window = 128;
    d.full_every = 2;
    d.experts.gate_limit = 7.0;
  }
  if (const std::string name = lower_case(m.name); name.starts_with("nemotron_3") || name.starts_with("nemotron-3"))
    set_branches(d, name.find("super") != std::string::npos);
  return out;
}

}  // namespace truth
