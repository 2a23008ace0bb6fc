// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random small graphs for tests: shared tensors, tensors used many times, parameters used many times, branches that
// lead nowhere. All operators are ones that graph_reference.hpp knows.

#include <random>
#include <string>
#include <vector>

#include <hyperparallel/graph/model_builder.hpp>

namespace hyperparallel::test {

struct random_model {
  std::mt19937 random;
  model_builder m;
  int b = 0, s = 0, h = 0, f = 0, made = 0;
  std::vector<int> wide;         // tensors (b, s, h)
  std::vector<int> square, row;  // parameters (h, h) and (h)

  explicit random_model(unsigned seed, const build_options& options = {.activation = data_type::f64,
                                                                       .parameter = data_type::f64,
                                                                       .unrolled = true})
      : random(seed), m(options) {
    b = m.dim("batch", below(3) + 1);
    s = m.dim("seq", below(3) + 1);
    h = m.dim("hidden", below(3) + 2);
    f = m.dim("ffn", below(3) + 1);
  }

  int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
  std::string fresh(const char* what) { return what + std::to_string(made++); }
  int any(const std::vector<int>& of) { return of[static_cast<std::size_t>(below(static_cast<int>(of.size())))]; }
  int square_parameter() {
    if (square.empty() || below(2) == 0) square.push_back(m.parameter(fresh("w").c_str(), {h, h}));
    return any(square);
  }
  int row_parameter() {
    if (row.empty() || below(2) == 0) row.push_back(m.parameter(fresh("r").c_str(), {h}));
    return any(row);
  }

  /// One more tensor (b, s, h) from those in `wide`.
  int step() {
    const int x = any(wide), y = any(wide), z = any(wide);
    const std::string name = fresh("t");
    const char* n = name.c_str();
    const std::string inner = name + ".inner";
    const created_dim batch{'b', b}, seq{'s', s};
    switch (below(13)) {
      case 0:
        return m.contract(n, "*k,kn->*n", x, square_parameter());
      case 1:
        return m.contract(n, "nk,*k->*n", square_parameter(), x);
      case 2: {
        const int p = m.contract(inner.c_str(), "bsh,bth->bst", x, y);
        return m.contract(n, "bst,bth->bsh", p, z);
      }
      case 3: {
        const int p = m.apply<ops::reduce>(inner.c_str(), {x}, {.text = "bsh->h"});
        return m.apply<ops::broadcast>(n, {p}, {.text = "h->bsh", .created = {batch, seq}, .created_count = 2});
      }
      case 4: {
        const int p = m.apply<ops::reduce>(inner.c_str(), {x}, {.text = "bsh->sh"});
        return m.apply<ops::broadcast>(n, {p}, {.text = "sh->bsh", .created = {batch}, .created_count = 1});
      }
      case 5:
        return m.apply<ops::sum>(n, {x, y, z});
      case 6:
        return m.apply<ops::sum>(n, {x, x, y});
      case 7:
        return m.apply<ops::scale>(n, {x}, {.real = {-0.75}});
      case 8:
        return m.apply<ops::multiply>(n, {x, y});
      case 9:
        return m.apply<ops::silu>(n, {x});
      case 10:
        return m.apply<ops::swiglu>(n, {x, y});
      case 11:
        return m.apply<ops::rms_norm>(n, {x, row_parameter()}, {.real = {0.01}});
      default:
        return m.apply(below(2) == 0 ? id_of<ops::softmax> : id_of<ops::sigmoid>, n, {x});
    }
  }

  /// A graph of `steps` such tensors; the loss weighs up to 12 of them.
  graph build(int steps) {
    wide = {m.input("x", {b, s, h}), m.parameter("p", {b, s, h})};
    for (int i = 0; i < steps; ++i) wide.push_back(step());
    const int weight = m.input("weight", {b, s, h});
    int total = -1;
    for (int i = 0, terms = below(12) + 1; i < terms; ++i) {
      const int t = i == 0 ? wide.back() : any(wide);
      const int one = m.contract(fresh("term").c_str(), "bsh,bsh->", t, weight);
      total = total < 0 ? one : m.sum(fresh("total").c_str(), total, one);
    }
    m.loss(total);
    return m.graph;
  }
};

/// Values for everything that no operator makes, from [-1, 1).
template <class Evaluator>
void randomise(Evaluator& e, const graph& g, std::mt19937& random) {
  for (int t = 0; t < g.tensor.size; ++t)
    if (g.tensor[t].producer < 0 && g.tensor[t].kind != graph_tensor_kind::state)
      for (double& v : e.of(t)) v = std::uniform_real_distribution<double>(-1.0, 1.0)(random);
}

}  // namespace hyperparallel::test
