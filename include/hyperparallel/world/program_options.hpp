// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a sharded program is to be run.

#include <string>
#include <vector>

#include <hyperparallel/exec/run_options.hpp>
#include <hyperparallel/exec/run_pace.hpp>
#include <hyperparallel/kernels/operator_call.hpp>
#include <hyperparallel/redistribution/interconnect.hpp>
#include <hyperparallel/tiles/tile_program.hpp>
#include <hyperparallel/world/corruption_checks.hpp>
#include <hyperparallel/world/gradient_overflow.hpp>
#include <hyperparallel/world/memory_budget.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct program_options {
  executor_options execution{};
  std::vector<std::string> keep{};  ///< tensors to be read after a run, beside loss and monitors
  kernel_choice kernels = nullptr;  ///< instead of `kernel_of<T>`
  bool vector_queue = false;        ///< vector operators on a queue of their own
  /// Patterns of names of operators, as "*.experts.*", that are computed tile by tile, so that the moves beside them hide
  /// behind them (tiles/tile_program.hpp). A pattern that names none is refused, and patterns beside no move.
  std::vector<std::string> tiles{};
  int most_tiles = tile_options{}.most;  ///< of one operator
  /// Moves are carried out in the way that is fastest on these links, as `on_topology(hp::h100::topology)`; on none by
  /// fewest bytes, in one step or, where terms meet, in two.
  interconnect topology{};
  int lookahead = 0;       ///< steps by which moves may run ahead; takes memory beyond the least
  memory_budget budget{};  ///< where it has bytes, what does not fit leaves for slower tiers
  bool measured = false;   ///< `step_durations` and `last_run` can be asked for
  run_pace pace{};         ///< on threads: tasks last what they take on a device; needs the `topology`
  overflow_response overflow = overflow_response::stop;  ///< to a gradient of 16 bits that is not finite
  corruption_checks checks{};                            ///< on threads: against bits that change by themselves
};

/// How a program that is lowered already is to be run by these kernels: `program_options` less what changes a plan or asks
/// for its price. Who runs it so compiles neither other kernels nor prices.
struct planned_options {
  kernel_choice kernels = nullptr;  ///< of all its operators
  executor_options execution{};
  bool measured = false;
  overflow_response overflow = overflow_response::stop;
  corruption_checks checks{};
};

}}  // namespace hyperparallel::v0_2
