// SPDX-License-Identifier: Apache-2.0
// processes: 8 4 3 1
// Conformance: the plans of small worlds on every arrangement of eight ranks and every transport, against the arena and
// against what the slices say.
#include <gtest/gtest.h>

#include <algorithm>

#include <hyperparallel/transfer/redistribute.hpp>

#include "mpi/worlds.hpp"
#include "support/error_of.hpp"

namespace hp = hyperparallel;

namespace {

using namespace mpi_worlds;
using tested::error_of;

constexpr int sizes[] = {1, 2, 4, 8, 16, 12};

struct layout_pair {
  hp::layout_value from, to;
};

/// Moves tensors of all pairs at once, twice, and looks at every block. Element sizes take turns.
void expect_moved(const hp::mpi_world& world, hp::mpi_transport transport, std::span<const layout_pair> pairs,
                  const hp::shape& s, unsigned salt) {
  std::vector<hp::planned_tensor> tensors;
  const auto bytes = [&](std::size_t t) { return sizes[(t + salt) % std::size(sizes)]; };
  for (std::size_t t = 0; t < pairs.size(); ++t)
    tensors.push_back({pairs[t].from, pairs[t].to, s, static_cast<std::size_t>(bytes(t))});
  hp::mpi_redistribution move(world, tensors, transport);
  for (unsigned run = 0; run < 2; ++run) {
    for (const int rank : world.hosted())
      for (int t = 0; t < move.tensors(); ++t)
        with_element(bytes(static_cast<std::size_t>(t)), [&](auto e) {
          using type = decltype(e);
          const hp::layout_value& from = pairs[static_cast<std::size_t>(t)].from;
          write_elements(move.source<type>(rank, t), slice(from, s, rank), s, salt + run);
          const std::span<type> target = move.target<type>(rank, t);
          std::memset(target.data(), 0xee, target.size_bytes());
        });
    move.run();
    for (const int rank : world.hosted()) {
      std::int64_t least = 0;
      for (int t = 0; t < move.tensors(); ++t)
        with_element(bytes(static_cast<std::size_t>(t)), [&](auto e) {
          using type = decltype(e);
          const auto& [from, l] = pairs[static_cast<std::size_t>(t)];
          const std::span<type> target = move.target<type>(rank, t);
          std::vector<type> expected(static_cast<std::size_t>(hp::volume(slice(l, s, rank))));
          ASSERT_EQ(target.size(), expected.size());
          write_elements(std::span<type>(expected), slice(l, s, rank), s, salt + run);
          ASSERT_EQ(std::memcmp(target.data(), expected.data(), target.size_bytes()), 0)
              << name_of(transport) << ", rank " << rank << ", pair " << t;
          least += hp::least_received(from, l, s, hp::coordinates_of(l.mesh, rank)) * static_cast<int>(sizeof(type));
        });
      ASSERT_EQ(move.received(rank), least);
    }
  }
}

/// All ordered pairs, in moves of many tensors on every transport. Lots are as large as that because some MPI makes
/// windows slowly where processes outnumber cores.
void expect_all_pairs_moved(const std::vector<hp::layout_value>& all, std::initializer_list<hp::shape> shapes) {
  std::vector<layout_pair> pairs;
  for (const hp::layout_value& from : all)
    for (const hp::layout_value& to : all) pairs.push_back({from, to});
  constexpr std::size_t lot = 600;
  for (const way& w : ways()) {
    const hp::mpi_world world = eight_ranks(w.processes_per_host);
    unsigned salt = 0;
    for (const hp::shape& s : shapes)
      for (std::size_t first = 0; first < pairs.size(); first += lot)
        expect_moved(world, w.transport, std::span(pairs).subspan(first, std::min(lot, pairs.size() - first)), s,
                     salt++);
  }
}

TEST(mpi_redistribution, moves_every_pair_of_a_2x2x2_mesh) {
  const std::vector<hp::layout_value> all = worlds::all_layouts({3, {2, 2, 2}}, 2);
  ASSERT_EQ(all.size(), 49U);
  expect_all_pairs_moved(all, {{8, 16}});
}

TEST(mpi_redistribution, moves_pairs_of_unequal_axes) {
  expect_all_pairs_moved(worlds::all_layouts({2, {2, 4}}, 2), {{16, 8}});
}

TEST(mpi_redistribution, moves_padded_dims_and_empty_blocks) {
  const hp::mesh_shape mesh{2, {2, 4}};
  hp::layout_value rows = hp::replicated(mesh, 2), columns = rows;
  hp::append_cut(rows, {0, 0, 1, 2});
  hp::append_cut(rows, {0, 1, 1, 4});
  rows.padded = 1;
  hp::append_cut(columns, {1, 1, 1, 4});
  columns.padded = 2;
  expect_all_pairs_moved({rows, columns}, {{3, 5}, {10, 7}, {0, 4}});
}

/// One tensor a move, so that a message is one piece.
TEST(mpi_redistribution, agrees_with_the_arena_bit_for_bit) {
  using type = element<12>;
  const hp::shape s{8, 16};
  const std::vector<hp::layout_value> all = worlds::all_layouts({2, {2, 4}}, 2);
  const hp::mpi_world world = eight_ranks();
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const std::size_t j : {(i * 3 + 1) % all.size()}) {
      hp::arena_redistribution arena(all[i], all[j], s, sizeof(type), {.threads = 1});
      for (int r = 0; r < 8; ++r) write_elements(arena.source<type>(r), slice(all[i], s, r), s, 9);
      arena.run();
      for (const hp::mpi_transport transport : {hp::mpi_transport::automatic, hp::mpi_transport::packed}) {
        hp::mpi_redistribution move(world, {all[i], all[j], s, sizeof(type)}, transport);
        for (const int r : world.hosted()) write_elements(move.source<type>(r), slice(all[i], s, r), s, 9);
        move.run();
        for (const int r : world.hosted()) {
          ASSERT_EQ(move.target<type>(r).size(), arena.target<type>(r).size());
          ASSERT_EQ(std::memcmp(move.target<type>(r).data(), arena.target<type>(r).data(),
                                arena.target<type>(r).size_bytes()),
                    0);
          ASSERT_EQ(move.received(r), arena.received(r));
        }
      }
    }
}

/// As between pipeline stages: other ranks, in an order of their own, another mesh, and sums that meet on their way.
TEST(mpi_redistribution, hands_over_between_meshes_and_rank_lists) {
  const hp::shape s{8, 12};
  const hp::mesh_shape line{1, {4}}, square{2, {2, 2}};
  static constexpr int listed[] = {7, 2, 4, 6};  // rank 2 is on both sides
  const hp::rank_list from_ranks{4, 0}, to_ranks{4, listed};
  std::vector<hp::layout_value> sources = worlds::all_layouts(line, 2);
  sources.push_back(hp::replicated(line, 2));
  sources.back().partial[0] = hp::reduce_op::sum;
  std::vector<layout_pair> pairs;
  std::vector<hp::planned_tensor> tensors;
  for (const hp::layout_value& from : sources)
    for (const hp::layout_value& to : worlds::all_layouts(square, 2)) {
      const hp::relocation r = hp::plan_relocation({from, s, from_ranks}, {to, s, to_ranks});
      ASSERT_EQ(r.code, hp::relocation_code::ok);
      pairs.push_back({from, to});
      tensors.emplace_back(r.plan, hp::i64);
    }
  // What position p of a side holds: the numbers of its elements, as terms p + 1 times.
  const auto held = [&](const hp::layout_value& l, int p, int times) {
    std::vector<std::int64_t> list;
    const hp::box b = slice(l, s, p);
    for (hp::extent_t i = b.dim[0].begin; i < b.dim[0].end; ++i)
      for (hp::extent_t j = b.dim[1].begin; j < b.dim[1].end; ++j) list.push_back((i * s.extent[1] + j) * times);
    return list;
  };
  for (const way& w : ways()) {
    const hp::mpi_world world = eight_ranks(w.processes_per_host);
    hp::mpi_redistribution move(world, tensors, w.transport);
    for (const int rank : world.hosted())
      for (int t = 0; t < move.tensors(); ++t) {
        const hp::layout_value& from = pairs[static_cast<std::size_t>(t)].from;
        const int p = hp::position_in(from_ranks, rank);
        if (p >= 0)
          std::ranges::copy(held(from, p, hp::is_partial(from) ? p + 1 : 1),
                            move.source<std::int64_t>(rank, t).begin());
      }
    move.run();
    for (const int rank : world.hosted())
      for (int t = 0; t < move.tensors(); ++t) {
        const auto& [from, to] = pairs[static_cast<std::size_t>(t)];
        const int p = hp::position_in(to_ranks, rank);
        if (p < 0) continue;
        const std::span<std::int64_t> got = move.target<std::int64_t>(rank, t);
        ASSERT_EQ(std::vector<std::int64_t>(got.begin(), got.end()), held(to, p, hp::is_partial(from) ? 10 : 1))
            << name_of(w.transport) << ", pair " << t;
      }
  }
}

TEST(mpi_redistribution, refuses_on_all_processes_alike) {
  const hp::mpi_world world = eight_ranks();
  const std::string who = world.name(0) + ": ";
  hp::layout_value rows = hp::replicated({1, {8}}, 1), terms = rows, small = hp::replicated({1, {4}}, 1);
  hp::append_cut(rows, {0, 0, 1, 8});
  terms.partial[0] = hp::reduce_op::sum;
  const auto refused = [&](const hp::planned_tensor& t) {
    return error_of([&] { const hp::mpi_redistribution move(world, t); });
  };
  EXPECT_EQ(refused({rows, rows, hp::shape{12}, hp::f32}),
            who + "the planner refuses this redistribution, code " +
                std::to_string(static_cast<int>(hp::move_code::source_is_refused)));
  EXPECT_EQ(refused({small, small, hp::shape{8}, hp::f32}), who + "the plan is for 4 ranks, the world has 8");
  EXPECT_EQ(refused({terms, rows, hp::shape{8}, std::size_t{4}}),
            who + "the plan reduces or fills, which needs the element's data_type");
  EXPECT_EQ(refused({hp::plan_move(rows, rows, hp::shape{8}), hp::f32}),
            who + "the plan has no steps, so it does not name its layouts");
  const hp::mpi_redistribution still_works(world, {rows, rows, hp::shape{8}, hp::f32});
}

TEST(mpi_redistribution_on_8_processes, refuses_windows_across_hosts) {
  const hp::mpi_world world = eight_ranks(3);
  hp::layout_value whole = hp::replicated({1, {8}}, 1);
  EXPECT_EQ(error_of([&] {
              const hp::mpi_redistribution move(world, {whole, whole, hp::shape{8}, hp::f32},
                                                hp::mpi_transport::shared_window);
            }),
            world.name(0) + ": shared windows alone cannot move data between hosts");
}

TEST(mpi_redistribution_on_3_processes, names_who_gives_another_plan) {
  const hp::mpi_world world = eight_ranks();
  hp::layout_value whole = hp::replicated({1, {8}}, 1), cut = whole;
  hp::append_cut(cut, {0, 0, 1, 8});
  const bool differs = world.process() == 2;
  const std::string two = world.name(2) + " has \"", zero = "\" where " + world.name(0) + " has \"";
  const auto error = [&](const hp::planned_tensor& t, hp::mpi_transport transport = hp::mpi_transport::automatic) {
    return error_of([&] { const hp::mpi_redistribution move(world, t, transport); });
  };
  EXPECT_EQ(error({cut, whole, hp::shape{differs ? 16 : 8}, hp::f32}), two + "shape 16" + zero + "shape 8\"");
  EXPECT_EQ(error({cut, whole, hp::shape{8}, differs ? hp::i32 : hp::f32}),
            two + "element i32" + zero + "element f32\"");
  EXPECT_EQ(error({cut, differs ? cut : whole, hp::shape{8}, hp::f32}), two + "target [0]" + zero + "target [-]\"");
  EXPECT_EQ(error({cut, whole, hp::shape{8}, hp::f32},
                  differs ? hp::mpi_transport::packed : hp::mpi_transport::derived_types),
            two + "transport packed" + zero + "transport derived types\"");
}

TEST(mpi_redistribution, gives_blocks_of_hosted_ranks_only) {
  const hp::mpi_world world = eight_ranks();
  const hp::layout_value whole = hp::replicated({1, {8}}, 1);
  const hp::mpi_redistribution move(world, {whole, whole, hp::shape{8}, hp::f32});
  for (int r = 0; r < 8; ++r) {
    if (world.hosts(r))
      EXPECT_EQ(move.source<float>(r).size(), 8U);
    else
      EXPECT_THROW(move.source<float>(r), std::invalid_argument);
  }
  if (!world.hosted().empty()) {
    EXPECT_THROW(move.target<double>(world.hosted().front()), std::invalid_argument);
  }
}

TEST(mpi_redistribution, moves_out_of_a_scope) {
  const hp::mpi_world world = eight_ranks();
  const hp::layout_value whole = hp::replicated({1, {8}}, 1);
  std::vector<hp::mpi_redistribution> moves;
  for (int i = 0; i < 3; ++i) moves.emplace_back(world, hp::planned_tensor{whole, whole, hp::shape{8}, hp::f32});
  for (hp::mpi_redistribution& move : moves) move.run();
}

}  // namespace
