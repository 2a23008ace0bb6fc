// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of check_operator.hpp; see support/compiled.hpp.

#include <map>

#include <hyperparallel/check/check_operator.hpp>
#include <hyperparallel/check/difference_quotient.hpp>
#include <hyperparallel/check/rule_check.hpp>
#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/world/single_device.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class operator_checker {
 public:
  operator_checker(const checked_operator& checked, const operator_options& how, const operator_check_options& options)
      : checked_(checked), how_(how), options_(options), engine_{options.seed} {}

  operator_check run() {
    if (!checked_.operators.has(checked_.op)) return {false, "the operator is not in the list", {}};
    if (checked_.kernels(checked_.op) == nullptr) return {false, name() + ": it has no kernel", {}};
    value().gradient(rules_);
    for (int round = 0; round < options_.rounds && check_.ok; ++round) check_round();
    for (int n = 0; n < rules_.count && options_.rounds > 0 && check_.ok; ++n) check_second_order(rules_.rule[n]);
    if (check_.ok) list_skipped();
    return check_;
  }

 private:
  static std::size_t at(extent_t i) { return static_cast<std::size_t>(i); }
  const operator_value& value() const { return checked_.operators[checked_.op]; }
  std::string name() const { return value().name; }

  void complain(const std::string& what) {
    if (check_.ok && !what.empty()) check_ = {false, what, {}};
  }
  void complain(const operator_sample& sample, const std::string& what) {
    if (!what.empty()) complain(name() + ": " + what + sample.shapes());
  }

  void check_round() {
    operator_sample sample(checked_, how_, options_, engine_);
    if (!sample.complaint.empty()) return complain(name() + ": " + sample.complaint);
    rule_check rule(sample, options_, random_);
    rule.run();
    complain(sample, rule.complaint);
    asked_factors_.merge(rule.cut);
    for (int f = 0; f < sample.rule().factor_count; ++f)
      if (!is_whole(sample.rule(), f)) factors_.insert(name_of_factor(sample.rule().factor[f]));
    serves_ = (rules_.count > 0 || value().passes_gradient != 0) && value().has_gradient_for(sample.rule());
    if (check_.ok && serves_) complain(sample, wrong_text(sample));
    for (int r = 0; r < sample.op().result_count && check_.ok; ++r) check_without_gradient(sample, r);
    if (check_.ok && serves_) check_gradient(sample);
  }

  // ---- texts of the gradient ----

  /// Whether some backward operator reads the gradient of result `r`, or an operand gets it as it is.
  bool reads_gradient_of(int r) const {
    bool read = r == 0 && value().passes_gradient != 0;
    for (int n = 0; n < rules_.count; ++n) read = read || reads_gradient(rules_.rule[n], r);
    return serves_ && read;
  }
  bool is_constant(int r) const { return is_in(value().constant | value().index_results, r); }

  /// "g0,x0>0" of cube_gradient
  std::string quoted(const gradient_rule& rule) const {
    const operator_value* const backward = rule.value != nullptr ? rule.value : &checked_.operators[rule.backward];
    return std::string("\"") + rule.text + "\" of " + backward->name;
  }

  std::string wrong_text(const operator_sample& sample) const {
    const graph_operator& o = sample.op();
    if (!gradient_passes(value(), sample.rule()))
      return "it passes the gradient of its first result to an operand of other dims, or of numbers";
    if (rules_.count > max_gradient_rules)
      return "its gradient names " + std::to_string(rules_.count) + " backward operators, at most " +
             std::to_string(max_gradient_rules) + " are taken";
    for (int n = 0; n < rules_.count; ++n) {
      const gradient_rule& rule = rules_.rule[n];
      if (rule.value == nullptr && !checked_.operators.has(rule.backward))
        return std::string("its gradient is refused: operator_is_not_in_the_list, that of \"") + rule.text + "\"";
      const std::string text = "its gradient text " + quoted(rule);
      const gradient_text_status s = check_gradient_text(rule.text, o.operand_count, o.result_count);
      if (s.code != gradient_text_code::ok)
        return text + " cannot be read: " + name_of(s.code) + ", character " + std::to_string(s.where);
      if (!checked_.operators.has(rule.backward))
        return "its gradient is refused: operator_is_not_in_the_list, " + quoted(rule);
      if (checked_.kernels(rule.backward) == nullptr) return text + ": the backward operator has no kernel";
      if (!numbers_fit(value(), checked_.operators[rule.backward], rule.text))
        return text + " takes or makes numbers of rows where the backward operator has floats, or the reverse";
      for (int r = 0; r < o.result_count; ++r)
        if (reads_gradient(rule, r) && is_constant(r))
          return text + " reads the gradient of result " + std::to_string(r) + ", which is constant or holds numbers";
    }
    return {};
  }

  // ---- the gradient ----

  /// A result whose gradient nothing reads, or that is stated to be constant, changes with no operand.
  void check_without_gradient(operator_sample& sample, int r) {
    const bool constant = is_in(value().constant, r);
    if (is_in(value().index_results, r) || value().constant == ~0u) return;
    if (!constant && (!serves_ || reads_gradient_of(r) || is_in(value().without_gradient, r))) return;
    const sampled_results made = sample.run(sample.whole(), sample.operand);
    const std::vector<double> weight = random_.values(made[at(r)].size(), false);
    const auto loss = [&] {
      const std::vector<double> now = sample.run(sample.whole(), sample.operand)[at(r)];
      double sum = 0;
      for (std::size_t e = 0; e < now.size(); ++e) sum += weight[e] * now[e];
      return sum;
    };
    for (int i = 0; i < sample.op().operand_count; ++i) {
      std::vector<double>& x = sample.operand[at(i)].value;
      const std::string result = "result " + std::to_string(r), operand = "operand " + std::to_string(i);
      for (int drawn = 0; drawn < 3 && !x.empty() && check_.ok; ++drawn) {
        double slope = 0;
        if (!is_smooth("whether " + result + " changes with " + operand, x, slope, loss) || fits(0, slope)) continue;
        complain(sample, (constant ? result + " is stated to be constant, and changes with "
                                   : "no backward operator reads the gradient of " + result + ", which changes with ") +
                             operand + ": the difference quotient is " + std::to_string(slope));
      }
    }
  }

  /// The loss is the sum of all results whose gradients the backward operators read, weighed at random.
  void check_gradient(operator_sample& sample) {
    model_builder& m = sample.builder;
    int loss = -1;
    std::vector<int> weights;
    for (int r = 0; r < sample.op().result_count; ++r) {
      if (!reads_gradient_of(r)) continue;
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
      std::string texts;
      for (int n = 0; n < rules_.count; ++n) texts += ", " + quoted(rules_.rule[n]);
      return complain(sample, std::string("its gradient is refused: ") + name_of(m.graph.status.code) + texts);
    }
    single_device<double> device(m.graph, checked_.kernels);
    device.set_steps(kernel_probe::step - 1);
    for (int i = 0; i < sample.op().operand_count; ++i) {
      if (sample.holds_numbers(i))
        device.indices(sample.op().operand[i]) = sample.operand[at(i)].number;
      else
        device.values(sample.op().operand[i]) = sample.operand[at(i)].value;
    }
    for (const int w : weights) device.values(w) = random_.values(device.values(w).size(), false);
    device.run(graph_phase::forward, graph_phase::backward);
    for (int i = 0; i < sample.op().operand_count && check_.ok; ++i)
      if (!sample.holds_numbers(i)) check_gradient_of(sample, device, i);
    device.run(graph_phase::forward, graph_phase::backward);
    for (int o = 0; o < m.graph.op.size && check_.ok; ++o)
      if (m.graph.op[o].forward == 0) check_backward(sample, device, o);
  }

  void check_gradient_of(operator_sample& sample, single_device<double>& device, int i) {
    const graph& g = sample.model();
    const int operand = sample.op().operand[i], gradient = gradient_of(g, operand);
    const std::vector<double> given =
        gradient < 0 ? std::vector<double>(device.values(operand).size(), 0.0) : device.values(gradient);
    for (int drawn = 0; drawn < 6 && !given.empty() && check_.ok; ++drawn) {
      std::size_t e = 0;
      double slope = 0;
      const bool smooth = is_smooth(
          "the gradient of operand " + std::to_string(i), device.values(operand), slope,
          [&] {
            device.run(graph_phase::forward, graph_phase::forward);
            return device.values(g.loss)[0];
          },
          &e);
      if (!smooth || fits(given[e], slope)) continue;
      complain(sample, "the gradient of operand " + std::to_string(i) + " is " +
                           (gradient < 0 ? std::string("none") : std::to_string(given[e])) +
                           ", the difference quotient " + std::to_string(slope));
    }
  }
  bool fits(double given, double slope) const {
    return std::abs(given - slope) <= options_.gradient_tolerance * std::max(1.0, std::abs(slope));
  }
  /// The slope at a random element of `x`. What has no smooth one in any round is listed as skipped.
  template <class Loss>
  bool is_smooth(const std::string& question, std::vector<double>& x, double& slope, const Loss& loss,
                 std::size_t* element = nullptr) {
    const std::size_t e = at(random_.below(static_cast<extent_t>(x.size())));
    if (element != nullptr) *element = e;
    const bool smooth = slope_at(x[e], slope, loss);
    smooth_[question] += smooth ? 1 : 0;
    return smooth;
  }
  // ---- backward operators ----

  /// Operator `o` of the sample's graph on the tensors that it has there.
  void check_backward(operator_sample& sample, single_device<double>& device, int o) {
    kernel_probe backward(sample.model(), o, checked_.kernels);
    for (int i = 0; i < backward.op().operand_count; ++i) {
      const int t = backward.op().operand[i];
      sampled_block b;
      if (backward.holds_numbers(i))
        b.number = device.indices(t);
      else
        b.value = device.values(t);
      for (int x = 0; x < sample.op().operand_count; ++x)
        if (sample.op().operand[x] == t && is_in(sample.positive, x)) backward.positive |= 1u << i;
      backward.operand.push_back(b);
    }
    rule_check rule(backward, options_, random_);
    rule.run();
    if (!rule.complaint.empty())
      complain(std::string(backward.value().name) + ", a backward operator of " + name() + ": " + rule.complaint +
               backward.shapes());
  }

  /// The gradient of a user's backward operator, where it has one: as an operator by itself, each once.
  void check_second_order(const gradient_rule& rule) {
    const operator_value& backward = checked_.operators[rule.backward];
    gradient_writer own(checked_.operators);
    backward.gradient(own);
    if (is_builtin(rule.backward) || own.count == 0 || !held_.insert(static_cast<int>(rule.backward)).second) return;
    operator_options how = how_;
    how.text = nullptr;
    operator_check_options options = options_;
    options.operands = 0;
    options.positive = 0;
    checked_operator checked = checked_;
    checked.op = rule.backward;
    checked.operands = 0;
    for (const char* at = rule.text; *at != '>'; at += at[2] == ',' ? 3 : 2, ++checked.operands)
      if (at[0] == 'x' && is_in(options_.positive, at[1] - '0')) options.positive |= 1u << checked.operands;
    operator_checker second(checked, how, options);
    second.held_ = held_;
    const operator_check done = second.run();
    held_ = second.held_;
    complain(done.complaint);
  }

  // ---- what no round could ask ----

  void list_skipped() {
    const auto skip = [this](const std::string& what) {
      check_.skipped.append(check_.skipped.empty() ? "" : "; ").append(what);
    };
    if (options_.rounds < 1) return skip("all of it: there was no round");
    if (factors_.empty()) skip("pieces: no factor may be sharded");
    for (const std::string& f : factors_)
      if (asked_factors_.count(f) == 0) skip("pieces along factor " + f + ": its extent was 1 each time");
    if (!serves_ && value().constant != ~0u && (value().index_results & 1u) == 0) skip("the gradient: it has none");
    for (const auto& [question, smooth] : smooth_)
      if (smooth == 0) skip(question + ": no difference quotient was smooth");
  }

  checked_operator checked_;
  operator_options how_;
  operator_check_options options_;
  keyed_sequence engine_;
  sample_numbers random_{options_, engine_};
  gradient_writer rules_{checked_.operators, checked_.operands};
  bool serves_ = false;                                ///< the gradient serves the rule of the sample
  std::set<std::string> factors_, asked_factors_;      ///< that may be sharded; whose pieces were asked
  std::set<int> held_{static_cast<int>(checked_.op)};  ///< operators whose gradients are held
  std::map<std::string, int> smooth_;                  ///< how often each question had a smooth difference quotient
  operator_check check_;
};

HYPERPARALLEL_BODY operator_check check_listed_operator(const checked_operator& checked, const operator_options& how,
                                                        const operator_check_options& options) {
  return operator_checker(checked, how, options).run();
}

}}}  // namespace hyperparallel::v0_2::detail
