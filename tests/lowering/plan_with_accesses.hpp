// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plan of a program as a taskflow with its accesses, derived from the steps alone: what the general checkers judge.
//
// Each tier of a rank is one slot, and accesses are ranges of its words. Those of tiles are found element by element.

#include <hyperparallel/lowering/lower_program.hpp>
#include <hyperparallel/lowering/planned_flow.hpp>
#include <hyperparallel/lowering/program_proof.hpp>
#include <hyperparallel/taskflow/exact_check.hpp>

#include <algorithm>
#include <vector>

namespace programs {

namespace hp = hyperparallel;

struct plan_with_accesses {
  const hp::sharded_program& p;
  const hp::program_pulls& pulls;
  const hp::program_addresses& a;
  const hp::program_plan& plan;

  static constexpr hp::extent_t word = 4;
  struct lines {
    int tier = 0, begin = 0, end = 0;
  };

  /// Calls visit(lines) for runs of elements of a value on a rank that lie in the box and in the tile. Domain: elements of
  /// `word` bytes.
  template <class Visit>
  void visit_elements(int value, int rank, const hp::box& within, const hp::step_tile& t, const Visit& visit) const {
    const hp::box own = hp::box_of(p, value, rank);
    const hp::graph_tensor& tensor = p.graph.tensor[p.value[value].tensor];
    const int first = of_place(p.value[value].storage).begin, count = static_cast<int>(hp::volume(own));
    int begin = -1;
    for (int e = 0; e <= count; ++e) {
      bool in = e < count;
      hp::extent_t rest = e;
      for (int d = own.rank - 1; d >= 0 && in; --d) {
        const hp::extent_t n = own.dim[d].end - own.dim[d].begin, x = own.dim[d].begin + rest % n;
        rest /= n;
        in = within.dim[d].begin <= x && x < within.dim[d].end;
        const int inner = t.inner.count, outer = t.count / inner;
        if (tensor.dim[d] == t.dim) in = in && x % t.shard / (t.shard / outer) == t.index / inner;
        if (inner > 1 && tensor.dim[d] == t.inner.dim)
          in = in && x % t.inner.shard / (t.inner.shard / inner) == t.index % inner;
      }
      if (in && begin < 0) begin = e;
      if (in || begin < 0) continue;
      visit(lines{0, first + begin, first + e});
      begin = -1;
    }
  }
  int part_of_place(int place) const {
    if (place < p.storage.size) return p.storage[place].part;
    int m = 0;
    while (place >= hp::detail::staged_place(p, pulls.moves, m + 1, 0)) ++m;
    return hp::detail::part_of_value(p, p.move[m].target);
  }
  lines of_place(int place) const {
    const auto range = [](int tier, hp::extent_t begin, hp::extent_t bytes) {
      return lines{tier, static_cast<int>(begin / word), static_cast<int>((begin + bytes + word - 1) / word)};
    };
    if (place < p.storage.size) return range(p.storage[place].tier, a.storage[place], p.storage[place].bytes);
    int m = 0;
    while (place >= hp::detail::staged_place(p, pulls.moves, m + 1, 0)) ++m;
    if (a.staged[m] < 0) return {};
    const hp::staged_block& one =
        hp::kind_of(pulls.moves, m).staged[place - hp::detail::staged_place(p, pulls.moves, m, 0)];
    return range(0, a.staged[m] + one.offset, one.bytes);
  }

  template <class Flow>
  void operator()(Flow& f) const {
    const hp::machine_shape& m = plan.machine;
    const int tiers = hp::tiers_of(p);
    hp::extent_t bytes[hp::max_memory_tiers] = {};
    for (int place = 0; place < hp::detail::place_count(p, pulls.moves); ++place) {
      const lines l = of_place(place);
      bytes[l.tier] = std::max(bytes[l.tier], l.end * word);
    }
    for (int q = 0; q < hp::queue_count(m); ++q) hp::add_event(f, q / hp::detail::queues_per_rank(m));
    for (int r = 0; r < m.ranks; ++r)
      for (int t = 0; t < tiers; ++t) hp::add_slot(f, r, t, 0, bytes[t]);
    const auto use = [&](int place, int rank, hp::access_mode mode) {
      const lines l = of_place(place);
      if (l.begin < l.end) hp::add_access(f, rank * tiers + l.tier, l.begin, l.end, mode);
    };
    const auto use_tile = [&](int value, int rank, const hp::box& within, const hp::step_tile& t,
                              hp::access_mode mode) {
      visit_elements(value, rank, within, t,
                     [&](const lines& l) { hp::add_access(f, rank * tiers + l.tier, l.begin, l.end, mode); });
    };
    for (int t = 0, w = 0, i = 0; t < plan.tasks(); ++t) {
      while (t >= plan.row[i].first_task + plan.tasks_of(plan.row[i])) ++i;
      const hp::plan_row& row = plan.row[i];
      const int place = t - row.first_task, rank = plan.ranks_of(row.part).first + place;
      hp::add_task(f, row.kind, rank, plan.duration[t], row.step, row.first_item + rank);
      for (; w < plan.wait_end[t]; ++w) hp::add_wait(f, plan.wait[w].word, plan.wait[w].threshold);
      hp::add_signal(f, hp::detail::first_queue(m, rank, row.kind));
      const hp::program_step& s = p.step[row.step];
      if (s.is_move && p.move[s.index].detaches) continue;
      if (!s.is_move) {
        hp::detail::visit_values(p, s, [&](int v, bool written) {
          const hp::access_mode mode = written ? hp::access_mode::write : hp::access_mode::read;
          if (s.tile.dim < 0)
            use(p.value[v].storage, rank, mode);
          else
            use_tile(v, rank, hp::box_of(p, v, rank), s.tile, mode);
        });
        continue;
      }
      const hp::move_pulls& how = pulls.of(s.index);
      const int number = row.first_item / m.ranks, receiver = number * plan.tasks_of(row) + place;
      const hp::move_row& moved = how.row[number];
      const int first_sender = hp::first_rank_of(p, hp::detail::part_of_value(p, p.move[s.index].source));
      if (s.tile.dim >= 0) {
        const int source = p.move[s.index].source, target = p.move[s.index].target;
        const hp::box wanted = hp::box_of(p, target, rank);
        for (int k = how.sender_begin[receiver]; k < how.sender_begin[receiver + 1]; ++k)
          use_tile(source, first_sender + how.sender[k], wanted, s.tile, hp::access_mode::read);
        use_tile(target, rank, wanted, s.tile, hp::access_mode::write);
        continue;
      }
      for (int k = how.sender_begin[receiver]; k < how.sender_begin[receiver + 1]; ++k)
        use(hp::detail::place_read(p, pulls.moves, s.index, moved), first_sender + how.sender[k],
            hp::access_mode::read);
      use(hp::detail::place_written(p, pulls.moves, s.index, moved), rank, hp::access_mode::write);
    }
  }
};

/// A program with everything that its plan is made of.
struct lowered {
  hp::sharded_program program;
  hp::program_pulls pulls;
  hp::program_addresses addresses;
  hp::program_flow_options how;
  hp::program_plan plan;

  lowered(const hp::sharded_program& p, const hp::program_flow_options& options)
      : lowered(p, options, hp::plan_addresses(p)) {}
  lowered(const hp::sharded_program& p, const hp::program_flow_options& options, const hp::program_addresses& a)
      : lowered(p, options, hp::pulls_of(p), a) {}
  lowered(const hp::sharded_program& p, const hp::program_flow_options& options, const hp::program_pulls& with,
          const hp::program_addresses& a)
      : program(p), pulls(with), addresses(a), how(options) {
    plan = hp::lower_program(program, pulls, addresses, how);
  }
  hp::program_proof proof(const hp::grown_execution_table& table) const {
    return hp::prove_program(program, pulls, addresses, how.phases, plan.machine, table);
  }
  hp::program_proof proof() const { return proof(hp::table_of(plan)); }
  hp::planned_flow with_accesses() const {
    return {plan_with_accesses{program, pulls, addresses, plan}, plan.machine, {hp::priority::reference_order, 0}};
  }
  static hp::exact_code exactly(const hp::planned_flow& f) {
    hp::detail::owned_exact_scratch x(f.flow().size, hp::queue_count(f.schedule().machine));
    return hp::check_exactly(f.flow(), f.schedule(), x).code;
  }
  hp::exact_code exactly() const { return exactly(with_accesses()); }
};

/// The first step that uses lines which another place has written last, by walking the steps; behind all of them where
/// only lines of a home are, at the end, and -1 where nothing is.
inline int first_overwritten(const lowered& l) {
  const hp::sharded_program& p = l.program;
  const plan_with_accesses places{p, l.pulls, l.addresses, l.plan};
  std::vector<std::vector<int>> owner(static_cast<std::size_t>(hp::parts_of(p)), std::vector<int>(1 << 16, -1));
  const auto lines = [&](int place, const auto& visit) {
    const auto one = places.of_place(place);
    std::vector<int>& of_part = owner.at(static_cast<std::size_t>(places.part_of_place(place)));
    for (int line = one.begin; line < one.end; ++line) visit(of_part.at(static_cast<std::size_t>(line)));
  };
  const auto is_there = [&](int place) {
    bool there = true;
    lines(place, [&](int by) { there = there && (by < 0 || by == place); });
    return there;
  };
  const auto pass = [&](const std::vector<int>& reads, const std::vector<int>& writes) {
    bool good = true;
    for (const int place : reads) good = good && is_there(place);
    for (const int place : reads)
      lines(place, [&](int& by) { by = by < 0 ? place : by; });  // since before the first step
    for (const int place : reads) good = good && is_there(place);
    for (const int place : writes) lines(place, [&](int& by) { by = place; });
    for (const int place : reads) good = good && is_there(place);
    for (const int place : writes) good = good && is_there(place);
    return good;
  };
  for (int s = 0; s < p.step.size; ++s) {
    if (!hp::is_in(p.step[s].phase, l.how.phases)) continue;
    std::vector<int> reads, writes;
    hp::detail::visit_values(p, p.step[s],
                             [&](int v, bool written) { (written ? writes : reads).push_back(p.value[v].storage); });
    if (!p.step[s].is_move || p.move[p.step[s].index].detaches) {
      if (!pass(reads, writes)) return s;
      continue;
    }
    const int m = p.step[s].index;
    for (const hp::move_row& row : l.pulls.of(m).row)
      if (!pass({hp::detail::place_read(p, l.pulls.moves, m, row)},
                {hp::detail::place_written(p, l.pulls.moves, m, row)}))
        return s;
  }
  for (int s = 0; s < p.storage.size; ++s)
    if (p.storage[s].home && !is_there(s)) return p.step.size;
  return -1;
}

}  // namespace programs
