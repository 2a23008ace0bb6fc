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
// "name.norm.weight" (hidden), "name.logits.weight" (hidden, vocab). `tied_to` is a token embedding whose table (vocab,
// hidden) is read in place of the latter: one parameter with two readers, whose gradient is the sum of both. It lies as
// the embedding reads it, and is moved where the head reads it otherwise. Sources: Shoeybi et al., "Megatron-LM", 2019,
// section 3, for the sharded form; Press & Wolf, "Using the output embedding to improve language models", 2017.

#include <hyperparallel/layers/linear.hpp>
#include <hyperparallel/layers/norm.hpp>

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
  norm_form norm = norm_form::rms;
  double hidden_scale = 1.0;      ///< of what the logits are made of (MiniCPM)
  double logit_cap = 0.0;         ///< a logit l counts as cap · tanh(l / cap) (Gemma 2); 0: as it is
  const char* tied_to = nullptr;  ///< a token embedding of the same scope, as "embedding"

  /// Makes the graph's loss and returns the cross entropy, which is monitored.
  constexpr int operator()(model_builder& m, int x, int labels, int weights = -1) const {
    if (!detail::token_dims_of(m, name, x).valid || !has_rank(m, name, labels, 2)) return -1;
    const int vocab = m.dim("vocab", vocabulary);
    const int table = tied_to == nullptr ? -1 : table_of(m);
    if (tied_to != nullptr && table < 0) return -1;
    const int cross_entropy = m.scope(name, [&] {
      const int hidden = scaled(m, "hidden_scaled", norm_layer{"norm", epsilon, norm}(m, x), hidden_scale);
      int logits =
          table < 0 ? linear_layer{"logits", {vocab}}(m, hidden) : m.contract("logits", "*h,vh->*v", hidden, table);
      if (logit_cap > 0.0) {
        logits = m.apply<ops::tanh>("logits_bounded", {scaled(m, "logits_by_cap", logits, 1.0 / logit_cap)});
        logits = scaled(m, "logits_capped", logits, logit_cap);
      }
      return mean_cross_entropy(m, logits, labels, weights);
    });
    if (cross_entropy >= 0) m.monitor(cross_entropy);
    m.loss(cross_entropy);
    return cross_entropy;
  }

 private:
  /// The table of the embedding that the head is tied to, or -1 where the graph has none of this name.
  constexpr int table_of(model_builder& m) const {
    const int name_of_table = m.scope(tied_to, [&] { return m.scoped("weight"); });
    const int table = find_tensor(m.graph, m.graph.text_at(name_of_table));
    if (table < 0) m.graph.fail({graph_code::operand_does_not_exist, m.scoped(name), name_of_table, 1});
    return table;
  }
};

}}  // namespace hyperparallel::v0_2
