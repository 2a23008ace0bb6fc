// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory of a pipeline by its actions: what F, I, W, B and the update of a stage take. row_memory.hpp walks rows of them.
//
//   const hp::stage_holding h = hp::holding_of(program, moves, {hp::decoder_part::layers, hp::decoder_part::head});
//   h.home, h.level(hp::action_kind::input_gradient), h.of(hp::action_kind::weight_gradient).peak
//
// Read from the program of a stage with one micro-batch, by lifetime: its steps in the order F, I, W, update, as
// stage_work.hpp sorts them, and once more in the order of the program, as B. So what a micro-batch holds between I and W
// comes out of who reads it: operands of products that are put off, the gradients of their results, and what was computed
// again for both. The parts of the program that another stage has do not count; what crosses to them is handed over.
//
// Law: what B and W leave is the same; on a first stage, which hands nothing back, I takes nothing and W what B takes. Units: bytes
// of tier 0 of a device, each storage rounded up to `storage_alignment`. O(steps + storages).

#include <hyperparallel/lowering/stage_work.hpp>
#include <hyperparallel/pipeline/schedule.hpp>
#include <hyperparallel/price/stage_passes.hpp>
#include <hyperparallel/strategy/address_plan.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Of an action of one micro-batch, in bytes beside homes and other micro-batches: the most, and what it leaves.
struct action_memory {
  extent_t peak = 0, after = 0;
  extent_t taken_in = 0;   ///< what other stages have handed to it
  extent_t handed_on = 0;  ///< what it alone uses of what it hands to others
};

/// What a stage holds.
struct stage_holding {
  extent_t home = 0;         ///< from step to step
  extent_t shared_home = 0;  ///< of it: parameters that a stage before has, too
  action_memory forward{}, input_gradient{}, weight_gradient{}, backward{};
  action_memory norm{}, update{};  ///< of gradients, behind the last micro-batch

  /// Precondition: the kind computes.
  constexpr const action_memory& of(action_kind k) const {
    if (k == action_kind::input_gradient) return input_gradient;
    if (k == action_kind::weight_gradient) return weight_gradient;
    return k == action_kind::backward ? backward : forward;
  }
  /// Of a micro-batch, when the action begins.
  constexpr extent_t level(action_kind k) const {
    if (k == action_kind::weight_gradient) return input_gradient.after;
    return k == action_kind::forward || k == action_kind::overlapped_forward ? 0 : forward.after;
  }
};

/// Parts of a decoder that stand together.
struct part_range {
  decoder_part first = decoder_part::layers, last = decoder_part::layers;
};

namespace detail {

/// Sums up the holding of one stage.
class holding_reader {
 public:
  constexpr holding_reader(const sharded_program& program, const program_moves& sorted, part_range own)
      : p(program), moves(sorted) {
    find_sides(own);
    work_ = work_of_steps(p, [&](int i) { return side_[i]; });
    find_strangers();
  }

  constexpr stage_holding run() const {
    const memory_by_action apart = read(false), together = read(true);
    stage_holding h{0, 0, apart.of[0], apart.of[1], apart.of[2], together.of[1], apart.of[3], apart.of[4]};
    add_homes(h);
    return h;
  }

 private:
  static constexpr int before = 0, here = 1, behind = 2, norm = 3, actions = 5;
  struct memory_by_action {
    action_memory of[actions];
  };
  struct life {
    int first = -1, last = -1;  ///< places among the steps
    int first_action = -1, last_action = -1;
    constexpr bool is_short() const { return first_action == last_action; }
  };

  /// What gathers a parameter goes with its first reader.
  constexpr void find_sides(part_range own) {
    growing_array<int> reader;  // of each value: the side of its first reader from here on, or -1
    side_.resize(p.step.size, here);
    reader.resize(p.value.size, -1);
    for (int i = p.step.size - 1; i >= 0; --i) {
      const program_step& s = p.step.item[i];
      const decoder_part part = part_of(p, s);
      side_[i] = part < own.first ? before : part > own.last ? behind : here;
      if (s.is_move && is_in(s.phase, micro_phases)) {
        const int target = p.move.item[s.index].target;
        const graph_tensor& t = p.graph.tensor.item[p.value.item[target].tensor];
        if (t.kind == graph_tensor_kind::parameter && reader[target] >= 0) side_[i] = reader[target];
      }
      visit_values(p, s, [&](int v, bool written) {
        if (!written) reader[v] = side_[i];
      });
    }
  }
  /// F, I, W, norm, update; where they are together, W is of I.
  constexpr int action_of(int step, bool together) const {
    const stage_work w = work_[step];
    if (together && w == stage_work::weight_gradient) return static_cast<int>(stage_work::input_gradient);
    return static_cast<int>(w) + (p.step.item[step].phase > graph_phase::norm ? 1 : 0);
  }
  constexpr extent_t bytes_of(int storage) const {
    return p.storage.item[storage].tier > 0 ? 0 : aligned(p.storage.item[storage].bytes);
  }

  constexpr graph_tensor_kind kind_of_tensor(int storage) const {
    return p.graph.tensor.item[p.storage.item[storage].tensor].kind;
  }
  /// A state that another stage alone writes is at home there, and handed over to this one.
  constexpr bool is_at_home(int storage) const {
    return p.storage.item[storage].home &&
           (written_[storage] || !made_[storage] || kind_of_tensor(storage) != graph_tensor_kind::state);
  }

  /// Which storages this stage uses and writes, which others make, and which they read. Each gathers parameters itself.
  constexpr void find_strangers() {
    used_.resize(p.storage.size, false);
    written_.resize(p.storage.size, false);
    made_.resize(p.storage.size, false);
    read_.resize(p.storage.size, false);
    earlier_.resize(p.storage.size, false);
    for (int i = 0; i < p.step.size; ++i)
      visit_values(p, p.step.item[i], [&](int v, bool written) {
        const int s = p.value.item[v].storage;
        if (side_[i] == here) {
          used_[s] = true;
          if (written) written_[s] = true;
        } else if (p.storage.item[s].home || kind_of_tensor(s) != graph_tensor_kind::parameter) {
          (written ? made_ : read_)[s] = true;
        }
        if (side_[i] == before) earlier_[s] = true;
      });
  }
  /// An input has a home for every micro-batch.
  constexpr void add_homes(stage_holding& h) const {
    for (int s = 0; s < p.storage.size; ++s) {
      if (!is_at_home(s) || !used_[s]) continue;
      const bool fed = kind_of_tensor(s) == graph_tensor_kind::input;
      h.home += bytes_of(s) * (fed ? extent_t{p.graph.micro_batches} : 1);
      if (earlier_[s] && kind_of_tensor(s) == graph_tensor_kind::parameter) h.shared_home += bytes_of(s);
    }
  }

  /// Law: what is alive behind the last action is 0.
  constexpr memory_by_action read(bool together) const {
    growing_array<int> step,
        end;  // the steps of this stage, action by action; of each action: the place behind its last
    for (int a = 0; a < actions; ++a) {
      for (int i = 0; i < p.step.size; ++i)
        if (side_[i] == here && action_of(i, together) == a) step.push(i);
      end.push(step.size);
    }
    growing_array<life> lives;
    growing_array<extent_t> begins, ends;  // bytes, at each place
    lives.resize(p.storage.size, life{});
    begins.resize(step.size, extent_t{0});
    ends.resize(step.size, extent_t{0});
    for (int at = 0, a = 0; at < step.size; ++at) {
      while (at == end[a]) ++a;
      const program_step& s = p.step.item[step[at]];
      if (s.is_move) {
        begins[at] += aligned(kind_of(moves, s.index).staged_bytes);
        ends[at] += aligned(kind_of(moves, s.index).staged_bytes);
      }
      visit_values(p, s, [&](int v, bool) {
        life& l = lives[p.value.item[v].storage];
        if (l.first < 0) l.first = at, l.first_action = a;
        l.last = at, l.last_action = a;
      });
    }
    memory_by_action out;
    for (int s = 0; s < lives.size; ++s) {
      const life& l = lives[s];
      if (l.first < 0 || is_at_home(s)) continue;
      const bool handed = read_[s] && !made_[s] && l.is_short();
      const bool early = made_[s] && l.first_action < norm;
      begins[!early ? l.first : l.first_action == 0 ? 0 : end[l.first_action - 1]] += bytes_of(s);
      ends[handed ? end[l.last_action] - 1 : l.last] += bytes_of(s);
      if (made_[s]) out.of[l.first_action].taken_in += bytes_of(s);
      if (handed) out.of[l.last_action].handed_on += bytes_of(s);
    }
    extent_t alive = 0;
    for (int a = 0, at = 0; a < actions; ++a) {
      out.of[a].peak = alive;
      for (; at < end[a]; ++at) {
        alive += begins[at];
        out.of[a].peak = larger(out.of[a].peak, alive);
        alive -= ends[at];
      }
      out.of[a].after = alive;
    }
    return out;
  }

  const sharded_program& p;
  const program_moves& moves;
  growing_array<int> side_;             // of each step: where it lies from the stage
  growing_array<stage_work> work_;      // of each step
  growing_array<bool> used_, written_;  // of each storage: by this stage
  growing_array<bool> made_, read_;     // of each storage: by others
  growing_array<bool> earlier_;         // of each storage: used by a stage before
};

}  // namespace detail

/// Of the stage with these parts of a decoder's program of training, layers unrolled, whose moves are sorted.
constexpr stage_holding holding_of(const sharded_program& p, const program_moves& moves, part_range own) {
  return detail::holding_reader(p, moves, own).run();
}

}}  // namespace hyperparallel::v0_2
