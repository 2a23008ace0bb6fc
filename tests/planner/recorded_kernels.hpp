// SPDX-License-Identifier: Apache-2.0
#pragma once
// A sink for kernels of a stack that keeps what it is told.

#include <hyperparallel/hardware/operator_time.hpp>
#include <hyperparallel/support/integer.hpp>

namespace recorded_kernels {

namespace hp = hyperparallel;

struct recorder {
  hp::extent_t kernels = 0, bytes = 0, row_bytes = 0, attentions = 0, attentions_back = 0, small_ones = 0;
  hp::extent_t operations[3] = {};  ///< by pass
  hp::extent_t grouped_operations = 0;

  void product(hp::extent_t m, hp::extent_t k, hp::extent_t n, hp::product_pass pass) {
    operations[static_cast<int>(pass)] += 2 * m * k * n;
    ++kernels;
  }
  void grouped(hp::extent_t slots, hp::extent_t k, hp::extent_t n) {
    grouped_operations += 2 * slots * k * n;
    ++kernels;
  }
  void attention(bool backward) {
    ++(backward ? attentions_back : attentions);
    ++kernels;
  }
  void pass(hp::extent_t of) {
    bytes += of;
    ++kernels;
  }
  void rows(hp::extent_t of) {
    row_bytes += of;
    ++kernels;
  }
  void small(hp::extent_t count) {
    small_ones += count;
    kernels += count;
  }
};

}  // namespace recorded_kernels
