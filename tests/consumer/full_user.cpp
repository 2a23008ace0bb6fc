// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hyperparallel.hpp>
#include <hyperparallel/support/version.hpp>

static_assert(hyperparallel::version.major_number == HYPERPARALLEL_VERSION_MAJOR);

int main() { return 0; }
