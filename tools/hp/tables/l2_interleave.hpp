// SPDX-License-Identifier: Apache-2.0
#pragma once
// A5: SwiGLU and Add over M rows, one after the other or interleaved. Assumed, since the source gives no shapes:
// SwiGLU reads 2I columns and writes I, Add reads that result and another I and writes I, I = 2048, bf16; so of six
// units of I columns one is used again. Rows are dealt evenly to the vector queues, in tiles of at most 128.
//
// Serial: two operators, Add after all of SwiGLU, launched ahead, so tiles cost no dispatch. Interleaved: a taskflow in
// which a wave of SwiGLU tiles is followed by the Add tiles of the same rows, each on the queue of its producer, with
// the overhead of a task. Durations come from the reuse distances of the order that runs, by `price_by_reuse`.

#include <cstdint>
#include <stdexcept>
#include <vector>

#include <hyperparallel/taskflow/builder.hpp>
#include <hyperparallel/taskflow/cache_traffic.hpp>
#include <hyperparallel/taskflow/list_schedule.hpp>
#include <hyperparallel/taskflow/owned.hpp>
#include <hyperparallel/taskflow/simulate.hpp>

#include "anchor.hpp"
#include "parameters.hpp"
#include "published.hpp"

namespace tables {

enum class operator_order { serial, interleaved };

struct swiglu_add {
  int rows, queues, most_rows;
  operator_order order;

  constexpr int waves() const { return static_cast<int>(hp::ceil_divide(rows, std::int64_t{queues} * most_rows)); }
  constexpr int tiles() const { return waves() * queues; }
  /// Bytes of I columns of a tile's rows.
  constexpr std::int64_t unit(int tile) const {
    const std::int64_t begin = std::int64_t{rows} * tile / tiles(), end = std::int64_t{rows} * (tile + 1) / tiles();
    return (end - begin) * published::intermediate * 2;
  }

  template <class Flow>
  void operator()(Flow& f) const {
    const bool fine = order == operator_order::interleaved;
    const int done = hp::add_event(f, 0, fine ? tiles() : 1);
    std::int64_t offset = 0;
    const auto tensor = [&](int units) {
      const int first = f.size.slots;
      for (int t = 0; t < tiles(); ++t) {
        hp::add_slot(f, 0, 0, offset, units * unit(t));
        offset += units * unit(t);
      }
      return first;
    };
    const int gate_up = tensor(2), activation = tensor(1), other = tensor(1), sum = tensor(1);
    const auto swiglu = [&](int t) {
      hp::add_task(f, hp::resource::aiv, 0, 1, 0, t);
      hp::add_signal(f, fine ? done + t : done);
      hp::add_access(f, gate_up + t, 0, 1, hp::access_mode::read);
      hp::add_access(f, activation + t, 0, 1, hp::access_mode::write);
    };
    const auto add = [&](int t) {
      hp::add_task(f, hp::resource::aiv, 0, 1, 1, t);
      hp::add_wait(f, fine ? done + t : done);
      hp::add_access(f, activation + t, 0, 1, hp::access_mode::read);
      hp::add_access(f, other + t, 0, 1, hp::access_mode::read);
      hp::add_access(f, sum + t, 0, 1, hp::access_mode::write);
    };
    const int wave = fine ? queues : tiles();
    for (int begin = 0; begin < tiles(); begin += wave) {
      for (int t = begin; t < begin + wave; ++t) swiglu(t);
      for (int t = begin; t < begin + wave; ++t) add(t);
    }
  }
};

struct interleave_figures {
  double microseconds = 0;
  double hits = 0;  ///< per cent of the accessed bytes
};

inline interleave_figures run_swiglu_add(const parameters& p, int rows, operator_order order) {
  const swiglu_add build{rows, p.vector_queues.value, p.vector_rows.value, order};
  const hp::taskflow_size size = hp::measure(build);
  hp::machine_shape machine;
  machine.queues[static_cast<int>(hp::resource::aiv)] = build.queues;
  hp::owned_taskflow f(size);
  build(f);
  hp::seal(f);
  hp::owned_schedule s(size.tasks, build.queues);
  hp::owned_schedule_scratch x(size, build.queues);
  if (hp::list_schedule(f, machine, {hp::priority::reference_order, 0}, s, x) != hp::schedule_status{})
    throw std::logic_error("SwiGLU and Add: no queue for a tile");

  std::vector<std::int64_t> sum(static_cast<std::size_t>(size.access_uses) + 1);
  std::vector<int> last(static_cast<std::size_t>(size.slots));
  hp::reuse_tracker<std::int64_t*, int*> tracker{size.access_uses, sum.data(), last.data()};
  const std::int64_t overhead = order == operator_order::interleaved ? p.task_overhead.value : 0;
  const hp::cache_traffic traffic =
      hp::price_by_reuse(f, s, 0, {p.device(), p.cache(), hp::resource::aiv, overhead}, tracker);

  hp::owned_timeline line(size.tasks);
  hp::owned_simulation_scratch y(size, build.queues);
  const hp::simulation_result result = hp::simulate(f, s, {}, line, y);
  if (traffic.code != hp::cost_code::ok || result.code != hp::simulation_code::ok)
    throw std::logic_error("SwiGLU and Add: the plan has no time");
  return {static_cast<double>(result.makespan) / static_cast<double>(hp::microsecond),
          static_cast<double>(traffic.traffic.hit_share()) * 1e-4};
}

/// Fewest rows, in steps of 1024 from `from` to `to`, at which the interleaved order is faster; 0: none.
inline int crossover(const parameters& p, int from, int to) {
  for (int rows = from; rows <= to; rows += 1024)
    if (run_swiglu_add(p, rows, operator_order::interleaved).microseconds <
        run_swiglu_add(p, rows, operator_order::serial).microseconds)
      return rows;
  return 0;
}

inline anchor_rows l2_interleave(const parameters& p) {
  constexpr int large = 32 * 1024, small = 8 * 1024;
  const interleave_figures serial = run_swiglu_add(p, large, operator_order::serial);
  const interleave_figures mixed = run_swiglu_add(p, large, operator_order::interleaved);
  const double small_difference = run_swiglu_add(p, small, operator_order::interleaved).microseconds -
                                  run_swiglu_add(p, small, operator_order::serial).microseconds;
  const double first_gain = crossover(p, small, large);
  return {
      {"A5", "SwiGLU + Add, 32K rows, serial", "us", published::serial_latency, serial.microseconds,
       criterion::relative, 0.05},
      {"A5", "the same interleaved", "us", published::interleaved_latency, mixed.microseconds, criterion::relative,
       0.05},
      {"A5", "serial / interleaved", "x", published::serial_latency / published::interleaved_latency,
       serial.microseconds / mixed.microseconds, criterion::relative, 0.05, 3},
      {"A5", "L2 hits, serial", "%", published::serial_hits, serial.hits, criterion::absolute, 0.1, 2,
       standing::calibration},
      {"A5", "L2 hits, interleaved", "%", published::interleaved_hits, mixed.hits, criterion::printed, 0},
      {"A5", "interleaved - serial, 8K rows (slightly slower)", "us", std::nullopt, small_difference, criterion::above,
       0},
      {"A5", "serial - interleaved, 32K rows", "us", published::serial_latency - published::interleaved_latency,
       serial.microseconds - mixed.microseconds, criterion::above, 0},
      {"A5", "rows from which interleaving wins: above 8K", "", std::nullopt, first_gain, criterion::above, small, 0},
      {"A5", "and at most 32K", "", std::nullopt, first_gain, criterion::at_most, large, 0},
      {"A5", "interleaved, 2K rows: launch costs are not modelled", "us", published::latency_at_2k_rows,
       run_swiglu_add(p, 2 * 1024, operator_order::interleaved).microseconds, criterion::printed, 0},
  };
}

}  // namespace tables
