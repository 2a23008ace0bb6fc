// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/forms/attention_plan.hpp>

#include <gtest/gtest.h>

#include "dtensor/forms/form_worlds.hpp"

namespace {

using namespace form_worlds;

constexpr hp::layout_value cut_by(int axes, const int* sizes, int dim, int axis, int head_axis = -1) {
  hp::layout_value l;
  l.mesh.axis_count = axes;
  for (int a = 0; a < axes; ++a) l.mesh.size[a] = sizes[a];
  l.rank = 4;
  if (head_axis >= 0) hp::append_cut(l, {1, head_axis, 1, sizes[head_axis]});
  if (axis >= 0) hp::append_cut(l, {dim, axis, 1, sizes[axis]});
  return l;
}

constexpr int four[] = {4};
constexpr int two_by_four[] = {2, 4};

constexpr hpd::attention_plan plan(const hp::layout_value& q, const hp::layout_value& k, hp::extent_t heads,
                                   hp::extent_t key_heads, hp::extent_t queries, hp::extent_t keys,
                                   const hp::kernels::attention_options& o = {},
                                   hpd::attention_way way = hpd::attention_way::cheapest) {
  const hp::rule_result r = hp::rules::attention(static_cast<int>(heads), static_cast<int>(key_heads));
  const hp::shape s[] = {
      {2, heads, queries, 8}, {2, key_heads, keys, 8}, {2, key_heads, keys, 8}, {2, heads, queries, 8}};
  const hp::layout_value operands[] = {q, k, k};
  return hpd::detail::plan_attention(r.rule, operands, s, o, 4, way);
}

constexpr hp::layout_value rows = cut_by(1, four, 2, 0);
constexpr hp::layout_value whole = cut_by(1, four, 2, -1);

// 16 tokens over 4 devices, 4 heads of 8, batch 2: a block of keys or values has 256 elements.
constexpr hpd::attention_plan many = plan(rows, rows, 4, 4, 16, 16);
static_assert(many.status.code == hp::propagation_code::ok && many.result == rows);
static_assert(many.bytes[0] == 4 * 3 * (256 + 256));
static_assert(many.bytes[1] == -1);                   // queries are not whole
static_assert(many.bytes[2] == 4 * 4 * 256 * 3 / 4);  // q, k, v and back
static_assert(many.way == hpd::attention_way::all_to_all);
static_assert(hp::shards_of(many.operand[0], 1) == 4 && hp::shards_of(many.operand[0], 2) == 1);
static_assert(many.operand[1] == many.operand[0] && many.attended == many.operand[0]);

// One head of keys for 8 of queries: its blocks are small, and moving queries to heads is not.
constexpr hpd::attention_plan few = plan(rows, rows, 8, 1, 16, 16);
static_assert(few.bytes[0] == 4 * 3 * (64 + 64));
static_assert(few.bytes[2] == 4 * (2 * 512 * 3 / 4 + 2 * 3 * 64));
static_assert(few.way == hpd::attention_way::ring);
static_assert(plan(rows, rows, 3, 3, 16, 16).bytes[2] == -1);  // 3 heads over 4 devices
static_assert(plan(rows, rows, 3, 3, 16, 16).way == hpd::attention_way::ring);

// Decoding: one query against keys in shards.
constexpr hpd::attention_plan decoding = plan(whole, rows, 4, 4, 1, 64);
static_assert(decoding.way == hpd::attention_way::merge && decoding.result == whole);
static_assert(decoding.bytes[1] == 4 * hpd::detail::all_reduce_price(4, 8) * 9);

// A window of 4 keys: the block before is all that is taken; causal alone does not help the last device.
constexpr hp::kernels::attention_options window = [] {
  hp::kernels::attention_options o;
  o.causal = true;
  o.window = 4;
  return o;
}();
static_assert(plan(rows, rows, 4, 4, 16, 16, window).bytes[0] == 4 * (256 + 256));
static_assert(plan(rows, rows, 4, 4, 16, 16, window).way == hpd::attention_way::ring);

// Heads over one axis, sequence over the other.
constexpr hp::layout_value both = cut_by(2, two_by_four, 2, 1, 0);
static_assert(plan(both, both, 8, 8, 16, 16).bytes[2] == 4 * 4 * 256 * 3 / 4);
static_assert(hp::shards_of(plan(both, both, 8, 8, 16, 16).operand[0], 1) == 8);
// Keys come with their sequence cut by the axis that cuts heads of the queries: it stays with the heads.
static_assert(
    hp::shards_of(plan(cut_by(2, two_by_four, 2, -1, 0), cut_by(2, two_by_four, 2, 0), 4, 4, 16, 16).operand[1], 2) ==
    1);

TEST(attention_plan, sees_says_what_the_kernel_s_mask_says) {
  for (const bool causal : {false, true})
    for (const hp::extent_t width : {0, 1, 3})
      for (hp::extent_t qb = 0; qb < 6; ++qb)
        for (hp::extent_t qe = qb; qe <= 6; ++qe)
          for (hp::extent_t kb = 0; kb < 6; ++kb)
            for (hp::extent_t ke = kb; ke <= 6; ++ke) {
              hp::kernels::attention_options o;
              o.causal = causal;
              o.window = width;
              bool expected = false;
              for (hp::extent_t q = qb; q < qe; ++q)
                for (hp::extent_t k = kb; k < ke; ++k)
                  expected = expected || ((!causal || k <= q) && (width == 0 || (k < q + width && q < k + width)));
              EXPECT_EQ(hpd::detail::sees(o, {qb, qe}, {kb, ke}), expected);
            }
}

TEST(attention_plan, a_block_comes_to_all_that_see_it_and_travels_no_further) {
  for (const int n : {2, 3, 4}) {
    const hp::layout_value l = cut_by(1, &n, 2, 0);
    for (const bool causal : {false, true})
      for (const hp::extent_t width : {0, 2}) {
        hp::kernels::attention_options o;
        o.causal = causal;
        o.window = width;
        const hpd::detail::ring_route r{
            l, l, {1, 1, 12, 4}, {1, 1, 12, 4}, o, hpd::group_over(l, hpd::detail::sequence_dim)};
        for (int p = 0; p < n; ++p) {
          for (int step = 1; step < n; ++step) {
            const int before = (p + n - 1) % n;
            if (r.sees_at(p, step)) {
              EXPECT_TRUE(r.takes_at(p, step));
            }
            if (r.takes_at(p, step)) {
              EXPECT_TRUE(step == 1 || r.takes_at(before, step - 1));
            }
            if (r.takes_at(p, step) && !r.sees_at(p, step)) {
              EXPECT_TRUE(step + 1 < n && r.takes_at((p + 1) % n, step + 1));
            }
          }
          if (causal && width == 0) {
            EXPECT_EQ(r.taken(p), 12 / n * p);
          }
        }
      }
  }
}

}  // namespace
