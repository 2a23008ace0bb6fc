// SPDX-License-Identifier: Apache-2.0
#include "launch/torchtitan_words.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "launch/torchtitan_keys.hpp"
#include "launch/torchtitan_launch.hpp"
#include "launch/torchtitan_split.hpp"

namespace hp_tool::launch {

namespace {

class torchtitan_writer {
 public:
  torchtitan_writer(const decoder_plan& plan, const decoder& model) : p(plan), d(model) {}

  launch_text write() {
    say_training();
    out_.lines.push_back("[parallelism]");
    say_degrees();
    if (p.pp > 1) say_pipeline();
    if (p.pp == 1 && !is_1f1b(p)) unsaid(std::string("schedule=") + schedule_of(p).name + " of one stage");
    say_experts();
    say_recomputation();
    say_precision();
    if (p.optimizer != optimizer_kind::adamw) unsaid(std::string("optimizer=") + name_of(p.optimizer));
    if (p.host_states > 0) unsaid("host_states=" + std::to_string(p.host_states));
    if (p.adapter_rank > 0) unsaid("lora=" + std::to_string(p.adapter_rank));
    return std::move(out_);
  }

 private:
  extent_t data() const { return extent_t{p.dp} * p.ep; }
  extent_t in_micro_batch() const { return p.batch / p.micro_batches / data(); }

  void unsaid(const std::string& what) { out_.unsaid.push_back(what); }
  void value(const char* key, const std::string& text) { out_.lines.push_back(std::string(key) + " = " + text); }
  void number(const char* key, extent_t n) { value(key, std::to_string(n)); }
  void text(const char* key, const std::string& word) { value(key, "\"" + word + "\""); }

  void say_training() {
    out_.lines.push_back("[training]");
    number("local_batch_size", p.pp > 1 ? p.batch / data() : in_micro_batch());
    if (p.pp == 1 && p.micro_batches > 1) number("global_batch_size", p.batch);
    number("seq_len", p.sequence);
    if (const extent_t divisor = extent_t{2} * p.cp * p.tp; p.cp > 1 && p.sequence % divisor != 0)
      unsaid("sequences that 2 x cp x tp, " + std::to_string(divisor) + ", does not divide");
    if (p.cp == 1 && p.sequence % p.tp != 0) unsaid("sequences that tp does not divide");
  }

  void say_degrees() {
    const bool whole = p.zero == 0;
    const extent_t copies = whole ? p.dp : p.copies, shards = data() / copies;
    const bool sharded = shards * p.cp > 1;
    if (copies > 1) number("data_parallel_replicate_degree", copies);
    number("data_parallel_shard_degree", shards);
    if (whole == sharded || p.zero == 1)
      unsaid("zero=" + std::to_string(p.zero) + (whole == sharded ? sharded ? " of shards" : " of one rank" : ""));
    if (const int usual = p.pp > 1 ? 2 : 3; p.zero > 1 && p.zero != usual)
      text("fsdp_reshard_after_forward", p.zero == 3 ? "always" : "never");
    if (p.tp > 1) number("tensor_parallel_degree", p.tp);
    if (!p.sequence_parallel) unsaid("sp=off");
    if (p.cp > 1) number("context_parallel_degree", p.cp);
  }

  void say_pipeline() {
    number("pipeline_parallel_degree", p.pp);
    if (d.tied) unsaid("pp=" + std::to_string(p.pp) + " of tied embeddings");
    const char* name = nullptr;
    for (const char* each : torchtitan_schedules)
      if (schedule_called(each) == &schedule_of(p)) name = each;
    if (name == nullptr) {
      unsaid(std::string("schedule=") + schedule_of(p).name);
      return;
    }
    if (!is_1f1b(p)) text("pipeline_parallel_schedule", name);
    say_split();
    if (in_micro_batch() > 1) number("pipeline_parallel_microbatch_size", in_micro_batch());
  }
  /// The ends count as a layer each unless they are said to count as none.
  void say_split() {
    const extent_t stages = extent_t{p.pp} * p.chunks;
    torchtitan_split split{d.layers, stages};
    const torchtitan_split wanted = split_of_plan(d.layers, stages);
    if (!split.can_be() || split.of_stages() != wanted.of_stages()) {
      split = wanted;
      number("pipeline_parallel_first_stage_less_layers", split.first_less);
      number("pipeline_parallel_last_stage_less_layers", split.last_less);
    }
    const bool one_stage = has_one_stage_a_rank(schedule_of(p));
    if (p.chunks == (one_stage ? 1 : 2)) return;
    const extent_t per_stage = ceil_divide(split.all(), stages);
    number("pipeline_parallel_layers_per_stage", per_stage);
    if (one_stage || p.chunks == 1 || ceil_divide(split.all(), per_stage) != stages)
      unsaid("chunks=" + std::to_string(p.chunks));
  }

  /// All context ranks have experts of their own.
  void say_experts() {
    const extent_t ranks = detail::expert_ranks_of(p);
    if (p.experts_along_tp && p.tp == 1) unsaid("experts_along=tp of one rank");
    if (p.experts_along_cp && p.cp == 1) unsaid("experts_along=cp of one rank");
    if (ranks == 1) return;
    number("expert_parallel_degree", ranks);
    if (p.tp > 1) number("expert_tensor_parallel_degree", detail::expert_widths_of(p));
    if (p.cp > 1 && !p.experts_along_cp) unsaid("experts that are whole along cp");
  }

  void say_recomputation() {
    out_.lines.push_back("[activation_checkpoint]");
    text("mode", !p.recomputed ? "none" : p.selective ? "selective" : "full");
    if (p.recomputed && p.selective) text("selective_ac_option", "op");
    visit_modules(p.modules, [&](const recomputed_module& m) { unsaid(std::string("recompute=") + m.name); });
  }

  void say_precision() {
    const bool narrow = p.formats == find_formats("fp8")->formats;
    if (!narrow && p.formats != find_formats("bf16")->formats) unsaid(std::string("precision=") + name_of(p.formats));
    if (!narrow) return;
    out_.lines.push_back("[model]");
    value("converters", d.has_experts ? R"(["quantize.linear.float8", "quantize.grouped_mm.float8"])"
                                      : R"(["quantize.linear.float8"])");
    out_.lines.push_back("[quantize.linear.float8]");
    value("filter_fqns", R"(["output", "router.gate"])");
    if (!d.has_experts) return;
    out_.lines.push_back("[quantize.grouped_mm.float8]");
    value("fqns", R"(["experts"])");
  }

  const decoder_plan& p;
  const decoder& d;
  launch_text out_;
};

}  // namespace

launch_text words_of_torchtitan(const decoder_plan& p, const decoder& d) { return torchtitan_writer(p, d).write(); }

}  // namespace hp_tool::launch
