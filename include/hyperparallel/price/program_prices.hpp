// SPDX-License-Identifier: Apache-2.0
#pragma once
// What each step of a program takes by itself, from its kinds of moves and their loads; and moves of one bucket together.
//
// Compute takes what step_times.hpp says; a move over links latencies and bytes by link level (move_loads.hpp), one within
// each device a copy in its memory. Reductions of gradients in one bucket (gradient_buckets.hpp) are posted one behind the other:
// the greatest latency of each step is paid once, by the first, and each of the others adds what its bytes do.
// Laws: of moves of one bucket the times add up to that of their loads joined; a move of no bucket takes its price.
// Units: picoseconds. O(steps of a move · link levels).

#include <hyperparallel/lowering/move_loads.hpp>
#include <hyperparallel/price/step_times.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

constexpr extent_t element_bytes_of(const sharded_program& p, int move) {
  return bytes_of(p.graph.tensor.item[p.value.item[p.move.item[move].source].tensor].type);
}

/// `load` is of the kinds of moves on `links`; the device one that `check` accepts.
struct program_prices {
  const sharded_program& p;
  const program_moves& moves;
  const growing_array<move_load>& load;
  const device_value& device;
  const interconnect& links;

  constexpr priced_step of_compute(int c, const step_tile& tile = {}) const {
    return price_of_compute(device, p, c, tile);
  }
  constexpr bool travels(int m) const { return kind_of(moves, m).received > 0; }
  constexpr const move_load& load_of(int m) const { return load[moves.of[m]]; }
  constexpr time_cost of_move(int m) const {
    if (travels(m)) return time_of(load_of(m), element_bytes_of(p, m), links);
    if (kind_of(moves, m).steps == 0) return {};
    return vector_time(device, 2 * local_bytes(p, p.move.item[m].target), 1);
  }
};

/// Prices of moves, asked for in program order. `Prices` has, of a move by itself: `travels(m)`, whether it uses a link;
/// `of_move(m)`, its time; `load_of(m)`, its load on the links that it uses.
template <class Prices>
class bucket_prices {
 public:
  growing_array<extent_t> step;  ///< of the last move: what each of its steps over links takes

  constexpr bucket_prices(const sharded_program& program, const Prices& of_moves, const interconnect& net)
      : p(program), prices(of_moves), links(net) {}

  /// Of a tile of a move: each of its messages has its latency, and its share of the bytes.
  constexpr time_cost of_next_tile(int move, int tiles) {
    step.clear();
    if (!prices.travels(move)) {
      time_cost share = prices.of_move(move);
      share.picoseconds = ceil_divide(share.picoseconds, tiles);
      return share;
    }
    const move_load& load = prices.load_of(move);
    time_cost all{load.code, 0};
    for (step_levels one : load.step) {
      for (auto& level : one.level) {
        level.elements = ceil_divide(level.elements, tiles);
        level.sent = ceil_divide(level.sent, tiles);
      }
      const time_cost time = time_of(one, element_bytes_of(p, move), links);
      step.push(time.picoseconds);
      all = then(all, time);
    }
    return all;
  }

  constexpr time_cost of_next(int move) {
    step.clear();
    if (!prices.travels(move)) return prices.of_move(move);
    const move_load& load = prices.load_of(move);
    const extent_t bytes = element_bytes_of(p, move);
    const int bucket = p.move.item[move].bucket;
    time_cost all{load.code, 0};
    for (int k = 0; k < load.step.size; ++k) {
      const time_cost one =
          bucket < 0 ? time_of(load.step.item[k], bytes, links) : added(bucket, k, load.step.item[k], bytes);
      step.push(one.picoseconds);
      all = then(all, one);
    }
    return all;
  }

 private:
  /// Steps of the same number run at the same time.
  constexpr time_cost added(int bucket, int k, const step_levels& one, extent_t bytes) {
    if (bucket >= carried.size) carried.resize(bucket + 1);
    growing_array<step_levels>& of_bucket = carried.item[bucket];
    if (k >= of_bucket.size) of_bucket.resize(k + 1);
    step_levels& sum = of_bucket.item[k];
    const extent_t before = time_of(sum, 1, links).picoseconds;
    for (int l = 0; l < max_link_levels; ++l) {
      sum.level[l].elements += one.level[l].elements * bytes;
      sum.level[l].sent += one.level[l].sent * bytes;
      sum.level[l].messages = larger(sum.level[l].messages, one.level[l].messages);
    }
    if (one.code != cost_code::ok) sum.code = one.code;
    time_cost time = time_of(sum, 1, links);
    time.picoseconds -= before;
    return time;
  }

  const sharded_program& p;
  const Prices& prices;
  const interconnect& links;
  growing_array<growing_array<step_levels>> carried;  ///< bytes of each bucket so far, step by step
};

}}}  // namespace hyperparallel::v0_2::detail
