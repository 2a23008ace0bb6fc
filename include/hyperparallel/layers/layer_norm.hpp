// SPDX-License-Identifier: Apache-2.0
#pragma once
// Norms that subtract the mean.
//
//   layer_norm_layer   x (…, hidden) -> the same; "name.weight", "name.bias" (hidden)
//   group_norm_layer   x (batch…, groups, channels, positions…) -> the same; "name.weight", "name.bias" (groups, channels)
//
// A group's channels are a dim of their own, so that groups may be sharded. `positions` dims follow the channels.

#include <hyperparallel/layers/layer_input.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct layer_norm_layer {
  const char* name = "norm";
  double epsilon = 1e-5;

  constexpr int operator()(model_builder& m, int x) const {
    if (!has_rank(m, name, x, 1)) return -1;
    const int hidden = dim_from_end(m, x, 0);
    const int weight = m.scope(name, [&] { return m.parameter("weight", {hidden}); });
    const int bias = m.scope(name, [&] { return m.parameter("bias", {hidden}); });
    return m.apply<ops::layer_norm>(name, {x, weight, bias}, {.real = {epsilon}});
  }
};

struct group_norm_layer {
  const char* name = "norm";
  int positions = 2;
  double epsilon = 1e-5;

  constexpr int operator()(model_builder& m, int x) const {
    if (positions < 0 || !has_rank(m, name, x, positions + 2)) return -1;
    const int group = dim_from_end(m, x, positions + 1), channel = dim_from_end(m, x, positions);
    const int weight = m.scope(name, [&] { return m.parameter("weight", {group, channel}); });
    const int bias = m.scope(name, [&] { return m.parameter("bias", {group, channel}); });
    char text[2 * max_dims + 16] = {'*', 'g', 'C'};  // "*gCPQ,gC,gC->*gCPQ"
    int at = 3;
    const auto add = [&](char letter) { text[at++] = letter; };
    for (int p = 0; p < positions; ++p) add(static_cast<char>('P' + p));
    for (const char letter : {',', 'g', 'C', ',', 'g', 'C', '-', '>', '*', 'g', 'C'}) add(letter);
    for (int p = 0; p < positions; ++p) add(static_cast<char>('P' + p));
    return m.apply<ops::group_norm>(name, {x, weight, bias}, {.text = text, .real = {epsilon}});
  }
};

}}  // namespace hyperparallel::v0_2
