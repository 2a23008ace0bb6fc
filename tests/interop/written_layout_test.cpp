// SPDX-License-Identifier: Apache-2.0
// Layouts from text, against those of entries, and what is refused in which words. More lines: tests/refusals.cmake.

#include <hyperparallel/interop/written_layout.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;
namespace interop = hyperparallel::interop;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
constexpr hp::shape matrix{8, 64};

std::string refusal_of(const std::string& text, const hp::shape& s = matrix) {
  try {
    interop::read_layout("layout", text, mesh::value, s);
  } catch (const interop::text_error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST(WrittenLayout, IsTheMapOfItsEntries) {
  const auto expect = [](const char* text, std::initializer_list<const char*> entries) {
    const hp::layout_result r = hp::layout_from_map(mesh::value, entries.begin(), static_cast<int>(entries.size()));
    EXPECT_EQ(interop::read_layout("layout", text, mesh::value, matrix), r.layout) << text;
  };
  expect("dp,None", {"dp", "None"});
  expect("None,(tp,dp)", {"None", "tp,dp"});
  expect(" None , ( tp , dp ) ", {"None", "tp,dp"});
  expect("~dp,~(tp)", {"~dp", "~tp"});
  EXPECT_EQ(interop::read_layout("layout", "()", mesh::value, hp::shape{}), hp::replicated(mesh::value.shape, 0));
  EXPECT_TRUE(hp::is_padded(interop::read_layout("layout", "~tp,None", mesh::value, hp::shape{9, 64}), 0));
}

TEST(WrittenLayout, RefusesByName) {
  EXPECT_EQ(refusal_of("dp,ep"), "layout 'dp,ep': 'ep' is no axis of the mesh; expected None or an axis: dp, tp");
  EXPECT_EQ(refusal_of("dp,(tp"),
            "layout 'dp,(tp': '(tp' is no entry of a map; expected an entry for each dim as in x,None or None,(y,x), "
            "each None, an axis, or several in brackets");
  EXPECT_EQ(refusal_of("dp"), "layout 'dp': 1 entry for the shape (8, 64); expected one for each dim");
  EXPECT_EQ(refusal_of("dp,dp"),
            "layout 'dp,dp': axis dp is used twice (dim 1, place 0); expected each axis at one place");
  EXPECT_EQ(refusal_of("dp,tp", hp::shape{8, 63}),
            "layout 'dp,tp': dim 1 of extent 63 does not divide by its 4 shards; expected a multiple of 4, or ~ before "
            "the entry to pad the dim");
  EXPECT_EQ(interop::text_error("layout", std::string(100, 'x'), "no").what(),
            "layout '" + std::string(77, 'x') + "...': no");
  EXPECT_EQ(interop::one_line("a\nb\x7f"), "a?b?");
}
