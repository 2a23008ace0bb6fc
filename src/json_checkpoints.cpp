// SPDX-License-Identifier: Apache-2.0
// Checkpoints.
#include <hyperparallel/checkpoint/load_run.ipp>
#include <hyperparallel/checkpoint/name_pattern.ipp>
#include <hyperparallel/checkpoint/partial_set.ipp>
#include <hyperparallel/checkpoint/run_checkpoints.ipp>
#include <hyperparallel/checkpoint/run_place.ipp>
#include <hyperparallel/checkpoint/run_slices.ipp>
#include <hyperparallel/checkpoint/set_file.ipp>
#include <hyperparallel/checkpoint/step_folders.ipp>
#include <hyperparallel/checkpoint/strided_box.ipp>
#include <hyperparallel/checkpoint/tensor_set.ipp>
#include <hyperparallel/checkpoint/tensor_slices.ipp>
#include <hyperparallel/io/checkpoint.ipp>
#include <hyperparallel/io/safetensors.ipp>
#include <hyperparallel/io/safetensors_header.ipp>
