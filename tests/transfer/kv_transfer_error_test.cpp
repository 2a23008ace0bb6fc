// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/transfer/kv_transfer_error.hpp>

#include <gtest/gtest.h>

#include <climits>
#include <functional>
#include <string>
#include <vector>

namespace hp = hyperparallel;
using code = hp::kv_transfer_code;

namespace {

/// A transfer that is accepted: 2 ranks to 4, 2 sequences of 5 and 3 tokens.
struct transfer {
  hp::kv_pool prefill{hp::grouped_cache(2, 4, 8, 2), {2, 0}, 2, 8};
  hp::kv_pool decode{hp::grouped_cache(2, 4, 8, 2), {4, 2}, 4, 4};
  std::vector<std::vector<int>> from{{3, 1, 7}, {0, 2}}, to{{1, 3}, {0}};
  std::vector<hp::extent_t> tokens{5, 3};
  int ranks[2] = {0, 1};
};

void check(const transfer& t) {
  std::vector<hp::kv_sequence> all;
  for (std::size_t i = 0; i < t.tokens.size(); ++i) all.push_back({t.tokens[i], t.from[i], t.to[i]});
  hp::detail::check_kv_transfer(t.prefill, t.decode, all);
}

std::string refusal(code expected, const std::function<void(transfer&)>& damage) {
  transfer t;
  damage(t);
  try {
    check(t);
  } catch (const hp::kv_transfer_error& e) {
    EXPECT_EQ(e.code, expected);
    return e.what();
  }
  return "it was accepted";
}

}  // namespace

TEST(KvTransferError, WhatIsRefusedIsSaidInOneLine) {
  check(transfer{});
  EXPECT_EQ(refusal(code::batch_is_empty, [](transfer& t) { t.tokens.clear(); }), "the batch has no sequences");
  EXPECT_EQ(refusal(code::size_is_not_positive, [](transfer& t) { t.tokens[1] = 0; }),
            "the batch: tokens of a sequence are 0, expected 1 or more");
  EXPECT_EQ(refusal(code::size_is_not_positive, [](transfer& t) { t.decode.page_tokens = 0; }),
            "decode: tokens of a page are 0, expected 1 or more");
  EXPECT_EQ(refusal(code::size_is_not_positive, [](transfer& t) { t.prefill.ranks = {0, 0}; }),
            "prefill: ranks are 0, expected 1 or more");
  EXPECT_EQ(refusal(code::caches_differ, [](transfer& t) { t.decode.cache.layers = 3; }),
            "layers differ: 2 of prefill, 3 of decode");
  EXPECT_EQ(refusal(code::caches_differ, [](transfer& t) { t.decode.cache.planes = 1; }),
            "planes of a layer differ: 2 of prefill, 1 of decode");
  EXPECT_EQ(refusal(code::caches_differ, [](transfer& t) { t.decode.cache.heads = 8; }),
            "heads differ: 4 of prefill, 8 of decode");
  EXPECT_EQ(refusal(code::caches_differ, [](transfer& t) { t.decode.cache.head_dim = 16; }),
            "elements of a head differ: 8 of prefill, 16 of decode");
  EXPECT_EQ(refusal(code::caches_differ, [](transfer& t) { t.prefill.cache.element_bytes = 1; }),
            "bytes of an element differ: 1 of prefill, 2 of decode");
  EXPECT_EQ(refusal(code::ranks_are_refused,
                    [](transfer& t) {
                      t.ranks[1] = 0;
                      t.prefill.ranks = {2, t.ranks};
                    }),
            "prefill: rank 0 is listed twice");
  EXPECT_EQ(refusal(code::ranks_are_refused, [](transfer& t) { t.prefill.ranks = {2, -1}; }),
            "prefill: rank -1 is no number of a rank");
  EXPECT_EQ(refusal(code::ranks_are_refused, [](transfer& t) { t.prefill.ranks = {2, INT_MAX - 1}; }),
            "prefill: rank 2147483647 is no number of a rank");
  EXPECT_EQ(refusal(code::heads_do_not_divide, [](transfer& t) { t.decode.ranks = {3, 2}; }),
            "decode: 4 heads over 3 ranks: neither divides the other");
  EXPECT_EQ(refusal(code::bytes_overflow,
                    [](transfer& t) {
                      t.prefill.pages = INT_MAX;
                      t.prefill.page_tokens = INT_MAX;
                    }),
            "the transfer has more bytes than 64 bits count");
  EXPECT_EQ(refusal(code::table_is_too_short, [](transfer& t) { t.from[0].pop_back(); }),
            "prefill: sequence 0 takes 3 pages of 2 tokens, its block table has 2");
  EXPECT_EQ(refusal(code::table_is_too_short, [](transfer& t) { t.tokens[1] = INT64_MAX; }),
            "prefill: sequence 1 takes 4611686018427387904 pages of 2 tokens, its block table has 2");
  EXPECT_EQ(refusal(code::page_is_out_of_range, [](transfer& t) { t.to[1][0] = 4; }),
            "decode: sequence 1 has a block in page 4, the pool has pages 0 to 3");
  EXPECT_EQ(refusal(code::page_is_out_of_range, [](transfer& t) { t.from[1][1] = -1; }),
            "prefill: sequence 1 has a block in page -1, the pool has pages 0 to 7");
  EXPECT_EQ(refusal(code::page_is_used_twice, [](transfer& t) { t.to[1][0] = 3; }),
            "decode: page 3 has two blocks, of sequences 0 and 1");
  EXPECT_EQ(refusal(code::page_is_used_twice, [](transfer& t) { t.from[0][2] = 3; }),
            "prefill: page 3 has two blocks, of sequence 0");
}

TEST(KvTransferError, TablesMayBeLongerAndPrefixesShared) {
  transfer t;
  t.to[0].push_back(99);  // not needed yet
  t.from[1][0] = 3;       // a page of both sequences
  check(t);
  t.decode.ranks = {3, 2};
  t.decode.cut = hp::kv_cut::tokens;  // heads are not cut
  check(t);
}
