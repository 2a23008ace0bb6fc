// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moves as text: the plan, its steps and transfers, the digits of a pair of layouts, and the certificate.
//
//   named(plan, mesh)          reduction: 2 steps, x reduced
//   named(step, mesh)          collect (None, y) partial(x: sum), x reduced, shares over x
//   named(digits, mesh)        the digit table, a line for each digit
//   sized(certificate, 4)      1 step, 8.0 KiB received by all ranks, bound 8.0 KiB, ratio 1.0000, …
//
// Without a mesh, axes are numbers; without a size, amounts are elements. Law: the ratio is received / bound, rounded
// up, so "1.0000" is printed only at the bound.

#include <string>

#include <hyperparallel/redistribution/certificate.hpp>
#include <hyperparallel/report/format_plan.hpp>
#include <hyperparallel/report/table.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace report {

/// A certificate whose elements take `element_bytes` each; the certificate must outlive it.
struct sized_certificate {
  const move_certificate& certificate;
  extent_t element_bytes;
};

}  // namespace report

inline report::named_value<move_plan> named(const move_plan& p, const mesh_value& m) { return {p, m}; }
inline report::named_value<move_step> named(const move_step& s, const mesh_value& m) { return {s, m}; }
inline report::named_value<digit_table> named(const digit_table& t, const mesh_value& m) { return {t, m}; }

inline report::sized_certificate sized(const move_certificate& c, extent_t element_bytes) { return {c, element_bytes}; }

constexpr const char* to_text(step_kind kind) { return name_of(kind); }

namespace detail {

/// Names of the axes in a mask, joined by commas.
inline std::string mask_text(unsigned mask, const mesh_value* names) {
  std::string out;
  for (int a = 0; mask >> a != 0; ++a)
    if ((mask >> a & 1u) != 0) out += (out.empty() ? "" : ", ") + axis_text(names, a);
  return out;
}

/// `what` is said of the axes of a mask, where there are any: ", x, y reduced".
inline std::string said_of(unsigned mask, const char* what, const mesh_value* names) {
  return mask == 0 ? "" : ", " + mask_text(mask, names) + " " + what;
}

inline std::string move_refusal(const move_plan& p, const mesh_value* names) {
  switch (p.code) {
    case move_code::ok:
      return "ok";
    case move_code::layouts_are_on_different_meshes:
      return "source and target are on different meshes";
    case move_code::source_is_refused:
      return "the source refuses the shape: " + layout_status_text(p.layout, names);
    case move_code::target_is_refused:
      return "the target refuses the shape: " + layout_status_text(p.layout, names);
    case move_code::reductions_do_not_commute:
      return "the reduction along axis " + axis_text(names, p.axis) + " does not commute with that of an earlier axis";
    case move_code::traffic_overflows:
      return "the traffic leaves 64 bits of elements";
    case move_code::filled_axis_is_cut_in_parts:
      return "axis " + axis_text(names, p.axis) + " becomes partial, and the source cuts a part of it";
  }
  return "unknown";
}

inline std::string move_plan_text(const move_plan& p, const mesh_value* names) {
  if (p.code != move_code::ok) return move_refusal(p, names);
  const std::string kind = name_of(p.kind);
  if (p.kind == plan_kind::no_op || p.kind == plan_kind::local_slice) return kind + ": nothing is sent";
  return kind + ": " + counted(p.step_count, "step") + said_of(p.reduced, "reduced", names) +
         said_of(p.filled, "filled", names) + said_of(p.kept, "kept", names);
}

inline std::string move_step_text(const move_step& s, const mesh_value* names) {
  const mesh_value* target_names = s.target_ranks.count > 0 ? nullptr : names;  // on another mesh axes stay numbers
  std::string out = name_of(s.kind);
  if (s.kind != step_kind::spread) out += " " + layout_text(s.source, names);
  if (s.kind != step_kind::collect) out += " -> " + layout_text(s.target, target_names);
  if (s.kind != step_kind::spread) out += said_of(s.reduced, "reduced", names);
  if (s.kind != step_kind::collect) out += said_of(s.filled, "filled", names);
  if (s.shared != 0) out += ", shares over " + mask_text(s.shared, names);
  if (s.replicas.split != 0)
    out += ", boxes dealt over " + mask_text(s.replicas.split, names) +
           (s.replicas.parts > 1 ? " in " + counted(s.replicas.parts, "part") : "");
  return out;
}

/// The part of an axis that a digit is, or "local".
inline std::string owner_text(const mesh_shape& m, int axis, int stride, int size, const mesh_value* names) {
  if (axis < 0) return "local";
  return cut_text(m, {0, axis, m.size[axis] / (stride * size), size}, names);
}

constexpr const char* fate_of(const digit& d) {
  return is_kept(d) ? "kept" : is_moved(d) ? "moved" : is_gathered(d) ? "gathered" : "sliced";
}

/// received / bound in 1/10 000, rounded up; 1 where nothing must move and nothing does.
inline std::int64_t ratio_of(extent_t received, extent_t bound) {
  redistribution_plan p;
  p.received_maximum = received;
  p.lower_bound = bound;
  return received_ratio(p);
}

template <class AmountOf>
std::string certificate_text(const move_certificate& c, const AmountOf& amount_of) {
  if (c.received_total == not_counted) return "nothing is certified: the move is refused";
  const std::string peak = ", peak " + amount_of(c.peak_elements);
  if (c.steps == 0) return "nothing is received" + peak;
  return counted(c.steps, "step") + ", " + amount_of(c.received_total) + " received by all ranks, bound " +
         amount_of(c.least_total) + ", ratio " + to_text(report::ratio{ratio_of(c.received_total, c.least_total)}) +
         "; a rank receives at most " + amount_of(c.received_maximum) + " in " +
         counted(c.messages_maximum, "message") + ", sends at most " + amount_of(c.sent_maximum) + peak;
}

}  // namespace detail

inline std::string to_text(const move_plan& p) { return detail::move_plan_text(p, nullptr); }
inline std::string to_text(const move_step& s) { return detail::move_step_text(s, nullptr); }

/// "from 3: [0:2, 4:8]", and which term of a reduction it is.
inline std::string to_text(const transfer& t) {
  return to_text(exchange_box{t.sender, t.part}) + (t.term > 0 ? ", term " + std::to_string(t.term) : "");
}

inline std::string to_text(const move_certificate& c) {
  return detail::certificate_text(c, [](extent_t n) { return detail::counted(n, "element"); });
}

namespace report {

inline std::string to_text(const named_value<move_plan>& n) {
  return hyperparallel::detail::move_plan_text(n.value, &n.mesh);
}
inline std::string to_text(const named_value<move_step>& n) {
  return hyperparallel::detail::move_step_text(n.value, &n.mesh);
}
inline std::string to_text(const sized_certificate& s) {
  return hyperparallel::detail::certificate_text(s.certificate,
                                                 [&](extent_t n) { return to_text(byte_count{n * s.element_bytes}); });
}

/// A table with a line for each digit, major to minor; one line without one where there is none.
inline std::string to_text(const named_value<digit_table>& n) {
  const digit_table& t = n.value;
  if (!t.refinable) return "no digits: the cut points do not divide each other, boxes come from intervals\n";
  if (t.count == 0) return "no digits: no axis shards the tensor\n";
  table rows({"dim", "digit of size", "in the source", "in the target", "which is"});
  for (int i = 0; i < t.count; ++i) {
    const digit& d = t.digit[i];
    const auto owner = [&](int axis, int stride) {
      return hyperparallel::detail::owner_text(n.mesh.shape, axis, stride, d.size, &n.mesh);
    };
    rows.row({std::to_string(d.dim), std::to_string(d.size), owner(d.source_axis, d.source_stride),
              owner(d.target_axis, d.target_stride), hyperparallel::detail::fate_of(d)});
  }
  return rows.text();
}

}  // namespace report

}}  // namespace hyperparallel::v0_2
