// SPDX-License-Identifier: Apache-2.0
#pragma once
// A row of published measurements (one number of a run), with its fields under one name each: sizes of the model, degrees, batch,
// precision. Nothing is guessed: what a row leaves open stays open, what contradicts itself or stands there as a text is named.

#include <optional>
#include <string>

#include "fields.hpp"

namespace truth {

/// Formats of the narrowest products. The table of names stands with `precision_of`.
enum class precision : unsigned char { bf16, fp16, fp8, fp4, unknown };
inline constexpr const char* precision_names[] = {"bf16", "fp16", "fp8", "fp4", "unknown"};
constexpr const char* name_of(precision p) { return precision_names[static_cast<int>(p)]; }

/// bf16 where a row says none: attention, router, head and optimizer have it in runs of narrower formats, too.
precision precision_of(const json& config);

/// Sizes of the model; 0: the row does not say it.
struct model_sizes {
  std::string name{};
  hp::extent_t layers = 0, hidden = 0, heads = 0, key_heads = 0, head_dim = 0;
  hp::extent_t width = 0;  ///< of layers without experts
  hp::extent_t vocabulary = 0;
  hp::extent_t experts = 0, top_k = 0, expert_width = 0, shared_experts = 0, dense_layers = 0;
  bool has_latents = false;
  std::string sizes_from{};  ///< where they are published; empty: the row prints them
  /// Whether a decoder can be counted from them.
  bool ok() const { return layers > 0 && hidden > 0 && heads > 0 && (width > 0 || expert_width > 0); }
};

/// Sequences of a step by all the ways in which a row says them.
struct told_batch {
  hp::extent_t sequences = 0;  ///< 0: it is not told
  bool differs = false;        ///< two ways are told, and are not equal
};

struct run_settings {
  hp::extent_t devices = 0, sequence = 0;  ///< 0: not told
  hp::extent_t tp = 1, pp = 1, cp = 1, ep = 1;
  hp::extent_t expert_tp = 0;    ///< tensor parallelism of experts; 0: as tp
  hp::extent_t chunks = 1;       ///< of layers on a rank of a pipeline
  hp::extent_t micro_batch = 0;  ///< sequences of a device group and micro-step; 0: not told
  bool splits_local_batch =
      false;  ///< the stages of a pipeline take it apart, into micro-batches that the row does not tell
  hp::extent_t micro_batches = 0;      ///< 0: not told
  bool for_all_micro_batches = false;  ///< micro_batches is a text: the number holds for all of them
  hp::extent_t dp = 0;                 ///< 0: not told
  hp::extent_t sharded = 0;            ///< devices along which FSDP shards; 0: it is not used or not told
  int zero = -1;                       ///< the stage of ZeRO that the row names; -1: none
  told_batch batch{};
  precision format = precision::bf16;
  std::string unclear{};  ///< a degree that is a text, as "tp is '1 (2)'"; empty: none
};

struct published_row {
  std::string id{}, family{}, nature{}, split{}, quantity{}, device{}, where{};
  double value = 0;
  std::string value_text{};  ///< as it is printed
  model_sizes model{};
  run_settings run{};
  json source{};  ///< the whole row
  const json& config() const { return field(source, "config"); }
  bool is_fit() const { return split == "fit"; }
};

/// Throws malformed_row of a row without id, quantity, value or one of the objects, or with a number that is no size.
published_row read_published_row(const json& row);

/// Devices that deal the batch among them: those that tp, pp and cp leave. 0 where they do not divide.
inline hp::extent_t data_ranks_of(const run_settings& r) {
  const hp::extent_t others = r.tp * r.pp * r.cp;
  return others > 0 && r.devices % others == 0 ? r.devices / others : 0;
}

}  // namespace truth
