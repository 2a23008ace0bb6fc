// SPDX-License-Identifier: Apache-2.0
#pragma once
// A training stack by name: the framework that runs a plan, whether it can, and the sizes of one rank that its memory is made of.
//
//   const hp::stack_rules& rules = *hp::find_stack("fsdp2");
//   hp::check_stack(decoder, plan, rules) == hp::stack_code::ok
//   const hp::stack_sizes s(decoder, plan, rules);
//
// `library` is this library's own plan. `fsdp2` is PyTorch's fully_shard on every block, on experts that fewer ranks share, and on the root, as
// torchtitan runs it: f32 shards of parameters and of AdamW's two moments, gathers in bf16, reduction in f32, one operator at a time, the
// loss whole on f32 logits, non-reentrant checkpoints around whole blocks where these are computed again. `fsdp2_compiled` is the same
// with each block compiled by Inductor, which computes the activation of the gate again in backward. Under tp, norms and
// residuals have a rank's part of each sequence, and products read all of it; under cp every operator but attention has. Shards are cut for the ranks of cp, too. ZeRO stage 3 is reshard_after_forward, stage 2 is without
// it; on one rank stage 0 is taken as stage 3. `transformers` is AutoModelForCausalLM on one device, all in bf16, with norms of elementwise
// operators; `transformers_amp` is the same model in f32 under autocast to bf16, where weights and what products read are copied.
// Sources: torch/distributed/fsdp/_fully_shard, torch/csrc/autograd and aten's autocast of PyTorch 2.11; torchtitan's parallelize functions;
// modeling_llama.py and loss_utils.py of transformers 5. `megatron` is this library's plan and account with the moves hidden that Megatron-LM hides
// (stack_overlap.hpp); `deepspeed` has them hidden, too, and updates as ZeRO does with PyTorch's AdamW: gradients are copied to f32, which frees
// them, and the update has two results of that size; stage 3 updates 10^9 parameters of a rank at once. Source: step() in
// deepspeed/runtime/zero, sub_group_size.
//
// Laws: every plan of a decoder is either ok or has one code; the parameters of all groups are those that decoder_parameters.hpp
// counts, divided by tp and experts by ep. O(layers).

#include <hyperparallel/planner/plan_check.hpp>
#include <hyperparallel/support/static_vector.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct stack_rules {
  const char* name;
  bool walked = true;       ///< its step is walked; else memory is this library's account
  bool compiled = false;    ///< pointwise operators of one operand are computed again in backward
  bool sharded = true;      ///< by FSDP2; else one device has all
  bool composed = false;    ///< norms are made of elementwise operators
  bool overlapped = false;  ///< of moves that the library's order waits for, what Megatron-LM hides is hidden
  bool autocast = false;    ///< parameters and residual stream are f32, products read bf16 copies
  int update_bytes = 0;     ///< that AdamW takes beside its states for each parameter that is updated at once
  double pace =
      1;  ///< of its kernels and its host, over what was measured: as a run of one's own says (measured_run.hpp)
};

/// The first is what tools take where none is named.
inline constexpr stack_rules known_stacks[] = {
    {.name = "library", .walked = false},
    {.name = "megatron", .walked = false, .overlapped = true},
    {.name = "deepspeed", .walked = false, .overlapped = true, .update_bytes = 12},
    {.name = "fsdp2"},
    {.name = "fsdp2_compiled", .compiled = true},
    {.name = "transformers", .sharded = false, .composed = true},
    {.name = "transformers_amp", .sharded = false, .composed = true, .autocast = true}};

/// The stack of that name, or null.
constexpr const stack_rules* find_stack(const char* name) {
  for (const stack_rules& s : known_stacks)
    if (detail::same_text(s.name, name)) return &s;
  return nullptr;
}

namespace detail {

/// Parameters of a rank that DeepSpeed's stage 3 updates at once, where no sub_group_size says otherwise.
inline constexpr extent_t zero3_update_group = 1'000'000'000;

/// A walk takes time that rises with the square of the layers.
inline constexpr extent_t most_walked_layers = 512;

}  // namespace detail

/// Why a stack says nothing of a plan.
enum class stack_code : unsigned char {
  ok,
  has_latents,
  has_linear_attention,
  has_experts,
  has_other_blocks,
  has_windows,
  has_many_layers,
  has_stages,
  cuts_context,
  keeps_sequences_whole,
  replicates_keys,
  replicates_parameters,
  has_several_devices,
  selects_results,
  freezes_parameters,
  updates_otherwise,
  updates_on_the_host,
};

/// What of the plan or of the model the stack has no rule for.
constexpr const char* name_of(stack_code c) {
  constexpr const char* names[] = {
      "nothing",
      "attention with latents",
      "linear attention",
      "experts beside dense or shared ones, with biases, or cut by tp",
      "blocks other than RMSNorm, attention and a gated feed-forward layer with rotation, one after the other",
      "windows shorter than the sequence",
      "more than 512 layers",
      "pipeline stages: pp=1 alone",
      "context parallelism of experts",
      "tensor parallelism with whole sequences between products: sp=on alone",
      "tensor parallelism that does not divide key and value heads",
      "parameters that every rank holds: zero=2 and zero=3 alone",
      "several devices: one alone",
      "selective recomputation outside of fsdp2, or of experts: recompute=none and recompute=full alone",
      "frozen parameters: lora=0 alone",
      "optimizers other than AdamW: optimizer=adamw alone",
      "states on the host: host_states=0 alone"};
  return names[static_cast<int>(c)];
}

namespace detail {

/// Blocks whose kernels are not counted.
constexpr bool has_other_kernels(const decoder& d) {
  const attention_layer& a = d.attention;
  return d.branch_norms || d.side_by_side || d.logit_cap > 0.0 || d.embedding_scale != 1.0 || d.branch_scale != 1.0 ||
         d.hidden_scale != 1.0 || a.output_bias || a.output_gate || a.sinks || a.score_cap > 0.0 || d.feed_forward.bias;
}
/// Blocks of which it is not known what tensors they keep.
constexpr bool has_other_tensors(const decoder& d) {
  return d.norm != norm_form::rms || !is_gated(d.form) || d.positions > 0 || d.attention.rope_base <= 0.0;
}

/// Schedules whose stages are walked: 1F1B, also interleaved.
constexpr bool is_walked_schedule(const decoder_plan& p) {
  return is_1f1b(p) || p.schedule == schedule_place<interleaved_1f1b>;
}

}  // namespace detail

/// What of a step the rules are asked for: both, its memory alone, which stages of a pipeline have, too, or its time alone, which other norms,
/// feed-forward layers without a gate and attention without rotation have.
enum class stack_question : unsigned char { step, memory, time };

/// Precondition: `check_plan` says ok. Causes in the model come before those in the plan. O(layers).
constexpr stack_code check_stack(const decoder& d, const decoder_plan& p, const stack_rules& rules,
                                 stack_question asked = stack_question::step) {
  if (!rules.walked) return stack_code::ok;
  const attention_layer& a = d.attention;
  if (d.has_latents) return stack_code::has_latents;
  if (d.has_linear) return stack_code::has_linear_attention;
  if (!d.branches.empty()) return stack_code::has_other_blocks;
  const mixture_of_experts& e = d.experts;
  for (extent_t layer = 0; d.has_experts && layer < d.layers; ++layer)
    if (!d.is_sparse(layer) || !rules.sharded || p.tp > 1 || e.bias || e.shared_width > 0 || e.latent > 0 || !e.gated ||
        e.scores != expert_scores::softmax)
      return stack_code::has_experts;
  if (detail::has_other_kernels(d) || (asked != stack_question::time && detail::has_other_tensors(d)))
    return stack_code::has_other_blocks;
  if (a.window > 0 && a.window < p.sequence) return stack_code::has_windows;
  if (d.layers > detail::most_walked_layers) return stack_code::has_many_layers;
  if (p.pp > 1 && (asked != stack_question::memory || d.has_experts || !detail::is_walked_schedule(p)))
    return stack_code::has_stages;
  if (p.cp > 1 && d.has_experts) return stack_code::cuts_context;
  if (p.tp > 1 && !p.sequence_parallel) return stack_code::keeps_sequences_whole;
  if (a.key_heads % p.tp != 0) return stack_code::replicates_keys;
  if (!rules.sharded && device_count_of(p) > 1) return stack_code::has_several_devices;
  if (p.dp * p.ep * p.cp > 1 && p.zero < 2) return stack_code::replicates_parameters;
  if (p.adapter_rank > 0) return stack_code::freezes_parameters;
  if (p.optimizer != optimizer_kind::adamw) return stack_code::updates_otherwise;
  if (p.host_states > 0) return stack_code::updates_on_the_host;
  if (p.modules != 0) return stack_code::selects_results;
  if (p.recomputed && p.selective && (!rules.sharded || d.has_experts)) return stack_code::selects_results;
  return stack_code::ok;
}

/// A parameter as a rank of tp has it before it is sharded: dim 0 is cut by the data ranks, and padded to be.
struct stack_parameter {
  extent_t rows = 0, columns = 1;
  constexpr extent_t elements() const { return rows * columns; }
  constexpr extent_t shard(extent_t ranks) const { return ceil_divide(rows, ranks) * columns; }
};
using stack_parameters = static_vector<stack_parameter, 16>;

/// Of one rank: sizes in elements. Precondition: check_stack of these is ok.
struct stack_sizes {
  extent_t layers = 1, sequence = 1;
  extent_t context = 1;       ///< ranks that have a part of each sequence
  extent_t tokens = 1;        ///< of a micro-batch, that products read
  extent_t shard_tokens = 1;  ///< of them those that residuals and norms have
  extent_t hidden = 1, query = 1, key = 1, width = 1, vocabulary = 1;
  extent_t heads = 1, key_heads = 1, head_dim = 1;
  extent_t experts = 0, local_experts = 0, top_k = 0, expert_width = 0;
  extent_t ranks = 1;         ///< of data, which shards are cut for
  extent_t expert_ranks = 1;  ///< of them those that have the same experts
  extent_t micro_batches = 1;
  bool is_cut = false;       ///< by tp
  bool biased = false;       ///< queries, keys and values
  bool head_normed = false;  ///< queries and keys have norms
  bool gated = true;    ///< two products lead into the width, and the activation of one is multiplied with the other
  bool rotated = true;  ///< queries and keys
  bool tied = false;
  extent_t at_once = 1;  ///< micro-batches between forward and backward, as a stage of a pipeline has them
  bool is_first = true, is_last = true;  ///< whether it has the embedding, and the head
  bool recomputed = false, selective = false, reshards = true, compiled = false, sharded = true, composed = false,
       autocast = false;

  constexpr stack_sizes() = default;
  constexpr stack_sizes(const decoder& d, const decoder_plan& p, const stack_rules& rules)
      : layers(d.layers),
        sequence(p.sequence),
        context(p.cp),
        tokens(p.batch / p.micro_batches / p.dp / p.ep * (p.sequence / p.cp)),
        shard_tokens(tokens / p.tp),
        hidden(d.hidden),
        query(d.attention.query_heads / p.tp * d.attention.head_dim),
        key(d.attention.key_heads / p.tp * d.attention.head_dim),
        width(d.feed_forward.width / p.tp),
        vocabulary(d.vocabulary / p.tp),
        heads(d.attention.query_heads / p.tp),
        key_heads(d.attention.key_heads / p.tp),
        head_dim(d.attention.head_dim),
        experts(d.has_experts ? d.experts.experts : 0),
        local_experts(experts / p.ep),
        top_k(d.experts.top_k),
        expert_width(d.experts.width),
        ranks(extent_t{detail::sharing_ranks(p)} * p.ep * p.cp),
        expert_ranks(extent_t{detail::sharing_ranks(p)} * p.cp),
        micro_batches(p.micro_batches),
        is_cut(p.tp > 1),
        biased(d.attention.query_key_value_bias),
        head_normed(d.attention.query_key_norm),
        gated(is_gated(d.form)),
        rotated(d.attention.rope_base > 0.0),
        tied(d.tied),
        recomputed(p.recomputed),
        selective(p.recomputed && p.selective),
        reshards((p.zero == 3 && p.pp == 1) || (ranks == 1 && p.zero == 0)),
        compiled(rules.compiled),
        sharded(rules.sharded),
        composed(rules.composed),
        autocast(rules.autocast) {}

  /// Of an element of the residual stream.
  constexpr extent_t stream_bytes() const { return autocast ? 4 : 2; }
  /// Whether a norm saves the residual stream itself, and not a copy.
  constexpr bool keeps_residuals() const { return !composed || autocast; }

  /// What selective checkpoints keep beside attention: every other product without a bias (selective_recomputation.hpp), so queries, values,
  /// gate and down, or output and width where the first three have biases; and sums that are scattered.
  constexpr bool spares_query() const { return selective && !biased; }
  constexpr bool spares_output() const { return selective && biased; }
  constexpr bool spares_sums() const { return selective && is_cut; }

  /// Norms, then products and their biases, as the modules of a block have them.
  constexpr stack_parameters block() const {
    stack_parameters out;
    out.push({hidden});
    out.push({hidden});
    for (const extent_t rows : {query, key, key}) {
      out.push({rows, hidden});
      if (biased) out.push({rows});
    }
    if (head_normed)
      for (int norm = 0; norm < 2; ++norm) out.push({head_dim});
    out.push({hidden, query});
    if (experts > 0) {
      if (!has_expert_groups()) push_experts(out);
      return out;
    }
    for (int product = 0; product < (gated ? 2 : 1); ++product) out.push({width, hidden});
    out.push({hidden, width});
    return out;
  }
  /// Whether the experts of a block are a group of their own, which fewer ranks share.
  constexpr bool has_expert_groups() const { return local_experts < experts; }
  constexpr stack_parameters expert_group() const {
    stack_parameters out;
    push_experts(out);
    return out;
  }
  /// What is in no block: the table of the embedding, the last norm, and the head where it has a table of its own.
  constexpr stack_parameters root() const {
    stack_parameters out;
    if (is_first) out.push({vocabulary, hidden});
    if (is_last) out.push({hidden});
    if (is_last && !(tied && is_first)) out.push({vocabulary, hidden});
    return out;
  }
  constexpr bool is_stage() const { return !is_first || !is_last; }

 private:
  /// Three products of all experts of the rank, and the router.
  constexpr void push_experts(stack_parameters& out) const {
    for (int product = 0; product < 3; ++product) out.push({local_experts, hidden * expert_width});
    out.push({experts, hidden});
  }
};

}}  // namespace hyperparallel::v0_2
