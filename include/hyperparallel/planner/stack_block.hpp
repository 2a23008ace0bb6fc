// SPDX-License-Identifier: Apache-2.0
#pragma once
// A block of a decoder as eager operators run it: which tensors exist when, in forward, when it is computed again, and in backward.
//
//   hp::stack_block<Memory> block(sizes, memory);
//   const int out = block.forward(kept, true);
//   block.backward(kept, each);
//
// One operator after the other: its outputs are allocated, then what is not read again is released. An operator's backward releases
// what it has saved, and its incoming gradient, when it has ended; a second gradient of a tensor is added to the first in place. Norms keep what
// stack_norm.hpp says; products their input; attention its three inputs, its output and one f32 number a head and row; the
// activation its input, the product of gate and width both operands. A rotation keeps nothing but its tables, which all layers share.
// Where the sequence is cut, attention gathers keys and values of all its parts and merges what it reads of them in f32, gradients likewise
// (torch/distributed/tensor/experimental/_attention.py).
// Selective checkpoints (stack.hpp) keep what their first pass has of a list, whether it is read again or not, and take it in their second.
// Under autocast every product that reads a norm's output has a bf16 copy of its own, and of its weight.
//
// Laws: what forward keeps is released by backward; what is left is the gradients of weights that `each` was called for. O(1).

#include <hyperparallel/planner/stack_experts.hpp>
#include <hyperparallel/planner/stack_norm.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Tensors that a block keeps from its forward pass to its backward pass; -1 where it does not.
struct stack_kept {
  norm_kept first{}, second{}, of_query{}, of_key{};
  int query_raw = -1, key_raw = -1;  ///< inputs of the norms of heads
  int first_out = -1, second_out = -1;
  int query = -1, key = -1, value = -1, attended = -1, attended_rows = -1;
  int residual = -1;
  int gate = -1, activated = -1, width = -1, product = -1;
  /// Of selective checkpoints: what attention's last product gives, and down's, before and after it is scattered.
  int output = -1, output_sum = -1, down = -1, down_sum = -1;
  /// Under autocast: bf16 of weights and of what products read, of query, key, value, output, gate, width, product.
  int weight[7] = {-1, -1, -1, -1, -1, -1, -1};
  int read[7] = {-1, -1, -1, -1, -1, -1, -1};
  experts_kept experts{};
};

template <class Memory>
class stack_block : public stack_norm<Memory> {
  using norm = stack_norm<Memory>;
  using norm::m, norm::s;

 public:
  using norm::drop, norm::gathered, norm::projected, norm::residuals, norm::scattered, norm::take, norm::weight;
  using norm::head_norm_gradient, norm::head_normed, norm::norm_gradient, norm::normed;

  constexpr stack_block(const stack_sizes& sizes, Memory& memory) : norm(sizes, memory), experts(sizes, memory) {}

  /// Makes what the block gives of its input and returns it. What it keeps is in `kept` where it `keeps`; where it does not, bf16 weights of
  /// autocast alone. Where the block is computed again for its backward pass, it ends when the last tensor that is kept is there, and returns -1.
  /// `around_experts(begins)` is called before and after experts.
  template <class Around>
  constexpr int forward(stack_kept& kept, bool keeps, bool again, const Around& around_experts) {
    stack_kept k;
    const bool spares = s.selective && !keeps,
               finds = s.selective && again;  // leaves costly results for later; has them from before
    k.first_out = gathered(normed(k.first, keeps));
    int query = finds && s.spares_query() ? kept.query_raw : read_by(k, 0, s.query, keeps);
    int key = read_by(k, 1, s.key, keeps);
    k.value = finds && s.spares_query() ? kept.value : read_by(k, 2, s.key, keeps);
    if (s.autocast && keeps) drop(k.first_out);
    const bool spares_query = spares && s.spares_query();
    query = head_normed(query, s.query, s.heads, k.of_query, k.query_raw, keeps || spares_query);
    if (spares_query) drop(k.of_query.rows);
    key = head_normed(key, s.key, s.key_heads, k.of_key, k.key_raw, keeps);
    int rotated_query = rotated(s.query), rotated_key = rotated(s.key);
    if (spares_query && !s.head_normed)
      k.query_raw = query;
    else
      drop(query);
    drop(key);
    k.query = as_half(rotated_query, s.query);
    k.key = as_half(rotated_key, s.key);
    int others = finds ? -1 : keys_of_others(),
        merged = finds || s.context == 1 ? -1 : take(detail::single_bytes * s.tokens * s.query);
    k.attended = finds ? kept.attended : projected(s.query);
    k.attended_rows = finds ? kept.attended_rows : take(detail::single_bytes * s.tokens * s.heads);
    drop(others, merged);
    int branch = finds && s.spares_output() ? kept.output : projected_by(k, 3, s.hidden);
    if (!keeps && !spares) drop(k.attended, k.attended_rows);
    branch = scattered_unless(branch, spares && s.spares_output(), k.output, finds ? kept.output_sum : -1);
    k.residual = residuals();
    drop_unless(branch, k.output, spares && s.spares_sums(), k.output_sum);
    int shard = normed(k.second, keeps);
    if (!keeps) drop(k.first_out, k.first.rows, k.second.rows);
    k.second_out = gathered(shard);
    const int out =
        s.experts > 0 ? through_experts(k, keeps, again, around_experts) : through_products(k, kept, keeps, again);
    if (finds) k.down = kept.down, k.down_sum = kept.down_sum;
    if (!keeps) drop(k.query, k.key, k.residual, k.second_out);
    if (!keeps && !spares_query) drop(k.value);
    kept = k;
    return out;
  }

  constexpr int forward(stack_kept& kept, bool keeps, bool again = false) {
    return forward(kept, keeps, again, [](bool) {});
  }

  /// From the gradient of what the block gives, which becomes that of its input in place. `each(number)` is called for the gradient of each
  /// weight as it comes, `after_experts()` where experts end.
  template <class Each, class After>
  constexpr void backward(stack_kept& k, const Each& each, const After& after_experts) {
    int sum = s.experts > 0 ? experts.backward(
                                  k.experts, [this](extent_t elements) { return weight(elements); }, each)
                            : products_gradient(k, each);
    if (s.experts > 0) after_experts();
    drop(k.second_out);
    end_branch(sum, k.residual, k.second, each);

    int whole = gathered_gradient();
    int attended = projected(s.query);
    each(weight(s.hidden * s.query));
    drop(whole, k.weight[3]);
    int others = keys_of_others(),
        summed = s.context > 1 ? take(detail::single_bytes * s.tokens * (s.query + 2 * s.key)) : -1;
    int query = projected(s.query), key = projected(s.key), value = projected(s.key);
    drop(others, summed);
    drop(attended, k.query, k.key, k.value, k.attended, k.attended_rows);
    rotate_back(key, s.key);
    rotate_back(query, s.query);
    head_norm_gradient(key, s.key, k.of_key, k.key_raw, each);
    head_norm_gradient(query, s.query, k.of_query, k.query_raw, each);
    sum = input_gradient(k, 2);
    weight_gradients(s.key, each, s.biased);
    drop(value);
    add_input_gradient(k, 1, key, s.key, each, s.biased);
    add_input_gradient(k, 0, query, s.query, each, s.biased);
    drop(k.first_out);
    int no_input = -1;  // the walk has it
    end_branch(sum, no_input, k.first, each);
    drop(k.down, k.down_sum);
  }

  template <class Each>
  constexpr void backward(stack_kept& k, const Each& each) {
    backward(k, each, [] {});
  }

 private:
  /// From the second norm's output to what the block gives; -1 where it is computed `again`.
  constexpr int through_products(stack_kept& k, const stack_kept& kept, bool keeps, bool again) {
    const bool spares = s.selective && !keeps, finds = s.selective && again;
    k.gate = finds && s.spares_query() ? kept.gate : read_by(k, 4, s.width, keeps);
    k.activated = projected(s.width);
    if (!keeps && !(spares && s.spares_query())) drop(k.gate);
    k.width = finds && s.spares_output() ? kept.width : read_by(k, 5, s.width, keeps);
    if (s.autocast && keeps) drop(k.second_out);
    k.product = projected(s.width);
    if (!keeps) drop(k.activated);
    if (!keeps && !(spares && s.spares_output())) drop(k.width);
    if (s.compiled) drop(k.activated);
    int out = -1;
    if (!again) {
      int branch = projected_by(k, 6, s.hidden);
      if (!keeps) drop(k.product);
      // An eager checkpoint saves what its list says, read again or not; a compiled one what backward needs.
      branch = scattered_unless(branch, spares && s.spares_query() && !s.compiled, k.down, -1);
      out = residuals();
      drop_unless(branch, k.down, spares && s.spares_sums() && !s.compiled, k.down_sum);
      if (!s.keeps_residuals()) drop(k.residual);
    } else {
      cast_weight(k, 6);
    }
    return out;
  }
  /// What a branch gives, of the rank's tokens; `earlier` where it is there from the first pass. Before it is scattered it stays in `product`
  /// where it is spared.
  constexpr int scattered_unless(int whole, bool is_spared, int& product, int earlier) {
    if (earlier >= 0) {
      drop(whole);
      return earlier;
    }
    if (!is_spared) return scattered(whole);
    product = whole;
    return s.is_cut ? residuals() : whole;
  }
  /// Where it has been added: it goes, unless it is spared as a sum or is the product that is.
  constexpr void drop_unless(int branch, int product, bool is_spared, int& sum) {
    if (is_spared)
      sum = branch;
    else if (branch != product)
      drop(branch);
  }
  template <class Around>
  constexpr int through_experts(stack_kept& k, bool keeps, bool again, const Around& around) {
    around(true);
    int branch = experts.forward(k.experts, keeps, again);
    around(false);
    if (again) return -1;
    const int out = residuals();
    drop(branch);
    return out;
  }
  /// The gradient of the second norm's output.
  template <class Each>
  constexpr int products_gradient(stack_kept& k, const Each& each) {
    int whole = gathered_gradient();
    int product = projected(s.width);
    each(weight(s.hidden * s.width));
    drop(k.product, whole, k.weight[6]);
    int activated = projected(s.width), width = projected(s.width);
    drop(product, k.width, k.activated);
    int sum = input_gradient(k, 5);
    each(weight(s.width * s.hidden));
    drop(width);
    int gate = projected(s.width);
    drop(activated, k.gate);
    add_input_gradient(k, 4, gate, s.width, each);
    return sum;
  }

  constexpr void cast_weight(stack_kept& k, int product) {
    const extent_t elements[] = {s.query, s.key, s.key, s.query, s.width, s.width, s.width};
    if (s.autocast)
      k.weight[product] = m.allocate(detail::half_bytes * elements[product] * s.hidden, memory_class::buffers, 0);
  }
  constexpr int projected_by(stack_kept& k, int product, extent_t columns) {
    cast_weight(k, product);
    return projected(columns);
  }
  /// A product that reads a norm's output, under autocast through a bf16 copy of its own.
  constexpr int read_by(stack_kept& k, int product, extent_t columns, bool keeps) {
    if (s.autocast) k.read[product] = projected(s.hidden);
    const int out = projected_by(k, product, columns);
    if (!keeps) drop(k.read[product]);
    return out;
  }

  /// Keys and values of all ranks that have a part of each sequence; -1 where one has all of it.
  constexpr int keys_of_others() {
    return s.context > 1 ? take(detail::half_bytes * s.tokens * 2 * s.key * s.context) : -1;
  }

  /// Under autocast in f32, since the tables are.
  constexpr int rotated(extent_t columns) {
    const extent_t elements = s.tokens * columns, bytes = s.stream_bytes();
    int by_cosine = take(bytes * elements), negated = take(detail::half_bytes * elements / 2),
        turned = projected(columns);
    drop(negated);
    int by_sine = take(bytes * elements);
    drop(turned);
    const int out = take(bytes * elements);
    drop(by_cosine, by_sine);
    return out;
  }
  constexpr int as_half(int single, extent_t columns) {
    if (!s.autocast) return single;
    const int half = projected(columns);
    drop(single);
    return half;
  }
  constexpr void rotate_back(int& gradient, extent_t columns) {
    int by_sine = projected(columns), negated = take(detail::half_bytes * s.tokens * columns / 2);
    const int by_cosine = projected(columns);
    drop(gradient);
    int halves = projected(columns);
    drop(by_sine, negated, halves);
    gradient = by_cosine;
  }
  /// The incoming gradient of all tokens, or in bf16; -1 where it is there.
  constexpr int gathered_gradient() { return s.is_cut || s.autocast ? projected(s.hidden) : -1; }
  template <class Each>
  constexpr void weight_gradients(extent_t rows, const Each& each, bool biased) {
    each(weight(rows * s.hidden));
    if (biased) each(weight(rows));
  }
  /// Of a product that reads a norm's output, for the output.
  constexpr int input_gradient(stack_kept& k, int product) {
    int half = projected(s.hidden);
    drop(k.read[product], k.weight[product]);
    if (!s.autocast) return half;
    const int single = residuals();
    drop(half);
    return single;
  }
  /// Of another product that reads the same: its gradient of the output is added to the first one.
  template <class Each>
  constexpr void add_input_gradient(stack_kept& k, int product, int& outgoing, extent_t rows, const Each& each,
                                    bool biased = false) {
    int part = input_gradient(k, product);
    weight_gradients(rows, each, biased);
    drop(outgoing, part);
  }
  /// The norm before a branch; its gradient is added to that of the residual stream in place.
  template <class Each>
  constexpr void end_branch(int& sum, int& input, norm_kept& k, const Each& each) {
    sum = scattered(sum);
    norm_gradient(sum, k, each);
    drop(sum, input);
  }

  stack_experts<Memory> experts;
};

}}  // namespace hyperparallel::v0_2
