// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every built-in operator with attributes, text and operands to try it with: by itself, on distributed tensors, in a
// model.

#include <hyperparallel/check/check_operator.hpp>
#include <hyperparallel/dtensor/listed_operation.hpp>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace builtin {

namespace hp = hyperparallel;
namespace ops = hp::ops;

using tensors = std::vector<hp::dynamic_dtensor>;

struct builtin_case {
  hp::operator_id op;
  const char* text;
  int operands;
  hp::operator_attributes attributes{};
  unsigned positive = 0;
  hp::operator_check (*check_with)(const hp::operator_options&, const hp::operator_check_options&) = nullptr;
  tensors (*apply)(const hp::operator_attributes&, const hp::created_extents&, const tensors&) = nullptr;

  hp::operator_options how() const {
    hp::operator_options o{.text = text, .reduction = attributes.reduction};
    for (int i = 0; i < 2; ++i) o.integer[i] = attributes.integer[i];
    for (int i = 0; i < 5; ++i) o.real[i] = attributes.real[i];
    return o;
  }
  hp::operator_check check(hp::operator_check_options options) const {
    options.operands = operands;
    return check_with(how(), options);
  }
};

template <class Operator, hp::fixed_string Text = "", int Operands = 0>
builtin_case of(const hp::operator_attributes& attributes = {}, unsigned positive = 0) {
  static constexpr const char* text = Text.text[0] != '\0' ? Text.text : Operator::text;
  constexpr int count = Operands > 0 ? Operands : static_cast<int>(hp::detail::parts_written(text, false));
  const auto apply = [](const hp::operator_attributes& how, const hp::created_extents& created, const tensors& x) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return hp::detail::apply_all(hp::listed<Operator, Text>{how, created},
                                   std::array<hp::dynamic_dtensor, sizeof...(I)>{x[I]...});
    }(std::make_index_sequence<static_cast<std::size_t>(count)>{});
  };
  return {hp::id_of<Operator>, text, count, attributes, positive, &hp::check_operator<Operator>, apply};
}

/// Extents that letters have which depend on each other. Of a convolution: P and Q of 7 positions and U and V of 3 taps,
/// padded by 1, make Y and X of 7, or Z of 4 by strides of 2. Of what joins, cuts and regroups: L, M and N are 3, 4 and
/// 7, W is L times M, F three times N. 0: no such letter.
inline hp::extent_t fixed_extent(char letter) {
  if (letter == 'U' || letter == 'V' || letter == 'L') return 3;
  if (letter == 'Z' || letter == 'M') return 4;
  if (letter == 'W') return 12;
  if (letter == 'F') return 21;
  return letter == 'P' || letter == 'Q' || letter == 'X' || letter == 'Y' || letter == 'N' ? 7 : 0;
}

/// Pairs of a rotation are even; two of at least two experts are chosen.
inline hp::extent_t builtin_extent(char letter, hp::extent_t drawn) {
  if (fixed_extent(letter) > 0) return fixed_extent(letter);
  if (letter == 'D') return 2 * drawn;
  if (letter == 'K') return 2;
  return letter == 'E' || letter == 'e' ? drawn + 1 : drawn;
}

inline const builtin_case builtin_cases[] = {
    of<ops::contract, "mk,kn->mn">(),
    of<ops::contract, "bmk,bkn->bmn">(),
    of<ops::contract, "*k,kn->*n">(),
    of<ops::contract, "ab,ab->">(),
    of<ops::reduce, "ab->a">(),
    of<ops::reduce, "ab->b">({.reduction = hp::reduce_op::max}),
    of<ops::reduce, "*->">(),
    of<ops::broadcast, "a->ab">(),
    of<ops::broadcast, "->ab">(),
    of<ops::sum, "", 3>(),
    of<ops::sum, "", 8>(),
    of<ops::scale>({.real = {-0.7}}),
    of<ops::multiply>(),
    of<ops::embed>(),
    of<ops::embed_gradient>(),
    of<ops::rms_norm>({.real = {1e-3}}),
    of<ops::rms_norm_gradient>({.real = {1e-3}}),
    of<ops::rope>({.integer = {1}, .real = {100.0}}),
    of<ops::attention>({.integer = {0}, .real = {0.4}}),
    of<ops::attention>({.integer = {1}, .real = {0.4}}),
    of<ops::attention>({.integer = {1, 2}, .real = {0.4}}),
    of<ops::attention>({.integer = {0, 2}, .real = {0.4}}),
    of<ops::attention_gradient>({.real = {0.4}}),
    of<ops::latent_attention>({.real = {0.4}}),
    of<ops::latent_attention_gradient>({.real = {0.4}}),
    // Keys are whole: two pieces of them are joined by attention_merge, not by a sum.
    of<ops::attention_block, "bsmgD,bTmD,bTmE->bsmgE,bsmg">({.real = {0.4}}),
    of<ops::attention_merge>(),
    of<ops::attention_block_gradient>({.real = {0.4}}),
    of<ops::swiglu>(),
    of<ops::swiglu_gradient>(),
    of<ops::silu>(),
    of<ops::silu_gradient>(),
    of<ops::sigmoid>(),
    of<ops::sigmoid_gradient>(),
    of<ops::softmax>(),
    of<ops::softmax_gradient>(),
    of<ops::top_k>({.integer = {2, 0}, .real = {1.5}}, 0b1),
    of<ops::top_k>({.integer = {2, 1}, .real = {1.5}}, 0b1),
    of<ops::biased_top_k>({.integer = {2, 1}, .real = {1.5}}, 0b1),
    of<ops::top_k_gradient>({.integer = {2, 1}, .real = {1.5}}, 0b10),
    of<ops::count_experts>(),
    of<ops::dispatch>(),
    of<ops::undispatch>(),
    of<ops::combine>(),
    of<ops::dispatch_weighted>(),
    of<ops::combine_weight_gradient>(),
    of<ops::exp_sum>(),
    of<ops::pick>(),
    of<ops::token_loss>({}, 0b10),
    of<ops::cross_entropy_gradient>({}, 0b1000),
    of<ops::sum_of_squares>(),
    of<ops::clip_factor>({.real = {0.5}}, 0b1),
    of<ops::accumulate>(),
    of<ops::sgd>({.real = {0.1, 0.9, 0.01}}),
    of<ops::sgd_master>({.real = {0.1, 0.9, 0.01}}),
    of<ops::adamw>({.real = {0.1, 0.9, 0.95, 1e-8, 0.01}}, 0b1000),
    of<ops::adamw_master>({.real = {0.1, 0.9, 0.95, 1e-8, 0.01}}, 0b10000),
    of<ops::muon, "RC,RC,RC,->RC,RC">({.integer = {0, 1}, .real = {0.1, 0.9, 0.01}}),
    of<ops::muon_master, "RC,RC,RC,RC,->RC,RC,RC">({.integer = {0, 1}, .real = {0.1, 0.9, 0.01}}),
    of<ops::update_bias>({.real = {0.1}}),
    of<ops::gelu>(),
    of<ops::gelu_gradient>(),
    of<ops::layer_norm>({.real = {1e-3}}),
    of<ops::layer_norm_gradient>({.real = {1e-3}}),
    of<ops::group_norm, "bgCPQ,gC,gC->bgCPQ">({.real = {1e-3}}),
    of<ops::group_norm, "bgCP,gC,gC->bgCP">({.real = {1e-3}}),
    of<ops::group_norm_gradient, "bgCP,bgCP,gC->bgCP,gC,gC">({.real = {1e-3}}),
    of<ops::dropout>({.integer = {5, 7}, .real = {0.4}}),
    of<ops::convolution, "bcP,ocU->boY">({.integer = {1, 1}}),
    of<ops::convolution, "bcP,ocU->boZ">({.integer = {2, 1}}),
    of<ops::convolution, "bgcPQ,ogcUV->boYX">({.integer = {1, 1}}),
    of<ops::convolution_input_gradient, "boY,ocU->bcP">({.integer = {1, 1}}),
    of<ops::convolution_weight_gradient, "boY,bcP->ocU">({.integer = {1, 1}}),
    of<ops::add_bias>(),
    of<ops::add_bias, "abcd,cd->abcd">(),
    of<ops::add_bias, "abcd,b->abcd">(),
    of<ops::relu>(),
    of<ops::relu_gradient>(),
    of<ops::tanh>(),
    of<ops::tanh_gradient>(),
    of<ops::exp>(),
    of<ops::log>({}, 0b1),
    of<ops::sqrt>({}, 0b1),
    of<ops::sqrt_gradient>({}, 0b10),
    of<ops::divide>(),
    of<ops::divide_gradient>(),
    of<ops::maximum>(),
    of<ops::maximum_gradient>(),
    of<ops::negate>(),
    of<ops::subtract>(),
    of<ops::shift>({.real = {0.3}}),
    of<ops::mean, "abc->b">(),
    of<ops::mean, "*->">(),
    of<ops::mean_gradient, "b->abc">(),
    of<ops::transpose, "abc->cab">(),
    of<ops::transpose, "ab->ba">(),
    of<ops::reshape, "aLMb->aWb">(),
    of<ops::reshape, "aWb->aMLb">(),
    of<ops::concat, "aLb,aMb->aNb">(),
    of<ops::concat, "aL,aM,aL,aM,aL,aM->aF">(),
    of<ops::split, "aNb->aLb,aMb">(),
    of<ops::split, "aNb->aLb">({.integer = {-1}}),
    of<ops::slice, "aNb->aMb">({.integer = {2}}),
    of<ops::slice, "aNb->aMb">({.integer = {0, 2}}),
    of<ops::slice_gradient, "aMb->aNb">({.integer = {0, 2}}),
    of<ops::attention>({.integer = {1}, .real = {0.4, 0.7}}),
    of<ops::attention_gradient>({.real = {0.4, 0.7}}),
    of<ops::latent_attention>({.real = {0.4, 0.7}}),
    of<ops::gelu_tanh>(),
    of<ops::gelu_tanh_gradient>(),
    of<ops::geglu>(),
    of<ops::geglu_gradient>(),
    of<ops::clamped_swiglu>({.real = {7.0, 1.702}}),
    of<ops::clamped_swiglu>({.real = {0.4, 1.702}}),
    of<ops::clamped_swiglu_gradient>({.real = {0.4, 1.702}}),
    of<ops::attention_with_sinks>({.integer = {1}, .real = {0.4}}),
    of<ops::attention_with_sinks>({.integer = {1, 2}, .real = {0.4, 0.7}}),
    of<ops::attention_sink_gradient>(),
    of<ops::rms_norm, "*aBC,aBC->*aBC">({.integer = {1}, .real = {1e-3}}),
    of<ops::rms_norm_gradient, "*aBC,*aBC,aBC->*aBC,aBC">({.integer = {1}, .real = {1e-3}}),
    of<ops::squared_relu>(),
    of<ops::squared_relu_gradient>(),
    of<ops::biased_short_convolution>(),
    of<ops::biased_short_convolution_gradient>(),
    of<ops::softplus>(),
    of<ops::softplus_gradient>(),
    of<ops::short_convolution>(),
    of<ops::short_convolution_gradient>(),
    of<ops::linear_attention>({.integer = {1}, .real = {0.4, 1e-3}}, 0b11000),
    of<ops::linear_attention>({.integer = {1}, .real = {0.4}}, 0b11000),
    of<ops::linear_attention>({.real = {1.0}}, 0b11000),
    of<ops::linear_attention_gradient>({.integer = {1}, .real = {0.4, 1e-3}}, 0b110000),
};

}  // namespace builtin
