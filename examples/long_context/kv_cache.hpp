// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keys and values of all layers, in blocks of positions that an offload session moves between tiers.
//
// A block is written in HBM until it is full. Then it either stays, or leaves for tier 1 and comes back each time its
// turn has come. Every token uses the blocks in the same order, layer after layer, so it is known which ones are next:
// they travel while a block is at work, those of the next layer behind the last of this one, and those of the first
// layer for the token to come. Law: values do not depend on where blocks are.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <hyperparallel/tiers/offload_session.hpp>

#include "sizes.hpp"

namespace long_context {

class kv_cache {
 public:
  /// `kept` full blocks stay in HBM, the first ones. Besides those, one block of each layer and `window` others are
  /// there at a time.
  kv_cache(hp::offload_session& session, int layers, std::int64_t kept, std::int64_t window)
      : session_(session), kept_(kept), window_(window), layer_(static_cast<std::size_t>(layers)) {}

  std::int64_t positions(int layer) const { return of(layer).positions; }

  /// The block that the layer's next positions belong to, for writing. Throws hp::tier_error when no room is left.
  hp::use_guard open(int layer);
  /// So many positions have been written, and the guard has ended.
  void close(int layer, std::int64_t positions);

  /// A block for reading; those behind it set out.
  hp::use_guard read(int layer, std::int64_t block);
  /// It has been read, and the guard has ended.
  void leave(int layer, std::int64_t block);

 private:
  struct entry {
    hp::session_tensor tensor;
    bool travels = false;
  };
  struct blocks_of_layer {
    std::vector<entry> block;
    std::int64_t positions = 0;
    std::int64_t kept = 0;  ///< the first ones
  };

  blocks_of_layer& of(int layer) { return layer_[static_cast<std::size_t>(layer)]; }
  const blocks_of_layer& of(int layer) const { return layer_[static_cast<std::size_t>(layer)]; }
  entry& at(int layer, std::int64_t block) { return of(layer).block[static_cast<std::size_t>(block)]; }
  bool travels(int layer, std::int64_t block) {
    return block < static_cast<std::int64_t>(of(layer).block.size()) && at(layer, block).travels;
  }
  bool find_next(int& layer, std::int64_t& block);
  void look_ahead(int layer, std::int64_t block);

  hp::offload_session& session_;
  std::int64_t kept_, window_;
  std::vector<blocks_of_layer> layer_;
};

}  // namespace long_context
