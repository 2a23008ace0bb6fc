// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parameters and states of a run at its last boundary, in memory: what a program that failed goes on from.
//
//   hp::kept_state kept(run);
//   c.set_program("train", {.fire = …, .keep = [&] { kept.keep(); }, .restore = [&] { kept.restore(); }});
//
// Each rank's blocks are copied where they are: nothing moves. Law: after `restore` parameters, states and the count of steps
// have the bits that they had at the last `keep` that ended, or when this was made. O(bytes of a rank) memory, twice.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <hyperparallel/strategy/sharded_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <class Run>
class kept_state {
 public:
  /// The run has to outlive it.
  explicit kept_state(Run& run) : run_(&run) {
    const sharded_program& p = run.world().program();
    for (int t = 0; t < p.graph.tensor.size; ++t) {
      const graph_tensor& one = p.graph.tensor[t];
      if ((one.kind != graph_tensor_kind::parameter && one.kind != graph_tensor_kind::state) || one.replaces >= 0)
        continue;
      detail::visit_homes(p, t, [&](int v) {
        const int part = detail::part_of_value(p, v);
        for (int r = 0; r < detail::ranks_of_part(p, part); ++r)
          if (const int rank = first_rank_of(p, part) + r; run.world().hosts(rank))
            block_.push_back({v, rank, static_cast<std::size_t>(volume(box_of(p, v, r)) * bytes_of(one.type)), {}});
      });
    }
    spare_ = block_;
    keep();
  }

  void keep() {
    for (block& b : spare_) {
      const std::byte* const now = run_->world().block_of(b.value, b.rank);
      b.bits.assign(now, now + b.bytes);
    }
    block_.swap(spare_);
    steps_ = run_->steps();
  }
  void restore() {
    for (const block& b : block_) run_->world().set_block(b.value, b.rank, b.bits);
    run_->set_steps(steps_);
  }

 private:
  struct block {
    int value, rank;
    std::size_t bytes;
    std::vector<std::byte> bits;
  };
  Run* run_;
  std::vector<block> block_, spare_;
  std::int64_t steps_ = 0;
};

}}  // namespace hyperparallel::v0_2
