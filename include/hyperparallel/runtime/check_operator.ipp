// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of check_operator.hpp; see support/compiled.hpp.

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/runtime/check_operator.hpp>
#include <hyperparallel/runtime/single_device.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class operator_checker {
 public:
  operator_checker(const checked_operator& checked, const operator_options& how, const operator_check_options& options)
      : checked_(checked), how_(how), options_(options), random_(options.seed) {}

  operator_check run() {
    if (!checked_.operators.has(checked_.op)) return {false, "the operator is not in the list"};
    const operator_value& value = checked_.operators[checked_.op];
    if (checked_.kernels(checked_.op) == nullptr) return {false, std::string(value.name) + ": it has no kernel"};
    for (int round = 0; round < options_.rounds && check_.ok; ++round) {
      operator_sample sample(checked_, how_, options_, random_);
      if (!sample.complaint.empty()) return complain(sample, sample.complaint);
      const sampled_results all = sample.run(sample.whole(), sample.operand);
      for (int f = 0; f < sample.rule().factor_count && check_.ok; ++f)
        if (!is_whole(sample.rule(), f) && sample.op().loop[f].extent > 1) check_pieces(sample, all, f);
      for (int op = 1; op < reduce_op_count && check_.ok; ++op) check_words(sample, static_cast<reduce_op>(op));
      gradient_writer rules(checked_.operators);
      value.gradient(rules);
      const bool has_gradient = rules.count > 0 && value.has_gradient_for(sample.rule());
      if (check_.ok && has_gradient) check_gradient(sample);
    }
    return check_;
  }

 private:
  static std::size_t at(extent_t i) { return static_cast<std::size_t>(i); }

  operator_check complain(const operator_sample& sample, const std::string& what) {
    return check_ = {false, std::string(sample.value().name) + ": " + what + sample.shapes()};
  }

  static double reduced(reduce_op op, double a, double b) {
    switch (op) {
      case reduce_op::max:
        return std::max(a, b);
      case reduce_op::min:
        return std::min(a, b);
      case reduce_op::prod:
        return a * b;
      case reduce_op::avg:
        return (a + b) / 2;
      case reduce_op::all:
        return a != 0 && b != 0 ? 1 : 0;
      case reduce_op::any:
        return a != 0 || b != 0 ? 1 : 0;
      case reduce_op::none:
        return a;
      default:
        return a + b;
    }
  }
  bool agree(double a, double b) const {
    return a == b || std::abs(a - b) <= options_.tolerance * std::max(1.0, std::abs(b));
  }

  static std::string name_of_factor(const factor& f) {
    return f.letter == 0 ? "of *" : std::string("'") + f.letter + "'";
  }

  // ---- the rule ----

  void check_pieces(operator_sample& sample, const sampled_results& all, int f) {
    const extent_t extent = sample.op().loop[f].extent, cut = 1 + sample.below(extent - 1);
    operator_call first = sample.whole(), second = sample.whole();
    first.loop[f].extent = second.loop[f].begin = cut;
    second.loop[f].extent = extent - cut;
    const sampled_results a = sample.run(first, sample.operand), b = sample.run(second, sample.operand);
    for (int r = 0; r < sample.op().result_count && check_.ok; ++r) {
      std::vector<double> joined(all[at(r)].size(), std::nan(""));
      const tensor_factors& t = sample.rule().result[r];
      const bool lacks = !has_factor(t, f);
      for_each_element(first, t, [&](std::size_t inside, std::size_t local) { joined[inside] = a[at(r)][local]; });
      for_each_element(second, t, [&](std::size_t inside, std::size_t local) {
        joined[inside] = lacks ? reduced(sample.rule().factor[f].op, joined[inside], b[at(r)][local]) : b[at(r)][local];
      });
      for (std::size_t e = 0; e < joined.size() && check_.ok; ++e)
        if (!agree(joined[e], all[at(r)][e]))
          complain(sample, "result " + std::to_string(r) + " of two pieces along factor " +
                               name_of_factor(sample.rule().factor[f]) + (lacks ? ", reduced," : "") + " is " +
                               std::to_string(joined[e]) + ", of the whole " + std::to_string(all[at(r)][e]));
    }
  }

  // ---- partial operands ----

  /// What the words say of operands that are partial by `op`: each alone, or all of a group together.
  void check_words(operator_sample& sample, reduce_op op) {
    const int operands = sample.op().operand_count;
    const auto word = [&](int i) { return word_of(sample.rule().partials, i, op); };
    unsigned group = 0;
    for (int i = 0; i < operands && check_.ok; ++i) {
      if (word(i).mode != partial_mode::refuses && sample.holds_numbers(i))
        complain(sample, "operand " + std::to_string(i) + " holds numbers, yet may be partial by " + name_of(op));
      else if (word(i).mode == partial_mode::each)
        check_terms(sample, 1u << i, op, word(i).out);
      else if (word(i).mode == partial_mode::together)
        group |= 1u << i;
    }
    if (group == 0 || !check_.ok) return;
    int first = 0;
    while (!is_in(group, first)) ++first;
    check_terms(sample, group, op, word(first).out);
  }

  /// Two terms of each operand of `group`, reduced before or after. An operand that joins has its value in the first term
  /// and the identity in the other.
  void check_terms(operator_sample& sample, unsigned group, reduce_op op, reduce_op out) {
    std::vector<sampled_block> a = sample.operand, b = sample.operand, both = sample.operand;
    for (int i = 0; i < sample.op().operand_count; ++i) {
      const bool joins = word_of(sample.rule().partials, i, op).mode == partial_mode::joins;
      if (is_in(group, i)) b[at(i)].value = sample.random_values(i);
      if (joins && !is_idempotent(op)) b[at(i)].value.assign(b[at(i)].value.size(), op == reduce_op::prod ? 1.0 : 0.0);
      for (std::size_t e = 0; e < both[at(i)].value.size() && is_in(group, i); ++e)
        both[at(i)].value[e] = reduced(op, a[at(i)].value[e], b[at(i)].value[e]);
    }
    const operator_call whole = sample.whole();
    const sampled_results of_a = sample.run(whole, a), of_b = sample.run(whole, b), of_both = sample.run(whole, both);
    for (std::size_t r = 0; r < of_both.size(); ++r)
      for (std::size_t e = 0; e < of_both[r].size() && check_.ok; ++e) {
        const double joined = reduced(out, of_a[r][e], of_b[r][e]);
        if (!agree(joined, of_both[r][e]))
          complain(sample, "result " + std::to_string(r) + " of two terms of the operands " + digits(group) +
                               ", partial by " + name_of(op) + ", is " + std::to_string(joined) + ", of their " +
                               name_of(op) + " " + std::to_string(of_both[r][e]));
      }
  }
  static std::string digits(unsigned group) {
    std::string s;
    for (int i = 0; i < max_operands; ++i)
      if (is_in(group, i)) s.append(s.empty() ? "" : ", ").append(std::to_string(i));
    return s;
  }

  // ---- the gradient ----

  /// The loss is the sum of all results whose gradients the backward operators read, weighed at random.
  void check_gradient(operator_sample& sample) {
    model_builder& m = sample.builder;
    int loss = -1;
    std::vector<int> weights;
    gradient_writer rules(checked_.operators);
    sample.value().gradient(rules);
    for (int r = 0; r < sample.rule().result_count; ++r) {
      bool read = false;
      for (int n = 0; n < rules.count && n < max_gradient_rules; ++n)
        read = read || (reads_as_gradient(rules.rule[n].text, sample.op().operand_count, sample.op().result_count) &&
                        reads_gradient(rules.rule[n], r));
      if (!read) continue;
      const graph_tensor made = m.graph.tensor[sample.first_result + r];
      number_list dims;
      std::string letters;
      for (int d = 0; d < made.shape.rank; ++d) {
        dims.item[dims.count++] = made.dim[d];
        letters += static_cast<char>('a' + d);
      }
      const std::string number = std::to_string(r);
      weights.push_back(m.input(("weight" + number).c_str(), dims));
      const int term = m.contract(("term" + number).c_str(), (letters + "," + letters + "->").c_str(),
                                  sample.first_result + r, weights.back());
      loss = loss < 0 ? term : m.sum(("sum" + number).c_str(), loss, term);
    }
    m.loss(loss);
    differentiate(m.graph);
    if (m.graph.status.code != graph_code::ok) {
      complain(sample, std::string("its gradient is refused: ") + name_of(m.graph.status.code));
      return;
    }
    single_device<double> device(m.graph, checked_.kernels);
    for (int i = 0; i < sample.op().operand_count; ++i) {
      if (sample.holds_numbers(i))
        device.indices(sample.op().operand[i]) = sample.operand[at(i)].number;
      else
        device.values(sample.op().operand[i]) = sample.operand[at(i)].value;
    }
    for (const int w : weights)
      for (double& x : device.values(w)) x = sample.random_value();
    device.run(graph_phase::forward, graph_phase::backward);
    for (int i = 0; i < sample.op().operand_count && check_.ok; ++i)
      if (!sample.holds_numbers(i)) check_gradient_of(sample, device, i);
  }

  void check_gradient_of(operator_sample& sample, single_device<double>& device, int i) {
    const graph& g = sample.model();
    const int operand = sample.op().operand[i], gradient = gradient_of(g, operand);
    const std::vector<double> given =
        gradient < 0 ? std::vector<double>(device.values(operand).size(), 0.0) : device.values(gradient);
    for (int drawn = 0; drawn < 6 && !given.empty() && check_.ok; ++drawn) {
      const std::size_t e = at(sample.below(static_cast<extent_t>(given.size())));
      double slope = 0;
      const bool smooth = slope_at(device.values(operand)[e], slope, [&] {
        device.run(graph_phase::forward, graph_phase::forward);
        return device.values(g.loss)[0];
      });
      if (!smooth || std::abs(given[e] - slope) <= options_.gradient_tolerance * std::max(1.0, std::abs(slope)))
        continue;
      complain(sample, "the gradient of operand " + std::to_string(i) + " is " +
                           (gradient < 0 ? std::string("none") : std::to_string(given[e])) +
                           ", the difference quotient " + std::to_string(slope));
    }
  }
  /// Fourth-order central difference of loss() at x. False where the loss breaks within the steps, as a choice does: the
  /// differences of one step and of two are then far apart.
  template <class Loss>
  static bool slope_at(double& x, double& slope, const Loss& loss) {
    constexpr double step = 1e-4;
    const double kept = x;
    const auto quotient = [&](double steps) {
      x = kept + steps * step;
      const double above = loss();
      x = kept - steps * step;
      return (above - loss()) / (2 * steps * step);
    };
    const double near = quotient(1), far = quotient(2);
    x = kept;
    slope = (4 * near - far) / 3;
    return std::abs(near - far) <= 1e-3 * std::max(1.0, std::abs(slope));
  }

  checked_operator checked_;
  operator_options how_;
  operator_check_options options_;
  std::mt19937_64 random_;
  operator_check check_;
};

HYPERPARALLEL_BODY operator_check check_listed_operator(const checked_operator& checked, const operator_options& how,
                                                        const operator_check_options& options) {
  return operator_checker(checked, how, options).run();
}

}}}  // namespace hyperparallel::v0_2::detail
