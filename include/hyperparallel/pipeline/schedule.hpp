// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pipeline schedule as a value: for each rank the ordered list of its actions.
//
// Invariants: row r of a schedule is action[first[r] … first[r + 1]); an entry is a code of `coding()` or `idle_slot`;
// `rank_of_stage` has an entry for each copy of each stage; `copies` divides `micro_batches`. That every action stands exactly once, on the stage's rank, and that no
// rank waits for ever, is what replay.hpp proves.

#include <hyperparallel/pipeline/action.hpp>
#include <hyperparallel/pipeline/placement.hpp>
#include <hyperparallel/pipeline/sizes.hpp>
#include <hyperparallel/pipeline/status.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// An empty cell of torch's tables: a slot of its unit-time bookkeeping. It has no duration, and no replay waits in it.
inline constexpr int idle_slot = -1;

template <class Sizes>
struct basic_pipeline_schedule {
  using sizes = Sizes;
  int ranks = 0, stages = 0, micro_batches = 0;
  int copies = 1;  ///< of each stage; 2: each is held twice, and half of the micro-batches runs through each copy
  typename Sizes::template per_copy<int> rank_of_stage;  ///< copy → rank, copies of a stage beside each other
  typename Sizes::template per_rank<int> first;          ///< rank → its first entry; one more than ranks
  typename Sizes::template per_entry<int> action;        ///< codes, and idle slots where they were asked for

  constexpr action_coding coding() const { return {stages, micro_batches}; }
  /// The micro-batches of one copy. So the code stage · micro_batches + k, over share(), is `copy_of(stage, k)`.
  constexpr int share() const { return micro_batches / copies; }
  constexpr int copy_of(int stage, int k) const { return stage * copies + k / share(); }
  constexpr int rank_of(int stage, int k) const { return rank_of_stage[copy_of(stage, k)]; }
  constexpr int rank_of(const pipeline_action& a) const { return rank_of(a.stage, a.micro_batch); }
  /// Whether a copy of `stage` lies on `rank`.
  constexpr bool lies_on(int stage, int rank) const {
    for (int copy = stage * copies; copy < (stage + 1) * copies; ++copy)
      if (rank_of_stage[copy] == rank) return true;
    return false;
  }
  constexpr int row_size(int rank) const { return first[rank + 1] - first[rank]; }
  friend constexpr bool operator==(const basic_pipeline_schedule&, const basic_pipeline_schedule&) = default;
};
using pipeline_schedule = basic_pipeline_schedule<growing_pipeline_sizes>;

/// A schedule without rows: they are to be written in the order of ranks.
template <class Sizes = growing_pipeline_sizes>
constexpr basic_pipeline_schedule<Sizes> empty_schedule(const pipeline_shape& n, stage_placement placement) {
  basic_pipeline_schedule<Sizes> s;
  s.ranks = n.ranks;
  s.stages = n.stages();
  s.micro_batches = n.micro_batches;
  s.copies = copies_of_stages(placement);
  for (int t = 0; t < s.stages; ++t)
    for (int copy = 0; copy < s.copies; ++copy) s.rank_of_stage.push(rank_of_stage(placement, n.ranks, t, copy));
  s.first.push(0);
  return s;
}

/// What a generator appends the actions of one rank to. An action of a micro-batch that does not exist is an idle slot.
/// Complexity: constant for each action.
template <class Schedule>
class row_writer {
 public:
  constexpr row_writer(Schedule& s, bool keeps_idle_slots)
      : s_(s), micro_batches_(s.micro_batches), per_kind_(s.stages * s.micro_batches), idle_(keeps_idle_slots) {}

  constexpr void forward(int stage, int k) { put(k, stage * micro_batches_ + k); }
  constexpr void input_gradient(int stage, int k) { put(k, per_kind_ + stage * micro_batches_ + k); }
  constexpr void weight_gradient(int stage, int k) { put(k, 2 * per_kind_ + stage * micro_batches_ + k); }
  constexpr void backward(int stage, int k) { put(k, 3 * per_kind_ + stage * micro_batches_ + k); }
  /// A forward that runs together with the backward of another stage.
  constexpr void overlapped(int forward_stage, int forward_k, int backward_stage, int backward_k) {
    s_.action.push(4 * per_kind_ + forward_stage * micro_batches_ + forward_k);
    backward(backward_stage, backward_k);
  }
  /// Any action: those of parameters, offloads, recomputation.
  constexpr void put(const pipeline_action& a) { put(a.micro_batch, s_.coding().code(a)); }
  constexpr void idle(int slots = 1) {
    for (int i = 0; i < slots && idle_; ++i) s_.action.push(idle_slot);
  }

 private:
  constexpr void put(int k, int code) {
    if (k >= micro_batches_) return idle();
    if constexpr (Schedule::sizes::grows)
      s_.action.push(code);
    else if (s_.action.size != s_.action.capacity())
      s_.action.item[s_.action.size++] = code;
  }

  Schedule& s_;
  int micro_batches_, per_kind_;
  bool idle_;
};

/// A schedule with a name: a struct that says where its stages lie, for which shapes it exists, and what each rank does.
///
///   struct mine {
///     static constexpr const char* name = "mine";
///     static constexpr stage_placement placement = stage_placement::loop;
///     static constexpr pipeline_status fits(const pipeline_shape&);
///     static constexpr void row(auto& out, const pipeline_shape&, int rank);  // out.forward(stage, micro_batch) …
///   };
///
/// One whose rows grow by the same actions with each few micro-batches says so with `period(shape)`; see many_micro_batches.hpp.
/// One whose rows depend on each other writes them all, with `first` behind each: `rows(schedule, out, shape)`.
template <class Schedule>
concept schedule_generator = requires(const pipeline_shape& n) {
  Schedule::name[0];
  Schedule::placement == stage_placement::loop;
  Schedule::fits(n).code;
} && (requires(row_writer<pipeline_schedule>& out, const pipeline_shape& n) { Schedule::row(out, n, 0); } ||
      requires(pipeline_schedule& s, row_writer<pipeline_schedule>& out, const pipeline_shape& n) {
        Schedule::rows(s, out, n);
      });

/// From `from` micro-batches on, each row grows by the same actions with every `micro_batches` more; 0: by no rule.
struct pipeline_period {
  int micro_batches = 0, from = 1;
};

namespace detail {

/// For `fits`: a schedule that has `chunks` stages on each rank.
constexpr pipeline_status check_chunks(const pipeline_shape& n, int chunks) {
  if (n.chunks == chunks) return {};
  return {.code = pipeline_code::chunks_are_fixed, .needed = chunks};
}

/// For `fits`: a schedule whose second half of the ranks mirrors the first, with one stage a rank in each direction.
constexpr pipeline_status check_mirrored_ranks(const pipeline_shape& n) {
  if (n.chunks != 1) return check_chunks(n, 1);
  if (n.ranks % 2 != 0) return {.code = pipeline_code::ranks_do_not_divide, .needed = 2};
  return {};
}

}  // namespace detail

/// Why there is no schedule of this name in this shape.
template <schedule_generator Schedule>
constexpr pipeline_status check_shape_of(const pipeline_shape& n) {
  const pipeline_status status{check_shape(n)};
  if (!status.ok()) return status;
  constexpr int copies = copies_of_stages(Schedule::placement);
  if (n.micro_batches % copies != 0) return {.code = pipeline_code::directions_do_not_divide, .needed = copies};
  return Schedule::fits(n);
}

namespace detail {

/// The number of chunks that a schedule insists on, as it says when it is asked for none that it knows.
template <class Schedule>
constexpr int fixed_chunks_of() {
  const pipeline_status s = Schedule::fits({.ranks = 1, .chunks = 64, .micro_batches = 64});
  return s.code == pipeline_code::chunks_are_fixed ? s.needed : 0;
}

}  // namespace detail

/// The schedule. Precondition: `check_shape_of<Schedule>(n)` is ok. Complexity: linear in the actions.
template <schedule_generator Schedule, class Sizes = growing_pipeline_sizes>
constexpr basic_pipeline_schedule<Sizes> generate(const pipeline_shape& n, bool keep_idle_slots = false) {
  basic_pipeline_schedule<Sizes> s = empty_schedule<Sizes>(n, Schedule::placement);
  if constexpr (Sizes::grows) s.action.reserve(3 * s.stages * s.micro_batches);
  row_writer out(s, keep_idle_slots);
  if constexpr (requires { Schedule::rows(s, out, n); }) {
    Schedule::rows(s, out, n);
  } else {
    for (int r = 0; r < n.ranks; ++r) {
      Schedule::row(out, n, r);
      s.first.push(s.action.size);
    }
  }
  if constexpr (Sizes::grows && requires { Schedule::finish(s); })
    if (keep_idle_slots) Schedule::finish(s);
  return s;
}

}}  // namespace hyperparallel::v0_2
