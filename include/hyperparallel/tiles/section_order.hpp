// SPDX-License-Identifier: Apache-2.0
#pragma once
// The order of the steps of a section, some of them in tiles, in which moves hide behind operators.
//
// List scheduling on queues of operators, of vector operators where they have their own, and of moves. Of the steps and
// tiles that can begin first, a queue takes
//   1. tiles of moves, and what they wait for: tile by tile;
//   2. other tiles, as those of weight gradients, which no move takes on;
//   3. steps beside the tiles; their moves only when all tiles of moves have begun.
// So operators of 2 and 3 run while the first tile is on its way, and while the last one is.
//
// Laws: a step, or its tile, comes after what it reads, and after the readers and the writers before of what it writes;
// a tile of a step follows that tile of another one where both have the dim of tiles in what they share, else all of its
// tiles. Where one of them is cut along an inner dim too, tiles of the outer cut that they have in common follow each other.
// Each unit stands there once, tiles of a step in rising order. O(steps² · accesses² + units · waits of a section).

#include <hyperparallel/strategy/lifetimes.hpp>
#include <hyperparallel/tiles/tile_box.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// A step of the section: tiles, or one unit.
struct section_step {
  int step = -1;          ///< of the program
  step_tile cut{};        ///< into tiles; without a dim: it stays whole
  extent_t duration = 1;  ///< of the whole step

  constexpr bool is_tiled() const { return cut.dim >= 0; }
};

class section_orderer {
 public:
  /// Tiles of all steps have one outer cut.
  constexpr section_orderer(const sharded_program& p, const growing_array<section_step>& steps, bool vector_queue,
                            extent_t synchronisation)
      : p_(p),
        steps_(steps),
        vector_queue_(vector_queue),
        synchronisation_(synchronisation),
        after_(steps.size),
        rank_(steps.size, 3),
        begun_(steps.size, 0),
        first_unit_(steps.size + 1, 0) {
    for (int i = 0; i < steps.size; ++i) first_unit_.item[i + 1] = first_unit_.item[i] + units_of(i);
    end_.resize(first_unit_.last(), extent_t{0});
    find_order();
    rank_steps();
  }

  /// Calls visit(step of the program, its tile) in the order.
  template <class Visit>
  constexpr void run(const Visit& visit) {
    extent_t free[queues] = {};
    candidate
        next[queues];  // set anew below: g++ 12 keeps what a constant evaluation left in an array declared in the loop
    for (int left = first_unit_.last(); left > 0; --left) {
      for (candidate& c : next) c = {-1, 0};
      for (int i = 0; i < steps_.size; ++i) {
        const int queue = queue_of(i);
        if (queue == of_moves && rank_.item[i] == 3 && leading_moves_ > 0) continue;
        if (begun_.item[i] < units_of(i)) offer(next[queue], i, free[queue]);
      }
      int queue = of_moves;
      for (int q = queues - 2; q >= 0; --q)
        if (next[q].step >= 0 && (next[queue].step < 0 || next[q].begin < next[queue].begin)) queue = q;
      const int i = next[queue].step;
      const step_tile tile = tile_at(steps_.item[i].cut, begun_.item[i]++);
      free[queue] = next[queue].begin + steps_.item[i].duration / tile.count;
      end_.item[first_unit_.item[i] + tile.index] = free[queue];
      if (queue == of_moves && rank_.item[i] < 3) --leading_moves_;
      visit(steps_.item[i].step, tile);
    }
  }

 private:
  struct predecessor {
    int step = 0;
    bool whole = false;  ///< all of its tiles
  };
  struct candidate {
    int step = -1;
    extent_t begin = 0;
  };

  static constexpr int queues = 3, of_moves = 2;  // 0: operators, 1: vector operators

  constexpr int queue_of(int i) const {
    if (is_move(i)) return of_moves;
    const graph_operator& o = p_.graph.op.item[p_.compute.item[at(i).index].op];
    return vector_queue_ && p_.graph.value_of(o).unit == compute_unit::vector ? 1 : 0;
  }
  constexpr const program_step& at(int i) const { return p_.step.item[steps_.item[i].step]; }
  constexpr bool is_move(int i) const { return at(i).is_move; }
  constexpr int units_of(int i) const { return steps_.item[i].cut.count; }

  constexpr bool has_dim(int value, const step_tile& cut) const {
    return place_of_dim(p_.graph.tensor.item[p_.value.item[value].tensor], cut.dim) >= 0;
  }
  constexpr void find_order() {
    for (int i = 0; i < steps_.size; ++i)
      for (int k = 0; k < i; ++k) {
        const step_tile& cut = steps_.item[i].cut;
        bool meets = false, whole = !steps_.item[i].is_tiled() || !steps_.item[k].is_tiled();
        visit_values(p_, at(i), [&](int v, bool writes) {
          visit_values(p_, at(k), [&](int w, bool wrote) {
            if ((!writes && !wrote) || p_.value.item[v].storage != p_.value.item[w].storage) return;
            meets = true;
            whole = whole || !has_dim(v, cut) || !has_dim(w, cut);
          });
        });
        if (meets) after_.item[i].push({k, whole});
      }
  }
  /// 1 for tiles of moves and all that they wait for, 2 for other tiles, 3 for the rest.
  constexpr void rank_steps() {
    for (int i = steps_.size - 1; i >= 0; --i) {
      if (steps_.item[i].is_tiled() && (is_move(i) || rank_.item[i] > 1)) rank_.item[i] = is_move(i) ? 1 : 2;
      if (rank_.item[i] > 1) continue;
      for (const predecessor& before : after_.item[i]) rank_.item[before.step] = 1;
    }
    for (int i = 0; i < steps_.size; ++i)
      if (is_move(i) && rank_.item[i] < 3) leading_moves_ += units_of(i);
  }

  /// When all that the next unit of a step follows has ended, or -1 where some of it has not begun.
  constexpr extent_t ready_at(int i) const {
    extent_t ready = 0;
    for (const predecessor& before : after_.item[i]) {
      const step_tile& other = steps_.item[before.step].cut;
      const int last =
          (before.whole ? other.count : tiles_met(other, tile_at(steps_.item[i].cut, begun_.item[i])).end) - 1;
      if (begun_.item[before.step] <= last) return -1;
      const extent_t seen = queue_of(before.step) == queue_of(i) ? 0 : synchronisation_;
      ready = larger(ready, end_.item[first_unit_.item[before.step] + last] + seen);
    }
    return ready;
  }
  /// Takes the step's next unit where it can begin before the candidate, or as early and comes first.
  constexpr void offer(candidate& c, int i, extent_t free) const {
    const extent_t ready = ready_at(i);
    if (ready < 0) return;
    const extent_t begin = larger(ready, free);
    if (c.step < 0 || begin < c.begin || (begin == c.begin && comes_first(i, c.step))) c = {i, begin};
  }
  constexpr bool comes_first(int i, int k) const {
    if (rank_.item[i] != rank_.item[k]) return rank_.item[i] < rank_.item[k];
    return begun_.item[i] < begun_.item[k];  // or the step that stood first
  }

  const sharded_program& p_;
  const growing_array<section_step>& steps_;
  bool vector_queue_ = false;
  extent_t synchronisation_ = 0;                     // between queues
  growing_array<growing_array<predecessor>> after_;  // what each step follows
  growing_array<int> rank_;                          // of each step
  growing_array<int> begun_;                         // units of each step, which begin one after the other
  growing_array<int> first_unit_;                    // of each step
  growing_array<extent_t> end_;                      // of each unit that has begun
  int leading_moves_ = 0;                            // tiles of moves of ranks 1 and 2 that have not begun
};

}}}  // namespace hyperparallel::v0_2::detail
