// SPDX-License-Identifier: Apache-2.0
// Files.
#include <hyperparallel/io/atomic_file.ipp>
#include <hyperparallel/io/checksum.ipp>
#include <hyperparallel/io/io_error.ipp>
#include <hyperparallel/io/tensor_entry.ipp>
#include <hyperparallel/io/text_file.ipp>
#include <hyperparallel/io/torch_schedule.ipp>
