// SPDX-License-Identifier: Apache-2.0
#pragma once
// Redistribution on arenas: a planned move carried out between the memories of simulated ranks.
//
//   hp::arena_redistribution move(x::value, y::value, hp::shape{8, 6}, sizeof(float));
//   std::ranges::copy(mine, move.source<float>(rank).begin()); … move.run();
//   move.target<float>(rank)
//
// Law: after `run` every rank's target block is its slice of the tensor, and `received(rank)` is the lower bound
// |T_r ∖ S_r| of the plan, counted from the bytes that the boxes of other ranks brought.

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <hyperparallel/program/planned_flow.hpp>
#include <hyperparallel/redistribution/lower_exchange.hpp>
#include <hyperparallel/runtime/copy_boxes.hpp>
#include <hyperparallel/runtime/world.hpp>

namespace hyperparallel {

class arena_redistribution {
 public:
  /// Plans source → target and allocates both blocks on every position of the mesh.
  /// Throws std::invalid_argument when the planner refuses the pair, arena_error, bind_error.
  arena_redistribution(const layout_value& source, const layout_value& target, const shape& s,
                       std::size_t element_bytes, const executor_options& execution = {})
      : state_(std::make_unique<state>()) {
    exchange_flow& flow = state_->flow;
    flow = {source, target, s, plan_redistribution(source, target, s), static_cast<int>(element_bytes), 1};
    if (flow.plan.status.code != plan_code::ok)
      throw std::invalid_argument("the planner refuses this redistribution, code " +
                                  std::to_string(static_cast<int>(flow.plan.status.code)));
    machine_shape machine;
    machine.ranks = position_count(source.mesh);
    machine.queues[static_cast<int>(resource::link)] = 1;
    state_->received.resize(static_cast<std::size_t>(machine.ranks));
    const planned_flow planned(flow, machine, {});
    const verify_status safe = planned.verify();
    if (safe.code != verify_code::ok) throw std::invalid_argument(to_text(safe.code));
    static constexpr const char* names[] = {"pull boxes"};
    world_options options;
    options.execution = execution;
    options.execution.names = {names, 1, nullptr, 0};
    state_->world = std::make_unique<hyperparallel::world>(planned.flow(), planned.schedule(), options);
    state_->world->bind(0, &pull, state_.get());
  }

  const redistribution_plan& plan() const { return state_->flow.plan; }
  int ranks() const { return state_->world->ranks(); }

  /// The rank's blocks, row-major in the shape of its slice. T has the element size given at construction.
  template <class T>
  std::span<T> source(int rank) const {
    return block<T>(rank, state_->flow.source, rank);
  }
  template <class T>
  std::span<T> target(int rank) const {
    return block<T>(ranks() + rank, state_->flow.target, rank);
  }

  run_result run(const progress& watch = {}) { return state_->world->run(watch); }

  /// Bytes that other ranks' boxes brought to `rank` in the last run.
  std::int64_t received(int rank) const { return state_->received[static_cast<std::size_t>(rank)]; }

 private:
  struct state {
    exchange_flow flow{};
    std::vector<std::int64_t> received;  ///< each entry is written by its own rank's task
    std::unique_ptr<hyperparallel::world> world;
  };

  box slice(const layout_value& l, int rank) const {
    return slice_at(l, state_->flow.shape, coordinates_of(l.mesh, rank));
  }

  template <class T>
  std::span<T> block(int slot, const layout_value& l, int rank) const {
    if (sizeof(T) != static_cast<std::size_t>(state_->flow.element_bytes))
      throw std::invalid_argument("the element type has " + std::to_string(sizeof(T)) + " bytes, the plan " +
                                  std::to_string(state_->flow.element_bytes));
    return state_->world->data<T>(slot).first(static_cast<std::size_t>(volume(slice(l, rank))));
  }

  /// The kernel: every box of one receiver, from the sender's source block into its own target block.
  static void pull(const kernel_call& call) {
    state& s = *static_cast<state*>(call.user);
    const exchange_flow& f = s.flow;
    const receiver r =
        receiver_at(f.source, f.target, f.shape, f.plan.replicas, coordinates_of(f.source.mesh, call.item));
    std::int64_t received = 0;
    for (extent_t k = 0; k < r.boxes; ++k) {
      const exchange_box b = box_at(f.source, r, k);
      const box held = slice_at(f.source, f.shape, coordinates_of(f.source.mesh, b.sender));
      box_copy copy;
      copy.dims = f.shape.rank;
      copy.element_bytes = f.element_bytes;
      for (int d = 0; d < copy.dims; ++d) {
        const interval part = b.global.dim[d];
        copy.extent[d] = part.end - part.begin;
        copy.source_shape[d] = held.dim[d].end - held.dim[d].begin;
        copy.source_offset[d] = part.begin - held.dim[d].begin;
        copy.target_shape[d] = r.wanted.dim[d].end - r.wanted.dim[d].begin;
        copy.target_offset[d] = part.begin - r.wanted.dim[d].begin;
      }
      const std::int64_t moved =
          copy_box(copy, s.world->address(b.sender), s.world->address(s.world->ranks() + call.item));
      if (b.sender != call.item) received += moved;
    }
    s.received[static_cast<std::size_t>(call.item)] = received;
  }

  std::unique_ptr<state> state_;  ///< the kernel keeps its address
};

}  // namespace hyperparallel
