// SPDX-License-Identifier: Apache-2.0
//
// hp tables [--json]
//
// Published figures of HyperParallel-MoE (arXiv 2605.23764), HyperOffload (arXiv 2602.00748) and of tensor parallelism
// on supernodes beside ours, from one set of parameters and the presets of hardware.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "json_output.hpp"
#include "subcommand.hpp"
#include "tables/cache_offload.hpp"
#include "tables/host_swap_sweep.hpp"
#include "tables/l2_interleave.hpp"
#include "tables/longest_sequence.hpp"
#include "tables/masking.hpp"
#include "tables/modules.hpp"
#include "tables/offload_parameters.hpp"
#include "tables/planner.hpp"
#include "tables/reactive_paging.hpp"
#include "tables/recompute_or_offload.hpp"
#include "tables/skew.hpp"
#include "tables/step.hpp"
#include "tables/tables.hpp"
#include "tables/tensor_parallel.hpp"

namespace {

using namespace tables;

anchor_rows all_anchors(const parameters& p, const offload_parameters& o) {
  const module_figures modules = play_modules(p);
  const double module_speed_up[] = {modules.speed_up(0), modules.speed_up(1), modules.speed_up(2)};
  anchor_rows rows;
  for (const anchor_rows& part :
       {module_table(modules), end_to_end(p, module_speed_up), ceilings(p), better_than_published(p, modules),
        l2_interleave(p), masking(p), skew(p), host_swap_sweep(o), recompute_or_offload(o),
        longest_sequence(o, p.device()), reactive_paging(o, p.device()), cache_offload_rows(), tensor_parallel_rows()})
    rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

}  // namespace

hp_tool::work hp_tool::add_tables(command_line::command app) {
  const auto as_json = std::make_shared<bool>(false);
  add_json(app, *as_json);
  app.footer(
      "Reads nothing. Prints the parameters with where each is from, then a row for each published figure: ours, the\n"
      "error and what it is held to.\n\n"
      "hp tables\nhp tables --json > tables.json\n\n"
      "Exit status: 0 every row holds, 1 one fails, 2 bad input.");
  return [as_json] {
    const parameters p;
    const offload_parameters o;
    const anchor_rows anchors = all_anchors(p, o);
    std::vector<parameter_row> rows = p.rows();
    const std::vector<parameter_row> more = o.rows();
    rows.insert(rows.end(), more.begin(), more.end());
    if (*as_json)
      print(json_of(rows, anchors));
    else
      std::fputs(text_of(rows, anchors).c_str(), stdout);
    return all_hold(anchors) ? 0 : 1;
  };
}
