// SPDX-License-Identifier: Apache-2.0
#include "launch/mindformers_launch.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "launch/folded_experts.hpp"

namespace hp_tool::launch {

namespace {

class mindformers_reader : private launch_book {
 public:
  mindformers_reader(const std::vector<launch_option>& given, const std::string& path, const decoder& model,
                     int devices, extent_t sequence)
      : launch_book(given, path, "", same_option::refused),
        d(model),
        world_(devices),
        asked_sequence_(static_cast<int>(sequence)) {}

  launch_plan read() {
    read_degrees();
    read_pipeline();
    read_experts();
    read_batch();
    read_optimizer();
    read_recomputation();
    read_formats();
    name_unheeded([](const std::string& name) { return is_idle(name); });
    return result();
  }

 private:
  static std::string degree(const char* name) { return "parallel_config." + std::string(name); }
  static std::string model_field(const char* name) { return "model.model_config." + std::string(name); }
  bool is_on(const std::string& name, bool otherwise = false) {
    const option o = find(name.c_str());
    if (o == nullptr) return otherwise;
    const std::string text = word(name.c_str());
    if (text == "True" || text == "true") return true;
    if (text != "False" && text != "false" && text != "null") refuse(*o, "expected True or False");
    return false;
  }
  int count(const std::string& name, int otherwise) { return number(name.c_str(), otherwise); }

  void read_degrees() {
    decoder_plan& p = out_.plan;
    data_ = count(degree("data_parallel"), 1);
    p.tp = count(degree("model_parallel"), 1);
    p.pp = count(degree("pipeline_stage"), 1);
    p.cp = count(degree("context_parallel"), 1);
    p.dp = data_;
    p.sequence_parallel = is_on(degree("use_seq_parallel")) && p.tp > 1;
    extent_t all = 1;
    for (const extent_t n : {extent_t{data_}, extent_t{p.tp}, extent_t{p.pp}, extent_t{p.cp}})
      all = std::min(all * n, largest_plan_number + 1);
    if (all == world_) return;
    for (const char* name : {"data_parallel", "model_parallel", "pipeline_stage", "context_parallel"})
      if (const option o = find(degree(name).c_str()))
        return contradict(*o, "data_parallel=" + std::to_string(data_) + " x model_parallel=" + std::to_string(p.tp) +
                                  " x pipeline_stage=" + std::to_string(p.pp) +
                                  " x context_parallel=" + std::to_string(p.cp) + " are " + std::to_string(all) +
                                  " devices; --devices is " + std::to_string(world_));
    miss("parallel_config.data_parallel");
  }

  void read_pipeline() {
    decoder_plan& p = out_.plan;
    const int chunks = count(model_field("pp_interleave_num"), 1);
    const bool interleaved = is_on("parallel.pipeline_config.pipeline_interleave");
    const option schedule = find("parallel.pipeline_config.pipeline_scheduler");
    const std::string kind = word("parallel.pipeline_config.pipeline_scheduler");
    if (p.pp == 1) return;
    if (schedule != nullptr && kind != "1f1b" && kind != "gpipe" && kind != "zero_bubble_v")
      out_.unheeded.push_back(told(*schedule) + ": counted as 1f1b");
    const char* name = interleaved && chunks > 1 ? "Interleaved1F1B" : kind == "gpipe" ? "GPipe" : "1F1B";
    if (kind == "zero_bubble_v") name = "ZB-V";
    p.chunks = kind == "zero_bubble_v" ? 2 : interleaved ? chunks : 1;
    p.schedule = static_cast<int>(schedule_called(name) - schedule_table.item);
    if (const option offset = find(model_field("offset").c_str()); offset != nullptr) {
      const bool even =
          std::all_of(offset->values.begin(), offset->values.end(), [](const std::string& v) { return v == "0"; });
      if (!even) out_.unheeded.push_back(told(*offset) + ": layers are dealt evenly");
    }
  }

  void read_experts() {
    decoder_plan& p = out_.plan;
    const int ep = count(degree("expert_parallel"), 1);
    if (ep == 1) return;
    const option line = find(degree("expert_parallel").c_str());
    if (!d.has_experts) return contradict(*line, "the config.json has no experts", false);
    const int etp = data_ % ep == 0 ? p.tp : 1;
    const std::string why = fold_experts(d, {.ep = ep, .etp = etp, .data = data_, .cp = p.cp, .tp = p.tp}, p);
    if (!why.empty()) return contradict(*line, why);
    p.dp = data_ / p.ep;
  }

  void read_batch() {
    decoder_plan& p = out_.plan;
    const int of_runner = count("runner_config.batch_size", 0), of_data = count("train_dataset.batch_size", 0);
    const int each = of_runner != 0 ? of_runner : std::max(of_data, 1);
    const int interleaved = count("micro_batch_interleave_num", 1);
    if (interleaved > 1)
      out_.notes.push_back("micro_batch_interleave_num " + std::to_string(interleaved) +
                           ": its parts of a micro-batch are counted one after the other");
    const extent_t times = extent_t{count(degree("micro_batch_num"), 1)} * interleaved *
                           count("runner_config.gradient_accumulation_steps", 1);
    p.micro_batches = static_cast<int>(std::min(times, largest_plan_number));
    p.batch = std::min(extent_t{each} * data_ * p.micro_batches, largest_plan_number);
    p.sequence = count(model_field("seq_length"), asked_sequence_);
    if (p.sequence == 0) miss("model.model_config.seq_length");
  }

  void read_optimizer() {
    decoder_plan& p = out_.plan;
    const option level = find("parallel.parallel_optimizer_config.optimizer_level");
    const option size = find("parallel.parallel_optimizer_config.optimizer_weight_shard_size");
    const bool again = is_on("recompute_config.parallel_optimizer_comm_recompute");
    if (!is_on("parallel.enable_parallel_optimizer")) return;
    constexpr std::array<std::string_view, 3> levels{"level1", "level2", "level3"};
    const std::string named = level == nullptr ? "level1" : word(level->name.c_str());
    const auto at = std::find(levels.begin(), levels.end(), named);
    if (at == levels.end()) refuse(*level, "known: level1, level2, level3");
    p.zero = again ? 3 : static_cast<int>(at - levels.begin()) + 1;
    if (size == nullptr || word(size->name.c_str()) == "-1") return;
    const int ranks = count(size->name, 1);
    if (data_ % ranks != 0) return contradict(*size, "does not divide data_parallel, " + std::to_string(data_));
    p.copies = data_ / ranks;
  }

  /// A list of layers counts as all of them, which is said.
  void read_recomputation() {
    decoder_plan& p = out_.plan;
    const auto said = [&](const char* name) {
      const option o = find(name);
      if (o == nullptr) return false;
      const bool is_word = o->values.size() == 1 && (word(name) == "True" || word(name) == "true" ||
                                                     word(name) == "False" || word(name) == "false");
      if (is_word) return word(name) == "True" || word(name) == "true";
      out_.unheeded.push_back(told(*o) + ": recomputation is taken to be of every layer");
      return true;
    };
    const bool full = said("recompute_config.recompute"), some = said("recompute_config.select_recompute");
    p.recomputed = full || some;
    p.selective = some && !full;
  }

  void read_formats() {
    const option parameters = find(model_field("params_dtype").c_str()) != nullptr
                                  ? find(model_field("params_dtype").c_str())
                                  : find(model_field("param_init_type").c_str());
    const option products = find(model_field("compute_dtype").c_str());
    const auto is_narrow = [](option o) {
      return o != nullptr && !o->values.empty() && (o->values[0] == "bfloat16" || o->values[0] == "float16");
    };
    out_.plan.formats = find_formats(is_narrow(parameters) ? "bf16" : "f32")->formats;
    if (is_narrow(parameters)) out_.notes.push_back(told(*parameters) + ": counted with a master of 32 bits");
    if (products != nullptr && !is_narrow(products))
      out_.unheeded.push_back(told(*products) + ": products are counted in 16 bits");
    const option optimizer = find("optimizer.type");
    const std::string named = word("optimizer.type");
    if (named == "Muon")
      out_.plan.optimizer = optimizer_kind::muon;
    else if (optimizer != nullptr && named.find("Adam") == std::string::npos)
      out_.unheeded.push_back(told(*optimizer) + ": counted as AdamW");
  }

  /// Of data, files, logs, generation and the model's sizes, which the config.json has.
  static bool is_idle(std::string_view name) {
    constexpr std::string_view beginnings =
        "seed output_dir load_ auto_trans_ckpt only_save_strategy resume_training run_mode trainer src_strategy "
        "transform_ train_dataset eval_dataset eval_ do_eval metric lr_schedule lr_scale layer_scale optimizer. "
        "callbacks processor remote_save_url save_ init_start_profile profile runner_config.epochs "
        "runner_config.sink runner_config.initial runner_wrapper train_precision_sync monitor_config use_parallel "
        "use_clip_grad wrapper_config balanced_load print_separate_loss model.arch auto_tune filepath_prefix "
        "autotune infer register_path context.device_id context.device_target context.mode context.save_graphs "
        "context.max_call_depth parallel.parallel_mode parallel.gradients_mean parallel.loss_repeated_mean "
        "parallel.full_batch parallel.dataset_strategy parallel.search_mode parallel.strategy_ckpt moe_config "
        "parallel_config.gradient_aggregation_group";
    if (begins_as_one_of(beginnings, name)) return true;
    constexpr std::string_view model = "model.model_config.";
    constexpr std::string_view of_memory =
        "use_flash_attention fine_grain_interleave moe_config layernorm_compute softmax_compute rotary_";
    if (!name.starts_with(model)) return false;
    name.remove_prefix(model.size());
    return !begins_as_one_of(of_memory, name);
  }

  const decoder& d;
  extent_t world_;
  int asked_sequence_;
  int data_ = 1;
};

}  // namespace

bool is_of_mindformers(const std::vector<launch_option>& options) {
  return std::any_of(options.begin(), options.end(), [](const launch_option& o) {
    return o.name.starts_with("parallel_config.") || o.name.starts_with("recompute_config.");
  });
}

launch_plan plan_of_mindformers(const std::vector<launch_option>& options, const std::string& path,
                                const decoder& model, int devices, extent_t sequence) {
  return mindformers_reader(options, path, model, devices, sequence).read();
}

}  // namespace hp_tool::launch
