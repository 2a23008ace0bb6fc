// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/transfer/kv_cache.hpp>

#include <gtest/gtest.h>

#include <set>
#include <span>
#include <utility>
#include <vector>

#include "transfer/kv_world.hpp"

namespace hp = hyperparallel;

namespace {

constexpr hp::kv_pool grouped{hp::grouped_cache(32, 8, 128, 2), {16, 0}, 16, 100};
static_assert(hp::detail::kv_head_pieces(grouped) == 8 && hp::detail::kv_replicas(grouped) == 2);
static_assert(hp::detail::kv_slice(grouped, 40, 5) == hp::box{{0, 40}, {2, 3}, {0, 128}});
static_assert(hp::detail::kv_blocks(grouped, 40) == 3 && hp::detail::page_form(grouped).bytes == 16 * 128 * 2);

constexpr hp::kv_pool latent{hp::latent_cache(61, 512, 64, 1), {4, 0}, 64, 100};
static_assert(hp::detail::kv_replicas(latent) == 4 &&
              hp::detail::kv_slice(latent, 9, 3) == hp::box{{0, 9}, {0, 1}, {0, 576}});

constexpr hp::kv_pool by_tokens{hp::latent_cache(61, 512, 64, 1), {4, 0}, 2, 100, hp::kv_cut::tokens};
static_assert(hp::detail::kv_replicas(by_tokens) == 1 && hp::detail::kv_blocks(by_tokens, 9) == 2);
static_assert(hp::detail::kv_slice(by_tokens, 9, 2) == hp::box{{6, 9}, {0, 1}, {0, 576}});
static_assert(hp::volume(hp::detail::kv_slice(by_tokens, 9, 3)) == 0);

std::vector<hp::kv_pool> small_pools() {
  std::vector<hp::kv_pool> all;
  for (const int heads : {1, 2, 4, 6})
    for (const int ranks : {1, 2, 4, 6, 12})
      for (const hp::kv_cut cut : {hp::kv_cut::heads, hp::kv_cut::tokens})
        for (const hp::page_order order : {hp::page_order::tokens_heads, hp::page_order::heads_tokens})
          if (cut == hp::kv_cut::tokens || heads % ranks == 0 || ranks % heads == 0)
            all.push_back({hp::grouped_cache(1, heads, 2, 4), {ranks, 0}, 4, 10, cut, order});
  return all;
}

}  // namespace

TEST(KvCache, SidesAreLayoutsThatSayWhoHoldsWhat) {
  for (const hp::kv_pool& p : small_pools())
    for (const hp::extent_t tokens : {1, 5, 8, 13}) {
      const hp::tensor_side s = hp::detail::kv_side(p, tokens);
      ASSERT_EQ(hp::check_shape(s.layout, s.shape).code, hp::layout_code::ok);
      for (int q = 0; q < p.ranks.count; ++q) {
        const hp::box own = hp::detail::kv_slice(p, tokens, q);
        EXPECT_EQ(own, hp::detail::kv_slice(p, tokens, q / hp::detail::kv_replicas(p) * hp::detail::kv_replicas(p)));
        for (hp::extent_t t = 0; t < tokens; ++t)
          for (int h = 0; h < p.cache.heads; ++h)
            EXPECT_EQ(hp::volume(hp::intersection(own, {{t, t + 1}, {h, h + 1}, {0, 2}})) > 0,
                      kv_test::has(p, q, tokens, t, h));
      }
    }
}

TEST(KvCache, AddressesAreOneToOne) {
  const std::vector<int> table{7, 2, 9, 4};
  for (const hp::kv_pool& p : small_pools())
    for (int q = 0; q < p.ranks.count; ++q) {
      const hp::extent_t tokens = 13;
      const hp::detail::kv_page_form form = hp::detail::page_form(p);
      const hp::box own = hp::detail::kv_slice(p, tokens, q);
      std::set<std::pair<int, hp::extent_t>> met;
      for (hp::extent_t t = own.dim[0].begin; t < own.dim[0].end; ++t)
        for (hp::extent_t h = own.dim[1].begin; h < own.dim[1].end; ++h) {
          const hp::kv_address a = hp::detail::address_of(p, form, table, own, t, h);
          EXPECT_TRUE(met.emplace(a.page, a.offset).second);
          EXPECT_LE(a.offset + form.row, form.bytes);
          EXPECT_EQ(a.page * form.bytes + a.offset, kv_test::row_of(p, q, tokens, table, t, static_cast<int>(h)));
        }
    }
}
