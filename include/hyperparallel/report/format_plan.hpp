// SPDX-License-Identifier: Apache-2.0
#pragma once
// Redistribution plans as text: what kind of move, how many steps and messages, what it brings against what it must.
//
//   all-to-all: 1 step, 3 messages, 12.0 MiB received, bound 12.0 MiB, ratio 1.0000
//
// A plan counts elements; `sized(plan, element_bytes)` prints bytes. Law: the ratio is received / bound, rounded up, so
// "1.0000" is printed only at the bound.

#include <string>

#include <hyperparallel/redistribution/plan.hpp>
#include <hyperparallel/report/format_layout.hpp>
#include <hyperparallel/report/format_units.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace report {

/// A plan whose elements take `element_bytes` each; the plan must outlive it.
struct sized_plan {
  const redistribution_plan& plan;
  extent_t element_bytes;
};

}  // namespace report

inline report::sized_plan sized(const redistribution_plan& p, extent_t element_bytes) { return {p, element_bytes}; }

constexpr const char* to_text(plan_kind kind) { return name_of(kind); }

inline std::string to_text(const plan_status& s) {
  switch (s.code) {
    case plan_code::ok:
      return "ok";
    case plan_code::meshes_differ:
      return "source and target are on different meshes";
    case plan_code::source_is_refused:
      return "the source refuses the shape: " + to_text(s.layout);
    case plan_code::target_is_refused:
      return "the target refuses the shape: " + to_text(s.layout);
    case plan_code::partial_is_not_moved_here:
      return "a partial layout needs a reduction, which no redistribution is";
    case plan_code::reductions_do_not_commute:
      return "reductions wait along two axes that do not commute";
    case plan_code::traffic_overflows:
      return "the traffic leaves 64 bits of elements";
  }
  return "unknown";
}

namespace detail {

inline std::string counted(extent_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// received / bound in 1/10 000, rounded up; 1 where nothing must move and nothing does.
constexpr std::int64_t received_ratio(const redistribution_plan& p) {
  if (p.lower_bound == 0) return p.received_maximum == 0 ? 10000 : INT64_MAX;
  return p.received_maximum / p.lower_bound * 10000 +
         ceil_divide(p.received_maximum % p.lower_bound * 10000, p.lower_bound);
}

template <class AmountOf>
std::string plan_text(const redistribution_plan& p, const AmountOf& amount_of) {
  if (p.status.code != plan_code::ok) return to_text(p.status);
  std::string out = name_of(p.kind);
  if (p.steps == 0) return out + ": nothing is sent";
  return out + ": " + counted(p.steps, "step") + ", " + counted(p.messages, "message") + ", " +
         amount_of(p.received_maximum) + " received, bound " + amount_of(p.lower_bound) + ", ratio " +
         to_text(report::ratio{received_ratio(p)});
}

}  // namespace detail

inline std::string to_text(const redistribution_plan& p) {
  return detail::plan_text(p, [](extent_t n) { return detail::counted(n, "element"); });
}

inline std::string to_text(const exchange_box& b) {
  return "from " + std::to_string(b.sender) + ": " + to_text(b.global);
}

namespace report {

inline std::string to_text(const sized_plan& s) {
  return hyperparallel::detail::plan_text(s.plan, [&](extent_t n) { return to_text(byte_count{n * s.element_bytes}); });
}

}  // namespace report

}}  // namespace hyperparallel::v0_2
