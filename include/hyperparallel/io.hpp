// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files: read whole, written whole.

#include <hyperparallel/io/atomic_file.hpp>
#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/io/text_file.hpp>
