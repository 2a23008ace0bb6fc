// SPDX-License-Identifier: Apache-2.0
#pragma once
// A sharded program as a taskflow: one task per compute step and rank, one per move step and receiver.
//
// Compute tasks run in program order on their rank's matrix queue (those of vector operators on the vector queue where
// it is asked for), moves on the link of the rank that receives: it pulls what it needs out of the senders' blocks. So
// communication overlaps whatever does not need it, and nothing else has to be said about overlap. Prefetches have a
// copy queue on every rank, stores another one, either in program order. A detach is a task of the host queue that
// comes after all who used its memory; it touches nothing and holds nobody up: who takes the memory waits for those
// users itself.
//
// Each queue has one event, its progress word: a task waits for the place of the last task, queue by queue, that wrote
// what it reads, or used what it overwrites. Laws: every conflict on a slot has a direct wait or a shared queue, which
// the local rule finds; a step never reads a place that another tenant of its addresses has overwritten. Operation
// numbers are steps of the program, `item` is the rank of a compute task and (move step · ranks + rank) of a move.
// Complexity: O(accesses · queues that use a place + overlapping places · ranks²).

#include <hyperparallel/program/move_pulls.hpp>
#include <hyperparallel/program/program_slots.hpp>
#include <hyperparallel/program/step_durations.hpp>
#include <hyperparallel/taskflow/builder.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct program_flow_options {
  unsigned phases = micro_phases | update_phases;  ///< bit of each phase that belongs to the flow
  bool vector_queue = false;                       ///< vector operators on a queue of their own
  step_rates rates{};  ///< durations of the tasks, by which the executor orders what is ready
  /// Instead of all of these: of each step of the program, picoseconds. Must outlive the flow.
  const std::int64_t* step_duration = nullptr;
};

enum class program_flow_code : unsigned char {
  ok,
  move_is_refused,
  place_is_overwritten,
  home_is_overwritten,
  move_is_in_place,
  too_many_tasks
};

constexpr const char* to_text(program_flow_code c) {
  switch (c) {
    case program_flow_code::ok:
      return "ok";
    case program_flow_code::move_is_refused:
      return "a move is refused";
    case program_flow_code::place_is_overwritten:
      return "a step uses memory that another place has taken since it was written";
    case program_flow_code::home_is_overwritten:
      return "what lives from step to step is overwritten";
    case program_flow_code::move_is_in_place:
      return "a move writes the blocks that others read";
    case program_flow_code::too_many_tasks:
      return "the flow has too many tasks";
  }
  return "unknown";
}

/// The first thing that cannot be lowered: `step` uses `place`, whose addresses another place has taken.
struct program_flow_status {
  program_flow_code code = program_flow_code::ok;
  int step = -1;
  int place = -1;
  friend constexpr bool operator==(const program_flow_status&, const program_flow_status&) = default;
};

class program_flow {
 public:
  /// `p`, `pulls` and `slots` must outlive the flow. Where `pulls.status` is not ok the flow is empty and says so.
  constexpr program_flow(const sharded_program& p, const program_pulls& pulls, const program_slots& slots,
                         const program_flow_options& options)
      : program_(p), pulls_(pulls), slots_(slots), options_(options), ranks_(position_count(p.mesh.shape)) {
    if (pulls.status.code != move_pulls_code::ok) {
      status_.code = program_flow_code::move_is_refused;
      return;
    }
    users_ = ranks_ + links;
    use_.resize(slots.place.size * ranks_ * users_, 0);
    writer_.resize(slots.place.size * ranks_, {});
    overwritten_.resize(slots.place.size, false);
    done_.resize(queue_count(machine()), 0);
    need_.resize(done_.size, 0);
    for (int s = 0; s < p.step.size && status_.code == program_flow_code::ok; ++s) {
      if ((options.phases >> static_cast<int>(p.step[s].phase) & 1u) == 0) continue;
      if (p.step[s].is_move)
        lower_move_step(s);
      else
        lower_compute_step(s);
    }
    for (int s = 0; s < p.storage.size && status_.code == program_flow_code::ok; ++s)
      if (p.storage[s].home && overwritten_[s]) status_ = {program_flow_code::home_is_overwritten, -1, s};
  }

  constexpr const program_flow_status& status() const { return status_; }
  constexpr int ranks() const { return ranks_; }
  /// Whether the storage holds at the flow's end what was last written to it.
  constexpr bool survives(int storage) const { return !overwritten_[storage]; }
  constexpr bool writes(int storage) const { return writer_[storage * ranks_].place > 0; }
  constexpr machine_shape machine() const {
    machine_shape m;
    m.ranks = ranks_;
    m.queues[static_cast<int>(resource::aic)] = 1;
    m.queues[static_cast<int>(resource::aiv)] = options_.vector_queue ? 1 : 0;
    m.queues[static_cast<int>(resource::link)] = 1;
    constexpr resource of_tiers[] = {resource::copy_in, resource::copy_out, resource::host};
    for (const resource kind : of_tiers) m.queues[static_cast<int>(kind)] = slots_.tiers > 1 ? 1 : 0;
    return m;
  }

  /// Writes the flow. O(tasks + waits + accesses).
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const machine_shape m = machine();
    const int per_rank = queues_per_rank(m);
    for (int q = 0; q < queue_count(m); ++q) add_event(f, q / per_rank);
    for (int r = 0; r < ranks_; ++r)
      for (const slot& one : slots_.memory) add_slot(f, r, one.tier, one.offset, one.bytes);
    int w = 0, a = 0;
    for (const lowered_task& t : task_) {
      add_task(f, t.kind, t.rank, t.duration, t.step, t.item);
      for (; w < t.wait_end; ++w) add_wait(f, wait_[w].event, wait_[w].threshold);
      add_signal(f, first_queue(m, t.rank, t.kind));
      for (; a < t.access_end; ++a) add_access(f, access_[a].slot, access_[a].begin, access_[a].end, access_[a].mode);
    }
  }

 private:
  struct lowered_task {
    resource kind = resource::aic;
    int rank = 0;
    std::int64_t duration = 0;
    int step = 0, item = 0;
    int wait_end = 0, access_end = 0;
  };
  /// The last task that wrote a place: its queue and its place there, from one; 0: none.
  struct last_writer {
    int queue = 0, place = 0;
  };

  constexpr int queue_of(resource kind, int rank) const { return first_queue(machine(), rank, kind); }
  /// Who can use a place of a rank: its own compute and copy queues, and every link.
  static constexpr resource own_users[] = {resource::aic, resource::aiv, resource::copy_in, resource::copy_out};
  static constexpr int links = 4;
  static constexpr int user_of(resource kind, int rank) {
    int user = 0;
    while (user < links && own_users[user] != kind) ++user;
    return user < links ? user : links + rank;
  }
  constexpr int queue_of_user(int user, int rank) const {
    return user < links ? queue_of(own_users[user], rank) : queue_of(resource::link, user - links);
  }

  // ---- one task: begin, its accesses, end ----

  constexpr void begin_task(resource kind, int rank, int step, int item) {
    now_ = {kind, rank, options_.rates.overhead, step, item, 0, 0};
    own_queue_ = queue_of(kind, rank);
    first_access_ = access_.size;
  }
  constexpr void require(int queue, int place) {
    if (queue != own_queue_ && need_[queue] < place) need_[queue] = place;
  }
  constexpr void add_use(int place, int rank, access_mode mode) {
    const program_place& one = slots_.place[place];
    if (one.slot < 0) return;
    const access a{rank * slots_.memory.size + one.slot, one.lines.begin, one.lines.end, mode, 0};
    for (int i = first_access_; i < access_.size; ++i)
      if (access_[i].slot == a.slot && access_[i].begin == a.begin && access_[i].end == a.end &&
          access_[i].mode == a.mode)
        return;
    access_.push(a);
  }
  constexpr void read(int place, int rank) {
    const last_writer& w = writer_[place * ranks_ + rank];
    if (w.place > 0) require(w.queue, w.place);
    add_use(place, rank, access_mode::read);
  }
  constexpr void write(int place, int rank) {
    require_users(place, rank);
    for (int i = slots_.overlap_begin[place]; moves_in_ && i < slots_.overlap_begin[place + 1]; ++i)
      require_users(slots_.overlap[i], rank);
    add_use(place, rank, access_mode::write);
  }
  constexpr void require_users(int place, int rank) {
    const int* const used = &use_[(place * ranks_ + rank) * users_];
    for (int u = 0; u < users_; ++u)
      if (used[u] > 0) require(queue_of_user(u, rank), used[u]);
  }
  constexpr void end_task(const int* reads, const int* read_ranks, int read_count, const int* writes, int write_count) {
    for (int i = 0; i < read_count; ++i) read(reads[i], read_ranks[i]);
    for (int i = 0; i < write_count; ++i) write(writes[i], now_.rank);
    const int place = push_task();
    const int user = user_of(now_.kind, now_.rank);
    for (int i = 0; i < read_count; ++i) use_[(reads[i] * ranks_ + read_ranks[i]) * users_ + user] = place;
    for (int i = 0; i < write_count; ++i) {
      use_[(writes[i] * ranks_ + now_.rank) * users_ + user] = place;
      writer_[writes[i] * ranks_ + now_.rank] = {own_queue_, place};
    }
  }
  /// The present task, with the waits that it needs; returns its place in its queue, from one.
  constexpr int push_task() {
    for (int q = 0; q < need_.size; ++q) {
      if (need_[q] == 0) continue;
      wait_.push({q, need_[q]});
      need_[q] = 0;
    }
    now_.wait_end = wait_.size;
    now_.access_end = access_.size;
    task_.push(now_);
    return ++done_[own_queue_];
  }
  /// Before the tasks of a step: what it reads is there, and stays there while it writes. Places whose addresses it
  /// takes over are gone from here on. False where it cannot be.
  constexpr bool enter_step(int step, const int* reads, int read_count, const int* writes, int write_count) {
    for (int i = 0; i < read_count; ++i)
      if (overwritten_[reads[i]]) status_ = {program_flow_code::place_is_overwritten, step, reads[i]};
    moves_in_ = false;
    for (int i = 0; i < write_count; ++i) {
      const int place = writes[i];
      // A place that is written again meets no other tenant: those would be gone.
      moves_in_ = moves_in_ || overwritten_[place] || writer_[place * ranks_].place == 0;
      overwritten_[place] = false;
      for (int k = slots_.overlap_begin[place]; k < slots_.overlap_begin[place + 1]; ++k)
        overwritten_[slots_.overlap[k]] = true;
    }
    for (int i = 0; i < read_count + write_count; ++i) {
      const int place = i < read_count ? reads[i] : writes[i - read_count];
      if (overwritten_[place]) status_ = {program_flow_code::place_is_overwritten, step, place};
    }
    if (task_.size > max_tasks - ranks_) status_ = {program_flow_code::too_many_tasks, step};
    return status_.code == program_flow_code::ok;
  }

  // ---- steps ----

  constexpr int storage_of(int value) const { return program_.value[value].storage; }

  constexpr void lower_compute_step(int s) {
    const program_compute& c = program_.compute[program_.step[s].index];
    const graph_operator& op = program_.graph.op[c.op];
    const bool vector = options_.vector_queue && program_.graph.value_of(op).unit == compute_unit::vector;
    const resource kind = vector ? resource::aiv : resource::aic;
    int reads[max_operator_operands] = {}, writes[max_operator_results] = {}, at[max_operator_operands] = {};
    for (int i = 0; i < op.operand_count; ++i) reads[i] = storage_of(c.operand[i]);
    for (int i = 0; i < op.result_count; ++i) writes[i] = storage_of(c.result[i]);
    const extent_t work = compute_duration(program_, c, options_.rates);
    if (!enter_step(s, reads, op.operand_count, writes, op.result_count)) return;
    for (int r = 0; r < ranks_; ++r) {
      for (int i = 0; i < op.operand_count; ++i) at[i] = r;
      begin_task(kind, r, s, r);
      lasts(s, work);
      end_task(reads, at, op.operand_count, writes, op.result_count);
    }
  }

  /// The present task, of step `s`, takes so long beside its overhead where nothing else is said.
  constexpr void lasts(int s, std::int64_t work) {
    now_.duration = options_.step_duration != nullptr ? options_.step_duration[s] : now_.duration + work;
  }

  /// The value lies in the slower tier, and nobody reads its memory here any more.
  constexpr void lower_detach_step(int s) {
    const program_move& m = program_.move[program_.step[s].index];
    const int kept = storage_of(m.target), left = storage_of(m.source);
    if (!enter_step(s, &kept, 1, &left, 1)) return;
    for (int r = 0; r < ranks_; ++r) {
      begin_task(resource::host, r, s, r);
      now_.duration = 0;
      require_users(left, r);
      push_task();
    }
    overwritten_[left] = true;
  }

  constexpr void lower_move_step(int s) {
    const program_move& m = program_.move[program_.step[s].index];
    if (m.detaches) return lower_detach_step(s);
    const cache_operator of_tiers = cache_operator_of(program_, m);
    const resource kind = of_tiers == cache_operator::within_tier ? resource::link
                          : of_tiers == cache_operator::prefetch  ? resource::copy_in
                                                                  : resource::copy_out;
    const move_pulls& pulls = pulls_.of(program_.step[s].index);
    const int element = bytes_of(program_.graph.tensor[program_.value[m.source].tensor].type);
    const int staged = program_.storage.size + program_.step[s].index;
    if (storage_of(m.source) == storage_of(m.target)) {
      status_ = {program_flow_code::move_is_in_place, s, storage_of(m.source)};
      return;
    }
    growing_array<int> reads;
    for (int i = 0; i < pulls.steps; ++i) {
      const int from = i == 0 ? storage_of(m.source) : staged;
      const int to = i + 1 == pulls.steps ? storage_of(m.target) : staged;
      if (!enter_step(s, &from, 1, &to, 1)) return;
      for (int r = 0; r < ranks_; ++r) {
        const int receiver = i * ranks_ + r;
        const int first = pulls.sender_begin[receiver], senders = pulls.sender_begin[receiver + 1] - first;
        reads.resize(senders, from);
        for (int& one : reads) one = from;
        begin_task(kind, r, s, receiver);
        const extent_t elements = kind == resource::link ? pulls.pulled[receiver] : local_elements(program_, m.target);
        lasts(s, transfer_duration(elements * element, options_.rates));
        end_task(reads.item, pulls.sender.item + first, senders, &to, 1);
      }
    }
  }

  static constexpr int max_tasks = 1 << 24;

  const sharded_program& program_;
  const program_pulls& pulls_;
  const program_slots& slots_;
  program_flow_options options_;
  int ranks_ = 1;
  int users_ = 0;
  program_flow_status status_{};
  growing_array<lowered_task> task_;
  growing_array<wait> wait_;
  growing_array<access> access_;
  growing_array<int> use_;  ///< of each place, rank and user: its last task there that used the place, from one
  growing_array<last_writer> writer_;
  growing_array<bool> overwritten_;
  growing_array<int> done_;  ///< tasks of each queue
  growing_array<int> need_;  ///< of each queue: how far it has to be before the present task
  lowered_task now_{};
  int own_queue_ = 0;
  int first_access_ = 0;
  bool moves_in_ = false;  ///< the present step writes addresses that others may have used
};

}}  // namespace hyperparallel::v0_2
