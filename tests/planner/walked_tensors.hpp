// SPDX-License-Identifier: Apache-2.0
#pragma once
// A memory for walks of a stack that counts tensors to the byte, without an allocator, and notes what is alive.

#include <hyperparallel/planner/stack_walk.hpp>

#include <map>
#include <stdexcept>

namespace walked_tensors {

namespace hp = hyperparallel;

class counted_memory {
 public:
  int allocate(hp::extent_t bytes, hp::memory_class kind, int) {
    if (bytes <= 0) throw std::logic_error("a tensor has no bytes");
    alive[next] = {bytes, kind};
    now += bytes;
    peak = std::max(peak, now);
    ++requests;
    return next++;
  }
  void release(int number) {
    const auto at = alive.find(number);
    if (at == alive.end()) throw std::logic_error("a tensor is released twice");
    now -= at->second.bytes;
    alive.erase(at);
  }
  hp::extent_t requested(int number) const { return alive.at(number).bytes; }
  void enter(hp::stack_moment) {}
  void note_after_forward() { after_forward = now; }

  hp::extent_t of(hp::memory_class kind) const {
    hp::extent_t sum = 0;
    for (const auto& [number, t] : alive)
      if (t.kind == kind) sum += t.bytes;
    return sum;
  }

  hp::extent_t now = 0, peak = 0, after_forward = 0;
  int requests = 0;

 private:
  struct tensor {
    hp::extent_t bytes = 0;
    hp::memory_class kind{};
  };
  std::map<int, tensor> alive;
  int next = 0;
};

/// A small model on two data ranks, cut by tp of two where it is asked for.
inline hp::stack_sizes small_sizes(bool is_cut = false) {
  hp::stack_sizes s;
  s.layers = 3;
  s.sequence = 16;
  s.tokens = 32;
  s.shard_tokens = is_cut ? 16 : 32;
  s.is_cut = is_cut;
  s.hidden = 24;
  s.heads = 4;
  s.key_heads = 2;
  s.head_dim = 4;
  s.query = 16;
  s.key = 8;
  s.width = 40;
  s.vocabulary = 60;
  s.ranks = 2;
  return s;
}

/// Calls `visit(sizes)` for all options of the small model.
template <class Visit>
void visit_options(const Visit& visit) {
  for (int bits = 0; bits < 128; ++bits) {
    hp::stack_sizes s = small_sizes((bits & 1) != 0);
    s.recomputed = (bits & 2) != 0;
    s.reshards = (bits & 4) != 0;
    s.biased = (bits & 8) != 0;
    s.head_normed = (bits & 16) != 0;
    s.tied = (bits & 32) != 0;
    s.ranks = (bits & 64) != 0 ? 2 : 1;
    visit(s);
  }
}

}  // namespace walked_tensors
