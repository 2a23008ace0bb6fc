// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of class D, of which inputs are missing: how their time or peak compares with the 1F1B row of the same model beside them, or where
// there is none with that of a schedule that keeps as many micro-batches (ZB-H1).
//
// Sizes of a model that a row only names are those that another row of the family prints for the name. Where the batch is missing, the ratio
// is the middle of those of 2, 4, 8 and 16 micro-batches of a sequence for each stage; where the sequence is, it is the reference's, or has
// `assumed_sequence` tokens.
// Law: the ratio of a reference to itself is 1; no measured value enters a prediction.

#include "book.hpp"

namespace truth {

inline constexpr hp::extent_t assumed_sequence = 4096;

/// Judges the rows of class D that are no phases of reinforcement. What others lack is said.
void judge_ratios(truth_book& book);

/// Of the rows of class D that are judged and are no references themselves, by quantity, over 1F1B or over another: errors of ratios.
std::vector<double> ratio_errors(const truth_book& book, bool of_memory, bool over_1f1b);

}  // namespace truth
