// SPDX-License-Identifier: Apache-2.0
// docs/how-to/move-a-kv-cache.md
#undef NDEBUG
#include <cassert>
#include <vector>

#include <hyperparallel/transfer/kv_transfer.hpp>

namespace hp = hyperparallel;

int main() {
  // 80 layers with 8 heads of keys: 16 ranks prefill, each head on two of them; 4 ranks decode, two heads each.
  const hp::kv_cache_shape cache = hp::grouped_cache(80, 8, 128, /*element_bytes=*/2);
  const hp::kv_pool prefill{cache, {16, 0}, /*page_tokens=*/16, /*pages=*/8};
  const hp::kv_pool decode{cache, {4, 16}, /*page_tokens=*/64, /*pages=*/4};
  const std::vector<int> from{6, 1, 3, 7, 0, 2}, to{3, 1};
  const std::vector<hp::kv_sequence> sequences{{90, from, to}};  // 90 tokens

  const hp::kv_transfer_plan plan = hp::plan_kv_transfer(prefill, decode, sequences);
  assert(plan.received == plan.least && plan.received[0] == 80 * 2 * 90 * 2 * 128 * 2);
  assert(hp::sender_load(plan).over_mean < 1.01);
  assert(hp::bytes_until(plan, 0) * 80 == hp::bytes_until(plan, 79));

  hp::extent_t bytes = 0;
  hp::for_each_kv_copy(plan, [&](const hp::kv_copy& c) {  // layer by layer
    bytes += c.what.runs * c.what.run;                    // from c.sender's c.what.source to c.receiver's c.what.target
  });
  assert(bytes == hp::bytes_until(plan, 79));
}
