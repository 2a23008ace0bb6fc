// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which rank of a run writes which slice of its parameters and states.
//
// Of copies of a slice one rank writes: the one that has the fewest bytes to write so far.
//
// Laws: the plan depends on the program alone; every element is in one slice. Errors: program_error. O(tensors · ranks · log ranks).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <hyperparallel/checkpoint/strided_box.hpp>
#include <hyperparallel/checkpoint/tensor_slices.hpp>
#include <hyperparallel/strategy/sharded_program.hpp>
#include <hyperparallel/world/program_error.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

/// A slice that a rank writes, the block of its value.
struct written_block {
  int tensor = 0, value = 0;  ///< of the program
  box part{};
};

struct run_slices {
  std::vector<sliced_tensor> tensors;
  std::vector<std::string> files;
  std::vector<int> file;                           ///< of each rank, or -1: it writes nothing
  std::vector<std::vector<written_block>> blocks;  ///< of each rank
};

namespace detail {

constexpr const char* dtype_of(data_type t) {
  constexpr const char* names[] = {"BOOL", "I8", "I16", "I32", "I64", "F16", "BF16", "F32", "F64"};
  return names[static_cast<int>(t)];
}

index_box index_box_of(const box& b);
box box_of_index(const index_box& b);

/// Parameters and states that the program has memory for, but what micro-batches are accumulated in: a step begins with zeros there.
/// O(operators + tensors).
std::vector<int> kept_tensors(const sharded_program& p);
std::vector<std::int64_t> extents_of_tensor(const graph& g, int t);

/// Calls `work(i)` for each i < count on threads; throws what the first that failed threw.
void on_threads(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

/// The slices of a run's program.
run_slices slices_of_run(const sharded_program& p);

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::reshard

#ifndef HYPERPARALLEL_COMPILED_JSON
#include <hyperparallel/checkpoint/run_slices.ipp>
#endif
