// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run that goes on from a set of files, whatever strategy wrote it.
//
//   hp::load_run("runs/step_000000000100", run);      // a set of slices, a folder of Hugging Face's form, one file
//
// Each process reads every slice that has anything of its ranks' once, whole, and holds it against its checksum; then the ranks get their
// boxes of it.
//
// Laws: what is loaded are the bits that were kept; where a load throws, the run is as before. Errors: io_error, checkpoint_error with
// every difference. O(bytes); a load takes as much memory as the ranks' parameters and states have, and a slice for each thread.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <hyperparallel/checkpoint/run_place.hpp>
#include <hyperparallel/io/checkpoint.hpp>
#include <hyperparallel/strategy/sharded_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

using run_texts = std::map<std::string, std::string>;

/// What was loaded.
struct loaded_run {
  std::int64_t steps = 0;
  run_texts texts;
};

namespace reshard { namespace detail {

/// The elements of a value on one rank.
struct loaded_block {
  int value, rank;
  box part;
  std::vector<std::byte> elements;
};

/// What a set has for the ranks whose memory is here, read but not yet given to the run.
struct loaded_set {
  loaded_run run;
  std::string statement;  ///< the same on all processes of the run
  std::vector<loaded_block> blocks;
};

/// Reads all. `here` says of each rank of the program whether its memory is. Throws checkpoint_error where the tensors are not those of
/// the program.
loaded_set load_set(const std::string& path, const sharded_program& p, const std::vector<bool>& here, int threads);

}}  // namespace reshard::detail

/// Goes on from any set of whole tensors or slices: a folder of a step, a file. Collective where the run's processes are; the run is as
/// before where it throws.
template <class Run>
loaded_run load_run(const std::string& path, Run& run, int threads = 1) {
  auto& world = run.world();
  reshard::detail::loaded_set set;
  reshard::run_place<std::remove_cvref_t<decltype(world)>>(world).together("load of a checkpoint", [&] {
    const sharded_program& p = world.program();
    std::vector<bool> here;
    for (int r = 0; r < ranks_of(p); ++r) here.push_back(world.hosts(r));
    set = reshard::detail::load_set(path, p, here, threads);
    return set.statement;
  });
  for (const reshard::detail::loaded_block& b : set.blocks) world.set_block(b.value, b.rank, b.elements);
  run.set_steps(set.run.steps);
  return std::move(set.run);
}

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED_JSON
#include <hyperparallel/checkpoint/load_run.ipp>
#endif
