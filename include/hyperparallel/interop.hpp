// SPDX-License-Identifier: Apache-2.0
#pragma once
// Other libraries: moves as lists of copies, layouts from text.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/interop/copy_list.hpp>
#include <hyperparallel/interop/written_layout.hpp>
