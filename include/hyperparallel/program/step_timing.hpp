// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long a step of training takes on given hardware: an estimate from a program's operations, bytes and moves.
//
// A device has a queue for compute and one for communication, each in program order; a step waits for the values that
// it reads, so moves overlap whatever does not need them. Compute takes the longer of its operations at the rate of its
// unit and its bytes at the rate of memory, and the overhead of a task; a move takes latencies and bytes by link level
// (move_loads.hpp); moves of one bucket pay the greatest latency once and start with the last of them. What a move
// rearranges on its own device is a copy in the compute queue.
//
// Repetitions of a segment and micro-batches: the first ones are played, the others take as long as the last of these,
// queue by queue. Laws: both queues' busy times are exact sums; total ≥ either; something is always running, so exposed
// communication = total − busy compute. Units: picoseconds. O(steps · repetitions played).

#include <hyperparallel/hardware/device.hpp>
#include <hyperparallel/model/lifetimes.hpp>
#include <hyperparallel/model/operator_work.hpp>
#include <hyperparallel/program/move_loads.hpp>

namespace hyperparallel {

struct step_times {
  time_cost total{};
  extent_t compute_busy = 0;
  extent_t by_unit[compute_unit_count] = {};  ///< copies belong to vector
  extent_t communication_busy = 0;
  extent_t exposed = 0;  ///< communication that nothing hides
  /// Of all steps one after the other, without buckets and without the joins of single numbers in the norm phase: the
  /// time that strategy search compares.
  extent_t in_a_row = 0;
  friend constexpr bool operator==(const step_times&, const step_times&) = default;
};

/// The rate at which a device multiplies elements of a type.
constexpr number_format multiply_format(data_type type) {
  switch (type) {
    case data_type::bf16:
      return number_format::bfloat16;
    case data_type::f16:
      return number_format::float16;
    case data_type::boolean:
    case data_type::i8:
      return number_format::int8;
    default:
      return number_format::float32;
  }
}

/// Time of one compute step: a roofline over the whole device. `type` is that of what is multiplied. O(1).
constexpr time_cost compute_time(const device_value& d, const operator_work& w, data_type type) {
  const time_cost bytes = vector_time(d, w.bytes_read + w.bytes_written, 1);
  const time_cost flops = w.unit == compute_unit::matrix
                              ? work_time(w.flops, 1, 1, matrix_peak(d, multiply_format(type)), d.gmm_cold)
                              : work_time(w.flops, 1, 1, d.vector_flops);
  return then(latencies(1, d.task_overhead), slower(bytes, flops));
}

/// Whether the step joins single numbers of all parameters: the norm of all gradients.
constexpr bool joins_numbers(const sharded_program& p, const program_step& s) {
  if (s.phase != graph_phase::norm) return false;
  if (s.is_move) return p.graph.tensor[p.value[p.move[s.index].source].tensor].shape.rank == 0;
  const graph_operator& o = p.graph.op[p.compute[s.index].op];
  return o.kind != model_op::sum_of_squares && o.result_count > 0 && o.result[0].rank == 0;
}

namespace detail {

class two_queues {
 public:
  constexpr two_queues(const sharded_program& program, const program_moves& sorted,
                       const growing_array<move_load>& loads, const device_value& hardware, const interconnect& links)
      : p(program), moves(sorted), load(loads), device(hardware), net(links) {
    ready.resize(p.value.size, 0);
    travelled.resize(p.value.size, false);
    taken.resize(p.step.size, 0);
    for (int v = 0; v < p.value.size; ++v)
      for (const graph_segment& s : p.graph.segment) {
        const int t = p.value.item[v].tensor;
        if (t == s.carried_in || t == s.carried_out || t == s.gradient_in || t == s.gradient_out) handed_on.push(v);
      }
    find_bucket_ends();
    find_durations();
  }

  growing_array<extent_t> taken;  ///< by the block that begins with each step, in the last micro-batch played

  constexpr step_times run() {
    int update = 0;
    while (update < p.step.size && p.step[update].phase <= graph_phase::accumulate) ++update;
    const int micro_batches = p.graph.micro_batches;
    int played = 0;
    clocks before{}, after{};
    for (; played < micro_batches && played < micro_batches_played; ++played) {
      before = now;
      play(0, update);
      after = now;
    }
    skip(before, after, micro_batches - played);
    play(update, p.step.size);
    extent_t total = now.later();
    total = larger(total, larger(times.compute_busy, times.communication_busy));
    if (times.total.ok()) times.total.picoseconds = total;
    times.exposed = total - times.compute_busy;
    return times;
  }

 private:
  static constexpr int repetitions_played = 4;
  static constexpr int micro_batches_played = 2;

  struct clocks {
    extent_t compute = 0, communication = 0;
    constexpr extent_t later() const { return larger(compute, communication); }
  };

  constexpr bool is_of_link(int i) const { return p.step[i].is_move && kind_of(moves, p.step[i].index).received > 0; }

  /// The last move of each bucket in program order carries all of it.
  constexpr void find_bucket_ends() {
    growing_array<int> last;
    bucket_end.resize(p.step.size, -1);
    for (int i = p.step.size - 1; i >= 0; --i) {
      if (!is_of_link(i)) continue;
      const int bucket = p.move[p.step[i].index].bucket;
      if (bucket < 0) {
        bucket_end[i] = i;
        continue;
      }
      if (bucket >= last.size) last.resize(bucket + 1, -1);
      if (last[bucket] < 0) last[bucket] = i;
      bucket_end[i] = last[bucket];
    }
  }

  constexpr extent_t element_bytes(int move) const {
    return bytes_of(p.graph.tensor[p.value[p.move[move].source].tensor].type);
  }

  constexpr void find_durations() {
    duration.resize(p.step.size, 0);
    growing_array<move_load> carried;  // bytes of each bucket
    growing_array<int> carried_by;     // the bucket that ends with a step
    carried_by.resize(p.step.size, -1);
    for (int i = 0; i < p.step.size; ++i) {
      const program_step& s = p.step[i];
      time_cost t, alone;
      compute_unit unit = compute_unit::vector;
      if (!s.is_move) {
        const program_compute& c = p.compute[s.index];
        const operator_work w = work_of(p, c);
        const graph_operator& o = p.graph.op[c.op];
        const int typed = o.operand_count > 0 ? o.operand[0].tensor : o.result[0].tensor;
        t = compute_time(device, w, p.graph.tensor[typed].type);
        unit = w.unit;
      } else if (!is_of_link(i)) {
        if (kind_of(moves, s.index).steps > 0) t = vector_time(device, 2 * local_bytes(p, p.move[s.index].target), 1);
      } else {
        const move_load& own = load[moves.of[s.index]];
        int& bucket = carried_by[bucket_end[i]];
        alone = time_of(own, element_bytes(s.index), net.topology);
        if (bucket_end[i] == i && bucket < 0) {
          t = alone;
        } else {
          if (bucket < 0) bucket = carried.push(move_load());
          add_to_bucket(carried[bucket], own, element_bytes(s.index));
          if (bucket_end[i] == i) t = time_of(carried[bucket], 1, net.topology);
        }
      }
      times.total = then(times.total, {t.code, 0});
      duration[i] = t.picoseconds;
      const extent_t busy = t.picoseconds * times_of(p, s);
      if (!joins_numbers(p, s)) times.in_a_row += is_of_link(i) ? alone.picoseconds * times_of(p, s) : busy;
      if (is_of_link(i)) {
        times.communication_busy += busy;
      } else {
        times.compute_busy += busy;
        times.by_unit[static_cast<int>(unit)] += busy;
      }
    }
  }

  /// Steps of the same number run at the same time.
  static constexpr void add_to_bucket(move_load& all, const move_load& one, extent_t bytes) {
    if (one.code != cost_code::ok) all.code = one.code;
    if (all.step.size < one.step.size) all.step.resize(one.step.size);
    for (int k = 0; k < one.step.size; ++k)
      for (int l = 0; l < max_link_levels; ++l) {
        level_load& sum = all.step[k].level[l];
        const level_load& part = one.step[k].level[l];
        sum.elements += part.elements * bytes;
        sum.sent += part.sent * bytes;
        sum.messages = larger(sum.messages, part.messages);
      }
  }

  /// Plays steps [begin, end), the repetitions of their segments included.
  constexpr void play(int begin, int end) {
    for (int i = begin; i < end;) {
      int stop = i + 1;
      while (stop < end && p.step[stop].segment == p.step[i].segment && p.step[stop].phase == p.step[i].phase) ++stop;
      const int segment = p.step[i].segment;
      const extent_t repeats = repeats_of(p.graph, segment);
      clocks before{};
      const extent_t began = now.later();
      extent_t played = 0;
      for (; played < repeats && played < repetitions_played; ++played) {
        before = now;
        if (played > 0) carry(segment, p.step[i].phase);
        for (int s = i; s < stop; ++s) run_step(s);
      }
      skip(before, now, repeats - played);
      taken[i] = now.later() - began;
      i = stop;
    }
  }

  /// The next repetition reads what the last one made.
  constexpr void carry(int segment, graph_phase phase) {
    const graph_segment& s = p.graph.segment[segment];
    const bool forward = phase == graph_phase::forward;
    if (!forward && phase != graph_phase::backward) return;
    const int in = forward ? s.carried_in : s.gradient_in, out = forward ? s.carried_out : s.gradient_out;
    extent_t made = 0;
    for (const int v : handed_on)
      if (p.value[v].tensor == out) made = larger(made, ready[v]);
    for (const int v : handed_on)
      if (p.value[v].tensor == in) ready[v] = larger(ready[v], made);
  }

  /// `count` more rounds like the one that took from `before` to `after`.
  constexpr void skip(const clocks& before, const clocks& after, extent_t count) {
    if (count <= 0) return;
    const extent_t compute = (after.compute - before.compute) * count;
    const extent_t communication = (after.communication - before.communication) * count;
    for (int v = 0; v < p.value.size; ++v) {
      const bool link = travelled.item[v];
      extent_t& time = ready.item[v];
      if (time > (link ? before.communication : before.compute)) time += link ? communication : compute;
    }
    now.compute += compute;
    now.communication += communication;
  }

  constexpr void run_step(int i) {
    const bool link = is_of_link(i);
    if (link && bucket_end[i] != i) return;
    extent_t start = link ? now.communication : now.compute;
    if (link && p.move[p.step[i].index].bucket >= 0) {
      for (int k = 0; k < p.step.size; ++k)
        if (bucket_end[k] == i) start = larger(start, ready[p.move[p.step[k].index].source]);
      finish(i, start, link);
      for (int k = 0; k < p.step.size; ++k)
        if (bucket_end[k] == i) arrive(p.move[p.step[k].index].target, now.communication, true);
      return;
    }
    visit_values(p, p.step[i], [&](int v, bool written) {
      if (!written) start = larger(start, ready[v]);
    });
    finish(i, start, link);
    visit_values(p, p.step[i], [&](int v, bool written) {
      if (written) arrive(v, start + duration[i], link);
    });
  }
  constexpr void arrive(int v, extent_t time, bool link) {
    ready[v] = time;
    travelled[v] = link;
  }
  constexpr void finish(int i, extent_t start, bool link) {
    (link ? now.communication : now.compute) = start + duration[i];
  }

  const sharded_program& p;
  const program_moves& moves;
  const growing_array<move_load>& load;
  const device_value& device;
  const interconnect& net;
  growing_array<int> bucket_end;     ///< of moves over links: the step that carries them
  growing_array<extent_t> duration;  ///< of each step
  growing_array<extent_t> ready;     ///< when each value is there
  growing_array<int> handed_on;      ///< values that one repetition hands to another
  growing_array<bool> travelled;     ///< which queue brought it
  clocks now{};
  step_times times{};
};

}  // namespace detail

/// Times of a step of training. `load` is of the kinds of moves on `net`, a topology; `d` a device that `check`
/// accepts. `block_duration` becomes what each block of steps (storage_uses.hpp) takes with all of its repetitions in
/// one micro-batch: by how much it moves the end of what is done, so that with one micro-batch they add up to the step.
constexpr step_times time_step(const sharded_program& p, const program_moves& moves,
                               const growing_array<move_load>& load, const device_value& d, const interconnect& net,
                               growing_array<extent_t>& block_duration) {
  detail::two_queues queues(p, moves, load, d, net);
  const step_times times = queues.run();
  block_duration.clear();
  for (int i = 0; i < p.step.size; ++i)
    if (i == 0 || p.step[i].segment != p.step[i - 1].segment || p.step[i].phase != p.step[i - 1].phase)
      block_duration.push(queues.taken[i]);
  return times;
}
constexpr step_times time_step(const sharded_program& p, const program_moves& moves,
                               const growing_array<move_load>& load, const device_value& d, const interconnect& net) {
  return detail::two_queues(p, moves, load, d, net).run();
}

}  // namespace hyperparallel
