// SPDX-License-Identifier: Apache-2.0
#pragma once
// One process's share of some phases of a program: the kernels of its ranks, and moves beside them.
//
// Rows come in the order of message_order.hpp, which is the same on all processes, so that messages meet in one order. While
// a process computes it progresses the messages in flight. Law: a run ends on every process that is alive, whichever
// fails. A process whose kernel throws stops computing and sends empty messages instead; a process that receives an empty
// message does the same. After one message has timed out, no other is waited for. A run allocates what MPI does.

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/program/message_order.hpp>
#include <hyperparallel/runtime/failure.hpp>
#include <hyperparallel/runtime/mpi/move_messages.hpp>
#include <hyperparallel/runtime/program_tasks.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class mpi_program_run {
 public:
  /// Program and memory have to outlive it. Throws program_error with the operator that has no kernel, mpi_error,
  /// std::bad_alloc.
  mpi_program_run(const mpi_world& world, const lowered_program& l, const lowered_run& run,
                  const program_memory& memory, kernel_choice choose, data_type computes = data_type::f32)
      : world_(world),
        program_(l.program),
        phases_(run.phases),
        reads_(run.reads),
        writes_(run.plan.writes),
        survives_(run.plan.survives),
        row_(run.plan.row),
        action_(order_of_messages(l, run)) {
    received_.assign(static_cast<std::size_t>(world.ranks()), 0);
    move_.assign(static_cast<std::size_t>(row_.size), nullptr);
    growing_array<memory_interval> staged;
    std::vector<int> staged_row;
    for (int i = 0; i < action_.size; ++i) {
      const row_action& a = action_[i];
      if (a.kind == row_action_kind::compute) {
        add_compute(row_[a.row].step, memory, choose, computes);
      } else if (a.kind == row_action_kind::start) {
        add_move(a.row, l.pulls, memory);
        staged.push({i, i, aligned(moves_.back().staging_bytes())});
        staged_row.push_back(a.row);
      } else {
        for (int k = 0; k < staged.size; ++k)
          if (staged_row[static_cast<std::size_t>(k)] == a.row) staged[k].last = i;
      }
    }
    place_staging(staged);
  }
  mpi_program_run(const mpi_program_run&) = delete;
  mpi_program_run& operator=(const mpi_program_run&) = delete;

  unsigned phases() const { return phases_; }
  /// Values that have to be there before a run.
  const growing_array<int>& reads() const { return reads_; }
  bool survives(int storage) const { return survives_[storage]; }
  bool writes(int storage) const { return writes_[storage]; }
  /// Bytes that other ranks bring to a rank in one run.
  std::int64_t received(int rank) const { return received_[static_cast<std::size_t>(rank)]; }
  /// Bytes beside the memory of the ranks, for messages in flight.
  std::int64_t staging_bytes() const { return staging_.bytes(); }

  /// What went wrong here, empty for nothing; final where messages may be on their way for ever.
  struct outcome {
    std::string complaint;
    bool is_final = false;
  };

  /// The share of this process. `patience` is that for the messages of one move.
  outcome run(std::int64_t training_step, std::chrono::milliseconds patience) {
    outcome out;
    run_health health = run_health::sound;
    std::size_t computed = 0;
    const auto fail = [&](run_health how, std::string what) {
      if (out.complaint.empty()) out.complaint = std::move(what);
      if (health < how) health = how;
      out.is_final = health == run_health::lost;
    };
    in_flight_.clear();
    for (const row_action& a : action_) {
      if (a.kind == row_action_kind::compute) {
        const compute_step& c = computes_[computed++];
        if (health != run_health::sound) continue;
        if (std::string what = compute(c, training_step); !what.empty()) fail(run_health::stopped, std::move(what));
        if (std::string what = complaint_of([&] { look_at_messages(); }); !what.empty())
          fail(run_health::lost, std::move(what));
        continue;
      }
      move_messages& m = *move_[static_cast<std::size_t>(a.row)];
      bool is_there = true;
      std::string what = complaint_of([&] {
        if (a.kind == row_action_kind::start)
          m.start(health);
        else if (health != run_health::lost)
          is_there = m.finish(patience);
      });
      if (a.kind == row_action_kind::start)
        in_flight_.push_back(&m);
      else
        std::erase(in_flight_, &m);
      if (!what.empty()) fail(run_health::lost, name_of_step(program_, row_[a.row].step) + ": " + what);
      if (!is_there && health == run_health::sound) health = run_health::stopped;
    }
    return out;
  }

 private:
  struct compute_step {
    int step = 0;
    typed_kernel kernel{};
    std::vector<operator_call> call;  ///< of each rank of this process
  };

  void add_compute(int step, const program_memory& memory, kernel_choice choose, data_type computes) {
    compute_step& c = computes_.emplace_back();
    c.step = step;
    c.kernel = kernel_of_step(program_, step, choose, computes);
    for (const int r : world_.hosted()) c.call.push_back(call_of(program_, memory, step, r));
  }

  void add_move(int row, const program_pulls& pulls, const program_memory& memory) {
    const int number = program_.step[row_[row].step].index, part = row_[row].first_item / world_.ranks();
    const program_move& m = program_.move[number];
    const move_pulls& how = pulls.of(number);
    const int from = place_read(program_, pulls.moves, number, how.row[part]);
    const int to = place_written(program_, pulls.moves, number, how.row[part]);
    const auto source = [&](int rank) { return memory.address(from, rank); };
    const auto target = [&](int rank) { return memory.address(to, rank); };
    move_[static_cast<std::size_t>(row)] = &moves_.emplace_back(world_, program_, how, number, part, source, target);
    const int element = bytes_of(program_.graph.tensor[program_.value[m.source].tensor].type);
    for (int r = 0; r < world_.ranks(); ++r)
      received_[static_cast<std::size_t>(r)] += how.pulled[part * world_.ranks() + r] * element;
  }

  /// Moves that are not in flight at the same time share it.
  void place_staging(const growing_array<memory_interval>& staged) {
    const interval_packing packed = pack_intervals(staged, action_.size);
    staging_ = arena(packed.high_water);
    for (int k = 0; k < staged.size; ++k)
      moves_[static_cast<std::size_t>(k)].prepare(staging_.data() + (staged[k].bytes > 0 ? packed.offset[k] : 0));
  }

  std::string compute(const compute_step& c, std::int64_t training_step) const {
    for (std::size_t i = 0; i < c.call.size(); ++i) {
      operator_call call = c.call[i];
      call.step = training_step;
      if (std::string what = complaint_of([&] { c.kernel(call); }); !what.empty())
        return "step " + std::to_string(c.step) + " on rank " + std::to_string(world_.hosted()[i]) + ": " +
               name_of_step(program_, c.step) + " failed: " + what;
    }
    return {};
  }

  void look_at_messages() const {
    for (move_messages* const m : in_flight_) m->look();
  }

  mpi_world world_;
  const sharded_program& program_;
  unsigned phases_;
  growing_array<int> reads_;
  growing_array<bool> writes_, survives_;
  growing_array<plan_row> row_;
  growing_array<row_action> action_;
  std::vector<compute_step> computes_;  ///< in the order of the actions
  std::deque<move_messages> moves_;     ///< in the order of their starts
  std::vector<move_messages*> move_;    ///< of each row
  std::vector<move_messages*> in_flight_;
  std::vector<std::int64_t> received_;  ///< of each rank
  arena staging_;
};

}}}  // namespace hyperparallel::v0_2::detail
