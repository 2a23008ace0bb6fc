// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gradients of parameters that several stages read, as a tied table: each stage accumulates what it contributes itself.
//
//   sum(c of stage 0, c of stage 3) each micro-batch, accumulated in stage 0, becomes
//   c accumulated in stage 0, c accumulated in stage 3, and once a step a sum of both before norm and update
//
// So a contribution leaves its stage once a step, accumulated, not once a micro-batch, and backward of one stage waits
// for no weight's gradient of another. "accumulated(p) in stage k" is a state of its own, zero before the first
// micro-batch; it belongs to the state "accumulated(p)", which is its source. `gradient(p)` is the sum over the stages,
// made in the norm phase in the stage of the parameter, of the type that it is accumulated in.
//
// Laws: each stage adds up its contributions to one micro-batch in the order that `differentiate` gave them, then
// micro-batches in theirs, then stages are added, that of the parameter first, the others in their order, wherever
// stages are placed; with one micro-batch, or where the stage of the parameter makes all contributions, graph and cut
// stay as they are; the cut is one of the graph before and after. Domain: the graph is of `differentiate` and
// `append_optimizer`; the cut is of the graph. O(operators · shared parameters + tensors + contributions · stages).
// Source: Megatron-LM, core/distributed/finalize_model_grads.py, which adds the gradients of tied embeddings once a step.

#include <hyperparallel/graph/operator_loops.hpp>
#include <hyperparallel/graph/operator_order.hpp>
#include <hyperparallel/graph/stage_cut.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

class stage_accumulation {
 public:
  constexpr stage_accumulation(graph& given, stage_cut& its_cut)
      : g(given), cut_(its_cut), first_count_(given.op.size) {}

  constexpr void run() {
    for (int a = 0; a < first_count_; ++a)
      if (g.op[a].phase == graph_phase::backward && g.value_of(g.op[a]).accumulates) separate(a);
    if (!placed_.empty()) arrange();
  }

 private:
  /// An operator of the graph and the one that it comes right after; -1: before what runs once a step.
  struct place {
    int op = -1;
    int after = -1;
  };

  /// Of the gradient that operator `a` accumulates.
  constexpr void separate(int a) {
    const int total = g.op[a].operand[0], whole = g.op[a].operand[1], parameter = g.tensor[total].source;
    find_contributions(whole, parameter);
    const int home = cut_.of_op[a];
    const auto contributes = [&](int s) {
      for (const int c : contribution_)
        if (cut_.of_tensor[c] == s) return true;
      return false;
    };
    growing_array<int> stage;  // of all contributions, each once, that of the parameter first
    if (contributes(home)) stage.push(home);
    for (int s = 0; s < cut_.stages; ++s)
      if (s != home && contributes(s)) stage.push(s);
    if (stage.size == 1 && stage[0] == home) return;
    if (stage.size == 1) return settle(a, stage[0]);
    const graph_operator first = g.op[a];
    growing_array<int> totals;
    for (const int s : stage) {
      growing_array<int> own;
      int last = -1;  // operator
      for (const int c : contribution_) {
        if (cut_.of_tensor[c] != s) continue;
        own.push(c);
        if (g.tensor[c].producer > last) last = g.tensor[c].producer;
      }
      const int gradient = own.size == 1 ? own[0] : add(own, parameter, s, last);
      const int at = totals.empty() ? a : append_accumulation(first, s);
      g.op[at].operand[1] = gradient;
      g.op[at].segment = g.op[last].segment;
      settle(at, s);
      placed_.push({at, last});
      totals.push(g.op[at].result[0]);
    }
    add_over_stages(totals, whole, home);
  }

  /// Contributions to the gradient of `parameter`, in their order, and the sums that join them, the last one first.
  constexpr void find_contributions(int whole, int parameter) {
    contribution_.clear();
    sum_.clear();
    int first = whole;
    for (;; first = g.op[sum_.last()].operand[0]) {
      const graph_tensor& t = g.tensor[first];
      if (t.producer < 0 || t.source != parameter) break;
      const graph_operator& o = g.op[t.producer];
      if (!g.value_of(o).adds || o.phase != graph_phase::backward || o.forward >= 0) break;
      sum_.push(t.producer);
    }
    contribution_.push(first);
    for (int s = sum_.size - 1; s >= 0; --s)
      for (int i = 1; i < g.op[sum_[s]].operand_count; ++i) contribution_.push(g.op[sum_[s]].operand[i]);
  }

  /// The operator and what it makes and accumulates in belong to the stage.
  constexpr void settle(int o, int stage) {
    cut_.of_op[o] = cut_.of_tensor[g.op[o].operand[0]] = cut_.of_tensor[g.op[o].result[0]] = stage;
  }

  /// Accumulates as `first` does, in a state of the stage's own.
  constexpr int append_accumulation(const graph_operator& first, int stage) {
    const int number = g.op.push(first);
    cut_.of_op.push(stage);
    graph_tensor state = g.tensor[first.operand[0]];
    state.name = name_in_stage("accumulated(", state.source, stage);
    state.source = first.operand[0];
    g.op[number].name = state.name;
    g.op[number].operand[0] = push(state, stage);
    state.producer = number;
    state.replaces = g.op[number].operand[0];
    g.op[number].result[0] = push(state, stage);
    return number;
  }

  /// The sum of contributions of one stage to the gradient of `parameter`, behind operator `after`.
  constexpr int add(const growing_array<int>& own, int parameter, int stage, int after) {
    graph_operator like;
    like.phase = graph_phase::backward;
    like.segment = g.op[after].segment;
    return add(own, like, stage, after, [&] {
      const int made = make_sum(stage);
      g.tensor[g.op[made].result[0]].name = name_in_stage("gradient(", parameter, stage);
      return made;
    });
  }
  /// The sum of what the stages have accumulated, which `whole` becomes.
  constexpr void add_over_stages(const growing_array<int>& totals, int whole, int stage) {
    graph_operator like;
    like.phase = graph_phase::norm;
    like.segment = g.tensor[totals[0]].segment;
    replace_reads(totals[0], whole);
    add(totals, like, stage, -1, [&] {
      cut_.of_op[sum_[0]] = cut_.of_tensor[whole] = stage;
      return sum_[0];
    });
  }
  /// As many sums as their operands allow, one after the other; `last` says which operator the last one is.
  template <class Last>
  constexpr int add(const growing_array<int>& term, const graph_operator& like, int stage, int after,
                    const Last& last) {
    int made = term[0];
    for (int next = 1; next < term.size;) {
      int operands[max_operator_operands] = {made}, count = 1;
      while (next < term.size && count < max_operator_operands) operands[count++] = term[next++];
      const int number = next < term.size ? make_sum(stage) : last();
      const int result = g.op[number].result[0];
      if (next < term.size) g.tensor[result].name = add_text(g, "sum_to(", g.name_of_tensor(term[next - 1]), ")");
      graph_operator o = like;
      o.kind = id_of<ops::sum>;
      bind_loops(g, o, ops::sum::text, operands, count, nullptr, 0);
      o.name = g.tensor[result].name;
      o.result[0] = made = result;
      g.tensor[result].type = g.tensor[term[0]].type;
      g.op[number] = o;
      placed_.push({number, after});
    }
    return made;
  }
  /// A sum that joins contributions of several stages and is none any more, or a new one. At least as many are made as
  /// there were, since no less is added up than before.
  constexpr int make_sum(int stage) {
    int number = -1;
    if (sum_.size > 1) {
      number = sum_.last();
      --sum_.size;
      cut_.of_op[number] = cut_.of_tensor[g.op[number].result[0]] = stage;
      return number;
    }
    graph_tensor t = g.tensor[g.op[sum_[0]].result[0]];
    number = g.op.push(graph_operator{});
    cut_.of_op.push(stage);
    t.producer = number;
    t.gradient = -1;
    g.op[number].result_count = 1;
    g.op[number].result[0] = push(t, stage);
    return number;
  }

  /// What norm and update read of the parameter's total is the whole gradient.
  constexpr void replace_reads(int total, int whole) {
    for (int o = 0; o < first_count_; ++o)
      for (int i = 0; i < g.op[o].operand_count && g.op[o].phase > graph_phase::accumulate; ++i)
        if (g.op[o].operand[i] == total) g.op[o].operand[i] = whole;
  }

  constexpr int push(const graph_tensor& t, int stage) {
    cut_.of_tensor.push(stage);
    return g.tensor.push(t);
  }
  constexpr int name_in_stage(const char* prefix, int of, int stage) {
    char digits[12] = {}, suffix[32] = ") in stage ";
    int count = 0, at = 11;
    for (int n = stage; n > 0 || count == 0; n /= 10) digits[count++] = static_cast<char>('0' + n % 10);
    while (count > 0) suffix[at++] = digits[--count];
    return add_text(g, prefix, g.name_of_tensor(of), suffix);
  }

  constexpr void arrange() {
    growing_array<int> first, next, order, stage;  // of each operator: the chain of places behind it
    growing_array<bool> moved;
    first.resize(first_count_ + 1, -1);
    next.resize(placed_.size, -1);
    moved.resize(g.op.size, false);
    for (int n = placed_.size - 1; n >= 0; --n) {
      moved[placed_[n].op] = true;
      int& head = first[placed_[n].after < 0 ? first_count_ : placed_[n].after];
      next[n] = head;
      head = n;
    }
    const auto put = [&](int n) {
      for (; n >= 0; n = next[n]) order.push(placed_[n].op);
    };
    bool begun = false;  // what runs once a step
    for (int o = 0; o < first_count_; ++o) {
      if (!begun && g.op[o].phase > graph_phase::accumulate && !moved[o]) {
        begun = true;
        put(first[first_count_]);
      }
      if (!moved[o]) order.push(o);
      put(first[o]);
    }
    for (const int o : order) stage.push(cut_.of_op[o]);
    arrange_operators(g, order);
    cut_.of_op = static_cast<growing_array<int>&&>(stage);
  }

  graph& g;
  stage_cut& cut_;
  int first_count_;
  growing_array<int> contribution_;  ///< tensors, of the gradient at hand
  growing_array<int> sum_;           ///< operators that join them
  growing_array<place> placed_;
};

}  // namespace detail

/// Where several stages contribute to a gradient that is accumulated, each accumulates what it contributes.
constexpr void accumulate_by_stage(graph& g, stage_cut& cut) {
  if (g.micro_batches > 1 && cut.stages > 1 && cut.of_op.size == g.op.size) detail::stage_accumulation(g, cut).run();
}

}}  // namespace hyperparallel::v0_2
