// SPDX-License-Identifier: Apache-2.0
#include "launch/trainer_launch.hpp"

#include <algorithm>
#include <string_view>

#include <hyperparallel/planner/stack.hpp>

#include "launch/trainer_files.hpp"
#include "launch/trainer_idle.hpp"

namespace hp_tool::launch {

namespace {

/// How a run shards: by DeepSpeed's ZeRO, or by FSDP.
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

class trainer_reader : private trainer_sharding {
 public:
  trainer_reader(const std::vector<launch_option>& given, const std::string& path, launch_form form, int devices,
                 extent_t sequence)
      : trainer_sharding(given, path, form, devices), asked_sequence_(sequence) {}

  launch_plan read() {
    if (!is_known_)
      throw io_error("read", file_, "none of its names is one of the Trainer, LLaMA-Factory, DeepSpeed or accelerate");
    out_.plan.dp = world_;
    read_world();
    read_batch();
    read_sequence();
    read_adapters();
    const option sharded = fsdp();
    const option deepspeed = deepspeed_line();
    if (sharded != nullptr && deepspeed != nullptr)
      contradict(*sharded, "contradicts DeepSpeed, of " + place(*deepspeed));
    is_deepspeed_ ? read_deepspeed() : sharded != nullptr ? read_fsdp(*sharded) : read_replicas();
    read_recomputation();
    read_optimizer();
    read_kernels();
    name_unheeded([&](const std::string& name) { return is_idle(name); });
    out_.framework = is_deepspeed_ ? "deepspeed" : sharded != nullptr ? "fsdp2" : "";
    return result();
  }

 private:
  void read_world() {
    for (const char* name : {"nproc_per_node", "nproc-per-node"}) check_world(name, "nnodes", world_);
    check_world("num_gpus", "num_nodes", world_);
    if (const int all = count("num_processes"); all != 0 && all != world_)
      contradict(*find("num_processes"), "--devices is " + std::to_string(world_), false);
    const std::string sections[] = {
        "parallelism_config.parallelism_config_tp_size", "parallelism_config.parallelism_config_cp_size",
        "parallelism_config.parallelism_config_sp_size", "sequence_parallel_size",
        of_deepspeed("tensor_parallel.autotp_size"),     of_deepspeed("sequence_parallel_size")};
    for (const std::string& name : sections)
      if (count(name) > 1) refuse(*find(name), "known: 1, where every device is a data rank");
  }

  /// What the Trainer says, or DeepSpeed where the Trainer does not.
  int agreed(const char* trainer, const std::string& deepspeed) {
    const int mine = is_alone_ ? 0 : count(trainer), its = count(deepspeed);
    if (mine != 0 && its != 0 && mine != its) contradict(*find(deepspeed), "contradicts " + told(*find(trainer)));
    return mine != 0 ? mine : its;
  }
  void read_batch() {
    decoder_plan& p = out_.plan;
    const std::string whole = of_deepspeed("train_batch_size");
    int each = agreed("per_device_train_batch_size", of_deepspeed("train_micro_batch_size_per_gpu"));
    int times = agreed("gradient_accumulation_steps", of_deepspeed("gradient_accumulation_steps"));
    if (times == 0) times = count("deepspeed_config.gradient_accumulation_steps");
    const extent_t all = count(whole), world = world_;
    if (all != 0) {
      const extent_t known = world * std::max(each, 1) * std::max(times, 1);
      const bool is_whole = each != 0 && times != 0;
      if (all % known != 0 || (is_whole && all != known))
        contradict(*find(whole), (is_whole ? "is not " : "is no multiple of ") +
                                     (each != 0 ? std::to_string(each) + " sequences of a device x " : "") +
                                     (times != 0 ? std::to_string(times) + " accumulations x " : "") +
                                     std::to_string(world) + " devices");
      if (each != 0 && times == 0) times = static_cast<int>(all / known);
      if (each == 0) each = static_cast<int>(all / (world * std::max(times, 1)));
    }
    if (each == 0) {
      each = 8;
      out_.notes.push_back("per_device_train_batch_size is not said: 8, the Trainer's default");
    }
    p.micro_batches = std::max(times, 1);
    p.batch = extent_t{each} * p.micro_batches * world;
  }

  void read_sequence() {
    for (const char* name : {"cutoff_len", "max_seq_length", "max_length", "block_size", "model_max_length"})
      if (const int said = count(name); said != 0) {
        out_.plan.sequence = said;
        return;
      }
    out_.plan.sequence = asked_sequence_ != 0 ? asked_sequence_ : is_factory_ ? 2048 : 0;
    if (out_.plan.sequence == 0)
      throw io_error(
          "read", file_,
          "it says no length of sequences (cutoff_len, max_seq_length, max_length, block_size); --sequence does");
  }

  void read_adapters() {
    const option type = find("finetuning_type");
    const std::string said = type == nullptr ? (is_factory_ ? "lora" : "full") : value_of(type);
    if (type != nullptr && said != "lora" && said != "full" && said != "freeze" && said != "oft")
      refuse(*type, "known: full, freeze, lora");
    if (said == "freeze" || said == "oft")
      out_.unheeded.push_back(told(*type) + ": all parameters are taken to be trained");
    const bool is_script_lora = is_on("use_lora") || is_on("use_peft");
    has_adapters_ = said == "lora" || (type == nullptr && is_script_lora);
    if (!has_adapters_) return;
    decoder_plan& p = out_.plan;
    p.adapter_rank = number("lora_rank", number("lora_r", is_factory_ ? 8 : 16));
    const option target = find("lora_target") != nullptr ? find("lora_target") : find("lora_target_modules");
    std::vector<std::string> names = target == nullptr ? std::vector<std::string>{} : words_of(*target);
    std::sort(names.begin(), names.end());
    if (names == std::vector<std::string>{"k_proj", "q_proj", "v_proj"})
      p.adapted = adapted_products::attention_inputs;
    else if (target != nullptr && names != std::vector<std::string>{"all"} && names != every_product() &&
             names != std::vector<std::string>{"all-linear"})
      out_.unheeded.push_back(told(*target) + ": all products are taken to have adapters");
  }
  static std::vector<std::string> every_product() {
    return {"down_proj", "gate_proj", "k_proj", "o_proj", "q_proj", "up_proj", "v_proj"};
  }
  /// One device, or DistributedDataParallel. Adapters of LLaMA-Factory stand beside a model in 16 bits.
  void read_replicas() {
    const bool half = is_half(), loaded = is_loaded_half() || (half && is_factory_ && has_adapters_);
    if (loaded) out_.plan.formats = find_formats("bf16")->formats;
    out_.stack = loaded ? "transformers" : half ? "transformers_amp" : "library";
    if (is_compiled()) out_.unheeded.push_back(told(*find("torch_compile")));
  }

  void read_recomputation() {
    const bool asked = is_on("gradient_checkpointing");
    out_.plan.recomputed = is_factory_ ? !is_on("disable_gradient_checkpointing") : asked;
    if (is_on(find_fsdp("activation_checkpointing"))) out_.plan.recomputed = true;
  }

  void read_optimizer() {
    const option its = find_deepspeed("optimizer.type");
    const option mine = find("optim");
    const option line = its != nullptr ? its : mine;
    if (line == nullptr) return;
    const std::string name = value_of(line);
    if (name == "sgd" || name == "muon") return take_optimizer(*line, name == "sgd");
    const bool is_adam = name.find("adamw") != std::string::npos && !name.starts_with("galore") &&
                         !name.starts_with("apollo") && !name.starts_with("schedule") &&
                         name.find("4bit") == std::string::npos;
    if (!is_adam && name != "adam" && name != "fusedadam" && name != "auto")
      out_.unheeded.push_back(told(*line) + ": AdamW is taken");
    else if (name.ends_with("8bit"))
      read_eight_bits();
  }

  /// The Trainer's SGD has no momentum; DeepSpeed's has one that its parameters name.
  void take_optimizer(const launch_option& line, bool is_sgd) {
    out_.plan.optimizer = is_sgd ? optimizer_kind::sgd : optimizer_kind::muon;
    leave_walked();
    if (!is_sgd && out_.plan.host_states > 0) {
      out_.plan.host_states = 0;
      out_.unheeded.push_back(told(line) + ": its states are taken to be on the device");
    }
    if (is_sgd && find_deepspeed("optimizer.params.momentum") == nullptr)
      out_.unheeded.push_back(told(line) + ": a momentum is counted, which this run has not");
    if (!is_sgd && out_.plan.zero > 0)
      out_.unheeded.push_back(told(line) + ": states of matrices are counted whole on every device");
  }

  void read_eight_bits() {
    out_.plan.formats.moment = data_type::i8;
    leave_walked();
  }
  /// Stacks that are walked have AdamW with moments of 32 bits.
  void leave_walked() {
    if (find_stack(out_.stack)->walked) out_.stack = "library";
  }

  void read_kernels() {
    for (const char* name : {"flash_attn", "attn_implementation", "use_flash_attn"})
      if (const option o = find(name)) {
        const std::string v = value_of(o);
        if (v == "disabled" || v == "eager" || v == "false" || v == "off")
          out_.unheeded.push_back(told(*o) + ": attention is taken to keep no square");
      }
  }

  bool is_idle(const std::string& name) {
    const std::string value = word(name.c_str());
    if (is_default_value(name, value)) return true;
    const bool is_of_deepspeed = is_alone_ || name.starts_with("deepspeed.");
    return is_of_deepspeed ? is_idle_of_deepspeed(std::string_view(name).substr(is_alone_ ? 0 : 10))
                           : is_idle_of_trainer(name);
  }

  extent_t asked_sequence_;  ///< 0: none
  bool has_adapters_ = false;
};

}  // namespace

launch_plan plan_of_trainer(const std::vector<launch_option>& options, const std::string& path, launch_form form,
                            int devices, extent_t sequence) {
  return trainer_reader(with_named_files(options, path), path, form, devices, sequence).read();
}

}  // namespace hp_tool::launch
