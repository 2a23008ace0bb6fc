// SPDX-License-Identifier: Apache-2.0
#pragma once
// What kernels of a stack take on a device, added up by part, and how many there are.
//
//   hp::stack_time_parts parts(hp::rates_of(device), sizes);
//   hp::stack_kernels<hp::stack_time_parts> kernels(sizes, parts);
//   kernels.forward(false);
//   parts.busy(), parts.kernels
//
// Laws: the parts add up to `busy`; what two lists of kernels take is the sum of both. A time that leaves 64 bits is `longest_time`
// and the code says overflow. O(shapes of a table) for a kernel.

#include <hyperparallel/hardware/operator_time.hpp>
#include <hyperparallel/planner/stack.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What a kernel is for.
enum class stack_part : unsigned char { products, attention, passes, copies, loss, update };
inline constexpr int stack_part_count = 6;

constexpr const char* name_of(stack_part p) {
  return detail::enum_name("products\0attention\0passes\0copies\0loss\0update", p);
}

/// Time by part, and the number of kernels.
struct stack_time_sums {
  time_cost part[stack_part_count] = {};
  extent_t kernels = 0;

  constexpr time_cost busy() const {
    time_cost sum;
    for (const time_cost& p : part) sum = then(sum, p);
    return sum;
  }
  /// All of another list, so many times.
  constexpr void add(const stack_time_sums& other, extent_t times) {
    for (int i = 0; i < stack_part_count; ++i) part[i] = then(part[i], latencies(times, other.part[i].picoseconds));
    kernels += times * other.kernels;
  }
};

class stack_time_parts : public stack_time_sums {
 public:
  constexpr stack_time_parts(const operator_rates& of, const stack_sizes& sizes) : rates(of), s(sizes) {}

  constexpr void product(extent_t tokens, extent_t inner, extent_t columns, product_pass pass) {
    note(stack_part::products, measured_product_time(rates, tokens, inner, columns, pass));
  }
  constexpr void grouped(extent_t slots, extent_t inner, extent_t columns) {
    note(stack_part::products, grouped_time(rates, s.local_experts, slots, inner, columns));
  }
  constexpr void attention(bool backward) {
    note(stack_part::attention,
         attention_time(rates, larger(s.tokens * s.heads / s.sequence, extent_t{1}), s.sequence, s.head_dim, backward));
  }
  constexpr void pass(extent_t bytes) { note(stack_part::passes, streamed_time(rates, bytes)); }
  constexpr void rows(extent_t bytes) { note(stack_part::passes, detail::streamed_rows_time(rates, bytes)); }
  /// Kernels of so few bytes that they take as long as their edges.
  constexpr void small(extent_t count) {
    note(stack_part::passes, latencies(count, detail::kernel_edges));
    kernels += count - 1;
  }
  constexpr void copy(extent_t bytes) {
    if (bytes > 0) note(stack_part::copies, streamed_time(rates, bytes));
  }
  constexpr void loss(extent_t bytes) { note(stack_part::loss, detail::loss_time(rates, bytes)); }
  constexpr void update(extent_t bytes) { note(stack_part::update, detail::update_time(rates, bytes)); }

  /// A kernel of that price.
  constexpr void note(stack_part p, const time_cost& price) {
    time_cost& sum = part[static_cast<int>(p)];
    sum = then(sum, price);
    ++kernels;
  }

 private:
  operator_rates rates;
  const stack_sizes& s;
};

}}  // namespace hyperparallel::v0_2
