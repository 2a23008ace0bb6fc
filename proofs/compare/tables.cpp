// SPDX-License-Identifier: Apache-2.0
// Prints execution tables of training steps, broken in one place or whole, with the verdict of `prove_program`, for
// compare.ml.
//
//   tables COUNT [SEED]
//
// One table a line: `table:` and the class, a name without spaces; then numbers. A list is its count and its elements.
//   `prove_program` (0: ok, 1: refused, 2: refused for what the model does not know); ranks; queues of a rank;
//   list of places, (begin, end) each: storages, then what is staged between the steps of a move, what tiles write run by
//   run of their bytes; list of homes;
//   list of rows: places that are read, places that are written, 1 where ranks pull, of each rank its list of senders,
//     places that are detached;
//   list of queues, the tasks of each; list of tasks, the waits (word, threshold) of each and the queues that it tells.
// Rows are those of the plan, each of as many tasks as there are ranks; a record of no such task has the number behind all.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "lowering/broken_tables.hpp"

namespace {

namespace hp = hyperparallel;
using programs::lowered;
using programs::mutant;
using programs::mutation;

void print_list(const std::vector<long long>& list) {
  std::printf(" %zu", list.size());
  for (const long long i : list) std::printf(" %lld", i);
}

int word_of(hp::program_proof_code code) {
  if (code == hp::program_proof_code::ok) return 0;
  return code == hp::program_proof_code::block_is_larger_than_its_place ? 2 : 1;
}

/// What the model knows as places: tiers lie one behind the other.
hp::detail::proved_ranges places_of(const lowered& l) {
  return hp::detail::ranges_to_prove(l.program, l.pulls, l.addresses);
}
/// Those that a step of this tile uses of one of the program's.
void list_runs(const hp::detail::proved_ranges& places, int place, const hp::step_tile& tile,
               std::vector<long long>& list) {
  const int first = places.first_run[place], count = places.first_run[place + 1] - first;
  const hp::step_tile cut = place < places.cut.size ? places.cut[place] : hp::step_tile{};
  const hp::detail::tile_span met = hp::detail::tiles_met(cut, tile);
  for (int i = met.begin * count / cut.count; i < met.end * count / cut.count; ++i) list.push_back(first + i);
}
void print_places(const lowered& l, const hp::detail::proved_ranges& places) {
  std::printf(" %d", places.run.size);
  for (const hp::detail::place_range& one : places.run)
    std::printf(" %lld %lld", static_cast<long long>(one.begin), static_cast<long long>(one.end));
  std::vector<long long> homes;
  for (int s = 0; s < l.program.storage.size; ++s)
    if (l.program.storage[s].home) list_runs(places, s, {}, homes);
  print_list(homes);
}

void print_row(const lowered& l, const hp::detail::proved_ranges& places, const hp::plan_row& row) {
  const hp::sharded_program& p = l.program;
  const hp::program_step& s = p.step[row.step];
  const int ranks = l.plan.machine.ranks, k = row.first_item / ranks;
  const bool detaches = s.is_move && p.move[s.index].detaches;
  std::vector<long long> reads, writes, detached;
  if (detaches) {
    list_runs(places, p.value[p.move[s.index].source].storage, {}, detached);
  } else {
    if (s.is_move) {
      const hp::move_row& moved = l.pulls.of(s.index).row[k];
      const hp::step_tile tile = hp::detail::tile_in(p, p.move[s.index].target, s.tile);
      list_runs(places, hp::detail::place_read(p, l.pulls.moves, s.index, moved), tile, reads);
      list_runs(places, hp::detail::place_written(p, l.pulls.moves, s.index, moved), tile, writes);
    } else {
      hp::detail::visit_values(p, s, [&](int v, bool written) {
        list_runs(places, p.value[v].storage, hp::detail::tile_in(p, v, s.tile), written ? writes : reads);
      });
    }
  }
  print_list(reads);
  print_list(writes);
  std::printf(" %d %d", s.is_move ? 1 : 0, ranks);
  for (int r = 0; r < ranks; ++r) {
    std::vector<long long> senders;
    if (s.is_move && !detaches) {
      const hp::move_pulls& how = l.pulls.of(s.index);
      for (int i = how.sender_begin[row.first_item + r]; i < how.sender_begin[row.first_item + r + 1]; ++i)
        senders.push_back(how.sender[i]);
    }
    print_list(senders);
  }
  print_list(detached);
}

void print_table(const char* name, const lowered& l, const hp::grown_execution_table& t) {
  const int ranks = l.plan.machine.ranks, tasks = l.plan.tasks();
  std::string word = name;
  for (char& c : word) c = c == ' ' ? '_' : c;
  std::printf("table:%s %d %d %d", word.c_str(), word_of(l.proof(t).code), ranks,
              hp::detail::queues_per_rank(l.plan.machine));
  const hp::detail::proved_ranges places = places_of(l);
  print_places(l, places);
  std::printf(" %d", tasks / ranks);
  for (int i = 0; i < tasks / ranks; ++i) print_row(l, places, l.plan.row[i]);
  const auto task_of = [&](const hp::execution_record& one) {
    for (int i = 0; i < tasks / ranks; ++i)
      if (l.plan.row[i].step == one.kernel + t.first_operation && l.plan.row[i].first_item + one.rank == one.item)
        return i * ranks + one.rank;
    return tasks;
  };
  std::vector<int> record(static_cast<std::size_t>(tasks), -1);
  std::printf(" %d", t.size.queues);
  for (int q = 0; q < t.size.queues; ++q) {
    std::vector<long long> queue;
    for (int r = t.queue_begin[q]; r < t.queue_begin[q + 1]; ++r) {
      const int task = task_of(t.record[r]);
      queue.push_back(task);
      if (task < tasks) record[static_cast<std::size_t>(task)] = r;
    }
    print_list(queue);
  }
  std::printf(" %d", tasks);
  for (const int r : record) {
    const int waits = r < 0 ? 0 : t.record[r].wait_end - hp::wait_begin(t, r);
    std::printf(" %d", waits);
    for (int w = 0; w < waits; ++w) {
      const hp::word_wait one = t.wait[hp::wait_begin(t, r) + w];
      std::printf(" %d %d", one.word, one.threshold);
    }
    std::vector<long long> told;
    for (int i = r < 0 ? 0 : hp::detail::reader_begin(t, r); r >= 0 && i < t.record[r].reader_end; ++i)
      told.push_back(t.reader[i]);
    print_list(told);
  }
  std::printf("\n");
}

/// Each record waits for what the one before it in its queue waits for, too: much of it can be dropped.
void repeat_waits(hp::grown_execution_table& t) {
  hp::growing_array<hp::word_wait> waits;
  std::vector<int> wait_end;
  for (int q = 0; q < t.size.queues; ++q)
    for (int r = t.queue_begin[q]; r < t.queue_begin[q + 1]; ++r) {
      const int first = hp::wait_begin(t, r > t.queue_begin[q] ? r - 1 : r);
      for (int w = first; w < t.record[r].wait_end; ++w) waits.push(t.wait[w]);
      wait_end.push_back(waits.size);
    }
  for (int r = 0; r < t.size.tasks; ++r) t.record[r].wait_end = wait_end[static_cast<std::size_t>(r)];
  t.size.waits = waits.size;
  t.wait = waits;
  hp::detail::list_readers(t);
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 100;
  std::mt19937 random(argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1U);
  std::vector<mutant> whole = programs::whole_tables(false);
  for (mutant& m : programs::tiled_tables())  // the model's places lie in lists
    if (places_of(m.l).run.size < 300) whole.push_back(std::move(m));
  for (const mutant& m : whole) print_table("whole", m.l, m.table);
  for (int i = 0; i < count;) {
    const auto how = static_cast<mutation>(i / 2 % static_cast<int>(mutation::count));
    mutant m = whole[random() % whole.size()];
    const bool repeats = i % 2 == 0 && how != mutation::missing_answer;  // an answer may be given twice
    if (repeats) repeat_waits(m.table);
    if (!programs::mutate(how, m, random)) continue;
    const std::string name = programs::mutation_names[static_cast<int>(how)];
    print_table((repeats ? name + ", repeated" : name).c_str(), m.l, m.table);
    ++i;
  }
}
