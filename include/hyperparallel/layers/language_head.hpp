// SPDX-License-Identifier: Apache-2.0
#pragma once
// The end of a language model: final norm, logits, and the mean cross entropy as the graph's loss.
//
//   logits    norm(x) · weight                    (batch, seq, vocab)
//   loss      Σ (max + log Σ exp(logit - max) - logit[label]) / tokens; a negative label adds nothing
//
// The softmax is told in pieces that are reductions over the vocabulary (max, sum of exponentials, the picked logit),
// so it may be sharded: three numbers a token travel, never logits. `weights` (batch, seq), where given, are factors of
// the tokens' losses, as masked diffusion has them. The divisor is the number of all tokens. Parameters
// "name.norm.weight" (hidden), "name.logits.weight" (hidden, vocab). Source of the sharded form: Shoeybi et al.,
// "Megatron-LM", 2019, section 3.

#include <hyperparallel/layers/linear.hpp>
#include <hyperparallel/layers/rms_norm.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The mean cross entropy of logits (…, classes) and labels (…), as a number. `weights`, where given, are factors of the
/// losses; the divisor is the number of labels.
constexpr int mean_cross_entropy(model_builder& m, int logits, int labels, int weights = -1) {
  if (logits < 0 || labels < 0) return -1;
  const int largest = m.apply<ops::reduce>("max", {logits}, {.text = "*v->*", .reduction = reduce_op::max});
  const int exponentials = m.apply<ops::exp_sum>("exp_sum", {logits, largest});
  const int picked = m.apply<ops::pick>("picked", {logits, labels});
  int losses = m.apply<ops::token_loss>("token_loss", {largest, exponentials, picked, labels});
  if (weights >= 0) losses = m.apply<ops::multiply>("weighted_loss", {losses, weights});
  const int total = m.apply<ops::reduce>("loss_sum", {losses}, {.text = "*->"});
  const double count = static_cast<double>(elements_of(m.graph.tensor[labels]));
  return m.apply<ops::scale>("cross_entropy", {total}, {.real = {1.0 / count}});
}

struct language_head {
  const char* name = "head";
  extent_t vocabulary = 1;
  double epsilon = 1e-6;

  /// Makes the graph's loss and returns the cross entropy, which is monitored.
  constexpr int operator()(model_builder& m, int x, int labels, int weights = -1) const {
    if (!token_dims_of(m, name, x).valid || !has_rank(m, name, labels, 2)) return -1;
    const int vocab = m.dim("vocab", vocabulary);
    const int cross_entropy = m.scope(name, [&] {
      const int logits = linear_layer{"logits", {vocab}}(m, rms_norm_layer{"norm", epsilon}(m, x));
      return mean_cross_entropy(m, logits, labels, weights);
    });
    if (cross_entropy >= 0) m.monitor(cross_entropy);
    m.loss(cross_entropy);
    return cross_entropy;
  }
};

}}  // namespace hyperparallel::v0_2
