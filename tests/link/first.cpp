// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/distributed_forms.hpp>
#include <hyperparallel/hyperparallel.hpp>
#include <hyperparallel/io.hpp>
#include <hyperparallel/report.hpp>
#include <hyperparallel/support/version.hpp>

const hyperparallel::version_number* version_seen_by_second();

// An inline entity has one address in the whole program, whichever unit asks.
int main() { return version_seen_by_second() == &hyperparallel::version ? 0 : 1; }
