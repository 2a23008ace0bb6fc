// SPDX-License-Identifier: Apache-2.0
#pragma once
// The forward pass of a MoE layer as one taskflow over matrix cores, vector cores, links and copy engines:
//
//   route → arrange → dispatch → GMM1 → SwiGLU → GMM2 → combine → merge
//
// Edges are row-block events, not expert-wide joins: a GMM1 tile starts when its block has arrived, whatever the other
// blocks do. With `serialized` the same tiles run operator after operator, one event each, and the merge is one pass
// over all experts: the baseline. Law: both plans write every slot with the same values. Sources: arXiv 2605.23764
// (operators, put-with-signal, rank rotation); the finer events and the ordered merge are ours.

#include <hyperparallel/mpmd/moe_plan.hpp>
#include <hyperparallel/taskflow/builder.hpp>

namespace hyperparallel {

/// Numbers of the first event and slot of each kind on one rank; a block's, tile's or expert's number is added to it.
struct moe_rank_layout {
  int logits, routed, arranged, dispatched, gate_up_done, act_done, down_done, returned, merged;  // events
  int gate_up_ready, gate_up_free, down_ready, down_free;                                         // events
  int tokens, scores, routes, received, gate_up, act, result, returns, output;                    // slots
  int router_weight, gate_up_weight, down_weight, gate_up_source, down_source;                    // slots
};

inline constexpr int max_moe_ranks = 64;

/// Bytes of the header that travels with a block: its row count.
inline constexpr extent_t block_header_bytes = 64;

/// Tiers as `device_value` lists them: kernels work in the first, weights wait in the second.
inline constexpr int fast_tier = 0;
inline constexpr int slow_tier = 1;

namespace detail {

/// Emits the flow stage by stage. `expert_of` etc. come from the plan; nothing here knows how tasks will be ordered.
template <class Flow>
struct moe_emitter {
  const moe_plan& p;
  Flow& f;
  task_draft draft{};
  moe_rank_layout at[max_moe_ranks] = {};
  extent_t used[max_moe_ranks][2] = {};

  constexpr int event_run(int rank, int count) { return add_event(f, rank, count); }
  /// Events of `count` tiles; one for all of them in the serialized plan.
  constexpr int stage_events(int rank, int count) { return event_run(rank, p.serialized ? 1 : count); }
  constexpr int tile(int first, int number) const { return p.serialized ? first : first + number; }

  constexpr int slot_run(int rank, int tier, int count, extent_t bytes) {
    const extent_t stride = ceil_divide(bytes, 64) * 64;
    const int first = add_slot(f, rank, tier, used[rank][tier], bytes, count, stride);
    used[rank][tier] += count * stride;
    return first;
  }

  constexpr void declare(int rank) {
    const moe_layer& l = p.layer;
    const int experts = local_experts(p), blocks = blocks_per_rank(p), pieces = p.tiling.merge_pieces;
    const extent_t rows = p.tiling.row_block, h = l.hidden, i = l.intermediate, n = p.element_bytes;
    moe_rank_layout& a = at[rank];
    a.logits = stage_events(rank, route_tiles(p));
    a.routed = event_run(rank, 1);
    a.arranged = event_run(rank, 1);
    a.dispatched = stage_events(rank, blocks);
    a.gate_up_done = stage_events(rank, blocks);
    a.act_done = stage_events(rank, blocks);
    a.down_done = stage_events(rank, blocks);
    a.returned = stage_events(rank, experts);
    a.merged = event_run(rank, experts * pieces);
    a.tokens = slot_run(rank, fast_tier, 1, local_tokens(p) * h * n);
    a.scores = slot_run(rank, fast_tier, 1, extent_t{local_tokens(p)} * l.experts * 4);
    a.routes = slot_run(rank, fast_tier, 1, extent_t{local_tokens(p)} * l.top_k * 16 + extent_t{l.experts} * 8);
    a.received = slot_run(rank, fast_tier, blocks, rows * h * n + block_header_bytes);
    a.gate_up = slot_run(rank, fast_tier, blocks, rows * 2 * i * n);
    a.act = slot_run(rank, fast_tier, blocks, rows * i * n);
    a.result = slot_run(rank, fast_tier, blocks, rows * h * n);
    a.returns = slot_run(rank, fast_tier, experts, blocks_per_expert(p) * rows * h * n);
    a.output = slot_run(rank, fast_tier, 1, local_tokens(p) * h * 4);
    a.router_weight = slot_run(rank, fast_tier, 1, h * l.experts * n);
    const int held = p.weights.windowed ? p.weights.buffers : experts;
    a.gate_up_weight = slot_run(rank, fast_tier, held, gate_up_elements(l) * n);
    a.down_weight = slot_run(rank, fast_tier, held, down_elements(l) * n);
    if (!p.weights.windowed) return;
    a.gate_up_ready = event_run(rank, experts);
    a.gate_up_free = event_run(rank, experts);
    a.down_ready = event_run(rank, experts);
    a.down_free = event_run(rank, experts);
    a.gate_up_source = slot_run(rank, slow_tier, experts, gate_up_elements(l) * n);
    a.down_source = slot_run(rank, slow_tier, experts, down_elements(l) * n);
  }

  /// Empties the draft; waits, signals and accesses follow, then `emit`.
  constexpr void begin(moe_operation o, resource kind, int rank, int item, std::int64_t duration) {
    draft.task.kind = kind;
    draft.task.rank = rank;
    draft.task.duration = duration;
    draft.task.operation = static_cast<int>(o);
    draft.task.item = item;
    draft.waits = draft.signals = draft.accesses = 0;
  }
  constexpr std::int64_t time(moe_operation o) const { return p.time.of[static_cast<int>(o)]; }
  constexpr void wait(int event) { draft.wait[draft.waits++].event = event; }  // thresholds stay `all_signals`
  constexpr void signal(int event) { draft.signal[draft.signals++] = event; }
  constexpr void use(int slot, int from, int to, access_mode mode, int step = 0) {
    draft.access[draft.accesses++] = {slot, from, to, mode, step};
  }
  constexpr void read(int slot) { use(slot, 0, 1 << 30, access_mode::read); }
  constexpr void write(int slot) { use(slot, 0, 1 << 30, access_mode::write); }
  /// `part` of the slot, and from tile to tile the next one.
  constexpr void write(int slot, int part) { use(slot, part, part + 1, access_mode::write, 1); }
  /// A run of `tiles` tasks of the draft.
  constexpr void emit(int tiles = 1) { append(f, draft, tiles); }

  constexpr int weight_slot(int first, int expert) const {
    return first + (p.weights.windowed ? p.weights.buffer[expert] : expert);
  }

  /// The copy of one weight of `expert` into its buffer, after the last use of the buffer's previous tenant.
  constexpr void prefetch(moe_operation o, int rank, int expert, int source, int buffers, int ready, int freed) {
    begin(o, resource::copy, rank, expert, time(o));
    if (p.weights.previous[expert] >= 0) wait(freed + p.weights.previous[expert]);
    signal(ready + expert);
    read(source + expert);
    write(weight_slot(buffers, expert));
    emit();
  }
  constexpr void prefetch_gate_up(int rank, int expert) {
    const moe_rank_layout& a = at[rank];
    prefetch(moe_operation::prefetch_gate_up, rank, expert, a.gate_up_source, a.gate_up_weight, a.gate_up_ready,
             a.gate_up_free);
  }
  constexpr void prefetch_down(int rank, int expert) {
    const moe_rank_layout& a = at[rank];
    prefetch(moe_operation::prefetch_down, rank, expert, a.down_source, a.down_weight, a.down_ready, a.down_free);
  }
  /// The expert whose weights take over the buffer of `expert`, or -1.
  constexpr int next_tenant(int expert) const {
    for (int e = expert + 1; e < local_experts(p); ++e)
      if (p.weights.previous[e] == expert) return e;
    return -1;
  }
  /// The weights that find a fresh buffer, in order of use.
  constexpr void prefetch_first(int rank) {
    for (int e = 0; e < local_experts(p); ++e) {
      if (p.weights.previous[e] >= 0) continue;
      prefetch_gate_up(rank, e);
      prefetch_down(rank, e);
    }
  }

  constexpr void route(int rank) {
    const moe_rank_layout& a = at[rank];
    const int tiles = route_tiles(p);
    for (int i = 0; i < tiles; ++i) {
      begin(moe_operation::route_logits, resource::aic, rank, i, time(moe_operation::route_logits));
      signal(tile(a.logits, i));
      read(a.tokens);
      read(a.router_weight);
      write(a.scores, i);
      emit();
    }
    for (int i = 0; i < tiles; ++i) {
      begin(moe_operation::route_top_k, resource::aiv, rank, i, time(moe_operation::route_top_k));
      wait(tile(a.logits, i));
      signal(a.routed);
      write(a.routes, i);
      write(a.scores, i);  // logits become probabilities in place
      emit();
    }
    begin(moe_operation::arrange, resource::aiv, rank, 0, time(moe_operation::arrange));
    wait(a.routed);
    signal(a.arranged);
    write(a.routes);
    emit();
  }

  /// A put is one task over the link when the block changes device, and several vector copies when it stays.
  constexpr int put_pieces(int block) const { return block_at(p, block).rotation == 0 ? copy_pieces(p) : 1; }
  constexpr void put(moe_operation o, int rank, int block) {
    const bool stays = block_at(p, block).rotation == 0;
    begin(o, stays ? resource::aiv : resource::link, rank, block * copy_pieces(p), stays ? p.time.local_copy : time(o));
  }

  constexpr void dispatch(int rank, int block) {
    const int to = receiver_of(p, rank, block_at(p, block).rotation);
    put(moe_operation::dispatch, rank, block);
    wait(at[rank].arranged);
    signal(tile(at[to].dispatched, block));
    read(at[rank].tokens);
    read(at[rank].routes);
    write(at[to].received + block, 0);
    emit(put_pieces(block));
  }

  /// Events, slots and tiles of one grouped matmul; those of blocks and experts are the first of their kind.
  struct matmul_stage {
    moe_operation operation;
    int tiles;
    int input_ready, done, weight_ready, weight_free;
    int input, weight, result;
  };
  constexpr void grouped_matmul(int rank, int block, const matmul_stage& s) {
    const int expert = block_at(p, block).expert;
    begin(s.operation, resource::aic, rank, block * s.tiles, time(s.operation));
    wait(tile(s.input_ready, block));
    if (p.weights.windowed) wait(s.weight_ready + expert);
    signal(tile(s.done, block));
    if (p.weights.windowed) signal(s.weight_free + expert);
    read(s.input + block);
    read(weight_slot(s.weight, expert));
    write(s.result + block, 0);
    emit(s.tiles);
  }

  constexpr void gate_up(int rank, int block) {
    const moe_rank_layout& a = at[rank];
    grouped_matmul(rank, block,
                   {moe_operation::gate_up, gate_up_tiles(p), a.dispatched, a.gate_up_done, a.gate_up_ready,
                    a.gate_up_free, a.received, a.gate_up_weight, a.gate_up});
  }

  constexpr void swiglu(int rank, int block) {
    const moe_rank_layout& a = at[rank];
    const int pieces = swiglu_pieces(p);
    begin(moe_operation::swiglu, resource::aiv, rank, block * pieces, time(moe_operation::swiglu));
    wait(tile(a.gate_up_done, block));
    signal(tile(a.act_done, block));
    read(a.gate_up + block);
    write(a.act + block, 0);
    emit(pieces);
  }

  constexpr void down(int rank, int block) {
    const moe_rank_layout& a = at[rank];
    grouped_matmul(rank, block,
                   {moe_operation::down, down_tiles(p), a.act_done, a.down_done, a.down_ready, a.down_free, a.act,
                    a.down_weight, a.result});
  }

  constexpr void combine(int rank, int block) {
    const moe_block b = block_at(p, block);
    const int to = source_of(p, rank, b.rotation), place = block % blocks_per_expert(p);
    put(moe_operation::combine, rank, block);
    wait(tile(at[rank].down_done, block));
    signal(tile(at[to].returned, b.expert));
    read(at[rank].result + block);
    write(at[to].returns + b.expert, place * copy_pieces(p));
    emit(put_pieces(block));
  }

  /// Column pieces of the weighted sum, expert by expert: the chain of `merged` events is the reduction order. In the
  /// serialized plan `expert` is the last one and stands for all.
  constexpr void merge(int rank, int expert) {
    const moe_rank_layout& a = at[rank];
    const int pieces = p.tiling.merge_pieces;
    const std::int64_t duration = p.serialized ? p.time.merge_all : time(moe_operation::merge);
    for (int q = 0; q < pieces; ++q) {
      begin(moe_operation::merge, resource::aiv, rank, expert * pieces + q, duration);
      wait(tile(a.returned, expert));
      wait(a.arranged);
      if (expert > 0 && !p.serialized) wait(a.merged + (expert - 1) * pieces + q);
      signal(a.merged + expert * pieces + q);
      if (p.serialized) {
        emit();  // more reads than a draft holds
        for (int e = 0; e <= expert; ++e) add_access(f, a.returns + e, 0, 1 << 30, access_mode::read);
        add_access(f, a.routes, 0, 1 << 30, access_mode::read);
        add_access(f, a.output, q, q + 1, access_mode::write);
      } else {
        read(a.returns + expert);
        read(a.routes);
        write(a.output, q);
        emit();
      }
    }
  }

  /// Operator after operator: what a framework without a taskflow launches.
  constexpr void emit_serialized() {
    const int blocks = blocks_per_rank(p);
    for (int r = 0; r < p.ranks; ++r) route(r);
    for (int b = 0; b < blocks; ++b)
      for (int r = 0; r < p.ranks; ++r) dispatch(r, b);
    for (int b = 0; b < blocks; ++b)
      for (int r = 0; r < p.ranks; ++r) gate_up(r, b);
    for (int b = 0; b < blocks; ++b)
      for (int r = 0; r < p.ranks; ++r) swiglu(r, b);
    for (int b = 0; b < blocks; ++b)
      for (int r = 0; r < p.ranks; ++r) down(r, b);
    for (int b = 0; b < blocks; ++b)
      for (int r = 0; r < p.ranks; ++r) combine(r, b);
    for (int r = 0; r < p.ranks; ++r) merge(r, local_experts(p) - 1);
  }

  /// Whether `block` is the last use of its expert's weight, and somebody waits for the buffer.
  constexpr bool used_up(int block) const {
    return p.weights.windowed && (block + 1) % blocks_per_expert(p) == 0 &&
           next_tenant(block / blocks_per_expert(p)) >= 0;
  }

  /// Block after block, GMM2 `lag` blocks behind GMM1; a weight is fetched as soon as its buffer's tenant is used up.
  constexpr void emit_overlapped() {
    const int blocks = blocks_per_rank(p), per_expert = blocks_per_expert(p), lag = p.tiling.lag;
    for (int r = 0; r < p.ranks && p.weights.windowed; ++r) prefetch_first(r);
    for (int r = 0; r < p.ranks; ++r) route(r);
    for (int b = 0; b < blocks; ++b)
      for (int r = 0; r < p.ranks; ++r) dispatch(r, b);
    for (int b = 0; b < blocks + lag; ++b) {
      const int late = b - lag;
      for (int r = 0; r < p.ranks; ++r) {
        if (b < blocks) {
          gate_up(r, b);
          swiglu(r, b);
          if (used_up(b)) prefetch_gate_up(r, next_tenant(b / per_expert));
        }
        if (late >= 0) {
          down(r, late);
          combine(r, late);
          if (used_up(late)) prefetch_down(r, next_tenant(late / per_expert));
        }
      }
      if (late >= 0 && (late + 1) % per_expert == 0)
        for (int r = 0; r < p.ranks; ++r) merge(r, late / per_expert);
    }
  }
};

}  // namespace detail

/// Writes the forward taskflow of `p` into `f`; call `seal` after it. Domain: `check(p.layer, p.devices)` is ok, at
/// most `max_moe_ranks` ranks and `max_local_experts` local experts, a serialized plan is not windowed. O(tasks).
/// Returns where each rank's events and slots begin, for the kernels that will run the plan.
template <class Flow>
constexpr void lower_moe_forward(const moe_plan& p, Flow& f, moe_rank_layout* layout = nullptr) {
  detail::moe_emitter<Flow> emit{p, f};
  for (int r = 0; r < p.ranks; ++r) {
    emit.declare(r);
    if (layout != nullptr) layout[r] = emit.at[r];
  }
  if (p.serialized)
    emit.emit_serialized();
  else
    emit.emit_overlapped();
}

/// The same as a callable for `measure` and `build_fixed`.
struct moe_forward_builder {
  moe_plan plan;
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    lower_moe_forward(plan, f);
  }
};

}  // namespace hyperparallel
