// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a step of training does with gradients: their norm, and the updates of parameters. States are results that
// replace operands in place. They follow the gradient, so none passes through an update.

#include <hyperparallel/operators/ops/scale.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// Everything into one number. Its gradient, 2 · x · dy, is the sum of two contributions that are alike.
struct sum_of_squares {
  static constexpr const char *name = "sum_of_squares", *text = "*->";
  static constexpr int flops_per_point = 2;
  static constexpr unsigned statistics = 0b1;
  static constexpr bool is_norm_term = true;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<multiply>("g0,x0>0");
    b.template backward<multiply>("g0,x0>0");
  }
};

/// Sum of squares -> min(1, real[0] / its root).
struct clip_factor {
  static constexpr const char *name = "clip_factor", *text = "->";
  static constexpr unsigned statistics = 0b1, without_gradient = ~0u;
};

/// -> real[0] everywhere: seeds gradients.
struct fill {
  static constexpr const char *name = "fill", *text = "";
  static constexpr int flops_per_point = 0;
  static constexpr bool not_differentiable = true;
};

/// p, g, momentum, clip -> p, momentum; real = rate, momentum, weight decay.
struct sgd {
  static constexpr const char *name = "sgd", *text = "*,*,*,->*,*";
  static constexpr int flops_per_point = 6;
  static constexpr unsigned without_gradient = ~0u;
  static constexpr parameter_states states{.moments = 1};
};
/// p, g, master, momentum, clip -> p, master, momentum; p is the rounded master.
struct sgd_master {
  static constexpr const char *name = "sgd_master", *text = "*,*,*,*,->*,*,*";
  static constexpr int flops_per_point = 7;
  static constexpr unsigned without_gradient = ~0u;
  static constexpr parameter_states states{.moments = 1, .master = 2};
};

/// p, g, m, v, clip -> p, m, v; real = rate, beta1, beta2, epsilon, weight decay. Source: Loshchilov & Hutter,
/// "Decoupled Weight Decay Regularization", 2019.
struct adamw {
  static constexpr const char *name = "adamw", *text = "*,*,*,*,->*,*,*";
  static constexpr int flops_per_point = 14;
  static constexpr unsigned without_gradient = ~0u;
  static constexpr parameter_states states{.moments = 2};
};
/// p, g, master, m, v, clip -> p, master, m, v; p is the rounded master.
struct adamw_master {
  static constexpr const char *name = "adamw_master", *text = "*,*,*,*,*,->*,*,*,*";
  static constexpr int flops_per_point = 15;
  static constexpr unsigned without_gradient = ~0u;
  static constexpr parameter_states states{.moments = 2, .master = 2};
};

/// p, g, momentum, clip -> p, momentum. Dims from integer[0] to integer[1] are a matrix's rows, the ones behind its
/// columns; the ones before count matrices, which are whole.
/// FLOPs: five Newton-Schulz iterations of 4·m²·n + 2·m³ for an m × n matrix, m ≤ n, and passes over it.
/// Source: Jordan et al., "Muon", 2024.
struct muon {
  static constexpr const char *name = "muon", *text = "";
  static constexpr compute_unit unit = compute_unit::matrix;
  static constexpr int flops_per_point = 6, newton_schulz_iterations = 5;
  static constexpr unsigned without_gradient = ~0u;
  static constexpr parameter_states states{.moments = 1};
  static constexpr extent_t flops(const local_work& w) {
    extent_t batch = 1, rows = 1, columns = 1;
    const tensor_factors& matrix = w.rule->operand[0];
    for (int d = 0; d < matrix.rank; ++d) {
      extent_t& side = d < w.attribute[0] ? batch : d < w.attribute[1] ? rows : columns;
      side *= w.extent[matrix.term[d]];
    }
    const extent_t m = smaller(rows, columns), n = larger(rows, columns);
    return batch * (newton_schulz_iterations * (4 * m * m * n + 2 * m * m * m) + flops_per_point * m * n);
  }
};
/// p, g, master, momentum, clip -> p, master, momentum; p is the rounded master, the rest as `muon` has it.
struct muon_master : muon {
  static constexpr const char* name = "muon_master";
  static constexpr parameter_states states{.moments = 1, .master = 2};
};

}}}  // namespace hyperparallel::v0_2::ops
