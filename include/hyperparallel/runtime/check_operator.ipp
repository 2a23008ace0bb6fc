// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of check_operator.hpp; see support/compiled.hpp.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include <hyperparallel/model/gradient.hpp>
#include <hyperparallel/runtime/check_operator.hpp>
#include <hyperparallel/runtime/dtensor/status_text.hpp>
#include <hyperparallel/runtime/model_kernels/single_device.hpp>

namespace hyperparallel::inline v0_2 {

namespace detail {

/// A whole tensor, or the block of a box: one of the two is used.
struct checked_block {
  std::vector<double> value;
  std::vector<std::int32_t> number;
};

class operator_checker {
 public:
  operator_checker(const checked_operator& checked, const operator_options& how, const operator_check_options& options)
      : checked_(checked), how_(how), options_(options), random_(options.seed) {}

  operator_check run() {
    if (!checked_.own.has(checked_.op)) return {false, "the operator is not in the list"};
    if (checked_.kernels(checked_.op) == nullptr) return complain("it has no kernel");
    for (int round = 0; round < options_.rounds && check_.ok; ++round) {
      builder_ = model_builder({.operators = checked_.own});
      if (!build()) break;
      fill();
      check_pieces();
      if (check_.ok && checked_.own.item[static_cast<int>(checked_.op) - model_op_count]->gradient != nullptr)
        check_gradient();
    }
    return check_;
  }

 private:
  const operator_row& row() const { return checked_.own.row_of(checked_.op); }
  const graph& model() const { return builder_.graph; }
  const graph_operator& op() const { return model().op[0]; }
  const factor_rule& rule() const { return model().rule_of(op()); }
  static std::size_t at(extent_t i) { return static_cast<std::size_t>(i); }
  extent_t below(extent_t n) { return static_cast<extent_t>(random_() % static_cast<std::uint64_t>(n)); }

  operator_check complain(const std::string& what) {
    std::string shapes;
    for (int i = 0; i < model().tensor.size && i < checked_.operands; ++i) {
      shapes += i == 0 ? "; operands (" : ", (";
      for (int d = 0; d < model().tensor[i].shape.rank; ++d)
        shapes += (d > 0 ? ", " : "") + std::to_string(model().tensor[i].shape.extent[d]);
      shapes += ")";
    }
    return check_ = {false, std::string(row().name) + ": " + what + shapes};
  }

  double value() {
    const double part = static_cast<double>(random_() >> 11) * 0x1p-53;
    const double v = options_.lowest + part * (options_.highest - options_.lowest);
    return std::abs(v) < 1e-2 ? value_away_from_zero() : v;
  }
  double value_away_from_zero() const { return options_.highest > 0 ? 0.5 * options_.highest : 0.5 * options_.lowest; }

  /// The operator on operands of random ranks and extents, as a graph of it alone.
  bool build() {
    const char* const text = how_.text != nullptr ? how_.text : row().text;
    operand_ranks ranks{checked_.operands};
    const int star = static_cast<int>(below(3));
    const char* letter = text;
    for (int i = 0; i < ranks.count; ++i, ++letter)
      for (; *letter != ',' && *letter != '-' && *letter != '\0'; ++letter) ranks.rank[i] += *letter == '*' ? star : 1;
    const rule_result read = rule_from(row().name, text, {how_.reduction, row().partials}, ranks);
    if (read.status.code != rule_code::ok) {
      complain(std::string("its rule \"") + text + "\" is none: " + name_of(read.status.code) + ", " +
               std::to_string(read.status.where));
      return false;
    }
    int dim[max_factors] = {};
    operator_options how = how_;
    how.text = text;
    for (int f = 0; f < read.rule.factor_count; ++f) {
      const factor& x = read.rule.factor[f];
      const extent_t extent = x.extent > 0 ? x.extent : 1 + below(options_.largest);
      dim[f] = builder_.dim(("factor" + std::to_string(f)).c_str(), extent);
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
      operands.item[operands.count++] = (checked_.indices >> i & 1u) != 0 ? builder_.index_input(name.c_str(), dims)
                                                                          : builder_.parameter(name.c_str(), dims);
    }
    first_result_ = builder_.apply(checked_.op, "checked", operands, how);
    if (model().status.code == graph_code::ok) return true;
    complain(std::string("it does not bind: ") + name_of(model().status.code));
    return false;
  }

  void fill() {
    operand_.assign(at(op().operand_count), {});
    for (int i = 0; i < op().operand_count; ++i) {
      const extent_t n = elements_of(model().tensor[op().operand[i]]);
      for (extent_t e = 0; e < n; ++e) {
        if ((checked_.indices >> i & 1u) != 0)
          operand_[at(i)].number.push_back(static_cast<std::int32_t>(below(options_.rows)));
        else
          operand_[at(i)].value.push_back(value());
      }
    }
  }

  /// body(place in the whole tensor, place in the box's block), in the block's order.
  template <class Body>
  static void for_each_element(const operator_call& c, const tensor_factors& t, const Body& body) {
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
      body(inside, local);
    }
  }

  operator_call whole() const {
    operator_call c;
    c.op = &op();
    c.rule = &rule();
    for (int l = 0; l < op().loop_count; ++l) c.loop[l] = {0, op().loop[l].extent, op().loop[l].extent};
    return c;
  }

  /// The results of the box of `c`.
  std::vector<std::vector<double>> run_box(operator_call c) const {
    std::vector<checked_block> in(operand_.size());
    for (int i = 0; i < op().operand_count; ++i) {
      checked_block& to = in[at(i)];
      const checked_block& all = operand_[at(i)];
      for_each_element(c, rule().operand[i], [&](extent_t inside, extent_t) {
        if (all.number.empty())
          to.value.push_back(all.value[at(inside)]);
        else
          to.number.push_back(all.number[at(inside)]);
      });
      c.operand[i] = all.number.empty() ? static_cast<const void*>(to.value.data()) : to.number.data();
    }
    std::vector<std::vector<double>> out(at(op().result_count));
    for (int r = 0; r < op().result_count; ++r) {
      out[at(r)].assign(at(c.result_elements(r)), std::nan(""));
      c.result[r] = out[at(r)].data();
    }
    checked_.kernels(checked_.op)(c);
    return out;
  }

  static double reduced(reduce_op op, double a, double b) {
    switch (op) {
      case reduce_op::max:
        return std::max(a, b);
      case reduce_op::min:
        return std::min(a, b);
      case reduce_op::prod:
        return a * b;
      case reduce_op::none:
        return a;
      default:
        return a + b;
    }
  }

  std::string name_of_factor(int f) const {
    const char letter = rule().factor[f].letter;
    return letter == 0 ? "of *" : std::string("'") + letter + "'";
  }

  void check_pieces() {
    const std::vector<std::vector<double>> all = run_box(whole());
    for (int f = 0; f < rule().factor_count && check_.ok; ++f) {
      const extent_t extent = op().loop[f].extent;
      if (is_whole(rule(), f) || extent < 2) continue;
      operator_call first = whole(), second = whole();
      const extent_t cut = 1 + below(extent - 1);
      first.loop[f].extent = second.loop[f].begin = cut;
      second.loop[f].extent = extent - cut;
      const std::vector<std::vector<double>> a = run_box(first), b = run_box(second);
      for (int r = 0; r < op().result_count && check_.ok; ++r) {
        std::vector<double> joined(all[at(r)].size(), std::nan(""));
        const tensor_factors& t = rule().result[r];
        const bool lacks = !has_factor(t, f);
        for_each_element(first, t, [&](extent_t inside, extent_t local) { joined[at(inside)] = a[at(r)][at(local)]; });
        for_each_element(second, t, [&](extent_t inside, extent_t local) {
          double& to = joined[at(inside)];
          to = lacks ? reduced(rule().factor[f].op, to, b[at(r)][at(local)]) : b[at(r)][at(local)];
        });
        for (std::size_t e = 0; e < joined.size() && check_.ok; ++e) {
          const double expected = all[at(r)][e];
          if (std::abs(joined[e] - expected) <= options_.tolerance * std::max(1.0, std::abs(expected))) continue;
          complain("result " + std::to_string(r) + " of two pieces along factor " + name_of_factor(f) +
                   (lacks ? ", reduced," : "") + " is " + std::to_string(joined[e]) + ", of the whole " +
                   std::to_string(expected));
        }
      }
    }
  }

  /// The loss is the sum of all results, weighed at random.
  void check_gradient() {
    int loss = -1;
    std::vector<int> weights;
    for (int r = 0; r < rule().result_count; ++r) {
      const graph_tensor made = model().tensor[first_result_ + r];
      number_list dims;
      for (int d = 0; d < made.shape.rank; ++d) dims.item[dims.count++] = made.dim[d];
      std::string letters;
      for (int d = 0; d < dims.count; ++d) letters += static_cast<char>('a' + d);
      const std::string number = std::to_string(r);
      weights.push_back(builder_.input(("weight" + number).c_str(), dims));
      const int term = builder_.contract(("term" + number).c_str(), (letters + "," + letters + "->").c_str(),
                                         first_result_ + r, weights.back());
      loss = loss < 0 ? term : builder_.sum(("sum" + number).c_str(), loss, term);
    }
    builder_.loss(loss);
    differentiate(builder_.graph);
    if (model().status.code != graph_code::ok) {
      complain(std::string("its gradient is refused: ") + name_of(model().status.code));
      return;
    }
    single_device<double> device(model(), checked_.kernels);
    for (int i = 0; i < op().operand_count; ++i) {
      if (operand_[at(i)].number.empty())
        device.values(op().operand[i]) = operand_[at(i)].value;
      else
        device.indices(op().operand[i]) = operand_[at(i)].number;
    }
    for (const int w : weights)
      for (double& x : device.values(w)) x = value();
    device.run(graph_phase::forward, graph_phase::backward);
    for (int i = 0; i < op().operand_count && check_.ok; ++i)
      if (operand_[at(i)].number.empty()) check_gradient_of(device, i);
  }

  void check_gradient_of(single_device<double>& device, int i) {
    constexpr double step = 1e-6;
    const int operand = op().operand[i], gradient = gradient_of(model(), operand);
    const std::vector<double> given =
        gradient < 0 ? std::vector<double>(device.values(operand).size(), 0.0) : device.values(gradient);
    const auto loss_with = [&](double& x, double v) {
      x = v;
      device.run(graph_phase::forward, graph_phase::forward);
      return device.values(model().loss)[0];
    };
    for (int sample = 0; sample < 6 && !given.empty() && check_.ok; ++sample) {
      const std::size_t e = at(below(static_cast<extent_t>(given.size())));
      double& x = device.values(operand)[e];
      const double kept = x, above = loss_with(x, kept + step), below_it = loss_with(x, kept - step);
      x = kept;
      const double difference = (above - below_it) / (2 * step);
      if (std::abs(given[e] - difference) <= options_.gradient_tolerance * std::max(1.0, std::abs(difference)))
        continue;
      complain("the gradient of operand " + std::to_string(i) + " is " +
               (gradient < 0 ? std::string("none") : std::to_string(given[e])) + ", the difference quotient " +
               std::to_string(difference));
    }
  }

  checked_operator checked_;
  operator_options how_;
  operator_check_options options_;
  std::mt19937_64 random_;
  model_builder builder_;
  int first_result_ = -1;
  std::vector<checked_block> operand_;
  operator_check check_;
};

HYPERPARALLEL_BODY operator_check check_own_operator(const checked_operator& checked, const operator_options& how,
                                                     const operator_check_options& options) {
  return operator_checker(checked, how, options).run();
}

}  // namespace detail

}  // namespace hyperparallel::inline v0_2
