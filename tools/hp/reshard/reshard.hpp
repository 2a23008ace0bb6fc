// SPDX-License-Identifier: Apache-2.0
#pragma once
// Any checkpoint to any other: of another layout over ranks, another framework's names and orders, another element type.
//
//   reshard_request r{.source = "Llama-3-8B", .target = "megatron", .to = "tp=4,pp=2", .to_map = "megatron"};
//   prepared_reshard p = prepare_reshard(r);      reads headers, plans, proves
//   execute_reshard(p);                                        writes, or goes on with what was begun
//
// Laws: the target holds each element of the source that is not named as left out, at the place that its layout and map give it; there
// and back is the identity where the type is as wide. Errors: reshard_error, one line.

#include <stdexcept>
#include <string>
#include <vector>

#include "chosen_types.hpp"
#include "run.hpp"

namespace hp_tool::reshard {

struct reshard_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct prepared_reshard {
  reshard_request request;
  std::vector<set_file> source;  ///< files that are read
  set_layout from, to;
  std::string from_map, to_map;
  reshard_plan plan;
  std::vector<side_file> beside;
  std::string fingerprint;
  bool is_one_file = false;
};

prepared_reshard prepare_reshard(const reshard_request& r);

/// Writes the target. `progress` is called with bytes done and in all, by any thread.
void execute_reshard(const prepared_reshard& p, const reshard_progress& progress = {});

}  // namespace hp_tool::reshard
