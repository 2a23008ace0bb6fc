// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parameters that `fit` runs say, and the header of them: hardware/fitted_shares.hpp.
//
// Of each preset there the share of the peak at which half of its `fit` runs are predicted too slow and half too fast, by bisection. Runs whose
// prediction hardly depends on the share, as of kernels that were measured on the device, have no say. Law: what the presets had before is nothing to it.

#include <string>
#include <vector>

#include "book.hpp"

namespace truth {

/// A preset's share of the peak; 0 runs: none had a say, and the share is what it was.
struct fit_result {
  std::string preset{};
  int parts_per_million = 0;
  int runs = 0;
  double error = 0;  ///< mean over the runs
};

/// O(runs · log(1 / precision)) predictions.
std::vector<fit_result> fit_shares(const truth_book& book);

/// Writes them into the table of a header. Throws bad_input where `path` has none or cannot be written.
void print_fits(const std::vector<fit_result>& fits, const std::string& path);

std::string to_text(const std::vector<fit_result>& fits);

}  // namespace truth
