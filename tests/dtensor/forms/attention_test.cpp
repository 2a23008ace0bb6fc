// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/forms/attention.hpp>

#include <gtest/gtest.h>

#include <cstring>

#include <hyperparallel/dtensor/creation.hpp>

#include "dtensor/forms/form_worlds.hpp"

namespace {

using namespace form_worlds;
using way = hpd::attention_way;

struct tally {
  int of[3] = {}, taken = 0, refused = 0;
};

bool same_bits(const hp::dynamic_dtensor& a, const hp::dynamic_dtensor& b) {
  for (int p = 0; p < a.ranks(); ++p)
    if (std::memcmp(a.data(p), b.data(p), static_cast<std::size_t>(hp::block_bytes(a.description(), a.local_box(p)))) !=
        0)
      return false;
  return true;
}

/// The axes that cut each of the first three dims.
hp::layout_value cut_by(const hp::mesh_shape& m, const std::vector<int>* axes) {
  hp::layout_value l = hp::replicated(m, 4);
  for (int dim = 0; dim < 3; ++dim)
    for (const int a : axes[dim]) hp::append_cut(l, {dim, a, 1, m.size[a]});
  return l;
}

template <class T>
void expect_attention(const hp::rank_group& group, const hp::mesh_shape& m, dice& d, double tolerance, tally& seen) {
  // Each axis: the sequence of the keys, of both, batch or heads of the queries, heads of both, or nothing.
  std::vector<int> of_q[3], of_k[3];
  for (int a = 0; a < m.axis_count; ++a) {
    const int choice = d.roll(0, 7);
    if (choice < 4) of_k[2].push_back(a);
    if (choice < 2) of_q[2].push_back(a);
    if (choice == 4) of_q[0].push_back(a);
    if (choice == 5 || choice == 6) of_q[1].push_back(a);
    if (choice == 6) of_k[1].push_back(a);
  }
  const hp::layout_value q = cut_by(m, of_q), k = cut_by(m, of_k);
  const hp::extent_t key_heads = hp::shards_of(k, 1) * d.roll(1, 3);
  const hp::extent_t heads = key_heads * hp::shards_of(q, 1) / hp::shards_of(k, 1) * d.roll(1, 3);
  const hp::extent_t tokens = 24, batch = hp::shards_of(q, 0), width = d.roll(1, 5);
  const hp::extent_t queries = hp::shards_of(q, 2) == 1 ? d.roll(1, 24) : 24;
  const hp::shape sq{batch, heads, queries, width}, sk{batch, key_heads, tokens, width};
  hpd::forms::attention form;
  form.causal = d.roll(0, 1) == 1;
  form.window = d.roll(0, 2) == 0 ? d.roll(1, 9) : 0;
  const std::vector<T> vq = d.numbers<T>(sq, 8, 4), vk = d.numbers<T>(sk, 8, 4), vv = d.numbers<T>(sk, 8, 4);

  std::vector<T> wanted(static_cast<std::size_t>(hp::element_count(sq).value));
  hp::kernels::attention(view(vq, sq), view(vk, sk), view(vv, sk), view(wanted, sq), nullptr, form.options());
  const auto tq = spread(group, sq, q, vq), tk = spread(group, sk, k, vk);
  const auto tv = spread(group, sk, d.roll(0, 3) == 0 ? hp::replicated(m, 4) : k, vv);
  const hp::layout_value layouts[] = {tq.layout(), tk.layout(), tv.layout()};
  const hp::shape shapes[] = {sq, sk, sk};
  const hpd::attention_plan plan = hpd::plan_of(form, layouts, shapes, hp::detail::data_type_of<T>);
  if (plan.status.code != hp::propagation_code::ok) {  // heads of the keys do not divide as those of the queries
    ++seen.refused;
    EXPECT_THROW(hpd::attention(form, tq, tk, tv), hp::operator_error);
    return;
  }
  ++seen.taken;
  for (const way w : {way::ring, way::merge, way::all_to_all, way::cheapest}) {
    form.way = w;
    if (w != way::cheapest && plan.bytes[static_cast<int>(w)] < 0) {
      EXPECT_THROW(hpd::attention(form, tq, tk, tv), hp::dtensor_error);
      continue;
    }
    SCOPED_TRACE("way " + std::to_string(static_cast<int>(w)));
    hpd::traffic counted(group.ranks());
    const auto y = hpd::attention(form, tq, tk, tv, &counted);
    EXPECT_TRUE(y.layout() == plan.result);
    EXPECT_TRUE(hp::replicas_agree(y));
    const bool exact = w == way::all_to_all || hp::shards_of(k, 2) == 1;
    expect_near(hp::full_tensor<T>(y), wanted, exact ? 0 : tolerance);
    EXPECT_TRUE(same_bits(y, hpd::attention(form, tq, tk, tv)));
    const int taken = static_cast<int>(w == way::cheapest ? plan.way : w);
    EXPECT_EQ(counted.busiest_bytes(), plan.bytes[taken]);
    EXPECT_LE(plan.bytes[static_cast<int>(plan.way)], plan.bytes[taken]);
    if (w == way::cheapest && hp::shards_of(k, 2) > 1) ++seen.of[taken];
  }
}

TEST(forms_attention, every_way_is_the_single_device_s) {
  tally seen;
  in_every_world(30, [&](const auto& group, const auto& m, dice& d) {
    expect_attention<float>(group, m, d, 1e-5, seen);
    expect_attention<hp::bf16_bits>(group, m, d, 1e-2, seen);
  });
  EXPECT_GT(seen.taken, 200);
  for (const int n : seen.of) EXPECT_GT(n, 0);  // each way was the cheapest somewhere
}

TEST(forms_attention, blocks_that_are_wholly_masked_do_not_travel) {
  const hp::rank_group group(4, {.threads = 2, .pin = false});
  hp::layout_value l = hp::replicated({1, {4}}, 4);
  hp::append_cut(l, {2, 0, 1, 4});
  const hp::shape s{1, 2, 16, 4};
  dice d(7);
  const auto x = spread(group, s, l, d.numbers<float>(s, 8, 4));
  hpd::forms::attention form;
  form.way = way::ring;
  for (const bool causal : {false, true}) {
    form.causal = causal;
    hpd::traffic counted(4);
    hpd::attention(form, x, x, x, &counted);
    for (int p = 0; p < 4; ++p)  // a block of keys and one of values, 32 elements each
      EXPECT_EQ(counted.elements[static_cast<std::size_t>(p)], 64 * (causal ? p : 3));
  }
}

TEST(forms_attention, values_may_be_partial_and_sequences_uneven) {
  const hp::mesh_shape m{2, {2, 4}};
  const hp::rank_group group(8, {.threads = 2, .pin = false});
  hp::layout_value q = hp::replicated(m, 4), v = q;
  hp::append_cut(q, {2, 1, 1, 4});
  v = q;
  v.partial[0] = hp::reduce_op::sum;
  q.padded = v.padded = hpd::detail::sequence_dim;
  const hp::shape s{1, 2, 10, 4};  // blocks of 3, 3, 3 and 1
  dice d(3);
  const std::vector<float> x = d.numbers<float>(s, 8, 4);
  std::vector<float> wanted(x.size());
  hp::kernels::attention_options causal;
  causal.causal = true;
  hp::kernels::attention(view(x, s), view(x, s), view(x, s), view(wanted, s), nullptr, causal);
  hpd::forms::attention form;
  form.causal = true;
  for (const way w : {way::ring, way::cheapest}) {
    form.way = w;
    const auto tx = spread(group, s, q, x);
    const auto y = hpd::attention(form, tx, tx, spread(group, s, v, x));
    EXPECT_EQ(y.layout().partial[0], hp::reduce_op::sum);
    expect_near(hp::full_tensor<float>(y), wanted, 1e-5);
  }
}

TEST(forms_attention, refuses_what_the_operator_refuses) {
  const hp::mesh_shape m{1, {2}};
  const hp::rank_group group(2, {.threads = 1});
  const hp::shape s{2, 2, 4, 4};
  const std::vector<float> x(64, 1.0F);
  hp::layout_value partial = hp::replicated(m, 4), deep = hp::replicated(m, 4);
  partial.partial[0] = hp::reduce_op::sum;
  hp::append_cut(deep, {3, 0, 1, 2});
  const auto plain = spread(group, s, hp::replicated(m, 4), x);
  EXPECT_THROW(hpd::attention({}, spread(group, s, partial, x), plain, plain), hp::operator_error);
  EXPECT_THROW(hpd::attention({}, plain, spread(group, s, deep, x), plain), hp::operator_error);
  const hp::shape odd{2, 3, 4, 4};
  EXPECT_THROW(hpd::attention({}, plain, spread(group, odd, hp::replicated(m, 4), std::vector<float>(96)), plain),
               hp::operator_error);
  const auto whole = spread(group, s, hp::replicated(m, 4), std::vector<std::int32_t>(64));
  EXPECT_THROW(hpd::attention({}, whole, whole, whole), hp::dtensor_error);
}

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"cp", 2}> {};

TEST(forms_attention, has_a_typed_face) {
  const hp::rank_group group(4, {.threads = 2, .pin = false});
  using layout = hp::layout<mesh, "dp", hp::none, "cp", hp::none>;
  using q_type = hp::dtensor<float, hp::extents<2, 4, 8, 2>, layout>;
  using k_type = hp::dtensor<float, hp::extents<2, 2, 8, 2>, layout>;
  const auto q = hp::arange<q_type>(group);
  const auto k = hp::ones<k_type>(group);
  const auto y = hpd::attention<true>(q, k, k);
  static_assert(std::is_same_v<decltype(y), const q_type>);
  for (const float e : y.full_tensor()) EXPECT_NEAR(e, 1, 1e-6);
}

}  // namespace
