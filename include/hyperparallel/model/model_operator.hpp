// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operators of a model graph: each is a row with an einsum of its loops.
//
//   "*k,kn->*n"       a small letter is a loop that may be sharded; one that no result has is reduced
//   "*H,H->*H"        a capital letter is whole on every device
//   "bs*D->bs*D"      `*` stands for the dims that are left, once a tensor, the same ones everywhere
//   ""                the instance brings its own text (contractions, reductions, broadcasts)
//
// Law: an operator works on any box of its loops by itself. Where a loop that is sharded is missing from a result, the
// result is partial by the operator's reduction; nothing else about distribution is ever asked of a kernel.
// A backward operator runs over the loops of its forward operator, so one placement serves both.

#include <hyperparallel/operators/operator_row.hpp>

namespace hyperparallel::inline v0_2 {

enum class model_op : unsigned char {
  contract,            ///< einsum of two operands
  reduce,              ///< einsum of one operand: sum (or max) over what the result lacks
  broadcast,           ///< einsum of one operand: repeated over what the operand lacks
  sum,                 ///< of 2 to 8 operands; partial states pass through
  scale,               ///< real[0] · x
  multiply,            ///< element by element
  embed,               ///< rows of a table; reduced over the rows
  embed_gradient,      ///< ids, dy -> d table
  rms_norm,            ///< x, weight; real[0] = epsilon
  rms_norm_gradient,   ///< dy, x, weight -> dx, d weight
  rope,                ///< rotates pairs (i, i + D/2) by position · base^(-2i/D); real[0] = base, integer[0] = ±1
  attention,           ///< q, k, v -> o, log-sum-exp; integer[0] = causal, real[0] = scale
  attention_gradient,  ///< do, q, k, v, o, lse -> dq, dk, dv
  latent_attention,    ///< q, q rotary, k, k rotary, v -> o, lse: scores are the sum of two products
  latent_attention_gradient,  ///< do, q, qr, k, kr, v, o, lse -> dq, dqr, dk, dkr, dv
  attention_block,            ///< q, k, v of one block -> o, lse of that block alone, wherever it lies
  attention_merge,            ///< o, lse, o, lse -> o, lse: two blocks of keys joined
  attention_block_gradient,   ///< do, q, k, v, o, lse (joined) -> dq, dk, dv of one block
  swiglu,                     ///< silu(gate) · up
  swiglu_gradient,            ///< dy, gate, up -> d gate, d up
  silu,
  silu_gradient,  ///< dy, x
  sigmoid,
  sigmoid_gradient,   ///< dy, y
  softmax,            ///< over the last dim
  softmax_gradient,   ///< dy, y
  top_k,              ///< p -> weight, index: ties go to the lower index; integer[1] = normalise, real[0] = scale
  biased_top_k,       ///< the same chosen by p + bias; weights are of p alone
  top_k_gradient,     ///< d weight, p, index -> dp; attributes of its forward operator
  count_experts,      ///< index -> how often each expert was chosen
  dispatch,           ///< x, index -> rows in the experts' slots, in order of token, then choice; the rest dropped
  undispatch,         ///< d slots, index -> dx: the transpose of dispatch
  combine,            ///< slots, index, weight -> y: the weighted rows of each token
  dispatch_weighted,  ///< dy, index, weight -> d slots: the transpose of combine in the slots
  combine_weight_gradient,  ///< dy, slots, index -> d weight
  exp_sum,                  ///< x, max -> sum of exp(x - max)
  pick,                     ///< x, label -> x[label]; 0 for a label that is negative
  token_loss,               ///< max, exp sum, picked, label -> max + log(exp sum) - picked; 0 for a negative label
  cross_entropy_gradient,   ///< d loss, x, max, exp sum, label -> dx; d loss has the label's shape
  sum_of_squares,           ///< everything into one number
  clip_factor,              ///< sum of squares -> min(1, real[0] / its root)
  fill,                     ///< -> real[0] everywhere; seeds gradients
  accumulate,               ///< sum so far, new -> sum; in place; partial states pass through
  sgd,                      ///< p, g, momentum, clip -> p, momentum; real = rate, momentum, weight decay
  adamw,                    ///< p, g, m, v, clip -> p, m, v; real = rate, beta1, beta2, epsilon, weight decay
  adamw_master,             ///< p, g, master, m, v, clip -> p, master, m, v; p is the rounded master
  muon,                     ///< p, g, momentum, clip -> p, momentum; the last matrix whole; Newton-Schulz
  update_bias,              ///< bias, counts -> bias + real[0] · sign(mean - count)
};
inline constexpr int model_op_count = static_cast<int>(model_op::update_bias) + 1;

namespace detail {

inline constexpr partial_words sums_together = linear_together(~0u);
inline constexpr partial_words sums_of_first = linear_in_each(0b01u), sums_of_second = linear_in_each(0b10u);

// Element-wise costs count a transcendental as four operations; attention is counted by `operator_work`.
inline constexpr operator_row model_op_table[] = {
    {"contract", "", compute_unit::matrix, 2},
    {"reduce", "", compute_unit::vector, 1},
    {"broadcast", "", compute_unit::vector, 0},
    {"sum", "*->*", compute_unit::vector, 1, sums_together},
    {"scale", "*->*", compute_unit::vector, 1, sums_together},
    {"multiply", "*,*->*", compute_unit::vector, 1},
    {"embed", "*,vh->*h", compute_unit::vector, 0},
    {"embed_gradient", "*,*h->vh", compute_unit::vector, 0},
    {"rms_norm", "*H,H->*H", compute_unit::vector, 4},
    {"rms_norm_gradient", "*H,*H,H->*H,H", compute_unit::vector, 10},
    {"rope", "bs*D->bs*D", compute_unit::vector, 3},
    {"attention", "bsmgD,bTmD,bTmE->bsmgE,bsmg", compute_unit::matrix, 4},
    {"attention_gradient", "bsmgE,bsmgD,bTmD,bTmE,bsmgE,bsmg->bsmgD,bTmD,bTmE", compute_unit::matrix, 10},
    {"latent_attention", "bsnD,bsnR,bTnD,bTR,bTnE->bsnE,bsn", compute_unit::matrix, 4},
    {"latent_attention_gradient", "bsnE,bsnD,bsnR,bTnD,bTR,bTnE,bsnE,bsn->bsnD,bsnR,bTnD,bTR,bTnE",
     compute_unit::matrix, 10},
    {"attention_block", "bsmgD,btmD,btmE->bsmgE,bsmg", compute_unit::matrix, 4},
    {"attention_merge", "bsmgE,bsmg,bsmgE,bsmg->bsmgE,bsmg", compute_unit::vector, 6},
    {"attention_block_gradient", "bsmgE,bsmgD,btmD,btmE,bsmgE,bsmg->bsmgD,btmD,btmE", compute_unit::matrix, 10},
    {"swiglu", "*,*->*", compute_unit::vector, 6},
    {"swiglu_gradient", "*,*,*->*,*", compute_unit::vector, 10},
    {"silu", "*->*", compute_unit::vector, 5},
    {"silu_gradient", "*,*->*", compute_unit::vector, 8},
    {"sigmoid", "*->*", compute_unit::vector, 5},
    {"sigmoid_gradient", "*,*->*", compute_unit::vector, 3},
    {"softmax", "*E->*E", compute_unit::vector, 6},
    {"softmax_gradient", "*E,*E->*E", compute_unit::vector, 4},
    {"top_k", "*E->*K,*K", compute_unit::vector, 2},
    {"biased_top_k", "*E,E->*K,*K", compute_unit::vector, 3},
    {"top_k_gradient", "*K,*E,*K->*E", compute_unit::vector, 2},
    {"count_experts", "*K->e", compute_unit::vector, 0},
    {"dispatch", "bSh,bSK->beCh", compute_unit::vector, 0, sums_of_first},
    {"undispatch", "beCh,bSK->bSh", compute_unit::vector, 1, sums_of_first},
    {"combine", "beCh,bSK,bSK->bSh", compute_unit::vector, 2, sums_of_first},
    {"dispatch_weighted", "bSh,bSK,bSK->beCh", compute_unit::vector, 1, sums_of_first},
    {"combine_weight_gradient", "bSh,beCh,bSK->bSK", compute_unit::vector, 2, sums_of_second},
    {"exp_sum", "*v,*->*", compute_unit::vector, 5},
    {"pick", "*v,*->*", compute_unit::vector, 0},
    {"token_loss", "*,*,*,*->*", compute_unit::vector, 6},
    {"cross_entropy_gradient", "*,*v,*,*,*->*v", compute_unit::vector, 7},
    {"sum_of_squares", "*->", compute_unit::vector, 2},
    {"clip_factor", "->", compute_unit::vector, 1},
    {"fill", "", compute_unit::vector, 0},
    {"accumulate", "*,*->*", compute_unit::vector, 1, sums_together},
    {"sgd", "*,*,*,->*,*", compute_unit::vector, 6},
    {"adamw", "*,*,*,*,->*,*,*", compute_unit::vector, 14},
    {"adamw_master", "*,*,*,*,*,->*,*,*,*", compute_unit::vector, 15},
    {"muon", "", compute_unit::matrix, 6},
    {"update_bias", "E,E->E", compute_unit::vector, 3},
};
static_assert(sizeof(model_op_table) / sizeof(model_op_table[0]) == model_op_count, "one row an operator");

}  // namespace detail

/// Of a built-in operator.
constexpr const operator_row& row_of(model_op op) { return detail::model_op_table[static_cast<int>(op)]; }
constexpr const char* name_of(model_op op) { return row_of(op).name; }

inline constexpr int max_operator_loops = max_factors;
inline constexpr int max_operator_operands = max_operands;
inline constexpr int max_operator_results = max_results;

/// One loop of an operator's iteration space.
struct operator_loop {
  int dim = 0;  ///< the graph's named dim
  extent_t extent = 1;
  friend constexpr bool operator==(const operator_loop&, const operator_loop&) = default;
};

}  // namespace hyperparallel::inline v0_2
