// SPDX-License-Identifier: Apache-2.0
#pragma once
// A step of training as a stack runs it, walked: every tensor that is allocated and released on a rank, in order.
//
//   hp::stack_walk<Memory> walk(sizes, memory);
//   walk.step(); walk.step();                          the first one makes the optimizer's moments
//
// Groups of parameters are the blocks and the root. A gather casts the shard to bf16 and gathers into one buffer, both on a stream of
// their own; parameters are copied out of it. In forward the buffer stays until the next group is copied out, in backward it
// ends at once and the gather of the next block backwards has begun. With reshards, parameters end after the forward of their group, and after its
// backward in any case. Gradients of a group come in bf16 as autograd makes them; at its end they are copied into the f32 buffer
// of the reduction, which stays until the next group is there, and the reduced shard comes on a third stream. Micro-batches
// but the last keep f32 gradients unsharded. The root group is gathered first in backward and ends last. The loss makes an f32
// copy of the logits, its log-softmax, and in backward two f32 gradients of that size. From the third micro-batch on all but the last do the same, so at most
// three are walked. Where nothing is sharded parameters are read as they are, gradients stay until the update, and logits until the loss is there.
// Order and streams: _fsdp_param_group.py, _fsdp_collectives.py, _fsdp_state.py of PyTorch 2.11, without collectives'
// own memory.
//
// `Memory` has allocate(bytes, memory_class, stream), release(number), enter(stack_moment) and note_after_forward().
// Laws: what is there after a step is what was there after the one before; one micro-batch is accumulation of one.
// O(layers · smaller(micro-batches, 3)) requests.

#include <hyperparallel/planner/stack_block.hpp>
#include <hyperparallel/support/growing_array.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What a step is doing.
enum class stack_moment : unsigned char { begin, forward, loss, backward, reduction, update };

constexpr const char* name_of(stack_moment m) {
  constexpr const char* names[] = {"at the begin",
                                   "in forward",
                                   "in the loss",
                                   "in the backward pass",
                                   "where the root group's gradients are reduced",
                                   "in the update"};
  return names[static_cast<int>(m)];
}

template <class Memory>
class stack_walk {
 public:
  /// Makes the shards, the inputs of a step and the tables of the rotation.
  constexpr stack_walk(const stack_sizes& sizes, Memory& memory) : s(sizes), m(memory), block(s, memory) {
    group.resize(static_cast<int>(s.layers) + 1);
    for (group_state& g : group) {
      g.parameter = s.block();
      g.ranks = s.ranks;
    }
    root().parameter = s.root();
    if (s.has_expert_groups()) expert.resize(static_cast<int>(s.layers));
    for (group_state& g : expert) {
      g.parameter = s.expert_group();
      g.ranks = s.expert_ranks;
    }
    m.enter(stack_moment::begin);
    visit_shards([this](extent_t bytes) { m.allocate(bytes, memory_class::parameters, main); });
    for (int of = 0; of < 2; ++of) m.allocate(index_bytes * s.tokens, memory_class::inputs, main);
    for (const extent_t bytes : {single_bytes, half_bytes, half_bytes})
      m.allocate(bytes * s.sequence * s.head_dim, memory_class::inputs, main);
  }

  constexpr void step() {
    const extent_t walked = smaller(s.micro_batches, 3);
    for (extent_t i = 0; i < walked; ++i) micro_batch(i + 1 == walked);
    m.enter(stack_moment::update);
    if (!has_moments) {
      visit_shards([this](extent_t bytes) {
        for (int moment = 0; moment < 2; ++moment) m.allocate(bytes, memory_class::states, main);
        m.allocate(single_bytes, memory_class::states, main);  // the count of steps
      });
      has_moments = true;
    }
    for (growing_array<group_state>* groups : {&group, &expert})
      for (group_state& g : *groups) {
        drop(g.reduced);
        drop(g.accumulated);
      }
  }

 private:
  static constexpr int main = 0, gathers = 1, reductions = 2;
  static constexpr extent_t index_bytes = 8;
  /// Of cuBLAS for a thread that multiplies on a Hopper GPU: forward has one thread, backward another.
  static constexpr extent_t workspace_bytes = 32 * MiB;

  struct group_state {
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
  constexpr group_state& root() { return group[static_cast<int>(s.layers)]; }

  constexpr void drop(int& number) {
    if (number >= 0) m.release(number);
    number = -1;
  }
  constexpr void drop(growing_array<int>& numbers) {
    for (const int number : numbers) m.release(number);
    numbers.clear();
  }
  constexpr int activation(extent_t bytes) { return m.allocate(bytes, memory_class::activations, main); }
  constexpr void add_gradient(group_state& g, extent_t elements) {
    g.gradient.push(m.allocate((s.autocast ? single_bytes : half_bytes) * elements, memory_class::gradients, main));
  }

  constexpr extent_t parameter_bytes() const { return s.sharded || s.autocast ? single_bytes : half_bytes; }
  /// Bytes of the shard of every parameter, in the order of the modules.
  template <class Visit>
  constexpr void visit_shards(const Visit& visit) {
    const auto one = [&](const group_state& g, int i) { visit(parameter_bytes() * g.parameter[i].shard(g.ranks)); };
    const auto all = [&](const group_state& g) {
      for (int i = 0; i < g.parameter.size; ++i) one(g, i);
    };
    one(root(), 0);
    for (int layer = 0; layer < s.layers; ++layer) {
      all(group[layer]);
      if (!expert.empty()) all(expert[layer]);
    }
    for (int i = 1; i < root().parameter.size; ++i) one(root(), i);
  }

  /// The buffer that a group is gathered into; -1 on one rank, which copies its shards alone.
  constexpr int gather(const group_state& g) {
    if (!s.sharded || g.ranks == 1) return -1;
    const extent_t shard = half_bytes * g.shard();
    int cast = m.allocate(shard, memory_class::buffers, gathers);
    const int buffer = m.allocate(shard * g.ranks, memory_class::buffers, gathers);
    drop(cast);
    return buffer;
  }
  constexpr void copy_out(group_state& g) {
    for (const stack_parameter& p : g.parameter)
      if (s.sharded) g.whole.push(m.allocate(half_bytes * p.shard(g.ranks) * g.ranks, memory_class::buffers, main));
  }
  constexpr void gather_forward(group_state& g) {
    if (!g.whole.empty()) return;
    const int fresh = gather(g);
    drop(gathering);
    copy_out(g);
    gathering = fresh;
  }

  constexpr void micro_batch(bool is_last) {
    int ids = -1, log_softmax = -1, normed = -1;
    norm_kept norm;
    forward(ids, norm, normed, log_softmax);
    if (is_last) m.note_after_forward();
    int gradient = head_backward(log_softmax, norm, normed);
    for (int layer = static_cast<int>(s.layers) - 1; layer >= 0; --layer) {
      m.enter(stack_moment::backward);
      block_backward(layer, is_last);
    }
    add_gradient(root(), s.vocabulary * s.hidden);
    if (s.tied) {  // it is added to the head's
      int added = root().gradient.last();
      root().gradient.resize(root().gradient.size - 1);
      drop(added);
    }
    drop(gradient);
    drop(ids);
    m.enter(stack_moment::reduction);
    end_group(root(), is_last);
    drop(reducing);
  }

  constexpr void forward(int& ids, norm_kept& norm, int& normed, int& log_softmax) {
    m.enter(stack_moment::forward);
    gather_forward(root());
    ids = activation(index_bytes * s.tokens);
    input.clear();
    kept.clear();
    input.push(block.scattered(activation(s.stream_bytes() * s.tokens * s.hidden)));
    for (int layer = 0; layer < s.layers; ++layer) {
      gather_forward(group[layer]);
      if (workspaces == 0) add_workspace();
      stack_kept k;
      const int out = block.forward(k, !s.recomputed, false, [&](bool begins) {
        if (expert.empty()) return;
        if (begins) return gather_forward(expert[layer]);
        if (s.reshards) drop(expert[layer].whole);
      });
      kept.push(k);
      input.push(out);
      if (s.reshards) drop(group[layer].whole);
      if (!s.recomputed && !s.keeps_residuals()) drop(input[layer]);
    }
    normed = block.gathered(block.normed(norm, true));
    if (!s.keeps_residuals()) drop(input[static_cast<int>(s.layers)]);
    if (s.autocast) {
      head_weight = m.allocate(half_bytes * s.vocabulary * s.hidden, memory_class::buffers, main);
      drop(normed);
      normed = activation(half_bytes * s.tokens * s.hidden);
    }
    int logits = activation(half_bytes * s.tokens * s.vocabulary);
    drop(gathering);
    if (s.reshards) drop(root().whole);
    m.enter(stack_moment::loss);
    const extent_t single = single_bytes * s.tokens * s.vocabulary;
    int copied = activation(single);
    if (s.sharded) drop(logits);
    log_softmax = activation(single);
    drop(copied);
    drop(logits);
    if (s.recomputed)
      for (stack_kept& k : kept)
        for (int& number : k.weight) drop(number);  // of autocast, whose cache ends
  }

  /// Of loss, head and last norm; returns the gradient of what the last block gives.
  constexpr int head_backward(int& log_softmax, norm_kept& norm, int& normed) {
    const extent_t single = single_bytes * s.tokens * s.vocabulary;
    int of_loss = activation(single), of_copy = activation(single);
    drop(of_loss);
    drop(log_softmax);
    int of_logits = activation(single / 2);
    drop(of_copy);
    m.enter(stack_moment::backward);
    if (root().whole.empty()) {
      int buffer = gather(root());
      copy_out(root());
      drop(buffer);
    }
    group_state& last = group[static_cast<int>(s.layers) - 1];
    if (last.whole.empty()) prefetched = gather(last);
    if (workspaces == 1) add_workspace();
    int of_normed = activation(half_bytes * s.tokens * s.hidden);
    root().gradient.push(block.weight(s.vocabulary * s.hidden));
    drop(of_logits);
    drop(normed);
    drop(head_weight);
    if (s.autocast) {
      const int single_normed = block.residuals();
      drop(of_normed);
      of_normed = single_normed;
    }
    of_normed = block.scattered(of_normed);
    block.norm_gradient(of_normed, norm, [this](int number) { root().gradient.push(number); });
    drop(input[static_cast<int>(s.layers)]);
    return of_normed;
  }

  /// A group whose gather has begun is copied out, and that of the `next` one begins.
  constexpr void gather_backward(group_state& g, const group_state* next) {
    if (!g.whole.empty()) return;
    copy_out(g);
    drop(prefetched);
    if (next != nullptr && next->whole.empty()) prefetched = gather(*next);
  }

  constexpr void block_backward(int layer, bool is_last) {
    group_state& g = group[layer];
    group_state* const before = layer > 0 ? &group[layer - 1] : nullptr;
    group_state* of = expert.empty() ? &g : &expert[layer];  // that gradients are of
    gather_backward(g, expert.empty() ? before : of);
    if (!expert.empty()) gather_backward(*of, before);
    if (s.recomputed) block.forward(kept[layer], true, true);
    block.backward(
        kept[layer], [&](int number) { of->gradient.push(number); },
        [&] {
          if (!expert.empty()) end_group(*of, is_last);
          of = &g;
        });
    drop(input[layer]);
    end_group(g, is_last);
  }

  /// All gradients of a group are there.
  constexpr void end_group(group_state& g, bool is_last) {
    const bool adds = !g.accumulated.empty();
    if (adds) drop(g.gradient);
    drop(g.whole);
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
    const extent_t shard = single_bytes * g.shard();
    reducing = m.allocate(shard * g.ranks, memory_class::gradients, main);
    drop(adds ? g.accumulated : g.gradient);
    g.reduced = m.allocate(shard, memory_class::gradients, reductions);
  }
  /// Each gradient in f32 in place of the one in bf16. Gradients come in the order of autograd, so sizes are those of the requests.
  constexpr void accumulate(group_state& g) {
    for (int& number : g.gradient) {
      g.accumulated.push(m.allocate(m.requested(number) * (single_bytes / half_bytes), memory_class::gradients, main));
      drop(number);
    }
    g.gradient.clear();
  }

  constexpr void add_workspace() {
    m.allocate(workspace_bytes, memory_class::buffers, main);
    ++workspaces;
  }

  const stack_sizes s;
  Memory& m;
  stack_block<Memory> block;
  growing_array<group_state> group;   ///< the blocks in order, then the root
  growing_array<group_state> expert;  ///< of each block, where its experts are a group
  growing_array<int> input;           ///< of each block, and what the last one gives
  growing_array<stack_kept> kept;
  int gathering = -1, prefetched = -1, reducing = -1, head_weight = -1, workspaces = 0;
  bool has_moments = false;
};

}}  // namespace hyperparallel::v0_2
