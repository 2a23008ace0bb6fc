// SPDX-License-Identifier: Apache-2.0
#include "launch/megatron_launch.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "launch/folded_experts.hpp"

namespace hp_tool::launch {

namespace {

class megatron_reader : private launch_book {
 public:
  megatron_reader(const std::vector<launch_option>& given, const std::string& path, const decoder& model, int devices,
                  extent_t sequence)
      : launch_book(given, path, "--", same_option::last_counts),
        d(model),
        world_(devices),
        asked_sequence_(static_cast<int>(sequence)) {}

  launch_plan read() {
    out_.framework = out_.stack = "megatron";
    check_model();
    read_degrees();
    read_pipeline();
    read_experts();
    read_batch();
    read_memory();
    read_optimizer();
    name_unheeded([](const std::string& name) { return is_idle(name); });
    return result();
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
        contradict(*find(s.name), "the config.json has " + std::to_string(s.size), false);
    if (const option o = find("num-experts"); o != nullptr && !d.has_experts)
      contradict(*o, "the config.json has no experts", false);
  }

  void read_degrees() {
    decoder_plan& p = out_.plan;
    p.tp = number("tensor-model-parallel-size", 1);
    p.pp = number("pipeline-model-parallel-size", 1);
    p.cp = number("context-parallel-size", 1);
    for (const char* name : {"nproc_per_node", "nproc-per-node"}) check_world(name, "nnodes", world_);
    const extent_t model = extent_t{p.tp} * p.pp * p.cp;
    if (world_ % model != 0)
      contradict(any_of({"tensor-model-parallel-size", "pipeline-model-parallel-size", "context-parallel-size"}),
                 "tp=" + std::to_string(p.tp) + " x pp=" + std::to_string(p.pp) + " x cp=" + std::to_string(p.cp) +
                     " are " + std::to_string(model) + " devices, of which " + std::to_string(world_) +
                     " is no multiple");
    extent_t left = std::max(world_ / model, extent_t{1});
    while (world_ % left != 0) --left;  // of a contradiction
    data_ = static_cast<int>(left);
    p.dp = data_;
    p.sequence_parallel = stands("sequence-parallel") && p.tp > 1;
    // The table is padded so that each tensor rank has whole rows, by default in 128s.
    const extent_t step = extent_t{number("make-vocab-size-divisible-by", 128)} * p.tp;
    const extent_t padded = ceil_divide(d.vocabulary, step) * step;
    if (padded != d.vocabulary) out_.vocabulary = padded;
  }

  void read_pipeline() {
    decoder_plan& p = out_.plan;
    const int per_chunk = number("num-layers-per-virtual-pipeline-stage", 0);
    const int chunks = number("num-virtual-stages-per-pipeline-rank", 0);
    if (per_chunk != 0 && chunks != 0)
      contradict(*find("num-virtual-stages-per-pipeline-rank"), "contradicts --num-layers-per-virtual-pipeline-stage");
    if (chunks != 0) p.chunks = chunks;
    if (per_chunk != 0) {
      extent_t layers = d.layers;  // embedding and loss may stand in place of one each
      for (const char* end : {"account-for-embedding-in-pipeline-split", "account-for-loss-in-pipeline-split"})
        if (const option o = find(end)) {
          ++layers;
          out_.unheeded.push_back(told(*o) + ": layers are counted as dealt evenly");
        }
      if (layers % (extent_t{p.pp} * per_chunk) != 0)
        contradict(*find("num-layers-per-virtual-pipeline-stage"),
                   std::to_string(layers) + " layers do not divide by it times pp=" + std::to_string(p.pp));
      p.chunks = static_cast<int>(std::max(layers / (extent_t{p.pp} * per_chunk), extent_t{1}));
    }
    if (p.chunks > 1) p.schedule = static_cast<int>(schedule_called("Interleaved1F1B") - schedule_table.item);
  }

  void read_experts() {
    decoder_plan& p = out_.plan;
    const int ep = number("expert-model-parallel-size", 1), etp = number("expert-tensor-parallel-size", p.tp);
    if (ep == 1 && etp == p.tp) return;
    const launch_option& line = any_of({"expert-model-parallel-size", "expert-tensor-parallel-size"});
    if (!d.has_experts) return contradict(line, "the config.json has no experts", false);
    const extent_t ranks = extent_t{data_} * p.cp * p.tp;
    if (ranks % (extent_t{ep} * etp) != 0 || d.experts.experts % ep != 0) {
      p.ep = ep;
      p.dp = std::max(data_ / ep, 1);
      return ranks % (extent_t{ep} * etp) != 0
                 ? contradict(line, "ep=" + std::to_string(ep) + " x etp=" + std::to_string(etp) + " are " +
                                        std::to_string(extent_t{ep} * etp) + " ranks, of which the " +
                                        std::to_string(ranks) + " of a stage are no multiple")
                 : contradict(line,
                              std::to_string(d.experts.experts) + " experts do not divide by ep=" + std::to_string(ep));
    }
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
      contradict(any_of({"global-batch-size", "micro-batch-size"}),
                 "no multiple of micro-batch x dp, " + std::to_string(each) + " x " + std::to_string(data_));
    p.micro_batches = static_cast<int>(std::max(p.batch / round, extent_t{1}));
    p.sequence = number("seq-length", asked_sequence_);
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
    const bool selective = granularity == "selective" || (granularity.empty() && stands("recompute-activations"));
    p.recomputed = granularity == "full";
    if (!granularity.empty() && !p.recomputed && !selective)
      refuse(*find("recompute-granularity"), "known: full, selective");
    if (p.recomputed) read_recomputed_layers();
    if (selective) read_recomputed_modules();
    read_formats();
  }
  /// Layers, or shared experts, that the model does not have are in no way of Megatron's.
  void read_recomputed_modules() {
    const option o = find("recompute-modules");
    if (o == nullptr) return;
    for (const std::string& name : o->values) {
      if (name == "core_attn") continue;
      const unsigned bit = module_bit(name.c_str());
      if (bit == 0) refuse(*o, "known: core_attn, layernorm, moe_act, mla_up_proj, mlp, moe, shared_experts");
      bool stands = name == "moe_act" || name == "mla_up_proj";
      visit_modules(bit, [&](const recomputed_module& m) { stands = stands || detail::stands_in(m, d); });
      if (stands) out_.plan.modules |= bit;
    }
  }
  void read_formats() {
    plan_formats& f = out_.plan.formats;
    const bool half = stands("fp16"), narrow = stands("bf16") || half;
    f = narrow ? find_formats("bf16")->formats : plan_formats{};
    if (stands("fp8-format") || stands("fp8")) f = find_formats("fp8")->formats;
    if (stands("fp4-format")) f = find_formats("nvfp4")->formats;
    f.narrow_weights = f.product == number_format::float8 && stands("fp8-param-gather");
    const bool is_wide = stands("accumulate-allreduce-grads-in-fp32"), aware = stands("use-precision-aware-optimizer");
    if (narrow && (half ? !is_wide : stands("grad-reduce-in-bf16"))) f.sum = data_type::bf16;
    if (!aware) return;
    if (word("main-grads-dtype") == "bf16") {
      if (is_wide) contradict(*find("main-grads-dtype"), "contradicts --accumulate-allreduce-grads-in-fp32");
      if (narrow) f.sum = data_type::bf16;
    }
    if (const option o = find("main-params-dtype"); o != nullptr && word("main-params-dtype") != "fp32")
      out_.unheeded.push_back(told(*o) + ": masters are counted in 32 bits");
    const std::string first = word("exp-avg-dtype"), second = word("exp-avg-sq-dtype");
    if (first == second && (first == "bf16" || first == "fp16" || first == "fp8"))
      f.moment = first == "fp8" ? data_type::i8 : data_type::bf16;
    else if (first != second)
      for (const char* name : {"exp-avg-dtype", "exp-avg-sq-dtype"})
        if (const option o = find(name); o != nullptr && word(name) != "fp32")
          out_.unheeded.push_back(told(*o) + ": moments that differ are counted in 32 bits");
  }
  /// A share of the parameters, all unless it is said otherwise, has its states on the host.
  void read_host_states() {
    if (!stands("optimizer-cpu-offload")) return;
    const option share = find("optimizer-offload-fraction");
    out_.plan.host_states = share == nullptr ? 1000 : per_mille(*share);
    const plan_formats& f = out_.plan.formats;
    if (out_.plan.host_states > 0 && f.moment != data_type::f32)
      out_.unheeded.push_back(told(*find("optimizer-cpu-offload")) + ": moments of the host are counted in " +
                              std::to_string(8 * bytes_of(f.moment)) + " bits, and are there in 32");
  }
  /// Muon lies on every data rank, or layer by layer on one of them; a tensor rank has its part of the matrices' states.
  void read_optimizer() {
    decoder_plan& p = out_.plan;
    const option o = find("optimizer");
    const std::string name = word("optimizer");
    read_host_states();
    if (o == nullptr || name == "adam") return;
    const bool is_muon = name == "muon" || name == "dist_muon";
    if (name != "sgd" && !is_muon) {
      out_.unheeded.push_back(told(*o) + ": AdamW is taken");
      return;
    }
    p.optimizer = is_muon ? optimizer_kind::muon : optimizer_kind::sgd;
    if (is_muon && p.host_states > 0) contradict(*find("optimizer-cpu-offload"), "contradicts " + told(*o));
    if (p.zero > 0 && !stands("use-torch-fsdp2"))
      contradict(*o, "the distributed optimizer and Megatron's FSDP are of Adam alone");
    if (const option momentum = find("sgd-momentum");
        word("sgd-momentum").find_first_not_of("0.") == std::string::npos && momentum != nullptr)
      out_.unheeded.push_back(told(*momentum) + ": a momentum is counted");
    if (name == "dist_muon")
      out_.unheeded.push_back(told(*o) + ": states of matrices are counted whole on every data rank");
    if (is_muon && p.tp > 1)
      out_.unheeded.push_back(told(*o) +
                              ": matrices are taken to be updated, and their states to be, whole on every tensor rank");
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
    return begins_as_one_of(
        "lr data- save load log- eval- tensorboard wandb train- tokenizer vocab- merge- weight- adam- muon- clip- "
        "init- split seed rdzv master node distributed exit dataloader num-workers ckpt dist-ckpt min-lr decay "
        "norm- normal rotary position- max-position swiglu squared-relu disable-bias add-qkv-bias qk-layernorm "
        "group-query use-rotary use-rope untie- attention-dropout hidden-dropout moe-router-load moe-aux-loss "
        "moe-router-score moe-router-bias moe-router-enable moe-router-topk-scaling moe-router-num-groups "
        "moe-router-group moe-layer-freq moe-z-loss moe-shared-expert-intermediate multi-latent q-lora kv-lora "
        "qk-head qk-pos v-head mscale no-create no-load no-save no-check no-mmap no-initialization use-checkpoint "
        "use-mcore use-legacy transformer-impl override reset- create- timing profile manual-gc mock-data "
        "make-vocab start-weight end-weight override-opt tee role local standalone max-restarts",
        name);
  }

  const decoder& d;
  extent_t world_;
  int asked_sequence_;
  int data_ = 1;
};

}  // namespace

launch_plan plan_of_megatron(const std::vector<launch_option>& options, const std::string& path, const decoder& model,
                             int devices, extent_t sequence) {
  return megatron_reader(options, path, model, devices, sequence).read();
}

}  // namespace hp_tool::launch
