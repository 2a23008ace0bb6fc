// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plans that can be nearest to one that cannot: the same options, other degrees.
//
//   hp::growing_array<hp::decoder_plan> near = hp::nearest_plans(decoder, refused, 16, 3);
//
// Far is what multiplies and divides degrees by much: the product of the larger by the smaller of each, old and new. Where no
// degrees can be on the devices, the next smaller number of devices has its turn.

#include <hyperparallel/planner/plan_check.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// By how much degrees and micro-batches differ: 1 where they are equal. Precondition: all are at least 1.
constexpr double distance_of(const decoder_plan& a, const decoder_plan& b) {
  const auto ratio = [](int x, int y) {
    return x > y ? static_cast<double>(x) / static_cast<double>(y) : static_cast<double>(y) / static_cast<double>(x);
  };
  double distance = ratio(a.micro_batches, b.micro_batches);
  for (const plan_degree& d : plan_degrees) distance *= ratio(a.*d.of, b.*d.of);
  return distance;
}

/// Numbers that divide `extent`, rising. O(sqrt(extent)). Domain: extent ≥ 1.
constexpr growing_array<extent_t> divisors_of(extent_t extent) {
  growing_array<extent_t> low, high;
  for (extent_t n = 1; n * n <= extent; ++n) {
    if (extent % n != 0) continue;
    low.push(n);
    if (n * n != extent) high.push(extent / n);
  }
  for (int i = high.size - 1; i >= 0; --i) low.push(high[i]);
  return low;
}

namespace detail {

/// What `visit(plan)` returns; true where it returns nothing.
template <class Visit>
constexpr bool goes_on_after(const Visit& visit, const decoder_plan& p) {
  if constexpr (requires { visit(p) ? 0 : 1; }) {
    return static_cast<bool>(visit(p));
  } else {
    visit(p);
    return true;
  }
}

/// Calls `visit(plan)` for all degrees on `devices` devices that can be, with the other numbers of `from`, until one returns
/// false. Whether none did.
template <class Visit>
constexpr bool visit_legal_degrees(const decoder& d, const decoder_plan& from, extent_t devices, const Visit& visit) {
  const growing_array<extent_t> degrees = divisors_of(devices);
  decoder_plan p = from;
  for (const extent_t tp : degrees)
    for (const extent_t pp : degrees)
      for (const extent_t cp : degrees)
        for (const extent_t ep : degrees) {
          if (tp * pp > devices || tp * pp * cp > devices || devices % (tp * pp * cp * ep) != 0) continue;
          p.tp = static_cast<int>(tp);
          p.pp = static_cast<int>(pp);
          p.cp = static_cast<int>(cp);
          p.ep = static_cast<int>(ep);
          p.dp = static_cast<int>(devices / (tp * pp * cp * ep));
          if (check_plan(d, p, devices).ok() && !goes_on_after(visit, p)) return false;
        }
  return true;
}

/// Puts a plan where its distance belongs, in front of those as far away as it is not; at most `most` stay.
constexpr void enter_near(growing_array<decoder_plan>& list, const decoder_plan& from, const decoder_plan& p,
                          int most) {
  list.push(p);
  int at = list.size - 1;
  for (; at > 0 && distance_of(from, p) < distance_of(from, list[at - 1]); --at) list[at] = list[at - 1];
  list[at] = p;
  if (list.size > most) list.size = most;
}

}  // namespace detail

/// The `most` nearest plans that can be, the nearest first; of equally near ones those with the smaller tp, then pp, cp and
/// ep. Micro-batches that do not divide the batch become the nearest divisors of it. Empty where not one device can have a
/// plan. Precondition: all numbers of `from` are in range. O(devices · (divisors of the devices)^4 · layers) at worst; where
/// some degrees can be on the devices, without the first factor.
constexpr growing_array<decoder_plan> nearest_plans(const decoder& d, const decoder_plan& from, extent_t devices,
                                                    int most) {
  growing_array<decoder_plan> near;
  for (extent_t n = devices; n >= 1 && near.size == 0; --n)
    for (const extent_t m : divisors_of(from.batch)) {
      if (from.batch % from.micro_batches == 0 && m != from.micro_batches) continue;
      decoder_plan p = from;
      p.micro_batches = static_cast<int>(m);
      detail::visit_legal_degrees(d, p, n, [&](const decoder_plan& q) { detail::enter_near(near, from, q, most); });
    }
  return near;
}

}}  // namespace hyperparallel::v0_2
