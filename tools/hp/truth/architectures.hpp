// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decoders of the models that rows of measurements name: the sizes are the row's, what sizes do not say (a gate, biases, positions)
// is what is published of the name. A name that is not known here is refused; nothing is concluded from sizes.

#include <stdexcept>

#include <hyperparallel/layers/decoder.hpp>

#include "published_row.hpp"

namespace truth {

/// Why a row is not predicted.
struct not_predicted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The vocabulary of a row that prints none and whose name has none.
inline constexpr hp::extent_t assumed_vocabulary = 50304;

struct row_decoder {
  hp::decoder model{};
  bool assumed_vocabulary = false;
};

/// Throws not_predicted where the name is not known or sizes do not make a decoder. `sequence`: rows of a table of positions.
row_decoder decoder_of(const model_sizes& m, hp::extent_t sequence);

}  // namespace truth
