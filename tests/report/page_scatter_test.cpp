// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/report/page_scatter.hpp>

#include <algorithm>
#include <string_view>

#include <gtest/gtest.h>

namespace {

constexpr std::string_view script = hyperparallel::report::detail::page_scatter;

TEST(PageScatter, AddsItselfByItsKind) {
  EXPECT_NE(script.find("\ndraw.scatter = picture => {"), script.npos);
  EXPECT_EQ(script.find("draw."), script.rfind("draw."));
}

// A mark for each dot, which tips and arrow keys reach; no address.
TEST(PageScatter, MarksAreWatched) {
  EXPECT_NE(script.find("class: \"mark\""), script.npos);
  EXPECT_NE(script.find("watch_marks(drawn, marks)"), script.npos);
  EXPECT_EQ(script.find("http"), script.npos);
}

TEST(PageScatter, WhatIsOpenedIsClosed) {
  for (const std::string_view pair : {"{}", "()", "[]"})
    EXPECT_EQ(std::count(script.begin(), script.end(), pair[0]), std::count(script.begin(), script.end(), pair[1]));
}

}  // namespace
