// SPDX-License-Identifier: Apache-2.0
#include "launch/trainer_words.hpp"

#include <string>

namespace hp_tool::launch {

namespace {

/// What both have: batch, sequence, adapters, recomputation and precision, with the optimizer of 8 bits that they go with.
launch_text say_arguments(const decoder_plan& p, const char* eight_bits) {
  launch_text w;
  const auto say = [&](const std::string& name, const std::string& value) { w.lines.push_back(name + ": " + value); };
  say("per_device_train_batch_size",
      std::to_string(p.batch / (extent_t{p.micro_batches} * p.dp * p.ep * p.cp * p.tp * p.pp)));
  say("gradient_accumulation_steps", std::to_string(p.micro_batches));
  say("cutoff_len", std::to_string(p.sequence));
  say("finetuning_type", p.adapter_rank > 0 ? "lora" : "full");
  if (p.adapter_rank > 0) {
    say("lora_rank", std::to_string(p.adapter_rank));
    say("lora_target", p.adapted == adapted_products::all ? "all" : "q_proj,k_proj,v_proj");
  }
  say(p.recomputed ? "gradient_checkpointing" : "disable_gradient_checkpointing", "true");
  if (p.formats.weight == data_type::bf16) say("bf16", "true");
  if (p.formats.moment == data_type::i8 && p.optimizer == optimizer_kind::adamw) say("optim", eight_bits);
  for (const plan_degree& d : plan_degrees)
    if (p.*d.of > 1 && d.of != &decoder_plan::dp) w.unsaid.push_back(d.name + ("=" + std::to_string(p.*d.of)));
  if (p.copies > 1) w.unsaid.push_back("copies=" + std::to_string(p.copies));
  if (p.recomputed && p.selective) w.unsaid.push_back("recompute=selective");
  visit_modules(p.modules, [&](const recomputed_module& m) { w.unsaid.push_back(std::string("recompute=") + m.name); });
  if (p.pp > 1 && !is_1f1b(p)) w.unsaid.push_back(std::string("schedule=") + schedule_of(p).name);
  if (p.formats.product != number_format::bfloat16 || p.formats.moment == data_type::bf16 ||
      p.formats.sum == data_type::bf16)
    w.unsaid.push_back(std::string("precision=") + name_of(p.formats));
  if (p.formats.moment == data_type::i8 && p.optimizer != optimizer_kind::adamw)
    w.unsaid.push_back(std::string("moments of 8 bits under ") + name_of(p.optimizer));
  if (p.optimizer == optimizer_kind::muon) w.unsaid.push_back("optimizer=muon");
  return w;
}

}  // namespace

launch_text words_of_deepspeed(const decoder_plan& p, const decoder&) {
  launch_text w = say_arguments(p, "adamw_bnb_8bit");
  w.lines.push_back("deepspeed:");
  for (const char* name : {"train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"})
    w.lines.push_back(std::string("  ") + name + ": auto");
  const bool is_sgd = p.optimizer == optimizer_kind::sgd;
  if (p.formats.moment == data_type::i8 || is_sgd) w.lines.push_back("  zero_allow_untested_optimizer: true");
  if (p.host_states > 0 && is_sgd) w.lines.push_back("  zero_force_ds_cpu_optimizer: false");
  for (const char* line : {"  optimizer:", "    type: SGD", "    params:", "      momentum: 0.9"})
    if (is_sgd) w.lines.push_back(line);
  w.lines.push_back("  bf16:");
  w.lines.push_back("    enabled: auto");
  w.lines.push_back("  zero_optimization:");
  w.lines.push_back("    stage: " + std::to_string(p.zero));
  w.lines.push_back("    overlap_comm: true");
  if (p.host_states == 0) return w;
  w.lines.push_back("    offload_optimizer:");
  w.lines.push_back("      device: cpu");
  const std::string what = "host_states=" + std::to_string(p.host_states);
  if (p.host_states < 1000) w.lines.push_back("      ratio: " + share_of_per_mille(p.host_states));
  if (p.host_states < 1000 && p.zero != 3) w.unsaid.push_back(what + " with zero=" + std::to_string(p.zero));
  if (p.host_states == 1000 && p.zero == 0) w.unsaid.push_back(what + " with zero=0");
  if (p.formats.moment != data_type::f32) w.unsaid.push_back(what + " with moments below 32 bits");
  return w;
}

launch_text words_of_fsdp2(const decoder_plan& p, const decoder&) {
  launch_text w = say_arguments(p, "adamw_torch_8bit");
  w.lines.push_back("fsdp: full_shard auto_wrap");
  w.lines.push_back("fsdp_config:");
  w.lines.push_back("  fsdp_version: 2");
  w.lines.push_back(std::string("  reshard_after_forward: ") + (p.zero == 3 ? "true" : "false"));
  if (p.zero < 2) w.unsaid.push_back("zero=" + std::to_string(p.zero));
  if (p.optimizer == optimizer_kind::sgd) w.unsaid.push_back("optimizer=sgd with a momentum");
  if (p.host_states > 0) w.unsaid.push_back("host_states=" + std::to_string(p.host_states));
  return w;
}

}  // namespace hp_tool::launch
