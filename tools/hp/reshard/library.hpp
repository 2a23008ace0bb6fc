// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of the library that checkpoints are converted with: files and sets of tensors, boxes, patterns of names.

#include <hyperparallel/checkpoint/name_pattern.hpp>
#include <hyperparallel/checkpoint/set_file.hpp>
#include <hyperparallel/checkpoint/strided_box.hpp>
#include <hyperparallel/io/io_error.hpp>

namespace hp_tool::reshard {

namespace hp = hyperparallel;
using namespace hp;
using namespace hp::reshard;
using namespace hp::reshard::detail;
using hp::reshard::index_range;  // not that of tensors

}  // namespace hp_tool::reshard
