// SPDX-License-Identifier: Apache-2.0
#pragma once
// All plans that a decoder can have on so many devices, and those of them that a search still has to price.
//
//   hp::visit_legal_plans(llama3, {.devices = 64, .batch = 256, .sequence = 4096}, [&](const hp::decoder_plan& p) { … });
//
// Law: plans are visited in a strict order, that of micro-batches, then tp, pp, cp and ep, each rising. Complexities stand at
// each function.

#include <hyperparallel/planner/fit.hpp>
#include <hyperparallel/planner/neighbours.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct plan_question {
  extent_t devices = 1;
  extent_t batch = 1;     ///< sequences in a step
  extent_t sequence = 1;  ///< tokens in a sequence
  memory_reserve reserve{};
  int rows = 6;  ///< plans that are kept
  stack_rules stack = known_stacks[0];
  plan_formats formats{};
};

/// Calls `visit(plan)` for every legal plan that the stack has rules for, each once, until one returns false; one that returns nothing goes on. Whether all
/// were visited. ZeRO is 0 where nothing is sharded by it, sequence parallelism on
/// where tp is 1. O(divisors of the batch · divisors of the devices to the 4th · layers).
template <class Visit>
constexpr bool visit_legal_plans(const decoder& d, const plan_question& q, const Visit& visit) {
  for (const extent_t micro_batches : divisors_of(q.batch)) {
    decoder_plan from;
    from.micro_batches = static_cast<int>(micro_batches);
    from.batch = q.batch;
    from.formats = q.formats;
    from.sequence = q.sequence;
    from.sequence_parallel = false;  // demands least
    const bool all = detail::visit_legal_degrees(d, from, q.devices, [&](decoder_plan p) {
      for (const bool sequence_parallel : {true, false}) {
        p.sequence_parallel = sequence_parallel;
        if (sequence_parallel ? p.tp > 1 && !check_plan(d, p, q.devices).ok() : p.tp == 1) continue;
        for (p.zero = 0; p.zero <= (extent_t{p.dp} * p.cp * p.ep > 1 ? 3 : 0); ++p.zero)
          for (const bool recomputed : {false, true}) {
            p.recomputed = recomputed;
            if (check_stack(d, p, q.stack) != stack_code::ok) continue;
            if (!detail::goes_on_after(visit, static_cast<const decoder_plan&>(p))) return false;
          }
      }
      return true;
    });
    if (!all) return false;
  }
  return true;
}

namespace detail {

struct bounded_plan {
  decoder_plan plan{};
  extent_t time = 0;
  bool priced = false;
};

/// Plans that may fit, in the order in which they are visited, and a heap of them whose root has the least bound on time.
class bounded_plans {
 public:
  /// Plans that are not priced.
  constexpr extent_t left() const { return left_; }
  constexpr const bounded_plan& operator[](int number) const { return list[number]; }

  /// Precondition: plans come in the order of visit_legal_plans.
  constexpr void push(const bounded_plan& p) {
    const int number = list.push(p);
    ++left_;
    heap.push(number);
    for (int i = heap.size - 1; i > 0 && p.time < bound(heap[(i - 1) / 2]); i = (i - 1) / 2) {
      heap[i] = heap[(i - 1) / 2];
      heap[(i - 1) / 2] = number;
    }
  }

  constexpr void note_priced(int number) {
    list[number].priced = true;
    --left_;
  }

  /// The number of the plan with the least bound among those not priced; -1: there is none.
  constexpr int first() {
    while (!heap.empty() && list[heap[0]].priced) pop();
    return heap.empty() ? -1 : heap[0];
  }

  /// The number of a plan; -1: it is not here. O(log plans).
  constexpr int number_of(const decoder_plan& p) const {
    int low = 0;
    for (int up = list.size; low < up;) {
      const int middle = low + (up - low) / 2;
      if (stands_before(list[middle].plan, p))
        low = middle + 1;
      else
        up = middle;
    }
    return low < list.size && list[low].plan == p ? low : -1;
  }

 private:
  constexpr extent_t bound(int number) const { return list[number].time; }

  constexpr void pop() {
    const int last = heap[heap.size - 1];
    --heap.size;
    for (int i = 0; i < heap.size;) {
      int child = 2 * i + 1;
      if (child + 1 < heap.size && bound(heap[child + 1]) < bound(heap[child])) ++child;
      heap[i] = last;
      if (child >= heap.size || bound(last) <= bound(heap[child])) break;
      heap[i] = heap[child];
      i = child;
    }
  }

  /// In the order of visit_legal_plans, of the same devices.
  static constexpr bool stands_before(const decoder_plan& a, const decoder_plan& b) {
    for (int decoder_plan::* const of :
         {&decoder_plan::micro_batches, &decoder_plan::tp, &decoder_plan::pp, &decoder_plan::cp, &decoder_plan::ep})
      if (a.*of != b.*of) return a.*of < b.*of;
    if (a.sequence_parallel != b.sequence_parallel) return a.sequence_parallel;
    return a.zero != b.zero ? a.zero < b.zero : a.recomputed < b.recomputed;
  }

  extent_t left_ = 0;
  growing_array<bounded_plan> list;
  growing_array<int> heap;
};

}  // namespace detail

}}  // namespace hyperparallel::v0_2
