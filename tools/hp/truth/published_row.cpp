// SPDX-License-Identifier: Apache-2.0
// The body of published_row.hpp.

#include "published_row.hpp"

#include <cstring>
#include <vector>

#include <hyperparallel/planner/decoder_plan.hpp>

#include "published_sizes.hpp"

namespace truth {

namespace {

/// The value of a text field that every row has.
std::string needed_text(const json& row, const char* name) {
  const std::string text = text_in(row, name);
  if (text.empty()) throw malformed_row(std::string("key '") + name + "' is missing");
  return text;
}

model_sizes model_of(const json& m) {
  model_sizes out;
  out.name = text_in(m, "name");
  const auto size = [&](std::initializer_list<const char*> names) { return size_in(m, names).or_else(0); };
  out.layers = size({"layers"});
  out.hidden = size({"hidden"});
  out.heads = size({"heads"});
  out.key_heads = size({"kv_heads"});
  out.head_dim = size({"head_dim"});
  out.vocabulary = size({"vocab", "vocabulary"});
  out.experts = size({"experts"});
  out.top_k = size({"top_k", "topk"});
  out.shared_experts = size({"shared_experts"});
  out.dense_layers = size({"dense_layers"});
  out.has_latents = text_in(m, "attention") == "MLA";
  out.width = size({"dense_ffn", "ffn"});
  if (out.experts > 0) out.expert_width = size({"expert_ffn", "moe_ffn", "ffn"});
  complete(out);
  return out;
}

/// Of degrees and sizes of a plan: products of three stay within 64 bits.
constexpr hp::extent_t largest_degree = hp::extent_t{1} << 20;

/// Reads degrees, and notes the first that is a text.
class settings_reader {
 public:
  settings_reader(const json& config, const model_sizes& sizes) : c(config), model(sizes) {}

  run_settings read() {
    r.devices = degree({"gpus", "devices"}, 0);
    r.sequence = degree({"seq", "sequence"}, 0);
    r.tp = degree({"tp"}, 1);
    r.pp = degree({"pp"}, 1);
    r.cp = degree({"cp"}, 1);
    r.ep = degree({"ep"}, 1);
    r.expert_tp = degree({"etp"}, 0);
    if (field(c, "dp") != json("FULL_SHARD")) r.dp = degree({"dp"}, 0);
    r.micro_batch = degree({"mbs", "local_batch", "lbs"}, 0);
    r.splits_local_batch = r.pp > 1 && !size_in(c, {"mbs"}).is_told;
    const told_size several = size_in(c, {"microbatches"});
    r.micro_batches = several.or_else(0);
    r.for_all_micro_batches = several.is_told && !several.is_number();
    // Sizes that are read of training by reinforcement alone: one that is none makes the row unreadable, too.
    for (const char* name : {"trainer", "rollout", "train_batch", "ppo_mini_batch", "require_batches", "sync_steps",
                             "rollout_gbs", "train_gbs"})
      size_in(c, {name});
    r.format = precision_of(c);
    read_chunks();
    read_sharding();
    if (r.unclear.empty())
      read_batch();
    else
      r.batch.sequences = size_in(c, {"gbs"}).or_else(0);
    return r;
  }

 private:
  /// 0 counts as not told.
  hp::extent_t degree(std::initializer_list<const char*> names, hp::extent_t otherwise) {
    const told_size told = size_in(c, names);
    if (told.is_told && !told.is_number() && r.unclear.empty()) r.unclear = told.name + " is '" + told.text + "'";
    const hp::extent_t size = told.or_else(otherwise);
    if (size > largest_degree)
      throw malformed_row(told.name + " is " + std::to_string(size) + "; expected a whole number of at most 2^20");
    return size == 0 ? otherwise : size;
  }

  void read_chunks() {
    const told_size told = size_in(c, {"vpp", "vp"}), layers_each = size_in(c, {"layers_per_virtual_stage"});
    if (told.text == "one layer a chunk")
      r.chunks =
          std::max((model.layers + (hp::ends_count_as_layers(model.layers, r.pp) ? 2 : 0)) / r.pp, hp::extent_t{1});
    else
      r.chunks = degree({"vpp", "vp"}, 1);
    if (!told.is_told && layers_each.is_number() && layers_each.size > 0)
      r.chunks = std::max(model.layers / r.pp / layers_each.size, hp::extent_t{1});
  }

  void read_sharding() {
    const json& v = field(c, "fsdp");
    if (v == json("FULL_SHARD") || v == json(true) || field(c, "dp") == json("FULL_SHARD")) {
      r.zero = 3;
      r.sharded = r.devices;
    } else if (v == json("SHARD_GRAD_OP")) {
      r.zero = 2;
      r.sharded = r.devices;
    } else if (const hp::extent_t ranks = degree({"fsdp"}, 0); ranks > 1) {
      r.zero = 3;
      r.sharded = ranks;
    } else if (ranks == 1) {
      r.sharded = 1;
    }
    if (r.zero >= 0) return;
    for (const char* name : {"distributed_optimizer", "optimizer_sharding"})
      if (const json& used = field(c, name); used.is_boolean()) r.zero = used.get<bool>() ? 1 : 0;
  }

  /// All ways that the row has. One that counts micro-steps is complete where the row says how many there are, or says nothing
  /// else.
  void read_batch() {
    const hp::extent_t global = degree({"gbs"}, 0), local = degree({"local_batch"}, 0),
                       accumulated = degree({"ga", "grad_accum"}, 0), data = data_ranks_of(r);
    std::vector<hp::extent_t> ways;
    if (global > 0) ways.push_back(global);
    if (local > 0 && r.sharded > 1 && r.dp <= 1)
      ways.push_back(local * r.sharded * std::max(accumulated, hp::extent_t{1}));
    if (r.micro_batches > 0 && r.micro_batch > 0 && data > 0) ways.push_back(r.micro_batches * r.micro_batch * data);
    const bool all_devices = r.sharded == r.devices && r.zero >= 2 && r.tp * r.pp * r.cp == 1;
    if (all_devices && r.micro_batch > 0 && (accumulated > 0 || ways.empty()))
      ways.push_back(r.micro_batch * r.devices * std::max(accumulated, hp::extent_t{1}));
    for (const hp::extent_t way : ways) r.batch.differs = r.batch.differs || way != ways[0];
    if (!ways.empty()) r.batch.sequences = ways[0];
  }

  const json& c;
  const model_sizes& model;
  run_settings r{};
};

}  // namespace

precision precision_of(const json& config) {
  const json& v = field(config, "precision");
  if (is_silent(v)) return precision::bf16;
  const std::string text = v.is_string() ? lower_case(v.get<std::string>()) : std::string("?");
  if (contains(text, "fp4")) return precision::fp4;
  if (contains(text, "fp8")) return precision::fp8;
  if (contains(text, "bf16")) return precision::bf16;
  return contains(text, "fp16") ? precision::fp16 : precision::unknown;
}

published_row read_published_row(const json& row) {
  published_row r;
  r.id = needed_text(row, "id");
  r.family = needed_text(row, "family");
  r.quantity = needed_text(row, "quantity");
  r.nature = needed_text(row, "nature");
  r.split = text_in(row, "split");
  r.where = text_in(row, "where");
  for (const char* name : {"model", "config", "hardware"})
    if (!field(row, name).is_object()) throw malformed_row(std::string("key '") + name + "' is missing");
  const json& value = field(row, "value");
  if (!value.is_number() || !(value.get<double>() > 0))
    throw malformed_row("value is " + value.dump() + "; expected a number above 0");
  r.value = value.get<double>();
  r.value_text = value.dump();
  r.device = text_in(row.at("hardware"), "gpu");
  r.model = model_of(row.at("model"));
  r.run = settings_reader(row.at("config"), r.model).read();
  r.source = row;
  return r;
}

}  // namespace truth
