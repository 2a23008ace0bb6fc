// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the kernel of a graph's operator on any box of its loops, in memory that shows what the kernel does not write and
// what it writes beyond its blocks.
//
// Law of kernels: a call writes every element of its results' blocks and nothing else, and reads its operands' blocks and
// nothing else. Blocks lie between guards, and results hold a pattern before.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/graph/graph.hpp>
#include <hyperparallel/kernels/box_of_call.hpp>
#include <hyperparallel/kernels/keyed_random.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct operator_check_options {
  int rounds = 100;
  extent_t largest = 5;  ///< of a factor's extent
  double lowest = -1, highest = 1;
  unsigned positive = 0;  ///< operands whose values are positive
  extent_t rows = 2;      ///< numbers of index operands are below it, where the operator names no factor
  int operands = 0;       ///< 0: as many as the text writes
  extent_t (*extent_of)(char letter, extent_t drawn) = nullptr;  ///< what a factor's extent is made of
  double tolerance = 1e-9;           ///< of pieces against the whole, relative to values above 1
  double gradient_tolerance = 1e-6;  ///< of a gradient against differences of step 1e-4
  std::uint64_t seed = 1;
};

namespace detail {

/// A tensor, or the block of a box: one of the two is used.
struct sampled_block {
  std::vector<double> value;
  std::vector<std::int32_t> number;
};
using sampled_results = std::vector<std::vector<double>>;  ///< numbers too

/// body(place in the whole tensor, place in the box's block), in the block's order.
template <class Body>
void for_each_element(const operator_call& c, const tensor_factors& t, const Body& body) {
  extent_t n = 1;
  for (int d = 0; d < t.rank; ++d) n *= c.loop[t.term[d]].extent;
  for (extent_t local = 0; local < n; ++local) {
    extent_t rest = local, inside = 0, step = 1;
    for (int d = t.rank - 1; d >= 0; --d) {
      const loop_span& l = c.loop[t.term[d]];
      inside += (rest % l.extent + l.begin) * step;
      rest /= l.extent;
      step *= l.whole;
    }
    body(static_cast<std::size_t>(inside), static_cast<std::size_t>(local));
  }
}

/// "; operands (2, 3), (3)", at the end of a complaint.
inline std::string text_of_shapes(const graph& g, const int* tensors, int count) {
  std::string s;
  for (int i = 0; i < count; ++i) {
    const shape& x = g.tensor[tensors[i]].shape;
    s += i == 0 ? "; operands (" : ", (";
    for (int d = 0; d < x.rank; ++d) s.append(d > 0 ? ", " : "").append(std::to_string(x.extent[d]));
    s += ")";
  }
  return s;
}

/// Random numbers within the bounds of the options.
class sample_numbers {
 public:
  sample_numbers(const operator_check_options& options, keyed_sequence& random) : options_(options), random_(random) {}

  double value() {
    const double part = static_cast<double>(random_() >> 11) * 0x1p-53;
    const double v = options_.lowest + part * (options_.highest - options_.lowest);
    if (std::abs(v) >= 1e-2) return v;
    return options_.highest > 0 ? 0.5 * options_.highest : 0.5 * options_.lowest;
  }
  std::vector<double> values(std::size_t count, bool positive) {
    std::vector<double> v(count);
    for (double& x : v) x = positive ? std::abs(value()) : value();
    return v;
  }
  extent_t below(extent_t n) { return static_cast<extent_t>(random_() % static_cast<std::uint64_t>(n)); }

 private:
  const operator_check_options& options_;
  keyed_sequence& random_;
};

/// What results and their guards hold before a run, and what the run did to the guards.
struct probe_memory {
  double value = std::nan("");
  std::int32_t number = -77;
  double around_operands = 4.5;  ///< another value, so that a block copied too far shows
  std::string fault;             ///< empty where nothing was written beyond the results

  bool holds(double x) const { return x == value || (std::isnan(x) && std::isnan(value)); }
  bool holds(std::int32_t x) const { return x == number; }
};

class kernel_probe {
 public:
  /// Operator `number` of `g`, which lives on and may get more operators.
  kernel_probe(const graph& g, int number, kernel_choice kernels) : graph_(g), number_(number), kernels_(kernels) {}

  std::vector<sampled_block> operand;
  unsigned positive = 0;  ///< operands whose values are positive

  const graph& model() const { return graph_; }
  const graph_operator& op() const { return graph_.op[number_]; }
  const factor_rule& rule() const { return graph_.rule_of(op()); }
  const operator_value& value() const { return graph_.value_of(op()); }
  bool holds_numbers(int i) const { return is_in(value().indices, i); }

  /// A term of operand `i`: values like its own. Empty for numbers.
  std::vector<double> term_of(int i, sample_numbers& random) const {
    return random.values(operand[static_cast<std::size_t>(i)].value.size(), is_in(positive, i));
  }

  std::string shapes() const { return text_of_shapes(graph_, op().operand, op().operand_count); }

  operator_call whole() const {
    operator_call c;
    c.attributes = &op();
    c.rule = &rule();
    c.step = step;
    for (int l = 0; l < op().loop_count; ++l) c.loop[l] = {0, op().loop[l].extent, op().loop[l].extent};
    return c;
  }
  static constexpr std::int64_t step = 3;

  /// The results of the box of `c` on its part of `operands`.
  sampled_results run(operator_call c, const std::vector<sampled_block>& operands, probe_memory& memory) const {
    std::vector<sampled_block> in(operands.size()), out;
    for (int i = 0; i < op().operand_count; ++i) {
      const sampled_block& all = operands[static_cast<std::size_t>(i)];
      sampled_block& to = in[static_cast<std::size_t>(i)];
      to = guarded(static_cast<std::size_t>(c.operand_elements(i)), holds_numbers(i), memory.around_operands, 0);
      for_each_element(c, rule().operand[i], [&](std::size_t inside, std::size_t local) {
        if (holds_numbers(i))
          to.number[guard + local] = all.number[inside];
        else
          to.value[guard + local] = all.value[inside];
      });
      c.operand[i] = holds_numbers(i) ? static_cast<const void*>(to.number.data() + guard) : to.value.data() + guard;
    }
    lay_out_results(c, out, memory);
    kernels_(op().kind)(c);
    return results_of(out, memory);
  }
  sampled_results run(const operator_call& c, const std::vector<sampled_block>& operands) const {
    probe_memory memory;
    return run(c, operands, memory);
  }

  /// The results' blocks of the whole after the box of `tile` within them.
  sampled_results run_within(const operator_call& tile, probe_memory& memory) const {
    operator_call c = whole();
    block_elements bytes;
    for (int i = 0; i < op().operand_count; ++i) {
      const sampled_block& all = operand[static_cast<std::size_t>(i)];
      c.operand[i] = holds_numbers(i) ? static_cast<const void*>(all.number.data()) : all.value.data();
      bytes.operand[i] = holds_numbers(i) ? sizeof(std::int32_t) : sizeof(double);
    }
    for (int r = 0; r < op().result_count; ++r)
      bytes.result[r] = is_in(value().index_results, r) ? sizeof(std::int32_t) : sizeof(double);
    std::vector<sampled_block> out;
    lay_out_results(c, out, memory);
    run_on_box({kernels_(op().kind)}, c, tile.loop, bytes);
    return results_of(out, memory);
  }

 private:
  static constexpr std::size_t guard = 8;  ///< elements before and after a block

  static sampled_block guarded(std::size_t elements, bool numbers, double value, std::int32_t number) {
    sampled_block b;
    if (numbers)
      b.number.assign(elements + 2 * guard, number);
    else
      b.value.assign(elements + 2 * guard, value);
    return b;
  }
  void lay_out_results(operator_call& c, std::vector<sampled_block>& out, const probe_memory& memory) const {
    out.resize(static_cast<std::size_t>(op().result_count));
    for (int r = 0; r < op().result_count; ++r) {
      const bool numbers = is_in(value().index_results, r);
      sampled_block& to = out[static_cast<std::size_t>(r)];
      to = guarded(static_cast<std::size_t>(c.result_elements(r)), numbers, memory.value, memory.number);
      c.result[r] = numbers ? static_cast<void*>(to.number.data() + guard) : to.value.data() + guard;
    }
  }
  static sampled_results results_of(const std::vector<sampled_block>& out, probe_memory& memory) {
    sampled_results made;
    for (std::size_t r = 0; r < out.size(); ++r)
      made.push_back(out[r].number.empty() ? unguarded(out[r].value, r, memory) : unguarded(out[r].number, r, memory));
    return made;
  }
  template <class X>
  static std::vector<double> unguarded(const std::vector<X>& block, std::size_t result, probe_memory& memory) {
    const auto begin = block.begin() + guard, end = block.end() - guard;
    const auto held = [&](X x) { return memory.holds(x); };
    if (!std::all_of(block.begin(), begin, held) || !std::all_of(end, block.end(), held))
      memory.fault = "the kernel writes beyond the block of result " + std::to_string(result);
    return {begin, end};
  }

  const graph& graph_;
  int number_;
  kernel_choice kernels_;
};

}  // namespace detail

}}  // namespace hyperparallel::v0_2
