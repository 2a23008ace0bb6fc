// SPDX-License-Identifier: Apache-2.0
#pragma once
// A step of a folded program as the planner of memory tiers sees it: blocks of repetitions are operators, and what is
// used alike is one storage, so that a model of any depth is a period of a few dozen operators.
//
// The repetitions of a segment are dealt into chunks; a block (steps of one phase and segment, storage_uses.hpp) is one
// operator for each chunk. Storages of a chunk's repetitions which the same blocks use in the same way are one *group*.
// What the last repetition of a chunk leaves for the next chunk is a group of its own. What lives within one repetition
// of one block only counts as that operator's temporaries, at most what is alive of it at once.
//
// Laws: an operator holds all that its block uses for as long as it runs, so the bytes alive are never fewer than those
// of the program written out, and with one repetition a chunk exceed them by no more than what one block uses; bytes of
// homes, and of what forward leaves for backward, are exact; the durations of a block's operators add up to the
// block's. Where `recomputation` is allowed, the largest group that forward leaves for backward, and those that are
// pinned to it, may be made again by running their block's forward once more, each at that price. O(accesses + storages
// · groups + groups · chunks · blocks).

#include <hyperparallel/lowering/alike_storages.hpp>
#include <hyperparallel/lowering/tier_hardware.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// One block's repetitions [first, first + count).
struct folded_operator {
  int block = 0;
  extent_t first = 0, count = 1;
};

struct storage_group {
  int storage = -1;  ///< of the program: the largest one in it; of temporaries: -1
  memory_class kind = memory_class::buffers;
  int segment = -1;
  extent_t first = 0, count = 1;  ///< repetitions
  int storages = 0;               ///< of one repetition
};

struct folded_period {
  offload_program problem;
  growing_array<folded_operator> op;   ///< of the problem's operators
  growing_array<storage_group> group;  ///< of the problem's storages
  extent_t kept = 0;                   ///< bytes of small homes that stay, and take no part
  extent_t chunk = 1;                  ///< repetitions of a chunk, at most
};

struct folded_period_options {
  int most_operators = 48;  ///< where blocks are not more: each has one at least
  bool recomputation = false;
  extent_t negligible = 0;        ///< storages of so many bytes, or fewer, stay where they are alive
  growing_array<tier_pin> pin{};  ///< of each storage of the program; empty: automatic
};

namespace detail {

class period_folding {
 public:
  constexpr period_folding(const sharded_program& given, const storage_uses& used, const program_moves& sorted,
                           const growing_array<extent_t>& block_duration, const folded_period_options& how)
      : p(given), of(used), groups(given, used, sorted, how.pin), duration(block_duration), options(how) {}

  constexpr void run(folded_period& r) {
    deal_chunks(r);
    kept_at_.resize(r.op.size, 0);
    for (int segment = -1; segment < p.graph.segment.size; ++segment)
      for (int k = 0; k < chunks_of(segment); ++k) {
        chunk_begin_ = r.problem.storage.size;
        for (const alike_storages& g : groups.group)
          if (g.segment == segment) emit(g, k, r);
      }
    for (int q = 0; q < r.op.size; ++q) emit_temporaries(q, r);
    if (options.recomputation) allow_recomputation(r);
  }

 private:
  /// The fewest repetitions a chunk with which operators are not too many.
  constexpr void deal_chunks(folded_period& r) {
    const auto dealt = [&](int segment, extent_t size) {
      return static_cast<int>((repeats_of(p.graph, segment) + size - 1) / size);
    };
    extent_t size = 0, most = 1;
    for (const step_block& b : of.blocks) most = larger(most, repeats_of(p.graph, b.segment));
    for (int operators = options.most_operators + 1; operators > options.most_operators && size < most;) {
      ++size;
      operators = 0;
      for (const step_block& b : of.blocks) operators += dealt(b.segment, size);
    }
    r.chunk = size;
    base_.resize(of.blocks.size, 0);
    chunks_.resize(of.blocks.size, 0);
    for (int b = 0; b < of.blocks.size; ++b) {
      const step_block& block = of.blocks.item[b];
      chunks_.item[b] = dealt(block.segment, size);
      const extent_t repeats = repeats_of(p.graph, block.segment);
      base_.item[b] = r.op.size;
      const int chunks = chunks_.item[b];
      for (int i = 0; i < chunks; ++i) {
        const int k = block.reversed ? chunks - 1 - i : i;
        const extent_t first = repeats * k / chunks, end = repeats * (k + 1) / chunks;
        const extent_t before = duration[b] / repeats * (block.reversed ? repeats - end : first);
        const extent_t after =
            i + 1 == chunks ? duration[b] : duration[b] / repeats * (block.reversed ? repeats - first : end);
        r.op.push({b, first, end - first});
        r.problem.op.push({after - before, -1, false});
      }
    }
  }
  constexpr int chunks_of(int segment) const {
    for (int b = 0; b < of.blocks.size; ++b)
      if (of.blocks.item[b].segment == segment) return chunks_.item[b];
    return 1;
  }

  /// The storage of chunk k, or two where it hands something on to the next.
  constexpr void emit(const alike_storages& g, int k, folded_period& r) {
    const extent_t repeats = repeats_of(p.graph, g.segment);
    const int chunks = chunks_of(g.segment);
    const extent_t first = repeats * k / chunks, count = repeats * (k + 1) / chunks - first;
    if (!g.carried) return add_storage(g, {k, k, true}, first, count, r);
    const bool ends = k == (g.backward ? 0 : chunks - 1);
    if (count > 1) add_storage(g, {k, k, false}, g.backward ? first + 1 : first, count - 1, r);
    add_storage(g, {k, ends ? -1 : g.backward ? k - 1 : k + 1, ends}, g.backward ? first : first + count - 1, 1, r);
  }

  /// Instances of a group: whose they are, to which chunk they are carried, and whether others use them, too.
  struct instances {
    int chunk, next;
    bool used_outside;
  };

  constexpr void add_storage(const alike_storages& g, const instances& which, extent_t first, extent_t count,
                             folded_period& r) {
    offload_storage one;
    one.label = r.group.size;
    one.bytes = g.bytes * count;
    one.persistent = g.persistent;
    one.control = g.pin.control;
    one.tier = g.pin.tier;
    one.first_access = r.problem.access.size;
    for (int b = g.first_block; b <= g.last_block; ++b) {
      if (groups.uses(g.storage, b) == 0) continue;
      const bool own = of.blocks.item[b].segment == g.segment;
      for (int i = 0; i < chunks_.item[b]; ++i) {
        const int k = of.blocks.item[b].reversed ? chunks_.item[b] - 1 - i : i;
        if (own && k != which.chunk && k != which.next) continue;
        const storage_access a = access_by(g, which, b, k);
        if (a.reads || a.writes) r.problem.access.push({base_.item[b] + i, a.reads, a.writes});
      }
    }
    one.access_count = r.problem.access.size - one.first_access;
    if (one.access_count > 0 && !one.persistent) {
      storage_access& definition = r.problem.access[one.first_access];
      definition.reads = false;
      definition.writes = true;
    }
    if (stays(one, r) || joins(one, g.kind, r)) {
      r.problem.access.resize(one.first_access);
      return;
    }
    r.problem.storage.push(one);
    r.group.push({g.storage, g.kind, g.segment, first, count, g.storages});
  }

  /// What is small, or of one operator, is a decision for nobody.
  constexpr bool stays(const offload_storage& one, folded_period& r) {
    const bool pinned = one.control == offload_control::offload || one.control == offload_control::recompute;
    const bool short_lived = !one.persistent && one.access_count < 2;
    if (pinned || (one.bytes > options.negligible && !short_lived)) return false;
    if (one.persistent) {
      r.kept += one.bytes;
    } else if (one.access_count > 0) {
      const int last = r.problem.access[one.first_access + one.access_count - 1].op;
      for (int q = r.problem.access[one.first_access].op; q <= last; ++q) kept_at_.item[q] += one.bytes;
    }
    return true;
  }

  /// What is used as another storage of its class is, is one with it.
  constexpr bool joins(const offload_storage& one, memory_class kind, folded_period& r) {
    const offload_program& o = r.problem;
    for (int s = chunk_begin_; s < o.storage.size; ++s) {
      offload_storage& other = r.problem.storage[s];
      if (other.access_count != one.access_count || r.group[s].kind != kind || other.persistent != one.persistent ||
          other.control != one.control || other.tier != one.tier)
        continue;
      int same = 0;
      while (same < one.access_count && o.access[other.first_access + same] == o.access[one.first_access + same])
        ++same;
      if (same < one.access_count) continue;
      other.bytes += one.bytes;
      return true;
    }
    return false;
  }

  /// How chunk k of block b uses them.
  constexpr storage_access access_by(const alike_storages& g, const instances& which, int b, int k) {
    const int how = groups.uses(g.storage, b);
    storage_access a;
    if (of.blocks.item[b].segment == g.segment) {
      if (k == which.chunk) {
        a.reads = (how & own_read) != 0;
        a.writes = (how & own_write) != 0;
      }
      if (k == which.next) {
        a.reads = a.reads || (how & next_read) != 0;
        a.writes = a.writes || (how & next_write) != 0;
      }
      return a;
    }
    const int outside = how & (by_first | by_last);
    if (!which.used_outside || outside == 0) return a;
    if (outside == by_first && k != 0) return a;
    if (outside == by_last && k != chunks_.item[b] - 1) return a;
    a.writes = (how & outside_write) != 0;
    a.reads = !a.writes;
    return a;
  }

  constexpr void emit_temporaries(int q, folded_period& r) {
    const step_block& block = of.blocks.item[r.op[q].block];
    extent_t bytes = groups.temporaries[r.op[q].block] + kept_at_.item[q];
    // Forward may run here once more.
    for (int b = 0; b < of.blocks.size && options.recomputation && block.reversed; ++b)
      if (of.blocks.item[b].segment == block.segment && is_forward(b))
        bytes = larger(bytes, groups.temporaries[b] + kept_at_.item[q]);
    if (bytes == 0) return;
    r.problem.storage.push(
        {.bytes = bytes, .first_access = r.problem.access.size, .access_count = 1, .label = r.group.size});
    r.problem.access.push({q, false, true});
    r.group.push({-1, memory_class::buffers, block.segment, r.op[q].first, r.op[q].count, 0});
  }
  constexpr bool is_forward(int block) const {
    return p.step.item[of.blocks.item[block].begin].phase == graph_phase::forward;
  }

  constexpr void allow_recomputation(folded_period& r) const {
    offload_program& o = r.problem;
    for (int q = 0; q < o.op.size; ++q) {
      if (!is_forward(r.op[q].block) || of.blocks.item[r.op[q].block].segment < 0) continue;
      int largest = -1;
      for (int s = 0; s < o.storage.size; ++s) {
        const offload_storage& one = o.storage[s];
        if (one.persistent || one.access_count < 2 || o.access[one.first_access].op != q) continue;
        if (one.control == offload_control::recompute) allow_recomputation(s, q, o);
        if (largest < 0 || one.bytes > o.storage[largest].bytes) largest = s;
      }
      if (largest >= 0 && o.storage[largest].recompute < 0) allow_recomputation(largest, q, o);
    }
  }
  /// Of storage s, by running operator q once more.
  constexpr void allow_recomputation(int s, int q, offload_program& o) const {
    o.storage[s].first_operand = o.operand.size;
    for (int other = 0; other < o.storage.size; ++other)
      for (int a = 0; a < o.storage[other].access_count; ++a) {
        const storage_access& one = o.access[o.storage[other].first_access + a];
        if (one.op == q && one.reads && other != s) o.operand.push(other);
      }
    o.storage[s].operand_count = o.operand.size - o.storage[s].first_operand;
    o.storage[s].recompute = o.op[q].duration;
  }

  const sharded_program& p;
  const storage_uses& of;
  storage_groups groups;
  const growing_array<extent_t>& duration;  ///< of each block, all of its repetitions
  const folded_period_options& options;
  growing_array<int> base_, chunks_;  ///< of each block: its first operator, or -1; and how many
  int chunk_begin_ = 0;               ///< the first storage of the present chunk
  growing_array<extent_t> kept_at_;   ///< of each operator: small storages alive
};

}  // namespace detail

/// `block_duration` is of each block of `uses`, picoseconds, its repetitions together.
constexpr folded_period folded_period_of(const sharded_program& p, const storage_uses& uses, const program_moves& moves,
                                         const growing_array<extent_t>& block_duration, const tier_hardware& hardware,
                                         const folded_period_options& options = {}) {
  folded_period r;
  r.problem.tier = hardware.tier;
  r.problem.link = hardware.link;
  detail::period_folding(p, uses, moves, block_duration, options).run(r);
  r.problem.tier[0].capacity -= r.kept;
  return r;
}

}}  // namespace hyperparallel::v0_2
