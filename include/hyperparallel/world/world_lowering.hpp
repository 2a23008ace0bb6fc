// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lowers a program for a world, at the world's start, or throws what is wrong with it.
//
// Element types are those of the program: kernels compute in f64 where its floats are f64, and in f32 where they are f32,
// bf16 or f16; numbers of rows are i32. Law: a program that is lowered here can be given memory; what cannot run is refused
// by name. O(values + plans of the kinds of moves), and for each run that of `lower_run`.

#include <hyperparallel/lowering/lowered_program.hpp>
#include <hyperparallel/lowering/pipelined_program.hpp>
#include <hyperparallel/lowering/submodel_program.hpp>
#include <hyperparallel/strategy/strategy.hpp>
#include <hyperparallel/world/program_error.hpp>
#include <hyperparallel/world/program_options.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// The program without a run so far. Throws program_error where the program was refused, has folded segments or a move
/// without a plan, or where `keep` names what is not there, or the budget cannot be kept; and where kernels that compute
/// in `floating`, f32 or f64, do not take the type of a tensor.
lowered_program lowered_for(sharded_program p, data_type floating, const program_options& options = {});

}  // namespace detail

/// Adds the run of these phases. Throws program_error with the step that cannot be lowered, or the task that is not
/// safe.
void add_run(lowered_program& l, unsigned phases);

namespace detail {

/// Throws program_error for a tensor whose type kernels that compute in `floating`, f32 or f64, do not take.
void check_element_types(const sharded_program& p, data_type floating);

}  // namespace detail

/// The program of a graph that is to run. Throws program_error, with the names, where the graph or the strategy is
/// refused.
sharded_program partitioned(const graph& g, const strategy_value& s);
/// The same of a pipeline of its stages. Throws program_error where the model cannot be cut so, or the schedule does not take
/// its ranks, chunks and micro-batches.
sharded_program partitioned(const graph& g, const strategy_value& s, const pipeline_value& pipeline);
/// The same of sub-models on groups of ranks. Throws program_error where the table does not fit the model or a strategy its group.
sharded_program partitioned(const graph& g, const submodel_plan& plan);

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/world/world_lowering.ipp>
#endif
