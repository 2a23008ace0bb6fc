// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a micro-batch's forward, its backward and the update take of a decoder's plan, by part: embedding, layers, head.
//
//   const hp::passes_of_parts passes(hp::lower_fastest(…).lowered, device);
//   passes.of(hp::decoder_part::layers).backward.time
//
// Read from the clock of the plan (clock.hpp). Time goes on in the order of the program: each task brings the latest
// end so far forward by some time, mostly by what it takes, or by nothing where it runs beside what came before it.
// That time belongs to the part and the pass of its step. A reduction of a gradient holds up no other step of backward: of a
// step with one micro-batch it belongs to the update, which waits for it; of several, what of it is not hidden belongs
// to backward. Operators belong to the part of their forward operator; sums of gradients, over micro-batches too, to that of the last of
// their terms; moves of gradients of parameters to that of what makes them; all else to that of its name. Of the update, what belongs
// to no parameter is of the layers.
// Schedules of the zero-bubble kind put off gradients of parameters. Their time is the field `weights`: operators of backward that are
// of W where each part is a stage (stage_work.hpp). Moves are never among them.
// Laws: times of all parts, micro-batches counted, add up to the makespan of the plan's clock; so do `computed` and `moved` to
// its busy times. Units: picoseconds. O(rows + waits).

#include <hyperparallel/graph/sharding_plan.hpp>
#include <hyperparallel/graph/tied_gradients.hpp>
#include <hyperparallel/lowering/stage_work.hpp>
#include <hyperparallel/price/clock.hpp>
#include <hyperparallel/strategy/gradient_buckets.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class decoder_part : unsigned char { embedding, layers, head };
inline constexpr int decoder_part_count = 3;

/// Of one pass: its time, and what queues of computing and of moves are busy in it.
struct pass_time {
  extent_t time = 0, computed = 0, moved = 0;
  constexpr pass_time& operator+=(const pass_time& p) {
    time += p.time;
    computed += p.computed;
    moved += p.moved;
    return *this;
  }
  friend constexpr bool operator==(const pass_time&, const pass_time&) = default;
};

/// Forward and backward of one micro-batch, and the update of a step.
struct stage_passes {
  pass_time forward{}, backward{}, update{};
  extent_t weights = 0;  ///< of `backward.time`: gradients of parameters
  /// Of a micro-batch.
  constexpr extent_t round() const { return forward.time + backward.time; }
  constexpr stage_passes& operator+=(const stage_passes& s) {
    forward += s.forward;
    backward += s.backward;
    update += s.update;
    weights += s.weights;
    return *this;
  }
  friend constexpr bool operator==(const stage_passes&, const stage_passes&) = default;
};

namespace detail {

/// The part of what has this name.
constexpr decoder_part part_called(const char* name, graph_phase phase) {
  if (name_matches("*layers*", name)) return decoder_part::layers;
  if (name_matches("*embedding*", name) || name_matches("*position*", name)) return decoder_part::embedding;
  return phase < graph_phase::norm || name_matches("*head.*", name) ? decoder_part::head : decoder_part::layers;
}

/// The last operator that makes an operand of `op`; -1 where none does.
constexpr int last_term(const graph& g, int op) {
  int last = -1;
  for (int i = 0; i < g.op[op].operand_count; ++i) {
    const int producer = g.tensor[g.op[op].operand[i]].producer;
    last = producer > last ? producer : last;
  }
  return last;
}

/// Whether it is a gradient of a parameter, or a state.
constexpr bool belongs_to_parameter(const graph& g, const graph_tensor& t) {
  if (t.source < 0) return false;
  const graph_tensor_kind of = g.tensor[t.source].kind;
  return of == graph_tensor_kind::parameter || of == graph_tensor_kind::state;
}

}  // namespace detail

/// The part of a step. Domain: a program of a decoder.
constexpr decoder_part part_of(const sharded_program& p, const program_step& s) {
  const graph& g = p.graph;
  int op = s.is_move ? -1 : p.compute[s.index].op;
  if (s.is_move) {
    const graph_tensor& t = g.tensor[p.value[p.move[s.index].source].tensor];
    if (t.producer < 0 || !detail::belongs_to_parameter(g, t)) return detail::part_called(g.text_at(t.name), s.phase);
    op = t.producer;
  }
  for (int next = op; next >= 0;) {
    op = next;
    next =
        g.op[op].forward >= 0 || g.op[op].phase != graph_phase::backward ? g.op[op].forward : detail::last_term(g, op);
  }
  return detail::part_called(g.name_of_op(op), g.op[op].phase);
}

namespace detail {

/// The head accumulates itself what it contributes to the gradient of a tied table, as it does in a stage of its own.
/// Domain: a decoder's step of training, no segment folded.
constexpr void accumulate_by_part(graph& g) {
  stage_cut head = cut_by_names(g, {{"*head.*", 1}}, 2);
  accumulate_by_stage(g, head);
}

}  // namespace detail

class passes_of_parts {
 public:
  cost_code code = cost_code::ok;  ///< where it is not ok, all else is 0

  /// Domain: a decoder's step of training that is lowered; its moves were chosen on the links of the hardware.
  constexpr passes_of_parts(const lowered_program& l, const device_value& d) {
    for (const lowered_run& r : l.run) add(l, r, d);
    if (l.run.empty()) code = cost_code::program_is_refused;
  }

  constexpr bool ok() const { return code == cost_code::ok; }
  constexpr const stage_passes& of(decoder_part p) const { return part[static_cast<int>(p)]; }
  constexpr stage_passes all() const {
    stage_passes sum;
    for (const stage_passes& one : part) sum += one;
    return sum;
  }

 private:
  static constexpr pass_time& pass_of(stage_passes& own, const program_step& s, bool reduced_once) {
    if (s.phase >= graph_phase::norm || reduced_once) return own.update;
    return s.phase == graph_phase::forward ? own.forward : own.backward;
  }

  constexpr void add(const lowered_program& l, const lowered_run& r, const device_value& d) {
    const row_prices prices = prices_of_rows(l, r, d);
    if (code == cost_code::ok) code = prices.code;
    if (!ok()) return;
    const plan_timeline times = play(r.plan, prices.duration);
    const sharded_program& p = l.program;
    const bool once = p.graph.micro_batches == 1;
    growing_array<decoder_part> parts;  // of each step
    for (const program_step& s : p.step) parts.push(part_of(p, s));
    const growing_array<stage_work> work = work_of_steps(p, [&](int i) { return static_cast<int>(parts[i]); });
    extent_t reached = 0, reduced = 0;
    pass_time* last = nullptr;  // of the reduction that ends last
    for (int i = 0; i < r.plan.row.size; ++i) {
      const int step = r.plan.row[i].step;
      const program_step& s = p.step[step];
      const extent_t end = times.end[r.plan.row[i].first_task];
      const bool reduces = s.is_move && detail::reduced_gradient_axes(p, p.move[s.index]) != 0;
      stage_passes& own = part[static_cast<int>(parts[step])];
      pass_time& pass = pass_of(own, s, reduces && once);
      (s.is_move ? pass.moved : pass.computed) += prices.duration[i];
      if (reduces && s.phase < graph_phase::norm) {
        if (end > reduced) last = &pass;
        reduced = larger(reduced, end);
        continue;
      }
      pass.time += larger(end - reached, extent_t{0});
      if (!s.is_move && s.phase == graph_phase::backward && work[step] == stage_work::weight_gradient)
        own.weights += larger(end - reached, extent_t{0});
      reached = larger(reached, end);
    }
    if (reduced > reached) last->time += reduced - reached;
  }

  stage_passes part[decoder_part_count] = {};
};

}}  // namespace hyperparallel::v0_2
