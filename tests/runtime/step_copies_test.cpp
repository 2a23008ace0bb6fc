// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/runtime/step_copies.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <hyperparallel/redistribution/certificate.hpp>

#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

/// The copies and folds of every step of every pair of a 2x3 mesh, terms included: each byte of what a step brings is
/// written once, and others bring what the certificate says.
TEST(step_copies, cover_their_targets_once_and_bring_what_the_certificate_says) {
  const hp::mesh_shape m{2, {2, 3}};
  const hp::shape s(12, 6);
  const std::vector<hp::layout_value> all = worlds::partial_layouts(m, 2, {hp::reduce_op::sum});
  int folds = 0;
  for (const hp::layout_value& from : all)
    for (const hp::layout_value& to : all) {
      const hp::planned_tensor x(from, to, s, hp::data_type::i32);
      std::vector<std::int64_t> received(6);
      std::vector<std::vector<std::vector<std::byte>>> block(static_cast<std::size_t>(x.stages()));
      for (int b = 0; b < x.stages(); ++b)
        for (int p = 0; p < 6; ++p)
          block[static_cast<std::size_t>(b)].emplace_back(static_cast<std::size_t>(hp::volume(x.flow.frame(b, p)) * 4));
      const auto address = [&](int stage, int p) {
        return block[static_cast<std::size_t>(stage)][static_cast<std::size_t>(p)].data();
      };
      for (int i = 0; i < x.plan().step_count; ++i) {
        const hp::step_copies work = hp::copies_of_step(x, i, address, received.data());
        const auto mark = [&](const hp::strided_copy& copy, std::byte* target, const std::byte* source) {
          ASSERT_NE(source, nullptr);
          const std::vector<std::byte> before(block[static_cast<std::size_t>(i)][0].size() * 6, std::byte{1});
          hp::strided_copy once = copy;
          once.source_start = 0;
          std::int64_t reach = once.run;
          for (int d = 0; d < once.dims; ++d) reach += (once.count[d] - 1) * once.source_step[d];
          const std::vector<std::byte> ones(static_cast<std::size_t>(reach), std::byte{1});
          // What is there already must be zero: the copy of ones then adds up to the bytes that it moves.
          hp::strided_copy back = once;
          for (int d = 0; d < back.dims; ++d) std::swap(back.source_step[d], back.target_step[d]);
          back.source_start = once.target_start;
          back.target_start = 0;
          std::vector<std::byte> there(ones.size());
          hp::copy_strided(back, target, there.data());
          for (const std::byte b : there) ASSERT_EQ(b, std::byte{0});
          hp::copy_strided(once, ones.data(), target);
        };
        for (const hp::copy_record& r : work.copies) mark(r.copy, r.target, r.source);
        for (const hp::fold_record& r : work.folds) {
          mark(r.copy, r.target, r.sources.front());
          ++folds;
        }
        const hp::move_step& step = x.plan().step[i];
        if (step.filled != 0 || step.kind == hp::step_kind::collect) continue;
        for (const std::vector<std::byte>& b : block[static_cast<std::size_t>(i) + 1])
          ASSERT_EQ(b, std::vector<std::byte>(b.size(), std::byte{1}));
      }
      hp::extent_t tally[18] = {};
      const hp::move_certificate c = hp::certify(x.plan(), tally);
      std::int64_t total = 0;
      for (const std::int64_t n : received) total += n;
      ASSERT_EQ(total, 4 * c.received_total);
    }
  EXPECT_GT(folds, 100);
}

}  // namespace
