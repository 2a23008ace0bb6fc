// SPDX-License-Identifier: Apache-2.0
// processes: 8 3 1
// Steps that compute: terms meet, axes are filled, and several steps follow each other; against tensors of one process.
#include <gtest/gtest.h>

#include <hyperparallel/dtensor/move.hpp>

#include "mpi/worlds.hpp"

namespace hp = hyperparallel;

namespace {

using namespace mpi_worlds;

/// Every layout of two dims whose axes shard, replicate, or wait for one of the two operations.
std::vector<hp::layout_value> layouts_with_terms(const hp::mesh_shape& m, hp::reduce_op first, hp::reduce_op second) {
  std::vector<hp::layout_value> found;
  for (const hp::layout_value& bare : worlds::all_layouts(m, 2))
    for (int marks = 0; marks < 9; ++marks) {
      hp::layout_value l = bare;
      bool fits = true;
      for (int a = 0, left = marks; a < 2; ++a, left /= 3) {
        if (left % 3 == 0) continue;
        fits = fits && (hp::detail::cut_axes(l) >> a & 1u) == 0;
        l.partial[a] = left % 3 == 1 ? first : second;
      }
      if (fits) found.push_back(l);
    }
  return found;
}

/// Values whose sums and products depend on their order and stay finite.
template <class T>
T value_of(unsigned seed) {
  const unsigned h = (seed + 1) * 2654435761U >> 11;
  if constexpr (std::is_same_v<hp::kernels::computing<T>, T> && std::is_integral_v<T>)
    return static_cast<T>(h % 7);
  else
    return hp::kernels::store<T>(static_cast<hp::kernels::computing<T>>(0.5 + (h % 1013) / 1013.0));
}

/// The blocks of a tensor with these layouts on eight ranks. Replicas hold equal values, terms their own.
template <class T>
std::vector<hp::dynamic_dtensor::block> blocks_of(const hp::layout_value& l, const hp::shape& s) {
  std::vector<hp::dynamic_dtensor::block> blocks;
  for (int r = 0; r < 8; ++r) {
    const hp::coordinate c = hp::coordinates_of(l.mesh, r);
    const hp::box b = slice(l, s, r);
    unsigned term = 0;
    for (int a = 0; a < l.mesh.axis_count; ++a)
      if (l.partial[a] != hp::reduce_op::none) term = term * 8 + static_cast<unsigned>(c.at[a]) + 1;
    const auto bytes = hp::detail::allocate_block(hp::volume(b) * static_cast<std::int64_t>(sizeof(T)));
    T* at = reinterpret_cast<T*>(bytes.get());
    for (hp::extent_t i = b.dim[0].begin; i < b.dim[0].end; ++i)
      for (hp::extent_t j = b.dim[1].begin; j < b.dim[1].end; ++j)
        *at++ = value_of<T>(static_cast<unsigned>(i * s.extent[1] + j) + 128 * term);
    blocks.push_back(bytes);
  }
  return blocks;
}

/// All pairs of the layouts in one move, twice; both executors get the same blocks.
template <class T>
void expect_as_in_one_process(const way& w, hp::data_type type, const std::vector<hp::layout_value>& all) {
  const hp::shape s{8, 16};
  const hp::mpi_world world = eight_ranks(w.processes_per_host);
  const hp::rank_group group(8, {.threads = 1});
  std::vector<hp::planned_tensor> tensors;
  std::vector<hp::dynamic_dtensor> before, after;
  std::vector<std::int64_t> least(8);
  int in_two_steps = 0;
  for (const hp::layout_value& from : all) {
    const hp::dynamic_dtensor x(group, {type, s, from}, blocks_of<T>(from, s));
    for (const hp::layout_value& to : all) {
      const hp::planned_tensor t(from, to, s, type);
      if (from == to || t.plan().code != hp::move_code::ok) continue;
      std::vector<hp::extent_t> tally(3 * 8);
      const hp::move_certificate certificate = hp::certify(t.plan(), tally.data());
      EXPECT_EQ(certificate.received_total, certificate.least_total);
      for (std::size_t r = 0; r < 8; ++r) least[r] += tally[r] * hp::bytes_of(type);
      in_two_steps += t.plan().step_count > 1 ? 1 : 0;
      tensors.push_back(t);
      before.push_back(x);
      after.push_back(hp::redistribute(x, to, t.plan()));
    }
  }
  EXPECT_GT(tensors.size(), 300U);
  EXPECT_GT(in_two_steps, 0);
  hp::mpi_redistribution move(world, tensors, w.transport);
  for (int run = 0; run < 2; ++run) {
    for (const int r : world.hosted())
      for (int t = 0; t < move.tensors(); ++t) {
        std::memcpy(move.source<T>(r, t).data(), before[static_cast<std::size_t>(t)].data(r),
                    move.source<T>(r, t).size_bytes());
        std::memset(move.target<T>(r, t).data(), 0x5a, move.target<T>(r, t).size_bytes());
      }
    move.run();
    for (const int r : world.hosted()) {
      for (int t = 0; t < move.tensors(); ++t)
        ASSERT_EQ(std::memcmp(move.target<T>(r, t).data(), after[static_cast<std::size_t>(t)].data(r),
                              move.target<T>(r, t).size_bytes()),
                  0)
            << name_of(w.transport) << " rank " << r << "\n"
            << hp::detail::statement_of(move.plan(t), type);
      ASSERT_EQ(move.received(r), least[static_cast<std::size_t>(r)]);
    }
  }
}

void expect_as_in_one_process(const way& w, hp::data_type type, hp::reduce_op first, hp::reduce_op second) {
  const std::vector<hp::layout_value> all = layouts_with_terms({2, {2, 4}}, first, second);
  hp::detail::visit_element_type(
      type, [&](auto stored) { expect_as_in_one_process<typename decltype(stored)::type>(w, type, all); });
}

TEST(step_work, folds_sums_in_the_order_of_positions) {
  for (const way& w : ways()) expect_as_in_one_process(w, hp::f32, hp::reduce_op::sum, hp::reduce_op::avg);
}

TEST(step_work, rounds_narrow_sums_once) {
  expect_as_in_one_process(ways()[0], hp::bf16, hp::reduce_op::avg, hp::reduce_op::sum);
  expect_as_in_one_process(ways()[3], hp::f16, hp::reduce_op::avg, hp::reduce_op::sum);
}

TEST(step_work, fills_products_with_ones) {
  for (const way& w : {ways()[0], ways()[2]})
    expect_as_in_one_process(w, hp::f64, hp::reduce_op::prod, hp::reduce_op::max);
}

TEST(step_work, folds_integers) {
  expect_as_in_one_process(ways()[1], hp::i32, hp::reduce_op::min, hp::reduce_op::sum);
}

}  // namespace
