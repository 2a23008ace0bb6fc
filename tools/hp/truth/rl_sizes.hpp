// SPDX-License-Identifier: Apache-2.0
#pragma once
// A step of training by reinforcement from the sizes of its model and the layouts of generator and trainer alone.
//
//   generation   a decode iteration for each token of the longest response, with as many responses as still run: of a share x of its
//                length 1 - x^k of them do, where k is such that the mean is the printed one
//   training     the steps of the optimizer, as `hp plan` has them, of responses of mean length
//   log-probabilities of the policy and of the reference, each a third of a training step
//   refit        weights in bf16 to a generator's device by the outermost link
//
// Left out: prompts, rewards, launches, what moves between engines. Off policy the split of devices that takes least is taken.

#include <string>
#include <vector>

#include "published_row.hpp"

namespace truth {

/// Whether a row prints what such a step needs.
bool has_layouts(const published_row& r);

struct sized_step {
  double seconds = 0, synchronous = 0;  ///< of the row; one phase after the other on all devices
  std::string fix{};
  std::vector<std::string> open{};
};

/// Throws not_predicted.
sized_step sized_step_of(const published_row& r);

}  // namespace truth
