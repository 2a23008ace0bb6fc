// SPDX-License-Identifier: Apache-2.0
// The body of row_plan.hpp.

#include "row_plan.hpp"

#include "../plan/words.hpp"
#include "devices.hpp"

namespace truth {

namespace {

/// The stage of ZeRO where a row names none and has several data ranks: the optimizer's states are sharded, as frameworks do since
/// Megatron-LM has a distributed optimizer.
constexpr int open_zero = 1;

/// Parameters of 16 bits with masters, as Megatron-LM, DeepSpeed and FSDP's mixed precision gather and reduce them.
hp::plan_formats formats_of(precision format, const json& config) {
  if (format == precision::unknown) throw not_predicted("precision " + field(config, "precision").dump());
  if (format == precision::fp8) return hp::find_formats("fp8")->formats;
  if (format == precision::fp4) return hp::find_formats("nvfp4")->formats;
  return hp::find_formats("bf16")->formats;
}

/// What the library's plans of training do not have.
void refuse_others(const published_row& r) {
  const run_settings& run = r.run;
  const json& c = r.config();
  if (!run.unclear.empty()) throw not_predicted(run.unclear);
  if (field(c, "cpu_offload") == json(true)) throw not_predicted("offload to the host");
  if (run.expert_tp > 1 && run.expert_tp != run.tp) throw not_predicted("experts are cut by another degree than tp");
}

/// What layers compute again. Scores of attention, which "attn_only" and Megatron's "selective" leave out, are never kept here.
void set_recomputation(const json& c, row_plan& out) {
  const json& v = field(c, "recompute");
  out.plan.selective = v == json("selective op");
  out.plan.recomputed = v == json(true) || v == json("full") || out.plan.selective;
  if (is_silent(v)) out.open.push_back("recompute=none");
  if (is_silent(v) || v.is_boolean() || out.plan.recomputed || v == json("none") || v == json("attn_only")) return;
  throw not_predicted("recomputation of " + (v.is_string() ? v.get<std::string>() : v.dump()));
}

/// Adapters where the task is LoRA. No row has their rank or products: 16 is that of NeMo's recipes, which adapt queries, keys and values in
/// Megatron-Bridge's and all linear layers in AutoModel's, whose runs are FSDP's.
void set_adapters(const published_row& r, row_plan& out) {
  if (text_in(r.config(), "task").find("LoRA") == std::string::npos) return;
  out.plan.adapter_rank = 16;
  out.open.push_back("lora=16");
  if (r.run.sharded > 0) return;
  out.plan.adapted = hp::adapted_products::attention_inputs;
  out.open.push_back("lora_on=qkv");
}

/// The ranks that the batch is dealt to, as the row's degrees and its own words of them have it.
hp::extent_t data_of(const run_settings& r) {
  const hp::extent_t data = data_ranks_of(r);
  if (data == 0) throw not_predicted("tp, pp and cp do not divide the devices");
  if (r.zero != 3 && r.dp > 0 && r.dp != data) throw not_predicted("dp and the degrees are not the devices");
  return data;
}

/// Experts are dealt to neighbouring ranks, as Megatron folds them over the others: those of tp first, where experts are not cut by it, then of
/// cp, then of data.
void set_experts(const run_settings& r, hp::extent_t data, row_plan& out) {
  hp::decoder_plan& p = out.plan;
  hp::extent_t left = r.ep;
  const bool is_told = r.expert_tp == 1, is_needed = r.expert_tp == 0 && (data * r.cp) % r.ep != 0;
  if (left > 1 && r.tp > 1 && (is_told || is_needed)) {
    p.experts_along_tp = true;
    if (!is_told) out.open.push_back("experts_along=tp");
    if (left % r.tp != 0) throw not_predicted("experts are dealt over a part of the ranks of tp");
    left /= r.tp;
  }
  if (left > 1 && r.cp > 1) {
    p.experts_along_cp = true;
    if (left % r.cp != 0) throw not_predicted("experts are dealt over a part of the ranks of cp");
    left /= r.cp;
  }
  if (data % left != 0) throw not_predicted("ep does not divide the ranks of data, tp and cp");
  p.ep = static_cast<int>(left);
  p.dp = static_cast<int>(data / left);
}

/// Copies of what FSDP shards, where the row names fewer devices that share one than deal the batch.
int copies_of(const run_settings& r, hp::extent_t data) {
  if (r.zero != 3 || r.sharded < 1 || r.sharded >= r.devices || r.sharded == data || r.sharded == data * r.cp) return 1;
  const hp::extent_t copies = data * r.cp / r.sharded;
  if (copies < 1 || copies * r.sharded != data * r.cp || (r.dp > 1 && r.dp != copies))
    throw not_predicted("shards over " + std::to_string(r.sharded) +
                        " devices, of which the data ranks are no multiple");
  return static_cast<int>(copies);
}

/// A schedule by another name than the library's. ZB-1p and ZB-2p are searched within the memory of one and of two times 1F1B, which
/// ZB-H1 and ZB-H2 are written for.
struct schedule_alias {
  const char* name;
  const char* ours;
};
constexpr schedule_alias schedule_aliases[] = {{"1f1b-i", "Interleaved1F1B"},
                                               {"interleaved", "Interleaved1F1B"},
                                               {"1f1b-interleaved", "Interleaved1F1B"},
                                               {"zb-1p", "ZB-H1"},
                                               {"zb-2p", "ZB-H2"},
                                               {"zb-2p*", "ZB-H2"},
                                               {"zero-bubble", "ZB-H1"},
                                               {"zbb", "ZB-V"}};

void set_schedule(const published_row& r, row_plan& out) {
  hp::decoder_plan& p = out.plan;
  if (r.run.chunks > hp::largest_plan_number) throw not_predicted("a size of the plan is above 2^20");
  p.chunks = p.pp > 1 ? static_cast<int>(r.run.chunks) : 1;
  const std::string told = text_in(r.config(), "schedule"), lower = lower_case(told);
  std::string name = told;
  if (told.empty() || lower == "1f1b") name = p.chunks > 1 ? "Interleaved1F1B" : "1F1B";
  for (const schedule_alias& a : schedule_aliases)
    if (lower == a.name) name = a.ours;
  const hp::named_schedule* s = hp::schedule_called(name.c_str());
  if (s == nullptr) throw not_predicted("schedule " + told);
  p.schedule = static_cast<int>(s - hp::schedule_table.item);
  if (s->fixed_chunks > 1 && p.chunks == 1) p.chunks = s->fixed_chunks;
  if (s->fixed_chunks == 0 && p.chunks == 1) {
    p.chunks = 2;
    out.open.push_back("chunks=2");
  }
  if (lower.starts_with("zb-") && lower_case(name) != lower) out.open.push_back(name + " for " + told);
  out.steps_are_skewed = lower.starts_with("zb-2p");
}

void set_micro_batches(const published_row& r, hp::extent_t data, row_plan& out) {
  hp::decoder_plan& p = out.plan;
  hp::extent_t each = r.run.splits_local_batch ? 0 : r.run.micro_batch;
  if (each == 0) {
    each = 1;
    out.open.push_back("a sequence in a micro-batch");
  }
  if (r.run.batch.sequences == 0) {  // a peak of memory that holds for any number of micro-batches: twice the stages
    p.micro_batches = static_cast<int>(2 * r.run.pp);
    p.batch = each * data * 2 * r.run.pp;
    out.open.push_back("twice as many micro-batches as stages");
    return;
  }
  p.batch = r.run.batch.sequences;
  if (p.batch % (each * data) != 0) throw not_predicted("the batch is no multiple of a micro-batch on all ranks");
  p.micro_batches = static_cast<int>(p.batch / (each * data));
}

}  // namespace

row_plan plan_of(const published_row& r, const hp::decoder& model) {
  refuse_others(r);
  const run_settings& run = r.run;
  for (const hp::extent_t n : {run.devices, run.sequence, run.batch.sequences, run.micro_batch})
    if (n > hp::largest_plan_number) throw not_predicted("a size of the plan is above 2^20");
  row_plan out;
  hp::decoder_plan& p = out.plan;
  const hp::extent_t data = data_of(run);
  p.tp = static_cast<int>(run.tp);
  p.pp = static_cast<int>(run.pp);
  p.cp = static_cast<int>(run.cp);
  set_experts(run, data, out);
  p.sequence = run.sequence;
  p.formats = formats_of(run.format, r.config());
  p.copies = copies_of(run, data);
  set_recomputation(r.config(), out);
  set_adapters(r, out);
  p.zero = run.zero;
  if (p.zero < 0) {
    p.zero = data * run.cp > 1 ? open_zero : 0;
    if (p.zero > 0) out.open.push_back("zero=" + std::to_string(p.zero));
  }
  const json& parallel = field(r.config(), "sequence_parallel");
  p.sequence_parallel = !parallel.is_boolean() || parallel.get<bool>();
  if (!parallel.is_boolean() && p.tp > 1) out.open.push_back("sp=on");
  set_micro_batches(r, data, out);
  set_schedule(r, out);
  if (const hp::known_hardware* h = preset_of(r.device);
      p.zero < 2 && hp::device_count_of(p) > 1 && h != nullptr && h->device.as_measured) {
    out.is_overlapped = true;
    out.open.push_back("stack=megatron");
  }
  if (const hp::decoder_plan_status s = hp::check_plan(model, p, run.devices); !s.ok())
    throw not_predicted("the plan cannot be: " + decoder_plans::cause_text(s));
  return out;
}

}  // namespace truth
