// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run of the Hugging Face Trainer as the plan of a decoder: its arguments, LLaMA-Factory's YAML, DeepSpeed's JSON, FSDP of accelerate.
//
//   const hp::launch_plan l = hp::plan_of_trainer(hp::yaml_options_of(text, path), path, hp::launch_form::document, llama3, 8);
//   l.plan, l.stack, l.unheeded                    what changes memory or time and no figure heeds, with its line
//
// Meanings: every device is a data rank; a step has per_device_train_batch_size · gradient_accumulation_steps sequences of each, and
// DeepSpeed's train_batch_size is their product with the devices. ZeRO is DeepSpeed's stage; under FSDP it is 3 where parameters are
// sharded again after forward, else 2; hybrid shards have a copy a node. LLaMA-Factory trains adapters, and checkpoints layers,
// unless it is said otherwise. Sequences are taken to be as long as the file lets them be.
// Precision: under DeepSpeed parameters of 16 bits with a master; else bf16 is autocast of f32 parameters, unless the model is loaded as bf16.
// Stacks: FSDP runs on fsdp2, one device on transformers, or with autocast on transformers_amp, and DeepSpeed on the stack of its
// name. Moments of 8 bits and other optimizers are counted by the library's account, since stacks that are walked have none.
// Defaults are the framework's. In a document a name that stands twice is refused, in a script the last one counts.
// Errors: io_error of one line with file, line and option. Needs yaml-cpp, linked; no front header includes this one. O(options log options).
// Sources: training_args.py of transformers 5 (00349ae8), examples and hparams of LLaMA-Factory (00577a85, 06d78ff1), the ZeRO configuration of
// DeepSpeed (1b88ac36), configurations of accelerate as these examples have them.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/trainer_files.hpp>
#include <hyperparallel/io/trainer_idle.hpp>
#include <hyperparallel/io/trainer_sharding.hpp>
#include <hyperparallel/planner/stack.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

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

}  // namespace detail

/// The plan on `devices`, of `sequence` tokens where the file says no other; 0: as the file says. Throws io_error.
inline launch_plan plan_of_trainer(const std::vector<launch_option>& options, const std::string& path, launch_form form,
                                   int devices, extent_t sequence = 0) {
  return detail::trainer_reader(detail::with_named_files(options, path), path, form, devices, sequence).read();
}

}}  // namespace hyperparallel::v0_2
