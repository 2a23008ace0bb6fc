// SPDX-License-Identifier: Apache-2.0
#pragma once
// Redistribution between processes: the planned move of arena_redistribution, with each rank's blocks in the memory of
// the process that hosts it.
//
//   hp::mpi_world world(MPI_COMM_WORLD);
//   hp::mpi_redistribution move(world, {x::value, y::value, hp::shape{8, 6}, sizeof(float)});
//   for (int rank : world.hosted()) std::ranges::copy(mine, move.source<float>(rank).begin());
//   move.run();
//
// Law: after `run` the target block of every rank is what the arena gives, bit for bit and for every transport, and
// `received(rank)` the bytes that transfers of other ranks bring. Construction, `run` and destruction are collective;
// each begins or ends with an agreement, so that a process that does something else, fails, dies or hangs is named to
// all processes within six times the world's timeout.

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/exec/failure.hpp>
#include <hyperparallel/mpi/step_work.hpp>

namespace hyperparallel { inline namespace v0_2 {

class mpi_redistribution {
 public:
  mpi_redistribution(const mpi_world& world, const planned_tensor& tensor,
                     mpi_transport transport = mpi_transport::automatic)
      : mpi_redistribution(world, std::vector<planned_tensor>{tensor}, transport) {}

  /// Makes the blocks of several tensors that move together and share messages. Throws mpi_error on all processes
  /// alike, naming what the planner refused, or who gives something else than process 0.
  mpi_redistribution(const mpi_world& world, std::vector<planned_tensor> tensors,
                     mpi_transport transport = mpi_transport::automatic)
      : state_(std::make_unique<state>(world, std::move(tensors), transport)) {
    const std::string refusal = refusal_of(*state_);
    world.channel().agree(state_->name, statement(), refusal);
    try {
      const std::string complaint = detail::complaint_of([&] { state_->allocate(); });
      world.channel().agree(state_->name + ", memory", {}, complaint);
    } catch (...) {
      // Some processes may hold a window that others do not, so nobody can free it: freeing is collective.
      static_cast<void>(state_.release());
      throw;
    }
  }

  mpi_redistribution(mpi_redistribution&&) noexcept = default;
  mpi_redistribution& operator=(mpi_redistribution&&) = delete;

  /// Where processes are not together at this point, the blocks are left to the end of the job.
  ~mpi_redistribution() {
    if (state_ == nullptr) return;
    try {
      if (detail::mpi_is_running()) state_->world.channel().agree("release of " + state_->name);
    } catch (const mpi_error&) {
      static_cast<void>(state_.release());
    }
  }

  int tensors() const { return static_cast<int>(state_->tensors.size()); }
  const move_plan& plan(int tensor = 0) const { return at(tensor).plan(); }
  mpi_transport transport() const { return state_->transport; }

  /// Blocks of a rank that this process hosts, row-major in the shape of its slice; empty for a rank outside the mesh.
  /// T has the tensor's element size. Throws std::invalid_argument.
  template <class T>
  std::span<T> source(int rank, int tensor = 0) const {
    return block<T>(rank, tensor, 0);
  }
  template <class T>
  std::span<T> target(int rank, int tensor = 0) const {
    return block<T>(rank, tensor, plan(tensor).step_count);
  }

  /// Moves all tensors. Throws mpi_error on all processes alike; after a final one the move cannot run again.
  void run() {
    detail::mpi_channel& channel = state_->world.channel();
    const std::string name = state_->name + ", run " + std::to_string(++state_->runs);
    for (const auto& work : state_->work) work->fill();
    state_->blocks->synchronise();
    channel.agree(name);
    for (std::size_t i = 0; i < state_->work.size(); ++i) {
      const std::string complaint = detail::complaint_of([&] {
        state_->blocks->synchronise();
        state_->work[i]->run(channel.timeout());
        state_->blocks->synchronise();
      });
      channel.agree_after_messages(name + ", end of step " + std::to_string(i), complaint);
    }
    state_->blocks->synchronise();
  }

  /// Bytes that other ranks bring to a rank of this process in a run, all tensors together.
  std::int64_t received(int rank) const { return state_->received[static_cast<std::size_t>(rank)]; }

 private:
  struct state {
    mpi_world world;
    std::vector<planned_tensor> tensors;
    mpi_transport transport;
    std::string name;
    int runs = 0;
    std::vector<std::int64_t> received;  ///< by rank; only those of this process count
    std::unique_ptr<move_blocks> blocks;
    std::vector<std::unique_ptr<detail::step_work>> work;  ///< by step

    state(const mpi_world& world_, std::vector<planned_tensor> tensors_, mpi_transport transport_)
        : world(world_),
          tensors(std::move(tensors_)),
          transport(transport_),
          name("redistribution " + std::to_string(world_.next_number())),
          received(static_cast<std::size_t>(world_.ranks())) {}

    void allocate() {
      const bool shares = transport == mpi_transport::automatic || transport == mpi_transport::shared_window;
      blocks = std::make_unique<move_blocks>(world, tensors, shares && world.processes_on_host() > 1);
      int steps = 0;
      for (const planned_tensor& t : tensors) steps = t.plan().step_count > steps ? t.plan().step_count : steps;
      for (int stage = 1; stage <= steps; ++stage)
        work.push_back(std::make_unique<detail::step_work>(world, *blocks, tensors, stage, transport, received));
    }
  };

  std::string statement() const {
    std::string text =
        std::string("transport ") + name_of(state_->transport) + "\n" + std::to_string(tensors()) + " tensors\n";
    for (int t = 0; t < tensors(); ++t) text += detail::statement_of(plan(t), at(t).element);
    return text;
  }

  static std::string refusal_of(const state& s) {
    if (s.transport == mpi_transport::shared_window && s.world.processes_on_host() < s.world.processes())
      return "shared windows alone cannot move data between hosts";
    for (const planned_tensor& t : s.tensors)
      if (const std::string why = refusal_of(t, s.world.ranks()); !why.empty()) return why;
    return {};
  }

  static std::string refusal_of(const planned_tensor& t, int ranks) {
    const move_plan& p = t.plan();
    if (p.code != move_code::ok)
      return "the planner refuses this redistribution, code " + std::to_string(static_cast<int>(p.code));
    if (p.step_count == 0) return "the plan has no steps, so it does not name its layouts";
    for (int stage = 0; stage <= p.step_count; ++stage) {
      const rank_list& listed = stage == 0 ? p.step[0].source_ranks : p.step[stage - 1].target_ranks;
      if (listed.count == 0 && t.positions(stage) != ranks)
        return "the plan is for " + std::to_string(t.positions(stage)) + " ranks, the world has " +
               std::to_string(ranks);
      for (int i = 0; i < listed.count; ++i)
        if (rank_at(listed, i) < 0 || rank_at(listed, i) >= ranks)
          return "the plan names rank " + std::to_string(rank_at(listed, i)) + ", the world has " +
                 std::to_string(ranks);
    }
    if (!t.element.has_type && t.needs_type()) return "the plan reduces or fills, which needs the element's data_type";
    return {};
  }

  const planned_tensor& at(int tensor) const { return state_->tensors[static_cast<std::size_t>(tensor)]; }

  template <class T>
  std::span<T> block(int rank, int tensor, int stage) const {
    const auto bytes = static_cast<std::size_t>(at(tensor).element.bytes);
    if (sizeof(T) != bytes)
      throw std::invalid_argument("the element type has " + std::to_string(sizeof(T)) + " bytes, the plan " +
                                  std::to_string(bytes));
    if (!state_->world.hosts(rank))
      throw std::invalid_argument("rank " + std::to_string(rank) + " lives on process " +
                                  std::to_string(state_->world.process_of(rank)) + ", this is process " +
                                  std::to_string(state_->world.process()));
    return {reinterpret_cast<T*>(state_->blocks->address(tensor, stage, rank)),
            static_cast<std::size_t>(state_->blocks->bytes(tensor, stage, rank)) / bytes};
  }

  std::unique_ptr<state> state_;  ///< its address is in messages and window
};

}}  // namespace hyperparallel::v0_2
