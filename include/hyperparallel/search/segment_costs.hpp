// SPDX-License-Identifier: Apache-2.0
#pragma once
// What each part of a model costs under each of its candidates, measured by the partitioner, so exactly that the costs
// of a plan's parts add up to the evaluation of the plan.
//
// The parts of one segment hang together, since what a repetition leaves is what the next one finds: they are one
// *block*, whose candidates are the products of theirs. Any other part is a block. Blocks meet at joints. What a block
// does depends on its candidate, on how the joint before it comes (its layout, the layout in which its gradient is to
// be summed, the one in which a segment carried it), and on how the gradient of the joint behind it comes. So a
// *variant* of a block is a candidate with what comes from both sides; it keeps both queues busy for some time, has a
// memory, and what it leaves to both sides. Two neighbours' variants fit together where each finds what it reckons with.
//
// Law: a choice of candidates has exactly one row of variants that fit; their busy times add up to `busy_of` of the
// plan's program, hence to at most its time; their memories, of what is certainly held when forward ends, to at most its
// memory.
// Whole models are partitioned under chosen candidates; each tells a variant of every block, and is shown to whom it
// concerns, who may time it as a whole. Forwards, states that can
// be reached are found block by block; backwards, the gradients that can come to them. Complexity: at most one
// partitioning a variant.

#include <hyperparallel/search/block_variants.hpp>

namespace hyperparallel { inline namespace v0_2 {

class segment_costs {
 public:
  /// `g` is the training graph, `parts` those of the graph that programs have: g, or g with its attention in a ring.
  constexpr segment_costs(const graph& g, const graph& planned_graph, const model_parts& of, const plan_space& covered,
                          plan_prices& prices)
      : given(g),
        planned(planned_graph),
        parts(of),
        space(covered),
        price(prices),
        form(g, covered.frame.pipeline),
        sorted(planned_graph, of) {
    const int n = parts.part.size;
    for (int p = 0; p < n; ++p) {
      const int segment = parts.part[p].segment;
      if (p == 0 || segment < 0 || parts.part[p - 1].segment != segment) block.push({p, p, 1});
      block.last().last = p;
      block.last().candidates *= space.candidate[p].size;
      most_ = most_ > space.candidate[p].size ? most_ : space.candidate[p].size;
    }
    dead_.resize(n * most_, false);
  }

  growing_array<plan_block> block;
  growing_array<block_variant> variant[max_model_parts];  ///< of each block
  growing_array<int> choices;                             ///< of parts, that were partitioned, one after the other
  bool rules_fit = true;                                  ///< no choice had more rules than a strategy holds
  strategy_status refused{};                              ///< the last refusal

  constexpr int size() const { return block.size; }
  constexpr int partitionings() const { return choices.size / parts.part.size; }
  /// Whether the partitioner refuses the candidate of a part.
  constexpr bool is_dead(int p, int c) const { return dead_[p * most_ + c]; }
  /// Whether the choice of each part's candidate was partitioned. O(partitionings).
  constexpr bool was_measured(const int* choice) const {
    const int n = parts.part.size;
    for (int first = 0; first < choices.size; first += n) {
      int same = 0;
      while (same < n && choices[first + same] == choice[same]) ++same;
      if (same == n) return true;
    }
    return false;
  }
  /// Whether every part has a candidate.
  constexpr bool alive() const {
    for (int p = 0; p < parts.part.size; ++p)
      if (first_alive(p) < 0) return false;
    return true;
  }
  /// Writes what the parts of block b take in its candidate c.
  constexpr void read_candidate(int b, int c, int* choice) const {
    for (int p = block[b].last; p >= block[b].first; --p) {
      choice[p] = c % space.candidate[p].size;
      c /= space.candidate[p].size;
    }
  }
  constexpr bool is_alive(int b, int c) const {
    for (int p = block[b].last; p >= block[b].first; --p) {
      if (is_dead(p, c % space.candidate[p].size)) return false;
      c /= space.candidate[p].size;
    }
    return true;
  }

  /// No choice keeps a queue busy for less; the same of core times alone. O(Σ products of neighbours' variants).
  constexpr extent_t least_busy() const { return detail::least_of(variant, size(), &block_variant::busy); }
  constexpr extent_t least_core() const { return detail::least_of(variant, size(), &block_variant::core); }

  /// Measures every variant that some choice of candidates has. `meet(measured_plan)` hears of each plan that it takes.
  template <class Meet>
  constexpr void measure_all(const Meet& meet) {
    growing_array<int> choice(parts.part.size, 0);
    for (int k = 0; k < most_; ++k) {  // each candidate once, so that refused ones are known
      bool refuses = true;
      while (refuses && alive()) {
        for (int p = 0; p < choice.size; ++p) {
          choice[p] = k % space.candidate[p].size;
          if (is_dead(p, choice[p])) choice[p] = first_alive(p);
        }
        refuses = !measure(choice, meet);
      }
    }
    for (int b = 0; b < size() && alive(); ++b) reach(b, meet);
    for (int b = size() - 1; b >= 0 && alive(); --b) complete(b, meet);
  }
  constexpr void measure_all() {
    measure_all([](const measured_plan&) {});
  }

 private:
  constexpr int first_alive(int p) const {
    for (int c = 0; c < space.candidate[p].size; ++c)
      if (!is_dead(p, c)) return c;
    return -1;
  }

  /// Every candidate of block b in every state that block b - 1 leaves.
  template <class Meet>
  constexpr void reach(int b, const Meet& meet) {
    for (int s = 0; s < state_count(b); ++s) {
      const int before = b == 0 ? -1 : example_of_state(b - 1, s);
      if (b > 0 && before < 0) continue;
      for (int c = 0; c < block[b].candidates; ++c)
        if (is_alive(b, c) && leaves_of(b, s, c) < 0) measure_with(before, b, c, -1, meet);
    }
  }

  /// Every gradient that may come to block b, in every state and candidate.
  template <class Meet>
  constexpr void complete(int b, const Meet& meet) {
    for (int s = 0; s < state_count(b); ++s) {
      const int before = b == 0 ? -1 : example_of_state(b - 1, s);
      if (b > 0 && before < 0) continue;
      for (int c = 0; c < block[b].candidates; ++c) {
        const int leaves = is_alive(b, c) ? leaves_of(b, s, c) : -1;
        if (leaves < 0 || b + 1 == size()) continue;
        for (int v = 0; v < variant[b + 1].size; ++v) {
          const block_variant next = variant[b + 1][v];
          if (next.enters == leaves && is_alive(b + 1, next.candidate) && !is_known(b, s, c, next.gradient_leaves))
            measure_with(before, b, c, next.example, meet);
        }
      }
    }
  }

  constexpr int state_count(int b) const { return b == 0 ? 1 : state[b - 1].size; }
  constexpr int example_of_state(int b, int s) const {
    for (const block_variant& v : variant[b])
      if (v.leaves == s && is_alive(b, v.candidate)) return v.example;
    return -1;
  }
  constexpr int leaves_of(int b, int enters, int candidate) const {
    for (const block_variant& v : variant[b])
      if (v.enters == enters && v.candidate == candidate) return v.leaves;
    return -1;
  }
  constexpr bool is_known(int b, int enters, int candidate, int gradient_enters) const {
    for (const block_variant& v : variant[b])
      if (v.enters == enters && v.candidate == candidate && v.gradient_enters == gradient_enters) return true;
    return false;
  }

  /// Block b takes candidate c, those before it what they take in choice `before`, those behind it in `behind`; -1: the
  /// first candidates.
  template <class Meet>
  constexpr void measure_with(int before, int b, int c, int behind, const Meet& meet) {
    const int n = parts.part.size;
    growing_array<int> choice(n, 0);
    for (int p = 0; p < n; ++p) {
      const int like = p < block[b].first ? before : behind;
      choice[p] = like >= 0 ? choices[like * n + p] : first_alive(p);
    }
    read_candidate(b, c, choice.item);
    measure(choice, meet);
  }

  /// False where the partitioner refuses a candidate.
  template <class Meet>
  constexpr bool measure(const growing_array<int>& choice, const Meet& meet) {
    strategy_value s;
    if (!detail::compose(space, choice.item, s)) {
      rules_fit = false;
      return true;
    }
    const sharded_program program = partition(given, s);
    if (program.status.code != strategy_code::ok) {
      bury(program, choice);
      return false;
    }
    for (const int c : choice) choices.push(c);
    meet(record(program, s, choice));
    return true;
  }

  /// A refusal is the fault of the candidate of the part that it names, or of all of them.
  constexpr void bury(const sharded_program& program, const growing_array<int>& choice) {
    refused = program.status;
    const int o = refused.op, t = refused.tensor;
    int p = -1;
    if (o >= 0 && o < parts.ruled_by.size)
      p = parts.ruled_by[o];
    else if (t >= 0 && t < parts.of_tensor.size)
      p = parts.of_tensor[t];
    for (int i = 0; i < choice.size; ++i)
      for (int c = 0; c < space.candidate[i].size; ++c)
        if (p < 0 || (i == p && c == choice[i])) dead_[i * most_ + c] = true;
  }

  constexpr measured_plan record(const sharded_program& program, const strategy_value& s,
                                 const growing_array<int>& choice) {
    measured_plan whole{program, s, choice};
    const int n = parts.part.size;
    growing_array<busy_times> busy, core;
    growing_array<extent_t> memory;
    busy.resize(n);
    core.resize(n);
    memory.resize(n, 0);
    detail::visit_busy(program, form, priced_program(program, price), [&](int i, const busy_times& b) {
      const int p = sorted.part_of_step(program, i);
      busy[p] += b;
      if (detail::is_core(program, program.step[i])) core[p] += b;
    });
    visit_kept_memory(program, form, [&](int storage, int first, extent_t bytes) {
      const bool is_home = program.storage[storage].home;
      memory[is_home ? parts.of_tensor[program.storage[storage].tensor] : sorted.part_of_step(program, first)] += bytes;
    });
    strategy_layouts layouts(program.graph, s);
    int enters = 0, gradient_leaves = 0;
    for (int b = 0; b < size(); ++b) {
      block_variant v;
      v.enters = enters;
      v.gradient_leaves = gradient_leaves;
      v.example = partitionings() - 1;
      for (int p = block[b].first; p <= block[b].last; ++p) {
        v.candidate = v.candidate * space.candidate[p].size + choice[p];
        v.busy += busy[p];
        v.memory += memory[p];
        v.core += core[p];
      }
      if (b + 1 < size()) {
        v.leaves = enters = detail::number_of(state[b], sorted.state_of(program, layouts, block[b].last));
        v.gradient_enters = gradient_leaves =
            detail::number_of(gradient[b], sorted.gradient_state_of(program, block[b].last));
      }
      whole.busy += v.busy;
      whole.memory += v.memory;
      if (!is_known(b, v.enters, v.candidate, v.gradient_enters)) variant[b].push(v);
    }
    return whole;
  }

  const graph& given;
  const graph& planned;
  const model_parts& parts;
  const plan_space& space;
  plan_prices& price;
  pipeline_form form;
  growing_array<joint_state> state[max_model_parts];     ///< of the joint behind each block
  growing_array<joint_state> gradient[max_model_parts];  ///< of its gradient
  step_parts sorted;
  growing_array<bool> dead_;
  int most_ = 0;  ///< candidates of a part
};

}}  // namespace hyperparallel::v0_2
