// SPDX-License-Identifier: Apache-2.0
#pragma once
// Groups of parameters that FSDP2 gathers and reduces as one: their shards, buffers and gradients over a step.
//
//   hp::stack_groups<Memory> groups(sizes, memory);
//   groups.gather_forward(g);  groups.drop(g.whole);
//   groups.gather_backward(g, next);  groups.end(g, is_last);  groups.update();
//
// Groups are the blocks, the experts of each where fewer ranks share them, and the root. A gather casts the shard to bf16 and gathers into one
// buffer on a stream of its own; parameters are copied out. In forward the buffer stays until the next group is copied out, in backward
// it ends at once and the gather of the next group has begun. At the end of its backward a group copies bf16 gradients into the f32 buffer of the
// reduction, which stays until the next group is there; the reduced shard comes on a third stream. Micro-batches but the last keep f32
// gradients whole. Where nothing is sharded, parameters are read as they are and gradients stay until the update.
//
// Law: after update() shards and moments are there, and nothing else. O(parameters of a group).

#include <hyperparallel/planner/stack_tensors.hpp>
#include <hyperparallel/support/growing_array.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct stack_group {
  stack_parameters parameter{};
  growing_array<int> whole;        ///< gathered parameters
  growing_array<int> gradient;     ///< of this micro-batch, bf16
  growing_array<int> accumulated;  ///< of those before, f32
  int reduced = -1;                ///< shards of gradients
  extent_t ranks = 1;              ///< that share it
  constexpr extent_t shard() const {
    extent_t sum = 0;
    for (const stack_parameter& p : parameter) sum += p.shard(ranks);
    return sum;
  }
};
template <class Memory>
class stack_groups {
 public:
  /// Makes the shards.
  constexpr stack_groups(const stack_sizes& sizes, Memory& memory) : s(sizes), m(memory) {
    block.resize(static_cast<int>(s.layers));
    for (stack_group& g : block) {
      g.parameter = s.block();
      g.ranks = s.ranks;
    }
    root.parameter = s.root();
    root.ranks = s.ranks;
    if (s.has_expert_groups()) expert.resize(static_cast<int>(s.layers));
    for (stack_group& g : expert) {
      g.parameter = s.expert_group();
      g.ranks = s.expert_ranks;
    }
    visit_shards([this](extent_t bytes) { m.allocate(bytes, memory_class::parameters, main); });
  }

  constexpr void drop(int& number) {
    if (number >= 0) m.release(number);
    number = -1;
  }
  constexpr void drop(growing_array<int>& numbers) {
    for (const int number : numbers) m.release(number);
    numbers.clear();
  }
  /// The buffer that a group is gathered into; -1 on one rank, which copies its shards alone.
  constexpr int gather(const stack_group& g) {
    if (!s.sharded || g.ranks == 1 || g.parameter.size == 0) return -1;
    const extent_t shard = detail::half_bytes * g.shard();
    int cast = m.allocate(shard, memory_class::buffers, gathers);
    const int buffer = m.allocate(shard * g.ranks, memory_class::buffers, gathers);
    drop(cast);
    return buffer;
  }
  constexpr void copy_out(stack_group& g) {
    for (const stack_parameter& p : g.parameter)
      if (s.sharded)
        g.whole.push(m.allocate(detail::half_bytes * p.shard(g.ranks) * g.ranks, memory_class::buffers, main));
  }
  constexpr void gather_forward(stack_group& g) {
    if (!g.whole.empty()) return;
    const int fresh = gather(g);
    drop(gathering);
    copy_out(g);
    gathering = fresh;
  }

  /// A group whose gather has begun is copied out, and that of the `next` one begins.
  constexpr void gather_backward(stack_group& g, const stack_group* next) {
    if (!g.whole.empty()) return;
    copy_out(g);
    drop(prefetched);
    if (next != nullptr && next->whole.empty()) prefetched = gather(*next);
  }

  /// All gradients of a group are there.
  constexpr void end(stack_group& g, bool is_last) {
    const bool adds = !g.accumulated.empty();
    if (adds) drop(g.gradient);
    if (is_last || !s.is_stage()) drop(g.whole);
    if (!s.sharded) {
      if (!adds) g.accumulated = g.gradient;
      g.gradient.clear();
      return;
    }
    if (!is_last) {
      if (!adds) accumulate(g);
      return;
    }
    drop(reducing);
    if (g.parameter.size == 0) return;
    const extent_t shard = detail::single_bytes * g.shard();
    reducing = m.allocate(shard * g.ranks, memory_class::gradients, main);
    drop(adds ? g.accumulated : g.gradient);
    g.reduced = m.allocate(shard, memory_class::gradients, reductions);
  }
  /// Each gradient in f32 in place of the one in bf16. Gradients come in the order of autograd, so sizes are those of the requests.
  constexpr void accumulate(stack_group& g) {
    for (int& number : g.gradient) {
      g.accumulated.push(
          m.allocate(m.requested(number) * (detail::single_bytes / detail::half_bytes), memory_class::gradients, main));
      drop(number);
    }
    g.gradient.clear();
  }

  /// The optimizer's; the first one makes its moments.
  constexpr void update() {
    if (!has_moments)
      visit_shards([this](extent_t bytes) {
        for (int moment = 0; moment < 2; ++moment) m.allocate(bytes, memory_class::states, main);
        m.allocate(detail::single_bytes, memory_class::states, main);  // the count of steps
      });
    has_moments = true;
    const auto clear = [this](stack_group& g) {
      drop(g.reduced);
      drop(g.accumulated);
    };
    for (stack_group& g : block) clear(g);
    for (stack_group& g : expert) clear(g);
    clear(root);
  }

  growing_array<stack_group> block, expert;  ///< by layer; experts where they are a group
  stack_group root;
  int gathering = -1, prefetched = -1, reducing = -1;

 private:
  static constexpr int main = 0, gathers = 1, reductions = 2;

  constexpr extent_t parameter_bytes() const {
    return s.sharded || s.autocast ? detail::single_bytes : detail::half_bytes;
  }
  /// Bytes of the shard of every parameter, in the order of the modules.
  template <class Visit>
  constexpr void visit_shards(const Visit& visit) {
    const auto one = [&](const stack_group& g, int i) { visit(parameter_bytes() * g.parameter[i].shard(g.ranks)); };
    const auto all = [&](const stack_group& g) {
      for (int i = 0; i < g.parameter.size; ++i) one(g, i);
    };
    if (root.parameter.size > 0) one(root, 0);
    for (int layer = 0; layer < s.layers; ++layer) {
      all(block[layer]);
      if (!expert.empty()) all(expert[layer]);
    }
    for (int i = 1; i < root.parameter.size; ++i) one(root, i);
  }

  const stack_sizes& s;
  Memory& m;
  bool has_moments = false;
};

}}  // namespace hyperparallel::v0_2
