// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/box_of_call.hpp>

#include <hyperparallel/kernels/ops/builtin_kernels.hpp>

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace {

namespace hp = hyperparallel;
using hp::data_type;
using hp::extent_t;

/// A contraction "bmk,kn->bmn" on blocks of its own.
template <class T>
struct product {
  hp::operator_attributes attributes{};
  hp::factor_rule rule = hp::rule_from("contract", "bmk,kn->bmn", {}, {2, {3, 2}}).rule;
  std::vector<T> a, b, c;
  hp::operator_call call;

  product(extent_t batch, extent_t m, extent_t k, extent_t n, std::mt19937& random) {
    const extent_t extent[] = {batch, m, k, n};
    call.attributes = &attributes;
    call.rule = &rule;
    for (int l = 0; l < 4; ++l) call.loop[l] = {0, extent[l], extent[l]};
    std::normal_distribution<float> normal;
    const auto fill = [&](std::vector<T>& x, extent_t count) {
      for (extent_t i = 0; i < count; ++i) x.push_back(hp::kernels::store<T>(normal(random)));
    };
    fill(a, batch * m * k);
    fill(b, k * n);
    fill(c, batch * m * n);
    point();
  }
  void point() {
    call.operand[0] = a.data();
    call.operand[1] = b.data();
    call.result[0] = c.data();
  }
  hp::detail::typed_kernel kernel() const {
    hp::detail::typed_kernel k{hp::kernel_of<float>(hp::id_of<hp::ops::contract>)};
    if (sizeof(T) == sizeof(float)) return k;
    k.widened = &hp::detail::run_widened<float>;
    k.types = {{data_type::bf16, data_type::bf16}, {data_type::bf16}};
    return k;
  }
  /// What the blocks hold after the box within them.
  std::vector<T> after(const hp::loop_span (&box)[hp::max_factors]) {
    std::vector<T> kept = c, made;
    hp::detail::run_on_box(kernel(), call, box, {{sizeof(T), sizeof(T)}, {sizeof(T)}});
    made.swap(c);
    c = kept;
    point();
    return made;
  }
};

bool same(float x, float y) { return x == y; }
bool same(hp::bf16_bits x, hp::bf16_bits y) { return x.bits == y.bits; }

/// Elements in the box are those of the whole, others as before.
template <class T>
void hold(product<T>& p, const hp::loop_span (&box)[hp::max_factors]) {
  hp::loop_span whole[hp::max_factors] = {};
  for (int l = 0; l < 4; ++l) whole[l] = p.call.loop[l];
  const std::vector<T> all = p.after(whole), made = p.after(box);
  const extent_t m = whole[1].extent, n = whole[3].extent;
  for (extent_t e = 0; e < static_cast<extent_t>(made.size()); ++e) {
    const auto in = [&](int l, extent_t x) {
      const extent_t begin = box[l].begin - whole[l].begin;
      return begin <= x && x < begin + box[l].extent;
    };
    const bool inside = in(0, e / (m * n)) && in(1, e / n % m) && in(3, e % n);
    const std::size_t i = static_cast<std::size_t>(e);
    ASSERT_TRUE(same(made[i], inside ? all[i] : p.c[i])) << "element " << e;
  }
}

// Every box of a small product: packed or in place, it is the slice, and nothing else is written.
TEST(BoxOfCall, IsTheSliceOfTheWhole) {
  std::mt19937 random(1);
  product<float> p(2, 3, 4, 5, random);
  product<hp::bf16_bits> narrow(2, 3, 4, 5, random);
  hp::loop_span box[hp::max_factors] = {};
  box[2] = p.call.loop[2];
  int boxes = 0;
  const auto each = [&](int l, const auto& next) {
    const extent_t whole = p.call.loop[l].extent;
    for (extent_t begin = 0; begin < whole; ++begin)
      for (extent_t extent = 1; begin + extent <= whole; ++extent) {
        box[l] = {begin, extent, whole};
        next();
      }
  };
  each(0, [&] {
    each(1, [&] {
      each(3, [&] {
        ++boxes;
        hold(p, box);
        hold(narrow, box);
      });
    });
  });
  EXPECT_EQ(boxes, 3 * 6 * 15);
}

// Sizes at which the product takes its sides in the other order, or in several panels and strips.
TEST(BoxOfCall, KeepsTheBitsOfLargeProducts) {
  std::mt19937 random(2);
  const auto below = [&](extent_t n) { return static_cast<extent_t>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 300; ++round) {
    product<float> p(1 + below(3), 1 + below(80), 1 + below(600), 1 + below(80), random);
    hp::loop_span box[hp::max_factors] = {};
    for (int l = 0; l < 4; ++l) {
      box[l] = p.call.loop[l];
      if (l == 2) continue;
      box[l].begin = below(box[l].whole);
      box[l].extent = 1 + below(box[l].whole - box[l].begin);
    }
    hold(p, box);
  }
}

// A block that begins somewhere in the whole tensor: boxes are in coordinates of that.
TEST(BoxOfCall, LiesInTheCoordinatesOfTheTensor) {
  std::mt19937 random(3);
  product<float> p(1, 6, 4, 5, random);
  for (int l = 0; l < 2; ++l) p.call.loop[l].begin += 10;
  hp::loop_span box[hp::max_factors] = {p.call.loop[0], {12, 2, 20}, p.call.loop[2], {1, 3, 5}};
  hold(p, box);
}

// A result may be the memory of an operand: accumulation, where all blocks are packed.
TEST(BoxOfCall, MayReplaceAnOperand) {
  hp::operator_attributes attributes{};
  const hp::factor_rule rule = hp::rule_from("accumulate", "ab,ab->ab", {}, {2, {2, 2}}).rule;
  std::vector<double> total(12, 1.0), term(12);
  for (std::size_t i = 0; i < term.size(); ++i) term[i] = static_cast<double>(i);
  hp::operator_call call;
  call.attributes = &attributes;
  call.rule = &rule;
  call.loop[0] = {0, 3, 3};
  call.loop[1] = {0, 4, 4};
  call.operand[0] = total.data();
  call.operand[1] = term.data();
  call.result[0] = total.data();
  const hp::loop_span box[hp::max_factors] = {{1, 2, 3}, {1, 2, 4}};
  hp::detail::run_on_box({hp::kernel_of<double>(hp::id_of<hp::ops::accumulate>)}, call, box, {{8, 8}, {8}});
  EXPECT_EQ(total, (std::vector<double>{1, 1, 1, 1, 1, 6, 7, 1, 1, 10, 11, 1}));
}

}  // namespace
