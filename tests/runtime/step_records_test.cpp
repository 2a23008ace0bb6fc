// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/runtime/step_records.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <hyperparallel/redistribution/certificate.hpp>

#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;
using bytes = std::vector<std::byte>;

bytes numbered(std::int64_t n, unsigned seed) {
  bytes all(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>((i + seed) * 2654435761U >> 13);
  return all;
}

/// The records of every receiver in every step of every pair of a 2x3 mesh, terms included: the parts write each byte of
/// the block at most once, and all of it where nothing is filled and no shares stay beside each other; others bring
/// what the certificate says; a term lies where its sender's frame says, for each of its senders.
TEST(step_records, cover_their_blocks_once_and_bring_what_the_certificate_says) {
  const hp::mesh_shape m{2, {2, 3}};
  const hp::shape s(12, 6);
  const std::vector<hp::layout_value> all = worlds::partial_layouts(m, 2, {hp::reduce_op::sum});
  int folds = 0, filled = 0;
  for (const hp::layout_value& from : all)
    for (const hp::layout_value& to : all) {
      const hp::planned_tensor x(from, to, s, hp::data_type::i32);
      std::int64_t received = 0;
      for (int i = 0; i < x.plan().step_count; ++i)
        for (int p = 0; p < 6; ++p) {
          const hp::move_step& step = x.plan().step[i];
          const hp::receiver_records records = hp::records_of(x.plan(), i, p, x.element);
          ASSERT_EQ(records.wanted, x.flow.frame(i + 1, p));
          received += records.received;
          std::vector<int> written(static_cast<std::size_t>(hp::volume(records.wanted)));
          for (const hp::step_record& r : records.record) {
            folds += r.terms > 1 ? 1 : 0;
            ASSERT_EQ(records.bytes(r), hp::volume(r.part) * 4);
            for (int t = 0; t < r.terms; ++t) ASSERT_EQ(x.flow.frame(i, records.senders(r)[t]), r.held);
            std::int64_t index[hp::max_box_dims] = {}, source = r.copy.source_start, target = r.copy.target_start;
            do {
              for (std::int64_t b = 0; b < r.copy.run; b += 4) ++written[static_cast<std::size_t>((target + b) / 4)];
            } while (hp::detail::step_to_next(r.copy, r.copy.dims, index, source, target));
          }
          const bool whole = step.filled == 0 && step.kind != hp::step_kind::collect;
          for (const int times : written) ASSERT_TRUE(times == 1 || (!whole && times == 0));
          ASSERT_EQ(records.fill.elements > 0, step.filled != 0 && step.kind != hp::step_kind::collect);
          filled += records.fill.elements > 0 ? 1 : 0;
        }
      hp::extent_t tally[18] = {};
      ASSERT_EQ(received, 4 * hp::certify(x.plan(), tally).received_total);
    }
  EXPECT_GT(folds, 100);
  EXPECT_GT(filled, 100);
}

/// What is packed by the sender and unpacked by the receiver is what one copy between their blocks brings.
TEST(step_records, packed_and_unpacked_are_the_copy) {
  const hp::mesh_shape m{2, {2, 3}};
  const hp::shape s(12, 6);
  int records_seen = 0;
  for (const hp::layout_value& from : worlds::all_layouts(m, 2))
    for (const hp::layout_value& to : worlds::all_layouts(m, 2)) {
      const hp::planned_tensor x(from, to, s, std::size_t{3});
      for (int i = 0; i < x.plan().step_count; ++i)
        for (int p = 0; p < 6; ++p) {
          const hp::receiver_records all = hp::records_of(x.plan(), i, p, x.element);
          const std::int64_t wanted = 3 * hp::volume(all.wanted);
          for (const hp::step_record& r : all.record) {
            const bytes source = numbered(3 * hp::volume(r.held), 7);
            bytes direct(static_cast<std::size_t>(wanted)), through = direct;
            bytes dense(static_cast<std::size_t>(all.bytes(r)));
            ASSERT_EQ(hp::copy_strided(r.copy, source.data(), direct.data()), all.bytes(r));
            ASSERT_EQ(hp::copy_strided(all.pack(r), source.data(), dense.data()), all.bytes(r));
            ASSERT_EQ(hp::copy_strided(all.unpack(r), dense.data(), through.data()), all.bytes(r));
            ASSERT_EQ(direct, through);
            ++records_seen;
          }
        }
    }
  EXPECT_GT(records_seen, 1000);
}

TEST(step_records, whole_blocks_travel_as_they_are) {
  const hp::receiver_records own = hp::whole_block_records(3, 64, true), other = hp::whole_block_records(2, 64, false);
  EXPECT_EQ(own.received, 0);
  EXPECT_EQ(other.received, 64);
  ASSERT_EQ(other.record.size(), 1U);
  EXPECT_EQ(*other.senders(other.record[0]), 2);
  const bytes source = numbered(64, 1);
  for (const hp::strided_copy& copy :
       {other.record[0].copy, other.pack(other.record[0]), other.unpack(other.record[0])}) {
    bytes target(64);
    EXPECT_EQ(hp::copy_strided(copy, source.data(), target.data()), 64);
    EXPECT_EQ(target, source);
  }
}

/// Elements without a type are filled with zeros of their own size.
TEST(step_records, fills_have_the_bytes_of_their_elements) {
  const hp::mesh_shape m{1, {2}};
  hp::layout_value whole = hp::replicated(m, 1), partial = whole;
  partial.partial[0] = hp::reduce_op::sum;
  const hp::planned_tensor x(whole, partial, hp::shape{5}, std::size_t{3});
  ASSERT_EQ(x.plan().step_count, 1);
  int records_seen = 0;
  for (int p = 0; p < 2; ++p) {
    const hp::receiver_records all = hp::records_of(x.plan(), 0, p, x.element);
    EXPECT_EQ(all.fill.bytes, 15);
    bytes block(16, std::byte{9});
    all.fill.write(block.data());
    for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(block[i], i < 15 ? std::byte{0} : std::byte{9});
    records_seen += static_cast<int>(all.record.size());
  }
  EXPECT_EQ(records_seen, 1) << "one rank keeps the values";
}

}  // namespace
