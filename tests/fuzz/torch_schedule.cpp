// SPDX-License-Identifier: Apache-2.0
// parse_torch_table and what hp sched check does with a table: what is read is written back and read again as the same; its
// schedule is refused in one line, or held under each transport, with transfers put where the table has none.

#include <hyperparallel/io/torch_schedule.hpp>
#include <hyperparallel/pipeline/place_transfers.hpp>
#include <hyperparallel/pipeline/replay.hpp>
#include <hyperparallel/report/format_pipeline.hpp>

#include "target.hpp"

namespace hp = hyperparallel;

/// Larger tables take the account seconds.
constexpr std::size_t most_bytes = 1 << 14;

namespace {

void hold_under_transports(const hp::pipeline_schedule& s) {
  const hp::pipeline_costs costs = hp::equal_stages({10, 11, 8}, 1);
  if (!hp::costs_fit(costs, s.stages, s.micro_batches)) return;
  const bool has_transfers = hp::holds_transfers(s);
  for (const hp::transport& t : {hp::transport(hp::unbounded::value), hp::transport(hp::ordered_queues::value),
                                 hp::transport(hp::buffered<2>::value), hp::transport(hp::blocking_rows::value)}) {
    hp::pipeline_schedule sent = s;
    if (!has_transfers && t.kind != hp::transport_kind::unbounded) {
      if (!hp::check_schedule(s).ok()) continue;
      sent = hp::place_transfers(s);
    }
    const hp::pipeline_account a = hp::replay(sent, costs, t);
    if (a.ok())
      fuzz::hold(a.ideal <= a.makespan && a.longest_rank_span <= a.makespan, "a makespan is at least the ideal");
    else
      fuzz::hold_one_line(hp::to_text(a.status, "", {}, t));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > most_bytes) return 0;
  hp::torch_table table;
  try {
    table = hp::parse_torch_table(fuzz::text_of(data, size));
  } catch (const hp::torch_table_error& e) {
    fuzz::hold_one_line(e.what());
    return 0;
  }
  fuzz::hold(hp::parse_torch_table(hp::write_torch_table(table)) == table, "what is written is read as the same");
  for (const std::optional<hp::stage_placement> placement :
       {std::optional<hp::stage_placement>(), std::optional(hp::stage_placement::loop),
        std::optional(hp::stage_placement::v)}) {
    const hp::torch_schedule s = hp::schedule_of(table, placement);
    if (s.status.ok())
      hold_under_transports(s.schedule);
    else
      fuzz::hold_one_line(hp::to_text(s.status));
  }
  return 0;
}
