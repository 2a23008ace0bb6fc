// SPDX-License-Identifier: Apache-2.0
#include "launch/torchtitan_launch.hpp"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string_view>

#include "launch/folded_experts.hpp"
#include "launch/torchtitan_keys.hpp"
#include "launch/torchtitan_split.hpp"

namespace hp_tool::launch {

namespace {

/// The keys of a file by name, older names included, and which products it has in fp8.
class torchtitan_book : protected launch_book {
 protected:
  torchtitan_book(const std::vector<launch_option>& given, const std::string& path)
      : launch_book(given, path, "", same_option::refused) {}

  /// Null where none of its names stands; refuses two.
  option find(const torchtitan_key& key) {
    option found = nullptr;
    for (const char* name : {key.name, key.older, key.oldest}) {
      const option o = name == nullptr ? nullptr : launch_book::find(name);
      if (o != nullptr && found != nullptr)
        refuse(*o, "is the older name of " + found->name + " in line " + std::to_string(found->line));
      if (o != nullptr) found = o;
    }
    return found;
  }
  /// The one value of a key; `otherwise` where it does not stand.
  std::string word(const torchtitan_key& key, const char* otherwise = "") {
    const option o = find(key);
    if (o == nullptr) return otherwise;
    if (o->values.size() != 1) refuse(*o, "expected one value");
    return o->values[0];
  }
  int number(const torchtitan_key& key, int otherwise, int least = 1) {
    word(key);
    const option o = find(key);
    return o == nullptr ? otherwise : launch_book::number(o->name.c_str(), otherwise, least);
  }
  bool flag(const torchtitan_key& key, bool otherwise = false) {
    const std::string text = word(key, otherwise ? "true" : "false");
    if (text != "true" && text != "false") refuse(*find(key), "expected true or false");
    return text == "true";
  }
  /// In the line of the first of these that stands. Precondition: one does.
  void contradict_at(std::initializer_list<torchtitan_key> keys, const std::string& why) {
    for (const torchtitan_key& key : keys)
      if (const option o = find(key)) return contradict(*o, why);
    miss(keys.begin()->name);
  }
  void leave(const torchtitan_key& key, const std::string& why = "") {
    out_.unheeded.push_back(told(*find(key)) + (why.empty() ? "" : ": " + why));
  }
  static std::string text_of(extent_t n) { return std::to_string(n); }

  /// Stops growing above what a plan may have.
  static extent_t product_of(std::initializer_list<extent_t> factors) {
    extent_t product = 1;
    for (const extent_t f : factors) product = std::min(product * f, largest_plan_number + 1);
    return product;
  }
  /// Products in fp8.
  void read_converters(bool has_experts) {
    bool experts = false;
    narrow_ = flag(torchtitan_keys::narrow);
    const option o = launch_book::find("model.converters");
    for (const std::string& list : o == nullptr ? std::vector<std::string>() : o->values)
      for (std::size_t at = 0; at <= list.size();) {
        const std::size_t end = std::min(list.find(',', at), list.size());
        std::string_view each = std::string_view(list).substr(at, end - at);
        while (each.starts_with(' ')) each.remove_prefix(1);
        at = end + 1;
        if (is_one_of(each, {"float8", "quantize.linear.float8", "quantize.dense.float8", "mx", "quantize.linear.mx"}))
          narrow_ = true;
        else if (is_one_of(each, {"quantize.grouped_mm.float8", "quantize.moe.float8", "quantize.grouped_mm.mx"}))
          experts = true;
        else if (!each.empty())
          out_.unheeded.push_back("model.converters " + std::string(each) + " (line " + std::to_string(o->line) + ")");
      }
    for (const char* name : {"float8.moe_fqns", "float8.moe_fqns_prototype", "mx.moe_fqns_prototype"})
      if (const option of = launch_book::find(name)) experts = experts || (narrow_ && !of->values.empty());
    out_.plan.formats = find_formats(narrow_ ? "fp8" : "bf16")->formats;
    if (narrow_)
      out_.notes.push_back(
          "products in fp8 are counted in bf16 on --stack fsdp2 and fsdp2_compiled, in fp8 on --stack megatron");
    if (has_experts && narrow_ != experts && (experts || o != nullptr))
      out_.unheeded.push_back(told(*o) + (experts ? ": products of experts in fp8 are counted in bf16"
                                                  : ": products of experts are counted in fp8, too"));
  }
  static bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  /// Of float8 what goes beyond products; head and routers stay in bf16 here.
  void name_narrow() {
    for (const char* section : {"float8.", "quantize.linear.float8.", "quantize.dense.float8."}) {
      for (const char* key : {"enable_fsdp_float8_all_gather", "precompute_float8_dynamic_scale_for_fsdp", "emulate",
                              "force_recompute_fp8_weight_in_bwd"}) {
        const std::string name = std::string(section) + key;
        if (flag({name.c_str()}) && narrow_) leave({name.c_str()});
      }
      const option o = launch_book::find((std::string(section) + "filter_fqns").c_str());
      if (o == nullptr || !narrow_) continue;
      if (!std::all_of(o->values.begin(), o->values.end(), [](const std::string& each) {
            return is_one_of(each, {"output", "lm_head", "router.gate", "moe.router.gate"});
          }))
        out_.unheeded.push_back(told(*o));
    }
  }

  bool narrow_ = false;  ///< products are in fp8
};

class torchtitan_reader : private torchtitan_book {
 public:
  torchtitan_reader(const std::vector<launch_option>& given, const std::string& path, const decoder& model, int devices)
      : torchtitan_book(given, path), d(model), world_(devices) {}

  launch_plan read() {
    read_degrees();
    read_experts();
    read_batch();
    read_pipeline();
    read_recomputation();
    read_converters(d.has_experts);
    read_compilation();
    name_others();
    name_unheeded([&](const std::string& name) { return is_idle_key(name, narrow_); });
    out_.framework = "torchtitan";
    return result();
  }

 private:
  void read_degrees() {
    decoder_plan& p = out_.plan;
    copies_ = number(torchtitan_keys::replicate, 1);
    p.tp = number(torchtitan_keys::tensor, 1);
    p.pp = number(torchtitan_keys::pipeline, 1);
    p.cp = number(torchtitan_keys::context, 1);
    p.sequence_parallel = flag({"parallelism.enable_sequence_parallel"}, true) || p.tp == 1;
    const bool rest = word(torchtitan_keys::shard, "-1") == "-1";
    const auto said = [&](extent_t shards) {
      return "replicate=" + text_of(copies_) + (shards > 0 ? " x shard=" + text_of(shards) : "") +
             " x tp=" + text_of(p.tp) + " x pp=" + text_of(p.pp) + " x cp=" + text_of(p.cp);
    };
    const extent_t model = product_of({copies_, p.tp, p.pp, p.cp}),
                   shards = rest ? std::max(world_ / model, extent_t{1}) : number(torchtitan_keys::shard, 1);
    if (rest && world_ % model != 0)
      contradict_at(
          {torchtitan_keys::tensor, torchtitan_keys::pipeline, torchtitan_keys::context, torchtitan_keys::replicate},
          said(0) + " are " + text_of(model) + " devices, of which " + text_of(world_) + " is no multiple");
    if (!rest && product_of({model, shards}) != world_)
      contradict_at({torchtitan_keys::shard}, said(shards) + " are not " + text_of(world_) + " devices");
    shards_ = static_cast<int>(shards);
    p.dp = copies_ * shards_;
    const bool sharded = shards_ * extent_t{p.cp} > 1;
    p.zero = sharded ? stage_of_shards() : 0;
    p.copies = sharded ? copies_ : 1;
    if (!sharded)
      out_.notes.push_back(
          "no data or context rank shards parameters: torchtitan computes under autocast, or in f32, counted as with "
          "shards");
  }
  int stage_of_shards() {
    const torchtitan_key key{"parallelism.fsdp_reshard_after_forward", "training.fsdp_reshard_after_forward"};
    const std::string policy = word(key, "default");
    if (policy == "always") return 3;
    if (policy == "never") return 2;
    if (policy != "default") refuse(*find(key), "known: default, always, never");
    return out_.plan.pp > 1 ? 2 : 3;
  }

  void read_experts() {
    decoder_plan& p = out_.plan;
    const int ep = number(torchtitan_keys::expert, 1), etp = number(torchtitan_keys::expert_tensor, 1);
    if (ep == 1) return;
    if (!d.has_experts) {
      out_.notes.push_back(told(*find(torchtitan_keys::expert)) + ": the config.json has no experts");
      return;
    }
    const std::string why = fold_experts(d,
                                         {.ep = ep,
                                          .etp = etp,
                                          .data = shards_,
                                          .cp = p.cp,
                                          .tp = p.tp,
                                          .context_first = true,
                                          .place = "of a stage and copy"},
                                         p);
    if (!why.empty()) return contradict(*find(torchtitan_keys::expert), why);
    p.dp = copies_ * (shards_ / p.ep);
  }

  void read_batch() {
    decoder_plan& p = out_.plan;
    local_ = number(torchtitan_keys::batch, 8);
    const extent_t round = extent_t{local_} * copies_ * shards_;
    p.batch = word(torchtitan_keys::global, "-1") == "-1" ? round : number(torchtitan_keys::global, 1);
    if (p.batch % round != 0)
      contradict_at({torchtitan_keys::global}, "no multiple of local batch x data ranks, " + text_of(local_) + " x " +
                                                   text_of(extent_t{copies_} * shards_));
    p.micro_batches = static_cast<int>(std::max(p.batch / round, extent_t{1}));
    p.sequence = number(torchtitan_keys::sequence, 2048);
    const extent_t divisor = p.cp > 1 ? extent_t{2} * p.cp * p.tp : p.tp;
    if (p.sequence % divisor != 0)
      contradict_at({torchtitan_keys::sequence, torchtitan_keys::context, torchtitan_keys::tensor},
                    "torchtitan refuses it: sequences of " + text_of(p.sequence) + " tokens do not divide by " +
                        (p.cp > 1 ? "2 x cp x tp, " : "tp, ") + text_of(divisor));
  }

  /// Without a pipeline its keys say nothing.
  void read_pipeline() {
    decoder_plan& p = out_.plan;
    const std::string schedule = word(torchtitan_keys::schedule, "1F1B");
    const int each = number(torchtitan_keys::micro, 1), per_stage = number(torchtitan_keys::chunk, 0),
              first = number(torchtitan_keys::first, 1, 0), last = number(torchtitan_keys::last, 1, 0);
    const torchtitan_key csv{"parallelism.pipeline_parallel_schedule_csv"};
    const std::string file = word(csv);
    if (p.pp == 1) return;
    if (!file.empty()) refuse(*find(csv), "schedules of a file are not read");
    if (d.tied) contradict_at({torchtitan_keys::pipeline}, "torchtitan refuses it: embedding and head share a table");
    p.schedule = place_of(schedule);
    const bool one_stage = has_one_stage_a_rank(schedule_of(p));
    p.chunks = one_stage ? 1 : 2;
    torchtitan_split split{d.layers, extent_t{p.pp} * p.chunks, first, last};
    if (per_stage > 0) {
      split.stages = ceil_divide(split.all(), extent_t{per_stage});
      const std::string stages = "makes " + text_of(split.stages) + " stages of " + text_of(split.all()) +
                                 " layers, embedding and head counted: ";
      if (split.stages % p.pp != 0)
        return contradict_at({torchtitan_keys::chunk}, stages + "no multiple of pp=" + text_of(p.pp));
      p.chunks = static_cast<int>(split.stages / p.pp);
      if (one_stage != (p.chunks == 1))
        return contradict_at({torchtitan_keys::chunk},
                             stages + schedule + (one_stage ? " has one on each rank" : " has several on each rank"));
    }
    check_split(split);
    read_micro_batches(each);
  }
  int place_of(const std::string& schedule) {
    std::string known;
    for (const char* name : torchtitan_schedules) {
      if (detail::same_schedule_name(name, schedule.c_str()))
        return static_cast<int>(schedule_called(name) - schedule_table.item);
      known += (known.empty() ? "" : ", ") + std::string(name);
    }
    refuse(*find(torchtitan_keys::schedule), "known: " + known);
  }
  void check_split(const torchtitan_split& split) {
    if (!split.can_be())
      return contradict_at(
          {torchtitan_keys::first, torchtitan_keys::last, torchtitan_keys::chunk, torchtitan_keys::pipeline},
          "torchtitan refuses it: of " + text_of(split.all()) + " layers, embedding and head counted, " +
              text_of(split.stages) + " stages have too few");
    if (split.of_stages() == split_of_plan(split.layers, split.stages).of_stages()) return;
    const auto list = [](const std::vector<extent_t>& layers) {
      std::string text;
      for (const extent_t n : layers) text += (text.empty() ? "" : ", ") + text_of(n);
      return text;
    };
    out_.notes.push_back("layers of the stages: " + list(split.of_stages()) + "; counted as " +
                         list(split_of_plan(split.layers, split.stages).of_stages()));
  }
  void read_micro_batches(int each) {
    decoder_plan& p = out_.plan;
    if (local_ % each != 0)
      return contradict_at({torchtitan_keys::micro}, "the local batch, " + text_of(local_) + ", is no multiple of it");
    const extent_t all = extent_t{p.micro_batches} * (local_ / each);
    if (p.micro_batches > 1)
      leave(torchtitan_keys::global,
            "the pipeline runs empty between " + text_of(p.micro_batches) + " parts of a step");
    if (all > largest_plan_number)
      contradict_at({torchtitan_keys::global, torchtitan_keys::batch}, text_of(all) + " micro-batches");
    p.micro_batches = static_cast<int>(all);
  }

  void read_recomputation() {
    decoder_plan& p = out_.plan;
    const torchtitan_key mode_key{"activation_checkpoint.mode"},
        option_key{"activation_checkpoint.selective_ac_option"};
    const std::string mode = word(mode_key, "selective"), kept = word(option_key, "2");
    p.recomputed = mode == "full" || (mode == "selective" && (kept == "op" || kept == "1"));
    p.selective = mode == "selective" && kept == "op";
    if (mode == "memory_budget") leave(mode_key, "counted as none");
    if (mode != "none" && mode != "selective" && mode != "full" && mode != "memory_budget")
      refuse(*find(mode_key), "known: none, selective, full, memory_budget");
    if (mode != "selective" || p.recomputed) return;
    const std::string why = "every layer of so many is recomputed, counted as none";
    if (find(option_key) == nullptr)
      out_.unheeded.push_back(std::string(option_key.name) + " 2 (by default): " + why);
    else if (launch_book::number(option_key.name, 2) > 1)
      leave(option_key, why);
  }

  void read_compilation() {
    const option parts = launch_book::find("compile.components");
    const auto has = [&](const char* part) {
      return parts == nullptr || std::find(parts->values.begin(), parts->values.end(), part) != parts->values.end();
    };
    const bool compiles = flag(torchtitan_keys::compile);
    out_.stack = compiles && has("model") ? "fsdp2_compiled" : "fsdp2";
    if (compiles && has("loss")) leave(torchtitan_keys::compile, "the loss is counted as not compiled");
  }

  /// What changes memory or time unless it is as usual.
  void name_others() {
    const decoder_plan& p = out_.plan;
    const bool has_experts = d.has_experts && detail::expert_ranks_of(p) > 1;
    const struct {
      torchtitan_key key;
      const char* usual;
      bool matters;
    } others[] = {
        {torchtitan_keys::async, "false", p.tp > 1},
        {torchtitan_keys::autograd, "false", true},
        {{"parallelism.disable_loss_parallel"}, "false", p.tp > 1},
        {{"parallelism.context_parallel_rotate_method", "experimental.context_parallel_rotate_method"},
         "allgather",
         p.cp > 1},
        {{"parallelism.context_parallel_load_balancer"}, "headtail", p.cp > 1},
        {{"parallelism.expert_parallel_comm_backend"}, "standard", has_experts},
        {{"parallelism.pipeline_parallel_expert_parallel_overlap"},
         "false",
         has_experts && schedule_of(p).name == std::string_view(dual_pipe_v::name)},
        {{"training.enable_cpu_offload"}, "false", true},
        {{"training.mixed_precision_param"}, "bfloat16", true},
        {{"training.mixed_precision_reduce"}, "float32", true},
        {{"training.dtype"}, "float32", true},
        {{"training.deterministic"}, "false", true},
        {{"debug.deterministic"}, "false", true},
        {{"compile.backend"}, "inductor", out_.stack == std::string_view("fsdp2_compiled")},
        {{"optimizer.name"}, "AdamW", word({"optimizer.name"}) != "Adam"},
        {{"optimizer.implementation"}, "fused", true},
        {{"optimizer.early_step_in_backward"}, "false", true},
        {{"activation_checkpoint.early_stop"}, "false", p.recomputed},
        {{"fault_tolerance.enable"}, "false", true},
    };
    for (const auto& o : others)
      if (word(o.key, o.usual) != o.usual && o.matters) leave(o.key);
    name_narrow();
  }
  const decoder& d;
  extent_t world_;
  int copies_ = 1, shards_ = 1, local_ = 1;
};

}  // namespace

launch_plan plan_of_torchtitan(const std::vector<launch_option>& options, const std::string& path, const decoder& model,
                               int devices) {
  return torchtitan_reader(options, path, model, devices).read();
}

}  // namespace hp_tool::launch
