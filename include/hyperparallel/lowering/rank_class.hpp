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
// Of a program of several parts each part is a class. Their meshes are alike, so that a rank of another part has a mesh
// difference too: words number the queues of all ranks, that of the rank of part k with difference d at first rank of k + d.
// Laws: a rank's senders are among those of the
// class moved to it; they are the same where the row is `exact`. Complexity: O(ranks · senders) for each kind of move.

#include <hyperparallel/lowering/move_pulls.hpp>
#include <hyperparallel/taskflow/grown_execution_table.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Ranks of a mesh by their differences.
class rank_differences {
 public:
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
  mesh_shape mesh_;
  growing_array<coordinate> at_;
  growing_array<int> opposite_;
};

/// Whom a rank of the class pulls from, in every row of every kind of move.
struct class_pulls {
  growing_array<int> sender;        ///< differences
  growing_array<int> sender_begin;  ///< of row i of kind k at first_row[k] + i
  growing_array<int> first_row;
  growing_array<bool> exact;  ///< of each of these rows: of every rank, no more than it pulls from

  constexpr int row_of(const program_moves& moves, int move, int row) const {
    return first_row.item[moves.of.item[move]] + row;
  }
};

constexpr class_pulls class_of(const program_pulls& pulls, const rank_differences& by) {
  class_pulls c;
  growing_array<int> listed;  // of each difference: the last row that has it
  listed.resize(by.ranks(), -1);
  for (const move_pulls& one : pulls.kind) {
    c.first_row.push(c.sender_begin.size);
    for (int i = 0; i < one.row.size; ++i) {
      const int row = c.sender_begin.push(c.sender.size);
      bool exact = true;
      for (int r = 0; r < by.ranks(); ++r) {
        const int begin = one.sender_begin.item[i * by.ranks() + r],
                  end = one.sender_begin.item[i * by.ranks() + r + 1];
        for (int s = begin; s < end; ++s) {
          const int difference = by.less(one.sender.item[s], r);
          if (listed.item[difference] == row) continue;
          listed.item[difference] = row;
          c.sender.push(difference);
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

/// Words by which a plan of the class names queues: of the rank of a part by its difference.
class class_words {
 public:
  constexpr class_words(const sharded_program& p, int per_rank) : by_(mesh_of_part(p, 0)), per_rank_(per_rank) {
    for (int k = 0; k < parts_of(p); ++k) first_.push(first_rank_of(p, k));
  }

  constexpr const rank_differences& differences() const { return by_; }
  constexpr int part_of(int word) const {
    int k = first_.size - 1;
    while (k > 0 && first_.item[k] > word / per_rank_) --k;
    return k;
  }
  constexpr int difference_of(int word) const { return word / per_rank_ - first_.item[part_of(word)]; }
  /// Number of a queue in the table of the class, which the rank that has it calls by `own_word`.
  constexpr int queue_of(int word) const { return part_of(word) * per_rank_ + word % per_rank_; }
  constexpr int own_word(int queue) const { return first_.item[queue / per_rank_] * per_rank_ + queue % per_rank_; }
  /// How the rank that `word` names calls the queue of the one that names it so.
  constexpr int seen_from(int word, int queue) const {
    return own_word(queue) + by_.opposite(difference_of(word)) * per_rank_;
  }
  /// How a rank calls what the rank with that difference from it calls `word`.
  constexpr int seen_by(int difference, int word) const {
    return (first_.item[part_of(word)] + by_.plus(difference, difference_of(word))) * per_rank_ + word % per_rank_;
  }

 private:
  rank_differences by_;
  growing_array<int> first_;  // rank of each part
  int per_rank_;
};

/// Lists, for each record of the table of the class, the queues that wait for it, by difference: the record that a rank
/// awaits at a difference lists that rank at the opposite one. Domain: waits and ends of waits are there.
/// O(tasks + waits).
constexpr void list_readers_of_class(grown_execution_table& t, const class_words& words) {
  detail::list_readers(
      t, [&](int word) { return words.queue_of(word); },
      [&](int word, int queue) { return words.seen_from(word, queue); });
}

}}  // namespace hyperparallel::v0_2
