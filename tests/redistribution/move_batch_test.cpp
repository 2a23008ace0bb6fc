// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/move_batch.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "replay/relocation_replay.hpp"
#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

struct tensor {
  hp::tensor_side from, to;
  int element_bytes;
  hp::relocation plan{};
};

using bytes = std::vector<std::byte>;

/// The block that a position must have: `element_bytes` bytes of each flat index, ascending.
bytes block_of(const hp::tensor_side& side, int position, int element_bytes) {
  bytes b;
  for (const hp::extent_t flat : replay::detail::elements_at(side, position))
    for (int i = 0; i < element_bytes; ++i) b.push_back(static_cast<std::byte>((flat * 7 + i * 31 + 1) & 255));
  return b;
}

/// The elements of one transfer: their places in the sender's and in the receiver's block.
std::vector<std::pair<hp::extent_t, hp::extent_t>> places(const hp::relocation& r, const hp::packed_transfer& t) {
  std::vector<std::pair<hp::extent_t, hp::extent_t>> found;
  if (r.form == hp::relocation_form::runs) {
    for (hp::extent_t i = 0; i < t.what.run.length; ++i)
      found.push_back({t.what.run.source_offset + i, t.what.run.target_offset + i});
    return found;
  }
  const hp::move_step& step = r.plan.step[t.step];
  const hp::box from = hp::source_frame(step, r.plan.shape, t.what.sender);
  const hp::box to = hp::target_frame(step, r.plan.shape, t.position);
  replay::detail::elements_of(t.what.boxes.part, from, r.plan.shape,
                              [&](hp::extent_t, hp::extent_t local) { found.push_back({local, 0}); });
  std::size_t i = 0;
  replay::detail::elements_of(t.what.boxes.part, to, r.plan.shape,
                              [&](hp::extent_t, hp::extent_t local) { found[i++].second = local; });
  return found;
}

struct packed {
  std::vector<hp::packed_transfer> transfers;
  std::vector<hp::packed_message> messages;
  hp::batch_size size{};
  hp::batch_certificate certificate{};
};

packed pack(const std::vector<tensor>& tensors) {
  packed p;
  std::vector<hp::batch_tensor> list;
  for (const tensor& t : tensors) list.push_back({&t.plan, t.element_bytes});
  const int count = static_cast<int>(list.size());
  p.transfers.resize(static_cast<std::size_t>(hp::count_transfers(list.data(), count)));
  p.messages.resize(p.transfers.size());
  p.size = hp::pack(list.data(), count, p.transfers.data(), p.messages.data());
  EXPECT_EQ(static_cast<std::size_t>(p.size.transfers), p.transfers.size());
  p.messages.resize(static_cast<std::size_t>(p.size.messages));
  std::vector<hp::extent_t> tally(static_cast<std::size_t>(4 * hp::detail::rank_bound(list.data(), count)));
  p.certificate = hp::certify(list.data(), count, p.messages.data(), p.size, tally.data());
  return p;
}

/// Sends every message as one buffer between the ranks' blocks, for tensors without partial states.
void expect_delivered(const std::vector<tensor>& tensors, const packed& p) {
  std::map<std::pair<int, int>, bytes> source, target;  // by tensor and rank
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const tensor& t = tensors[i];
    for (int q = 0; q < t.from.ranks.count; ++q)
      source[{static_cast<int>(i), hp::rank_at(t.from.ranks, q)}] = block_of(t.from, q, t.element_bytes);
    for (int q = 0; q < t.to.ranks.count; ++q)
      target[{static_cast<int>(i), hp::rank_at(t.to.ranks, q)}] = bytes(block_of(t.to, q, t.element_bytes).size());
  }
  for (const hp::packed_message& m : p.messages) {
    bytes buffer(static_cast<std::size_t>(m.bytes));
    for (const bool packing : {true, false})
      for (int k = m.first; k < m.first + m.count; ++k) {
        const hp::packed_transfer& t = p.transfers[static_cast<std::size_t>(k)];
        const std::size_t width = static_cast<std::size_t>(tensors[static_cast<std::size_t>(t.tensor)].element_bytes);
        std::size_t at = static_cast<std::size_t>(t.offset);
        ASSERT_EQ(t.offset % static_cast<hp::extent_t>(width), 0) << "aligned to its element";
        for (const auto& [from, to] : places(tensors[static_cast<std::size_t>(t.tensor)].plan, t)) {
          if (packing)
            std::memcpy(buffer.data() + at,
                        source[{t.tensor, m.sender}].data() + static_cast<std::size_t>(from) * width, width);
          else
            std::memcpy(target[{t.tensor, m.receiver}].data() + static_cast<std::size_t>(to) * width,
                        buffer.data() + at, width);
          at += width;
        }
      }
  }
  for (std::size_t i = 0; i < tensors.size(); ++i)
    for (int q = 0; q < tensors[i].to.ranks.count && tensors[i].plan.plan.step_count > 0; ++q) {
      const int rank = hp::rank_at(tensors[i].to.ranks, q);
      ASSERT_TRUE((target[{static_cast<int>(i), rank}] == block_of(tensors[i].to, q, tensors[i].element_bytes)));
    }
}

/// Messages, bytes and their peers, counted from the plans of the single tensors.
void expect_certificate(const std::vector<tensor>& tensors, const packed& p) {
  std::map<int, std::set<std::pair<int, int>>> peers;  // by receiver: step and sender
  std::map<int, hp::extent_t> received, sent;
  std::map<std::pair<int, int>, hp::extent_t> staged;  // by step and rank
  hp::extent_t total = 0;
  for (const tensor& t : tensors) {
    std::string trouble;
    for (int k = 0; k < t.plan.plan.step_count; ++k) {
      const hp::rank_list& receivers = hp::receiver_ranks(t.plan, t.plan.plan.step[k]);
      for (const replay::detail::copied& c : replay::detail::copies_of_step(t.plan, t.from, t.to, k, trouble)) {
        const int to = hp::rank_at(receivers, c.receiver), from = hp::rank_at(t.plan.source_ranks, c.sender);
        if (to == from) continue;
        peers[to].insert({k, from});
        received[to] += t.element_bytes;
        sent[from] += t.element_bytes;
        staged[{k, to}] += t.element_bytes;
        staged[{k, from}] += t.element_bytes;
        total += t.element_bytes;
      }
    }
  }
  std::size_t most = 0, all = 0;
  hp::extent_t heaviest = 0, sender = 0;
  for (const auto& [rank, set] : peers) {
    most = std::max(most, set.size());
    all += set.size();
  }
  for (const auto& [rank, n] : received) heaviest = std::max(heaviest, n);
  for (const auto& [rank, n] : sent) sender = std::max(sender, n);
  EXPECT_EQ(static_cast<std::size_t>(p.certificate.messages_maximum), most);
  EXPECT_EQ(static_cast<std::size_t>(p.certificate.messages_total), all);
  EXPECT_EQ(p.certificate.received_total, total);
  EXPECT_EQ(p.certificate.received_maximum, heaviest);
  EXPECT_EQ(p.certificate.sent_maximum, sender);
  hp::extent_t buffers = 0;
  for (const auto& [when, n] : staged) buffers = std::max(buffers, n);
  EXPECT_EQ(p.certificate.staged_bytes, buffers);
  for (std::size_t i = 1; i < p.messages.size(); ++i) {
    const hp::packed_message &a = p.messages[i - 1], &b = p.messages[i];
    ASSERT_EQ(a.first + a.count, b.first);
    ASSERT_TRUE(std::tie(a.step, a.receiver, a.sender) < std::tie(b.step, b.receiver, b.sender)) << "one for each pair";
  }
}

std::vector<hp::layout_value> some(const hp::mesh_shape& m, const hp::shape& s, bool padded) {
  std::vector<hp::layout_value> found;
  for (hp::layout_value l : worlds::all_layouts(m, s.rank)) {
    if (padded) l.padded = (1u << s.rank) - 1u;
    if (hp::check_shape(l, s).code == hp::layout_code::ok) found.push_back(l);
  }
  return found;
}

const int ranks_a[] = {0, 1, 2, 3}, ranks_b[] = {5, 2, 3, 7}, ranks_c[] = {3, 2, 1, 0};

hp::tensor_side side_of(const hp::layout_value& l, const hp::shape& s, const int* ranks) {
  return {l, s, hp::rank_list(hp::position_count(l.mesh), ranks)};
}

TEST(move_batch, three_tensors_of_different_shapes_and_types_arrive_in_one_message_a_peer) {
  const hp::mesh_shape square{2, {2, 2}}, flat{1, {4}};
  const auto rows = some(square, {8, 4}, false), uneven = some(square, {5, 3}, true), views = some(flat, {6, 4}, true);
  const auto to_rows = some(flat, {2, 16}, false), to_views = some(square, {4, 6}, true);
  long batches = 0;
  for (std::size_t i = 0; i < rows.size() * uneven.size(); ++i) {
    std::vector<tensor> tensors{
        {side_of(rows[i % rows.size()], {8, 4}, ranks_a), side_of(to_rows[i % to_rows.size()], {2, 16}, ranks_a), 2},
        {side_of(uneven[i / rows.size()], {5, 3}, ranks_a), side_of(uneven[i * 5 % uneven.size()], {5, 3}, ranks_b), 8},
        {side_of(views[i % views.size()], {6, 4}, ranks_c), side_of(to_views[i * 3 % to_views.size()], {4, 6}, ranks_b),
         4},
    };
    for (tensor& t : tensors) {
      t.plan = hp::plan_relocation(t.from, t.to);
      ASSERT_EQ(t.plan.code, hp::relocation_code::ok);
    }
    const packed p = pack(tensors);
    expect_delivered(tensors, p);
    expect_certificate(tensors, p);
    ASSERT_LE(p.certificate.messages_maximum, 5) << "six ranks in all";
    if (HasFatalFailure()) return;
    ++batches;
  }
  EXPECT_EQ(batches, 121);
}

TEST(move_batch, steps_of_reductions_meet_in_the_messages_of_their_step) {
  const hp::mesh_shape square{2, {2, 2}};
  hp::layout_value terms = hp::replicated(square, 1), cut = terms, whole = terms;
  terms.partial[1] = hp::reduce_op::sum;
  hp::append_cut(cut, {0, 0, 1, 2});
  std::vector<tensor> tensors{
      {side_of(terms, hp::shape{8}, ranks_a), side_of(whole, hp::shape{8}, ranks_b), 4},
      {side_of(cut, hp::shape{6}, ranks_a), side_of(whole, hp::shape{6}, ranks_a), 2},
      {side_of(terms, hp::shape{4}, ranks_a), side_of(whole, hp::shape{4}, ranks_c), 8},
  };
  for (tensor& t : tensors) t.plan = hp::plan_relocation(t.from, t.to);
  const packed p = pack(tensors);
  expect_certificate(tensors, p);
  EXPECT_EQ(p.certificate.steps, 2);
  // Rank 2 has its source, the reduced block and its target of both reductions, and the gathered tensor.
  EXPECT_EQ(p.certificate.peak_bytes, 4 * (8 + 8 + 8) + 2 * (3 + 6) + 8 * (4 + 4 + 4));
}

TEST(move_batch, a_rank_packs_its_own_messages_as_everyone_does) {
  const hp::mesh_shape square{2, {2, 2}};
  hp::layout_value rows = hp::replicated(square, 2), columns = rows;
  hp::append_cut(rows, {0, 0, 1, 2});
  hp::append_cut(columns, {1, 1, 1, 2});
  const hp::relocation first = hp::plan_relocation(side_of(rows, {4, 4}, ranks_a), side_of(columns, {4, 4}, ranks_b));
  const hp::relocation second = hp::plan_relocation(side_of(columns, {6, 4}, ranks_c), side_of(rows, {4, 6}, ranks_a));
  const hp::batch_tensor batch[] = {{&first, 2}, {&second, 4}};
  const packed all = pack(std::vector<tensor>{{{}, {}, 2, first}, {{}, {}, 4, second}});
  for (int rank = 0; rank < hp::detail::rank_bound(batch, 2); ++rank) {
    const int n = hp::count_transfers(batch, 2, rank);
    std::vector<hp::packed_transfer> transfers(static_cast<std::size_t>(n));
    std::vector<hp::packed_message> messages(transfers.size());
    const hp::batch_size size = hp::pack(batch, 2, transfers.data(), messages.data(), rank);
    int next = 0;
    for (const hp::packed_message& m : all.messages) {
      if (m.sender != rank && m.receiver != rank) continue;
      ASSERT_LT(next, size.messages);
      const hp::packed_message& own = messages[static_cast<std::size_t>(next++)];
      EXPECT_EQ(std::tie(own.step, own.receiver, own.sender, own.count, own.bytes),
                std::tie(m.step, m.receiver, m.sender, m.count, m.bytes));
      for (int i = 0; i < m.count; ++i) {
        const hp::packed_transfer &a = transfers[static_cast<std::size_t>(own.first + i)],
                                  &b = all.transfers[static_cast<std::size_t>(m.first + i)];
        EXPECT_EQ(std::tie(a.tensor, a.position, a.index, a.offset), std::tie(b.tensor, b.position, b.index, b.offset));
      }
    }
    EXPECT_EQ(next, size.messages);
  }
}

TEST(move_batch, a_tensor_that_stays_adds_nothing) {
  const hp::layout_value l = hp::replicated({1, {4}}, 1);
  std::vector<tensor> tensors{{side_of(l, hp::shape{8}, ranks_a), side_of(l, hp::shape{8}, ranks_a), 4}};
  tensors[0].plan = hp::plan_relocation(tensors[0].from, tensors[0].to);
  const packed p = pack(tensors);
  EXPECT_TRUE(p.transfers.empty());
  EXPECT_TRUE(p.certificate == hp::batch_certificate{});
}

/// A frozen batch, packed by the compiler and again at run time.
struct frozen {
  hp::packed_transfer transfers[32] = {};
  hp::packed_message messages[32] = {};
  hp::batch_size size{};
  hp::batch_certificate certificate{};
};

constexpr int frozen_ranks[] = {2, 0, 3, 1};

constexpr frozen pack_frozen() {
  hp::layout_value rows = hp::replicated({2, {2, 2}}, 2), columns = rows;
  hp::append_cut(rows, {0, 0, 1, 2});
  hp::append_cut(columns, {1, 1, 1, 2});
  const hp::rank_list in_order(4, 0), turned(4, frozen_ranks);
  const hp::relocation first = hp::plan_relocation({rows, {4, 4}, in_order}, {columns, {4, 4}, turned});
  const hp::relocation second = hp::plan_relocation({columns, {2, 6}, in_order}, {rows, {4, 3}, in_order});
  const hp::batch_tensor batch[] = {{&first, 2}, {&second, 4}};
  frozen f;
  if (hp::count_transfers(batch, 2) > 32) return f;
  f.size = hp::pack(batch, 2, f.transfers, f.messages);
  hp::extent_t tally[16] = {};
  f.certificate = hp::certify(batch, 2, f.messages, f.size, tally);
  return f;
}

constexpr frozen compiled = pack_frozen();
static_assert(compiled.size.messages > 0 && compiled.certificate.steps == 1);
static_assert(compiled.certificate.messages_maximum <= 3, "no more than peers");

TEST(move_batch, the_compiler_packs_the_same) {
  const frozen now = pack_frozen();
  EXPECT_TRUE(now.certificate == compiled.certificate);
  ASSERT_EQ(now.size.transfers, compiled.size.transfers);
  for (int i = 0; i < now.size.transfers; ++i) {
    EXPECT_EQ(now.transfers[i].offset, compiled.transfers[i].offset);
    EXPECT_EQ(now.transfers[i].sender, compiled.transfers[i].sender);
    EXPECT_EQ(now.transfers[i].bytes, compiled.transfers[i].bytes);
  }
}

}  // namespace
