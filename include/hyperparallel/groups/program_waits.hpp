// SPDX-License-Identifier: Apache-2.0
#pragma once
// The waits of a graph of programs: what its edges and rows mean, one by one, and whether a list of waits means as much.
//
//   for (const hp::program_wait& w : hp::waits_of(graph)) …   firing k of w.to after firing k − w.back of w.from
//   hp::check_waits(graph, kept)                             whether `kept` makes every program wait as the graph asks
//
// Laws: programs run for ever exactly where no cycle of waits has `back` 0 all round (`order_of_firing`); firing k of one
// program is sure to come after the end of firing k − n of another exactly where a path of waits has `back` at most n
// together (`least_backs`), since an order that plays only the firings on such paths is possible. So
// `check_waits` accepts exactly the lists under which no order of play breaks a wait of the graph. Domain of all: a graph
// whose numbers check_programs.hpp accepts. Complexity: O(programs + edges + turns), of least_backs O(programs³).

#include <hyperparallel/groups/program_graph.hpp>
#include <hyperparallel/groups/program_status.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class wait_kind : unsigned char {
  itself,    ///< one firing of a program at a time
  delivery,  ///< the reader for the writer of edge `number`
  room,      ///< the writer for the reader of edge `number`
  turn       ///< in row `number`
};

/// Firing k of `to` begins `delay` after the end of firing k − `back` of `from`, where there is such a firing.
struct program_wait {
  int from = -1, to = -1, back = 0;
  wait_kind kind = wait_kind::itself;
  int number = -1;
  extent_t delay = 0;
  friend constexpr bool operator==(const program_wait&, const program_wait&) = default;
};

constexpr growing_array<program_wait> waits_of(const program_graph& g) {
  growing_array<program_wait> w;
  for (int p = 0; p < g.program.size; ++p) w.push({p, p, 1});
  for (int i = 0; i < g.edge.size; ++i) {
    const program_edge& e = g.edge.item[i];
    w.push({e.from, e.to, e.ready, wait_kind::delivery, i, e.move});
    if (e.reads == edge_reads::every) w.push({e.to, e.from, e.room - e.ready, wait_kind::room, i});
  }
  for (int r = 0; r < g.row.size; ++r) {
    const growing_array<int>& turn = g.row.item[r].turn;
    for (int i = 0; i < turn.size && turn.size > 1; ++i)
      w.push({i > 0 ? turn.item[i - 1] : turn.last(), turn.item[i], i > 0 ? 0 : 1, wait_kind::turn, r});
  }
  return w;
}

namespace detail {

/// Programs in an order in which those of one firing number can run; or waits round a cycle without a firing between.
struct firing_order {
  growing_array<int> order{};
  growing_array<program_wait> cycle{};
  constexpr bool ok() const { return cycle.empty(); }
};

constexpr firing_order order_of_firing(int programs, const growing_array<program_wait>& waits) {
  firing_order f;
  growing_array<bool> placed(programs, false);
  growing_array<int> blocking(programs, -1);  // the first wait of each program that is not met
  for (bool more = true; more;) {
    more = false;
    for (int p = 0; p < programs; ++p) blocking.item[p] = -1;
    for (int i = waits.size; i-- > 0;)
      if (waits.item[i].back == 0 && !placed.item[waits.item[i].from]) blocking.item[waits.item[i].to] = i;
    for (int p = 0; p < programs; ++p) {
      if (placed.item[p] || blocking.item[p] >= 0) continue;
      f.order.push(p);
      placed.item[p] = more = true;
    }
  }
  if (f.order.size == programs) return f;
  int at = 0;
  while (placed.item[at]) ++at;
  for (int i = 0; i < programs; ++i) at = waits.item[blocking.item[at]].from;  // on the cycle now
  const int first = at;
  do {
    f.cycle.push(waits.item[blocking.item[at]]);
    at = f.cycle.last().from;
  } while (at != first);
  return f;
}

/// The least `back` of a path of one wait or more, at [from · programs + to]; -1 where there is none.
constexpr growing_array<int> least_backs(int programs, const growing_array<program_wait>& waits) {
  growing_array<int> least(programs * programs, -1);
  const auto offer = [&](int from, int to, int back) {
    int& known = least.item[from * programs + to];
    if (known < 0 || back < known) known = back;
  };
  for (const program_wait& w : waits) offer(w.from, w.to, w.back);
  for (int by = 0; by < programs; ++by)
    for (int from = 0; from < programs; ++from)
      for (int to = 0; to < programs; ++to) {
        const int here = least.item[from * programs + by], there = least.item[by * programs + to];
        if (here >= 0 && there >= 0) offer(from, to, here + there);
      }
  return least;
}

constexpr programs_status blame_wait(programs_code code, const program_wait& w) {
  programs_status s{code, w.to, w.from};
  if (w.kind == wait_kind::delivery || w.kind == wait_kind::room) s.edge = w.number;
  if (w.kind == wait_kind::turn) s.row = w.number;
  return s;
}

constexpr programs_status blame_cycle(const firing_order& f) {
  return f.ok() ? programs_status{} : blame_wait(programs_code::programs_wait_for_each_other, f.cycle.item[0]);
}

}  // namespace detail

/// Whether programs that keep to these waits, and to nothing else, keep to those of the graph and never stand still; names
/// the first wait that is missing. That a version has been moved is sure where a wait of its edge says so.
constexpr programs_status check_waits(const program_graph& g, const growing_array<program_wait>& kept) {
  const int programs = g.program.size;
  for (const program_wait& w : kept)
    if (w.from < 0 || w.from >= programs || w.to < 0 || w.to >= programs || w.back < 0)
      return {.code = programs_code::wait_is_missing, .program = w.to, .other = w.from};
  const programs_status live = detail::blame_cycle(detail::order_of_firing(programs, kept));
  if (!live.ok()) return live;
  const growing_array<int> least = detail::least_backs(programs, kept);
  for (const program_wait& w : waits_of(g)) {
    const int sure = least.item[w.from * programs + w.to];
    bool kept_so = w.delay == 0 && sure >= 0 && sure <= w.back;
    for (int i = 0; i < kept.size && !kept_so; ++i) {
      const program_wait& k = kept.item[i];
      const int after = k.to == w.to ? 0 : least.item[k.to * programs + w.to];
      kept_so = k.kind == w.kind && k.number == w.number && k.from == w.from && k.delay >= w.delay && after >= 0 &&
                k.back + after <= w.back;
    }
    if (!kept_so) return detail::blame_wait(programs_code::wait_is_missing, w);
  }
  return {};
}

}}  // namespace hyperparallel::v0_2
