// SPDX-License-Identifier: Apache-2.0
#pragma once
// A step of training under a budget of memory as text: what stays, leaves or is made again, by class; times and
// traffic.
//
// Laws: classes stand in the order of their enumeration, those without bytes are left out; a plan that is refused is
// one line with the least budget and what is then alive. Bytes and times as in format_units.hpp.

#include <string>

#include <hyperparallel/report/format_program.hpp>
#include <hyperparallel/step/step_offload.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace report { namespace detail {

/// "at least 6.29 GiB are needed with layers.0-31.feed_forward.gate (2.10 GiB), temporaries (0.42 GiB)".
inline std::string least_text(const step_offload& o) {
  std::string out = "at least " + to_text(byte_count{o.least_budget}) + " are needed";
  for (int i = 0; i < o.alive_count; ++i)
    out += fmt::format("{}{} ({})", i == 0 ? " with " : ", ",
                       o.alive[i].name.length > 0 ? o.alive[i].name.text : "temporaries",
                       to_text(byte_count{o.alive[i].bytes}));
  return out;
}

inline std::string refusal_text_of(const step_offload& o) {
  std::string out = "within " + to_text(byte_count{o.budget}) + ": " + to_text(o.code);
  if (o.code == offloading_code::not_planned) return out + ": " + to_text(o.status.code);
  if (o.code == offloading_code::rules_are_refused)
    return out + ": \"" + o.pattern.text + "\": " + to_text(o.ruled.code);
  return out + "; " + least_text(o);
}

}}  // namespace report::detail

inline std::string to_text(const step_offload& o) {
  using report::byte_count;
  using report::duration;
  if (o.budget == 0) return "no budget\n";
  if (!o.ok()) return report::detail::refusal_text_of(o) + "\n";
  report::table t({"memory of a device", "stays", "leaves", "is made again"});
  offload_shares all;
  const auto row = [&](const char* name, const offload_shares& s) {
    t.row({name, to_text(byte_count{s.kept}), to_text(byte_count{s.offloaded}), to_text(byte_count{s.recomputed})});
  };
  for (int c = 0; c < memory_class_count; ++c) {
    const offload_shares& s = o.share[c];
    if (s.kept + s.offloaded + s.recomputed == 0) continue;
    row(name_of(static_cast<memory_class>(c)), s);
    all = {all.kept + s.kept, all.offloaded + s.offloaded, all.recomputed + s.recomputed};
  }
  row("all", all);
  std::string out = t.text();
  out += fmt::format("within {}: {} of it at the most, at least {}\n", to_text(byte_count{o.budget}),
                     to_text(byte_count{o.peak[0]}), to_text(byte_count{o.least_budget}));
  out +=
      fmt::format("a step takes {}, no plan takes less than {}; {} of it waits for copies\n",
                  to_text(duration{o.step_time}), to_text(duration{o.step_time_bound}), to_text(duration{o.exposed}));
  out += fmt::format("copied in {}, out {}\n", to_text(byte_count{o.bytes_in}), to_text(byte_count{o.bytes_out}));
  for (int tier = 1; tier < most_tiers; ++tier)
    if (o.peak[tier] > 0) out += fmt::format("tier {} holds {}\n", tier, to_text(byte_count{o.peak[tier]}));
  return out +
         fmt::format("planned as {} operators, {} groups of storages, {} gaps\n", o.operators, o.storages, o.gaps);
}

}}  // namespace hyperparallel::v0_2
