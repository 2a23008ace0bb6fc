// SPDX-License-Identifier: Apache-2.0
#pragma once
// What each step of a program costs by itself on given hardware: compute by the roofline of step_timing.hpp, a move by
// the way that is fastest on the topology (move_loads.hpp), or as a copy where nothing travels.
//
// Programs of one mesh ask for the same moves again and again, so each distinct move is priced once and kept.
// Law: a price is the duration of `time_step` where no bucket joins moves. Units: picoseconds.
// O(1) expected for a move that was asked for before.

#include <hyperparallel/hardware/hardware_status.hpp>
#include <hyperparallel/program/step_timing.hpp>

namespace hyperparallel {

/// Prices on one device type and one topology. Position r of the mesh is rank r.
class plan_prices {
 public:
  constexpr plan_prices(const device_value& device, const topology_value& topology)
      : device_(device), fastest_(on_topology(topology)) {
    if (!check_hardware(device, topology).ok()) code_ = cost_code::hardware_is_refused;
  }

  constexpr const device_value& device() const { return device_; }
  constexpr const topology_value& topology() const { return fastest_.links().topology; }
  /// The code of the first cost that is undefined; on refused hardware, that of all.
  constexpr cost_code code() const { return code_; }

  /// One execution of step `i`.
  constexpr extent_t of_step(const sharded_program& p, int i) {
    return p.step[i].is_move ? known_[find(p, p.step[i].index)].picoseconds : of_compute(p, p.step[i].index);
  }

  /// One execution of compute step `c`.
  constexpr extent_t of_compute(const sharded_program& p, int c) {
    const graph_operator& o = p.graph.op[p.compute[c].op];
    const int typed = o.operand_count > 0 ? o.operand[0].tensor : o.result[0].tensor;
    return told(compute_time(device_, work_of(p, p.compute[c]), p.graph.tensor[typed].type));
  }

  /// The program's moves, as far as memory_account_of asks: what lies between their steps.
  constexpr program_moves moves_of(const sharded_program& p) {
    program_moves m;
    for (int i = 0; i < p.move.size; ++i) m.of.push(m.kind.push(known_[find(p, i)].kind));
    return m;
  }

 private:
  struct known_move {
    shape whole{};
    layout_value from{}, to{};
    move_kind kind{};
    extent_t element_bytes = 0;
    extent_t picoseconds = 0;
    int next = -1;
  };
  static constexpr int slots = 256;

  constexpr extent_t told(const time_cost& t) {
    if (code_ == cost_code::ok) code_ = t.code;
    return t.picoseconds;
  }

  /// The move among the known ones, after planning it where it is new.
  constexpr int find(const sharded_program& p, int move) {
    const program_value &from = p.value[p.move[move].source], &to = p.value[p.move[move].target];
    const graph_tensor& tensor = p.graph.tensor[from.tensor];
    move_kind key = detail::key_of_move(p, move);
    if (first_.empty()) first_.resize(slots, -1);
    const int slot = static_cast<int>(key.fingerprint % unsigned{slots});
    for (int k = first_[slot]; k >= 0; k = known_[k].next) {
      const known_move& m = known_[k];
      if (m.kind.fingerprint == key.fingerprint && m.kind.travel == key.travel &&
          m.kind.travel_axis == key.travel_axis && m.element_bytes == bytes_of(tensor.type) &&
          m.whole == tensor.shape && m.from == from.layout && m.to == to.layout)
        return k;
    }
    known_move fresh{tensor.shape, from.layout, to.layout, key, bytes_of(tensor.type), 0, first_[slot]};
    fresh.picoseconds = told(price(p, move, fresh.kind));
    return first_[slot] = known_.push(fresh);
  }

  constexpr time_cost price(const sharded_program& p, int move, move_kind& kind) {
    const program_value &from = p.value[p.move[move].source], &to = p.value[p.move[move].target];
    const graph_tensor& tensor = p.graph.tensor[from.tensor];
    move_load load;
    if (position_count(p.mesh.shape) > 64 && kind.travel_axis < 0 &&
        elements_of(tensor) < position_count(p.mesh.shape)) {
      plan_steps(from.layout, to.layout, tensor.shape, kind);
      load = fastest_.load_of(from.layout, to.layout, tensor.shape, {kind.plan, kind.steps, kind.nearest},
                              bytes_of(tensor.type));
    } else {
      detail::plan_kind_of_move(p, kind);
      load = detail::load_of(p, kind, fastest_);
    }
    if (!load.step.empty() || load.code != cost_code::ok)
      return time_of(load, bytes_of(tensor.type), fastest_.links().topology);
    if (kind.steps == 0) return {};
    return vector_time(device_, 2 * local_bytes(p, p.move[move].target), 1);
  }

  /// Counting what devices receive that share fewer elements than they are takes as long as they are many.
  static constexpr void plan_steps(const layout_value& from, const layout_value& to, const shape& s, move_kind& kind) {
    const move_plan plan = plan_move(from, to, s);
    kind.plan = plan.kind;
    kind.steps = plan.step_count;
    kind.nearest = reads_nearest(plan);
    for (int i = 0; i + 1 < plan.step_count; ++i) kind.between += volume(target_frame(plan.step[i], s, 0));
  }

  device_value device_;
  fastest_moves fastest_;
  growing_array<known_move> known_;
  growing_array<int> first_;
  cost_code code_ = cost_code::ok;
};

}  // namespace hyperparallel
