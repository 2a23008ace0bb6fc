// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a run of the Hugging Face Trainer shards: by DeepSpeed's ZeRO, or by FSDP (trainer_launch.hpp says what options mean).

#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/trainer_book.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class trainer_sharding : protected trainer_book {
 protected:
  using trainer_book::trainer_book;

  option deepspeed_line() {
    if (const option o = find("deepspeed_config.zero_stage")) return o;
    for (const char* name : {"zero_optimization.stage", "train_batch_size", "train_micro_batch_size_per_gpu",
                             "gradient_accumulation_steps", "bf16.enabled", "fp16.enabled"})
      if (const option o = is_alone_ ? nullptr : find_deepspeed(name)) return o;
    return nullptr;
  }
  void read_deepspeed() {
    decoder_plan& p = out_.plan;
    const option stage = find_deepspeed("zero_optimization.stage") != nullptr
                             ? find_deepspeed("zero_optimization.stage")
                             : find("deepspeed_config.zero_stage");
    if (stage != nullptr) p.zero = number(stage->name.c_str(), 0, 0);
    if (stage == nullptr && is_of_accelerate_) p.zero = 2;
    if (p.zero > 3) refuse(*stage, "known: 0 to 3");
    const bool is_half_before = is_half();
    const option bf16 = find_deepspeed("bf16.enabled"), fp16 = find_deepspeed("fp16.enabled");
    if (is_on(bf16) && is_on(fp16)) contradict(*fp16, "contradicts " + told(*bf16));
    const option trainer_bf16 = is_alone_ ? nullptr : find("bf16"), trainer_fp16 = is_alone_ ? nullptr : find("fp16");
    if (is_on(fp16) && is_on(trainer_bf16)) contradict(*fp16, "contradicts " + told(*trainer_bf16));
    if (is_on(bf16) && is_on(trainer_fp16)) contradict(*bf16, "contradicts " + told(*trainer_fp16));
    if (is_half_before || is_on(bf16) || is_on(fp16))
      p.formats = find_formats("bf16")->formats;
    else if (is_alone_ && (value_of(bf16) == "auto" || value_of(fp16) == "auto"))
      out_.notes.push_back("bf16 is left to the Trainer: off, its default");
    read_copies(stage);
    read_host_states();
    if (const option o = find_deepspeed("zero_optimization.offload_param.device");
        o != nullptr && value_of(o) != "none")
      out_.unheeded.push_back(told(*o) + ": parameters are taken to be on the device");
    const option overlap = find_deepspeed("zero_optimization.overlap_comm");
    if (overlap != nullptr && !is_on(overlap))
      out_.unheeded.push_back(told(*overlap) + ": moves are taken to be hidden");
    else if (!is_on(overlap, p.zero == 3))
      out_.notes.push_back("overlap_comm is left off: moves are taken to be hidden");
    out_.stack = "deepspeed";
  }
  /// A share of the states in the host's memory, which stage 3 alone may have in part.
  void read_host_states() {
    const option device = find_deepspeed("zero_optimization.offload_optimizer.device");
    if (device == nullptr || value_of(device) == "none") return;
    const option ratio = find_deepspeed("zero_optimization.offload_optimizer.ratio");
    if (value_of(device) != "cpu" || out_.plan.zero == 0) {
      out_.unheeded.push_back(told(*device) + ": states are taken to be on the device");
      return;
    }
    out_.plan.host_states = ratio == nullptr || out_.plan.zero < 3 ? 1000 : per_mille(*ratio);
  }
  /// MiCS shards among so many ranks, each group of which has a copy.
  void read_copies(option stage) {
    const option group = find_deepspeed("zero_optimization.mics_shard_size");
    if (group == nullptr || value_of(group) == "-1") return;
    const int ranks = number(group->name.c_str(), 0);
    if (stage == nullptr || out_.plan.zero != 3) return contradict(*group, "groups of shards are of stage 3");
    if (world_ % ranks != 0) return contradict(*group, std::to_string(world_) + " devices do not divide by it");
    out_.plan.copies = world_ / ranks;
  }

  /// The line that asks for FSDP, or null.
  option fsdp() {
    if (const option o = find("fsdp");
        o != nullptr && !o->values.empty() && !value_of(o).empty() && value_of(o) != "false")
      return o;
    if (const option o = find("distributed_type"); value_of(o) == "fsdp") return o;
    const option o = find("use_fsdp");
    return is_on(o) ? o : nullptr;
  }
  void read_fsdp(const launch_option& line) {
    decoder_plan& p = out_.plan;
    const bool is_of_trainer = line.name == "fsdp";
    std::string sharding;
    for (const std::string& w : is_of_trainer ? words_of(line) : std::vector<std::string>{}) {
      if (w == "offload")
        out_.unheeded.push_back(told(line) + ": nothing is taken to be on the host");
      else if (is_sharding(w) && !sharding.empty())
        contradict(line, w + " contradicts " + sharding);
      else if (is_sharding(w))
        sharding = w;
      else if (w != "auto_wrap" && w != "true")
        refuse(line,
               "known: full_shard, shard_grad_op, hybrid_shard, hybrid_shard_zero2, no_shard, offload, auto_wrap");
    }
    if (const option o = find_fsdp("sharding_strategy"); o != nullptr) sharding = sharding_of(*o);
    if (sharding.empty()) sharding = "full_shard";
    const option version = find_fsdp("version"), reshard = find_fsdp("reshard_after_forward");
    const int number_of_version = version == nullptr ? 1 : number(version->name.c_str(), 1);
    if (number_of_version > 2) refuse(*version, "known: 1, 2");
    if (number_of_version == 2)
      sharding = is_on(reshard, !is_of_trainer) ? "full_shard" : "shard_grad_op";
    else if (reshard != nullptr && is_sharding(value_of(reshard)))
      sharding = value_of(reshard);
    p.zero = sharding == "no_shard" ? 0 : sharding == "full_shard" || sharding == "hybrid_shard" ? 3 : 2;
    if (sharding.starts_with("hybrid")) read_nodes();
    const std::string groups = "parallelism_config.parallelism_config_dp_replicate_size";
    if (const int copies = count(groups); copies > 1) {
      if (world_ % copies != 0)
        contradict(*find(groups), std::to_string(world_) + " devices do not divide by it");
      else
        p.copies = copies;
    }
    if (number_of_version < 2) out_.notes.push_back("FSDP of version 1 is counted as FSDP2");
    const bool is_loaded = is_loaded_half(), is_mixed = is_half() && !is_on("pure_bf16");
    if (is_mixed) p.formats = find_formats("bf16")->formats;
    if (!is_mixed && is_loaded) {
      p.formats = find_formats("bf16_states16")->formats;
      out_.notes.push_back("shards in 16 bits are counted with a master of 32 bits, which this run has not");
    }
    out_.stack = !is_mixed ? "library" : is_compiled() ? "fsdp2_compiled" : "fsdp2";
  }
  static bool is_sharding(std::string_view w) {
    return w == "full_shard" || w == "shard_grad_op" || w == "no_shard" || w == "hybrid_shard" ||
           w == "hybrid_shard_zero2";
  }
  /// Of accelerate: by its name or its number.
  std::string sharding_of(const launch_option& o) const {
    constexpr const char* by_number[] = {"full_shard", "shard_grad_op", "no_shard", "hybrid_shard",
                                         "hybrid_shard_zero2"};
    const std::string w = value_of(&o);
    if (w.size() == 1 && w[0] >= '1' && w[0] <= '5') return by_number[w[0] - '1'];
    if (!is_sharding(w)) refuse(o, "known: FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD, HYBRID_SHARD_ZERO2");
    return w;
  }
  /// Each node has a copy.
  void read_nodes() {
    int nodes = 0;
    for (const char* name : {"nnodes", "num_nodes", "num_machines"})
      if (nodes == 0) nodes = count(name);
    if (nodes == 0) {
      nodes = world_ > 8 && world_ % 8 == 0 ? world_ / 8 : 1;
      out_.notes.push_back("hybrid shards: nodes of " + std::to_string(world_ / nodes) + " devices are taken");
    }
    if (world_ % nodes != 0)
      throw io_error("read", file_,
                     std::to_string(world_) + " devices are not dealt evenly to " + std::to_string(nodes) + " nodes");
    out_.plan.copies = nodes;
  }

  bool is_compiled() { return is_on("torch_compile"); }
};

}}}  // namespace hyperparallel::v0_2::detail
