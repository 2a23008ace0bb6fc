// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolution over one to three dims of positions: x (batch, channels, positions…) -> (batch, output, positions…).
//
// "name.weight" (output, channels, taps…); with `bias` "name.bias" (output). Positions of the result are new dims, "name.positions", "name.positions.1", …;
// stride (≥ 1) and padding (≥ 0) are alike in all dims. Channels may be sharded as any dim, positions are whole.

#include <hyperparallel/layers/bias.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct convolution_layer {
  const char* name = "convolution";
  int output = -1;  ///< the named dim of the result's channels
  extent_t taps = 3;
  extent_t stride = 1;
  extent_t padding = 0;
  bool bias = false;

  constexpr int operator()(model_builder& m, int x) const {
    if (!has_rank(m, name, x, 3)) return -1;
    const auto at_least = [&](const char* what, extent_t value, extent_t least) {
      if (value < least)
        m.graph.fail(
            {graph_code::attribute_is_out_of_range, m.scoped(name), add_text(m.graph, what), 0, 0, value, least});
      return value >= least;
    };
    if (!at_least("stride", stride, 1) || !at_least("padding", padding, 0)) return -1;
    const int rank = m.graph.tensor[x].shape.rank, spatial = rank - 2;
    number_list weight_dims{output, m.graph.tensor[x].dim[1]};
    operator_options how{.integer = {stride, padding}};
    char text[40] = {}, names[3][48] = {};
    int at = 0;
    const auto add = [&](const char* letters, char first, int count) {
      for (; *letters != '\0'; ++letters) text[at++] = *letters;
      for (int i = 0; i < count; ++i) text[at++] = static_cast<char>(first + i);
    };
    if (spatial > 3 || output < 0) {
      m.graph.fail({graph_code::rank_differs_from_text, m.scoped(name), m.graph.tensor[x].name, 0, 0, rank, 5});
      return -1;
    }
    for (int p = 0; p < spatial; ++p) {
      const extent_t places = ops::convolution_places(m.graph.tensor[x].shape.extent[2 + p], taps, stride, padding);
      how.created[how.created_count++] = {static_cast<char>('X' + p),
                                          m.dim(name_of_dim(names[p], "positions", p), places)};
      weight_dims.item[weight_dims.count++] = m.dim(name_of_dim(names[p], "taps", p), taps);
    }
    add("bc", 'P', spatial);
    add(",oc", 'U', spatial);
    add("->bo", 'X', spatial);
    how.text = text;
    const int weight = m.scope(name, [&] { return m.parameter("weight", weight_dims); });
    const int product = m.apply<ops::convolution>(name, {x, weight}, how);
    return bias ? with_bias(m, name, product, 1, 2) : product;
  }

 private:
  /// "name.what", "name.what.1", …
  constexpr const char* name_of_dim(char (&to)[48], const char* what, int number) const {
    int at = 0;
    const auto add = [&](const char* more) {
      for (; *more != '\0' && at < 44; ++more) to[at++] = *more;
    };
    add(name);
    add(".");
    add(what);
    if (number > 0) {
      add(".");
      to[at++] = static_cast<char>('0' + number);
    }
    to[at] = '\0';
    return to;
  }
};

}}  // namespace hyperparallel::v0_2
