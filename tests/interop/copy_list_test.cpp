// SPDX-License-Identifier: Apache-2.0
// Lists of copies against the certificates of their relocations and against slices; tests/c_abi/plan_test.c carries
// them out for every pair of layouts of a mesh.

#include <hyperparallel/interop/copy_list.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <hyperparallel/interop/written_layout.hpp>

namespace hp = hyperparallel;
namespace interop = hyperparallel::interop;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
struct flat : hp::device_matrix<hp::axis{"all", 6}> {};
constexpr hp::shape matrix{12, 24};

template <class Mesh>
hp::tensor_side side(const std::string& layout, const hp::rank_list& ranks, const hp::shape& s = matrix) {
  return {interop::read_layout("layout", layout, Mesh::value, s), s, ranks};
}

void expect_at_bound(const hp::tensor_side& from, const hp::tensor_side& to) {
  const interop::copy_list list = interop::list_copies(from, to);
  const hp::relocation r = hp::plan_relocation(from, to);
  std::vector<hp::extent_t> tally(static_cast<std::size_t>(hp::tally_size(r)));
  const hp::relocation_certificate c = hp::certify(r, tally.data());
  EXPECT_EQ(list.received_total, c.received_total);
  EXPECT_EQ(list.received_maximum, c.received_maximum);
  EXPECT_EQ(list.least_total, c.least_total);
  EXPECT_EQ(list.least_maximum, c.least_maximum);
  for (const interop::listed_block& b : list.target) EXPECT_EQ(b.received, b.least);
}

std::string refusal_of(const hp::tensor_side& from, const hp::tensor_side& to, interop::detail::copy_list_code code) {
  try {
    interop::list_copies(from, to);
  } catch (const interop::detail::copy_list_error& e) {
    EXPECT_EQ(e.code, code);
    return e.what();
  }
  return "";
}

}  // namespace

TEST(CopyList, HasTheFiguresOfTheCertificate) {
  const hp::rank_list eight{8, 0}, six{6, 4};
  for (const char* a : {"dp,None", "None,tp", "(tp,dp),None", "dp,tp", "None,None"})
    for (const char* b : {"tp,None", "None,(dp,tp)", "tp,dp", "None,None"}) {
      const hp::shape s{24, 24};
      expect_at_bound(side<mesh>(a, eight, s), side<mesh>(b, eight, s));
    }
  expect_at_bound(side<mesh>("dp,tp", eight), side<flat>("all,None", six));
  expect_at_bound(side<flat>("None,all", six), side<mesh>("None,None", eight));
}

TEST(CopyList, SaysWhereABoxLies) {
  EXPECT_EQ(interop::place_of(hp::box{{4, 6}, {3, 5}}, hp::box{{2, 8}, {0, 10}}), (interop::block_place{23, {10, 1}}));
  EXPECT_EQ(interop::place_of(hp::box{}, hp::box{}), interop::block_place{});
  const hp::rank_list eight{8, 0};
  const interop::copy_list list = interop::list_copies(side<mesh>("None,tp", eight), side<mesh>("dp,None", eight));
  ASSERT_EQ(list.copies.size(), 32u);  // four pieces for each of eight ranks
  const interop::listed_copy& c = list.copies[1];
  EXPECT_EQ(c.receiver, 0);
  EXPECT_EQ(c.sender % 4, 1);  // holds columns 6 to 11
  EXPECT_EQ(c.part, (hp::box{{0, 6}, {6, 12}}));
  EXPECT_EQ(c.source, (interop::block_place{0, {6, 1}}));
  EXPECT_EQ(c.target, (interop::block_place{6, {24, 1}}));
}

TEST(CopyList, KeepsWhatDoesNotChange) {
  const hp::tensor_side held = side<mesh>("dp,tp", {8, 0});
  const interop::copy_list list = interop::list_copies(held, held);
  EXPECT_EQ(list.kind, hp::plan_kind::no_op);
  ASSERT_EQ(list.copies.size(), 8u);
  for (const interop::listed_copy& c : list.copies) EXPECT_EQ(c.sender, c.receiver);
  EXPECT_EQ(list.received_total + list.least_total, 0);
}

TEST(CopyList, RefusesByName) {
  const hp::rank_list eight{8, 0};
  hp::tensor_side held = side<mesh>("dp,None", eight), wanted = side<mesh>("None,tp", eight), partial = held;
  hp::set_partial(partial.layout, 1, hp::reduce_op::sum);
  using enum interop::detail::copy_list_code;
  EXPECT_EQ(refusal_of(partial, wanted, a_side_is_partial),
            "the source is partial along axis 1 (sum): a list of copies adds nothing up; resolve the terms first");
  EXPECT_EQ(refusal_of(wanted, partial, a_side_is_partial),
            "the target is partial along axis 1 (sum): a list of copies adds nothing up; resolve the terms first");
  wanted.shape = hp::shape{24, 12};
  EXPECT_EQ(refusal_of(held, wanted, shapes_differ), "the shapes differ: (12, 24) and (24, 12)");
  wanted.shape = held.shape = hp::shape{13, 24};
  EXPECT_EQ(refusal_of(held, wanted, a_layout_is_refused),
            "the source refuses the shape: dim 0 of extent 13 does not divide by its 2 shards");
  const hp::tensor_side few = side<mesh>("dp,None", {4, 0});
  EXPECT_EQ(refusal_of(few, few, ranks_are_refused),
            "the source has ranks that do not fit its mesh: the rank list's length is not the mesh's position count "
            "(length 4)");
}

TEST(CopyList, RefusesMoreCopiesThanFit) {
  struct huge : hp::device_matrix<hp::axis{"a", 1 << 14}, hp::axis{"b", 1 << 13}> {};
  const hp::tensor_side held = side<huge>("None", hp::all_ranks(huge::value.shape), hp::shape{1});
  EXPECT_EQ(refusal_of(held, held, interop::detail::copy_list_code::too_many_copies),
            "the move has more copies than are listed, 67108864");
}
