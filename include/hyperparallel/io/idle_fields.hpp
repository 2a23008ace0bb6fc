// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fields of a config.json that bear on no layer's shape, each with the reason: those that bear on nothing that is counted, and
// those that change the arithmetic, which model_config::set_aside names.
//
//   hp::why_idle("use_cache")        "whether generation keeps keys and values; serving does", or null
//
// Laws: names are in order and in one list alone; a field that bears on bytes, limits or times is in neither, since it is read
// (decoder_fields.hpp, position_limit.hpp, weight_formats.hpp). O(log fields).

#include <algorithm>
#include <iterator>
#include <string_view>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

struct idle_field {
  std::string_view name;
  const char* why;  ///< no figure depends on it
};

}  // namespace detail

namespace detail::idle {
inline constexpr const char dropout[] = "training alone: no dropout is built, so its masks have no bytes";
inline constexpr const char loss[] = "training alone: a loss beside the cross entropy, of scores that are there anyway";
inline constexpr const char start[] = "training alone: values at its start, or noise";
inline constexpr const char recompute[] = "training alone: what is made again, which a plan's recompute says";
inline constexpr const char kernel[] = "how a kernel is chosen; times are roofs of operations and bytes";
inline constexpr const char type[] =
    "the type of the file's elements: servers hold 16 bits whatever it is, training f32 (--weights says otherwise)";
inline constexpr const char degree[] = "a degree of the code that made the file; a plan's degrees are its own";
inline constexpr const char chunk[] = "a chunk of feed-forward layers, which no decoder's code reads";
inline constexpr const char generation[] =
    "what generation does with logits; --batch and --context say how many sequences and tokens there are";
inline constexpr const char returned[] = "what a call returns beside the logits; serving returns tokens";
inline constexpr const char cache[] = "whether generation keeps keys and values; serving does";
inline constexpr const char tokens[] = "numbers and names of tokens, which are in the vocabulary";
inline constexpr const char classes[] = "of heads that classify, whose architectures are refused";
inline constexpr const char provenance[] = "provenance, and frameworks other than this file's";
}  // namespace detail::idle

namespace detail {

/// Of any family: training, generation, tokens, provenance.
inline constexpr idle_field fields_without_layers[] = {
    {"_attn_implementation", detail::idle::kernel},
    {"_attn_implementation_autoset", detail::idle::kernel},
    {"_name_or_path", detail::idle::provenance},
    {"architectures", detail::idle::provenance},
    {"attention_dropout", detail::idle::dropout},
    {"attention_probs_dropout_prob", detail::idle::dropout},
    {"attn_implementation", detail::idle::kernel},
    {"aux_loss_alpha", detail::idle::loss},
    {"bad_words_ids", detail::idle::generation},
    {"begin_suppress_tokens", detail::idle::generation},
    {"bos_token_id", detail::idle::tokens},
    {"chunk_size_feed_forward", detail::idle::chunk},
    {"classifier_dropout", detail::idle::dropout},
    {"decoder_start_token_id", detail::idle::generation},
    {"diversity_penalty", detail::idle::generation},
    {"do_sample", detail::idle::generation},
    {"dtype", detail::idle::type},
    {"early_stopping", detail::idle::generation},
    {"embd_pdrop", detail::idle::dropout},
    {"encoder_no_repeat_ngram_size", detail::idle::generation},
    {"eos_token_id", detail::idle::tokens},
    {"ep_size", detail::idle::degree},
    {"exponential_decay_length_penalty", detail::idle::generation},
    {"finetuning_task", detail::idle::classes},
    {"forced_bos_token_id", detail::idle::generation},
    {"forced_eos_token_id", detail::idle::generation},
    {"gradient_checkpointing", detail::idle::recompute},
    {"hidden_dropout", detail::idle::dropout},
    {"hidden_dropout_prob", detail::idle::dropout},
    {"id2label", detail::idle::classes},
    {"initializer_range", detail::idle::start},
    {"is_decoder", detail::idle::provenance},
    {"is_llama_config", detail::idle::provenance},
    {"label2id", detail::idle::classes},
    {"length_penalty", detail::idle::generation},
    {"max_length", detail::idle::generation},
    {"min_length", detail::idle::generation},
    {"model_type", detail::idle::provenance},
    {"no_repeat_ngram_size", detail::idle::generation},
    {"num_beam_groups", detail::idle::generation},
    {"num_beams", detail::idle::generation},
    {"num_return_sequences", detail::idle::generation},
    {"output_attentions", detail::idle::returned},
    {"output_hidden_states", detail::idle::returned},
    {"output_router_logits", detail::idle::returned},
    {"output_scores", detail::idle::returned},
    {"pad_token_id", detail::idle::tokens},
    {"prefix", detail::idle::tokens},
    {"pretraining_tp", detail::idle::degree},
    {"problem_type", detail::idle::classes},
    {"remove_invalid_values", detail::idle::generation},
    {"repetition_penalty", detail::idle::generation},
    {"resid_pdrop", detail::idle::dropout},
    {"return_dict", detail::idle::returned},
    {"return_dict_in_generate", detail::idle::returned},
    {"router_aux_loss_coef", detail::idle::loss},
    {"router_jitter_noise", detail::idle::start},
    {"sep_token_id", detail::idle::tokens},
    {"seq_aux", detail::idle::loss},
    {"suppress_tokens", detail::idle::generation},
    {"task_specific_params", detail::idle::classes},
    {"temperature", detail::idle::generation},
    {"tf_legacy_loss", detail::idle::provenance},
    {"tokenizer_class", detail::idle::tokens},
    {"top_k", detail::idle::generation},
    {"top_p", detail::idle::generation},
    {"torch_dtype", detail::idle::type},
    {"torchscript", detail::idle::provenance},
    {"transformers_version", detail::idle::provenance},
    {"typical_p", detail::idle::generation},
    {"unk_token_id", detail::idle::tokens},
    {"unsloth_fixed", detail::idle::provenance},
    {"unsloth_version", detail::idle::provenance},
    {"use_bfloat16", detail::idle::type},
    {"use_cache", detail::idle::cache},
};

/// Of any family: they change what layers compute, but no shape.
inline constexpr idle_field fields_set_aside[] = {
    {"dual_chunk_attention_config", "attention in chunks beyond a length: neither weights nor a cache of its own"},
    {"n_group",
     "experts are chosen within topk_group of these: tokens are even over experts, so no amount depends on it"},
    {"original_max_position_embeddings", "of a scaling of rotary positions, for which max_position_embeddings is read"},
    {"partial_rotary_factor", "the part of a head that is rotated: of the same bytes and nearly the same operations"},
    {"rope_interleave", "the order of rotated pairs"},
    {"rope_interleaved", "the order of rotated pairs"},
    {"rope_parameters", "rotary frequencies; what extends the positions is read (position_limit.hpp)"},
    {"rope_scaling", "rotary frequencies; what extends the positions is read (position_limit.hpp)"},
    {"rotary_pct", "the part of a head that is rotated: of the same bytes and nearly the same operations"},
    {"sparse_config", "attention that skips blocks: without weights; its operations are counted as if it skipped none"},
    {"topk_group", "groups of experts that a token may choose of: as n_group"},
};

}  // namespace detail

/// Why no figure depends on the field, or null where it is in no list.
constexpr const char* why_idle(std::string_view name) {
  const auto found = [&](const auto& list) -> const char* {
    const auto at = std::lower_bound(std::begin(list), std::end(list), name,
                                     [](const detail::idle_field& f, std::string_view n) { return f.name < n; });
    return at != std::end(list) && at->name == name ? at->why : nullptr;
  };
  const char* why = found(detail::fields_without_layers);
  return why != nullptr ? why : found(detail::fields_set_aside);
}

}}  // namespace hyperparallel::v0_2
