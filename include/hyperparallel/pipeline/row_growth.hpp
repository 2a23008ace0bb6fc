// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the rows of a schedule grow with its micro-batches: what a period of q micro-batches more inserts into each, and by how
// much each insertion moves the times.
//
// Rows are periodic where row r of m + n q micro-batches is head, n bodies, tail: head and tail those of m, each body with
// numbers q above the one before, the tail with numbers n q above. The cut is where the rows of m and m + q differ first; a
// period that has any cut has this one.
//
// Theorem. Let the replay of m end, with periodic rows, times by stage, and F and I that take time. Body 0 is the one that is
// inserted at the cut, bodies −1, −2, … are those before it that equal it up to numbers. Let messages between ranks reach
// `behind` ≥ 1 bodies back and `ahead` ≥ 0 on. Let there be c, λ and e such that the F, I and B of body t end λ after those of
// body t − c, for t = e − behind … e + ahead − 1, all below 0. Then the replay of m + n c q ends too; all before body e runs
// at the same time, and all from there on n λ after what stands n c bodies, or n c q micro-batches of the tail, before it.
// Proof for n = 1; what results has the same property, so the rest follows. The times of a replay solve: each action starts at
// the latest of its predecessor's end and of the messages that it needs. Where both ends of such a link lie before e, or both
// from there on, the times claimed solve it as those of m do. A link across e has its other end in a body of the window,
// for which "at the same time" and "λ after body t − c" say the same. Actions of one rank stay in order. Last, these times are
// the only ones, and the replay ends: in a circle of waits no time could grow, but a circle leaves a rank by an F, I or B.

#include <cstdint>

#include <hyperparallel/pipeline/replay_state.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Holds the rows of m + q micro-batches against those of m.
///
/// Rows of stages that lie on two ranks are not periodic here. Each action of a stage is one of three classes: F, gradients (I or B) and weight gradients (W or B; a B is of both). Where
/// `is_periodic()`, the body of a row has, of each class of its stages and each k modulo q, one action, of number k₀; and the
/// tail has the numbers from k₀ on. Hence, where the rows of m have each action once, so have those of m + n q: the head those
/// below k₀, n bodies those from k₀ on, the tail the rest. Live activations rise and fall in each body as in the one before,
/// so their peaks stay too.
/// Complexity: linear in the actions of m + q micro-batches.
template <class Sizes>
class row_growth : kind_of_code {
 public:
  using state = replay_state<Sizes>;

  template <class LongerSizes>
  constexpr row_growth(const basic_pipeline_schedule<Sizes>& s, const basic_pipeline_schedule<LongerSizes>& longer)
      : s_(s), m_(s.micro_batches), q_(longer.micro_batches - m_), of_class_(s.stages * q_) {
    for (int i = 0; i < 3 * of_class_; ++i) inserted_.push(-1);
    body_first_.push(0);
    is_periodic_ = s.copies == 1;  // the classes and messages below are those of one rank a stage
    for (int r = 0; r < s.ranks && is_periodic_; ++r) is_periodic_ = compare_row(longer, r);
    for (const int k : inserted_) is_periodic_ = is_periodic_ && k >= 0;
    // Tails have as many as there are numbers from each k₀ on; each once, hence all of them.
    for (const int k : inserted_) in_tails_ -= (m_ - k + q_ - 1) / q_;
    is_periodic_ = is_periodic_ && in_tails_ == 0;
  }

  constexpr bool is_periodic() const { return is_periodic_; }

  /// What the theorem needs: the ends of `bodies` bodies later lie `time` later.
  struct step {
    int bodies = 0;  ///< 0: no bodies that are enough have moved alike
    std::int64_t time = 0;
  };
  /// The least step in what the replay of m has reached, of at most two bodies a stage: what is waited for in circles lies
  /// no further apart. Complexity: bodies · stages, times the actions of a body where much of it moves alike.
  constexpr step find_step(const state& x) const {
    int behind = 1, ahead = 0;
    for (int i = q_; i < of_class_; ++i) {
      if (s_.rank_of_stage[i / q_] == s_.rank_of_stage[i / q_ - 1]) continue;
      const int gradient = of_class_ + i;
      const int back[] = {inserted_[i - q_] - inserted_[i], inserted_[gradient] - inserted_[gradient - q_]};
      for (const int numbers : back) {
        if (numbers / q_ > behind) behind = numbers / q_;
        if (-numbers / q_ > ahead) ahead = -numbers / q_;
      }
    }
    int bodies = 0;  // −bodies is the first of those before the cut
    while (has_body(-bodies - 1)) ++bodies;
    for (int c = 1; c <= 2 * s_.stages && c + behind + ahead <= bodies; ++c) {
      std::int64_t last = -1;
      int alike = 0;
      for (int t = -1; t - c >= -bodies; --t) {
        const std::int64_t time = between_bodies(x, t, c);
        alike = time < 0 ? 0 : time == last ? alike + 1 : 1;
        last = time;
        if (alike == behind + ahead) return {c, time};
      }
    }
    return {};
  }

  /// The time that rank `r` works in one body.
  constexpr std::int64_t work(const state& x, int r) const {
    std::int64_t sum = 0;
    for (int i = body_first_[r]; i < body_first_[r + 1]; ++i) {
      const pipeline_action& a = body_[i];
      const stage_times t = x.times_of(a.stage * m_);
      if (a.kind == action_kind::overlapped_forward && x.c.overlapped_pair >= 0) {
        sum += x.c.overlapped_pair;
        ++i;
      } else if (a.kind == action_kind::forward || a.kind == action_kind::overlapped_forward) {
        sum += t.forward;
      } else {
        if (a.kind != action_kind::weight_gradient) sum += t.input_gradient;
        if (a.kind != action_kind::input_gradient) sum += t.weight_gradient;
      }
    }
    return sum;
  }

 private:
  /// One function for head and tail, with what each entry needs in local variables, for the compiler's sake.
  template <class LongerSizes>
  constexpr bool compare_row(const basic_pipeline_schedule<LongerSizes>& longer, int r) {
    auto& action = s_.action.item;
    auto& long_action = longer.action.item;
    const int m = m_, q = q_, end = s_.first[r + 1], size = longer.row_size(r) - s_.row_size(r);
    int at = s_.first[r], other = longer.first[r];
    if (size < 1) return false;
    for (; at < end; ++at, ++other) {
      const int x = action[at];
      if (x + x / m * q != long_action[other]) break;
    }
    cut_.push(at);
    // A pair on both sides of the cut is one in some rows and none in others.
    if (at > s_.first[r] && action[at - 1] / (s_.stages * m) == overlapped_forward) return false;
    for (int i = 0; i < size; ++i)
      if (!insert(longer.coding().action(long_action[other + i]), r)) return false;
    body_first_.push(body_.size);
    const int one_class = of_class_, rows = s_.stages;
    int members = end - at;
    for (other += size; at < end; ++at, ++other) {
      const int x = action[at], row = x / m, k = x - row * m;
      if (x < 0 || x + row * q + q != long_action[other]) return false;
      if (row < 3 * rows) {
        if (k < inserted_.item[row * q + k % q]) return false;
      } else if (row < 4 * rows) {
        const int gradient = (row - 2 * rows) * q + k % q;
        if (k < inserted_.item[gradient] || k < inserted_.item[gradient + one_class]) return false;
        ++members;
      } else if (row < 5 * rows) {
        if (k < inserted_.item[(row - 4 * rows) * q + k % q]) return false;
      } else {
        return false;
      }
    }
    in_tails_ += members;
    return true;
  }

  /// Takes an action into the body of rank `r`. False: it is of no class, on a wrong rank, or its class has one.
  constexpr bool insert(const pipeline_action& a, int r) {
    body_.push(a);
    const auto put = [&](int one) {
      int& number = inserted_[one * of_class_ + a.stage * q_ + a.micro_batch % q_];
      if (number >= 0) return false;
      number = a.micro_batch;
      return true;
    };
    if (s_.rank_of_stage[a.stage] != r) return false;
    switch (a.kind) {
      case action_kind::forward:
      case action_kind::overlapped_forward:
        return put(0);
      case action_kind::input_gradient:
        return put(1);
      case action_kind::weight_gradient:
        return put(2);
      case action_kind::backward:
        return put(1) && put(2);
      default:
        return false;
    }
  }

  /// Whether body `t` < 0 stands in all rows.
  constexpr bool has_body(int t) const {
    for (int r = 0; r < s_.ranks; ++r) {
      const int first = body_first_[r], size = body_first_[r + 1] - first, from = cut_[r] + t * size;
      if (from < s_.first[r]) return false;
      for (int i = 0; i < size; ++i) {
        const pipeline_action& a = body_.item[first + i];
        const int k = a.micro_batch + t * q_;
        if (k < 0 || s_.action.item[from + i] != (static_cast<int>(a.kind) * s_.stages + a.stage) * m_ + k)
          return false;
      }
    }
    return true;
  }

  /// By how much all F, I and B of body `t` end after those of body t − c; −1: not all by as much.
  constexpr std::int64_t between_bodies(const state& x, int t, int c) const {
    const int back = c * q_;
    std::int64_t moved = -1;
    for (int i = 0; i < of_class_; ++i) {
      const int stage = i / q_;
      const int f = (stage + 1) * m_ + inserted_.item[i] + t * q_;
      const int g = stage * m_ + inserted_.item[of_class_ + i] + t * q_;
      if (i == 0) moved = x.input.item[f] - x.input.item[f - back];
      if (x.input.item[f] - x.input.item[f - back] != moved || x.gradient.item[g] - x.gradient.item[g - back] != moved)
        return -1;
    }
    return moved;
  }

  const basic_pipeline_schedule<Sizes>& s_;
  int m_, q_;
  int of_class_;                                      ///< actions of a class in all bodies
  typename Sizes::template per_chunk<int> inserted_;  ///< class, stage and k modulo q → k₀
  typename Sizes::template per_rank<int> cut_;        ///< rank → the entry before which its body is inserted
  growing_array<pipeline_action> body_;               ///< by rank
  growing_array<int> body_first_;                     ///< rank → its first in `body_`; one more than ranks
  int in_tails_ = 0;                                  ///< actions of tails; a B is two
  bool is_periodic_ = true;
};

}}}  // namespace hyperparallel::v0_2::detail
