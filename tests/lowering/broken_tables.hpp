// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tables of training steps under the named strategies, and classes of mistakes in them, each a single change.

#include <hyperparallel/lowering/program_slots.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/tiles/tile_program.hpp>

#include <lowering/plan_with_accesses.hpp>
#include <models/stacked_model.hpp>
#include <models/trained_models.hpp>
#include <support/small_links.hpp>

#include <random>
#include <vector>

namespace programs {

constexpr hp::sharded_program program_of(const char* strategy, int devices, int micro_batches) {
  programs::stacked_model model;
  model.unrolled = true;
  model.dense_layers = 1;
  model.key_heads = 4;
  model.micro_batches = micro_batches;
  return hp::partition(model.build(), hp::strategy_called(strategy, devices).strategy);
}

/// Moves by fewest bytes, by levels of links, and over the links of a full mesh of two dimensions.
inline std::vector<hp::interconnect> links_of(const hp::sharded_program& p) {
  const int ranks = hp::position_count(p.mesh.shape);
  return {hp::without_links, tested::node_links(), tested::mesh_links({2, {ranks / 2, 2}})};
}
inline lowered lowered_on(const hp::sharded_program& p, const hp::interconnect& links,
                          const hp::program_flow_options& how, const hp::address_options& addresses = {}) {
  const hp::program_moves moves = hp::kinds_of_moves(p, links);
  return {p, how, hp::pulls_of(p, moves), hp::plan_addresses(p, moves, addresses)};
}

/// Steps of two layers with experts, tiled wherever a move stands beside operators; without steps where there is none, or
/// the strategy is refused.
inline hp::sharded_program tiled_program_of(const char* strategy, int devices) {
  const hp::graph g = moe_graph({.unrolled = true}, {.batch = 4,
                                                     .sequence = 4,
                                                     .vocabulary = 8,
                                                     .layers = 1,
                                                     .hidden = 8,
                                                     .query_heads = 4,
                                                     .key_heads = 4,
                                                     .head_dim = 2,
                                                     .experts = 4,
                                                     .top_k = 2,
                                                     .expert_width = 4});
  const hp::sharded_program p = hp::partition(g, hp::strategy_called(strategy, devices).strategy);
  if (p.status.code != hp::strategy_code::ok) return {};
  hp::tile_options everything;
  everything.operators.push("*");
  hp::detail::tiled_program t = hp::detail::tile_program(p, hp::kinds_of_moves(p), everything);
  return t.sections == 0 ? hp::sharded_program{} : t.program;
}

enum class mutation {
  lowered_wait,
  dropped_wait,
  redirected_wait,
  swapped_tasks,
  missing_answer,
  moved_place,
  moved_staging,
  shifted_staged_block,
  count
};
inline constexpr const char* mutation_names[] = {"lowered wait",
                                                 "dropped wait",
                                                 "wait for another queue",
                                                 "swapped tasks",
                                                 "missing answer",
                                                 "place on another's addresses",
                                                 "staging on another's addresses",
                                                 "staged block on another one"};

struct mutant {
  lowered l;
  hp::grown_execution_table table;
};

/// Breaks it in one place; false where the draw met nothing to break. The answers follow the waits.
inline bool mutate(mutation how, mutant& m, std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  hp::grown_execution_table& t = m.table;
  if (how == mutation::moved_place) {
    const int s = below(m.l.program.storage.size), other = below(m.l.program.storage.size);
    m.l.addresses.storage[s] = m.l.addresses.storage[other] + hp::detail::storage_alignment * (below(3) - 1);
    return s != other && m.l.addresses.storage[s] >= 0;
  }
  if (how == mutation::moved_staging) {
    const int move = below(m.l.program.move.size), other = below(m.l.program.storage.size);
    if (m.l.addresses.staged[move] < 0) return false;
    m.l.addresses.staged[move] = m.l.addresses.storage[other] + hp::detail::storage_alignment * (below(3) - 1);
    return m.l.addresses.staged[move] >= 0;
  }
  if (how == mutation::shifted_staged_block) {
    hp::move_kind& kind = m.l.pulls.moves.kind[below(m.l.pulls.moves.kind.size)];
    if (kind.staged.size < 2) return false;
    const int block = 1 + below(kind.staged.size - 1);
    kind.staged[block].offset = kind.staged[block - 1].offset;
    return true;
  }
  if (how == mutation::missing_answer) {
    const int r = below(t.size.tasks);
    if (hp::detail::reader_begin(t, r) == t.record[r].reader_end) return false;
    for (int i = hp::detail::reader_begin(t, r); i + 1 < t.reader.size; ++i) t.reader[i] = t.reader[i + 1];
    for (int i = r; i < t.size.tasks; ++i) --t.record[i].reader_end;
    return true;
  }
  if (how == mutation::swapped_tasks) {
    const int r = below(t.size.tasks - 1);
    for (int q = 0; q < t.size.queues; ++q)
      if (t.queue_begin[q] == r + 1) return false;
    const hp::execution_record one = t.record[r], next = t.record[r + 1];
    const int begin = hp::wait_begin(t, r);
    hp::growing_array<hp::word_wait> waits;
    for (int w = one.wait_end; w < next.wait_end; ++w) waits.push(t.wait[w]);
    for (int w = begin; w < one.wait_end; ++w) waits.push(t.wait[w]);
    for (int w = 0; w < waits.size; ++w) t.wait[begin + w] = waits[w];
    t.record[r] = next;
    t.record[r].wait_end = begin + next.wait_end - one.wait_end;
    t.record[r + 1] = one;
    t.record[r + 1].wait_end = next.wait_end;
    hp::detail::list_readers(t);
    return true;
  }
  const int w = below(t.size.waits);
  if (how == mutation::lowered_wait) {
    if (t.wait[w].threshold == 1) return false;
    t.wait[w].threshold = 1 + below(t.wait[w].threshold - 1);
  } else if (how == mutation::redirected_wait) {
    t.wait[w].word = below(t.size.queues);
    t.wait[w].threshold = 1 + below(t.queue_begin[t.wait[w].word + 1] - t.queue_begin[t.wait[w].word]);
  } else {
    for (int i = w; i + 1 < t.size.waits; ++i) t.wait[i] = t.wait[i + 1];
    t.wait.resize(t.size.waits - 1);
    for (hp::execution_record& r : t.record) r.wait_end -= r.wait_end > w ? 1 : 0;
  }
  hp::detail::list_readers(t);
  return true;
}

/// Tables of all strategies that have waits: with two and four devices, one and two micro-batches, whole steps and parts,
/// on all sorts of links or, for each strategy, on one of them.
inline std::vector<mutant> whole_tables(bool on_all_links = true) {
  std::vector<mutant> whole;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const hp::sharded_program p = program_of(hp::named_strategy_at(i).name, i % 2 == 0 ? 4 : 2, 1 + i % 3 / 2);
    if (p.status.code != hp::strategy_code::ok) continue;
    hp::program_flow_options how;
    if (i % 4 == 3) how.phases = hp::micro_phases;
    const std::vector<hp::interconnect> all = links_of(p);
    for (std::size_t n = 0; n < all.size(); ++n) {
      const hp::interconnect& links = all[n];
      if (!on_all_links && n != static_cast<std::size_t>(i) % all.size()) continue;
      const lowered l = lowered_on(p, links, how);
      const hp::grown_execution_table table = hp::table_of(l.plan);
      if (table.size.waits > 0) whole.push_back({l, table});
    }
  }
  return whole;
}

/// Tables of tiled steps under all strategies that have any, of two and of four devices.
inline std::vector<mutant> tiled_tables() {
  std::vector<mutant> tiled;
  for (int i = 0; i < hp::named_strategy_count; ++i)
    for (const int devices : {2, 4}) {
      const hp::sharded_program p = tiled_program_of(hp::named_strategy_at(i).name, devices);
      if (p.step.empty()) continue;
      const lowered l = lowered_on(p, hp::without_links, {});
      tiled.push_back({l, hp::table_of(l.plan)});
    }
  return tiled;
}

}  // namespace programs
