// SPDX-License-Identifier: Apache-2.0
#pragma once
// A step of training as a stack runs it, walked: every tensor that is allocated and released on a rank, in order.
//
//   hp::stack_walk<Memory> walk(sizes, memory);
//   walk.step(); walk.step();                          the first one makes the optimizer's moments
//
// Forward gathers a group, runs it and, with reshards, releases its parameters. The loss makes an f32 copy of the logits and its log-softmax, and in
// backward two f32 gradients of that size. The root group is gathered first in backward and ends last, since its inputs have no
// gradient; the blocks follow in reverse, each with the next one's gather begun (stack_groups.hpp), computed again first where it is
// a checkpoint. Where nothing is sharded logits stay until the loss is there. From the third micro-batch on all but the last do
// the same, so at most three are walked, and as many more as a stage of a pipeline has at once: it begins with those, then goes back and forth. Between
// stages stay what came in and what goes out, in buffers that each micro-batch has, and the logits of a step; there parameters stay
// gathered from the first forward to the last backward (torch/distributed/pipelining/stage.py). cuBLAS takes a workspace for each of the threads of forward and backward. Order and streams:
// _fsdp_param_group.py, _fsdp_collectives.py, _fsdp_state.py of PyTorch 2.11, without collectives' own memory.
//
// `Memory` has allocate(bytes, memory_class, stream), release(number), enter(stack_moment) and note_after_forward().
// Laws: what is there after a step is what was there after the one before; one micro-batch is accumulation of one.
// O(layers · smaller(micro-batches, 3)) requests.

#include <hyperparallel/planner/stack_block.hpp>
#include <hyperparallel/planner/stack_groups.hpp>

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
  constexpr stack_walk(const stack_sizes& sizes, Memory& memory)
      : s(sizes), m(memory), groups(start(s, m), m), block(s, m) {
    for (int of = 0; of < 2; ++of) m.allocate(index_bytes * s.tokens, memory_class::inputs, main);
    for (const extent_t bytes : {detail::single_bytes, detail::half_bytes, detail::half_bytes})
      m.allocate(bytes * s.sequence * s.head_dim, memory_class::inputs, main);
    if (const extent_t neighbours = (s.is_first ? 0 : 1) + (s.is_last ? 0 : 1); neighbours > 0)
      m.allocate(neighbours * s.micro_batches * handed_bytes(), memory_class::buffers, main);
  }

  constexpr void step() {
    const extent_t walked = smaller(s.micro_batches, s.at_once + 2), behind = s.at_once - 1;
    passes.clear();
    if (s.is_last && s.is_stage() && s.micro_batches > walked)
      outputs.push(activation((s.micro_batches - walked) * logits_bytes()));
    for (extent_t i = 0; i < walked + behind; ++i) {
      if (i < walked) {
        passes.push({});
        forward(passes.last());
        if (i + 1 == walked) m.note_after_forward();
      }
      if (i >= behind) backward(passes[static_cast<int>(i - behind)], i == walked + behind - 1);
    }
    groups.drop(outputs);
    m.enter(stack_moment::update);
    groups.update();
  }

  stack_walk(const stack_walk&) = delete;
  stack_walk& operator=(const stack_walk&) = delete;

 private:
  static constexpr int main = 0;
  static constexpr extent_t index_bytes = 8;
  /// Of cuBLAS for a thread that multiplies on a Hopper GPU: forward has one thread, backward another.
  static constexpr extent_t workspace_bytes = 32 * MiB;

  static constexpr const stack_sizes& start(const stack_sizes& sizes, Memory& memory) {
    memory.enter(stack_moment::begin);
    return sizes;
  }
  constexpr void drop(int& number) { groups.drop(number); }
  constexpr int activation(extent_t bytes) { return m.allocate(bytes, memory_class::activations, main); }
  constexpr void add_gradient(stack_group& g, extent_t elements) {
    g.gradient.push(
        m.allocate((s.autocast ? detail::single_bytes : detail::half_bytes) * elements, memory_class::gradients, main));
  }

  /// A micro-batch between its forward and its backward pass.
  struct pass {
    int ids = -1, log_softmax = -1, normed = -1;
    norm_kept norm{};
    growing_array<int> input{};  ///< of each block, and what the last one gives
    growing_array<stack_kept> kept{};
  };
  constexpr extent_t logits_bytes() const { return detail::half_bytes * s.tokens * s.vocabulary; }
  /// What a stage hands to the next one.
  constexpr extent_t handed_bytes() const { return s.stream_bytes() * s.shard_tokens * s.hidden; }

  constexpr void backward(pass& p, bool is_last) {
    int gradient = s.is_last ? head_backward(p) : activation(handed_bytes());
    for (int layer = static_cast<int>(s.layers) - 1; layer >= 0; --layer) {
      m.enter(stack_moment::backward);
      block_backward(p, layer, is_last);
    }
    if (s.is_first) add_gradient(groups.root, s.vocabulary * s.hidden);
    if (s.tied && s.is_first && s.is_last) {  // it is added to the head's
      int added = groups.root.gradient.last();
      groups.root.gradient.resize(groups.root.gradient.size - 1);
      drop(added);
    }
    drop(gradient);
    drop(p.ids);
    m.enter(stack_moment::reduction);
    groups.end(groups.root, is_last);
    drop(groups.reducing);
  }

  constexpr void forward(pass& p) {
    m.enter(stack_moment::forward);
    groups.gather_forward(groups.root);
    p.ids = activation(index_bytes * s.tokens);
    p.input.push(s.is_first ? block.scattered(activation(s.stream_bytes() * s.tokens * s.hidden)) : -1);
    for (int layer = 0; layer < s.layers; ++layer) {
      groups.gather_forward(groups.block[layer]);
      if (workspaces == 0) add_workspace();
      stack_kept k;
      const int out = block.forward(k, !s.recomputed, false, [&](bool begins) {
        if (groups.expert.empty()) return;
        if (begins) return groups.gather_forward(groups.expert[layer]);
        if (s.reshards) groups.drop(groups.expert[layer].whole);
      });
      p.kept.push(k);
      p.input.push(out);
      if (s.reshards) groups.drop(groups.block[layer].whole);
      if (!s.recomputed && !s.keeps_residuals()) drop(p.input[layer]);
    }
    if (s.is_last) return through_head(p);
    drop(groups.gathering);
  }

  /// The last norm, the head and the loss.
  constexpr void through_head(pass& p) {
    p.normed = block.gathered(block.normed(p.norm, true));
    if (!s.keeps_residuals()) drop(p.input[static_cast<int>(s.layers)]);
    if (s.autocast) {
      head_weight = m.allocate(detail::half_bytes * s.vocabulary * s.hidden, memory_class::buffers, main);
      drop(p.normed);
      p.normed = activation(detail::half_bytes * s.tokens * s.hidden);
    }
    int logits = activation(logits_bytes());
    drop(groups.gathering);
    if (s.reshards) groups.drop(groups.root.whole);
    m.enter(stack_moment::loss);
    const extent_t single = detail::single_bytes * s.tokens * s.vocabulary;
    int copied = activation(single);
    if (s.is_stage()) {
      outputs.push(logits);
      logits = -1;
    }
    if (s.sharded) drop(logits);
    p.log_softmax = activation(single);
    drop(copied);
    drop(logits);
    if (s.recomputed)
      for (stack_kept& k : p.kept)
        for (int& number : k.weight) drop(number);  // of autocast, whose cache ends
  }

  /// Of loss, head and last norm; returns the gradient of what the last block gives.
  constexpr int head_backward(pass& p) {
    const extent_t single = detail::single_bytes * s.tokens * s.vocabulary;
    int of_loss = activation(single), of_copy = activation(single);
    drop(of_loss);
    drop(p.log_softmax);
    int of_logits = activation(single / 2);
    drop(of_copy);
    m.enter(stack_moment::backward);
    if (groups.root.whole.empty()) {
      int buffer = groups.gather(groups.root);
      groups.copy_out(groups.root);
      drop(buffer);
    }
    stack_group& last = groups.block[static_cast<int>(s.layers) - 1];
    if (last.whole.empty()) groups.prefetched = groups.gather(last);
    if (workspaces == 1) add_workspace();
    int of_normed = activation(detail::half_bytes * s.tokens * s.hidden);
    groups.root.gradient.push(block.weight(s.vocabulary * s.hidden));
    drop(of_logits);
    drop(p.normed);
    drop(head_weight);
    if (s.autocast) {
      const int single_normed = block.residuals();
      drop(of_normed);
      of_normed = single_normed;
    }
    of_normed = block.scattered(of_normed);
    block.norm_gradient(of_normed, p.norm, [this](int number) { groups.root.gradient.push(number); });
    drop(p.input[static_cast<int>(s.layers)]);
    return of_normed;
  }

  constexpr void block_backward(pass& p, int layer, bool is_last) {
    stack_group& g = groups.block[layer];
    stack_group* const before = layer > 0 ? &groups.block[layer - 1] : nullptr;
    stack_group* of = groups.expert.empty() ? &g : &groups.expert[layer];  // that gradients are of
    groups.gather_backward(g, groups.expert.empty() ? before : of);
    if (!groups.expert.empty()) groups.gather_backward(*of, before);
    if (s.recomputed) block.forward(p.kept[layer], true, true);
    block.backward(
        p.kept[layer], [&](int number) { of->gradient.push(number); },
        [&] {
          if (!groups.expert.empty()) groups.end(*of, is_last);
          of = &g;
        });
    drop(p.input[layer]);
    groups.end(g, is_last);
  }

  constexpr void add_workspace() {
    m.allocate(workspace_bytes, memory_class::buffers, main);
    ++workspaces;
  }

  const stack_sizes s;
  Memory& m;
  stack_groups<Memory> groups;
  stack_block<Memory> block;
  growing_array<pass> passes;
  growing_array<int> outputs;  ///< logits of a step, where it is a stage's
  int head_weight = -1, workspaces = 0;
};

}}  // namespace hyperparallel::v0_2
