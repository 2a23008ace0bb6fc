// SPDX-License-Identifier: Apache-2.0
#pragma once
// hp sched make: a published schedule as torch's file.

#include <cstdint>
#include <cstdio>
#include <string>

#include <hyperparallel/io/torch_schedule.hpp>
#include <hyperparallel/pipeline/parameter_actions.hpp>
#include <hyperparallel/pipeline/place_transfers.hpp>
#include <hyperparallel/report/format_pipeline.hpp>

#include "../opened_file.hpp"
#include "list.hpp"

namespace sched {

/// Idle cells grow with the square of the ranks.
inline constexpr int most_ranks = 1024, most_chunks = 1024, most_micro_batches = 1 << 20;

struct make_request {
  std::string name, output;
  int ranks = 0, chunks = 0, micro_batches = 0;
  bool idle = true, transfers = false, force = false;
};

inline int make(const make_request& given) {
  if (given.name.empty()) throw hp_tool::bad_input("no schedule is named; known: " + known_names());
  const hp::named_schedule* const schedule = hp::schedule_called(given.name.c_str());
  if (schedule == nullptr)
    throw hp_tool::bad_input(hp::quoted_path(given.name) + " is no published schedule; known: " + known_names());
  for (const auto& [option, size] : {std::pair{"--ranks", given.ranks}, {"--micro-batches", given.micro_batches}})
    if (size == 0) throw hp_tool::bad_input(std::string(option) + " is missing");
  const int fixed = schedule->fixed_chunks;
  const hp::pipeline_shape n{given.ranks, given.chunks > 0 ? given.chunks : fixed > 0 ? fixed : 1, given.micro_batches};
  if (const hp::pipeline_status status = schedule->check(n); !status.ok())
    throw hp_tool::bad_input(hp::to_text(status, schedule->name, n));
  const auto hold = [](std::int64_t cells) {
    if (cells > static_cast<std::int64_t>(hp::most_torch_cells))
      throw hp_tool::bad_input("the table has more than " + std::to_string(hp::most_torch_cells) + " cells");
  };
  hold((given.transfers ? std::int64_t{7} : 3) * n.stages() * n.micro_batches);
  hp::pipeline_schedule made = schedule->generate(n, given.idle && !given.transfers);
  if (given.transfers) made = hp::place_transfers(hp::with_parameter_actions(made));
  hold(made.action.size);
  const std::string text = hp::write_torch_table(hp::torch_table_of(made));
  if (given.output.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  hp::atomic_file file = hp_tool::opened(given.output, given.force);
  file.write(text);
  file.commit();
  hp_tool::say_written(file);
  return 0;
}

}  // namespace sched
