// SPDX-License-Identifier: Apache-2.0
#pragma once
// The caching allocator of PyTorch for a CUDA device, replayed without a device: what a sequence of requests takes from it.
//
//   hp::caching_allocator a;
//   const int block = a.allocate(bytes, stream);
//   a.release(block);
//   a.allocated(), a.reserved()                      bytes of blocks in use, and of all segments taken from the device
//
// A request is rounded to 512 bytes. Up to 1 MiB it is cut from segments of 2 MiB; above that from segments of 20 MiB, from 10 MiB on
// from one of its own size rounded to 2 MiB. The smallest free block of the stream that is large enough is taken, of equals
// the one of the lowest address; what is left over is a free block of its own where it is at least 512 bytes, for large requests more
// than 1 MiB, else it counts as allocated. A free block joins its free neighbours of the segment; no segment goes back.
// Source: c10/cuda/CUDACachingAllocator.cpp of PyTorch 2.11, defaults of PYTORCH_CUDA_ALLOC_CONF. Addresses of segments are taken
// to grow, and a device to have enough: where it has not, PyTorch gives free segments back and asks again.
//
// Laws: blocks in use are disjoint; allocated() ≤ reserved(); a block has at least what was asked for, and less than 512 bytes more
// than that rounded, or at most 1 MiB; where all is released, every segment is one free block.
// Domain: bytes from 0 to 2^58, streams from 0 to 3. O(free blocks of the stream) for a request.

#include <hyperparallel/hardware/units.hpp>
#include <hyperparallel/support/growing_array.hpp>
#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 {

class caching_allocator {
 public:
  static constexpr int streams = 4;

  /// Returns the number of the block, which is in use until it is released.
  constexpr int allocate(extent_t bytes, int stream) {
    const extent_t rounded = larger(ceil_divide(bytes, least_block) * least_block, least_block);
    const bool small = rounded <= largest_small;
    const int pool = 2 * stream + (small ? 1 : 0);
    const int at = best_of(pool, rounded);
    int taken = -1;
    if (at >= 0) {
      taken = free_[pool][at];
      remove(pool, at);
    } else {
      const extent_t segment = small ? small_segment
                               : rounded < least_own_segment
                                   ? shared_segment
                                   : ceil_divide(rounded, segment_multiple) * segment_multiple;
      taken = fresh({reserved_, segment, pool, -1, -1, -1});
      reserved_ += segment;
    }
    const extent_t left = block_[taken].bytes - rounded;
    if (small ? left >= least_block : left > largest_small) split(taken, rounded, left);
    allocated_ += block_[taken].bytes;
    return taken;
  }

  /// Precondition: the block is in use.
  constexpr void release(int block) {
    allocated_ -= block_[block].bytes;
    const int before = block_[block].before, after = block_[block].after;
    if (before >= 0 && block_[before].place >= 0) {
      remove(block_[before].pool, block_[before].place);
      block_[block].address = block_[before].address;
      join(block, before, block_[before].before, after);
    }
    if (after >= 0 && block_[after].place >= 0) {
      remove(block_[after].pool, block_[after].place);
      join(block, after, block_[block].before, block_[after].after);
    }
    put(block);
  }

  constexpr extent_t allocated() const { return allocated_; }
  constexpr extent_t reserved() const { return reserved_; }
  constexpr extent_t bytes_of(int block) const { return block_[block].bytes; }
  constexpr extent_t address_of(int block) const { return block_[block].address; }

 private:
  static constexpr extent_t least_block = 512, largest_small = MiB, small_segment = 2 * MiB, shared_segment = 20 * MiB,
                            least_own_segment = 10 * MiB, segment_multiple = 2 * MiB;

  struct piece {
    extent_t address = 0, bytes = 0;
    int pool = 0;
    int before = -1, after = -1;  ///< in its segment
    int place = -1;               ///< among the free blocks of its pool; -1: in use
  };

  /// The place of the smallest free block that holds so much, of equals that of the lowest address; -1 where there is none.
  constexpr int best_of(int pool, extent_t bytes) const {
    int best = -1;
    for (int i = 0; i < free_[pool].size; ++i) {
      const piece& b = block_[free_[pool][i]];
      if (b.bytes < bytes) continue;
      if (best >= 0) {
        const piece& other = block_[free_[pool][best]];
        if (b.bytes > other.bytes || (b.bytes == other.bytes && b.address > other.address)) continue;
      }
      best = i;
    }
    return best;
  }

  constexpr int fresh(const piece& b) {
    if (unused_.empty()) return block_.push(b);
    const int number = unused_.last();
    unused_.resize(unused_.size - 1);
    block_[number] = b;
    return number;
  }
  constexpr void split(int taken, extent_t bytes, extent_t left) {
    const piece whole = block_[taken];
    const int rest = fresh({whole.address + bytes, left, whole.pool, taken, whole.after, -1});
    if (whole.after >= 0) block_[whole.after].before = rest;
    block_[taken].after = rest;
    block_[taken].bytes = bytes;
    put(rest);
  }
  /// `other`, a neighbour of `into`, becomes part of it; `before` and `after` are the neighbours that `into` has then.
  constexpr void join(int into, int other, int before, int after) {
    block_[into].bytes += block_[other].bytes;
    block_[into].before = before;
    block_[into].after = after;
    if (before >= 0) block_[before].after = into;
    if (after >= 0) block_[after].before = into;
    unused_.push(other);
  }
  constexpr void put(int number) { block_[number].place = free_[block_[number].pool].push(number); }
  constexpr void remove(int pool, int place) {
    growing_array<int>& list = free_[pool];
    block_[list[place]].place = -1;
    if (place + 1 < list.size) {
      list[place] = list.last();
      block_[list[place]].place = place;
    }
    list.resize(list.size - 1);
  }

  growing_array<piece> block_;
  growing_array<int> free_[2 * streams];  ///< blocks, by stream and size
  growing_array<int> unused_;             ///< numbers of blocks that are gone
  extent_t allocated_ = 0, reserved_ = 0;
};

}}  // namespace hyperparallel::v0_2
