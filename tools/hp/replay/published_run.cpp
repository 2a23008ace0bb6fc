// SPDX-License-Identifier: Apache-2.0
// The body of published_run.hpp.

#include "published_run.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include <hyperparallel/io/model_config.hpp>

#include "../plan/words.hpp"

namespace replay {

namespace {

bool is_absent(const json& v) { return v.is_null() || v == json("-") || v == json("n/a"); }

/// A size or a degree; none where the row does not say it.
std::optional<hp::extent_t> size_in(const json& of, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const json& v = optional_field(of, name);
    if (is_absent(v)) continue;
    if (!v.is_number()) throw not_expressed(std::string(name) + " is " + v.dump());
    const auto size = v.is_number_integer() ? whole_number_of(v) : -1;
    if (size < 0 || size > hp::largest_plan_number) throw malformed_vector(std::string(name) + " is " + v.dump());
    if (size > 0) return size;
  }
  return std::nullopt;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// Models by the beginning of their name, and sizes that rows do not print. Source: their published config.json.
struct named_model {
  std::string_view begins;
  const char* model_type;
  json sizes = json::object();
};
const std::vector<named_model>& named_models() {
  static const std::vector<named_model> models = {
      {"gpt-oss", "gpt_oss", {{"head_dim", 64}, {"attention_bias", true}}},
      {"gpt", "gpt2"},
      {"megatron", "gpt2"},
      {"turing", "gpt2"},
      {"llama", "llama"},
      {"yi-", "llama"},
      {"qwen1.5", "qwen2"},
      {"qwen3-", "qwen3_moe", {{"head_dim", 128}, {"decoder_sparse_step", 1}, {"norm_topk_prob", true}}},
      {"deepseek-v3",
       "deepseek_v3",
       {{"q_lora_rank", 1536},
        {"kv_lora_rank", 512},
        {"qk_nope_head_dim", 128},
        {"qk_rope_head_dim", 64},
        {"v_head_dim", 128},
        {"moe_layer_freq", 1}}}};
  return models;
}

/// The row's vocabulary where it is printed, else what the tables say to take.
constexpr hp::extent_t vocabulary_not_told = 50304;

hp::decoder model_of(const json& m, hp::extent_t sequence) {
  const std::string name = lower(text_of(m, "name"));
  const named_model* known = nullptr;
  for (const named_model& each : named_models())
    if (known == nullptr && name.starts_with(each.begins)) known = &each;
  if (known == nullptr) throw not_expressed("its model is not counted: " + text_of(m, "name"));
  json config = known->sizes;
  config["model_type"] = known->model_type;
  const auto put = [&](const char* field, std::initializer_list<const char*> names) {
    if (const auto size = size_in(m, names)) config[field] = *size;
  };
  config["vocab_size"] = size_in(m, {"vocab"}).value_or(vocabulary_not_told);
  if (known->model_type == std::string_view("gpt2")) {
    put("n_embd", {"hidden"});
    put("n_layer", {"layers"});
    put("n_head", {"heads"});
    put("n_inner", {"ffn"});
    config["n_positions"] = sequence;
  } else {
    put("hidden_size", {"hidden"});
    put("num_hidden_layers", {"layers"});
    put("num_attention_heads", {"heads"});
    put("num_key_value_heads", {"kv_heads", "heads"});
    put("head_dim", {"head_dim"});
    put("intermediate_size", {"ffn", "dense_ffn", "expert_ffn", "moe_ffn"});
    put("first_k_dense_replace", {"dense_layers"});
    put("n_shared_experts", {"shared_experts"});
    put("num_experts_per_tok", {"top_k", "topk"});
    if (known->model_type == std::string_view("gpt_oss")) {
      put("num_local_experts", {"experts"});
    } else {
      put("moe_intermediate_size", {"expert_ffn", "moe_ffn"});
      put(known->model_type == std::string_view("deepseek_v3") ? "n_routed_experts" : "num_experts", {"experts"});
    }
  }
  try {
    return hp::parse_model_config(config.dump(), "the model").model;
  } catch (const hp::io_error& e) {
    throw not_expressed(e.what());
  }
}

/// Presets by the row's name of the device.
hp::known_hardware hardware_of(const json& h) {
  struct named_device {
    std::string_view begins;
    const char* preset;
  };
  constexpr named_device devices[] = {
      {"a100-sxm4", "a100"}, {"h100-sxm5", "h100"}, {"h200", "h200"},     {"h800", "h800"},
      {"b200", "b200"},      {"gb200", "gb200"},    {"mi300x", "mi300x"}, {"ascend 910b", "ascend_910b"}};
  const std::string name = text_of(h, "gpu"), small = lower(name);
  for (const named_device& d : devices) {
    if (!small.starts_with(d.begins)) continue;
    hp::known_hardware found = *hp::find_hardware(d.preset);
    const json& memory = optional_field(h, "hbm_gb");
    if (memory.is_number()) found.device.tier[0].bytes = std::llround(memory.get<double>() * 1e9);
    return found;
  }
  throw not_expressed("no preset of " + name);
}

/// Refuses what the library's plans of training do not have.
void refuse_others(const json& c) {
  const std::string precision = lower(text_of(c, "precision")), schedule = lower(text_of(c, "schedule"));
  for (const char* narrow : {"fp8", "fp4", "mx"})
    if (precision.find(narrow) != std::string::npos) throw not_expressed("precision " + text_of(c, "precision"));
  const json& chunks = optional_field(c, c.contains("vpp") ? "vpp" : "vp");
  if (!is_absent(chunks) && chunks != json(1)) throw not_expressed("several stages on a rank");
  if (!schedule.empty() && schedule != "1f1b") throw not_expressed("schedule " + text_of(c, "schedule"));
  for (const char* other : {"LoRA", "SFT"})
    if (text_of(c, "task").find(other) != std::string::npos) throw not_expressed("task " + text_of(c, "task"));
  if (optional_field(c, "cpu_offload") == json(true)) throw not_expressed("offload to the host");
  if (text_of(c, "tp_impl") == "async") throw not_expressed("moves of tensor parallelism inside products");
}

std::vector<bool> flags_of(const json& v) {
  if (v.is_boolean()) return {v.get<bool>()};
  if (!is_absent(v)) throw not_expressed("a flag is " + v.dump());
  return {false, true};
}

/// "attn_only" recomputes scores, which are never kept here.
std::vector<bool> recomputed_of(const json& v) {
  if (v == json("full")) return {true};
  if (v == json("none") || v == json("attn_only")) return {false};
  if (v.is_string()) throw not_expressed("recompute " + v.get<std::string>());
  return flags_of(v);
}

struct fully_sharded {
  bool told = false;
  std::vector<int> stages = {0, 1, 2, 3};
  std::optional<hp::extent_t> ranks{};
};
fully_sharded sharding_of(const json& c) {
  const json& v = optional_field(c, "fsdp");
  if (v == json("FULL_SHARD") || v == json(true)) return {true, {3}};
  if (v == json("SHARD_GRAD_OP")) return {true, {2}};
  if (const auto ranks = size_in(c, {"fsdp"}); ranks && *ranks > 1) return {true, {3}, ranks};
  for (const char* name : {"distributed_optimizer", "optimizer_sharding"})
    if (const json& sharded = optional_field(c, name); sharded.is_boolean())
      return {false, {sharded.get<bool>() ? 1 : 0}};
  return {};
}

/// The sequences of a step: each way to tell them that the row has, of which no two differ.
hp::extent_t batch_of(const json& c, const fully_sharded& sharded, hp::extent_t data_ranks, hp::extent_t devices) {
  const auto told = size_in(c, {"gbs"}), micro = size_in(c, {"mbs", "local_batch", "lbs"}),
             accumulated = size_in(c, {"ga", "grad_accum"}), micro_batches = size_in(c, {"microbatches"});
  std::vector<hp::extent_t> ways;
  if (told) ways.push_back(*told);
  if (const auto local = size_in(c, {"local_batch"}); local && sharded.ranks)
    ways.push_back(*local * *sharded.ranks * accumulated.value_or(1));
  if (micro_batches && micro) ways.push_back(*micro_batches * *micro * data_ranks);
  if (ways.empty() && micro && sharded.told) ways.push_back(*micro * devices);
  if (ways.empty()) throw not_expressed("no batch");
  for (const hp::extent_t way : ways)
    if (way != ways[0]) throw not_expressed("the batch is told twice and differs");
  return ways[0];
}

}  // namespace

bool is_timed_run(const json& v) {
  constexpr std::string_view quantities[] = {"step_time",          "tokens_per_s_per_gpu",  "tokens_per_s_per_npu",
                                             "tokens_per_s_total", "samples_per_s_per_gpu", "model_tflops_per_gpu"};
  if (text_of(v, "nature") != "measured" || !v.contains("model") || !v.contains("config") || !v.contains("hardware"))
    return false;
  const auto has = [](const json& of, std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(),
                       [&](const char* name) { return optional_field(of, name).is_number(); });
  };
  const json &m = v["model"], &c = v["config"];
  return std::find(std::begin(quantities), std::end(quantities), text_of(v, "quantity")) != std::end(quantities) &&
         has(m, {"layers"}) && has(m, {"hidden"}) && has(m, {"heads"}) && has(c, {"gpus"}) && has(c, {"seq"}) &&
         has(c, {"gbs", "local_batch", "lbs", "microbatches", "mbs"});
}

published_run read_published_run(const json& v) {
  const json &m = v.at("model"), &c = v.at("config");
  published_run run;
  const auto needed = [](const json& of, const char* name) {
    const auto size = size_in(of, {name});
    if (!size) throw malformed_vector(std::string(name) + " is not a positive whole number");
    return *size;
  };
  const hp::extent_t devices = needed(c, "gpus"), sequence = needed(c, "seq");
  refuse_others(c);
  run.model = model_of(m, sequence);
  run.hardware = hardware_of(v.at("hardware"));
  if (!hp::check_hardware(run.hardware.device, run.hardware.links, static_cast<int>(devices)).ok())
    throw not_expressed("the preset has fewer devices");
  hp::decoder_plan p;
  p.tp = static_cast<int>(size_in(c, {"tp"}).value_or(1));
  p.pp = static_cast<int>(size_in(c, {"pp"}).value_or(1));
  p.cp = static_cast<int>(size_in(c, {"cp"}).value_or(1));
  p.ep = static_cast<int>(size_in(c, {"ep"}).value_or(1));
  if (const auto cut = size_in(c, {"etp"}); cut && *cut != p.tp)
    throw not_expressed("experts are cut by another degree than tp");
  const hp::extent_t others = hp::extent_t{p.tp} * p.pp * p.cp, sharing = devices / others;
  if (devices % (others * p.ep) != 0) throw not_expressed("the degrees do not divide the devices");
  if (const json& dp = optional_field(c, "dp"); dp.is_number() && dp != json(sharing))
    throw not_expressed("dp and the degrees are not the devices");
  const fully_sharded sharded = sharding_of(c);
  p.dp = static_cast<int>(sharing / p.ep);
  p.sequence = sequence;
  p.batch = batch_of(c, sharded, sharing, devices);
  const auto micro = size_in(c, {"mbs", "local_batch", "lbs"});
  run.question = {.devices = devices, .batch = p.batch, .sequence = sequence};
  hp::decoder_plan_status why;
  for (const hp::extent_t micro_batches : hp::divisors_of(p.batch)) {
    if (micro && micro_batches * *micro * sharing != p.batch) continue;
    p.micro_batches = static_cast<int>(micro_batches);
    for (const int zero : sharded.stages)
      for (const bool recomputed : recomputed_of(optional_field(c, "recompute")))
        for (const bool parallel : flags_of(optional_field(c, "sequence_parallel"))) {
          p.zero = zero;
          p.recomputed = recomputed;
          p.sequence_parallel = parallel;
          const hp::decoder_plan_status s = hp::check_plan(run.model, p, devices);
          if (s.ok())
            run.plans.push_back(p);
          else
            why = s;
        }
  }
  if (!run.plans.empty()) return run;
  if (why.ok()) throw not_expressed("the batch is no multiple of a micro-batch on all ranks");
  throw not_expressed("the plan cannot be: " + decoder_plans::cause_text(why));
}

}  // namespace replay
