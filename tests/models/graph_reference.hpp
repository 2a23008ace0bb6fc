// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plain evaluator of unrolled graphs for tests: one device, double precision, every operator by brute force over the
// box of its loops. It knows the operators that element-wise and row-wise layers need, not attention nor routing.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include <hyperparallel/graph/graph.hpp>

namespace hyperparallel::test {

using tensor_values = std::vector<std::vector<double>>;

/// Row-major offset of the tensor's element at a point of the loops.
inline std::size_t offset_of(const shape& s, const tensor_factors& t, const std::vector<extent_t>& at) {
  extent_t offset = 0;
  for (int d = 0; d < t.rank; ++d) offset = offset * s.extent[d] + at[static_cast<std::size_t>(t.term[d])];
  return static_cast<std::size_t>(offset);
}

/// Calls `body(point)` for every point of the loops for which `wanted(l)`; others stay 0.
template <class Wanted, class Body>
void for_each_point(const graph_operator& o, const Wanted& wanted, const Body& body) {
  std::vector<extent_t> at(max_operator_loops, 0);
  for (;;) {
    body(at);
    int l = o.loop_count - 1;
    for (; l >= 0; --l) {
      if (!wanted(l)) continue;
      const auto place = static_cast<std::size_t>(l);
      if (++at[place] < o.loop[l].extent) break;
      at[place] = 0;
    }
    if (l < 0) return;
  }
}

class graph_evaluator {
 public:
  explicit graph_evaluator(const graph& given) : g(given), value(static_cast<std::size_t>(given.tensor.size)) {
    for (int t = 0; t < g.tensor.size; ++t)
      if (g.tensor[t].producer < 0) of(t).assign(static_cast<std::size_t>(elements_of(g.tensor[t])), 0.0);
  }

  std::vector<double>& of(int tensor) { return value[static_cast<std::size_t>(tensor)]; }

  /// Runs the operators of the phases [first, last]; next values then take the place of what they replace.
  void run(graph_phase first, graph_phase last) {
    for (int o = 0; o < g.op.size; ++o)
      if (g.op[o].phase >= first && g.op[o].phase <= last) run_operator(g.op[o]);
    for (int t = 0; t < g.tensor.size; ++t)
      if (g.tensor[t].replaces >= 0 && !of(t).empty()) of(g.tensor[t].replaces) = of(t);
  }
  double loss() { return of(g.loss)[0]; }

 private:
  void run_operator(const graph_operator& o) {
    for (int r = 0; r < o.result_count; ++r)
      of(o.result[r])
          .assign(static_cast<std::size_t>(elements_of(g.tensor[o.result[r]])),
                  o.reduction == reduce_op::max ? -1e300 : 0.0);
    const factor_rule& rule = g.rule_of(o);
    const auto all = [](int) { return true; };
    const auto x = [&](int i, const std::vector<extent_t>& at) -> double& {
      return of(o.operand[i])[offset_of(g.tensor[o.operand[i]].shape, rule.operand[i], at)];
    };
    const auto y = [&](int r, const std::vector<extent_t>& at) -> double& {
      return of(o.result[r])[offset_of(g.tensor[o.result[r]].shape, rule.result[r], at)];
    };
    const auto sigmoid = [](double v) { return 1.0 / (1.0 + std::exp(-v)); };
    const auto silu_slope = [&](double v) { return sigmoid(v) * (1.0 + v * (1.0 - sigmoid(v))); };
    const int last = o.operand_count > 0 ? rule.operand[0].term[rule.operand[0].rank - 1] : 0;  // of rows
    const auto rows = [last](int l) { return l != last; };
    const auto in_row = [&](std::vector<extent_t> at, const auto& body) {
      for (extent_t i = 0; i < o.loop[last].extent; ++i) {
        at[static_cast<std::size_t>(last)] = i;
        body(at);
      }
    };
    switch (o.kind) {
      case id_of<ops::fill>:
        y(0, std::vector<extent_t>(max_operator_loops, 0)) = o.real[0];
        return;
      case id_of<ops::contract>:
        return for_each_point(o, all, [&](const auto& at) { y(0, at) += x(0, at) * x(1, at); });
      case id_of<ops::reduce>:
        return for_each_point(o, all, [&](const auto& at) {
          y(0, at) = o.reduction == reduce_op::max ? std::max(y(0, at), x(0, at)) : y(0, at) + x(0, at);
        });
      case id_of<ops::broadcast>:
        return for_each_point(o, all, [&](const auto& at) { y(0, at) = x(0, at); });
      case id_of<ops::sum>:
      case id_of<ops::accumulate>:
        return for_each_point(o, all, [&](const auto& at) {
          for (int i = 0; i < o.operand_count; ++i) y(0, at) += x(i, at);
        });
      case id_of<ops::scale>:
        return for_each_point(o, all, [&](const auto& at) { y(0, at) = o.real[0] * x(0, at); });
      case id_of<ops::multiply>:
        return for_each_point(o, all, [&](const auto& at) { y(0, at) = x(0, at) * x(1, at); });
      case id_of<ops::silu>:
        return for_each_point(o, all, [&](const auto& at) { y(0, at) = x(0, at) * sigmoid(x(0, at)); });
      case id_of<ops::silu_gradient>:
        return for_each_point(o, all, [&](const auto& at) { y(0, at) = x(0, at) * silu_slope(x(1, at)); });
      case id_of<ops::sigmoid>:
        return for_each_point(o, all, [&](const auto& at) { y(0, at) = sigmoid(x(0, at)); });
      case id_of<ops::sigmoid_gradient>:
        return for_each_point(o, all, [&](const auto& at) { y(0, at) = x(0, at) * x(1, at) * (1.0 - x(1, at)); });
      case id_of<ops::swiglu>:
        return for_each_point(o, all, [&](const auto& at) { y(0, at) = x(0, at) * sigmoid(x(0, at)) * x(1, at); });
      case id_of<ops::swiglu_gradient>:
        return for_each_point(o, all, [&](const auto& at) {
          y(0, at) = x(0, at) * x(2, at) * silu_slope(x(1, at));
          y(1, at) = x(0, at) * x(1, at) * sigmoid(x(1, at));
        });
      case id_of<ops::softmax>:
        return for_each_point(o, rows, [&](const auto& row) {
          double total = 0.0;
          in_row(row, [&](const auto& at) { total += y(0, at) = std::exp(x(0, at)); });
          in_row(row, [&](const auto& at) { y(0, at) /= total; });
        });
      case id_of<ops::softmax_gradient>:
        return for_each_point(o, rows, [&](const auto& row) {
          double product = 0.0;
          in_row(row, [&](const auto& at) { product += x(0, at) * x(1, at); });
          in_row(row, [&](const auto& at) { y(0, at) = x(1, at) * (x(0, at) - product); });
        });
      case id_of<ops::rms_norm>:
        return for_each_point(o, rows, [&](const auto& row) {
          double squares = 0.0;
          in_row(row, [&](const auto& at) { squares += x(0, at) * x(0, at); });
          const double root = std::sqrt(squares / static_cast<double>(o.loop[last].extent) + o.real[0]);
          in_row(row, [&](const auto& at) { y(0, at) = x(0, at) / root * x(1, at); });
        });
      case id_of<ops::rms_norm_gradient>:
        return for_each_point(o, rows, [&](const auto& row) {
          double squares = 0.0, product = 0.0;
          const double width = static_cast<double>(o.loop[last].extent);
          in_row(row, [&](const auto& at) {
            squares += x(1, at) * x(1, at);
            product += x(0, at) * x(2, at) * x(1, at);
          });
          const double root = std::sqrt(squares / width + o.real[0]);
          in_row(row, [&](const auto& at) {
            y(0, at) = x(0, at) * x(2, at) / root - x(1, at) * product / (width * root * root * root);
            y(1, at) += x(0, at) * x(1, at) / root;
          });
        });
      case id_of<ops::embed>:
        return for_each_point(o, all, [&](const auto& at) {
          if (is_row(o, x(0, at), at)) y(0, at) = x(1, at);
        });
      case id_of<ops::embed_gradient>:
        return for_each_point(o, all, [&](const auto& at) {
          if (is_row(o, x(0, at), at)) y(0, at) += x(1, at);
        });
      case id_of<ops::exp_sum>:
        return for_each_point(o, all, [&](const auto& at) { y(0, at) += std::exp(x(0, at) - x(1, at)); });
      case id_of<ops::pick>:
        return for_each_point(o, all, [&](const auto& at) {
          if (static_cast<extent_t>(x(1, at)) == at[static_cast<std::size_t>(last)]) y(0, at) = x(0, at);
        });
      case id_of<ops::token_loss>:
        return for_each_point(o, all, [&](const auto& at) {
          if (x(3, at) >= 0.0) y(0, at) = x(0, at) + std::log(x(1, at)) - x(2, at);
        });
      case id_of<ops::cross_entropy_gradient>:
        return for_each_point(o, all, [&](const auto& at) {
          if (x(4, at) < 0.0) return;
          const int classes = rule.operand[1].term[rule.operand[1].rank - 1];
          const bool picked = static_cast<extent_t>(x(4, at)) == at[static_cast<std::size_t>(classes)];
          y(0, at) = x(0, at) * (std::exp(x(1, at) - x(2, at)) / x(3, at) - (picked ? 1.0 : 0.0));
        });
      case id_of<ops::sum_of_squares>:
        return for_each_point(o, all, [&](const auto& at) { y(0, at) += x(0, at) * x(0, at); });
      case id_of<ops::clip_factor>: {
        const std::vector<extent_t> at(max_operator_loops, 0);
        y(0, at) = std::min(1.0, o.real[0] / std::sqrt(x(0, at)));
        return;
      }
      case id_of<ops::sgd>:
        return for_each_point(o, all, [&](const auto& at) {
          y(1, at) = o.real[1] * x(2, at) + x(3, at) * x(1, at) + o.real[2] * x(0, at);
          y(0, at) = x(0, at) - o.real[0] * y(1, at);
        });
      default:
        throw std::logic_error(std::string("the test evaluator does not know ") + name_of(o.kind));
    }
  }

  /// Whether `id` is the row of the table (the loop that one tensor alone has beside the columns) at this point.
  bool is_row(const graph_operator& o, double id, const std::vector<extent_t>& at) const {
    const factor_rule& rule = g.rule_of(o);
    const tensor_factors& table = o.kind == id_of<ops::embed> ? rule.operand[1] : rule.result[0];
    return static_cast<extent_t>(id) == at[static_cast<std::size_t>(table.term[0])];
  }

  const graph& g;
  tensor_values value;
};

}  // namespace hyperparallel::test
