// SPDX-License-Identifier: Apache-2.0
#pragma once
// What somebody would say of a run without a model of it: a constant share of the devices' peak.
//
//   seconds = operations / (share · peak · devices)
//
// The share is the median of that of the `fit` runs of the same family, device and precision, else of the family, else of the
// device, else of all; of an even number of runs the upper of the two in the middle. Law: no run of `develop` enters.

#include <algorithm>
#include <string>
#include <vector>

#include "book.hpp"

namespace truth {

namespace detail {

/// The share of the peak that a run reaches; 0: it is not known.
inline double share_of(const truth_book& book, const timed_run& r) {
  const double devices = static_cast<double>(book.of(r).run.devices), done = r.seconds.value * r.peak * devices;
  return done > 0 ? r.operations / done : 0.0;
}

template <class Same>
double median_share(const truth_book& book, const Same& same) {
  std::vector<double> shares;
  for (const timed_run& r : book.runs)
    if (const double share = share_of(book, r); r.is_fit && share > 0 && same(book.of(r))) shares.push_back(share);
  std::sort(shares.begin(), shares.end());
  return shares.empty() ? 0.0 : shares[shares.size() / 2];
}

}  // namespace detail

/// Fills `null_seconds` of every run whose operations and peak are known. O(runs²).
inline void add_null_model(truth_book& book) {
  for (timed_run& r : book.runs) {
    if (r.operations == 0 || r.peak == 0) continue;
    const published_row& own = book.of(r);
    const auto family = [&](const published_row& p) { return p.family == own.family; };
    const auto device = [&](const published_row& p) { return p.device == own.device; };
    double share = detail::median_share(
        book, [&](const published_row& p) { return family(p) && device(p) && p.run.format == own.run.format; });
    if (share == 0) share = detail::median_share(book, family);
    if (share == 0) share = detail::median_share(book, device);
    if (share == 0) share = detail::median_share(book, [](const published_row&) { return true; });
    if (share > 0) r.null_seconds = r.operations / (share * r.peak * static_cast<double>(own.run.devices));
  }
}

}  // namespace truth
