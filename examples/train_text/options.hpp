// SPDX-License-Identifier: Apache-2.0
#pragma once
// What train_text is told on its command line.

#include <cstdint>
#include <string>
#include <vector>

namespace train_text {

struct train_options {
  std::string text = "/usr/share/common-licenses";
  std::string strategy = "ep-tp";
  std::vector<int> degrees{};
  std::vector<int> stages{};          ///< of a pipeline: their number, or the layers of each
  std::vector<std::string> groups{};  ///< of ranks of a pipeline: strategy and ranks of each, as dp:4
  std::string schedule = "1F1B";
  int chunks = 0;         ///< stages of a group of ranks; 0: as many as the schedule insists on, or one
  int micro_batches = 0;  ///< 0: two for each group of ranks, or one without a pipeline
  int ranks = 8;
  int steps = 100;
  int threads = 0;
  std::uint64_t seed = 1;
  int batch = 16;
  int sequence = 64;
  int layers = 4;
  int hidden = 64;
  double rate = 1e-3;
  std::int64_t validation_bytes = 16384;
  std::string checkpoint{};
  int save_every = 50;
  std::string resume{};
  std::vector<std::string> tiles{};  ///< patterns of names of operators
  int most_tiles = 8;
  std::vector<std::string> checks{};  ///< against silent corruption: tasks, moves, state
  int check_share = 1;
  std::string hbm_budget{};
  double tier_bandwidth = 4;
  double most_ratio = 0;  ///< of validation loss to bigram entropy; 0: any
  bool doubles = false;
  bool compare = false;
  bool list = false;
};

/// Largest relative difference of a loss from one device's that `--compare` accepts.
inline double tolerance(const train_options& o) { return o.doubles ? 1e-9 : 1e-4; }

}  // namespace train_text
