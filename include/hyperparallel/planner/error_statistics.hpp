// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far predictions are from measurements, and whether they put alternatives in the right order.
//
//   hp::relative_error(1.1, 1.0)                 0.1: a tenth too slow
//   hp::mean_of(errors), hp::median_of(errors), hp::quantile_of(errors, 0.9)
//   hp::rank_agreement_of(predicted, measured).tau_b(), hp::pairs_of(predicted, intervals, 0.05), hp::regret_of(predicted, measured)
//
// Laws: none of them depends on the order of the values, where there are two lists of the order of the pairs; quantiles are
// between the least and the largest value and rise with the share; tau_b is in [-1, 1], 1 of a list with itself where two of its
// values differ, and changes sign where one list is reversed; a regret is at least 1, and 1 where the best is predicted to be.
// Domain: values are finite; measured values are above 0. Complexities: O(n) of means, O(n log n) of quantiles, O(n²) of pairs.

#include <algorithm>
#include <span>

#include <hyperparallel/support/growing_array.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Above 0 where the prediction is too large.
constexpr double relative_error(double predicted, double measured) { return predicted / measured - 1; }

/// 0 of no values.
constexpr double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return values.empty() ? 0.0 : sum / static_cast<double>(values.size());
}

/// The value that `share` of the values lie below, interpolated between neighbours; 0 of no values. Domain: 0 ≤ share ≤ 1.
constexpr double quantile_of(std::span<const double> values, double share) {
  if (values.empty()) return 0;
  growing_array<double> sorted;
  sorted.reserve(static_cast<int>(values.size()));
  for (const double v : values) sorted.push(v);
  std::sort(sorted.begin(), sorted.end());
  const double place = share * (sorted.size - 1);
  const int below = static_cast<int>(place), above = below + 1 < sorted.size ? below + 1 : below;
  return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

constexpr double median_of(std::span<const double> values) { return quantile_of(values, 0.5); }

/// Pairs of places by how two lists order them.
struct rank_agreement {
  double agree = 0, oppose = 0;  ///< neither list has equal values there
  double tied_first = 0, tied_second = 0, tied_both = 0;

  /// Kendall's tau-b; 0 where a list has no two values that differ.
  constexpr double tau_b() const {
    const double one = agree + oppose + tied_second, other = agree + oppose + tied_first;
    if (one == 0 || other == 0) return 0;
    const double product = one * other;
    double root = product;  // Newton's steps fall to the root from above
    for (double next = (root + 1) / 2; next < root; next = (root + product / root) / 2) root = next;
    return (agree - oppose) / root;
  }
};

/// Precondition: lists of equal length.
constexpr rank_agreement rank_agreement_of(std::span<const double> one, std::span<const double> other) {
  rank_agreement r;
  for (std::size_t i = 0; i < one.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const bool tied_first = one[i] == one[j], tied_second = other[i] == other[j];
      if (tied_first || tied_second)
        ++(tied_first && tied_second ? r.tied_both : tied_first ? r.tied_first : r.tied_second);
      else
        ++((one[i] < one[j]) == (other[i] < other[j]) ? r.agree : r.oppose);
    }
  return r;
}

/// A measured value and what its printed digits leave open. Invariant: least ≤ value ≤ most.
struct measured_interval {
  double least = 0, value = 0, most = 0;
};

struct ordered_pairs {
  int right = 0, all = 0;
  constexpr double share() const { return all == 0 ? 0.0 : static_cast<double>(right) / all; }
  constexpr ordered_pairs& operator+=(const ordered_pairs& other) {
    right += other.right;
    all += other.all;
    return *this;
  }
};

/// Of the pairs that are measured to differ by more than `least_difference` of the smaller, and by more than their digits leave
/// open, those that are predicted in the measured order; a pair that is predicted to be equal is not right.
/// Precondition: lists of equal length.
constexpr ordered_pairs pairs_of(std::span<const double> predicted, std::span<const measured_interval> measured,
                                 double least_difference) {
  ordered_pairs p;
  for (std::size_t i = 0; i < measured.size(); ++i)
    for (std::size_t j = 0; j < measured.size(); ++j) {
      const measured_interval &small = measured[i], &large = measured[j];
      if (!(large.value > small.value * (1 + least_difference)) || large.least <= small.most) continue;
      ++p.all;
      p.right += predicted[i] < predicted[j] ? 1 : 0;
    }
  return p;
}

/// The measured value of what is predicted to be the least, over the least that was measured; of several that are predicted to be,
/// the largest. Precondition: lists of equal length, not empty.
constexpr double regret_of(std::span<const double> predicted, std::span<const double> measured) {
  std::size_t chosen = 0;
  double best = measured[0];
  for (std::size_t i = 1; i < measured.size(); ++i) {
    if (predicted[i] < predicted[chosen] || (predicted[i] == predicted[chosen] && measured[i] > measured[chosen]))
      chosen = i;
    best = measured[i] < best ? measured[i] : best;
  }
  return measured[chosen] / best;
}

}}  // namespace hyperparallel::v0_2
