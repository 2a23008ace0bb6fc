// SPDX-License-Identifier: Apache-2.0
#pragma once
// A sharded program as a plan: one task per compute step and rank, one per move step and receiver.
//
// Compute tasks run in program order on their rank's matrix queue (those of vector operators on the vector queue where
// it is asked for), moves on the link of the rank that receives: it pulls what it needs out of the senders' blocks. So
// communication overlaps whatever does not need it, and nothing else has to be said about overlap. Prefetches have a
// copy queue on every rank, stores another one, either in program order. A detach is a task of the host queue that
// comes after all who used its memory; it touches nothing and holds nobody up: who takes the memory waits for those
// users itself.
//
// A *place* is a storage of the program, or a block that a move stages between its steps, at the same addresses of all
// ranks. A task waits for the last writer of what it reads, and for the readers since and the writer of what it writes;
// where it moves into memory, for those of all former tenants; a tile for those of its own pieces (place_pieces.hpp). What its
// queue has waited for before is not waited for again. Operation numbers are steps of the program, `item` is the rank of
// a compute task and (row of the move · ranks + rank) of a move.
// Complexity: O(accesses + waits) and what ranges of addresses take (address_ranges.hpp).

#include <hyperparallel/lowering/class_plan.hpp>
#include <hyperparallel/lowering/move_pulls.hpp>
#include <hyperparallel/lowering/place_pieces.hpp>
#include <hyperparallel/lowering/task_waits.hpp>
#include <hyperparallel/lowering/tenancy.hpp>
#include <hyperparallel/strategy/address_plan.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct program_flow_options {
  unsigned phases = micro_phases | update_phases;  ///< bit of each phase that belongs to the flow
  bool vector_queue = false;                       ///< vector operators on a queue of their own
  step_rates rates{};  ///< durations of the tasks, by which the executor orders what is ready
  /// Instead of all of these: of each step of the program, picoseconds. Must outlive the call.
  const std::int64_t* step_duration = nullptr;
};

namespace detail {

/// Of all ranks, or of rank 0 for the class.
template <bool OfClass>
class program_lowering {
 public:
  constexpr program_lowering(const sharded_program& p, const program_pulls& pulls, const program_addresses& a,
                             const program_flow_options& options)
      : program_(p),
        pulls_(pulls),
        options_(options),
        ranks_(ranks_of(p)),
        words_(p, queues_per_rank(machine())),
        plan_(empty_plan()),
        piece_(p, place_count(p, pulls.moves)),
        waits_(plan_, words_, ranks_, parts_of(p), piece_.count()),
        tenants_(place_count(p, pulls.moves)),
        range_(ranges_of_places(p, pulls, a)) {
    if constexpr (OfClass)
      if (pulls.status.code == move_pulls_code::ok) class_ = class_of(p, pulls, words_);
  }

  constexpr program_plan run() {
    if (pulls_.status.code != move_pulls_code::ok) refuse(program_flow_code::move_is_refused, -1, -1);
    for (int s = 0; s < program_.step.size && ok(); ++s) {
      if (!is_in(program_.step.item[s].phase, options_.phases)) continue;
      if (program_.step.item[s].is_move)
        lower_move_step(s);
      else
        lower_compute_step(s);
    }
    for (int s = 0; s < program_.storage.size && ok(); ++s) {
      plan_.survives.push(tenants_.is_known(s) ? tenants_.is_whole(s)
                                               : !tenants_.was_taken(range_.begin.item[s], range_.end.item[s]));
      plan_.writes.push(waits_.was_written(piece_.first(s), first_rank_of(program_, program_.storage.item[s].part)));
      if (program_.storage.item[s].home && !plan_.survives.item[s])
        refuse(program_flow_code::home_is_overwritten, -1, s);
    }
    if (ok()) return static_cast<program_plan&&>(plan_);
    program_plan refused;
    refused.status = plan_.status;
    refused.machine = plan_.machine;
    return refused;
  }

 private:
  constexpr bool ok() const { return plan_.status.code == program_flow_code::ok; }
  constexpr void refuse(program_flow_code code, int step, int place) { plan_.status = {code, step, place}; }

  constexpr program_plan empty_plan() const {
    program_plan plan;
    plan.machine = machine();
    plan.of_class = OfClass;
    for (int k = 0; k < program_.part.size; ++k)
      plan.part.push({first_rank_of(program_, k), ranks_of_part(program_, k)});
    return plan;
  }
  constexpr machine_shape machine() const {
    machine_shape m;
    m.ranks = ranks_;
    m.queues[static_cast<int>(resource::aic)] = 1;
    m.queues[static_cast<int>(resource::aiv)] = options_.vector_queue ? 1 : 0;
    m.queues[static_cast<int>(resource::link)] = 1;
    constexpr resource of_tiers[] = {resource::copy_in, resource::copy_out, resource::host};
    for (const resource kind : of_tiers) m.queues[static_cast<int>(kind)] = tiers_of(program_) > 1 ? 1 : 0;
    return m;
  }

  /// Calls `visit` for the ranks of a part; of the class for the first one.
  template <class Visit>
  constexpr void visit_ranks(int part, const Visit& visit) const {
    const int first = first_rank_of(program_, part), count = OfClass ? 1 : ranks_of_part(program_, part);
    for (int r = first; r < first + count; ++r) visit(r);
  }
  /// Ranks, or their names in the class. `place` is the receiver's in its part.
  template <class Visit>
  constexpr void visit_senders(int step, int row, int place, const Visit& visit) const {
    const int move = program_.step.item[step].index, source = part_of_value(program_, program_.move.item[move].source);
    const growing_array<int>& begin = OfClass ? class_.sender_begin : pulls_.of(move).sender_begin;
    const growing_array<int>& sender = OfClass ? class_.sender : pulls_.of(move).sender;
    const int positions = ranks_of_part(program_, plan_.row.last().part);
    const int first = OfClass ? 0 : first_rank_of(program_, source);
    const int at = OfClass ? class_.row_of(pulls_.moves, move, row) : row * positions + place;
    for (int k = begin.item[at]; k < begin.item[at + 1]; ++k) visit(first + sender.item[k]);
  }

  // ---- rows ----

  constexpr int storage_of(int value) const { return program_.value.item[value].storage; }

  constexpr void lower_compute_step(int s) {
    const program_compute& c = program_.compute.item[program_.step.item[s].index];
    const graph_operator& op = program_.graph.op.item[c.op];
    const bool vector = options_.vector_queue && program_.graph.value_of(op).unit == compute_unit::vector;
    read_.clear();
    write_.clear();
    for (int i = 0; i < op.operand_count; ++i) read_.push(storage_of(c.operand[i]));
    for (int i = 0; i < op.result_count; ++i) write_.push(storage_of(c.result[i]));
    if (!begin_row(s, 0, vector ? resource::aiv : resource::aic)) return;
    const extent_t work = compute_duration(program_, c, options_.rates);
    visit_ranks(plan_.row.last().part, [&](int r) {
      waits_.begin_task(r);
      for (const int piece : reads_) waits_.need_value(piece, OfClass ? 0 : r);
      for (const int piece : takes_) waits_.need_memory(piece, r);
      waits_.end_task(duration_of(s, work));
      for (const int piece : reads_) waits_.note_read(piece, plan_.row.last().part, OfClass ? 0 : r);
      for (const int piece : writes_) waits_.note_write(piece, r);
    });
  }

  constexpr void lower_move_step(int s) {
    const program_move& m = program_.move.item[program_.step.item[s].index];
    const int source = storage_of(m.source), target = storage_of(m.target);
    if (m.detaches) return lower_detach_step(s, target, source);
    if (source == target) return refuse(program_flow_code::move_is_in_place, s, source);
    const cache_operator of_tiers = cache_operator_of(program_, m);
    const resource kind = of_tiers == cache_operator::within_tier ? resource::link
                          : of_tiers == cache_operator::prefetch  ? resource::copy_in
                                                                  : resource::copy_out;
    const move_pulls& pulls = pulls_.of(program_.step.item[s].index);
    const int element = bytes_of(program_.graph.tensor.item[program_.value.item[m.source].tensor].type);
    for (int i = 0; i < pulls.row.size; ++i) {
      const int from = place_read(program_, pulls_.moves, program_.step.item[s].index, pulls.row.item[i]);
      const int to = place_written(program_, pulls_.moves, program_.step.item[s].index, pulls.row.item[i]);
      read_.clear();
      write_.clear();
      read_.push(from);
      write_.push(to);
      if (!begin_row(s, i * ranks_, kind)) return;
      const int part = plan_.row.last().part, first = first_rank_of(program_, part);
      const int source_part = part_of_value(program_, m.source);
      visit_ranks(part, [&](int r) {
        waits_.begin_task(r);
        for (const int piece : reads_)
          visit_senders(s, i, r - first, [&](int sender) { waits_.need_value(piece, sender); });
        for (const int piece : takes_) waits_.need_memory(piece, r);
        const extent_t elements = kind == resource::link
                                      ? pulls.pulled.item[i * ranks_of_part(program_, part) + r - first]
                                      : local_elements(program_, m.target);
        waits_.end_task(duration_of(s, transfer_duration(elements * element, options_.rates)));
        for (const int piece : reads_) {
          bool all_noted = false;  // where the meshes differ, by the first sender for all
          visit_senders(s, i, r - first, [&](int sender) {
            if (!all_noted) waits_.note_read(piece, source_part, sender);
            all_noted = OfClass && !words_.are_alike(source_part, part);
          });
        }
        for (const int piece : writes_) waits_.note_write(piece, r);
      });
    }
  }

  /// A detach ends the use of the value's memory in this tier. The value itself lies in the slower tier.
  constexpr void lower_detach_step(int s, int kept, int left) {
    read_.clear();
    write_.clear();
    read_.push(kept);
    read_.push(left);
    if (!begin_row(s, 0, resource::host)) return;
    write_.push(left);
    piece_.list(write_, {}, takes_);
    visit_ranks(plan_.row.last().part, [&](int r) {
      waits_.begin_task(r);
      for (const int piece : takes_) waits_.need_memory(piece, r);
      waits_.end_task(0);
    });
    tenants_.leave(left);
  }

  constexpr extent_t duration_of(int s, extent_t work) const {
    if (options_.step_duration != nullptr) return options_.step_duration[s];
    return options_.rates.overhead + ceil_divide(work, program_.step.item[s].tile.count);
  }

  /// What the row reads is there, and stays there while it writes; what it writes moves in. False where it cannot be.
  constexpr bool begin_row(int step, int first_item, resource kind) {
    evicted_.clear();
    for (const int place : read_) {
      if (!tenants_.is_known(place)) {  // there since before the first step, if it was not taken
        tenants_.move_in(place, range_.begin.item[place], range_.end.item[place]);
        if (tenants_.evicted().size > 0) refuse(program_flow_code::place_is_overwritten, step, place);
      }
      if (!tenants_.is_whole(place)) refuse(program_flow_code::place_is_overwritten, step, place);
    }
    for (const int place : write_) {
      if (tenants_.is_whole(place)) continue;
      tenants_.move_in(place, range_.begin.item[place], range_.end.item[place]);
      for (const int tenant : tenants_.evicted()) evicted_.push(tenant);
    }
    for (const int place : read_)
      if (!tenants_.is_whole(place)) refuse(program_flow_code::place_is_overwritten, step, place);
    for (const int place : write_)
      if (!tenants_.is_whole(place)) refuse(program_flow_code::place_is_overwritten, step, place);
    const int first_task = plan_.tasks();
    if (first_task > max_tasks - ranks_) refuse(program_flow_code::too_many_tasks, step, -1);
    if (!ok()) return false;
    plan_.row.push({step, first_item, kind, part_of_step(program_, program_.step.item[step]), first_task});
    const step_tile& tile = program_.step.item[step].tile;
    piece_.list(read_, tile, reads_);
    piece_.list(write_, tile, writes_);
    piece_.list(evicted_, {}, takes_);
    for (const int piece : writes_) takes_.push(piece);
    return true;
  }

  /// Of a plan of all ranks; of one of the class, so that numbers of items fit.
  static constexpr int max_tasks = OfClass ? 1 << 30 : most_tasks_of_all_ranks;

  const sharded_program& program_;
  const program_pulls& pulls_;
  const program_flow_options& options_;
  int ranks_ = 1;
  class_words words_;
  class_pulls class_;  // of the class alone
  program_plan plan_;
  place_pieces piece_;
  task_waits<OfClass> waits_;
  tenancy tenants_;
  place_ranges range_;
  growing_array<int> read_, write_, evicted_;  // places of the present row
  growing_array<int> reads_, writes_, takes_;  // their pieces; it takes what it writes and what it evicts
};

program_plan lower_program_in_library(const sharded_program& p, const program_pulls& pulls, const program_addresses& a,
                                      const program_flow_options& options);
constexpr program_plan lower_program_here(const sharded_program& p, const program_pulls& pulls,
                                          const program_addresses& a, const program_flow_options& options) {
  return detail::program_lowering<false>(p, pulls, a, options).run();
}

}  // namespace detail

/// The plan of the phases that `options` names, or the status that says why there is none. Domain: addresses and pulls
/// are those of `p`.
constexpr program_plan lower_program(const sharded_program& p, const program_pulls& pulls, const program_addresses& a,
                                     const program_flow_options& options = {}) {
  HYPERPARALLEL_TWIN(detail::lower_program_in_library(p, pulls, a, options));
  return detail::lower_program_here(p, pulls, a, options);
}

namespace detail {

program_plan lower_class_in_library(const sharded_program& p, const program_pulls& pulls, const program_addresses& a,
                                    const program_flow_options& options);
constexpr program_plan lower_class_here(const sharded_program& p, const program_pulls& pulls,
                                        const program_addresses& a, const program_flow_options& options) {
  return detail::program_lowering<true>(p, pulls, a, options).run();
}

}  // namespace detail

/// The plan of the class of ranks, which `plan_of_all_ranks` expands.
constexpr program_plan lower_class(const sharded_program& p, const program_pulls& pulls, const program_addresses& a,
                                   const program_flow_options& options = {}) {
  HYPERPARALLEL_TWIN(detail::lower_class_in_library(p, pulls, a, options));
  return detail::lower_class_here(p, pulls, a, options);
}

}}  // namespace hyperparallel::v0_2
