// SPDX-License-Identifier: Apache-2.0
#pragma once
// A Megatron-LM launch line as the plan of a decoder: degrees, batch, sequence, recomputation, precision, optimizer, schedule.
//
//   const hp::launch_plan l = hp::plan_of_megatron(hp::launch_options_of(text), "run.sh", llama3, 64);
//   l.plan, l.unheeded                      what changes memory or time and no figure heeds, with its line
//
// Meanings, with W devices: dp = W / (tp · pp · cp). Experts lie on W / pp ranks: ep · etp of them have one copy, so that ep folds
// over data, context and, where etp is 1, tensor ranks; here these ranks are dp · ep, cp and tp of a plan, and experts_along says
// over which of the last two experts are dealt. micro-batches = global batch / (micro-batch · dp). A pipeline with several chunks a
// rank is interleaved. Defaults are the framework's: etp is tp, ZeRO is 0 without the distributed optimizer, parameters are f32
// without --bf16. Where an option stands twice, the last one counts, as with argparse, and `notes` says so.
// Errors: io_error of one line with file, line and option: a number that is none, degrees that contradict each other, a size of
// the model that the config.json has otherwise. Source: Megatron-LM core 0.12 to 0.17, megatron/training/arguments.py.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/folded_experts.hpp>
#include <hyperparallel/io/launch_plan.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

class megatron_reader : private launch_book {
 public:
  megatron_reader(const std::vector<launch_option>& given, const std::string& path, const decoder& model, int devices)
      : launch_book(given, path, "--", same_option::last_counts), d(model), world_(devices) {}

  launch_plan read() {
    out_.stack = "megatron";
    check_model();
    read_degrees();
    read_pipeline();
    read_experts();
    read_batch();
    read_memory();
    name_unheeded([](const std::string& name) { return is_idle(name); });
    return std::move(out_);
  }

 private:
  /// The first of these that stands, to name a line by; Megatron needs none of them.
  const launch_option& any_of(std::initializer_list<const char*> names) {
    static const launch_option nothing{"tensor-model-parallel-size", {"1"}, 1};
    for (const char* name : names)
      if (const option o = find(name)) return *o;
    return nothing;
  }

  /// Sizes of the model that the line names are those of the config.json.
  void check_model() {
    const attention_layer& a = d.attention;
    const extent_t heads = d.has_latents ? d.latent_attention.heads : a.query_heads;
    const struct {
      const char* name;
      extent_t size;
      bool there;
    } sizes[] = {{"num-layers", d.layers, true},
                 {"hidden-size", d.hidden, true},
                 {"num-attention-heads", heads, true},
                 {"num-query-groups", a.key_heads, !d.has_latents},
                 {"kv-channels", a.head_dim, !d.has_latents},
                 {"ffn-hidden-size", d.feed_forward.width, !d.has_experts || d.sparse.first > 0},
                 {"num-experts", d.experts.experts, d.has_experts},
                 {"moe-ffn-hidden-size", d.experts.width, d.has_experts},
                 {"moe-router-topk", d.experts.top_k, d.has_experts}};
    for (const auto& s : sizes)
      if (const int given = number(s.name, 0); given != 0 && s.there && given != s.size)
        refuse(*find(s.name), "the config.json has " + std::to_string(s.size));
    if (const option o = find("num-experts"); o != nullptr && !d.has_experts)
      refuse(*o, "the config.json has no experts");
  }

  void read_degrees() {
    decoder_plan& p = out_.plan;
    p.tp = number("tensor-model-parallel-size", 1);
    p.pp = number("pipeline-model-parallel-size", 1);
    p.cp = number("context-parallel-size", 1);
    for (const char* name : {"nproc_per_node", "nproc-per-node"})
      if (const int each = number(name, 0); each != 0) check_world(each, name);
    const extent_t model = extent_t{p.tp} * p.pp * p.cp;
    if (world_ % model != 0)
      refuse(any_of({"tensor-model-parallel-size", "pipeline-model-parallel-size", "context-parallel-size"}),
             "tp=" + std::to_string(p.tp) + " x pp=" + std::to_string(p.pp) + " x cp=" + std::to_string(p.cp) +
                 " are " + std::to_string(model) + " devices, of which " + std::to_string(world_) + " is no multiple");
    data_ = static_cast<int>(world_ / model);
    p.dp = data_;
    p.sequence_parallel = stands("sequence-parallel") && p.tp > 1;
  }
  /// Holds torchrun's nodes times `each`, devices of a node by option `name`, against --devices.
  void check_world(int each, const char* name) {
    const std::string nodes = word("nnodes");
    if (nodes.empty() || nodes.find_first_not_of("0123456789") != std::string::npos)
      return;  // a range, or from outside
    const extent_t said = extent_t{each} * number("nnodes", 1);
    if (said != world_)
      refuse(*find(name), "with " + nodes + " nodes these are " + std::to_string(said) + " devices; --devices is " +
                              std::to_string(world_));
  }

  void read_pipeline() {
    decoder_plan& p = out_.plan;
    const int per_chunk = number("num-layers-per-virtual-pipeline-stage", 0);
    const int chunks = number("num-virtual-stages-per-pipeline-rank", 0);
    if (per_chunk != 0 && chunks != 0)
      refuse(*find("num-virtual-stages-per-pipeline-rank"), "contradicts --num-layers-per-virtual-pipeline-stage");
    if (chunks != 0) p.chunks = chunks;
    if (per_chunk != 0) {
      if (d.layers % (extent_t{p.pp} * per_chunk) != 0)
        refuse(*find("num-layers-per-virtual-pipeline-stage"),
               std::to_string(d.layers) + " layers do not divide by it times pp=" + std::to_string(p.pp));
      p.chunks = static_cast<int>(d.layers / (extent_t{p.pp} * per_chunk));
    }
    if (p.chunks > 1) p.schedule = static_cast<int>(schedule_called("Interleaved1F1B") - schedule_table.item);
  }

  void read_experts() {
    decoder_plan& p = out_.plan;
    const int ep = number("expert-model-parallel-size", 1), etp = number("expert-tensor-parallel-size", p.tp);
    if (ep == 1 && etp == p.tp) return;
    const launch_option& line = any_of({"expert-model-parallel-size", "expert-tensor-parallel-size"});
    const std::string why = fold_experts(d, {.ep = ep, .etp = etp, .data = data_, .cp = p.cp, .tp = p.tp}, p);
    if (!why.empty()) refuse(line, why);
    p.dp = data_ / p.ep;
  }

  void read_batch() {
    decoder_plan& p = out_.plan;
    const int each = number("micro-batch-size", 1);
    const extent_t round = extent_t{each} * data_;
    p.batch = number("global-batch-size", static_cast<int>(std::min<extent_t>(round, largest_plan_number)));
    if (p.batch % round != 0)
      refuse(any_of({"global-batch-size", "micro-batch-size"}),
             "no multiple of micro-batch x dp, " + std::to_string(each) + " x " + std::to_string(data_));
    p.micro_batches = static_cast<int>(p.batch / round);
    p.sequence = number("seq-length", 0);
    if (p.sequence == 0) miss("seq-length");
  }

  void read_memory() {
    decoder_plan& p = out_.plan;
    const std::string sharding = word("data-parallel-sharding-strategy");
    p.zero = stands("use-distributed-optimizer") ? 1 : 0;
    if (stands("use-megatron-fsdp") || stands("use-custom-fsdp")) {
      constexpr std::array<std::string_view, 4> names{"no_shard", "optim", "optim_grads", "optim_grads_params"};
      const auto at = std::find(names.begin(), names.end(), sharding);
      if (at == names.end() && !sharding.empty())
        refuse(*find("data-parallel-sharding-strategy"), "known: no_shard, optim, optim_grads, optim_grads_params");
      p.zero = sharding.empty() ? p.zero : static_cast<int>(at - names.begin());
    }
    if (stands("use-torch-fsdp2")) p.zero = 3;
    const std::string granularity = word("recompute-granularity");
    p.selective = granularity == "selective" || (granularity.empty() && stands("recompute-activations"));
    p.recomputed = granularity == "full" || p.selective;
    if (!granularity.empty() && !p.recomputed) refuse(*find("recompute-granularity"), "known: full, selective");
    if (granularity == "full") read_recomputed_layers();
    if (p.selective) {
      if (const option o = find("recompute-modules");
          o != nullptr && o->values != std::vector<std::string>{"core_attn"})
        out_.unheeded.push_back(told(*o) + ": selective recomputation is that of attention's scores");
    }
    const bool narrow = stands("bf16") || stands("fp16");
    p.formats = narrow ? find_formats("bf16")->formats : plan_formats{};
    if (stands("fp8-format") || stands("fp8")) p.formats = find_formats("fp8")->formats;
    if (stands("fp4-format")) p.formats = find_formats("nvfp4")->formats;
    const std::string first = word("exp-avg-dtype"), second = word("exp-avg-sq-dtype");
    if (stands("use-precision-aware-optimizer") && first == second && (first == "bf16" || first == "fp8"))
      p.formats.moment = first == "bf16" ? data_type::bf16 : data_type::i8;
  }
  /// Of full recomputation: all layers, or some.
  void read_recomputed_layers() {
    const std::string method = word("recompute-method");
    const int layers = number("recompute-num-layers", 1);
    const extent_t of_stage = d.layers / (extent_t{out_.plan.pp} * out_.plan.chunks);
    const bool all = method == "uniform" ? layers == 1 : method != "block" || layers >= of_stage;
    if (!all)
      out_.unheeded.push_back(told(*find("recompute-num-layers")) + ": " + method +
                              " recomputation is taken to be of every layer by itself");
  }

  /// Options of data, training, files and reports, which change neither memory nor time of a step.
  static bool is_idle(std::string_view name) {
    constexpr std::string_view beginnings[] = {"lr",
                                               "data-",
                                               "save",
                                               "load",
                                               "log-",
                                               "eval-",
                                               "tensorboard",
                                               "wandb",
                                               "train-",
                                               "tokenizer",
                                               "vocab-",
                                               "merge-",
                                               "weight-",
                                               "adam-",
                                               "clip-",
                                               "init-",
                                               "split",
                                               "seed",
                                               "rdzv",
                                               "master",
                                               "node",
                                               "distributed",
                                               "exit",
                                               "dataloader",
                                               "num-workers",
                                               "ckpt",
                                               "dist-ckpt",
                                               "min-lr",
                                               "decay",
                                               "norm-",
                                               "normal",
                                               "rotary",
                                               "position-",
                                               "max-position",
                                               "swiglu",
                                               "squared-relu",
                                               "disable-bias",
                                               "add-qkv-bias",
                                               "qk-layernorm",
                                               "group-query",
                                               "use-rotary",
                                               "use-rope",
                                               "untie-",
                                               "attention-dropout",
                                               "hidden-dropout",
                                               "moe-router-load",
                                               "moe-aux-loss",
                                               "moe-router-score",
                                               "moe-router-bias",
                                               "moe-router-enable",
                                               "moe-router-topk-scaling",
                                               "moe-router-num-groups",
                                               "moe-router-group",
                                               "moe-layer-freq",
                                               "moe-z-loss",
                                               "moe-shared-expert-intermediate",
                                               "multi-latent",
                                               "q-lora",
                                               "kv-lora",
                                               "qk-head",
                                               "qk-pos",
                                               "v-head",
                                               "mscale",
                                               "no-create",
                                               "no-load",
                                               "no-save",
                                               "no-check",
                                               "no-mmap",
                                               "no-initialization",
                                               "use-checkpoint",
                                               "use-mcore",
                                               "use-legacy",
                                               "transformer-impl",
                                               "override",
                                               "reset-",
                                               "create-",
                                               "timing",
                                               "profile",
                                               "manual-gc",
                                               "mock-data",
                                               "make-vocab",
                                               "start-weight",
                                               "end-weight",
                                               "override-opt",
                                               "tee",
                                               "role",
                                               "local",
                                               "standalone",
                                               "max-restarts"};
    return std::any_of(std::begin(beginnings), std::end(beginnings),
                       [&](std::string_view b) { return name.starts_with(b); });
  }

  const decoder& d;
  extent_t world_;
  int data_ = 1;
};

}  // namespace detail

/// The plan on `devices`, of a model that is read. Throws io_error.
inline launch_plan plan_of_megatron(const std::vector<launch_option>& options, const std::string& path,
                                    const decoder& model, int devices) {
  return detail::megatron_reader(options, path, model, devices).read();
}

}}  // namespace hyperparallel::v0_2
