// SPDX-License-Identifier: Apache-2.0
#include "launch/megatron_words.hpp"

#include <string>
#include <vector>

namespace hp_tool::launch {

namespace {

/// Experts lie on data ranks, then on these and context ranks; over tensor ranks where experts are not cut.
void say_experts(const decoder_plan& p, launch_text& w) {
  const extent_t ranks = detail::expert_ranks_of(p), data = extent_t{p.dp} * p.ep;
  const extent_t beside_tensors = p.experts_along_tp ? ranks / p.tp : ranks;
  if (ranks > 1) w.lines.push_back("--expert-model-parallel-size " + std::to_string(ranks));
  if (p.tp > 1 && (p.experts_along_tp || ranks > 1))
    w.lines.push_back("--expert-tensor-parallel-size " + std::to_string(p.experts_along_tp ? 1 : p.tp));
  if (p.experts_along_cp && p.cp > 1 && data % beside_tensors == 0)
    w.unsaid.push_back("experts along cp, where data ranks would do");
}

void say_memory(const decoder_plan& p, launch_text& w) {
  constexpr const char* sharded[] = {"", "", "optim_grads", "optim_grads_params"};
  if (p.zero == 1) w.lines.push_back("--use-distributed-optimizer");
  if (p.zero > 1) {
    w.lines.push_back("--use-megatron-fsdp");
    w.lines.push_back(std::string("--data-parallel-sharding-strategy ") + sharded[p.zero]);
  }
  if (p.recomputed && p.selective) w.unsaid.push_back("recompute=selective");
  if (p.modules != 0) {
    std::string names;
    visit_modules(p.modules, [&](const recomputed_module& m) { names += std::string(" ") + m.name; });
    w.lines.push_back("--recompute-granularity selective");
    w.lines.push_back("--recompute-modules" + names);
  }
  if (p.recomputed && !p.selective) {
    w.lines.push_back("--recompute-granularity full");
    w.lines.push_back("--recompute-method uniform");
    w.lines.push_back("--recompute-num-layers 1");
  }
  if (p.formats.weight == data_type::bf16) w.lines.push_back("--bf16");
  if (p.formats.product == number_format::float8) w.lines.push_back("--fp8-format hybrid");
  if (p.formats.product == number_format::float4) w.lines.push_back("--fp4-format e2m1");
  if (p.formats.stores_bytes()) w.lines.push_back("--fp8-param-gather");
  if (p.formats.narrow_weights && !p.formats.stores_bytes())
    w.unsaid.push_back("weights in 8 bits without products in fp8");
  if (p.formats.sum == data_type::bf16 && p.formats.weight == data_type::bf16)
    w.lines.push_back("--grad-reduce-in-bf16");
  if (p.formats.sum == data_type::bf16 && p.formats.weight == data_type::f32)
    w.unsaid.push_back("sums of gradients in bf16 beside f32 parameters");
  if (p.formats.moment != data_type::f32) {
    const std::string type = p.formats.moment == data_type::bf16 ? "bf16" : "fp8";
    w.lines.push_back("--use-precision-aware-optimizer");
    w.lines.push_back("--exp-avg-dtype " + type);
    w.lines.push_back("--exp-avg-sq-dtype " + type);
  }
}

/// The distributed optimizer, Megatron's FSDP and narrow moments are of Adam alone; Muon's states are whole here, and on its tensor ranks not.
void say_optimizer(const decoder_plan& p, launch_text& w) {
  if (p.optimizer == optimizer_kind::adamw) return;
  const std::string name = name_of(p.optimizer);
  w.lines.push_back("--optimizer " + name);
  if (p.zero > 0) w.unsaid.push_back("optimizer=" + name + " with zero=" + std::to_string(p.zero));
  if (p.formats.moment != data_type::f32) w.unsaid.push_back("optimizer=" + name + " with moments below 32 bits");
  if (p.optimizer == optimizer_kind::muon && p.tp > 1)
    w.unsaid.push_back("optimizer=muon with states that are whole along tp=" + std::to_string(p.tp));
}

/// States on the host go with the precision-aware optimizer, which is a distributed one; there they have 32 bits.
void say_host_states(const decoder_plan& p, launch_text& w) {
  if (p.host_states == 0) return;
  w.lines.push_back("--optimizer-cpu-offload");
  w.lines.push_back("--optimizer-offload-fraction " + share_of_per_mille(p.host_states));
  if (p.formats.moment == data_type::f32) w.lines.push_back("--use-precision-aware-optimizer");
  const std::string what = "host_states=" + std::to_string(p.host_states);
  if (p.zero != 1) w.unsaid.push_back(what + " with zero=" + std::to_string(p.zero));
  if (p.optimizer != optimizer_kind::adamw) w.unsaid.push_back(what + " with optimizer=" + name_of(p.optimizer));
  if (p.formats.moment != data_type::f32) w.unsaid.push_back(what + " with moments below 32 bits");
}

}  // namespace

launch_text words_of_megatron(const decoder_plan& p, const decoder& d) {
  launch_text w;
  const auto number = [&](const char* name, extent_t n, extent_t otherwise) {
    if (n != otherwise) w.lines.push_back("--" + std::string(name) + " " + std::to_string(n));
  };
  number("tensor-model-parallel-size", p.tp, 1);
  if (p.tp > 1 && p.sequence_parallel) w.lines.push_back("--sequence-parallel");
  number("pipeline-model-parallel-size", p.pp, 1);
  number("num-virtual-stages-per-pipeline-rank", p.chunks, 1);
  number("context-parallel-size", p.cp, 1);
  if (d.has_experts) say_experts(p, w);
  number("micro-batch-size", p.batch / (extent_t{p.micro_batches} * p.dp * p.ep), 0);
  number("global-batch-size", p.batch, 0);
  number("seq-length", p.sequence, 0);
  say_memory(p, w);
  say_optimizer(p, w);
  say_host_states(p, w);
  const bool interleaved = schedule_called("Interleaved1F1B") == &schedule_of(p);
  if (p.pp > 1 && !(p.chunks > 1 ? interleaved : is_1f1b(p)))
    w.unsaid.push_back(std::string("schedule=") + schedule_of(p).name);
  if (!d.has_experts && p.ep > 1) w.unsaid.push_back("ep=" + std::to_string(p.ep) + " without experts");
  if (p.copies > 1) w.unsaid.push_back("copies=" + std::to_string(p.copies));
  if (p.adapter_rank > 0) w.unsaid.push_back("lora=" + std::to_string(p.adapter_rank));
  return w;
}

}  // namespace hp_tool::launch
