// SPDX-License-Identifier: Apache-2.0
#pragma once
// One process's share of some phases of a program: the kernels of its ranks, and moves beside them.
//
// The actions are those of overlapped_order.hpp, the same on all processes, so that messages meet in one order. While a
// process computes it looks after the messages in flight. Laws: a run ends on every process that is alive, whoever
// fails: a process whose kernel throws computes no more, and sends empty messages in place of the others; who receives
// one does so, too; who waits in vain for a message waits for no other one. A run allocates what MPI does.

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/program/overlapped_order.hpp>
#include <hyperparallel/runtime/failure.hpp>
#include <hyperparallel/runtime/mpi/move_messages.hpp>
#include <hyperparallel/runtime/program_tasks.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class mpi_program_run {
 public:
  /// All but `slots` have to outlive it. Throws program_error with the step that cannot be ordered, mpi_error,
  /// std::bad_alloc.
  mpi_program_run(const mpi_world& world, const sharded_program& p, const program_pulls& pulls,
                  const program_slots& slots, const program_memory& memory, kernel_choice choose, unsigned phases,
                  data_type computes = data_type::f32)
      : world_(world), program_(p), phases_(phases), order_(overlap_moves(p, pulls, slots, {.phases = phases})) {
    if (const program_flow_status& s = order_.status; s.code != program_flow_code::ok)
      throw program_error("step " + std::to_string(s.step) + (s.step < 0 ? "" : " (" + name_of_step(p, s.step) + ")") +
                          " cannot be ordered: " + to_text(s.code) + ", place " + std::to_string(s.place));
    received_.assign(static_cast<std::size_t>(world.ranks()), 0);
    int rows = 0;
    for (const program_step& s : p.step) {
      first_row_.push_back(rows);
      if (s.is_move) rows += pulls.of(s.index).row.size;
    }
    move_.assign(static_cast<std::size_t>(rows), nullptr);
    growing_array<memory_interval> staged;
    for (int i = 0; i < order_.action.size; ++i) {
      const step_action& a = order_.action[i];
      if (a.kind == step_action_kind::compute) {
        add_compute(a.step, memory, choose, computes);
      } else if (a.kind == step_action_kind::start) {
        add_move(a, pulls, memory);
        staged.push({i, i, aligned(moves_.back().staging_bytes())});
        staged_of_.push_back(at(a));
      } else {
        for (int k = 0; k < staged.size; ++k)
          if (staged_of_[static_cast<std::size_t>(k)] == at(a)) staged[k].last = i;
      }
    }
    place_staging(staged);
  }
  mpi_program_run(const mpi_program_run&) = delete;
  mpi_program_run& operator=(const mpi_program_run&) = delete;

  unsigned phases() const { return phases_; }
  /// Values that have to be there before a run.
  const growing_array<int>& reads() const { return order_.reads; }
  bool survives(int storage) const { return order_.survives[storage]; }
  bool writes(int storage) const { return order_.writes[storage]; }
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
    for (const step_action& a : order_.action) {
      if (a.kind == step_action_kind::compute) {
        const compute_step& c = computes_[computed++];
        if (health != run_health::sound) continue;
        if (std::string what = compute(c, training_step); !what.empty()) fail(run_health::stopped, std::move(what));
        if (std::string what = complaint_of([&] { look_at_messages(); }); !what.empty())
          fail(run_health::lost, std::move(what));
        continue;
      }
      move_messages& m = *move_[at(a)];
      bool is_there = true;
      std::string what = complaint_of([&] {
        if (a.kind == step_action_kind::start)
          m.start(health);
        else if (health != run_health::lost)
          is_there = m.finish(patience);
      });
      if (a.kind == step_action_kind::start)
        in_flight_.push_back(&m);
      else
        std::erase(in_flight_, &m);
      if (!what.empty()) fail(run_health::lost, name_of_step(program_, a.step) + ": " + what);
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

  std::size_t at(const step_action& a) const {
    return static_cast<std::size_t>(first_row_[static_cast<std::size_t>(a.step)] + a.row);
  }

  void add_compute(int step, const program_memory& memory, kernel_choice choose, data_type computes) {
    compute_step& c = computes_.emplace_back();
    c.step = step;
    c.kernel = kernel_of_step(program_, step, choose, computes);
    for (const int r : world_.hosted()) c.call.push_back(call_of(program_, memory, step, r));
  }

  void add_move(const step_action& a, const program_pulls& pulls, const program_memory& memory) {
    const int number = program_.step[a.step].index;
    const program_move& m = program_.move[number];
    const move_pulls& how = pulls.of(number);
    const int from = place_read(program_, pulls.moves, number, how.row[a.row]);
    const int to = place_written(program_, pulls.moves, number, how.row[a.row]);
    const auto source = [&](int rank) { return memory.address(from, rank); };
    const auto target = [&](int rank) { return memory.address(to, rank); };
    move_[at(a)] = &moves_.emplace_back(world_, program_, how, number, a.row, source, target);
    const int element = bytes_of(program_.graph.tensor[program_.value[m.source].tensor].type);
    for (int r = 0; r < world_.ranks(); ++r)
      received_[static_cast<std::size_t>(r)] += how.pulled[a.row * world_.ranks() + r] * element;
  }

  /// Moves that are not in flight at the same time share it.
  void place_staging(const growing_array<memory_interval>& staged) {
    const interval_packing packed = pack_intervals(staged, order_.action.size);
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
  overlapped_order order_;
  std::vector<compute_step> computes_;  ///< in the order of the actions
  std::deque<move_messages> moves_;     ///< in the order of their starts
  std::vector<std::size_t> staged_of_;  ///< of each of them: its place in `move_`
  std::vector<int> first_row_;          ///< of each step in `move_`
  std::vector<move_messages*> move_;    ///< of each row of each step
  std::vector<move_messages*> in_flight_;
  std::vector<std::int64_t> received_;  ///< of each rank
  arena staging_;
};

}}}  // namespace hyperparallel::v0_2::detail
