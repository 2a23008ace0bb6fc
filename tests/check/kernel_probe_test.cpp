// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/check/kernel_probe.hpp>

#include <hyperparallel/graph/model_builder.hpp>

#include <gtest/gtest.h>

#include <set>

namespace {

namespace hp = hyperparallel;
using hp::detail::kernel_probe;
using hp::detail::probe_memory;

/// Copies the box of operand 0, and as many elements more as the attribute says.
void copy(const hp::operator_call& c) {
  for (hp::extent_t i = 0; i < c.result_elements(0) + c.attributes->integer[0]; ++i)
    static_cast<double*>(c.result[0])[i] = static_cast<const double*>(c.operand[0])[i];
}
hp::operator_kernel copies(hp::operator_id) { return &copy; }

hp::graph rows_of_columns(hp::extent_t more) {
  hp::model_builder m;
  const int x = m.parameter("x", {m.dim("rows", 3), m.dim("columns", 4)});
  m.apply<hp::ops::scale>("y", {x}, {.integer = {more}});
  return m.graph;
}

TEST(KernelProbe, RunsABoxOnItsPart) {
  const hp::graph g = rows_of_columns(0);
  kernel_probe probe(g, 0, &copies);
  probe.operand.push_back({{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23}, {}});
  hp::operator_call c = probe.whole();
  EXPECT_EQ(probe.run(c, probe.operand)[0], probe.operand[0].value);
  c.loop[0] = {1, 2, 3};
  c.loop[1] = {2, 1, 4};
  EXPECT_EQ(probe.run(c, probe.operand)[0], (std::vector<double>{12, 22}));
  EXPECT_EQ(probe.shapes(), "; operands (3, 4)");
}

TEST(KernelProbe, SeesWhatIsWrittenBeyondABlockAndWhatIsNot) {
  for (const hp::extent_t more : {-1, 0, 1}) {
    const hp::graph g = rows_of_columns(more);
    kernel_probe probe(g, 0, &copies);
    probe.operand.push_back({std::vector<double>(12, 1.0), {}});
    probe_memory memory{7, 7, 8, {}};
    const std::vector<double> made = probe.run(probe.whole(), probe.operand, memory)[0];
    EXPECT_EQ(memory.fault, more < 1 ? "" : "the kernel writes beyond the block of result 0") << more;
    EXPECT_EQ(made.back(), more < 0 ? 7 : 1) << more;
  }
}

TEST(KernelProbe, NumbersAreWithinTheOptions) {
  const hp::operator_check_options options{.lowest = -2, .highest = 3};
  hp::detail::keyed_sequence engine{1};
  hp::detail::sample_numbers random(options, engine);
  for (const double x : random.values(200, false)) EXPECT_TRUE(x >= -2 && x < 3 && std::abs(x) >= 1e-2) << x;
  for (const double x : random.values(200, true)) EXPECT_GT(x, 0);
  std::set<hp::extent_t> drawn;
  for (int i = 0; i < 100; ++i) drawn.insert(random.below(4));
  EXPECT_EQ(drawn, (std::set<hp::extent_t>{0, 1, 2, 3}));
}

}  // namespace
