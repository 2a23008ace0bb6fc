// SPDX-License-Identifier: Apache-2.0
#pragma once
// What hp plan found, as text: verdict, memory of a device, time of a step, what is received; then other plans.

#include <string>
#include <vector>

#include <hyperparallel/report/format_program.hpp>

#include "answer.hpp"
#include "left_out.hpp"

namespace decoder_plans {

inline std::string bytes_text(hp::extent_t bytes) { return to_text(hp::report::byte_count{bytes}); }
inline std::string time_text(hp::extent_t picoseconds) { return to_text(hp::report::duration{picoseconds}); }
inline std::string count_text(hp::extent_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}
inline std::string share_text(double share) { return fmt::format("{:.2f} %", 100 * share); }

/// Nothing where all is as without --precision.
inline std::string formats_text(const hp::plan_formats& f) {
  if (f == hp::plan_formats{}) return "";
  const bool narrow = f.product_bits() > 0;
  return fmt::format(
      "precision {}: {}parameters in {}{}{}{}{}\n", name_of(f),
      narrow ? fmt::format("products of layers in {}, ", to_text(f.product)) : "",
      f.weight == hp::data_type::f32 ? "f32" : "bf16", f.weight == hp::data_type::f32 ? "" : " with f32 masters",
      f.stores_bytes() ? ", weights of layers in 8 bits" : "",
      f.moment == hp::data_type::f32 ? "" : fmt::format(", moments in {} bits", 8 * hp::bytes_of(f.moment)),
      f.sum == hp::data_type::f32 ? "" : ", sums of gradients in 16 bits");
}

inline std::string head_text(const answer& a) {
  const double total = static_cast<double>(hp::parameters_of(a.config.model).total()),
               active = static_cast<double>(hp::active_parameters_of(a.config.model).total());
  return fmt::format(
             "{}: {:.2f} billion parameters{}\n{} of {}: {}; {} of {} tokens in {}\n", a.config.family, total / 1e9,
             active < total ? fmt::format(", {:.2f} active for a token", active / 1e9) : "",
             count_text(a.devices, "device"), a.hardware.name.text, fixes_of(a.plan),
             count_text(a.plan.batch, "sequence"), a.plan.sequence,
             a.plan.micro_batches == 1 ? "one micro-batch" : fmt::format("{} micro-batches", a.plan.micro_batches)) +
         formats_text(a.plan.formats) + set_aside_text(a.config) + launch_text(a.launch) + trained_text(a.config) +
         beyond_text(a.config, a.plan.sequence) +
         not_counted_text(a.config, a.memory, a.hardware.device.tier[0].bytes) + measured_text(a.measured);
}

/// "does not fit: a device needs 70.0 GiB of 64.0 GiB, 6.0 GiB are missing", or the same of its host's memory.
inline std::string shortfall_text(const answer& a) {
  if (const hp::host_update& h = a.estimate.on_host; !h.fits())
    return fmt::format("does not fit: a device needs {} of {} of its host's memory, {} are missing",
                       bytes_text(h.bytes), bytes_text(h.room), bytes_text(h.bytes - h.room));
  const hp::extent_t has = a.hardware.device.tier[0].bytes, needed = a.needed(a.estimate);
  return fmt::format("does not fit: a device needs {} of {}, {} are missing", bytes_text(needed), bytes_text(has),
                     bytes_text(needed - has));
}

/// The verdict with its amounts, in one line.
inline std::string verdict_text(const answer& a) {
  const hp::extent_t peak = a.estimate.peak(), has = a.hardware.device.tier[0].bytes, needed = a.needed(a.estimate);
  const hp::extent_t held = peak + a.reserve.library_bytes + a.beside_bytes(a.estimate);
  const std::string of = fmt::format("{} of {}", bytes_text(needed), bytes_text(has));
  switch (a.verdict(a.estimate)) {
    case hp::fit_verdict::fits:
      return fmt::format("fits: a device needs {}, {} are left\n", of, bytes_text(has - needed));
    case hp::fit_verdict::tight:
      return fmt::format("tight: a device needs {}; it fits where the allocator wastes at most {} of {}\n", of,
                         bytes_text(has - held), bytes_text(needed - held));
    case hp::fit_verdict::does_not_fit:
      break;
  }
  return shortfall_text(a) + "\n";
}

/// What a stack that is walked has in use, and when; nothing of this library's own plan.
inline std::string stack_text(const answer& a) {
  if (!a.estimate.is_walked()) return "";
  const hp::stack_memory& m = a.estimate.on_stack;
  return fmt::format("{}: in use are {} at most, {}, {} when forward has ended, {} between steps; reserved are {}\n",
                     a.stack.name, bytes_text(m.peak), name_of(m.moment), bytes_text(m.after_forward),
                     bytes_text(m.steady), bytes_text(m.reserved));
}

/// What a device has of its host's memory; nothing where no states lie there.
inline std::string host_text(const answer& a) {
  const hp::plan_estimate& e = a.estimate;
  if (e.plan.host_states == 0) return "";
  const hp::memory_tier& t = a.hardware.device.tier[tier_behind(a.hardware.device, hp::memory_kind::dram)];
  return fmt::format(
      "host memory: a device needs {}{}, {} of them states\n"
      "assumed: gradients go down and parameters come back, {} and {}, beside nothing and at {:.1f} GB/s of the link "
      "to "
      "the host; its memory serves the update at the same rate\n",
      bytes_text(e.on_host.bytes), t.bytes == hp::capacity_not_stated ? "" : " of " + bytes_text(t.bytes),
      bytes_text(e.on_host.states), bytes_text(e.on_host.down), bytes_text(e.on_host.up),
      static_cast<double>(t.bandwidth) / 1e9 * static_cast<double>(t.reached.parts_per_million) / 1e6);
}

inline std::string memory_text(const answer& a) {
  const hp::plan_estimate& e = a.estimate;
  const hp::extent_t needed = a.needed(e);
  hp::report::table t({"memory of a device, at its peak", "bytes", "share"});
  const auto row = [&](const std::string& name, hp::extent_t bytes) {
    if (bytes > 0) t.row({name, bytes_text(bytes), hp::report::share_text(bytes, needed)});
  };
  for (int c = 0; c < hp::memory_class_count; ++c) row(name_of(static_cast<hp::memory_class>(c)), held_of(e, c));
  row(e.updating > e.evaluation.memory ? "passing, while it updates" : "passing, at the peak", passing_of(e));
  row("allocator, segments it keeps", e.memory() - e.peak());
  row(fmt::format("allocator, {:.1f} % of these", static_cast<double>(a.reserve.allocator_per_mille) / 10),
      a.allocator_bytes(e) - (e.memory() - e.peak()));
  row("run time and libraries", a.reserve.library_bytes);
  if (const hp::extent_t beside = a.beside_bytes(e); beside != 0)
    t.row({"beside these, by the measured run", (beside < 0 ? "-" : "") + bytes_text(beside < 0 ? -beside : beside),
           (beside < 0 ? "-" : "") + hp::report::share_text(beside < 0 ? -beside : beside, needed)});
  row("all", needed);
  return t.text() + stack_text(a) + host_text(a);
}

/// The convention beside the account, to the byte; nothing where none is asked for.
inline std::string comparison_text(const answer& a) {
  if (!a.comparison) return "";
  const hp::memory_comparison& c = *a.comparison;
  if (!c.ok()) return "megatron_2022 " + undefined_text(c) + "\n\n";
  hp::report::table t({"memory by part, bytes", "megatron_2022", "this account", "difference"});
  for (int i = 0; i < hp::memory_part_count; ++i) {
    const auto part = static_cast<hp::memory_part>(i);
    if (c.convention.of(part) != 0 || c.ours.of(part) != 0)
      t.row({name_of(part), std::to_string(c.convention.of(part)), std::to_string(c.ours.of(part)),
             fmt::format("{:+}", c.difference(part))});
  }
  t.row({"all", std::to_string(c.convention.total()), std::to_string(c.ours.total()),
         fmt::format("{:+}", c.difference())});
  return t.text() + fmt::format(
                        "megatron_2022: {} of parameters, gradients and optimizer, {} of activations; the account has "
                        "what is alive at its peak\n\n",
                        bytes_text(c.convention.states()), bytes_text(c.convention.activations()));
}

/// Of a step on a stack: phases, and what the device is busy with.
inline std::string stack_step_text(const answer& a) {
  const hp::plan_estimate& e = a.estimate;
  const hp::stack_time on_stack = a.on_stack(e);
  const hp::extent_t time = e.time();
  hp::report::table t({"step", "time", "share"});
  const auto row = [&](const std::string& name, hp::extent_t picoseconds) {
    t.row({name, time_text(picoseconds), hp::report::share_text(picoseconds, time)});
  };
  row(std::string("computing on ") + a.stack.name, on_stack.total());
  row(a.plan.micro_batches > 1 ? "of it until the last forward ends" : "of it forward", on_stack.forward);
  row(a.plan.micro_batches > 1 ? "of it the last backward" : "of it backward", on_stack.backward);
  row("of it update", on_stack.update);
  for (int i = 0; i < hp::stack_part_count; ++i)
    row(std::string("device: ") + name_of(static_cast<hp::stack_part>(i)), on_stack.part[i]);
  if (on_stack.idle() > 0) row("device: waits for the host", on_stack.idle());
  row("moves", e.moving());
  row("exposed of them", e.exposed());
  if (e.hidden() > 0) row(("hidden by " + std::string(a.stack.name)).c_str(), e.hidden());
  row("lower bound", least_by_data_sheet(a, e));
  row("all", time);
  return t.text() +
         fmt::format("computing is that of {}, by operators {}{}; moves are those of this library's own plan\n",
                     a.stack.name,
                     on_stack.measured ? "measured on one H100" : "of one H100, scaled by the device's peaks",
                     a.measured && a.measured->run.step > 0
                         ? fmt::format(", times {:.3f} by the measured run", a.measured->found.factor)
                         : std::string()) +
         fmt::format("{:.0f} tokens/s a device, MFU {}\n", hp::tokens_per_device_second(e),
                     share_text(hp::model_use(e, a.hardware.device)));
}

/// Where the time comes from.
inline std::string source_text(const hp::plan_estimate& e) {
  const hp::simulated_plan& s = e.simulated;
  if (s.code == hp::simulated_plan_code::exceeds_memory)
    return fmt::format("estimated: memory by address takes at least {}, more than is left for it\n",
                       bytes_text(s.least_bytes));
  if (!s.ok())
    return fmt::format("estimated{}: {}\n", hp::is_1f1b(e.plan) ? "" : " with the bubble of 1F1B", to_text(s.code));
  if (s.is_replayed())
    return fmt::format("{}: bubble {}, handing over {}, at most {} by address; estimated {}\n", to_text(s.code),
                       time_text(s.bubble), time_text(s.handed), bytes_text(s.bytes), time_text(e.evaluation.time));
  return fmt::format("by the clock of the plan with layers unrolled, moves {} ahead, {} by address; estimated {}\n",
                     count_text(s.lookahead, "step"), bytes_text(s.bytes), time_text(e.evaluation.time));
}

/// What one plan of all stages says beside the replay.
inline std::string unrolled_text(const answer& a) {
  const hp::unrolled_pipeline& u = a.unrolled;
  if (u.code == hp::unrolled_pipeline_code::not_asked) return "";
  const std::string name = "as one plan of all stages";
  if (u.ok())
    return fmt::format("{}, proved: {} by its clock, {} by address of the fullest, {} steps\n", name,
                       time_text(u.times.makespan), bytes_text(u.most_bytes()), u.steps);
  if (u.code == hp::unrolled_pipeline_code::has_too_many_steps)
    return fmt::format("{}: not simulated, {} steps or more\n", name, u.steps);
  return fmt::format("{}: {}{}\n", name, to_text(u.code),
                     u.most_bytes() > 0 ? ", it takes " + bytes_text(u.most_bytes()) : std::string());
}

/// The plan as --to asks for it, line by line as a launch file has it.
inline std::string words_text(const answer& a) {
  if (!a.words) return "";
  const hp_tool::launch::launch_text& text = a.words->text;
  std::string out = std::string("\nin words of ") + a.words->framework + ":\n";
  for (const std::string& each : text.lines)
    out += "  " + each + (&each == &text.lines.back() ? "\n" : a.words->line_end);
  for (const std::string& each : text.unsaid) out += "it has no word for " + each + "\n";
  return out;
}

inline std::string step_text(const answer& a) {
  if (a.stack.walked) return stack_step_text(a);
  const hp::plan_estimate& e = a.estimate;
  const hp::extent_t time = e.time();
  hp::report::table t({"step", "time", "share"});
  const auto row = [&](const std::string& name, hp::extent_t picoseconds) {
    t.row({name, time_text(picoseconds), hp::report::share_text(picoseconds, time)});
  };
  row("computing", e.computing());
  row("moves", e.moving());
  row("exposed of them", e.exposed());
  if (e.hidden() > 0) row(std::string("hidden by ") + a.stack.name, e.hidden());
  if (e.unsent() > 0) row(std::string("not sent by ") + a.stack.name, e.unsent());
  if (e.plan.host_states > 0) row("copies to and from the host", e.on_host.copying);
  if (e.plan.host_states > 0) row("update on the host", e.on_host.updating);
  row("least by its shares", e.least());
  row("lower bound", least_by_data_sheet(a, e));
  row("all", time);
  return t.text() + source_text(e) + unrolled_text(a) +
         fmt::format("{:.0f} tokens/s a device, MFU {}\n", hp::tokens_per_device_second(e),
                     share_text(hp::model_use(e, a.hardware.device)));
}

/// Of a full mesh what its links carry, each of which joins two devices.
inline std::string received_text(const answer& a) {
  const bool is_mesh = a.hardware.links.kind == hp::interconnect_kind::full_mesh;
  hp::report::table t({is_mesh ? "carried by the busiest link in a step" : "received by a device in a step", "bytes"});
  for (int l = 0; l < link_count(a.hardware.links); ++l)
    if (a.estimate.received[l] > 0)
      t.row({std::string("over ") + link_at(a.hardware.links, l).name.text, bytes_text(a.estimate.received[l])});
  return t.rows() == 0 ? "nothing is received\n" : t.text();
}

/// Other plans as --fix reads them, with their prices.
inline std::string others_text(const answer& a) {
  hp::report::table t({"--fix", "--devices", "verdict", "needs", "step", "tokens/s a device"});
  for (const priced_plan& p : a.others)
    t.row({fixes_of(p.estimate.plan), std::to_string(hp::device_count_of(p.estimate.plan)),
           name_of(a.verdict(p.estimate)), bytes_text(a.needed(p.estimate)), time_text(p.estimate.time()),
           fmt::format("{:.0f}", hp::tokens_per_device_second(p.estimate))});
  return t.text();
}

inline std::string to_text(const answer& a) {
  std::string out = head_text(a);
  if (!a.status.ok())
    return out + (a.others.empty() ? "\nno plan with these options can be\n"
                                   : "\nthe nearest plans that can be:\n" + others_text(a));
  out += "\n" + verdict_text(a) + "\n" + memory_text(a) + "\n" + comparison_text(a) + step_text(a) + "\n" +
         received_text(a) + words_text(a);
  if (a.is_good()) return out;
  if (a.others.empty()) return out + "\nno change of one degree makes it fit\n";
  return out +
         (a.verdict(a.others[0].estimate) == hp::fit_verdict::fits
              ? "\nthe smallest changes that make it fit:\n"
              : "\nno change of one degree makes it fit; the smallest that make it tight:\n") +
         others_text(a);
}

}  // namespace decoder_plans
