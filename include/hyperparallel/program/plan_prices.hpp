// SPDX-License-Identifier: Apache-2.0
#pragma once
// What each step of a program costs by itself on given hardware: compute by the roofline of step_timing.hpp, a move by
// latencies and bytes on the link levels that its mesh axes lie on, or as a copy where nothing travels.
//
// Programs of one mesh ask for the same moves again and again, so each distinct move is planned once and kept.
// Law: the prices are the durations of `time_step` where no bucket joins moves. Units: picoseconds.
// O(1) expected for a move that was asked for before.

#include <hyperparallel/program/step_timing.hpp>

namespace hyperparallel {

/// Prices on one device type and one topology. Position r of the mesh is rank r.
class plan_prices {
 public:
  constexpr plan_prices(const device_value& device, const topology_value& topology)
      : device_(device), net_(on_topology(topology)) {}

  constexpr const device_value& device() const { return device_; }
  constexpr const topology_value& topology() const { return net_.topology; }
  /// The first cost that could not be told.
  constexpr cost_code code() const { return code_; }

  /// One execution of step `i`.
  constexpr extent_t of_step(const sharded_program& p, int i) {
    return p.step[i].is_move ? of_move(p, p.step[i].index) : of_compute(p, p.step[i].index);
  }

  /// One execution of compute step `c`.
  constexpr extent_t of_compute(const sharded_program& p, int c) {
    const graph_operator& o = p.graph.op[p.compute[c].op];
    const int typed = o.operand_count > 0 ? o.operand[0].tensor : o.result[0].tensor;
    return told(compute_time(device_, work_of(p, p.compute[c]), p.graph.tensor[typed].type));
  }

 private:
  struct priced_move {
    shape whole{};
    layout_value from{}, to{};
    int travel = 0, travel_axis = -1;
    extent_t element_bytes = 0;
    extent_t picoseconds = 0;
    unsigned fingerprint = 0;
    int next = -1;
  };
  static constexpr int slots = 256;

  constexpr extent_t told(const time_cost& t) {
    if (code_ == cost_code::ok) code_ = t.code;
    return t.picoseconds;
  }

  constexpr extent_t of_move(const sharded_program& p, int move) {
    const program_value &from = p.value[p.move[move].source], &to = p.value[p.move[move].target];
    move_kind key = detail::key_of_move(p, move);
    const extent_t element_bytes = bytes_of(p.graph.tensor[from.tensor].type);
    if (first_.empty()) first_.resize(slots, -1);
    int& slot = first_[static_cast<int>(key.fingerprint % unsigned{slots})];
    for (int k = slot; k >= 0; k = known_[k].next) {
      const priced_move& m = known_[k];
      if (m.fingerprint == key.fingerprint && m.travel == key.travel && m.travel_axis == key.travel_axis &&
          m.element_bytes == element_bytes && m.whole == p.graph.tensor[from.tensor].shape && m.from == from.layout &&
          m.to == to.layout)
        return m.picoseconds;
    }
    detail::plan_kind_of_move(p, key);
    time_cost t;
    if (!(mesh_ == p.mesh.shape)) peers_.clear();
    mesh_ = p.mesh.shape;
    if (key.received > 0)
      t = time_of(detail::load_of(p, key, net_, peers_), element_bytes, net_.topology);
    else if (key.steps > 0)
      t = vector_time(device_, 2 * local_bytes(p, p.move[move].target), 1);
    const extent_t price = told(t);
    slot = known_.push({p.graph.tensor[from.tensor].shape, from.layout, to.layout, key.travel, key.travel_axis,
                        element_bytes, price, key.fingerprint, slot});
    return price;
  }

  device_value device_;
  interconnect net_;
  growing_array<priced_move> known_;
  growing_array<int> first_;
  mesh_shape mesh_{};
  growing_array<detail::group_peers> peers_;  ///< of that mesh
  cost_code code_ = cost_code::ok;
};

}  // namespace hyperparallel
