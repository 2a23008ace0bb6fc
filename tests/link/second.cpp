// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hyperparallel.hpp>
#include <hyperparallel/support/version.hpp>

const hyperparallel::version_number* version_seen_by_second();

const hyperparallel::version_number* version_seen_by_second() { return &hyperparallel::version; }
