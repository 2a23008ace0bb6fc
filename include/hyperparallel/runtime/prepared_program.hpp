// SPDX-License-Identifier: Apache-2.0
#pragma once
// A sharded program as it will run: its moves and addresses planned, with what is kept.
//
// Element types are those of the program: kernels compute in f64 where its floats are f64, and in f32 where they are f32,
// bf16 or f16; numbers of rows are i32. Law: a program that is prepared can be given memory; what cannot run is refused
// here by name. O(values + plans of the kinds of moves).

#include <string>
#include <vector>

#include <hyperparallel/program/move_pulls.hpp>
#include <hyperparallel/runtime/program_error.hpp>
#include <hyperparallel/runtime/program_options.hpp>
#include <hyperparallel/strategy/address_plan.hpp>
#include <hyperparallel/strategy/strategy.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A program with what is kept among its monitors, whose values live to the end.
struct prepared_program {
  sharded_program program;
  program_pulls pulls;
  program_addresses addresses;
  int monitors = 0;                                        ///< of the graph, without what is kept
  std::vector<std::int64_t> duration{};                    ///< of each step, where a plan rests on them; else empty
  offload_certificate offloading{};                        ///< of that plan
  overflow_response overflow = overflow_response::ignore;  ///< to gradients that are not finite; `ignore`: none may be
};

/// Throws program_error where the program was refused, has folded segments or a move without a plan, or where `keep`
/// names what is not there, or the budget cannot be kept; and where kernels that compute in `floating`, f32 or f64, do not
/// take the type of a tensor. Where gradients of 16 bits are looked at for `overflow`, norm and update run by themselves.
prepared_program prepare_program(sharded_program p, data_type floating, const program_options& options = {});

/// The program of a graph that is to run. Throws program_error, with the names, where the graph or the strategy is
/// refused.
sharded_program partitioned(const graph& g, const strategy_value& s);

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/runtime/prepared_program.ipp>
#endif
