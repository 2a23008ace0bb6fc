// SPDX-License-Identifier: Apache-2.0
#pragma once
// One process's share of some phases of a program: the kernels of its ranks, and moves beside them.
//
// A process carries out its entries of the split flow of the lowered run (lowering/split_messages.hpp), which process 0 has proved.
// While it computes it progresses the messages of open rows. Law: a run ends on every process that is alive, whichever
// fails. A process whose kernel throws stops computing and sends empty messages instead; a process that receives an empty
// message does the same. After one message has timed out, no other is waited for. A run allocates what MPI does.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/exec/failure.hpp>
#include <hyperparallel/lowering/split_proof.hpp>
#include <hyperparallel/mpi/move_messages.hpp>
#include <hyperparallel/world/program_error.hpp>
#include <hyperparallel/world/program_tasks.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class mpi_program_run {
 public:
  /// Program and memory have to outlive it. Throws program_error with the operator that has no kernel, mpi_error,
  /// std::bad_alloc.
  mpi_program_run(const mpi_world& world, const lowered_program& l, const lowered_run& run,
                  const program_memory& memory, kernel_choice choose, data_type computes = data_type::f32,
                  task_checks* checks = nullptr)
      : world_(world),
        program_(l.program),
        checks_(checks),
        phases_(run.phases),
        reads_(run.reads),
        writes_(run.plan.writes),
        survives_(run.plan.survives),
        row_(run.plan.row),
        split_(split_of(world, l, run, world.process())),
        uses_(uses_of_split_tasks(l.program, run.plan)) {
    if (world.process() == 0 && is_proved()) prove(l, run);
    received_.assign(static_cast<std::size_t>(world.ranks()), 0);
    for (int row = 0; row < row_.size; ++row) count_received(l.pulls, row);
    move_.assign(static_cast<std::size_t>(row_.size), nullptr);
    std::vector<std::int64_t> bytes(static_cast<std::size_t>(split_.window));
    for (const split_entry& e : entries()) {
      if (e.kind == split_kind::compute) add_compute(row_[e.row].step, memory, choose, computes);
      if (e.kind != split_kind::open) continue;
      add_move(e.row, l.pulls, memory);
      std::int64_t& most = bytes[static_cast<std::size_t>(e.place)];
      most = std::max(most, aligned(moves_.back().staging_bytes()));
    }
    check_messages();
    place_staging(bytes);
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
  /// Whether the split flow was proved: not where there are very many messages, or runs of bytes that tiles use.
  bool is_proved() const { return split_.messages <= most_proved_messages && uses_ <= most_proved_uses; }
  /// Bytes beside the memory of the ranks, for terms of sums in open rows.
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
    open_.clear();
    for (const split_entry& e : entries()) {
      if (e.kind == split_kind::compute) {
        const compute_step& c = computes_[computed++];
        if (health != run_health::sound) continue;
        if (std::string what = compute(c, training_step); !what.empty()) fail(run_health::stopped, std::move(what));
        if (std::string what = complaint_of([&] { look_at_messages(); }); !what.empty())
          fail(run_health::lost, std::move(what));
        continue;
      }
      move_messages& m = *move_[static_cast<std::size_t>(e.row)];
      if (e.kind == split_kind::open) open_.push_back(&m);
      if (e.kind == split_kind::close) std::erase(open_, &m);
      bool is_there = true;
      std::string what = complaint_of([&] { is_there = carry_out(e, m, health, patience); });
      if (!what.empty()) fail(run_health::lost, name_of_step(program_, row_[e.row].step) + ": " + what);
      if (!is_there && health == run_health::sound) health = run_health::stopped;
      if (e.kind != split_kind::close) continue;
      if (health != run_health::sound)
        m.forget();
      else if (what = complaint_of([&] { m.check(training_step); }); !what.empty())
        fail(run_health::stopped, "step " + std::to_string(row_[e.row].step) + ": " +
                                      name_of_step(program_, row_[e.row].step) + " failed: " + what);
    }
    return out;
  }

 private:
  struct compute_step {
    int step = 0;
    tile_kernel kernel{};
    int micro_batch = 0;
    std::vector<int> rank{};          ///< of this process and the step's part
    std::vector<operator_call> call;  ///< of each of these
  };

  static constexpr int most_proved_messages = 1 << 18;
  static constexpr extent_t most_proved_uses = 1 << 16;  // histories of partial uses cost their squares

  const growing_array<split_entry>& entries() const { return split_.entry[world_.process()]; }
  static split_flow split_of(const mpi_world& world, const lowered_program& l, const lowered_run& run, int only) {
    growing_array<int> home;
    for (int r = 0; r < world.ranks(); ++r) home.push(world.process_of(r));
    return split_messages(l, run, home, world.processes(), {.most_in_flight = world.options().open_moves}, only);
  }
  void prove(const lowered_program& l, const lowered_run& run) const {
    const split_proof proof = prove_split(l, run, split_of(world_, l, run, -1));
    if (proof.code == split_proof_code::ok) return;
    throw program_error("messages of the program are not safe: " + std::string(to_text(proof.code)) + ": " +
                        name_of(proof.task.kind) + " of " + name_of_step(program_, row_[proof.task.row].step) + " on " +
                        world_.name(proof.task.process));
  }

  /// Blocks are exchanged with whom the split flow says.
  void check_messages() const {
    std::vector<std::vector<int>> receives(move_.size()), sends(move_.size());
    for (const split_entry& e : entries()) {
      if (e.kind == split_kind::receive) receives[static_cast<std::size_t>(e.row)].push_back(e.peer);
      if (e.kind == split_kind::send) sends[static_cast<std::size_t>(e.row)].push_back(e.peer);
    }
    for (std::size_t row = 0; row < move_.size(); ++row)
      if (move_[row] != nullptr &&
          (move_[row]->receives_from() != receives[row] || move_[row]->sends_to() != sends[row]))
        throw program_error("messages of the program are not those of its moves: " +
                            name_of_step(program_, row_[static_cast<int>(row)].step));
  }

  /// False where a peer has failed. Throws mpi_error.
  static bool carry_out(const split_entry& e, move_messages& m, run_health health, std::chrono::milliseconds patience) {
    if (e.kind == split_kind::open) m.open(health);
    if (e.kind == split_kind::receive) m.post_receive(e.peer, health);
    if (e.kind == split_kind::send) m.post_send(e.peer, health);
    if (e.kind == split_kind::copy) m.copy(health);
    return e.kind != split_kind::close || health == run_health::lost || m.close(patience);
  }

  void add_compute(int step, const program_memory& memory, kernel_choice choose, data_type computes) {
    compute_step& c = computes_.emplace_back();
    c.step = step;
    c.kernel = kernel_of_step(program_, step, choose, computes);
    c.micro_batch = program_.step[step].micro_batch;
    const int part = part_of_step(program_, program_.step[step]);
    for (const int r : world_.hosted())
      if (part_of_rank(program_, r) == part) {
        c.rank.push_back(r);
        c.call.push_back(call_of(program_, memory, step, r));
      }
  }

  void add_move(int row, const program_pulls& pulls, const program_memory& memory) {
    const int number = program_.step[row_[row].step].index, part = row_[row].first_item / world_.ranks();
    const move_pulls& how = pulls.of(number);
    const int from = place_read(program_, pulls.moves, number, how.row[part]);
    const int to = place_written(program_, pulls.moves, number, how.row[part]);
    const auto source = [&](int rank) { return memory.address(from, rank); };
    const auto target = [&](int rank) { return memory.address(to, rank); };
    move_[static_cast<std::size_t>(row)] =
        &moves_.emplace_back(world_, program_, how, row_[row].step, part, source, target,
                             program_.move[number].detaches ? nullptr : checks_);
  }

  /// Of all ranks, wherever they live.
  void count_received(const program_pulls& pulls, int row) {
    const program_step& s = program_.step[row_[row].step];
    if (!s.is_move || program_.move[s.index].detaches) return;
    const int first = first_rank_of(program_, row_[row].part), ranks = ranks_of_part(program_, row_[row].part);
    const int part = row_[row].first_item / world_.ranks();
    const int element = bytes_of(program_.graph.tensor[program_.value[program_.move[s.index].source].tensor].type);
    for (int r = 0; r < ranks; ++r)
      received_[static_cast<std::size_t>(first + r)] +=
          pulls.of(s.index).pulled[part * ranks + r] / s.tile.count * element;
  }

  /// Each place of the window has as much as the row needs that needs most there.
  void place_staging(const std::vector<std::int64_t>& bytes) {
    std::vector<std::int64_t> begin{0};
    for (const std::int64_t b : bytes) begin.push_back(begin.back() + b);
    staging_ = arena(begin.back());
    for (const split_entry& e : entries())
      if (e.kind == split_kind::open)
        move_[static_cast<std::size_t>(e.row)]->prepare(staging_.data() + begin[static_cast<std::size_t>(e.place)]);
  }

  std::string compute(const compute_step& c, std::int64_t training_step) const {
    for (std::size_t i = 0; i < c.call.size(); ++i) {
      operator_call call = c.call[i];
      call.step = number_of_call(training_step, c.micro_batch);
      const auto work = [&] {
        if (checks_ != nullptr)
          checks_->compute(c.step, c.rank[i], training_step, c.kernel, call);
        else
          c.kernel(call);
      };
      if (std::string what = complaint_of(work); !what.empty())
        return "step " + std::to_string(c.step) + " on rank " + std::to_string(c.rank[i]) + ": " +
               name_of_step(program_, c.step) + " failed: " + what;
    }
    return {};
  }

  void look_at_messages() const {
    for (move_messages* const m : open_) m->look();
  }

  mpi_world world_;
  const sharded_program& program_;
  task_checks* checks_;  ///< none: nothing is checked
  unsigned phases_;
  growing_array<int> reads_;
  growing_array<bool> writes_, survives_;
  growing_array<plan_row> row_;
  split_flow split_;                    ///< of this process
  extent_t uses_ = 0;                   ///< of memory, by all processes
  std::vector<compute_step> computes_;  ///< in the order of the entries
  std::deque<move_messages> moves_;     ///< in the order in which they open
  std::vector<move_messages*> move_;    ///< of each row
  std::vector<move_messages*> open_;
  std::vector<std::int64_t> received_;  ///< of each rank
  arena staging_;
};

}}}  // namespace hyperparallel::v0_2::detail
