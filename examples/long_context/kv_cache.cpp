// SPDX-License-Identifier: Apache-2.0

#include "kv_cache.hpp"

#include <algorithm>
#include <string>

namespace long_context {

hp::use_guard kv_cache::open(int layer) {
  blocks_of_layer& l = of(layer);
  const bool is_new = l.positions % block_positions == 0;
  if (is_new) {
    const std::string name = "layers." + std::to_string(layer) + ".cache." + std::to_string(l.block.size());
    l.block.push_back({session_.add(name, block_bytes)});
  }
  return session_.use(l.block.back().tensor, is_new ? hp::tensor_access::overwrite : hp::tensor_access::update);
}

void kv_cache::close(int layer, std::int64_t positions) {
  blocks_of_layer& l = of(layer);
  l.positions += positions;
  if (l.positions % block_positions != 0) return;
  entry& full = l.block.back();
  if (kept_ > 0) {
    --kept_;
    ++l.kept;
  } else {
    session_.store(full.tensor, 1);  // it will not change any more, and may be read on the way
    full.travels = true;
  }
}

hp::use_guard kv_cache::read(int layer, std::int64_t block) {
  const hp::session_tensor t = at(layer, block).tensor;
  if (!session_.is_resident(t)) session_.prefetch(t);  // moves nothing more if it was brought ahead
  look_ahead(layer, block);
  return session_.use(t);  // waits for the bytes
}

void kv_cache::leave(int layer, std::int64_t block) {
  if (travels(layer, block)) session_.detach(at(layer, block).tensor);
}

void kv_cache::look_ahead(int layer, std::int64_t block) {
  for (std::int64_t n = 1; n < window_ && find_next(layer, block); ++n)
    session_.prefetch_ahead(at(layer, block).tensor);
}

/// The travelling block whose turn comes next. False where there is none.
bool kv_cache::find_next(int& layer, std::int64_t& block) {
  block = std::max(block + 1, of(layer).kept);
  for (std::size_t tried = 0; tried <= layer_.size(); ++tried) {
    if (travels(layer, block)) return true;
    layer = (layer + 1) % static_cast<int>(layer_.size());
    block = of(layer).kept;
  }
  return false;
}

}  // namespace long_context
