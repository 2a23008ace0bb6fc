// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can happen when processes carry a split flow out, without the library's rules: which begins and ends follow which, what
// messages meet, and who uses which bytes in between.
//
// A message is posted and ends later; its bytes are in use from the one to the other. Everything that a process does follows
// what it did before; a receive ends after the send that it meets has been posted; a close follows the ends of the row's
// messages that its process has posted. All of that holds in every run and nothing else does, so what these edges do not order can
// happen in any order.

#include <hyperparallel/lowering/split_messages.hpp>

#include <lowering/plan_with_accesses.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace programs {

class split_oracle {
 public:
  split_oracle(const hp::lowered_program& l, const hp::split_flow& f) : l_(l), plan_(l.run[0].plan), f_(f) {}

  bool is_safe() {
    return has_every_entry_once() && keeps_credit() && messages_meet() && ends() && rows_are_whole() &&
           uses_are_in_order();
  }

 private:
  using kinds = hp::split_kind;
  using key = std::tuple<int, int, int, int>;  // kind, row, process, peer

  static bool is_message(kinds k) { return k == kinds::send || k == kinds::receive; }
  bool is_move(int row) const { return l_.program.step[plan_.row[row].step].is_move; }
  int move(int row) const { return l_.program.step[plan_.row[row].step].index; }
  int home(int rank) const { return f_.process_of[rank]; }
  int ranks() const { return plan_.machine.ranks; }
  template <class Visit>
  void visit_pulls(int row, const Visit& visit) const {
    const hp::move_pulls& how = l_.pulls.of(move(row));
    const hp::rank_span to = receivers(row), from = senders(row);
    for (int r = 0; r < to.count; ++r) {
      const int at = plan_.row[row].first_item / ranks() * to.count + r;
      for (int i = how.sender_begin[at]; i < how.sender_begin[at + 1]; ++i)
        visit(to.first + r, from.first + how.sender[i]);
    }
  }
  hp::rank_span receivers(int row) const { return plan_.ranks_of(plan_.row[row].part); }
  hp::rank_span senders(int row) const {
    if (!is_move(row)) return receivers(row);
    return plan_.ranks_of(hp::detail::part_of_value(l_.program, l_.program.move[move(row)].source));
  }
  /// Ranks of the parts that the row works in.
  std::set<int> concerned(int row) const {
    std::set<int> all;
    for (const hp::rank_span& span : {receivers(row), senders(row)})
      for (int r = span.first; r < span.first + span.count; ++r) all.insert(r);
    return all;
  }

  bool has_every_entry_once() const {
    std::set<key> wanted, found;
    const auto want = [&](kinds k, int row, int process, int peer = -1) {
      wanted.insert({static_cast<int>(k), row, process, peer});
    };
    for (int row = 0; row < plan_.row.size; ++row)
      for (const int r : concerned(row)) {
        if (!is_move(row)) want(kinds::compute, row, home(r));
        if (!is_move(row) || l_.program.move[move(row)].detaches) continue;
        for (const kinds k : {kinds::open, kinds::copy, kinds::close}) want(k, row, home(r));
        visit_pulls(row, [&](int to, int from) {
          if (home(to) == home(from)) return;
          want(kinds::send, row, home(from), home(to));
          want(kinds::receive, row, home(to), home(from));
        });
      }
    for (int p = 0; p < f_.processes(); ++p)
      for (const hp::split_entry& e : f_.entry[p])
        if (!found.insert({static_cast<int>(e.kind), e.row, p, e.peer}).second) return false;
    return found == wanted;
  }

  /// No more rows are open than the window has places, and each has its own.
  bool keeps_credit() const {
    for (int p = 0; p < f_.processes(); ++p) {
      std::map<int, int> open;  // rows by places
      for (const hp::split_entry& e : f_.entry[p]) {
        if (e.kind == kinds::open && (e.place < 0 || e.place >= f_.window || !open.insert({e.place, e.row}).second))
          return false;
        if (e.kind == kinds::close) std::erase_if(open, [&](const auto& one) { return one.second == e.row; });
      }
    }
    return true;
  }

  // ---- begins and ends ----

  /// Nodes: of an entry that is no message one; of a message its post, and its end behind all others.
  bool messages_meet() {
    std::map<std::pair<int, int>, std::vector<int>> sent, received;  // by sender and receiver
    for (int p = 0; p < f_.processes(); ++p)
      for (int i = 0; i < f_.entry[p].size; ++i) {
        const hp::split_entry& e = f_.entry[p][i];
        const int node = static_cast<int>(entry_.size());
        if (i > 0) edge_.push_back({node - 1, node});
        at_[{static_cast<int>(e.kind), e.row, p, e.peer}] = node;
        entry_.push_back({e, p});
        if (e.kind == kinds::send) sent[{p, e.peer}].push_back(node);
        if (e.kind == kinds::receive) received[{e.peer, p}].push_back(node);
      }
    nodes_ = static_cast<int>(entry_.size());
    end_.assign(entry_.size(), -1);
    for (std::size_t n = 0; n < entry_.size(); ++n) {
      end_[n] = is_message(entry_[n].first.kind) ? nodes_++ : static_cast<int>(n);
      if (is_message(entry_[n].first.kind)) edge_.push_back({static_cast<int>(n), end_[n]});
    }
    for (int p = 0, node = 0; p < f_.processes(); ++p) {
      std::map<int, std::vector<int>> posted;  // ends by rows
      for (const hp::split_entry& e : f_.entry[p]) {
        if (is_message(e.kind)) posted[e.row].push_back(end_[static_cast<std::size_t>(node)]);
        if (e.kind == kinds::close)
          for (const int end : posted[e.row]) edge_.push_back({end, node});
        ++node;
      }
    }
    for (auto& [pair, sends] : sent) {
      const std::vector<int>& receives = received[pair];
      if (sends.size() != receives.size()) return false;
      for (std::size_t i = 0; i < sends.size(); ++i) {
        const auto s = static_cast<std::size_t>(sends[i]), r = static_cast<std::size_t>(receives[i]);
        if (entry_[s].first.row != entry_[r].first.row) return false;
        edge_.push_back({sends[i], end_[r]});
        met_.push_back({receives[i], end_[s]});  // where a send ends only when its receive has been posted
      }
    }
    return true;
  }

  /// Nodes in an order that the edges respect; fewer where some never come.
  std::vector<int> sorted(bool reluctant) const {
    std::vector<std::vector<int>> next(static_cast<std::size_t>(nodes_));
    std::vector<int> missing(static_cast<std::size_t>(nodes_)), order;
    const auto add = [&](const std::vector<std::pair<int, int>>& edges) {
      for (const auto& [a, b] : edges) {
        next[static_cast<std::size_t>(a)].push_back(b);
        ++missing[static_cast<std::size_t>(b)];
      }
    };
    add(edge_);
    if (reluctant) add(met_);
    for (int n = 0; n < nodes_; ++n)
      if (missing[static_cast<std::size_t>(n)] == 0) order.push_back(n);
    for (std::size_t i = 0; i < order.size(); ++i)
      for (const int n : next[static_cast<std::size_t>(order[i])])
        if (--missing[static_cast<std::size_t>(n)] == 0) order.push_back(n);
    return order;
  }
  bool ends() {
    if (static_cast<int>(sorted(true).size()) < nodes_) return false;
    const std::size_t words = static_cast<std::size_t>(nodes_ + 63) / 64;
    before_.assign(static_cast<std::size_t>(nodes_), std::vector<std::uint64_t>(words));
    std::vector<std::vector<int>> behind(static_cast<std::size_t>(nodes_));
    for (const auto& [a, b] : edge_) behind[static_cast<std::size_t>(b)].push_back(a);
    for (const int n : sorted(false))
      for (const int a : behind[static_cast<std::size_t>(n)]) {
        auto& own = before_[static_cast<std::size_t>(n)];
        const auto& other = before_[static_cast<std::size_t>(a)];
        for (std::size_t w = 0; w < words; ++w) own[w] |= other[w];
        own[static_cast<std::size_t>(a) / 64] |= std::uint64_t{1} << (a % 64);
      }
    return true;
  }
  /// Entry `a` has ended when entry `b` begins.
  bool precedes(int a, int b) const {
    const int end = end_[static_cast<std::size_t>(a)];
    return (before_[static_cast<std::size_t>(b)][static_cast<std::size_t>(end) / 64] >> (end % 64) & 1) != 0;
  }

  /// What a row does on a process lies between its open and its close.
  bool rows_are_whole() const {
    for (std::size_t n = 0; n < entry_.size(); ++n) {
      const auto& [e, p] = entry_[n];
      if (!is_message(e.kind) && e.kind != kinds::copy) continue;
      const int here = static_cast<int>(n);
      if (!precedes(at_.at({static_cast<int>(kinds::open), e.row, p, -1}), here) ||
          !precedes(here, at_.at({static_cast<int>(kinds::close), e.row, p, -1})))
        return false;
    }
    return true;
  }

  // ---- bytes ----

  struct use {
    int node = 0, row = 0, place = 0;
    bool writes = false;
  };
  bool uses_are_in_order() const {
    std::vector<std::vector<use>> of_rank(static_cast<std::size_t>(ranks()));
    for (std::size_t n = 0; n < entry_.size(); ++n) {
      const auto& [e, p] = entry_[n];
      const auto add = [&](int rank, int place, bool writes) {
        of_rank[static_cast<std::size_t>(rank)].push_back({static_cast<int>(n), e.row, place, writes});
      };
      if (e.kind == kinds::compute) {
        for (const int r : concerned(e.row))
          if (home(r) == p)
            hp::detail::visit_values(l_.program, l_.program.step[plan_.row[e.row].step],
                                     [&](int v, bool writes) { add(r, l_.program.value[v].storage, writes); });
        continue;
      }
      const hp::move_row& of = l_.pulls.of(move(e.row)).row[plan_.row[e.row].first_item / ranks()];
      const int from = hp::detail::place_read(l_.program, l_.pulls.moves, move(e.row), of);
      const int to = hp::detail::place_written(l_.program, l_.pulls.moves, move(e.row), of);
      if (e.kind == kinds::open || e.kind == kinds::close)  // fills, and folds
        for (int r = receivers(e.row).first; r < receivers(e.row).first + receivers(e.row).count; ++r)
          if (home(r) == p) add(r, to, true);
      visit_pulls(e.row, [&](int receiver, int sender) {
        const bool sends = e.kind == kinds::send && home(sender) == p && home(receiver) == e.peer;
        const bool receives = e.kind == kinds::receive && home(receiver) == p && home(sender) == e.peer;
        const bool copies = e.kind == kinds::copy && home(receiver) == p && home(sender) == p;
        if (sends || copies) add(sender, from, false);
        if (receives || copies) add(receiver, to, true);
      });
    }
    const plan_with_accesses places{l_.program, l_.pulls, l_.addresses, plan_};
    std::vector<plan_with_accesses::lines> lines;
    for (int i = 0; i < hp::detail::place_count(l_.program, l_.pulls.moves); ++i) lines.push_back(places.of_place(i));
    for (const std::vector<use>& uses : of_rank)
      for (const use& a : uses)
        for (const use& b : uses) {
          if (a.row >= b.row || !(a.writes || b.writes)) continue;
          const auto &i = lines[static_cast<std::size_t>(a.place)], &j = lines[static_cast<std::size_t>(b.place)];
          if (i.tier == j.tier && i.begin < j.end && j.begin < i.end && !precedes(a.node, b.node)) return false;
        }
    return true;
  }

  const hp::lowered_program& l_;
  const hp::program_plan& plan_;
  const hp::split_flow& f_;
  std::vector<std::pair<hp::split_entry, int>> entry_;  ///< with its process
  std::vector<int> end_;                                ///< of each entry
  std::map<key, int> at_;
  int nodes_ = 0;
  std::vector<std::pair<int, int>> edge_, met_;
  std::vector<std::vector<std::uint64_t>> before_;  ///< of each node
};

}  // namespace programs
