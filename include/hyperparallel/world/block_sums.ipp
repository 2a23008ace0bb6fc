// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of block_sums.hpp; see support/compiled.hpp.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/world/block_sums.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

HYPERPARALLEL_BODY light_vector<byte_run> runs_of(const sharded_program& p, int value, const step_tile& tile,
                                                  int rank) {
  const graph_tensor& t = p.graph.tensor[p.value[value].tensor];
  if (tile_in(p, value, tile).dim < 0)
    return {{0, volume(box_of(p, value, rank - first_rank_of(p, part_of_value(p, value)))) * bytes_of(t.type)}};
  light_vector<byte_run> runs;
  visit_bytes(p, value, tile, [&](extent_t begin, extent_t end) { runs.push_back({begin, end - begin}); });
  return runs;
}

/// Bytes that are in both. Domain: rising and disjoint.
HYPERPARALLEL_BODY light_vector<byte_run> common_runs(const light_vector<byte_run>& a,
                                                      const light_vector<byte_run>& b) {
  light_vector<byte_run> both;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    const std::int64_t end_a = a[i].begin + a[i].bytes, end_b = b[k].begin + b[k].bytes;
    const std::int64_t begin = std::max(a[i].begin, b[k].begin), end = std::min(end_a, end_b);
    if (begin < end) both.push_back({begin, end - begin});
    ++(end_a < end_b ? i : k);
  }
  return both;
}

HYPERPARALLEL_BODY block_sums::block_sums(const sharded_program& p, const program_slots& s,
                                          const program_memory& memory)
    : program_(p),
      ranks_(memory.ranks()),
      value_(static_cast<std::size_t>(p.storage.size), -1),
      cut_(static_cast<std::size_t>(p.storage.size)),
      range_(static_cast<std::size_t>(s.place.size * ranks_)) {
  find_cuts();
  for (int place = 0; place < s.place.size; ++place) {
    const bool staged = place >= p.storage.size;
    if (s.place[place].bytes == 0 || (!staged && value_[static_cast<std::size_t>(place)] < 0)) continue;
    for (const int rank : memory.hosted()) {
      if (part_of_rank(p, rank) != s.place[place].part) continue;
      const int first = static_cast<int>(piece_.size());
      if (staged)
        piece_.push_back({memory.address(place, rank), {{0, s.place[place].bytes}}});
      else
        add_pieces(place, rank, memory.address(place, rank));
      range_[at(place, rank)] = {first, static_cast<int>(piece_.size()) - first};
      home_.resize(piece_.size(), {place, rank});
    }
  }
}

HYPERPARALLEL_BODY void block_sums::find_cuts() {
  for (const program_step& s : program_.step)
    visit_values(program_, s, [&](int v, bool) {
      const std::size_t storage = static_cast<std::size_t>(program_.value[v].storage);
      value_[storage] = v;
      const step_tile first = tile_at(tile_in(program_, v, s.tile), 0);
      if (first.dim < 0) return;
      for (const cut& c : cut_[storage])
        if (c.tile == first) return;
      cut_[storage].push_back({first, v});
    });
}

HYPERPARALLEL_BODY void block_sums::add_pieces(int place, int rank, const std::byte* block) {
  const std::size_t storage = static_cast<std::size_t>(place);
  light_vector<light_vector<byte_run>> runs{runs_of(program_, value_[storage], {}, rank)};
  for (const cut& c : cut_[storage]) {
    light_vector<light_vector<byte_run>> finer;
    for (const light_vector<byte_run>& all : runs) {
      for (int i = 0; i < c.tile.count; ++i)
        finer.push_back(common_runs(all, runs_of(program_, c.value, tile_at(c.tile, i), rank)));
    }
    runs = std::move(finer);
  }
  for (light_vector<byte_run>& one : runs) piece_.push_back({block, std::move(one)});
}

HYPERPARALLEL_BODY block_sums::list block_sums::pieces_of(int place, int value, const step_tile& tile, int rank) const {
  const range all = range_[at(place, rank)];
  const step_tile own = value < 0 ? step_tile{} : tile_in(program_, value, tile);
  const bool is_part = own.dim >= 0;
  int inside = 1, count = 1;  // of the cuts behind the tile's, and of its own
  for (std::size_t c = is_part ? cut_[static_cast<std::size_t>(place)].size() : 0; c-- > 0;) {
    const step_tile& one = cut_[static_cast<std::size_t>(place)][c].tile;
    count = one.count;
    if (are_of_one_cut(one, own)) break;
    inside *= one.count;
  }
  list pieces;
  for (int i = 0; i < all.count; ++i)
    if (!is_part || i / inside % count == own.index) pieces.push_back(all.first + i);
  return pieces;
}

HYPERPARALLEL_BODY void block_sums::take(const list& pieces) {
  for (const int i : pieces) {
    piece& one = piece_[static_cast<std::size_t>(i)];
    one.sum = block_checksum(one.block, one.run);
    one.known = true;
  }
}

HYPERPARALLEL_BODY void block_sums::check(const list& pieces) const {
  for (const int i : pieces) {
    const piece& one = piece_[static_cast<std::size_t>(i)];
    if (!one.known || one.sum == block_checksum(one.block, one.run)) continue;
    const home& of = home_[static_cast<std::size_t>(i)];
    throw corruption_error(of.rank, of.place < program_.storage.size
                                        ? program_.graph.name_of_tensor(program_.storage[of.place].tensor)
                                        : "staged block of a move");
  }
}

HYPERPARALLEL_BODY void block_sums::take(int value) {
  for (int rank = 0; rank < ranks_; ++rank) take(value, rank);
}

HYPERPARALLEL_BODY void block_sums::check(int value) const {
  for (int rank = 0; rank < ranks_; ++rank) check(value, rank);
}

}}}  // namespace hyperparallel::v0_2::detail
