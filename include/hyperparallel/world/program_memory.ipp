// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of program_memory.hpp; see support/compiled.hpp.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/world/program_memory.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY std::vector<int> all_ranks(const sharded_program& p) {
  std::vector<int> ranks;
  for (int r = 0; r < ranks_of(p); ++r) ranks.push_back(r);
  return ranks;
}

HYPERPARALLEL_BODY program_memory::program_memory(const sharded_program& p, const program_slots& s,
                                                  const std::vector<int>& hosted)
    : program_(p), slots_(s), hosted_(hosted), place_(static_cast<std::size_t>(ranks_of(p)), -1) {
  arenas_ = arena_set(static_cast<int>(hosted.size()), {s.bytes, static_cast<std::size_t>(s.tiers)});
  for (int i = 0; i < arenas_.ranks(); ++i) {
    place_[at(hosted_[at(i)])] = i;
    for (int tier = 0; tier < s.tiers; ++tier) prefer_huge_pages(arenas_.address(i, tier, 0), s.bytes[tier]);
    for (const program_place& one : s.place)
      if (one.bytes > 0 && one.part == detail::part_of_rank(p, hosted_[at(i)]))
        arenas_.place({i, one.tier, one.offset, one.bytes});
  }
}

HYPERPARALLEL_BODY std::byte* program_memory::address(int place, int rank) const {
  const program_place& one = slots_.place[place];
  return arenas_.address(place_[at(rank)], one.tier, one.offset, one.bytes);
}

HYPERPARALLEL_BODY void program_memory::scatter(int value, const std::byte* whole) const {
  const graph_tensor& t = tensor_of(value);
  const box all = whole_box(t.shape);
  for (const int r : hosted_) {
    if (!has(value, r)) continue;
    const box part = box_of(program_, value, r - first_rank(value));
    copy_box(copy_between(all, part, part, bytes_of(t.type)), whole, block(value, r));
  }
}

HYPERPARALLEL_BODY detail::light_vector<gathered_block> program_memory::gathered_blocks(int value) const {
  const layout_value& l = program_.value[value].layout;
  detail::light_vector<gathered_block> blocks;
  std::vector<bool> taken(place_.size(), false);
  int term = 0;
  const int positions = position_count(l.mesh);
  for (int leader = 0; leader < positions; ++leader) {
    if (taken[at(leader)]) continue;
    const std::size_t first = blocks.size();
    for (int r = leader; r < positions; ++r) {
      if (taken[at(r)] || !same_term(l, leader, r)) continue;
      taken[at(r)] = true;
      const box part = box_of(program_, value, r);
      bool repeated = false;
      for (std::size_t i = first; i < blocks.size(); ++i) repeated = repeated || blocks[i].part == part;
      if (!repeated) blocks.push_back({first_rank(value) + r, term, part});
    }
    ++term;
  }
  return blocks;
}

HYPERPARALLEL_BODY box program_memory::whole_box(const shape& s) {
  box b;
  b.rank = s.rank;
  for (int d = 0; d < s.rank; ++d) b.dim[d] = {0, s.extent[d]};
  return b;
}

HYPERPARALLEL_BODY bool program_memory::same_term(const layout_value& l, int a, int b) {
  const coordinate x = coordinates_of(l.mesh, a), y = coordinates_of(l.mesh, b);
  for (int axis_number = 0; axis_number < l.mesh.axis_count; ++axis_number)
    if (l.partial[axis_number] != reduce_op::none && x.at[axis_number] != y.at[axis_number]) return false;
  return true;
}

}}  // namespace hyperparallel::v0_2
