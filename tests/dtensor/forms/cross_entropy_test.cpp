// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/forms/cross_entropy.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/dtensor/creation.hpp>
#include <hyperparallel/dtensor/operations/indexing.hpp>

#include "dtensor/forms/form_worlds.hpp"

namespace {

using namespace form_worlds;

template <class T, class I>
void expect_loss(const hp::rank_group& group, const hp::mesh_shape& m, dice& d, double tolerance) {
  const int rank = d.roll(2, 3);
  const hp::layout_value l = d.layout(m, rank, rank - 1);
  hp::shape s = d.shape(l, 3), rows;
  for (int e = 0; e + 1 < rank; ++e) {
    if (e == 0) s.extent[e] *= hp::shards_of(l, rank - 1);
    rows.extent[rows.rank++] = s.extent[e];
  }
  const std::vector<T> x = d.numbers<T>(s, 40, 4);
  const int classes = static_cast<int>(s.extent[rank - 1]);
  std::vector<I> labels;
  for (hp::extent_t i = 0; i < hp::element_count(rows).value; ++i)  // every window in turn, some ignored
    labels.push_back(d.roll(0, 4) == 0 ? static_cast<I>(hp::kernels::ignored_label)
                                       : static_cast<I>((3 * i + d.roll(0, 1)) % classes));
  std::vector<T> loss(labels.size());
  hp::kernels::cross_entropy(view(x, s), view(std::as_const(labels), rows), view(loss, rows));
  hp::layout_value same = hp::replicated(m, rank - 1);
  for (int i = 0; i < l.cut_count; ++i)
    if (l.cut[i].dim < rank - 1) hp::append_cut(same, l.cut[i]);
  hpd::traffic counted(group.ranks());
  const auto tx = spread(group, s, l, x);
  const auto y =
      hpd::apply_form_all(hpd::forms::cross_entropy{}, std::array{tx, spread(group, rows, same, labels)}, &counted)[0];
  EXPECT_TRUE(y.layout() == same);
  EXPECT_TRUE(hp::replicas_agree(y));
  expect_near(hp::full_tensor<T>(y), loss, hp::shards_of(l, rank - 1) == 1 ? 0 : tolerance);
  EXPECT_EQ(counted.busiest_elements(), hpd::cross_entropy_price(l, s));
  EXPECT_EQ(counted.busiest_bytes(),
            hpd::cross_entropy_price(l, s) * static_cast<std::int64_t>(sizeof(hp::kernels::computing<T>)));
  // Labels that are cut by the vocabulary's axes as well give these up.
  hp::layout_value vocabulary = hp::replicated(m, rank);
  for (int i = 0; i < l.cut_count; ++i)
    if (l.cut[i].dim == rank - 1) hp::append_cut(vocabulary, {0, l.cut[i].axis, l.cut[i].pre, l.cut[i].size});
  const hp::layout_value both = hpd::detail::with_cuts(same, 1u, vocabulary);
  const hp::layout_value along = rows.extent[0] % hp::shards_of(both, 0) == 0 ? both : same;
  const auto z = hpd::apply_form(hpd::forms::cross_entropy{}, tx, spread(group, rows, along, labels));
  EXPECT_EQ(hp::full_tensor<T>(z), hp::full_tensor<T>(y));
}

TEST(forms_cross_entropy, over_a_sharded_vocabulary_is_the_single_device_s) {
  in_every_world(20, [](const auto& group, const auto& m, dice& d) {
    expect_loss<float, std::int32_t>(group, m, d, 1e-5);
    expect_loss<double, std::int64_t>(group, m, d, 1e-13);
    expect_loss<hp::bf16_bits, std::int32_t>(group, m, d, 8e-3);
  });
}

TEST(forms_cross_entropy, receives_less_than_the_logits) {
  hp::layout_value l = hp::replicated({2, {2, 4}}, 2);
  hp::append_cut(l, {0, 0, 1, 2});
  hp::append_cut(l, {1, 1, 1, 4});
  // 64 rows a device: 48 + 48 elements of a maximum, twice as many of sum and label; logits would be 64 · 3 · 8000.
  static_assert(hpd::detail::all_reduce_price(4, 64) == 96);
  EXPECT_EQ(hpd::cross_entropy_price(l, hp::shape{128, 32000}), 3 * 96);
}

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};

/// A language model's two ends with one vocabulary in shards: a partial embedding, and the loss of its logits.
TEST(forms_cross_entropy, a_sharded_vocabulary_from_embedding_to_loss) {
  const hp::rank_group group(4, {.threads = 2, .pin = false});
  using ids_type = hp::dtensor<std::int32_t, hp::extents<8>, hp::layout<mesh, "dp">>;
  using table_type = hp::dtensor<float, hp::extents<6, 4>, hp::layout<mesh, "tp", hp::none>>;
  const auto ids = hp::generate<ids_type>(group, [](hp::extent_t i) { return static_cast<std::int32_t>(i * 5 % 6); });
  const auto table = hp::generate<table_type>(group, [](hp::extent_t i) { return static_cast<float>(i % 7); });
  const auto embedded = hp::embedding(ids, table);
  using partial = hp::layout<mesh, "dp", hp::none, hp::partial("tp")>;
  static_assert(std::is_same_v<decltype(embedded)::layout, partial>);
  const std::vector<float> rows = embedded.full_tensor();
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(rows[i * 4 + c], static_cast<float>((i * 5 % 6 * 4 + c) % 7));

  using logits_type = hp::dtensor<float, hp::extents<8, 6>, hp::layout<mesh, "dp", "tp">>;
  const auto logits = hp::generate<logits_type>(group, [](hp::extent_t i) { return static_cast<float>(i % 5); });
  const auto loss = hpd::cross_entropy(logits, ids);
  static_assert(std::is_same_v<decltype(loss)::layout, hp::layout<mesh, "dp">>);
  const std::vector<float> x = logits.full_tensor();
  const std::vector<std::int32_t> labels = ids.full_tensor();
  std::vector<float> wanted(8);
  hp::kernels::cross_entropy(view(x, hp::shape{8, 6}), view(labels, hp::shape{8}), view(wanted, hp::shape{8}));
  expect_near(loss.full_tensor(), wanted, 1e-6);
}

TEST(forms_cross_entropy, vocabulary_sharded_embedding_agrees_in_every_layout) {
  in_every_world(15, [](const hp::rank_group& group, const hp::mesh_shape& m, dice& d) {
    const hp::layout_value table = d.layout(m, 2, 0);
    const hp::shape s = d.shape(table, 3);
    const hp::shape rows{7};
    const std::vector<std::int32_t> t = d.numbers<std::int32_t>(s, 99);
    std::vector<std::int64_t> ids;
    for (int i = 0; i < 7; ++i) ids.push_back(d.roll(0, static_cast<int>(s.extent[0]) - 1));
    const auto y = hp::apply(hp::operations::embedding{}, spread(group, rows, hp::replicated(m, 1), ids),
                             spread(group, s, table, t));
    std::vector<std::int32_t> wanted(static_cast<std::size_t>(7 * s.extent[1]));
    hp::kernels::embedding(view(t, s), view(std::as_const(ids), rows), view(wanted, hp::shape{7, s.extent[1]}));
    EXPECT_EQ(hp::full_tensor<std::int32_t>(y), wanted);
    for (int a = 0; a < m.axis_count; ++a)
      EXPECT_EQ(y.layout().partial[a] == hp::reduce_op::sum, (hpd::axes_of(table, 1u) >> a & 1u) != 0);
  });
}

}  // namespace
