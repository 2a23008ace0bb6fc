// SPDX-License-Identifier: Apache-2.0
#pragma once
// The account of a sharded program as text: memory by class, operations, traffic by class, axes and level, times; and the
// clock of its plan.
//
// Laws: parts of a table stand in the order of their enumerations, those that are 0 are left out; the last line of each
// table is the whole. Bytes and times as in format_units.hpp; operations decimal, two decimals.

#include <string>
#include <vector>

#include <hyperparallel/lowering/run_times.hpp>
#include <hyperparallel/price/step_account.hpp>
#include <hyperparallel/report/format_hardware.hpp>
#include <hyperparallel/report/format_units.hpp>
#include <hyperparallel/report/table.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace report {

/// Operations: "12.50 Tflop".
struct operation_count {
  std::int64_t operations = 0;
};

inline std::string to_text(operation_count n) {
  constexpr detail::unit units[] = {{1, "flop"},
                                    {1000, "kflop"},
                                    {1'000'000, "Mflop"},
                                    {1'000'000'000, "Gflop"},
                                    {1'000'000'000'000, "Tflop"},
                                    {1'000'000'000'000'000, "Pflop"}};
  return detail::in_units(n.operations, units, 2);
}

/// `part` of `whole`; "-" where there is no whole.
inline std::string share_text(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return "-";
  const double share = static_cast<double>(part) / static_cast<double>(whole);
  return to_text(percent{static_cast<std::int64_t>(share * 10'000 + 0.5)});
}

/// "dp 4, tp 2".
inline std::string mesh_text(const mesh_value& m) {
  std::string out;
  for (int a = 0; a < m.shape.axis_count; ++a)
    out += (a == 0 ? "" : ", ") + std::string(m.label[a].text) + " " + std::to_string(m.shape.size[a]);
  return out;
}

/// "dp and tp" of a mask.
inline std::string axes_text(const mesh_value& m, unsigned axes) {
  std::string out;
  for (int a = 0; a < m.shape.axis_count; ++a)
    if ((axes >> a & 1u) != 0) out += (out.empty() ? "" : " and ") + std::string(m.label[a].text);
  return out;
}

}  // namespace report

inline std::string to_text(const memory_account& m) {
  if (m.peak == not_counted) return "memory of a device: not counted\n";
  report::table t({"memory of a device", "at the peak", "most", "always"});
  std::int64_t resident = 0;
  for (int c = 0; c < memory_class_count; ++c) {
    resident += m.resident[c];
    if (m.most[c] == 0) continue;
    t.row({name_of(static_cast<memory_class>(c)), to_text(report::byte_count{m.at_peak[c]}),
           to_text(report::byte_count{m.most[c]}), to_text(report::byte_count{m.resident[c]})});
  }
  t.row({"all", to_text(report::byte_count{m.peak}), to_text(report::byte_count{m.peak}),
         to_text(report::byte_count{resident})});
  return t.text();
}

inline std::string to_text(const work_total& w) {
  if (w.flops[0] == not_counted) return "work of a device: not counted\n";
  report::table t({"work of a device", "operations", "bytes"});
  for (int u = 0; u < compute_unit_count; ++u)
    t.row({name_of(static_cast<compute_unit>(u)), to_text(report::operation_count{w.flops[u]}),
           to_text(report::byte_count{w.bytes[u]})});
  t.row({"all", to_text(report::operation_count{w.flops[0] + w.flops[1]}),
         to_text(report::byte_count{w.bytes[0] + w.bytes[1]})});
  return t.text();
}

inline std::string to_text(const step_times& s) {
  if (!s.total.ok()) return to_text(s.total) + "\n";
  const std::int64_t total = s.total.picoseconds;
  report::table t({"time of a step, estimated", "busy", "share"});
  for (int u = 0; u < compute_unit_count; ++u)
    t.row({name_of(static_cast<compute_unit>(u)), to_text(report::duration{s.by_unit[u]}),
           report::share_text(s.by_unit[u], total)});
  t.row({"moves", to_text(report::duration{s.communication_busy}), report::share_text(s.communication_busy, total)});
  t.row({"exposed of it", to_text(report::duration{s.exposed}), report::share_text(s.exposed, total)});
  t.row({"all", to_text(report::duration{total}), report::share_text(total, total)});
  return t.text();
}

/// What the plan takes, and what no order of its tasks can be faster than.
inline std::string to_text(const run_times& r) {
  if (!r.ok()) return to_text(time_cost{r.code, 0}) + "\n";
  constexpr const char* names[resource_count] = {"matrix queue",          "vector queue",          "moves",
                                                 "copies to fast memory", "copies to slow memory", "host"};
  report::table t({"time of the plan", "busy", "share"});
  const auto row = [&](const char* name, std::int64_t time) {
    t.row({name, to_text(report::duration{time}), report::share_text(time, r.makespan)});
  };
  for (int k = 0; k < resource_count; ++k)
    if (r.busy[k] > 0) row(names[k], r.busy[k]);
  row("nothing computes", r.exposed);
  row("bound by work", r.bound.work);
  row("bound by moves", r.bound.links);
  row("bound by the longest path", r.bound.path);
  row("all", r.makespan);
  return t.text();
}

namespace detail {

/// What a device receives, by what travels, by mesh axes and by link level. Levels tell what the busiest devices take
/// in the fastest ways, which times are of; the rows above are of the plans of fewest bytes, which are run.
inline std::string traffic_text(const traffic_account& a, const mesh_value& mesh, const interconnect& links) {
  if (a.bytes == not_counted) return "received by a device: not counted\n";
  report::table t({"received by a device", "bytes", "share", "moves"});
  const auto row = [&](const std::string& name, std::int64_t bytes, const std::string& moves) {
    if (bytes > 0) t.row({name, to_text(report::byte_count{bytes}), report::share_text(bytes, a.bytes), moves});
  };
  for (int c = 0; c < traffic_class_count; ++c) row(name_of(static_cast<traffic_class>(c)), a.by_class[c], "");
  for (int i = 0; i < a.by_axes.size; ++i)
    row("along " + report::axes_text(mesh, a.by_axes.item[i].axes), a.by_axes.item[i].bytes,
        std::to_string(a.by_axes.item[i].moves));
  for (int l = 0; l < link_count(links); ++l)
    row("fastest, over " + std::string(link_at(links, l).name.text), a.by_level[l], "");
  t.row({"all", to_text(report::byte_count{a.bytes}), report::share_text(a.bytes, a.bytes), std::to_string(a.moves)});
  return t.text();
}

/// "16 devices: dp 4, tp 4".
inline std::string devices_text(const mesh_value& m) {
  return std::to_string(device_count(m)) + (device_count(m) == 1 ? " device" : " devices") +
         (m.shape.axis_count > 0 ? ": " : "") + report::mesh_text(m);
}

}  // namespace detail

/// A line for each tensor that stays whole: "states of mlp.up.weight are whole along dp: 32.0 KiB".
inline std::string whole_text(const sharded_program& p) {
  std::string out;
  for (const whole_tensor& w : p.whole) {
    const bool states = w.stage == rule_stage::state;
    out += fmt::format("{}{} {} whole along {}: {}\n",
                       states                            ? "states of "
                       : w.stage == rule_stage::gradient ? "gradient of "
                                                         : "",
                       p.graph.name_of_tensor(w.parameter), states ? "are" : "is",
                       detail::named_mesh_of_part(p, detail::part_of_value(p, p.home[w.parameter])).label[w.axis].text,
                       to_text(report::byte_count{detail::bytes_of_whole(p, w)}));
  }
  return out;
}

inline std::string to_text(const step_account& a) {
  if (a.status.code != strategy_code::ok) return detail::devices_text(a.mesh) + "; the strategy is refused\n";
  if (!a.hardware.ok()) return detail::devices_text(a.mesh) + "; " + to_text(a.hardware) + "\n";
  std::string out = detail::devices_text(a.mesh) + "\n\n" + to_text(a.memory) + "\n" + to_text(a.work) + "\n" +
                    detail::traffic_text(a.traffic, a.mesh, a.links) + "\n" + to_text(a.times) + "\n";
  if (a.whole_bytes > 0)
    out += "whole on each device, though the strategy shards it: " + to_text(report::byte_count{a.whole_bytes}) + "\n";
  out += fmt::format("memory in use {} of {}, matrix operations {} of the bf16 peak\n",
                     report::share_text(a.memory.peak, a.memory_bytes), to_text(report::byte_count{a.memory_bytes}),
                     to_text(report::percent{matrix_use(a)}));
  return out;
}

}}  // namespace hyperparallel::v0_2
