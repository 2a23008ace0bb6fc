// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of training by reinforcement: steps of a trainer and a generator, hours of whole runs, seconds of the weights' way.
//
//   steps        of an asynchronous run from the phases of synchronous ones and the split of devices (rl_steps.hpp); a synchronous step is
//                the sum of its phases
//   sized steps  from the sizes of the model and both layouts alone (rl_sizes.hpp)
//   hours        over those of the synchronous system of the same model
//   weights      seconds over those of the plain way, and a bound by bytes
//
// What rows leave open is stated, not fitted: how long the longest response is, and what share generation has of a step of which no phase
// is printed. Law: no measured value of a row that is not `fit` enters, the plain way of weights as a reference aside.

#include <vector>

namespace truth {

struct truth_book;

/// The longest response over the mean, where rows print neither: what is fixed of a synchronous generation follows from it.
inline constexpr double longest_over_mean = 4;
/// Generation's share of a synchronous step of which no phase is printed. Source: RollPacker (arXiv 2509.21009), about 70 percent.
inline constexpr double generation_share = 0.7;

enum class rl_figure : unsigned char { step, phase, sized_step, hours, weights };
inline constexpr int rl_figure_count = 5;
inline constexpr const char* rl_figure_names[rl_figure_count] = {
    "asynchronous steps, of synchronous phases", "phases of asynchronous steps, not scored",
    "steps of sizes and layouts, no bar", "hours over those of the synchronous system",
    "weights' way over the plain way"};
inline constexpr const char* rl_figure_keys[rl_figure_count] = {"steps", "phases", "sized_steps", "hours", "weights"};

/// A row that is predicted, with what it is compared with.
struct rl_comparison {
  int row = 0;
  rl_figure figure = rl_figure::step;
  double predicted = 0, measured = 0;
  double synchronous = 0;  ///< what the other way takes, the null model; 0: it is not known
  double bound = 0;        ///< seconds that no execution is below; 0: none
  int group = -1;          ///< rows of one are alternatives; -1: of none
};

/// Keeps a comparison of a row, with what is predicted and measured in the row.
void compare(truth_book& book, int row, rl_comparison c);

/// Judges the rows of class D that are of reinforcement. What others lack is said. O(rows²).
void judge_reinforcement(truth_book& book);

}  // namespace truth
