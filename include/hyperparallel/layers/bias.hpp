// SPDX-License-Identifier: Apache-2.0
#pragma once
// The bias of a layer: a parameter "name.bias" that is added to the layer's product and begins at 0.
//
// Law: product and sum are two operators of one name, so that a strategy's rule for the layer, by its name or by
// "output", places both alike; the sum is the tensor "name", the product "name.without_bias". Under column parallelism
// the bias is sharded as the output is. Under row parallelism the product waits for its reduction, which happens first:
// the bias is added once. O(dims).

#include <hyperparallel/layers/layer_input.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// `product`, the result of the layer's operator `name`, plus a bias over those of its dims that are in `mask`.
constexpr int with_bias(model_builder& m, const char* name, int product, unsigned mask) {
  if (product < 0) return -1;
  const int rank = m.graph.tensor[product].shape.rank;
  number_list dims;
  char text[3 * max_dims + 8] = {};  // "abcd,cd->abcd"
  int at = 0;
  const auto letters = [&](unsigned of) {
    for (int d = 0; d < rank; ++d)
      if ((of >> d & 1u) != 0) text[at++] = static_cast<char>('a' + d);
  };
  letters(~0u);
  text[at++] = ',';
  letters(mask);
  text[at++] = '-';
  text[at++] = '>';
  letters(~0u);
  for (int d = 0; d < rank; ++d)
    if ((mask >> d & 1u) != 0) dims.item[dims.count++] = m.graph.tensor[product].dim[d];
  const int bias = m.scope(name, [&] {
    m.graph.tensor[product].name = m.scoped("without_bias");
    return m.parameter("bias", dims);
  });
  return m.apply<ops::add_bias>(name, {product, bias}, {.text = text});
}
/// Over its dims [begin, end).
constexpr int with_bias(model_builder& m, const char* name, int product, int begin, int end) {
  return with_bias(m, name, product, ((1u << end) - 1u) & ~((1u << begin) - 1u));
}

}}  // namespace hyperparallel::v0_2
