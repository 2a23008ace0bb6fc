// SPDX-License-Identifier: Apache-2.0
#pragma once
// Replay of a pipeline schedule: proves that each action stands exactly once, on the rank of its stage, and that no rank
// waits for ever; and says when each ends.
//
// Dependencies of micro-batch k on stage s: F after F of stage s − 1; I or B after F of s, and after I or B of s + 1;
// W after I. Each rank runs its actions in its own order, one at a time, each as early as its predecessor and its
// dependencies allow; a hop between ranks adds its latency and occupies nothing. What sends and receives wait for the
// transport says; unshards and reductions take no time.
//
// References: the semantics of Qi et al., "Zero Bubble Pipeline Parallelism", 2023, and of torch.distributed.pipelining.

#include <cstdint>

#include <hyperparallel/pipeline/account.hpp>
#include <hyperparallel/pipeline/ready_ranks.hpp>
#include <hyperparallel/pipeline/special_actions.hpp>
#include <hyperparallel/pipeline/transfer_step.hpp>
#include <hyperparallel/pipeline/why_stopped.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Of more ranks those that stand still are left out of a sweep until a message may let them go on.
inline constexpr int most_ranks_of_whole_sweeps = 64;

/// Runs the ranks in turn until none goes on.
template <class Sizes>
class pipeline_replay : kind_of_code {
 public:
  using account = basic_pipeline_account<Sizes>;
  using state = replay_state<Sizes>;

  constexpr pipeline_replay(const basic_pipeline_schedule<Sizes>& s, const pipeline_costs& c, transport t,
                            growing_array<std::int64_t>* starts)
      : x_(s, c, t, starts) {
    if (t.kind == transport_kind::buffered) transfer_.number_messages(s, t.buffers);
  }

  constexpr account run() {
    account a;
    // Forwards pass along the ranks in an upward sweep, gradients in a downward one.
    const bool all = x_.s.ranks <= most_ranks_of_whole_sweeps;
    if (!all) run_ready();
    for (bool moved = all; moved && status_.ok();) {
      moved = sweep(0, x_.s.ranks - 1);
      if (status_.ok() && x_.s.ranks > 1) moved = sweep(x_.s.ranks - 2, 0) || moved;
    }
    if (status_.ok()) status_ = end_of(x_, transfer_);
    a.status = status_;
    if (a.ok()) sum_up(x_, a);
    return a;
  }
  /// What it knows when it has run.
  constexpr const state& reached() const { return x_; }

 private:
  /// The same sweeps, over the ranks that may go on. Law: what is left out would not have moved.
  constexpr void run_ready() {
    const stage_peers<Sizes> peers(x_.s);
    ready_ranks ready(x_.s.ranks);
    const auto visit = [&](int r) {
      const int begin = x_.position.item[r];
      const bool moved = sweep(r, r);
      for (int at = begin; at < x_.position.item[r]; ++at) {
        const int x = x_.s.action.item[at];
        if (x == idle_slot) continue;
        const int kind = x / x_.per_kind, copy = (x - kind * x_.per_kind) / x_.s.share();
        const bool after =
            kind == forward || kind == overlapped_forward || kind == send_forward || kind == receive_backward;
        const bool before =
            kind == input_gradient || kind == backward || kind == send_backward || kind == receive_forward;
        const int peer = after ? peers.forward.item[copy] : before ? peers.gradient.item[copy] : -1;
        if (peer >= 0) ready.insert(peer);
      }
      ready.erase(r);
      return moved;
    };
    for (bool moved = true; moved && status_.ok();) {
      moved = false;
      for (int r = ready.next(0); r >= 0 && status_.ok(); r = ready.next(r + 1)) moved = visit(r) || moved;
      for (int r = ready.previous(x_.s.ranks - 1); r >= 0 && status_.ok(); r = ready.previous(r - 1))
        moved = visit(r) || moved;
    }
  }

  /// Runs ranks `from` to `to`, each as far as it goes. Whether one went on. One function, with what changes with each
  /// action in local variables and arrays of numbers: a constant evaluation pays for calls, members and elements alike.
  constexpr bool sweep(int from, int to) {
    const int m = x_.s.micro_batches, share = x_.s.share(), per_kind = x_.per_kind, step = from <= to ? 1 : -1;
    auto& first = x_.s.first.item;
    auto& code = x_.s.action.item;
    auto& owner = x_.s.rank_of_stage.item;
    auto& forward_hop = x_.forward_hop.item;
    auto& gradient_hop = x_.gradient_hop.item;
    auto& input = x_.input.item;
    auto& gradient = x_.gradient.item;
    auto& progress = x_.progress.item;
    auto& posted = x_.posted.item;
    const std::int64_t latency = x_.c.latency;
    const bool looks_up = !x_.one_time || x_.starts != nullptr || x_.c.bytes.size != 0;
    const bool queues = x_.over.kind == transport_kind::ordered_queues;
    const bool waits_for_transfers = !queues && x_.over.kind != transport_kind::unbounded;
    stage_times time = x_.time;
    int moves = 0;
    for (int r = from; r != to + step && status_.code == pipeline_code::ok; r += step) {
      const int begin = x_.position.item[r], end = first[r + 1];
      if (begin == end) continue;
      std::int64_t clock = x_.clock.item[r];
      const bool offloads = x_.away.size != 0;
      int at = begin, live = x_.live.item[r], live_gradient = x_.live_gradient.item[r];
      for (; at < end; ++at) {
        const int x = code[at];
        if (x < per_kind) {
          if constexpr (Sizes::grows)
            if (x == idle_slot) continue;
          const int copy = x / share;
          const std::int64_t ready = input[x];
          if (ready == 0) break;
          if (owner[copy] != r || progress[x] != 0) {
            refuse_action(x_, r, at, status_);
            break;
          }
          if (clock < ready) {
            x_.idle.item[r] += ready - clock;
            clock = ready;
          }
          if (looks_up) time = look_up(x_, r, at, forward, x, clock);
          if (++live > x_.peak.item[r]) {
            if (live == 1) x_.first_start.item[r] = clock;
            x_.peak.item[r] = live;
          }
          if (++live_gradient > x_.peak_gradient.item[r]) x_.peak_gradient.item[r] = live_gradient;
          clock += time.forward;
          progress[x] = state::has_output;
          if (forward_hop[copy] >= 0) input[x + m] = clock + forward_hop[copy];
          continue;
        }
        const int kind = x / per_kind, y = x - kind * per_kind, copy = y / share;
        if (kind == weight_gradient) {
          if (progress[y] < state::has_gradient) break;
          if (owner[copy] != r || progress[y] == state::is_over || (offloads && x_.is_away(y))) {
            refuse_action(x_, r, at, status_);
            break;
          }
          if (looks_up) time = look_up(x_, r, at, kind, y, clock);
          clock += time.weight_gradient;
          progress[y] = state::is_over;
          --live;
          continue;
        }
        if (kind > backward) {
          if (kind < send_forward || kind > receive_backward || waits_for_transfers) break;
          if (looks_up) record(x_, r, at, kind, y, clock);
          if (!queues) continue;
          if (kind == send_forward ? progress[y] == 0 : kind == send_backward && progress[y] < state::has_gradient)
            break;
          // The end that is reached second lets the message pass.
          const bool is_input = kind <= receive_forward;
          const int message = kind == receive_forward ? y - m : kind == receive_backward ? y + m : y;
          const int post = is_input ? message : per_kind + message;
          const std::int64_t other = posted[post];
          if (other == 0)
            posted[post] = clock;
          else
            (is_input ? input[message + m] : gradient[message]) = (other < clock ? clock : other) + latency;
          continue;
        }
        const std::int64_t ready = gradient[y + m];
        if (ready == 0 || progress[y] == 0) break;
        if (owner[copy] != r || progress[y] != state::has_output || (offloads && x_.is_away(y))) {
          refuse_action(x_, r, at, status_);
          break;
        }
        if (clock < ready) {
          x_.idle.item[r] += ready - clock;
          clock = ready;
        }
        if (looks_up) time = look_up(x_, r, at, kind, y, clock);
        clock += time.input_gradient;
        --live_gradient;
        progress[y] = state::has_gradient;
        if (kind == backward) {
          clock += time.weight_gradient;
          progress[y] = state::is_over;
          --live;
        }
        if (gradient_hop[copy] >= 0) gradient[y] = clock + gradient_hop[copy];
      }
      if (at == begin && (code[at] < overlapped_forward * per_kind || !status_.ok())) continue;
      x_.position.item[r] = at;
      x_.clock.item[r] = clock;
      x_.live.item[r] = live;
      x_.live_gradient.item[r] = live_gradient;
      moves += at - begin;
      if (status_.ok() && at < end && code[at] >= overlapped_forward * per_kind && advance_special(r)) {
        ++moves;
        r -= step;  // on with the same rank
      }
    }
    return moves != 0;
  }

  /// Runs the pair, offload, reload, recomputation, blocking transfer or action of parameters at which rank `r` stands. False: it
  /// waits, or is refused.
  constexpr bool advance_special(int r) {
    const int at = x_.position[r], x = x_.s.action[at], kind = x / x_.per_kind, y = x - kind * x_.per_kind;
    const bool of_parameters = !has_micro_batch(static_cast<action_kind>(kind));
    if (of_parameters ? !x_.s.lies_on(y / x_.s.micro_batches, r) : x_.s.rank_of_stage[y / x_.s.share()] != r) {
      refuse_action(x_, r, at, status_);
      return false;
    }
    if (kind == overlapped_forward) return run_pair(x_, r, status_);
    if ((kind == offload || kind == reload) && !move_activation(x_, r, kind, y, status_)) return false;
    if (x_.starts != nullptr || x_.c.bytes.size != 0) record(x_, r, at, kind, y, x_.clock[r]);
    if (kind == recompute) x_.clock[r] += x_.c.recompute;
    if (is_transfer(static_cast<action_kind>(kind))) return transfer_.pass(x_, r);
    ++x_.position[r];
    return true;
  }

  state x_;
  transfer_step<Sizes> transfer_;
  pipeline_status status_{};
};

pipeline_account replay_in_library(const pipeline_schedule& s, const pipeline_costs& c, transport t,
                                   growing_array<std::int64_t>* starts);
template <class Sizes>
constexpr basic_pipeline_account<Sizes> replay_here(const basic_pipeline_schedule<Sizes>& s, const pipeline_costs& c,
                                                    transport t, growing_array<std::int64_t>* starts) {
  basic_pipeline_account<Sizes> refused;
  if (!costs_fit(c, s.stages, s.micro_batches) || t.buffers < 1)
    refused.status.code = pipeline_code::costs_do_not_fit;
  else if (t.kind != transport_kind::unbounded)
    refused.status = check_messages(s);
  if (!refused.ok()) return refused;
  return detail::pipeline_replay<Sizes>(s, c, t, starts).run();
}

}  // namespace detail

/// Proves and times `s`. The status says which action is missing, stands twice or on a wrong rank, or in which circle
/// ranks wait. Under a transport that is not unbounded `s` holds its transfers (`place_transfers` puts them), and the times are
/// those under it. `starts`, where given, takes the start of each entry of `s.action`; −1: idle slots.
///
/// Law: neither verdict nor times depend on the order in which ranks run here: a rank has one next action, and what can run
/// stays able to; so one run that ends proves that all end, and one that stands still is a deadlock of all.
/// Complexity: linear in the entries and in memory; of more than 64 ranks one of them is looked at once, and as often as a message
/// may let it go on.
template <class Sizes>
constexpr basic_pipeline_account<Sizes> replay(const basic_pipeline_schedule<Sizes>& s, const pipeline_costs& c = {},
                                               transport t = {}, growing_array<std::int64_t>* starts = nullptr) {
  if constexpr (Sizes::grows) HYPERPARALLEL_TWIN(detail::replay_in_library(s, c, t, starts));
  return detail::replay_here(s, c, t, starts);
}

/// Why ranks that run it would not all end: `ok` for a schedule that holds each action once and never waits for ever.
template <class Sizes>
constexpr pipeline_status check_schedule(const basic_pipeline_schedule<Sizes>& s, transport t = {}) {
  return replay(s, {}, t).status;
}

}}  // namespace hyperparallel::v0_2
