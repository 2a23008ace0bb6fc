// SPDX-License-Identifier: Apache-2.0
#pragma once
// Time that a rank computes in a step of training on a stack: its kernels, its copies, and the host that launches them.
//
//   const hp::stack_time t = hp::stack_time_of(decoder, plan, *hp::find_stack("fsdp2"), hp::h100::device);
//   t.total(), t.forward, t.backward, t.update, t.part[i], t.idle()
//
// Two clocks: the host sends the kernels of one block after those of the other, and the device works on them in order as they come, so it
// waits where the host is behind, and the host runs ahead where the device is. Both begin a step together. Kernels are those of stack_kernels.hpp,
// beside them gathers (a cast of the shard, what arrives, a copy to each parameter), reductions (bf16 gradients into an f32 buffer,
// what comes back), gradients of earlier micro-batches in f32, embedding, head, loss and the optimizer. Waiting for links is not in it.
//
// Times of kernels are those of operators measured one by one. The host's are not: `stack_host` has what steps of small models take, which
// it bounds. Micro-batches between the third and the last take what the third takes.
// Laws: never below the device's busy time, which the parts add up to, and never below the host's; forward, backward and update add up to
// the total; more layers, tokens or micro-batches take no less. O(layers).

#include <hyperparallel/planner/stack_kernels.hpp>
#include <hyperparallel/planner/stack_time_parts.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Of the host, in picoseconds. Source: on the machine of the measured H100 a block of FSDP2 takes it at least 2.3 ms forward, 3.6 ms
/// backward, 1 ms more each where it is a checkpoint; steps of transformers have 30 µs for an operator under autograd, decoding has
/// 20 µs without it; an optimizer of 150 to 700 parameters starts after 30 µs each, and half that where they are no DTensors.
struct stack_host {
  extent_t kernel = 30'000'000;
  extent_t kernel_of_inference = 20'000'000;
  extent_t hooks_forward = 1'600'000'000;
  extent_t hooks_backward = 2'400'000'000;
  extent_t checkpoint = 1'000'000'000;
  extent_t parameter = 30'000'000;
};
inline constexpr stack_host measured_host{};

}  // namespace detail

struct stack_time {
  cost_code code = cost_code::ok;
  bool measured = false;  ///< by the device's own operators; else scaled by its peaks
  extent_t forward = 0;   ///< until that of the last micro-batch has ended, with all of the micro-batches before it
  extent_t backward = 0;  ///< from there on
  extent_t update = 0;
  extent_t part[stack_part_count] = {};  ///< in which the device is busy, by `stack_part`
  extent_t host = 0;                     ///< in which the host launches
  extent_t kernels = 0;
  constexpr bool ok() const { return code == cost_code::ok; }
  constexpr extent_t total() const { return forward + backward + update; }
  constexpr extent_t busy() const {
    extent_t sum = 0;
    for (const extent_t p : part) sum += p;
    return sum;
  }
  /// Of the device, for the host.
  constexpr extent_t idle() const { return total() - busy(); }
  friend constexpr bool operator==(const stack_time&, const stack_time&) = default;
};

namespace detail {

/// The host and the device that works on what it launches.
class stack_clocks {
 public:
  /// Kernels of `busy` that take the host `launch`.
  constexpr void run(extent_t launch, extent_t busy) {
    const extent_t begin = larger(device, host);
    host += launch;
    device = larger(begin + busy, host);
  }
  constexpr void skip(extent_t time) {
    host += time;
    device += time;
  }
  extent_t host = 0, device = 0;
};

class stack_stopwatch {
 public:
  constexpr stack_stopwatch(const stack_sizes& sizes, const operator_rates& of) : s(sizes), rates(of) {
    for (const stack_parameter& p : s.block()) count_parameter(block_elements, block_shard, p, s.ranks);
    if (s.has_expert_groups())
      for (const stack_parameter& p : s.expert_group())
        count_parameter(expert_elements, expert_shard, p, s.expert_ranks);
    parameters *= s.layers;
    for (const stack_parameter& p : s.root()) count_parameter(root_elements, root_shard, p, s.ranks);
  }

  constexpr stack_time step() {
    extent_t third = 0;
    for (extent_t i = 0; i < s.micro_batches; ++i) {
      const bool is_last = i + 1 == s.micro_batches;
      const extent_t before = clocks.device;
      micro_batch(i == 0, is_last);
      if (i != 2 || is_last) continue;
      third = clocks.device - before;
      const extent_t more = s.micro_batches - 4;
      if (more < 1) continue;
      if (third > longest_time / 4 / more) code = cost_code::overflow;
      if (code != cost_code::ok) return {code};
      clocks.skip(third * more);
      count_more(more);
      i += more;
    }
    backward_end = clocks.device;
    stack_time_parts k(rates, s);
    const extent_t bytes_of_parameter = s.sharded || s.autocast ? 28 : 14;
    k.update(bytes_of_parameter * (s.layers * (block_shard + expert_shard) + root_shard));
    run(k, parameters * (s.sharded ? measured_host.parameter : measured_host.parameter / 2) - measured_host.kernel);
    stack_time out;
    out.code = code;
    out.measured = rates.measured;
    out.forward = forward_end;
    out.backward = backward_end - forward_end;
    out.update = clocks.device - backward_end;
    for (int i = 0; i < stack_part_count; ++i) {
      out.part[i] = all.part[i].picoseconds;
      if (!all.part[i].ok()) out.code = all.part[i].code;
    }
    out.host = clocks.host;
    out.kernels = all.kernels;
    return out.ok() ? out : stack_time{out.code};
  }

 private:
  constexpr void count_parameter(extent_t& elements, extent_t& shard, const stack_parameter& p, extent_t over) {
    elements += p.elements();
    shard += p.shard(s.sharded ? over : 1);
    ++parameters;
  }
  constexpr int groups() const { return s.has_expert_groups() ? 2 : 1; }

  /// Launches of the kernels and `hooks`.
  constexpr void run(const stack_time_sums& k, extent_t hooks) {
    const time_cost busy = k.busy();
    if (!busy.ok()) code = busy.code;
    clocks.run(k.kernels * measured_host.kernel + hooks, busy.picoseconds);
    all.add(k, 1);
  }
  /// Micro-batches like the third, whose parts are the difference that it made.
  constexpr void count_more(extent_t times) {
    stack_time_sums each = all;
    for (int i = 0; i < stack_part_count; ++i) each.part[i].picoseconds -= earlier.part[i].picoseconds;
    each.kernels -= earlier.kernels;
    all.add(each, times);
  }

  constexpr void gather(stack_time_parts& k, extent_t elements, extent_t shard, extent_t ranks) const {
    if (!s.sharded || elements == 0) return;
    k.copy(6 * shard);
    if (ranks == 1) return;
    k.copy(4 * elements);  // what arrives
    k.copy(4 * elements);  // to each parameter
  }
  constexpr void reduce(stack_time_parts& k, extent_t elements, extent_t shard, bool is_first, bool is_last) const {
    if (elements == 0) return;
    if (!s.sharded) return is_first ? void() : k.copy((s.autocast ? 12 : 6) * elements);
    if (!is_first) k.copy(10 * elements);
    if (is_first && !is_last) k.copy(6 * elements);
    if (!is_last) return;
    k.copy((is_first ? 6 : 8) * elements);
    k.copy(8 * shard);
  }

  constexpr void micro_batch(bool is_first, bool is_last) {
    earlier = all;
    const extent_t hooks_forward = s.sharded ? measured_host.hooks_forward : 0,
                   hooks_backward = s.sharded ? measured_host.hooks_backward : 0,
                   checkpoint = s.recomputed ? measured_host.checkpoint : 0;
    const extent_t logits = s.tokens * s.vocabulary, rows = s.shard_tokens * s.hidden;

    stack_time_parts root(rates, s);
    gather(root, root_elements, root_shard, s.ranks);
    root.pass(4 * s.tokens * s.hidden);  // embedding
    run(root, hooks_forward);
    stack_time_parts forward(rates, s);
    gather(forward, block_elements, block_shard, s.ranks);
    gather(forward, expert_elements, expert_shard, s.expert_ranks);
    stack_kernels<stack_time_parts>(s, forward).forward(false);
    for (extent_t layer = 0; layer < s.layers; ++layer) run(forward, groups() * hooks_forward + checkpoint);
    stack_time_parts head(rates, s);
    stack_kernels<stack_time_parts>(s, head).norm(rows);
    if (s.is_cut) head.pass(4 * s.tokens * s.hidden);
    if (s.autocast) head.pass(6 * s.vocabulary * s.hidden);
    head.product(s.tokens, s.hidden, s.vocabulary, product_pass::forward);
    head.loss(loss_forward_bytes * logits);
    run(head, 0);
    if (is_last) forward_end = clocks.device;

    stack_time_parts of_head(rates, s);
    if (s.reshards) gather(of_head, root_elements, root_shard, s.ranks);
    of_head.loss(loss_backward_bytes * logits);
    of_head.product(s.tokens, s.hidden, s.vocabulary, product_pass::of_input);
    of_head.product(s.tokens, s.hidden, s.vocabulary, product_pass::of_weight);
    if (s.autocast) of_head.pass(6 * s.vocabulary * s.hidden);
    if (s.is_cut) of_head.pass(4 * rows);
    stack_kernels<stack_time_parts>(s, of_head).norm_back(rows);
    run(of_head, hooks_backward);
    stack_time_parts backward(rates, s);
    if (s.reshards) {
      gather(backward, block_elements, block_shard, s.ranks);
      gather(backward, expert_elements, expert_shard, s.expert_ranks);
    }
    stack_kernels<stack_time_parts> kernels(s, backward);
    if (s.recomputed) kernels.forward(true);
    kernels.backward();
    reduce(backward, block_elements, block_shard, is_first, is_last);
    reduce(backward, expert_elements, expert_shard, is_first, is_last);
    for (extent_t layer = 0; layer < s.layers; ++layer) run(backward, groups() * hooks_backward + checkpoint);
    stack_time_parts end(rates, s);
    end.pass(2 * s.vocabulary * s.hidden + 4 * s.tokens * s.hidden);  // gradient of the embedding
    reduce(end, root_elements, root_shard, is_first, is_last);
    run(end, hooks_backward);
  }

  const stack_sizes s;
  operator_rates rates;
  stack_clocks clocks{};
  stack_time_sums all{}, earlier{};
  cost_code code = cost_code::ok;
  extent_t block_elements = 0, block_shard = 0, expert_elements = 0, expert_shard = 0, root_elements = 0,
           root_shard = 0, parameters = 0, forward_end = 0, backward_end = 0;
};

stack_time stack_time_of_in_library(const stack_sizes& sizes, const operator_rates& rates);
constexpr stack_time stack_time_of_here(const stack_sizes& sizes, const operator_rates& rates) {
  return stack_stopwatch(sizes, rates).step();
}

}  // namespace detail

constexpr stack_time stack_time_of(const stack_sizes& sizes, const operator_rates& rates) {
  HYPERPARALLEL_TWIN(detail::stack_time_of_in_library(sizes, rates));
  return detail::stack_time_of_here(sizes, rates);
}

namespace detail {

/// At most 4 · 10^18.
constexpr extent_t multiplied(extent_t n, double factor, double rounding = 0.5) {
  const double exact = static_cast<double>(n) * factor + rounding;
  return static_cast<extent_t>(exact < 4e18 ? exact : 4e18);
}

}  // namespace detail

/// All times by `factor`. Domain: the result stays within 64 bits. Law: a device that never waits for its host does not then; what rounding leaves is the first part's that is not 0.
constexpr stack_time scaled(stack_time t, double factor) {
  if (factor == 1 || !t.ok()) return t;
  const extent_t whole = detail::multiplied(t.total(), factor);
  const extent_t idle = detail::multiplied(t.idle(), factor, 0);
  t.forward = detail::multiplied(t.forward, factor);
  t.backward = smaller(detail::multiplied(t.backward, factor), whole - t.forward);
  t.update = whole - t.forward - t.backward;
  for (extent_t& part : t.part) part = detail::multiplied(part, factor, 0);
  const extent_t left = t.idle() - idle;
  for (extent_t& part : t.part)
    if (part > 0) {
      part += left;
      break;
    }
  t.host = detail::multiplied(t.host, factor, 0);
  return t;
}

/// At the stack's pace. Precondition: check_plan, plan_is_countable and check_stack of these say ok, and the rules are walked.
constexpr stack_time stack_time_of(const decoder& d, const decoder_plan& p, const stack_rules& rules,
                                   const device_value& device) {
  return scaled(stack_time_of(stack_sizes(d, p, rules), detail::rates_of(device)), rules.pace);
}

}}  // namespace hyperparallel::v0_2
