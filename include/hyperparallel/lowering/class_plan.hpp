// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plan of a class of ranks moved to every rank.

#include <hyperparallel/lowering/program_plan.hpp>
#include <hyperparallel/lowering/rank_class.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Of a plan that has the tasks of all ranks.
inline constexpr int most_tasks_of_all_ranks = 1 << 24;

}  // namespace detail

/// The plan of the class of `p` moved to every rank. Decides nothing. Domain: it has at most `most_tasks_of_all_ranks`
/// tasks. O(tasks + waits).
constexpr program_plan plan_of_all_ranks(const program_plan& of_class, const sharded_program& p) {
  program_plan all = of_class;
  all.of_class = false;
  all.duration.clear();
  all.wait_end.clear();
  all.wait.clear();
  int tasks = 0;
  for (plan_row& r : all.row) {
    r.first_task = tasks;
    tasks += all.tasks_of(r);
  }
  all.duration.reserve(tasks);
  all.wait_end.reserve(tasks);
  const class_words words(p, detail::queues_per_rank(all.machine));
  for (int row = 0; row < all.row.size; ++row)
    for (int r = 0; r < all.tasks_of(all.row.item[row]); ++r) {
      for (int w = row == 0 ? 0 : of_class.wait_end.item[row - 1]; w < of_class.wait_end.item[row]; ++w) {
        const word_wait& one = of_class.wait.item[w];
        all.wait.push({words.seen_by(all.row.item[row].part, r, one.word), one.threshold});
      }
      all.wait_end.push(all.wait.size);
      all.duration.push(of_class.duration.item[row]);
    }
  return all;
}

}}  // namespace hyperparallel::v0_2
