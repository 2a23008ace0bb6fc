// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a row of a program reads and writes, in the shadow memory of its proof (program_proof.hpp): the places, the histories that it
// ends, and the mistakes that the row has by itself. It uses nothing of what lowers a program, as it holds that to account.

#include <hyperparallel/lowering/move_pulls.hpp>
#include <hyperparallel/lowering/proof_verdict.hpp>
#include <hyperparallel/lowering/shadow_memory.hpp>
#include <hyperparallel/strategy/address_plan.hpp>
#include <hyperparallel/taskflow/execution_table.hpp>
#include <hyperparallel/tiles/tile_box.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

struct place_range {
  extent_t begin = 0, end = 0;
};

struct proved_ranges {
  growing_array<extent_t> first;     ///< of tier t of part k in the address space
  growing_array<place_range> range;  ///< of each place
  // A place that tiles write is proved run by run of their bytes, any other as one run.
  growing_array<step_tile> cut;    ///< of each storage; without a dim: no tile writes it
  growing_array<int> first_run;    ///< of each place
  growing_array<place_range> run;  ///< of all places; of each those of its tiles in turn, as many each
};

/// Cuts each storage as the first step does that writes a tile of it.
constexpr void cut_into_runs(const sharded_program& program, proved_ranges& r) {
  growing_array<int> value(program.storage.size, -1);  // that was written so
  r.cut.resize(program.storage.size);
  for (const program_step& s : program.step) {
    if (s.tile.dim < 0) continue;
    visit_values(program, s, [&](int v, bool writes) {
      const int storage = program.value.item[v].storage;
      if (!writes || value.item[storage] >= 0) return;
      value.item[storage] = v;
      r.cut.item[storage] = tile_at(s.tile, 0);
    });
  }
  for (int place = 0; place < r.range.size; ++place) {
    r.first_run.push(r.run.size);
    const place_range whole = r.range.item[place];
    const bool is_cut = place < value.size && value.item[place] >= 0 && whole.begin != whole.end;
    step_tile t = is_cut ? r.cut.item[place] : step_tile{};
    for (t.index = 0; t.index < t.count; ++t.index) {
      if (!is_cut) {
        r.run.push(whole);
      } else {
        visit_bytes(program, value.item[place], t, [&](extent_t begin, extent_t end) {
          const bool last = end == local_bytes(program, value.item[place]);  // what aligns the place is its own too
          r.run.push({whole.begin + begin, last ? whole.end : whole.begin + end});
        });
      }
    }
  }
  r.first_run.push(r.run.size);
}

/// Tiers of parts lie one behind the other in one address space.
constexpr proved_ranges ranges_to_prove(const sharded_program& program, const program_pulls& pulls,
                                        const program_addresses& a) {
  proved_ranges r;
  r.range.reserve(place_count(program, pulls.moves));
  growing_array<extent_t> end(parts_of(program) * max_memory_tiers, 0);
  growing_array<int> space;  // of each place
  const auto put = [&](extent_t begin, extent_t bytes, int of_space) {
    r.range.push({begin, begin + bytes});
    space.push(of_space);
    end.item[of_space] = larger(end.item[of_space], begin + bytes);
  };
  for (const program_storage& one : program.storage)
    put(a.storage.item[r.range.size], aligned(one.bytes), one.part * max_memory_tiers + one.tier);
  for (int move = 0; move < program.move.size; ++move)
    for (const staged_block& one : kind_of(pulls.moves, move).staged) {
      const bool staged = a.staged.item[move] >= 0;
      put(staged ? a.staged.item[move] + one.offset : 0, staged ? aligned(one.bytes) : 0,
          part_of_value(program, program.move.item[move].target) * max_memory_tiers);
    }
  r.first.push(0);
  for (int i = 0; i + 1 < end.size; ++i) r.first.push(r.first[i] + end[i]);
  for (int i = 0; i < r.range.size; ++i)
    if (const extent_t first = r.first.item[space.item[i]]; r.range.item[i].begin != r.range.item[i].end && first > 0)
      r.range.item[i] = {r.range.item[i].begin + first, r.range.item[i].end + first};
  cut_into_runs(program, r);
  return r;
}

/// Whether a record of a table lists a queue among those that wait for it.
template <class Table>
constexpr bool lists_reader(const Table& t, int record, int queue) {
  for (int i = reader_begin(t, record); i < t.record[record].reader_end; ++i)
    if (t.reader[i] == queue) return true;
  return false;
}

class row_uses {
 protected:
  constexpr row_uses(const sharded_program& p, const program_pulls& pulls, const program_addresses& a, int memories)
      : program_(p), pulls_(pulls), memory_(memories), place_(ranges_to_prove(p, pulls, a)) {
    gone_.resize(p.storage.size, false);
  }

  /// A run of a place, which is a place by itself in the shadow memory.
  struct used_run {
    int place = -1, run = -1, history = -1;
  };

  constexpr bool ok() const { return proof_.code == program_proof_code::ok; }
  constexpr void fail(program_proof_code code, int place = -1) {
    if (!ok()) return;
    proof_.code = code;
    proof_.task = task_;
    proof_.place = place;
  }
  constexpr place_range range_of(int place) const { return place_.range.item[place]; }
  constexpr int space_of_place(int place) const {
    return place < program_.storage.size
               ? program_.storage.item[place].part * max_memory_tiers + program_.storage.item[place].tier
               : part_ * max_memory_tiers;
  }
  constexpr void touch(int place, extent_t end) {
    const int space = space_of_place(place);
    extent_t& most = proof_.bytes[space % max_memory_tiers];
    most = larger(most, end - place_.first.item[space]);
  }
  /// Calls visit(run) for those that a tile touches: all, unless the place is cut into tiles of its cut, or of one within or
  /// around that.
  template <class Visit>
  constexpr void visit_runs(int place, const step_tile& tile, const Visit& visit) const {
    const int first = place_.first_run.item[place], all = place_.first_run.item[place + 1] - first;
    if (place >= place_.cut.size || tile.dim < 0) {
      for (int i = 0; i < all; ++i) visit(first + i);
      return;
    }
    const step_tile& cut = place_.cut.item[place];
    const tile_span met = tiles_met(cut, tile);
    for (int i = met.begin * (all / cut.count); i < met.end * (all / cut.count); ++i) visit(first + i);
  }
  constexpr place_range run_of(int run) const { return place_.run.item[run]; }
  constexpr void read(int place, const step_tile& tile) {
    const place_range all = range_of(place);
    if (all.begin == all.end) return;
    touch(place, all.end);
    visit_runs(place, tile, [&](int run) {
      const place_range r = run_of(run);
      const int history = memory_.read(run, r.begin, r.end);
      if (history < 0 || (place < gone_.size && gone_.item[place])) fail(program_proof_code::value_is_not_there, place);
      read_.push({place, run, history});
    });
  }
  /// A tile that is none of the cut leaves the others of its runs as they were: refused.
  constexpr void write(int place, const step_tile& tile) {
    const place_range all = range_of(place);
    touch(place, all.end);
    if (all.begin == all.end) return;
    if (tile.dim >= 0 && !(place < place_.cut.size && are_of_one_cut(place_.cut.item[place], tile)))
      fail(program_proof_code::value_is_not_there, place);
    visit_runs(place, tile, [&](int run) { write_.push({place, run, -1}); });
  }
  constexpr void check_block(int value) {
    const int place = program_.value.item[value].storage;
    const place_range r = range_of(place);
    if (local_bytes(program_, value) > r.end - r.begin) fail(program_proof_code::block_is_larger_than_its_place, place);
  }

  constexpr void list_places(int step, int k) {
    const program_step& s = program_.step.item[step];
    read_.clear();
    write_.clear();
    pulls_row_ = s.is_move;
    if (s.is_move && program_.move.item[s.index].detaches) return;  // touches nothing
    visit_values(program_, s, [&](int v, bool written) {
      check_block(v);
      if (s.is_move) return;
      const step_tile tile = tile_in(program_, v, s.tile);
      (written ? write(program_.value.item[v].storage, tile) : read(program_.value.item[v].storage, tile));
    });
    if (!s.is_move) return;
    const move_pulls& how = pulls_.of(s.index);
    const move_row& row = how.row.item[k];
    const int to = place_written(program_, pulls_.moves, s.index, row);
    const step_tile tile =
        tile_in(program_, program_.move.item[s.index].target, s.tile);  // source and target are of one tensor
    read(place_read(program_, pulls_.moves, s.index, row), tile);
    write(to, tile);
    if (row.to < 0) return;
    const place_range r = range_of(to);
    const move_plan& plan = how.parts.part[row.part];
    const int element =
        bytes_of(program_.graph.tensor.item[program_.value.item[program_.move.item[s.index].source].tensor].type);
    if (volume(part_of_row(row, target_frame(plan.step[row.step], plan.shape, 0))) * element > r.end - r.begin)
      fail(program_proof_code::block_is_larger_than_its_place, to);
  }

  /// Lists what is written over. No task of the row writes what another one reads, or writes too.
  constexpr void enter_row() {
    over_.clear();
    for (int i = 0; i < write_.size; ++i) {
      const place_range w = run_of(write_.item[i].run);
      memory_.list(w.begin, w.end, over_);
      const auto meets = [&](const used_run& u) {
        const place_range r = run_of(u.run);
        return r.begin < w.end && w.begin < r.end;
      };
      for (int k = 0; k < i; ++k)
        if (write_.item[k].run != write_.item[i].run && meets(write_.item[k]))
          fail(program_proof_code::row_uses_memory_twice, write_[i].place);
      for (const used_run& r : read_)
        if (meets(r) && (pulls_row_ || r.run != write_.item[i].run))
          fail(program_proof_code::row_uses_memory_twice, r.place);
    }
  }

  const sharded_program& program_;
  const program_pulls& pulls_;
  shadow_memory memory_;
  proved_ranges place_;
  growing_array<bool> gone_;              // of each storage: detached, and not back yet
  growing_array<used_run> read_, write_;  // of the row
  growing_array<int> over_;               // histories that the row ends
  bool pulls_row_ = false;
  int part_ = 0;  // of the row
  int task_ = -1;
  program_proof proof_{};
};

}}}  // namespace hyperparallel::v0_2::detail
