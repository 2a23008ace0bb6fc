// SPDX-License-Identifier: Apache-2.0
#pragma once
// The slope of a function of doubles by central differences, and whether it has one.

#include <algorithm>
#include <cmath>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Fourth-order central difference of loss() at x, which loss() reads and which is as before afterwards. False where the
/// loss breaks within the steps, as a choice does: the differences of one step and of two are then far apart.
template <class Loss>
bool slope_at(double& x, double& slope, const Loss& loss) {
  constexpr double step = 1e-4;
  const double kept = x;
  const auto quotient = [&](double steps) {
    x = kept + steps * step;
    const double above = loss();
    x = kept - steps * step;
    return (above - loss()) / (2 * steps * step);
  };
  const double near = quotient(1), far = quotient(2);
  x = kept;
  slope = (4 * near - far) / 3;
  return std::abs(near - far) <= 1e-3 * std::max(1.0, std::abs(slope));
}

}}}  // namespace hyperparallel::v0_2::detail
