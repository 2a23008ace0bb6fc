// SPDX-License-Identifier: Apache-2.0
#pragma once
// What hp plan found, as JSON: the figures of its text.

#include <string>
#include <utility>

#include "../json_amounts.hpp"
#include "answer.hpp"
#include "left_out.hpp"

namespace decoder_plans {

using hp_tool::json, hp_tool::seconds_or_null;

inline json json_of(const hp::decoder_plan& p) {
  json out = json::object();
  for (const hp::plan_degree& d : hp::plan_degrees) out[d.name] = p.*d.of;
  out["zero"] = p.zero;
  out["copies"] = p.copies;
  out["micro_batches"] = p.micro_batches;
  out["recomputed"] = p.recomputed;
  out["selective"] = p.selective;
  out["modules"] = p.modules == 0 ? json() : json(recomputation_text(p));
  out["adapter_rank"] = p.adapter_rank;
  out["adapted"] = p.adapter_rank == 0 ? json() : json(p.adapted == hp::adapted_products::all ? "all" : "qkv");
  out["optimizer"] = name_of(p.optimizer);
  out["host_states"] = p.host_states;
  out["sequence_parallel"] = p.sequence_parallel;
  out["experts_along"] = p.experts_along_tp || p.experts_along_cp ? json(experts_along_text(p)) : json();
  out["schedule"] = hp::schedule_of(p).name;
  out["chunks"] = p.chunks;
  out["precision"] = name_of(p.formats);
  out["batch"] = p.batch;
  out["sequence"] = p.sequence;
  return out;
}

/// Another plan with its price.
inline json json_of(const priced_plan& p, const answer& a) {
  return {{"fix", fixes_of(p.estimate.plan)},
          {"devices", hp::device_count_of(p.estimate.plan)},
          {"changes", p.changes == 0 ? json() : json(p.changes)},
          {"verdict", name_of(a.verdict(p.estimate))},
          {"needed_bytes", hp_tool::bytes_or_null(a.needed(p.estimate))},
          {"step_seconds", seconds_or_null(p.estimate.time())},
          {"tokens_per_device_second", hp::tokens_per_device_second(p.estimate)}};
}

inline json memory_json(const answer& a) {
  const hp::plan_estimate& e = a.estimate;
  json kinds = json::object();
  for (int c = 0; c < hp::memory_class_count; ++c) kinds[name_of(static_cast<hp::memory_class>(c))] = held_of(e, c);
  kinds["passing"] = passing_of(e);
  const hp::extent_t needed = a.needed(e);
  json out = {{"peak_bytes", e.peak()},
              {"kinds_bytes", std::move(kinds)},
              {"allocator_bytes", a.allocator_bytes(e)},
              {"library_bytes", a.reserve.library_bytes},
              {"needed_bytes", hp_tool::bytes_or_null(needed)},
              {"device_bytes", a.hardware.device.tier[0].bytes},
              {"left_bytes", a.hardware.device.tier[0].bytes - needed}};
  if (a.measured) out["measured_beside_bytes"] = a.beside_bytes(e);
  if (e.plan.host_states > 0)
    out["host"] = {{"bytes", e.on_host.bytes},
                   {"states_bytes", e.on_host.states},
                   {"room_bytes", hp_tool::bytes_or_null(e.on_host.room)}};
  if (!e.is_walked()) return out;
  out["stack"] = a.stack.name;
  out["peak_is"] = name_of(e.on_stack.moment);
  out["after_forward_bytes"] = e.on_stack.after_forward;
  out["steady_bytes"] = e.on_stack.steady;
  out["reserved_bytes"] = e.on_stack.reserved;
  return out;
}

/// The convention beside the account, part by part.
inline json comparison_json(const hp::memory_comparison& c) {
  json out = {{"name", "megatron_2022"}};
  if (!c.ok()) {
    out["why"] = "megatron_2022 " + undefined_text(c);
    return out;
  }
  const auto amounts = [](hp::extent_t convention, hp::extent_t account) {
    return json{
        {"convention_bytes", convention}, {"account_bytes", account}, {"difference_bytes", account - convention}};
  };
  json parts = json::object();
  for (int i = 0; i < hp::memory_part_count; ++i) {
    const auto part = static_cast<hp::memory_part>(i);
    parts[name_of(part)] = amounts(c.convention.of(part), c.ours.of(part));
  }
  out["parts"] = std::move(parts);
  out["states_bytes"] = c.convention.states();
  out["activations_bytes"] = c.convention.activations();
  out.update(amounts(c.convention.total(), c.ours.total()));
  return out;
}

/// The plan that was simulated, or the pipeline whose schedule was replayed, or why there is none.
inline json clock_json(const hp::simulated_plan& s) {
  if (!s.ok()) return {{"why", to_text(s.code)}};
  if (s.is_replayed())
    return {{"how", to_text(s.code)},
            {"seconds", seconds_or_null(s.times.makespan)},
            {"bubble_seconds", seconds_or_null(s.bubble)},
            {"handed_seconds", seconds_or_null(s.handed)},
            {"lookahead", s.lookahead},
            {"address_bytes", s.bytes},
            {"least_address_bytes", s.least_bytes}};
  return {{"how", "simulated as a plan"},
          {"seconds", seconds_or_null(s.times.makespan)},
          {"unhindered_seconds", seconds_or_null(s.unhindered)},
          {"lookahead", s.lookahead},
          {"address_bytes", s.bytes},
          {"least_address_bytes", s.least_bytes}};
}

/// The pipeline as one plan of all stages, or why there is none.
inline json unrolled_json(const hp::unrolled_pipeline& u) {
  if (!u.ok()) return {{"why", to_text(u.code)}, {"steps", u.steps}};
  json bytes = json::array();
  for (const hp::extent_t b : u.bytes) bytes.push_back(b);
  return {{"seconds", seconds_or_null(u.times.makespan)},
          {"exposed_seconds", seconds_or_null(u.times.exposed)},
          {"address_bytes", std::move(bytes)},
          {"lookahead", u.lookahead},
          {"steps", u.steps}};
}

/// The computing of a stack: phases and parts, by the clocks of device and host.
inline json stack_json(const hp::stack_time& t, const char* name) {
  json parts = json::object();
  for (int i = 0; i < hp::stack_part_count; ++i)
    parts[name_of(static_cast<hp::stack_part>(i))] = seconds_or_null(t.part[i]);
  return {{"name", name},
          {"by", t.measured ? "operators measured on one H100" : "operators of one H100, scaled by peaks"},
          {"forward_seconds", seconds_or_null(t.forward)},
          {"backward_seconds", seconds_or_null(t.backward)},
          {"update_seconds", seconds_or_null(t.update)},
          {"parts_seconds", std::move(parts)},
          {"idle_seconds", seconds_or_null(t.idle())},
          {"host_seconds", seconds_or_null(t.host)},
          {"kernels", t.kernels}};
}

inline json step_json(const answer& a) {
  const hp::plan_estimate& e = a.estimate;
  json levels = json::array();
  const bool is_mesh = a.hardware.links.kind == hp::interconnect_kind::full_mesh;
  for (int l = 0; l < link_count(a.hardware.links); ++l)
    levels.push_back({{"level", link_at(a.hardware.links, l).name.text},
                      {is_mesh ? "busiest_link_bytes" : "received_bytes", e.received[l]}});
  json out = {{"seconds", seconds_or_null(e.time())},
              {"lower_bound_seconds", seconds_or_null(least_by_data_sheet(a, e))},
              {"least_by_shares_seconds", seconds_or_null(e.least())},
              {"compute_seconds", seconds_or_null(e.computing())},
              {"communication_seconds", seconds_or_null(e.moving())},
              {"exposed_seconds", seconds_or_null(e.exposed())},
              {"hidden_seconds", seconds_or_null(e.hidden())},
              {"unsent_seconds", seconds_or_null(e.unsent())},
              {"estimated_seconds", seconds_or_null(e.evaluation.time)},
              {"clock", clock_json(e.simulated)},
              {"one_plan", unrolled_json(a.unrolled)},
              {"tokens_per_device_second", hp::tokens_per_device_second(e)},
              {"model_operations", e.model_operations},
              {"model_use_share", hp::model_use(e, a.hardware.device)},
              {"levels", std::move(levels)}};
  if (e.plan.host_states > 0)
    out["host"] = {{"down_bytes", e.on_host.down},
                   {"up_bytes", e.on_host.up},
                   {"copying_seconds", seconds_or_null(e.on_host.copying)},
                   {"updating_seconds", seconds_or_null(e.on_host.updating)},
                   {"saved_seconds", seconds_or_null(e.on_host.saved)}};
  if (a.stack.walked) out["stack"] = stack_json(a.on_stack(e), a.stack.name);
  if (a.words)
    out["words"] = {
        {"framework", a.words->framework}, {"lines", a.words->text.lines}, {"unsaid", a.words->text.unsaid}};
  return out;
}

inline json launch_json(const hp_tool::launch::launch_plan& l) {
  return {{"unheeded", l.unheeded},
          {"notes", l.notes},
          {"padded_vocabulary", l.vocabulary == 0 ? json() : json(l.vocabulary)}};
}

inline json measured_json(const calibration_by_run& m) {
  const auto or_null = [](bool there, auto value) { return there ? json(value) : json(); };
  const bool timed = m.run.step > 0, held = m.run.memory > 0;
  return {{"step_seconds", or_null(timed, static_cast<double>(m.run.step) / 1e12)},
          {"memory_bytes", or_null(held, m.run.memory)},
          {"factor", or_null(timed, m.found.factor)},
          {"beside_bytes", or_null(held || m.found.beside != 0, m.found.beside)},
          {"fix", fixes_of(m.run.plan)},
          {"devices", hp::device_count_of(m.run.plan)},
          {"batch", m.run.plan.batch},
          {"sequence", m.run.plan.sequence}};
}

inline json json_of(const answer& a) {
  json out = {{"family", a.config.family},
              {"parameters", hp::parameters_of(a.config.model).total()},
              {"active_parameters", hp::active_parameters_of(a.config.model).total()},
              {"not_counted", left_out(a.config, a.memory)},
              {"positions", a.config.positions.is_known() ? json(a.config.positions.positions) : json()},
              {"towers", a.config.towers},
              {"set_aside", a.config.set_aside},
              {"hardware", a.hardware.name.text},
              {"devices", a.devices},
              {"plan", json_of(a.plan)},
              {"legal", a.status.ok()}};
  if (a.measured) out["measured"] = measured_json(*a.measured);
  if (!a.status.ok()) out["why"] = cause_text(a.status);
  if (a.launch) out["launch"] = launch_json(*a.launch);
  json others = json::array();
  for (const priced_plan& p : a.others) others.push_back(json_of(p, a));
  if (a.status.ok()) {
    out["verdict"] = name_of(a.verdict(a.estimate));
    out["memory"] = memory_json(a);
    if (a.comparison) out["convention"] = comparison_json(*a.comparison);
    out["step"] = step_json(a);
    out["fitting_changes"] = std::move(others);
  } else {
    out["nearest"] = std::move(others);
  }
  return out;
}

}  // namespace decoder_plans
