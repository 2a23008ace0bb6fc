// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of tier_memory.hpp; see support/compiled.hpp.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/tiers/tier_memory.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY tier_error::tier_error(tier_code code_, std::string tier_, std::string tensor_, std::int64_t asked,
                                          std::int64_t free_, std::int64_t largest)
    : std::runtime_error("tier " + tier_ + (tensor_.empty() ? std::string() : ", tensor " + tensor_) + ": " +
                         to_text(code_) + ": " + std::to_string(asked) + " bytes asked, " + std::to_string(free_) +
                         " bytes free, " + std::to_string(largest) + " in one piece"),
      code(code_),
      tier(std::move(tier_)),
      tensor(std::move(tensor_)),
      bytes_asked(asked),
      bytes_free(free_),
      largest_free(largest) {}

HYPERPARALLEL_BODY tier_memory::tier_memory(std::string name, std::int64_t capacity, tier_fit fit)
    : name_(std::move(name)), fit_(fit), capacity_(capacity / arena::alignment * arena::alignment) {
  if (capacity < 0) throw refusal(tier_code::capacity_is_negative, {}, capacity);
  try {
    memory_ = arena(capacity_);
  } catch (const std::bad_alloc&) {
    throw refusal(tier_code::capacity_is_not_available, {}, capacity);
  }
  if (capacity_ > 0) free_.emplace(0, capacity_);
}

HYPERPARALLEL_BODY std::int64_t tier_memory::largest_free() const {
  std::int64_t most = 0;
  for (const auto& [offset, bytes] : free_) most = bytes > most ? bytes : most;
  return most;
}

HYPERPARALLEL_BODY tier_memory::block tier_memory::allocate(std::string_view tensor, std::int64_t bytes) {
  if (bytes < 0) throw refusal(tier_code::size_is_negative, tensor, bytes);
  if (holds(tensor)) throw refusal(tier_code::name_is_taken, tensor, bytes);
  if (bytes > bytes_free()) throw refusal(tier_code::capacity_exceeded, tensor, bytes);
  const std::int64_t size = rounded(bytes);
  block b{0, bytes};
  if (size > 0) {
    const auto piece = room_for(size);
    if (piece == free_.end()) throw refusal(tier_code::no_piece_is_large_enough, tensor, bytes);
    b.offset = piece->first;
    const std::int64_t rest = piece->second - size;
    free_.erase(piece);
    if (rest > 0) free_.emplace(b.offset + size, rest);
    memory_.place(b.offset, size);
    used_ += size;
    if (used_ > most_used_) most_used_ = used_;
  }
  blocks_.emplace(tensor, b);
  return b;
}

HYPERPARALLEL_BODY void tier_memory::release(std::string_view tensor) {
  const auto found = blocks_.find(tensor);
  if (found == blocks_.end()) throw refusal(tier_code::name_is_unknown, tensor, 0);
  std::int64_t offset = found->second.offset, size = rounded(found->second.bytes);
  blocks_.erase(found);
  if (size == 0) return;
  used_ -= size;
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + size) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      previous->second += size;
      return;
    }
  }
  free_.emplace(offset, size);
}

HYPERPARALLEL_BODY tier_memory::block tier_memory::find(std::string_view tensor) const {
  const auto found = blocks_.find(tensor);
  if (found == blocks_.end()) throw refusal(tier_code::name_is_unknown, tensor, 0);
  return found->second;
}

HYPERPARALLEL_BODY tier_memory::pieces::const_iterator tier_memory::room_for(std::int64_t size) const {
  auto found = free_.end();
  for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
    if (piece->second < size || (found != free_.end() && piece->second >= found->second)) continue;
    found = piece;
    if (fit_ == tier_fit::first || piece->second == size) break;
  }
  return found;
}

HYPERPARALLEL_BODY tier_error tier_memory::refusal(tier_code code, std::string_view tensor, std::int64_t asked) const {
  const bool no_memory = memory_.bytes() != capacity_;
  return {code, name_, std::string(tensor), asked, no_memory ? 0 : bytes_free(), largest_free()};
}

}}  // namespace hyperparallel::v0_2
