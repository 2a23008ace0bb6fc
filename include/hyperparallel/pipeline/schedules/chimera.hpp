// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chimera: two 1F1B pipelines in opposite directions on the same ranks, so that one computes where the other waits. Each
// stage lies on two ranks, so parameters are held twice.
//
// In slots of one F or one B, rank r is stage r of the first direction and runs the P / 2 forwards of a unit of P micro-batches
// in every second slot from r on, then the second direction's backwards in as many slots more; in the slots between, from
// P − 1 − r on, the second direction's forwards and the first one's backwards. Units follow each other without a gap.
//
// Laws, for P even and P dividing m: bubble (P − 2)(max(F, B) + (m / P − 1) |F − B|); where F = B that is, as published, the
// share (P − 2) / (2m + P − 2) of the makespan. Peak P / 2 + 1 + min(r, P − 1 − r) stages on rank r, the most, P, in the middle.
// Where m is even and P does not divide it, the last unit is short.
// Reference: Li and Hoefler, "Chimera", 2021, with units of forwards and backwards concatenated directly.

#include <hyperparallel/pipeline/schedule.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct chimera {
  static constexpr const char* name = "Chimera";
  static constexpr stage_placement placement = stage_placement::both;
  static constexpr pipeline_status fits(const pipeline_shape& n) { return detail::check_mirrored_ranks(n); }
  static constexpr void row(auto& out, const pipeline_shape& n, int rank) {
    const int half = n.ranks / 2, share = n.micro_batches / 2, near = rank < half ? rank : n.ranks - 1 - rank;
    const int first[2] = {rank < half ? 0 : share, rank < half ? share : 0};  // micro-batches of near and far stage
    const int stage[2] = {near, n.ranks - 1 - near}, lead = half - near;
    const int slots = (share + half - 1) / half * n.ranks;  // of each stage's forwards and the other's backwards
    const auto run = [&](int chunk, int slot) {
      const int unit = slot / n.ranks, place = slot % n.ranks, k = unit * half + place % half;
      if (slot < 0 || slot >= slots || k >= share) return;
      if (place < half)
        out.forward(stage[chunk], first[chunk] + k);
      else
        out.backward(stage[1 - chunk], first[1 - chunk] + k);
    };
    for (int slot = 0; slot + 1 < slots + lead; ++slot) {
      run(0, slot);
      run(1, slot - lead + 1);
    }
  }
};

}}  // namespace hyperparallel::v0_2
