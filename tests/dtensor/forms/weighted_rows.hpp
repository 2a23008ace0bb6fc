// SPDX-License-Identifier: Apache-2.0
#pragma once
// A form that needs no communication: enough to see where its operands come, and what it refuses.

#include <hyperparallel/dtensor/forms/form.hpp>
#include <hyperparallel/operators/rules/normalization.hpp>

#include <gtest/gtest.h>

#include <concepts>
#include <cstdint>

#include "dtensor/forms/form_worlds.hpp"

namespace form_worlds {

/// x plus a weight along its second dim.
struct weighted_rows {
  constexpr hp::rule_result rule(const hp::shape* x, int count) const {
    return hp::rules::normalize("weighted_rows", x[0].rank, x[1].rank, count - 1, 1);
  }
  constexpr hpd::working_dims working(const hp::shape*, int) const {
    hpd::working_dims w;
    w.operand[0] = w.result[0] = 0b10u;
    w.operand[1] = 1u;
    w.offset[1] = 1;
    return w;
  }
  template <class X>
    requires std::same_as<X, std::int32_t>
  void run(const hp::local_operation&, hp::const_view<X>, hp::const_view<X>, hp::tensor_view<X>) const {}
  template <class X, class>
  void run_form(hpd::form_run& r) const {
    r.ranks().for_each_rank("weighted_rows", [&](int p) {
      const auto x = r.in<X>(0, p), w = r.in<X>(1, p);
      EXPECT_EQ(x.extents.extent[1], w.extents.extent[0]);
      for (hp::extent_t i = 0; i < hp::volume(x); ++i)
        r.out<X>(0, p).data[i] = x.data[i] + w.data[i % x.extents.extent[1]];
    });
  }
};

}  // namespace form_worlds
