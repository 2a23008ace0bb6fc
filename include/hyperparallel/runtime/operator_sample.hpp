// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator on random operands: as a graph of it alone, and its kernel on any box of its loops.
//
// Ranks of `*` are 0 to 2, extents 1 to `largest`; numbers of index operands are below the extent of the factor that the
// operator names, values of [lowest, highest) are not near 0, where functions may break.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <hyperparallel/graph/model_builder.hpp>
#include <hyperparallel/kernels/operator_call.hpp>
#include <hyperparallel/runtime/status_text.hpp>

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

struct checked_operator {
  operator_list operators{};
  operator_id op{};
  kernel_choice kernels = nullptr;
  int operands = 0;
};

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

class operator_sample {
 public:
  operator_sample(const checked_operator& checked, const operator_options& how, const operator_check_options& options,
                  std::mt19937_64& random)
      : builder({.operators = checked.operators}), checked_(checked), how_(how), options_(options), random_(random) {
    build();
    if (complaint.empty()) fill();
  }

  model_builder builder;
  std::string complaint;  ///< why the operator has no sample
  std::vector<sampled_block> operand;
  int first_result = -1;

  const operator_value& value() const { return checked_.operators[checked_.op]; }
  const graph& model() const { return builder.graph; }
  const graph_operator& op() const { return model().op[0]; }
  const factor_rule& rule() const { return model().rule_of(op()); }
  bool holds_numbers(int i) const { return is_in(value().indices, i); }

  double random_value() {
    const double part = static_cast<double>(random_() >> 11) * 0x1p-53;
    const double v = options_.lowest + part * (options_.highest - options_.lowest);
    if (std::abs(v) >= 1e-2) return v;
    return options_.highest > 0 ? 0.5 * options_.highest : 0.5 * options_.lowest;
  }
  extent_t below(extent_t n) { return static_cast<extent_t>(random_() % static_cast<std::uint64_t>(n)); }

  /// A term of operand `i`: values like its own. Empty for numbers.
  std::vector<double> random_values(int i) {
    std::vector<double> v(operand[static_cast<std::size_t>(i)].value.size());
    for (double& x : v) x = is_in(options_.positive, i) ? std::abs(random_value()) : random_value();
    return v;
  }

  std::string shapes() const {
    std::string s;
    for (int i = 0; i < model().tensor.size && i < checked_.operands; ++i) {
      s += i == 0 ? "; operands (" : ", (";
      for (int d = 0; d < model().tensor[i].shape.rank; ++d)
        s.append(d > 0 ? ", " : "").append(std::to_string(model().tensor[i].shape.extent[d]));
      s += ")";
    }
    return s;
  }

  operator_call whole() const {
    operator_call c;
    c.attributes = &op();
    c.rule = &rule();
    c.step = 3;
    for (int l = 0; l < op().loop_count; ++l) c.loop[l] = {0, op().loop[l].extent, op().loop[l].extent};
    return c;
  }

  /// The results of the box of `c` on its part of `operands`.
  sampled_results run(operator_call c, const std::vector<sampled_block>& operands) const {
    std::vector<sampled_block> in(operands.size());
    for (int i = 0; i < op().operand_count; ++i) {
      sampled_block& to = in[static_cast<std::size_t>(i)];
      const sampled_block& all = operands[static_cast<std::size_t>(i)];
      for_each_element(c, rule().operand[i], [&](std::size_t inside, std::size_t) {
        if (holds_numbers(i))
          to.number.push_back(all.number[inside]);
        else
          to.value.push_back(all.value[inside]);
      });
      c.operand[i] = holds_numbers(i) ? static_cast<const void*>(to.number.data()) : to.value.data();
    }
    sampled_results out(static_cast<std::size_t>(op().result_count));
    std::vector<std::vector<std::int32_t>> numbers(out.size());
    for (int r = 0; r < op().result_count; ++r) {
      const std::size_t at = static_cast<std::size_t>(r), n = static_cast<std::size_t>(c.result_elements(r));
      out[at].assign(n, std::nan(""));
      numbers[at].assign(n, -77);
      c.result[r] = is_in(value().index_results, r) ? static_cast<void*>(numbers[at].data()) : out[at].data();
    }
    checked_.kernels(checked_.op)(c);
    for (std::size_t r = 0; r < out.size(); ++r)
      if (is_in(value().index_results, static_cast<int>(r))) out[r].assign(numbers[r].begin(), numbers[r].end());
    return out;
  }

 private:
  extent_t random_extent(const factor& x) {
    if (x.extent > 0) return x.extent;
    const extent_t drawn = 1 + below(options_.largest);
    return options_.extent_of == nullptr ? drawn : options_.extent_of(x.letter, drawn);
  }

  void build() {
    const char* const text = how_.text != nullptr ? how_.text : value().text;
    operand_ranks ranks{checked_.operands};
    const int star = static_cast<int>(below(3));
    const char *part = text, *letter = text;
    for (int i = 0; i < ranks.count; ++i) {  // the last part is repeated
      for (letter = part; *letter != ',' && *letter != '-' && *letter != '\0'; ++letter)
        ranks.rank[i] += *letter == '*' ? star : 1;
      if (*letter == ',') part = letter + 1;
    }
    const rule_result read = rule_from(value().name, text, {how_.reduction, value().partials}, ranks);
    if (read.status.code != rule_code::ok) {
      complaint = std::string("its rule \"") + text + "\" is none: " + name_of(read.status.code) + ", " +
                  std::to_string(read.status.where);
      return;
    }
    int dim[max_factors] = {};
    operator_options how = how_;
    how.text = text;
    for (int f = 0; f < read.rule.factor_count; ++f) {
      const factor& x = read.rule.factor[f];
      dim[f] = builder.dim(("factor" + std::to_string(f)).c_str(), random_extent(x));
      bool read_somewhere = false;
      for (int i = 0; i < ranks.count; ++i) read_somewhere = read_somewhere || has_factor(read.rule.operand[i], f);
      if (!read_somewhere && how.created_count < 3) how.created[how.created_count++] = {x.letter, dim[f]};
    }
    number_list operands;
    for (int i = 0; i < ranks.count; ++i) {
      number_list dims;
      const tensor_factors& t = read.rule.operand[i];
      for (int d = 0; d < t.rank; ++d) dims.item[dims.count++] = dim[t.term[d]];
      const std::string name = "operand" + std::to_string(i);
      operands.item[operands.count++] =
          holds_numbers(i) ? builder.index_input(name.c_str(), dims) : builder.parameter(name.c_str(), dims);
    }
    first_result = builder.apply(checked_.op, "checked", operands, how);
    if (model().status.code != graph_code::ok)
      complaint = std::string("it does not bind: ") + name_of(model().status.code);
  }

  void fill() {
    operand.resize(static_cast<std::size_t>(op().operand_count));
    for (int i = 0; i < op().operand_count; ++i) {
      const graph_tensor& t = model().tensor[op().operand[i]];
      sampled_block& b = operand[static_cast<std::size_t>(i)];
      if (holds_numbers(i)) {
        b.number.resize(static_cast<std::size_t>(elements_of(t)));
        fill_numbers(b.number, t.shape.rank == 0 ? 1 : t.shape.extent[t.shape.rank - 1]);
      } else {
        b.value.resize(static_cast<std::size_t>(elements_of(t)));
        b.value = random_values(i);
      }
    }
  }

  /// Those of one row are distinct as far as there are so many, as a router's choices are.
  void fill_numbers(std::vector<std::int32_t>& number, extent_t row) {
    extent_t limit = options_.rows;
    for (int f = 0; f < rule().factor_count; ++f)
      if (value().index_below != '\0' && rule().factor[f].letter == value().index_below) limit = op().loop[f].extent;
    for (std::size_t i = 0; i < number.size(); ++i) {
      const std::size_t first = i - i % static_cast<std::size_t>(row);
      std::int32_t n = static_cast<std::int32_t>(below(limit));
      const auto taken = [&] {
        return std::find(number.begin() + static_cast<std::ptrdiff_t>(first),
                         number.begin() + static_cast<std::ptrdiff_t>(i),
                         n) != number.begin() + static_cast<std::ptrdiff_t>(i);
      };
      for (extent_t tries = 0; tries < limit && taken(); ++tries) n = static_cast<std::int32_t>((n + 1) % limit);
      number[i] = value().index_or_negative && below(5) == 0 ? -1 : n;
    }
  }

  const checked_operator& checked_;
  const operator_options& how_;
  const operator_check_options& options_;
  std::mt19937_64& random_;
};

}  // namespace detail

}}  // namespace hyperparallel::v0_2
