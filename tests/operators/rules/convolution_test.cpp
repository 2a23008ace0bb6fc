// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/rules/convolution.hpp>

#include <hyperparallel/operators/factor_extents.hpp>

#include "laws.hpp"

namespace {

namespace hp = hyperparallel;
namespace rules = hp::rules;
using hp::rule_code;
using hp::shape;
using laws::tensor;
using index = std::vector<std::int64_t>;

/// One spatial dim. Groups are whole on a device, or the device has several of them.
laws::compute convolve(const rules::convolution_window& w, hp::extent_t group_in) {
  return [=](std::vector<tensor>& x, tensor& y) {
    const shape a = x[0].shape, k = x[1].shape;
    if (k.extent[1] == 0 || a.extent[1] % k.extent[1] != 0) return false;
    const hp::extent_t groups = group_in == 0 ? 1 : a.extent[1] / k.extent[1];
    if (k.extent[1] * groups != a.extent[1] || k.extent[0] % groups != 0) return false;
    if (x.size() > 2 && x[2].shape.extent[0] != k.extent[0]) return false;
    const hp::extent_t places = rules::places_of(w, a.extent[2], k.extent[2]), out = k.extent[0] / groups;
    y = laws::made(shape{a.extent[0], k.extent[0], places}, [&](const index& at) {
      std::int64_t sum = x.size() > 2 ? x[2].at(at[1]) : 0;
      for (hp::extent_t c = 0; c < k.extent[1]; ++c)
        for (hp::extent_t t = 0; t < k.extent[2]; ++t) {
          const hp::extent_t p = at[2] * w.stride - w.before + t * w.dilation;
          if (p >= 0 && p < a.extent[2]) sum += x[0].at(at[0], at[1] / out * k.extent[1] + c, p) * x[1].at(at[1], c, t);
        }
      return sum;
    });
    return true;
  };
}

TEST(Convolution, OverlappingWindowsHoldOnNumbers) {
  const hp::mesh_shape m = numeric::mesh_of({2, 2});
  const rules::convolution_window w{1, 1, 1, 1};
  const shape x{2, 4, 6}, k{4, 4, 3};
  const hp::rule_result r = rules::convolution(x, k, {{w}});
  ASSERT_EQ(r.status.code, rule_code::ok);
  const laws::verdict v = laws::hold(r.rule, convolve(w, 0), {laws::values(x), laws::values(k, false, 2)}, m);
  EXPECT_GT(v.accepted, 10);
  const shape operands[] = {x, k};
  EXPECT_EQ(hp::result_shape(r.rule, operands, 2).shape, (shape{2, 4, 6}));
  EXPECT_EQ(hp::work_of(r.rule, operands, 2).flops, 2 * 2 * 4 * 4 * 6 * 3);
}

TEST(Convolution, WindowsSideBySideMayBeSharded) {
  const hp::mesh_shape m = numeric::mesh_of({2});
  const rules::convolution_window w{2};
  const shape x{2, 2, 8}, k{2, 2, 2};
  const hp::rule_result r = rules::convolution(x, k, {{w}});
  const laws::verdict v = laws::hold(r.rule, convolve(w, 0), {laws::values(x), laws::values(k, false, 2)}, m);
  EXPECT_EQ(v.accepted, 4 + 1 + 2);  // on batch, channels in, channels out, places, none, partial in x, in weights
  hp::layout_value l = hp::replicated(m, 3), whole = l;
  hp::append_cut(l, {2, 0, 1, 2});
  const hp::layout_value* const operands[] = {&l, &whole};
  EXPECT_EQ(hp::propagate(r.rule, operands, 2).layout, l);
  const hp::rule_result halo = rules::convolution(x, k);
  EXPECT_EQ(hp::propagate(halo.rule, operands, 2).status,
            (hp::propagation_status{hp::propagation_code::dim_needs_a_halo, 0, 2, 0}));
}

TEST(Convolution, GroupsHoldOnNumbers) {
  const hp::mesh_shape m = numeric::mesh_of({2});
  const shape x{2, 4, 5}, k{8, 2, 2}, b(8);
  const hp::rule_result r = rules::convolution(x, k, {{}, 2, true});
  ASSERT_EQ(r.status.code, rule_code::ok);
  const laws::verdict v =
      laws::hold(r.rule, convolve({}, 2), {laws::values(x), laws::values(k, false, 2), laws::values(b, false, 3)}, m);
  EXPECT_GE(v.accepted, 5);
}

TEST(Convolution, OneToThreeSpatialDims) {
  const shape x[] = {shape{2, 4, 9}, shape{2, 4, 9, 8}, shape{2, 4, 9, 8, 7}};
  const shape k[] = {shape{6, 4, 3}, shape{6, 4, 3, 2}, shape{6, 4, 3, 2, 1}};
  const shape y[] = {shape{2, 6, 4}, shape{2, 6, 4, 9}, shape{2, 6, 4, 9, 7}};
  rules::convolution_options o;
  o.window[0] = {2};
  o.window[1] = {1, 1, 1, 1};
  for (int n = 0; n < 3; ++n) {
    const shape operands[] = {x[n], k[n]};
    const hp::rule_result r = rules::convolution(x[n], k[n], o);
    EXPECT_TRUE(laws::same(r, rule_code::ok));
    EXPECT_EQ(hp::result_shape(r.rule, operands, 2).shape, y[n]);
  }
}

TEST(Convolution, RefusesBadAttributes) {
  const shape x{2, 4, 9}, k{6, 4, 3};
  EXPECT_TRUE(laws::same(rules::convolution(shape{2, 4}, shape{6, 4}), rule_code::too_many_dims));
  EXPECT_TRUE(laws::same(rules::convolution(x, shape{6, 4, 3, 3}), rule_code::axes_differ_from_rank));
  EXPECT_TRUE(laws::same(rules::convolution(x, shape{6, 3, 3}), rule_code::sizes_do_not_fit));
  EXPECT_TRUE(laws::same(rules::convolution(x, k, {{}, 2}), rule_code::sizes_do_not_fit));
  EXPECT_TRUE(laws::same(rules::convolution(x, shape{6, 4, 10}), rule_code::attribute_is_invalid));
  EXPECT_TRUE(laws::same(rules::convolution(x, k, {{rules::convolution_window{0}}}), rule_code::attribute_is_invalid));
}

static_assert(rules::tiles({4}, 8, 4) && !rules::tiles({2}, 8, 4));

}  // namespace
