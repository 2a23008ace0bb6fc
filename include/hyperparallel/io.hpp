// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files: read whole, written whole; pipeline schedules in torch's files. io/checkpoint.hpp, io/model_config.hpp and
// io/safetensors.hpp, whose bodies need nlohmann-json, are included by those who use them.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/io/atomic_file.hpp>
#include <hyperparallel/io/checksum.hpp>
#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/io/tensor_entry.hpp>
#include <hyperparallel/io/text_file.hpp>
#include <hyperparallel/io/torch_schedule.hpp>
