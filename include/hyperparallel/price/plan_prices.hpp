// SPDX-License-Identifier: Apache-2.0
#pragma once
// What each step of a program costs by itself on given hardware: compute by the roofline of step_times.hpp, a move by
// the way that is fastest on the links (move_loads.hpp), or as a copy where nothing travels.
//
// Programs of one mesh ask for the same moves again and again, so each distinct move is priced once and kept.
// Law: a price is what program_prices.hpp says of the step; so the estimate (step_estimate.hpp) on these prices is
// that of an account. Units: picoseconds.
// O(1) expected for a move that was asked for before.

#include <hyperparallel/hardware/hardware_status.hpp>
#include <hyperparallel/lowering/move_loads.hpp>
#include <hyperparallel/price/step_times.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Prices on one device type and its links: a topology, a full mesh or an interconnect of either. Position r of the mesh
/// is rank r.
class plan_prices {
 public:
  template <class Links>
  constexpr plan_prices(const device_value& device, const Links& links)
      : device_(device), fastest_(interconnect_of(links)) {
    if (!check_hardware(device, fastest_.links()).ok()) code_ = cost_code::hardware_is_refused;
  }

  constexpr const device_value& device() const { return device_; }
  constexpr const interconnect& links() const { return fastest_.links(); }
  /// The code of the first cost that is undefined; on refused hardware, that of all.
  constexpr cost_code code() const { return code_; }

  /// Of one execution of compute step `c`.
  constexpr priced_step of_compute(const sharded_program& p, int c) {
    const priced_step price = detail::price_of_compute(device_, p, c);
    tell(price.time);
    return price;
  }

  /// Whether something goes over a link.
  static constexpr bool travels(const move_load& load) { return !load.step.empty() || load.code != cost_code::ok; }

  /// The number of a move among the known ones, after planning it where it is new.
  constexpr int number_of(const sharded_program& p, int move) { return find(p, move); }
  /// Of the move with that number: what it takes over links, what it is, and its price; a copy over no link has no load.
  constexpr const move_load& load_of(int number) const { return known_[number].load; }
  constexpr const move_kind& kind_of(int number) const { return known_[number].kind; }
  constexpr time_cost of_move(int number) const { return known_[number].time; }

 private:
  struct known_move {
    shape whole{};
    layout_value from{}, to{};
    move_kind kind{};
    extent_t element_bytes = 0;
    time_cost time{};
    move_load load{};
    int next = -1;
  };
  static constexpr int slots = 256;

  constexpr void tell(const time_cost& t) {
    if (code_ == cost_code::ok) code_ = t.code;
  }

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
    known_move fresh{tensor.shape, from.layout, to.layout, key, bytes_of(tensor.type), {}, {}, first_[slot]};
    price(p, move, fresh);
    tell(fresh.time);
    return first_[slot] = known_.push(fresh);
  }

  constexpr void price(const sharded_program& p, int move, known_move& fresh) {
    const graph_tensor& tensor = p.graph.tensor[p.value[p.move[move].source].tensor];
    move_kind& kind = fresh.kind;
    move_load& load = fresh.load;
    const bool few = position_count(p.mesh.shape) > 64 && elements_of(tensor) < position_count(p.mesh.shape);
    load = detail::plan_kind_of_move(p, kind, &fastest_, !few);
    if (kind.travel > 0)
      load = detail::load_of_ring(kind, p.value[p.move[move].target].layout.mesh, links(), bytes_of(tensor.type));
    if (travels(load))
      fresh.time = time_of(load, bytes_of(tensor.type), links());
    else if (kind.steps > 0)
      fresh.time = vector_time(device_, 2 * local_bytes(p, p.move[move].target), 1);
  }

  device_value device_;
  fastest_moves fastest_;
  growing_array<known_move> known_;
  growing_array<int> first_;
  cost_code code_ = cost_code::ok;
};

/// What each step of a program costs by itself: its moves are looked up once.
class priced_program {
 public:
  constexpr priced_program(const sharded_program& program, plan_prices& prices) : p(program), price(prices) {
    number.reserve(p.move.size);
    for (int m = 0; m < p.move.size; ++m) number.push(price.number_of(p, m));
  }

  constexpr priced_step of_compute(int c) const { return price.of_compute(p, c); }
  constexpr bool travels(int m) const { return plan_prices::travels(load_of(m)); }
  constexpr const move_load& load_of(int m) const { return price.load_of(number[m]); }
  constexpr time_cost of_move(int m) const { return price.of_move(number[m]); }
  constexpr const device_value& device() const { return price.device(); }
  constexpr const interconnect& links() const { return price.links(); }
  /// One execution of step `i`.
  constexpr extent_t of_step(int i) const {
    const program_step& s = p.step[i];
    return (s.is_move ? of_move(s.index) : of_compute(s.index).time).picoseconds;
  }

  /// The program's moves, as far as memory_account_of asks: what lies between their steps.
  constexpr program_moves moves() const {
    program_moves m;
    m.of.reserve(number.size);
    m.kind.reserve(number.size);
    for (const int n : number) m.of.push(m.kind.push(price.kind_of(n)));
    return m;
  }

 private:
  const sharded_program& p;
  plan_prices& price;
  growing_array<int> number;  ///< of each move
};

}}  // namespace hyperparallel::v0_2
