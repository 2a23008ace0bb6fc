// SPDX-License-Identifier: Apache-2.0
#pragma once
// The two halves of the example.

#include <vector>

#include <hyperparallel/io/atomic_file.hpp>

namespace moe_layer {

/// Prints what the compiler planned for a training step of the layer at full size: as operators, and in tiles.
void print_plan();

/// Prints the step in the number of tiles that makes it fastest. Then trains the layer at the reduced size on the text: on 8 simulated
/// ranks in tiles and without, and on one device; compares their losses and parameters, and writes the first step in tiles
/// into `trace`. Returns whether they agree. `threads` 0: as many as the process has cores.
bool run_text(const std::vector<unsigned char>& text, int threads, hyperparallel::atomic_file& trace);

}  // namespace moe_layer
