// SPDX-License-Identifier: Apache-2.0
#pragma once
// What hp serve found, as text: verdict, memory of a device by tier, longest contexts, prefill and decode.

#include <string>

#include <hyperparallel/report/format_program.hpp>

#include "../plan/text.hpp"
#include "answer.hpp"

namespace serving {

using decoder_plans::bytes_text, decoder_plans::count_text, decoder_plans::time_text;

inline std::string fixes_of(const hp::serving_plan& p) { return decoder_plans::fixes_of(p.degrees()); }

/// Why a plan was chosen, by its verdict.
inline std::string choice_text(const answer& a) {
  if (!a.is_good()) return "none fits; this one needs the least " + a.first_memory();
  return a.verdict() == hp::fit_verdict::fits ? "the one that fits and makes the most tokens"
                                              : "none fits; of those that are tight the one that makes the most tokens";
}

/// "16 bits", "8.13 bits as fp8 stores them, scales included", "4 bits by --weights; the file is fp8".
inline std::string bits_text(const answer& a) {
  const std::string& method = a.config.weights.method;
  if (!a.plan.weights.empty())
    return fmt::format("{:.2f} bits as {} stores them, scales included", a.mean_weight_bits(), method);
  return fmt::format("{} bits", a.plan.weight_bits) +
         (a.weights_are_fixed && !method.empty() ? " by --weights; the file is " + method : "");
}

inline std::string head_text(const answer& a) {
  std::string out =
      fmt::format("{}: {:.2f} billion parameters of {}\n{} of {}: {}; {} of {} tokens; cache of {} bits\n",
                  a.config.family, static_cast<double>(hp::parameters_of(a.config.model).total()) / 1e9, bits_text(a),
                  count_text(a.devices, "device"), a.hardware.name.text, fixes_of(a.plan),
                  count_text(a.plan.batch, "sequence"), a.plan.context, a.plan.cache_bits);
  if (a.legal_plans > 0)
    out += fmt::format("of {} that can be, {}\n", count_text(a.legal_plans, "plan"), choice_text(a));
  return out + decoder_plans::set_aside_text(a.config) + decoder_plans::beyond_text(a.config, a.plan.context) +
         decoder_plans::not_counted_text(a.config, a.memory, a.device.tier[0].bytes) +
         "an estimate by closed form, not a measurement\n";
}

/// "does not fit: a device needs 70.0 GiB of 64.0 GiB of HBM, 6.0 GiB are missing".
inline std::string shortfall_text(const answer& a) {
  const auto missing = [](hp::extent_t needed, hp::extent_t has, const std::string& memory) {
    return fmt::format("does not fit: a device needs {} of {} of {}, {} are missing", bytes_text(needed),
                       bytes_text(has), memory, bytes_text(needed - has));
  };
  if (a.estimate.offloaded > a.dram_bytes()) return missing(a.estimate.offloaded, a.dram_bytes(), a.dram());
  return missing(a.reserve.needed(a.estimate.memory.peak()), a.device.tier[0].bytes, a.first_memory());
}

inline std::string verdict_text(const answer& a) {
  const hp::extent_t has = a.device.tier[0].bytes, needed = a.reserve.needed(a.estimate.memory.peak());
  switch (a.verdict()) {
    case hp::fit_verdict::fits:
      return fmt::format("fits: a device needs {} of {} of {}, {} are left\n", bytes_text(needed), bytes_text(has),
                         a.first_memory(), bytes_text(has - needed));
    case hp::fit_verdict::tight:
      return fmt::format("tight: a device needs {} of {} of {}, which has room only without the allocator's waste\n",
                         bytes_text(needed), bytes_text(has), a.first_memory());
    case hp::fit_verdict::does_not_fit:
      break;
  }
  return shortfall_text(a) + "\n";
}

inline std::string memory_text(const answer& a) {
  const hp::serving_memory& m = a.estimate.memory;
  const hp::extent_t needed = a.reserve.needed(m.peak());
  hp::report::table t({a.first_memory() + " of a device", "bytes", "share"});
  const auto row = [&](const std::string& name, hp::extent_t bytes) {
    if (bytes > 0) t.row({name, bytes_text(bytes), hp::report::share_text(bytes, needed)});
  };
  row("weights", m.weights);
  row("cache of keys and values", m.cache);
  row("buffers of cache from " + a.dram(), m.buffers);
  row("activations", m.activations);
  row(fmt::format("allocator, {:.1f} % of these", static_cast<double>(a.reserve.allocator_per_mille) / 10),
      needed - m.peak() - a.reserve.library_bytes);
  row("run time and libraries", a.reserve.library_bytes);
  row("all", needed);
  std::string out = t.text();
  if (a.estimate.offloaded > 0) out += fmt::format("cache in {}: {}\n", a.dram(), bytes_text(a.estimate.offloaded));
  return out + fmt::format("cache of a token: {} on a device\n", bytes_text(a.estimate.token_cache_bytes));
}

inline std::string tokens_text(const hp::context_limit& l) {
  if (l.bound == hp::context_bound::nothing)
    return l.tokens == hp::largest_context ? "any" : fmt::format("at least {}", l.tokens);
  return l.tokens == 0 ? "none" : std::to_string(l.tokens);
}

inline std::string places_text(const answer& a) {
  hp::report::table t({"cache in", "layers in " + a.dram(), "longest context", "bound by",
                       fmt::format("peak at {}", a.plan.context), "prefill", "a token"});
  for (const place& p : a.places)
    t.row({p.name, std::to_string(p.longest.offloaded_layers), tokens_text(p.longest), a.name_of(p.longest.bound),
           bytes_text(p.estimate.memory.peak()), time_text(p.estimate.prefill.time),
           time_text(p.estimate.decode.time)});
  std::string out = t.text();
  for (const place& p : a.places)
    if (p.longest.unbroken < p.longest.tokens)
      out +=
          fmt::format("{}: not every context below {}; all up to {}\n", p.name, p.longest.tokens, p.longest.unbroken);
  return out;
}

inline std::string phases_text(const answer& a) {
  hp::report::table t({"estimate", "operations", a.first_memory(), a.dram(), "links", "time", "tokens/s", "bound by"});
  const auto row = [&](const char* name, const hp::serving_phase& p) {
    const auto roof = [&](hp::serving_roof r) { return p.of(r) > 0 ? time_text(p.of(r)) : std::string("-"); };
    t.row({name, roof(hp::serving_roof::operations), roof(hp::serving_roof::hbm_bytes),
           roof(hp::serving_roof::dram_bytes), roof(hp::serving_roof::links), time_text(p.time),
           fmt::format("{:.0f}", p.tokens_per_second), a.name_of(p.bound())});
  };
  row("prefill of a sequence", a.estimate.prefill);
  row("decode of a token each", a.estimate.decode);
  return t.text() + (a.plan.pp > 1 ? "roofs are those of the slowest stage, times of all stages\n" : "");
}

/// What kernels take that run one by one; nothing where the plan has others.
inline std::string kernels_text(const answer& a) {
  if (!a.has_kernels()) return "";
  const hp::stack_serving_time decode = a.decode_kernels(), prefill = a.prefill_kernels();
  if (!decode.ok() || !prefill.ok()) return "";
  return fmt::format(
      "kernels of an eager program, without links, {}: a token each {} by a graph, {} launched one by one; prefill "
      "{}\n",
      decode.measured ? "measured on one H100" : "scaled from one H100", time_text(decode.device),
      time_text(decode.eager), time_text(prefill.eager));
}

inline std::string to_text(const answer& a) {
  if (!a.status.ok()) return head_text(a);
  return head_text(a) + "\n" + verdict_text(a) + "\n" + memory_text(a) + "\n" + places_text(a) + "\n" + phases_text(a) +
         kernels_text(a);
}

}  // namespace serving
