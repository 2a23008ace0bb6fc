// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/transfer/step_records.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <hyperparallel/redistribution/certificate.hpp>

#include <hyperparallel/redistribution/candidate_parts.hpp>
#include <hyperparallel/transfer/move_task.hpp>

#include "redistribution/small_moves.hpp"
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
          ASSERT_EQ(records.wanted.box, x.flow.frame(i + 1, p));
          received += records.received;
          std::vector<int> written(static_cast<std::size_t>(hp::volume(records.wanted.box)));
          for (const hp::step_record& r : records.record) {
            folds += r.terms > 1 ? 1 : 0;
            ASSERT_EQ(records.bytes(r), hp::volume(r.part) * 4);
            for (int t = 0; t < r.terms; ++t) ASSERT_EQ(x.flow.frame(i, records.senders(r)[t]), r.held.box);
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
          const std::int64_t wanted = 3 * hp::volume(all.wanted.box);
          for (const hp::step_record& r : all.record) {
            const bytes source = numbered(3 * hp::volume(r.held.box), 7);
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
  const hp::receiver_records own = hp::detail::whole_block_records(3, 64, true),
                             other = hp::detail::whole_block_records(2, 64, false);
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

struct padded_worlds {
  int carried = 0, staged = 0, chunked = 0;

  /// Carries a candidate out row by row: blocks of their own size, and behind each some bytes that stay what they are.
  void carry_out(const hp::layout_value& from, const hp::layout_value& to, const hp::shape& s,
                 const hp::move_parts& parts, hp::extent_t most_staged) {
    constexpr std::int32_t untouched = 0x5a5a5a5a;
    constexpr std::size_t behind = 16;
    const hp::move_rows rows = hp::rows_of(parts, 4, most_staged);
    const int positions = hp::position_count(from.mesh);
    using block = std::vector<std::int32_t>;
    const auto value_at = [](hp::extent_t flat, int term) { return static_cast<std::int32_t>(7 * flat + term * term); };
    const auto visit = [&](const hp::box& b, auto&& each) {
      hp::extent_t i = 0;
      for (hp::extent_t x = b.dim[0].begin; x < b.dim[0].end; ++x)
        for (hp::extent_t y = b.dim[1].begin; y < b.dim[1].end; ++y) each(i++, x * s.extent[1] + y);
    };
    std::vector<block> source, target;
    std::vector<std::vector<block>> between(static_cast<std::size_t>(rows.staged.size));
    hp::axis_list waiting;
    for (int a = 0; a < from.mesh.axis_count; ++a)
      if (from.partial[a] != hp::reduce_op::none) waiting.axis[waiting.count++] = a;
    const int terms = hp::group_size(from.mesh, waiting);
    for (int p = 0; p < positions; ++p) {
      const hp::coordinate at = hp::coordinates_of(from.mesh, p);
      const hp::box held = hp::slice_at(from, s, at), wanted = hp::slice_at(to, s, at);
      source.emplace_back(static_cast<std::size_t>(hp::volume(held)) + behind, untouched);
      target.emplace_back(static_cast<std::size_t>(hp::volume(wanted)) + behind, untouched);
      visit(held, [&](hp::extent_t i, hp::extent_t flat) {
        source.back()[static_cast<std::size_t>(i)] = value_at(flat, hp::index_in_group(from.mesh, waiting, p));
      });
      for (int i = 0; i < rows.staged.size; ++i)
        between[static_cast<std::size_t>(i)].emplace_back(static_cast<std::size_t>(rows.staged[i].bytes / 4) + behind,
                                                          untouched);
    }
    for (int i = 0; i < rows.row.size; ++i) {
      std::vector<block>& read = rows.row[i].from < 0 ? source : between[static_cast<std::size_t>(rows.row[i].from)];
      std::vector<block>& written = rows.row[i].to < 0 ? target : between[static_cast<std::size_t>(rows.row[i].to)];
      for (int p = 0; p < positions; ++p) {
        const hp::receiver_records all = hp::records_of(parts, rows.row, i, p, hp::data_type::i32);
        const auto block_of = [&](int sender) {
          return reinterpret_cast<std::byte*>(read[static_cast<std::size_t>(sender)].data());
        };
        hp::detail::move_task(all, block_of, reinterpret_cast<std::byte*>(written[static_cast<std::size_t>(p)].data()))
            .run();
        for (const hp::step_record& r : all.record) {  // what is packed and unpacked is the copy
          const bytes dense(static_cast<std::size_t>(all.bytes(r)));
          ASSERT_EQ(hp::byte_count(all.pack(r)), all.bytes(r));
          ASSERT_EQ(all.unpack(r).target_start, r.copy.target_start);
          ASSERT_EQ(all.pack(r).source_start, r.copy.source_start);
        }
      }
    }
    for (int p = 0; p < positions; ++p) {
      const hp::coordinate at = hp::coordinates_of(from.mesh, p);
      const hp::box wanted = hp::slice_at(to, s, at);
      const block& found = target[static_cast<std::size_t>(p)];
      visit(wanted, [&](hp::extent_t i, hp::extent_t flat) {
        std::int32_t expected = 0;
        for (int t = 0; t < terms; ++t) expected += value_at(flat, t);
        ASSERT_EQ(found[static_cast<std::size_t>(i)], expected) << "position " << p << ", element " << flat;
      });
      for (std::size_t i = 0; i < behind; ++i) ASSERT_EQ(found[found.size() - 1 - i], untouched);
    }
    ++carried;
    staged += rows.staged.size;
    chunked += rows.row[0].dim >= 0 ? 1 : 0;
  }

  void all_candidates(const hp::layout_value& from, const hp::layout_value& to, const hp::shape& s,
                      const hp::interconnect& net) {
    const hp::detail::extended_pair e = hp::detail::extend(from, to, s);
    if (!e.exists) return;
    for (int i = 1; i < hp::move_candidate_count; ++i) {
      const hp::move_candidate candidate = static_cast<hp::move_candidate>(i);
      if (hp::build_candidate(hp::candidates_of(e.source, e.target, e.shape, net), candidate).code !=
          hp::candidate_code::ok)
        continue;
      for (const hp::extent_t most : {hp::most_staged_bytes, hp::extent_t{20}})
        carry_out(from, to, s, hp::detail::parts_of_candidate(from, to, s, candidate, net), most);
    }
  }
};

/// Moves of padded dims by levels of links, at once and in chunks: every candidate brings every element where it is wanted,
/// and nothing else.
TEST(step_records, carry_padded_dims_by_levels) {
  padded_worlds w;
  for (const hp::mesh_shape& m : {hp::mesh_shape{1, {6}}, hp::mesh_shape{1, {12}}, hp::mesh_shape{2, {3, 2}}}) {
    const hp::interconnect net = hp::on_topology(worlds::levels({worlds::link(1000, 1, 2), worlds::link(100, 10)}));
    for (const hp::shape& s : {hp::shape(7, 4), hp::shape(4, 13), hp::shape(5, 8), hp::shape(17, 6)})
      for (const hp::layout_value& from : worlds::partial_layouts(m, 2, {hp::reduce_op::sum}, 3))
        for (const hp::layout_value& to : worlds::partial_layouts(m, 2, {}, 3)) w.all_candidates(from, to, s, net);
  }
  EXPECT_GT(w.carried, 300);
  EXPECT_GT(w.staged, 300);
  EXPECT_GT(w.chunked, 100);
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
