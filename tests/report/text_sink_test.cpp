// SPDX-License-Identifier: Apache-2.0
// A sink keeps the pieces in order; anything with `write` is one.

#include <hyperparallel/report/text_sink.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/io/atomic_file.hpp>

namespace hp = hyperparallel;

namespace {

static_assert(hp::report::text_sink<hp::report::string_sink>);
static_assert(hp::report::text_sink<hp::atomic_file>);
static_assert(!hp::report::text_sink<int>);

TEST(text_sink, keeps_order) {
  hp::report::string_sink sink;
  sink.write("a");
  sink.write("");
  sink.write("bc");
  EXPECT_EQ(sink.text, "abc");
}

}  // namespace
