// SPDX-License-Identifier: Apache-2.0
#pragma once
// The program of a pipeline's stages, unrolled along the rows of a schedule: the steps of all micro-batches in one order.
//
//   hp::unrolled_rows u = hp::unroll(hp::partition(graph, strategy, stages), schedule);
//
// A row is the order in which a part works off its actions. The steps of an action are those of its stage and kind, for its
// micro-batch: F those of the forward phase; I the backward steps that what other stages read backward depends on; W the
// other ones; B both in the program's order. Values are each micro-batch's own, with memory of their own, but for what
// lives from step to step: parameters, states, and what gradients are accumulated in, which takes micro-batches in their
// order. A hand-over belongs to the action that needs it. Norm and update follow, once.
//
// A bidirectional schedule holds each stage twice: half of the micro-batches runs through the program of the first copies,
// the others through that of the second ones, whose stages lie on other parts. Each copy has parameters and states of its
// own; before norm and update either takes the other's accumulated gradients, so both make the same update.
//
// Rows are interleaved in rounds: in each, every part whose next action has what it reads works it off. So the order of the
// steps is one in which nothing is read before it is written, whatever the schedule, and lifetimes, addresses, waits and
// proof are those of any program; the memory of micro-batches in flight comes out by lifetime. Laws: each action's steps
// stand once for each micro-batch; restricted to one micro-batch, the steps of a stage keep their order within F, I and W.
// Errors: a schedule of another shape; an action that the program has no steps for, or misses; a part that waits for ever,
// with the action at which its row stops; gradients accumulated out of order. O(steps · micro-batches + rounds · parts).

#include <hyperparallel/lowering/schedule_check.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct unrolled_rows {
  unroll_status status{};
  sharded_program program;
};

namespace detail {

class row_unroller : schedule_check {
 public:
  constexpr row_unroller(const sharded_program& p, const sharded_program* mirrored, const pipeline_schedule& s,
                         const unroll_options& how)
      : schedule_check(p, mirrored, s, how) {
    copy_[0].program = &p;
    copy_[1].program = mirrored;
  }

  constexpr unrolled_rows run() {
    unroll_rows();
    out_.status = status_;
    return static_cast<unrolled_rows&&>(out_);
  }

 private:
  constexpr void unroll_rows() {
    check_shape();
    if (ok()) check_actions();
    if (!ok()) return;
    find_reads();
    begin_program();
    interleave();
    if (!ok()) return;
    if (copies() == 2) exchange_gradients();
    for (int c = 0; c < copies(); ++c)
      for (int i = 0; i < p_.step.size; ++i)
        if (work_[i] == stage_work::update) put(copy_[c], i, s_.micro_batches - 1, true);
  }

  /// The program of one copy of all stages, and what its values and storages are in the unrolled one.
  struct stage_copy {
    const sharded_program* program = nullptr;
    growing_array<int> value, storage;  // of each one and micro-batch, or -1
    growing_array<int> newest;          // of each storage that lives from step to step: its last value
  };

  /// Everything but steps; what lives from step to step, and of inputs one value a micro-batch, one after the other.
  constexpr void begin_program() {
    sharded_program& q = out_.program;
    q.graph = p_.graph;
    q.mesh = p_.mesh;
    q.part = p_.part;
    q.status = p_.status;
    q.strategy = p_.strategy;
    q.whole = p_.whole;
    q.buckets = p_.buckets * s_.micro_batches;
    q.unrolled = true;
    q.home.resize(p_.home.size, -1);
    const int m = s_.micro_batches;
    for (int c = 0; c < copies(); ++c) {
      stage_copy& from = copy_[c];
      from.value.resize(from.program->value.size * m, -1);
      from.storage.resize(from.program->storage.size * m, -1);
      from.newest.resize(from.program->storage.size, -1);
    }
    for (int t = 0; t < p_.home.size; ++t) {
      if (p_.home[t] < 0) continue;
      if (p_.graph.tensor[t].kind == graph_tensor_kind::input) {
        for (int k = 0; k < m; ++k) feed_input(copy_[k * copies() / m], t, k);
        continue;
      }
      int before = -1;  // the home that this one comes after
      for (int c = 0; c < copies(); ++c)
        visit_homes(*copy_[c].program, t, [&](int v) {
          const int kept = keep_home(copy_[c], v);
          if (before >= 0) q.other_home.resize(before + 1, -1);
          (before < 0 ? q.home[t] : q.other_home[before]) = kept;
          before = kept;
        });
    }
  }
  constexpr void feed_input(stage_copy& from, int t, int k) {
    sharded_program& q = out_.program;
    const int v = from.program->home[t], storage = from.program->value[v].storage;
    from.storage[storage * s_.micro_batches + k] = q.storage.push(from.program->storage[storage]);
    const int own = q.value.push(renumbered(from, v, k));
    from.value[v * s_.micro_batches + k] = own;
    if (k == 0) q.home[t] = own;
  }
  constexpr int keep_home(stage_copy& from, int v) {
    sharded_program& q = out_.program;
    const int m = s_.micro_batches, storage = from.program->value[v].storage;
    const int kept = q.storage.push(from.program->storage[storage]);
    for (int k = 0; k < m; ++k) from.storage[storage * m + k] = kept;
    return from.newest[storage] = q.value.push(renumbered(from, v, 0));
  }
  constexpr program_value renumbered(const stage_copy& from, int v, int k) const {
    program_value one = from.program->value[v];
    one.storage = from.storage[one.storage * s_.micro_batches + k];
    return one;
  }
  /// A home that is not fed: of all micro-batches.
  static constexpr bool is_shared(const sharded_program& p, int storage) {
    return p.storage[storage].home && p.graph.tensor[p.storage[storage].tensor].kind != graph_tensor_kind::input;
  }

  constexpr int read(const stage_copy& from, int v, int k) const {
    const int storage = from.program->value[v].storage;
    return is_shared(*from.program, storage) ? from.newest[storage] : from.value[v * s_.micro_batches + k];
  }
  constexpr int write(stage_copy& from, int v, int k) {
    const int m = s_.micro_batches, storage = from.program->value[v].storage;
    if (int& own = from.storage[storage * m + k]; own < 0)
      own = out_.program.storage.push(from.program->storage[storage]);
    const int own = out_.program.value.push(renumbered(from, v, k));
    from.value[v * m + k] = own;
    if (is_shared(*from.program, storage)) from.newest[storage] = own;
    return own;
  }

  constexpr void put(stage_copy& from, int i, int k, bool once) {
    sharded_program& q = out_.program;
    program_step s = from.program->step.item[i];
    s.micro_batch = once ? 0 : k;
    if (s.is_move) {
      program_move move = from.program->move[s.index];
      move.source = read(from, move.source, k);
      move.target = write(from, move.target, k);
      if (move.bucket >= 0) move.bucket += s.micro_batch * p_.buckets;
      s.index = q.move.push(move);
    } else {
      program_compute c = from.program->compute[s.index];
      const graph_operator& op = p_.graph.op[c.op];
      for (int n = 0; n < op.operand_count; ++n) c.operand[n] = read(from, c.operand[n], k);
      for (int n = 0; n < op.result_count; ++n) c.result[n] = write(from, c.result[n], k);
      s.index = q.compute.push(c);
    }
    q.step.push(s);
  }

  /// Adds to what each copy has accumulated what the other one has.
  constexpr void exchange_gradients() {
    sharded_program& q = out_.program;
    for (int i = 0; i < p_.step.size; ++i) {
      const program_step& s = p_.step.item[i];
      if (s.is_move || !p_.graph.value_of(p_.graph.op[p_.compute[s.index].op]).accumulates) continue;
      graph_operator o = p_.graph.op[p_.compute[s.index].op];
      graph_tensor total = p_.graph.tensor[o.result[0]];
      o.phase = graph_phase::norm;
      o.operand[0] = o.operand[1] = total.replaces = o.result[0];
      total.producer = q.graph.op.size;
      o.result[0] = q.graph.tensor.push(total);
      q.home.push(-1);
      program_compute c;
      c.op = q.graph.op.push(o);
      int own[2] = {}, other[2] = {};
      for (int k = 0; k < 2; ++k) own[k] = copy_[k].newest[storage_of(k, s)];
      for (int k = 0; k < 2; ++k) {
        program_value taken = q.value[own[1 - k]];
        program_storage at = q.storage[q.value[own[k]].storage];
        at.home = false;
        taken.storage = q.storage.push(at);
        other[k] = q.value.push(taken);
        q.step.push({true, q.move.push({own[1 - k], other[k], -1}), graph_phase::norm, -1, s.stage});
      }
      for (int k = 0; k < 2; ++k) {
        program_value sum = q.value[own[k]];
        sum.tensor = o.result[0];
        c.placement = copy_[k].program->compute[s.index].placement;
        c.operand[0] = own[k];
        c.operand[1] = other[k];
        c.result[0] = copy_[k].newest[storage_of(k, s)] = q.value.push(sum);
        q.step.push({false, q.compute.push(c), graph_phase::norm, -1, s.stage});
      }
    }
  }
  constexpr int storage_of(int k, const program_step& accumulated) const {
    const sharded_program& p = *copy_[k].program;
    return p.value[p.compute[accumulated.index].result[0]].storage;
  }

  // ---- the order ----

  constexpr bool is_ready(const pipeline_action& a) const {
    for (int w = 0; w < works; ++w) {
      if (!does(a.kind, static_cast<stage_work>(w))) continue;
      const int n = node(a.stage, static_cast<stage_work>(w));
      for (int from = 0; from < stages_ * works; ++from) {
        const bool own = from / works == a.stage && does(a.kind, static_cast<stage_work>(from % works));
        if (reads_[n * stages_ * works + from] && !own && !done_[from * s_.micro_batches + a.micro_batch]) return false;
      }
    }
    return true;
  }
  constexpr void work_off(const pipeline_action& a) {
    for (int i = 0; i < p_.step.size; ++i)
      if (p_.step.item[i].stage == a.stage && work_[i] != stage_work::update && does(a.kind, work_[i]))
        put(copy_[a.micro_batch / s_.share()], i, a.micro_batch, false);
  }
  constexpr void interleave() {
    growing_array<int> next, now;  // of each rank: its next entry; ranks that work in the round
    for (int r = 0; r < s_.ranks; ++r) next.push(s_.first[r]);
    done_.resize(stages_ * works * s_.micro_batches, false);
    for (bool all = false; !all && ok();) {
      now.clear();
      all = true;
      for (int r = 0; r < s_.ranks; ++r) {
        while (next[r] < s_.first[r + 1] && s_.action[next[r]] == idle_slot) ++next[r];
        if (next[r] == s_.first[r + 1]) continue;
        all = false;
        if (is_ready(s_.coding().action(s_.action[next[r]]))) now.push(r);
      }
      for (const int r : now) work_off(s_.coding().action(s_.action[next[r]]));
      for (const int r : now) {
        const pipeline_action a = s_.coding().action(s_.action[next[r]++]);
        for (int w = 0; w < works; ++w)
          if (does(a.kind, static_cast<stage_work>(w)))
            done_[node(a.stage, static_cast<stage_work>(w)) * s_.micro_batches + a.micro_batch] = true;
      }
      for (int r = 0; r < s_.ranks && !all && now.empty(); ++r)
        if (next[r] < s_.first[r + 1])
          fail({unroll_code::row_waits_for_ever, s_.coding().action(s_.action[next[r]]), r});
    }
  }

  stage_copy copy_[2];
  growing_array<bool> done_;
  unrolled_rows out_;
};

unrolled_rows unroll_in_library(const sharded_program& p, const sharded_program* mirrored, const pipeline_schedule& s,
                                const unroll_options& how);
constexpr unrolled_rows unroll_here(const sharded_program& p, const sharded_program* mirrored,
                                    const pipeline_schedule& s, const unroll_options& how) {
  return detail::row_unroller(p, mirrored, s, how).run();
}

}  // namespace detail

/// Unrolls a program of one micro-batch along the rows of `s`, whose ranks are the program's parts. Of stages that are held
/// twice, `mirrored` is the program whose stages lie where the second copies do.
constexpr unrolled_rows unroll(const sharded_program& p, const sharded_program* mirrored, const pipeline_schedule& s,
                               const unroll_options& how = {}) {
  HYPERPARALLEL_TWIN(detail::unroll_in_library(p, mirrored, s, how));
  return detail::unroll_here(p, mirrored, s, how);
}
constexpr unrolled_rows unroll(const sharded_program& p, const pipeline_schedule& s, const unroll_options& how = {}) {
  return unroll(p, nullptr, s, how);
}

}}  // namespace hyperparallel::v0_2
