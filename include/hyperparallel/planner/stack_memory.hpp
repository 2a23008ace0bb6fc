// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a rank holds of a step of training on a stack: allocated and reserved apart, by kind at the peak.
//
//   const hp::stack_memory m = hp::stack_memory_of(decoder, plan, *hp::find_stack("fsdp2"));
//   m.peak, m.after_forward, m.steady, m.reserved, m.held[kind]
//
// Two steps are walked (stack_walk.hpp) over the caching allocator (caching_allocator.hpp): the second one begins with the moments of the
// optimizer and with the segments that the first one took, as all later ones do. Bytes are those of blocks, rounding included. Held against 49
// runs that were measured on one H100 (tests/vectors/measured_h100_training.jsonl): tests/planner/stack_memory_test.cpp prints the errors.
// Not in it: what driver, context and communication library keep.
//
// Laws: kinds add up to the peak; steady ≤ after_forward ≤ peak ≤ reserved. O(requests · free blocks of a stream).

#include <hyperparallel/planner/caching_allocator.hpp>
#include <hyperparallel/planner/stack_walk.hpp>
#include <hyperparallel/price/stage_replay.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct stack_memory {
  extent_t steady = 0;                     ///< between steps
  extent_t after_forward = 0;              ///< when the last micro-batch's forward pass has ended
  extent_t peak = 0;                       ///< most allocated in a step
  extent_t reserved = 0;                   ///< taken from the device
  extent_t held[memory_class_count] = {};  ///< at the peak
  stack_moment moment = stack_moment::begin;
  friend constexpr bool operator==(const stack_memory&, const stack_memory&) = default;
};

namespace detail {

/// The memory of a walk: blocks of a caching allocator, counted by kind.
class stack_device {
 public:
  constexpr int allocate(extent_t bytes, memory_class kind, int stream) {
    const int number = allocator.allocate(bytes, stream);
    if (number >= block.size) block.resize(number + 1);
    block[number] = {kind, bytes};
    now[static_cast<int>(kind)] += allocator.bytes_of(number);
    if (allocator.allocated() > found.peak) {
      found.peak = allocator.allocated();
      found.moment = moment;
      for (int c = 0; c < memory_class_count; ++c) found.held[c] = now[c];
    }
    return number;
  }
  constexpr void release(int number) {
    now[static_cast<int>(block[number].kind)] -= allocator.bytes_of(number);
    allocator.release(number);
  }
  constexpr extent_t requested(int number) const { return block[number].bytes; }
  constexpr void enter(stack_moment next) { moment = next; }
  constexpr void note_after_forward() { found.after_forward = allocator.allocated(); }

  constexpr extent_t allocated() const { return allocator.allocated(); }
  /// From here on peaks are noted.
  constexpr void forget_peak() { found.peak = 0; }
  constexpr stack_memory memory() const {
    stack_memory out = found;
    out.steady = allocator.allocated();
    out.reserved = allocator.reserved();
    return out;
  }

 private:
  struct block_note {
    memory_class kind{};
    extent_t bytes = 0;
  };
  caching_allocator allocator;
  growing_array<block_note> block;  ///< by number
  stack_memory found;
  extent_t now[memory_class_count] = {};
  stack_moment moment = stack_moment::begin;
};

stack_memory stack_memory_of_in_library(const stack_sizes& sizes);
constexpr stack_memory stack_memory_of_here(const stack_sizes& sizes) {
  stack_device device;
  stack_walk<stack_device> walk(sizes, device);
  walk.step();
  device.forget_peak();
  walk.step();
  return device.memory();
}

}  // namespace detail

constexpr stack_memory stack_memory_of(const stack_sizes& sizes) {
  HYPERPARALLEL_TWIN(detail::stack_memory_of_in_library(sizes));
  return detail::stack_memory_of_here(sizes);
}

namespace detail {

/// The first or the last stage of a plan's pipeline: the layers of a rank, and as many micro-batches as its schedule has at once.
constexpr stack_sizes stage_sizes(stack_sizes s, const decoder_plan& p, bool is_last) {
  const pipeline_account a = replay_listed(p.schedule, pipeline_of(p), {});
  s.is_first = !is_last;
  s.is_last = is_last;
  s.layers = ceil_divide(s.layers, extent_t{p.pp});
  s.at_once =
      smaller(ceil_divide(extent_t{a.rank[is_last ? p.pp - 1 : 0].peak_until_weight_gradient}, extent_t{p.chunks}),
              s.micro_batches);
  return s;
}

}  // namespace detail

/// Of a pipeline, of the fuller one of its first and its last rank. Precondition: check_plan says ok, and check_stack of memory; the rules are walked.
constexpr stack_memory stack_memory_of(const decoder& d, const decoder_plan& p, const stack_rules& rules) {
  const stack_sizes whole(d, p, rules);
  if (p.pp == 1) return stack_memory_of(whole);
  const stack_memory first = stack_memory_of(detail::stage_sizes(whole, p, false)),
                     last = stack_memory_of(detail::stage_sizes(whole, p, true));
  return first.reserved > last.reserved ? first : last;
}

}}  // namespace hyperparallel::v0_2
