// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who pulls what from whom in the moves of a sharded program, kind by kind and step by step.
//
// A move between layouts is the candidate that its kind has chosen (strategy/move_kinds.hpp), row by row
// (redistribution/move_rows.hpp); a rotation, a hand-over by position, or a move that changes nothing, is one row of whole
// blocks without a plan; any other hand-over one row of a relocation. Receivers and senders are positions of meshes, of a
// hand-over each of its own.
// Laws: a receiver's senders are listed once each, in the order of its transfers; `pulled` adds up to what the steps
// bring. O(kinds · (plan + transfers)).

#include <hyperparallel/strategy/move_kinds.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The pulls of one kind of move.
struct move_pulls {
  move_parts parts{};  ///< none where whole blocks are pulled
  growing_array<move_row> row;
  growing_array<int> sender;        ///< of all receivers, one after the other; of a hand-over in the part of its source
  growing_array<int> sender_begin;  ///< of row i and receiver p at i · positions + p
  growing_array<extent_t> pulled;   ///< elements that others bring, likewise
};

enum class move_pulls_code : unsigned char { ok, plan_is_refused, rotation_meets_other_layout };

constexpr const char* to_text(move_pulls_code c) {
  constexpr const char* texts[] = {"ok", "the planner refuses it", "a rotated block changes its layout"};
  return detail::enum_text<move_pulls_code::rotation_meets_other_layout>(texts, c);
}

/// What is wrong with `move`, the first of its kind.
struct move_pulls_status {
  move_pulls_code code = move_pulls_code::ok;
  int move = -1;
  move_code plan = move_code::ok;
  friend constexpr bool operator==(const move_pulls_status&, const move_pulls_status&) = default;
};

struct program_pulls {
  program_moves moves;
  growing_array<move_pulls> kind;
  move_pulls_status status{};

  constexpr const move_pulls& of(int move) const { return kind.item[moves.of.item[move]]; }
};

namespace detail {

/// Numbers of places of a program: its storages, then what each move stages between its steps, block by block.
constexpr int place_count(const sharded_program& p, const program_moves& moves) {
  return p.storage.size + moves.staged_blocks();
}
constexpr int staged_place(const sharded_program& p, const program_moves& moves, int move, int block) {
  return p.storage.size + moves.staged_before(move) + block;
}
/// Where a row of a move reads, and where it writes.
constexpr int place_read(const sharded_program& p, const program_moves& moves, int move, const move_row& row) {
  return row.from < 0 ? p.value.item[p.move.item[move].source].storage : staged_place(p, moves, move, row.from);
}
constexpr int place_written(const sharded_program& p, const program_moves& moves, int move, const move_row& row) {
  return row.to < 0 ? p.value.item[p.move.item[move].target].storage : staged_place(p, moves, move, row.to);
}

/// The device that `position` takes its whole block from.
constexpr int whole_block_sender(const move_kind& k, const mesh_shape& mesh, int position) {
  if (k.travel == 0) return position;
  coordinate at = coordinates_of(mesh, position);
  const int size = mesh.size[k.travel_axis];
  at.at[k.travel_axis] = (at.at[k.travel_axis] + size - k.travel) % size;
  return position_of(mesh, at);
}

constexpr void list_whole_blocks(const move_kind& k, const mesh_shape& mesh, extent_t elements, move_pulls& pulls) {
  const int positions = position_count(mesh);
  pulls.row.push({});
  for (int p = 0; p < positions; ++p) {
    const int sender = whole_block_sender(k, mesh, p);
    pulls.sender_begin.push(p);
    pulls.sender.push(sender);
    pulls.pulled.push(sender == p && !k.by_position ? 0 : elements);
  }
  pulls.sender_begin.push(positions);
}

constexpr void list_senders(const mesh_shape& senders, const mesh_shape& receivers, move_pulls& pulls) {
  const int positions = position_count(receivers);
  growing_array<int> listed(position_count(senders),
                            -1);  // of each sender: the last receiver that it is one of, over all rows
  for (const move_row& row : pulls.row)
    for (int p = 0; p < positions; ++p) {
      const move_plan& plan = pulls.parts.part[row.part];
      const move_step& step = plan.step[row.step];
      const step_receiver r = receiver_of(step, plan.shape, p);
      const int receiver = pulls.sender_begin.push(pulls.sender.size);
      extent_t elements = 0;
      for (extent_t k = 0; k < r.transfers; ++k) {
        const transfer t = transfer_at(step, r, k);
        const extent_t part = volume(part_of_row(row, t.part), plan.shape, plan.padding);
        if (part == 0) continue;
        if (!is_own(r, t)) elements += part;
        if (listed.item[t.sender] == receiver) continue;
        listed.item[t.sender] = receiver;
        pulls.sender.push(t.sender);
      }
      pulls.pulled.push(elements);
    }
  pulls.sender_begin.push(pulls.sender.size);
}

program_pulls pulls_of_in_library(const sharded_program& p, const program_moves& moves);
constexpr program_pulls pulls_of_here(const sharded_program& p, const program_moves& moves) {
  program_pulls all;
  all.moves = moves;
  all.kind.reserve(all.moves.kind.size);
  for (int k = 0; k < all.moves.kind.size; ++k) {
    const move_kind& kind = all.moves.kind[k];
    const program_move& m = p.move[kind.example];
    const program_value &from = p.value[m.source], &to = p.value[m.target];
    all.status.move = kind.example;
    if (kind.code != move_code::ok) {
      all.status.code = move_pulls_code::plan_is_refused;
      all.status.plan = kind.code;
      return all;
    }
    const bool turned = from.rotation.by != 0 || to.rotation.by != 0;
    if (turned && !(from.layout == to.layout)) {
      all.status.code = move_pulls_code::rotation_meets_other_layout;
      return all;
    }
    move_pulls& pulls = all.kind.item[all.kind.push({})];
    if (turned || kind.by_position || kind.steps == 0) {
      detail::list_whole_blocks(kind, to.layout.mesh, local_elements(p, m.target), pulls);
    } else {
      const graph_tensor& tensor = p.graph.tensor[from.tensor];
      if (kind.hand_over) {
        pulls.parts.count = 1;
        pulls.parts.part[0] = plan_of_hand_over(p, m);
      } else {
        pulls.parts = parts_of_candidate(from.layout, to.layout, tensor.shape, kind.candidate, all.moves.links);
      }
      pulls.row = rows_of(pulls.parts, bytes_of(tensor.type)).row;
      detail::list_senders(from.layout.mesh, to.layout.mesh, pulls);
    }
  }
  all.status = {};
  return all;
}

}  // namespace detail

/// Lists the pulls of all moves of `p`, which are `moves`, or says which one has none.
constexpr program_pulls pulls_of(const sharded_program& p, const program_moves& moves) {
  HYPERPARALLEL_TWIN(detail::pulls_of_in_library(p, moves));
  return detail::pulls_of_here(p, moves);
}
/// The same of the moves by fewest bytes.
constexpr program_pulls pulls_of(const sharded_program& p) { return pulls_of(p, kinds_of_moves(p)); }

}}  // namespace hyperparallel::v0_2
