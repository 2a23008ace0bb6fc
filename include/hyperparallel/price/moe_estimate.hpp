// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long a MoE plan takes, in closed form: head + work in waves + tail, without building its taskflow. Cheap enough
// to pick tile sizes in a constant expression; `choose_moe_tiling` simulates the best of them.
//
//   matrix cores   idle until the first block has arrived; then their operations one after the other, each dealt to the
//                  queue that is free first, so that a queue ends with a last tile more or less; half a tile of each
//                  product, for queues do not come free together; then what follows the last: combine, merge
//   link, vector   their own work, behind the first thing that they wait for and before the last that waits for them
//
// The estimate is the largest of the three. It knows nothing of single events: what a simulated schedule loses to waits
// inside is not in it. Laws: the work of every pool is in it once, so it falls to the pool's bound as tiles, latency
// and overhead go to nothing; tests hold its choice to 2 % of the best simulated candidate.

#include <hyperparallel/lowering/moe_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Picoseconds. The estimate is `total()`; the others say which pool decides.
struct moe_estimate {
  std::int64_t matrix = 0, link = 0, vector = 0;
  int tasks = 0;  ///< of the matrix cores, the link and the operators between them
  constexpr std::int64_t total() const {
    const std::int64_t most = matrix < link ? link : matrix;
    return most < vector ? vector : most;
  }
};

namespace detail {

/// Queues of one pool by the time at which each is free.
struct wave_front {
  int queues = 1;
  std::int64_t free[64] = {};
  std::int64_t end = 0;  ///< of the last operation's last tile

  /// Deals `tiles` equal tiles, each to the queue that is free first. `end` is that of the last, to 1/64 of a tile.
  constexpr void deal(int tiles, std::int64_t duration) {
    if (tiles == 0 || duration == 0) return;
    std::int64_t sum = 0, latest = 0;
    for (int q = 0; q < queues; ++q) {
      sum += free[q];
      if (latest < free[q]) latest = free[q];
    }
    std::int64_t below = sum / queues + tiles / queues * duration - duration;  // too early for all of them
    std::int64_t above = latest + (tiles / queues + 1) * duration;
    while (above - below > duration / 64 + 1) {
      const std::int64_t middle = below + (above - below) / 2;
      int done = 0;
      for (int q = 0; q < queues; ++q) done += middle > free[q] ? static_cast<int>((middle - free[q]) / duration) : 0;
      if (done < tiles)
        below = middle;
      else
        above = middle;
    }
    for (int q = 0, left = tiles; q < queues; ++q) {
      int own = above > free[q] ? static_cast<int>((above - free[q]) / duration) : 0;
      if (own > left) own = left;
      free[q] += own * duration;
      left -= own;
    }
    end = 0;
    for (int q = 0; q < queues; ++q)
      if (end < free[q]) end = free[q];
  }
};

}  // namespace detail

/// Domain: a plan of `make_moe_plan`, forward or backward, for one device among equals; at most 64 matrix queues.
/// O(operators · queues · log tiles).
constexpr moe_estimate estimate_moe_makespan(const moe_plan& p, const moe_options& o) {
  const auto time = [&](moe_operation operation) { return p.time.of[static_cast<int>(operation)]; };
  const auto waves = [](int tiles, int queues) { return (tiles + queues - 1) / queues; };
  const bool backward = p.pass == moe_pass::backward, layer = p.scope == moe_scope::layer;
  const std::int64_t hop = o.synchronisation;
  const int blocks = blocks_per_rank(p), experts = local_experts(p),
            sent = p.even_exchange ? blocks : blocks / p.devices * (p.devices - 1);
  const int stay = blocks - sent, pieces = swiglu_pieces(p);
  const std::int64_t put = time(backward ? moe_operation::dispatch_gradient : moe_operation::dispatch);
  const std::int64_t copy = waves(copy_pieces(p), o.vector_queues) * p.time.local_copy;
  const std::int64_t merge = layer ? hop + time(backward ? moe_operation::merge_gradient : moe_operation::merge) *
                                               waves(p.tiling.merge_pieces, o.vector_queues)
                                   : 0;
  const std::int64_t activation = time(backward ? moe_operation::swiglu_gradient : moe_operation::swiglu);

  std::int64_t head = 0;  // before the first put
  if (layer && !backward)
    head = waves(route_tiles(p), o.matrix_queues) * time(moe_operation::route_logits) +
           time(moe_operation::route_top_k) + time(moe_operation::arrange) + 3 * hop;
  const std::int64_t arrival = head + (sent > 0 ? put : copy) + hop;
  const std::int64_t back = hop + (stay > 0 ? copy : put) + merge;  // from the last product to the end

  moe_estimate e;
  detail::wave_front front;
  front.queues = o.matrix_queues;
  for (int q = 0; q < front.queues; ++q) front.free[q] = arrival;
  int matrix_tiles = 0;
  const auto deal = [&](int tiles, std::int64_t duration) {
    front.deal(tiles, duration);
    matrix_tiles += tiles;
  };
  std::int64_t product = 0, last_product = 0;  // of a block's first and second product
  const auto weights = [&] {
    deal(experts * down_weight_tiles(p), time(moe_operation::down_weight_gradient));
    deal(experts * gate_up_weight_tiles(p), time(moe_operation::gate_up_weight_gradient));
  };
  if (!backward) {
    product = time(moe_operation::gate_up);
    last_product = time(moe_operation::down);
    deal(blocks * gate_up_tiles(p), product);
    deal(blocks * down_tiles(p), last_product);
    e.matrix = front.end + back;
  } else {
    product = time(moe_operation::act_gradient);
    last_product = time(moe_operation::input_gradient);
    const bool last = p.weight_gradients == weight_gradient_order::last && o.policy == priority::reference_order;
    deal(blocks * act_gradient_tiles(p), product);
    if (!last) weights();
    deal(blocks * input_gradient_tiles(p), last_product);
    e.matrix = front.end + back;
    if (last) {
      weights();
      if (e.matrix < front.end) e.matrix = front.end;
    }
  }
  const std::int64_t chain = hop + product + hop + activation + hop + last_product;  // of the last block to arrive
  e.link = head + 2 * sent * put + (stay > 0 ? 0 : chain + hop + merge);
  const std::int64_t vector_work =
      (std::int64_t{blocks} * pieces * activation + 2 * std::int64_t{stay} * copy_pieces(p) * p.time.local_copy +
       (layer ? std::int64_t{experts} * p.tiling.merge_pieces * time(moe_operation::merge) : 0)) /
      o.vector_queues;
  e.vector = arrival + product + hop + vector_work + hop + last_product + back;
  e.tasks = matrix_tiles + blocks * pieces + 2 * sent + 2 * stay * copy_pieces(p);
  // Tiles of two lengths alternate, so queues come free apart and waits of a block's other tiles fall in between.
  e.matrix += (product + last_product) / 2;
  return e;
}

}}  // namespace hyperparallel::v0_2
