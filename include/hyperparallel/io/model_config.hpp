// SPDX-License-Identifier: Apache-2.0
#pragma once
// A decoder from the config.json that Hugging Face publishes with a checkpoint. Needs nlohmann-json on the include path;
// no front header includes this one.
//
//   const hp::model_config c = hp::read_model_config("config.json");
//   c.towers                                       what the file has beside its text model (nested_config.hpp)
//   hp::parameters_of(c.model).total(), hp::cached_elements_per_token(c.model)
//   c.model(m, tokens, labels)                     the graph of the same layers
//
// Families: model_families.hpp. Laws: what is read has its counts exactly; a field that the family does not know is refused
// by name and value, never guessed, unless it is known to bear on no layer (`fields_without_layers`); every error is one
// line that names file, field and value, whatever the bytes of the file. Element types and quantisation are not read: counts
// are of elements, also of a checkpoint that packs them.

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/json_text.hpp>
#include <hyperparallel/io/model_families.hpp>
#include <hyperparallel/io/nested_config.hpp>
#include <hyperparallel/io/text_file.hpp>
#include <hyperparallel/layers/decoder_parameters.hpp>
#include <hyperparallel/support/fixed_string.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Larger and deeper files are refused.
inline constexpr std::size_t largest_model_config = std::size_t{4} << 20;
inline constexpr int deepest_model_config = 32;

struct model_config {
  std::string family{};  ///< its model_type
  decoder model{};
  /// Fields that stand in the file and change the arithmetic or the storage, but no layer's shape: of `fields_set_aside`.
  std::vector<std::string> set_aside{};
  /// Objects of the file that describe what the model has beside its text; their parameters are not counted.
  std::vector<std::string> towers{};
};

/// Fields of any family that bear neither on layers nor on what they compute: training, generation, tokens, provenance.
inline constexpr std::string_view fields_without_layers[] = {"_attn_implementation",
                                                             "_attn_implementation_autoset",
                                                             "_name_or_path",
                                                             "architectures",
                                                             "attention_dropout",
                                                             "attention_probs_dropout_prob",
                                                             "attn_implementation",
                                                             "aux_loss_alpha",
                                                             "bad_words_ids",
                                                             "begin_suppress_tokens",
                                                             "bos_token_id",
                                                             "chunk_size_feed_forward",
                                                             "classifier_dropout",
                                                             "decoder_start_token_id",
                                                             "diversity_penalty",
                                                             "do_sample",
                                                             "dtype",
                                                             "early_stopping",
                                                             "embd_pdrop",
                                                             "encoder_no_repeat_ngram_size",
                                                             "eos_token_id",
                                                             "ep_size",
                                                             "exponential_decay_length_penalty",
                                                             "finetuning_task",
                                                             "forced_bos_token_id",
                                                             "forced_eos_token_id",
                                                             "gradient_checkpointing",
                                                             "hidden_dropout",
                                                             "hidden_dropout_prob",
                                                             "id2label",
                                                             "initializer_range",
                                                             "is_decoder",
                                                             "is_llama_config",
                                                             "label2id",
                                                             "length_penalty",
                                                             "max_length",
                                                             "max_position_embeddings",
                                                             "max_sequence_length",
                                                             "min_length",
                                                             "model_max_length",
                                                             "model_type",
                                                             "no_repeat_ngram_size",
                                                             "num_beam_groups",
                                                             "num_beams",
                                                             "num_return_sequences",
                                                             "output_attentions",
                                                             "output_hidden_states",
                                                             "output_router_logits",
                                                             "output_scores",
                                                             "pad_token_id",
                                                             "prefix",
                                                             "pretraining_tp",
                                                             "problem_type",
                                                             "remove_invalid_values",
                                                             "repetition_penalty",
                                                             "resid_pdrop",
                                                             "return_dict",
                                                             "return_dict_in_generate",
                                                             "router_aux_loss_coef",
                                                             "router_jitter_noise",
                                                             "sep_token_id",
                                                             "seq_aux",
                                                             "suppress_tokens",
                                                             "task_specific_params",
                                                             "temperature",
                                                             "tf_legacy_loss",
                                                             "tokenizer_class",
                                                             "top_k",
                                                             "top_p",
                                                             "torch_dtype",
                                                             "torchscript",
                                                             "transformers_version",
                                                             "typical_p",
                                                             "unk_token_id",
                                                             "unsloth_fixed",
                                                             "unsloth_version",
                                                             "use_bfloat16",
                                                             "use_cache"};

/// Fields of any family that change what layers compute, or how a checkpoint stores them, but no shape.
inline constexpr std::string_view fields_set_aside[] = {"compression_config",
                                                        "dual_chunk_attention_config",
                                                        "n_group",
                                                        "original_max_position_embeddings",
                                                        "partial_rotary_factor",
                                                        "quantization",
                                                        "quantization_config",
                                                        "rope_interleave",
                                                        "rope_interleaved",
                                                        "rope_parameters",
                                                        "rope_scaling",
                                                        "rotary_pct",
                                                        "sparse_config",
                                                        "topk_group"};

namespace detail {

/// Null where the object names none that is known.
inline const model_family* family_of(const nlohmann::json& object) {
  const auto type = object.find("model_type");
  for (const model_family& each : model_families)
    if (type != object.end() && *type == each.model_type) return &each;
  return nullptr;
}

/// The family whose name is most like this one, or null where none is like it: characters that differ, less those that
/// both begin with, are at most 2.
inline const model_family* nearest_family(const std::string& name) {
  const model_family* nearest = nullptr;
  int least = 3;
  for (const model_family& each : model_families) {
    const std::string_view known = each.model_type;
    const auto same = std::mismatch(known.begin(), known.end(), name.begin(), name.end()).first - known.begin();
    const int differs = characters_that_differ(each.model_type, name.c_str()) - static_cast<int>(same);
    if (differs >= least) continue;
    nearest = &each;
    least = differs;
  }
  return nearest;
}

/// Throws unsupported_model with the families.
[[noreturn]] inline void refuse_family(config_fields& f) {
  const nlohmann::json& type = f.value("model_type");
  const model_family* const nearest = type.is_string() ? nearest_family(type.get<std::string>()) : nullptr;
  std::string known = nearest == nullptr ? "" : "nearest name: " + std::string(nearest->model_type) + "; ";
  for (const model_family& each : model_families)
    known += (&each == model_families ? "known: " : ", ") + std::string(each.model_type);
  f.unsupported("model_type", known);
}

/// Throws unsupported_model where a field stands that the family did not read and that may bear on layers.
inline void refuse_unknown(config_fields& f, const std::string& family) {
  // Of every family: values that would make another kind of model.
  f.only("is_encoder_decoder", {false});
  f.only("tie_encoder_decoder", {false});
  f.only("add_cross_attention", {false});
  f.only("pruned_heads", {nlohmann::json::object()});
  const auto listed = [](const auto& list, const std::string& name) {
    return std::find(std::begin(list), std::end(list), name) != std::end(list);
  };
  constexpr std::size_t most_told = 8;
  std::string unknown;
  std::size_t count = 0;
  for (const std::string& name : f.left()) {
    if (listed(fields_without_layers, name) || listed(fields_set_aside, name)) continue;
    if (++count <= most_told) unknown += f.told(name) + "; ";
  }
  if (count > most_told) unknown += "and " + std::to_string(count - most_told) + " more; ";
  if (count > 0)
    throw unsupported_model("read", f.path(),
                            unknown + (count == 1 ? "a field that is" : "fields that are") + " not known of " + family +
                                " and may change its layers");
}

}  // namespace detail

/// The model of a text, which errors call the file `path`. Throws io_error where it cannot be a model, and
/// unsupported_model where it may be one that the library does not know. O(bytes · log fields + layers).
inline model_config parse_model_config(std::string_view text, const std::string& path) {
  if (text.size() > largest_model_config)
    throw io_error("read", path, "the file is larger than " + std::to_string(largest_model_config) + " bytes");
  const nlohmann::json object =
      parse_json_object(text, path, "the file", deepest_model_config, json_numbers::as_python);
  std::optional<nested_config> nested;
  if (detail::family_of(object) == nullptr)
    nested = detail::nested_text(object, path, [](const std::string& name) {
      return std::find(std::begin(fields_without_layers), std::end(fields_without_layers), name) !=
             std::end(fields_without_layers);
    });
  config_fields f(nested ? nested->text : object, path, nested ? nested->name + "." : std::string());
  f.value("model_type");
  const model_family* const family = detail::family_of(nested ? nested->text : object);
  if (family == nullptr) detail::refuse_family(f);
  if (nested && !nested->unknown.empty())
    throw unsupported_model("read", path,
                            nested->unknown + "not known beside " + nested->name + " and may change the text's layers");
  const nlohmann::json& classes = f.value("architectures");
  if (!classes.is_null() && classes != nlohmann::json::array({family->architecture}))
    f.unsupported("architectures", "known: [\"" + std::string(family->architecture) + "\"]");
  model_config c{.family = family->model_type};
  if (nested) c.towers = nested->towers;
  family->read(f, c.model);
  detail::refuse_unknown(f, c.family);
  for (const std::string_view name : fields_set_aside)
    if (!f.value(name).is_null()) c.set_aside.emplace_back(name);
  if (!parameters_fit(c.model)) throw io_error("read", path, "the model has 2^62 parameters or more");
  return c;
}

/// The model of a file. Throws io_error, also where the file cannot be read, and unsupported_model.
inline model_config read_model_config(const std::string& path) {
  const std::vector<unsigned char> bytes =
      read_bytes(path, {empty_file::refused, static_cast<std::int64_t>(largest_model_config)});
  return parse_model_config({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

}}  // namespace hyperparallel::v0_2
