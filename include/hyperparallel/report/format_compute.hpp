// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operators of a sharded program as a table: rule, placement, what waits, work of one device.
//
//   std::fputs(hp::compute_text(program, "layers.0.*").c_str(), stdout);
//
//   operator  kind      rule       sharded                        pending  flop  bytes
//   --------  --------  ---------  -----------------------------  -------  ----  -----
//   down      contract  ca,ab->cb  batch 8 / dp 2, ffn 32 / tp 4  tp       1024    896
//
// Laws: one line a compute step, in the program's order; built-in operators and a user's alike. `sharded` names the loops
// that axes cut and these axes, outer before inner; `pending` the axes along which a result waits for a reduction.

#include <string>

#include <hyperparallel/report/format_operators.hpp>
#include <hyperparallel/report/format_program.hpp>
#include <hyperparallel/report/table.hpp>
#include <hyperparallel/strategy/operator_work.hpp>
#include <hyperparallel/strategy/strategy.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

inline std::string sharded_text(const sharded_program& p, const program_compute& c) {
  const graph_operator& o = p.graph.op[c.op];
  const mesh_value& m = named_mesh_of_part(p, part_of_value(p, c.result[0]));
  std::string out;
  for (int l = 0; l < o.loop_count; ++l) {
    std::string axes;
    for (int i = 0; i < c.placement.count; ++i)
      if (const int a = c.placement.axis[i]; c.placement.shards(a, l))
        axes += " / " + std::string(m.label[a].text) + " " + std::to_string(m.shape.size[a]);
    if (axes.empty()) continue;
    out += (out.empty() ? "" : ", ") + std::string(p.graph.name_of_dim(o.loop[l].dim)) + " " +
           std::to_string(o.loop[l].extent) + axes;
  }
  return out.empty() ? "-" : out;
}

inline std::string pending_text(const sharded_program& p, const program_compute& c) {
  const mesh_value& m = named_mesh_of_part(p, part_of_value(p, c.result[0]));
  unsigned axes = 0;
  for (int r = 0; r < p.graph.op[c.op].result_count; ++r)
    for (int a = 0; a < m.shape.axis_count; ++a)
      if (p.value[c.result[r]].layout.partial[a] != reduce_op::none) axes |= 1u << a;
  return axes == 0 ? "-" : report::axes_text(m, axes);
}

}  // namespace detail

/// The compute steps whose operator's name matches `pattern`, which may have `*`. O(steps · axes).
inline std::string compute_text(const sharded_program& p, const char* pattern = "*") {
  report::table t({"operator", "kind", "rule", "sharded", "pending", "flop", "bytes"});
  for (const program_step& s : p.step) {
    if (s.is_move) continue;
    const program_compute& c = p.compute[s.index];
    const graph_operator& o = p.graph.op[c.op];
    if (!detail::name_matches(pattern, p.graph.text_at(o.name))) continue;
    const operator_work w = work_of(p, c);
    t.row({p.graph.text_at(o.name), p.graph.value_of(o).name, to_text(p.graph.rule_of(o)), detail::sharded_text(p, c),
           detail::pending_text(p, c), std::to_string(w.flops), std::to_string(w.bytes_read + w.bytes_written)});
  }
  return t.text();
}

}}  // namespace hyperparallel::v0_2
