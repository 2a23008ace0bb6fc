// SPDX-License-Identifier: Apache-2.0
// A program with kernels whose command line fuses products and sums behind their back: it ends before main.
#include <hyperparallel/kernels/gemm.hpp>

int main() { return 0; }
