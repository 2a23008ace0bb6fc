// SPDX-License-Identifier: Apache-2.0
#pragma once
// Other libraries: tensors by DLPack, views as std::mdspan, moves as lists of copies, layouts from text.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/interop/copy_list.hpp>
#include <hyperparallel/interop/dlpack.hpp>
#include <hyperparallel/interop/dlpack_export.hpp>
#include <hyperparallel/interop/dlpack_import.hpp>
#include <hyperparallel/interop/mdspan.hpp>
#include <hyperparallel/interop/strided_view.hpp>
#include <hyperparallel/interop/world_blocks.hpp>
#include <hyperparallel/interop/written_layout.hpp>
