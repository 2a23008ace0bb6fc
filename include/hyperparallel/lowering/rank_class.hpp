// SPDX-License-Identifier: Apache-2.0
#pragma once
// The class of ranks: what one rank does, with every other rank named by its mesh difference, stands for all of them.
//
// The difference of rank a from rank b is the position whose coordinates are those of a less those of b, each modulo the
// size of its axis. All ranks have the same rows in the same order, at the same addresses, and compute on their own
// blocks. So renaming every rank r to r + d maps the plan onto itself if it maps the senders of each row of a move onto
// themselves: if the senders of r are those of rank 0 moved by r. Then a plan for rank 0, moved by r, is one for rank r.
// A row whose senders differ is given, for every rank, the union of all ranks' differences: it waits for more tasks than
// it reads from, and more reads are ordered than there are, which is safe.
//
// Of a program of several parts each part is a class. A rank of another part whose mesh is alike has a mesh difference
// too; one of a part with another mesh is named by its position there, and what one rank of a class reads there all are
// taken to read. Words number the queues of all ranks: that of the rank of part k with that difference, or at that
// position, at first rank of k + it. Laws: a rank's senders are among those of the class moved to it; they are the same
// where the row is `exact`. Complexity: O(ranks · senders) for each kind of move.

#include <hyperparallel/lowering/move_pulls.hpp>
#include <hyperparallel/taskflow/grown_execution_table.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Ranks of a mesh by their differences.
class rank_differences {
 public:
  constexpr rank_differences() = default;
  constexpr explicit rank_differences(const mesh_shape& m) : mesh_(m) {
    for (int r = 0; r < position_count(m); ++r) {
      at_.push(coordinates_of(m, r));
      opposite_.push(less(0, r));
    }
  }

  constexpr int ranks() const { return at_.size; }
  /// The difference of `rank` from `from`. O(axes), as the following.
  constexpr int less(int rank, int from) const {
    int position = 0;
    for (int a = 0; a < mesh_.axis_count; ++a) {
      const int n = mesh_.size[a], by = at_.item[rank].at[a] - at_.item[from].at[a];
      position = position * n + (by < 0 ? by + n : by);
    }
    return position;
  }
  /// The rank that has that difference from `rank`.
  constexpr int plus(int rank, int difference) const { return less(rank, opposite_.item[difference]); }
  /// The difference of a rank from the one that has `difference` from it.
  constexpr int opposite(int difference) const { return opposite_.item[difference]; }

 private:
  mesh_shape mesh_{};
  growing_array<coordinate> at_;
  growing_array<int> opposite_;
};

/// Words by which a plan of the class names queues: of the rank of a part by its difference, or by its position where the
/// meshes of both parts differ. A number of either kind is called the rank's *name* here.
class class_words {
 public:
  constexpr class_words(const sharded_program& p, int per_rank) : per_rank_(per_rank) {
    for (int k = 0; k < parts_of(p); ++k) {
      first_.push(first_rank_of(p, k));
      int like = 0;
      while (like < k && !(detail::mesh_of_part(p, like) == detail::mesh_of_part(p, k))) ++like;
      like_.push(like);
      by_.push({});
      if (like == k) by_.last() = rank_differences(detail::mesh_of_part(p, k));
    }
  }

  /// Those of a part's own mesh.
  constexpr const rank_differences& differences(int part) const { return by_.item[like_.item[part]]; }
  constexpr bool are_alike(int part, int other) const { return like_.item[part] == like_.item[other]; }
  constexpr int part_of(int word) const {
    int k = first_.size - 1;
    while (k > 0 && first_.item[k] > word / per_rank_) --k;
    return k;
  }
  constexpr int name_of(int word) const { return word / per_rank_ - first_.item[part_of(word)]; }
  /// Number of a queue in the table of the class, which the rank that has it calls by `own_word`.
  constexpr int queue_of(int word) const { return part_of(word) * per_rank_ + word % per_rank_; }
  constexpr int own_word(int queue) const { return first_.item[queue / per_rank_] * per_rank_ + queue % per_rank_; }
  /// Calls `visit` for the names that a rank of `part`, called `name` by ranks of `caller`, calls those by: the opposite
  /// difference, or all positions.
  template <class Visit>
  constexpr void visit_callers(int part, int name, int caller, const Visit& visit) const {
    if (are_alike(part, caller)) return visit(differences(part).opposite(name));
    for (int r = 0; r < differences(caller).ranks(); ++r) visit(r);
  }
  /// Calls `visit` for the words by which the rank that `word` names calls `queue` of those that name it so.
  template <class Visit>
  constexpr void visit_seen_from(int word, int queue, const Visit& visit) const {
    visit_callers(part_of(word), name_of(word), queue / per_rank_,
                  [&](int name) { visit(own_word(queue) + name * per_rank_); });
  }
  /// How a rank calls what the rank of `part` that it calls `name` calls `word`. Domain: the name is a position of `part`,
  /// or the word is one of a part alike.
  constexpr int seen_by(int part, int name, int word) const {
    const int of = part_of(word);
    const int seen = are_alike(part, of) ? differences(part).plus(name, name_of(word)) : name_of(word);
    return (first_.item[of] + seen) * per_rank_ + word % per_rank_;
  }

 private:
  growing_array<rank_differences> by_;  // of each part that is the first of its mesh
  growing_array<int> like_;             // of each part: that one
  growing_array<int> first_;            // rank of each part
  int per_rank_;
};

/// Whom a rank of the class pulls from, in every row of every kind of move.
struct class_pulls {
  growing_array<int> sender;        ///< names
  growing_array<int> sender_begin;  ///< of row i of kind k at first_row[k] + i
  growing_array<int> first_row;
  growing_array<bool> exact;  ///< of each of these rows: of every rank, no more than it pulls from

  constexpr int row_of(const program_moves& moves, int move, int row) const {
    return first_row.item[moves.of.item[move]] + row;
  }
};

constexpr class_pulls class_of(const sharded_program& p, const program_pulls& pulls, const class_words& words) {
  class_pulls c;
  growing_array<int> listed(ranks_of(p), -1);  // of each name: the last row that has it
  for (int k = 0; k < pulls.kind.size; ++k) {
    const move_pulls& one = pulls.kind.item[k];
    const program_move& example = p.move.item[pulls.moves.kind.item[k].example];
    const int from = detail::part_of_value(p, example.source), to = detail::part_of_value(p, example.target);
    const int receivers = detail::ranks_of_part(p, to);
    const bool alike = words.are_alike(from, to);
    c.first_row.push(c.sender_begin.size);
    for (int i = 0; i < one.row.size; ++i) {
      const int row = c.sender_begin.push(c.sender.size);
      bool exact = true;
      for (int r = 0; r < receivers; ++r) {
        const int begin = one.sender_begin.item[i * receivers + r], end = one.sender_begin.item[i * receivers + r + 1];
        for (int s = begin; s < end; ++s) {
          const int name = alike ? words.differences(to).less(one.sender.item[s], r) : one.sender.item[s];
          if (listed.item[name] == row) continue;
          listed.item[name] = row;
          c.sender.push(name);
          exact = exact && r == 0;
        }
        exact = exact && end - begin == c.sender.size - c.sender_begin.item[row];
      }
      c.exact.push(exact);
    }
  }
  c.sender_begin.push(c.sender.size);
  return c;
}

namespace detail {

/// Lists, for each record of the table of the class, the queues that wait for it, by name: the record that a rank awaits at
/// a difference lists that rank at the opposite one; one of a part with another mesh lists all ranks of the part that
/// awaits it. Domain: waits and ends of waits are there. O(tasks + waits · ranks of a part).
constexpr void list_readers_of_class(grown_execution_table& t, const class_words& words) {
  detail::list_readers(
      t, [&](int word) { return words.queue_of(word); },
      [&](int word, int queue, const auto& visit) { words.visit_seen_from(word, queue, visit); });
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
