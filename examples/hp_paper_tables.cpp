// SPDX-License-Identifier: Apache-2.0
//
// hp_paper_tables [--json FILE|-]
//
// Published figures of HyperParallel-MoE (arXiv 2605.23764) and HyperOffload (arXiv 2602.00748) beside ours, from one
// set of parameters. Exit status: 0 when every anchor holds, 1 when one does not or the file cannot be written, 2 for a
// command line that cannot be read.

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <hyperparallel/io/atomic_file.hpp>

#include "command_line.hpp"
#include "hp_paper_tables/host_swap_sweep.hpp"
#include "hp_paper_tables/l2_interleave.hpp"
#include "hp_paper_tables/longest_sequence.hpp"
#include "hp_paper_tables/masking.hpp"
#include "hp_paper_tables/modules.hpp"
#include "hp_paper_tables/offload_parameters.hpp"
#include "hp_paper_tables/planner.hpp"
#include "hp_paper_tables/reactive_paging.hpp"
#include "hp_paper_tables/recompute_or_offload.hpp"
#include "hp_paper_tables/skew.hpp"
#include "hp_paper_tables/step.hpp"
#include "hp_paper_tables/tables.hpp"

namespace {

using namespace hp_paper_tables;

anchor_rows all_anchors(const parameters& p, const offload_parameters& o) {
  const module_figures modules = simulate_modules(p);
  const double module_speed_up[] = {modules.speed_up(0), modules.speed_up(1), modules.speed_up(2)};
  anchor_rows rows;
  for (const anchor_rows& part :
       {module_table(modules), end_to_end(p, module_speed_up), ceilings(p), better_than_published(p, modules),
        l2_interleave(p), masking(p), skew(p), host_swap_sweep(o), recompute_or_offload(o),
        longest_sequence(o, p.device(false)), reactive_paging(o, p.device(false))})
    rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  std::string json;
  CLI::App app("Published figures beside ours, from one set of parameters.", "hp_paper_tables");
  app.add_option(
      "--json", json,
      "also write parameters and anchors to this file as JSON; -: to standard output, in place of the tables");
  return command_line::run(app, argc, argv, [&] {
    std::optional<hyperparallel::atomic_file> file;
    if (!json.empty() && json != "-") file.emplace(json);
    const parameters p;
    const offload_parameters o;
    const anchor_rows anchors = all_anchors(p, o);
    std::vector<parameter_row> rows = p.rows();
    const std::vector<parameter_row> more = o.rows();
    rows.insert(rows.end(), more.begin(), more.end());
    if (file) {
      file->write(json_of(rows, anchors));
      file->commit();
    }
    if (json == "-")
      std::fputs(json_of(rows, anchors).c_str(), stdout);
    else
      std::fputs(text_of(rows, anchors).c_str(), stdout);
    return all_hold(anchors) ? 0 : 1;
  });
}
