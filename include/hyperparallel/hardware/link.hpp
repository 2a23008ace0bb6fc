// SPDX-License-Identifier: Apache-2.0
#pragma once
// One level of an interconnect: devices in groups of `group` consecutive ranks reach each other over links of one kind.
//
// Law (alpha-beta): a transfer of n bytes takes alpha + n·beta, alpha the latency and beta one over the bandwidth. Where shares
// by size are stated, a message of so many bytes reaches that share of the bandwidth alone, and occupies the link as long as
// bytes / share at all of it; messages between two sizes occupy it linearly between them, shorter and longer ones reach the
// first and the last share. Laws: what messages occupy does not fall with bytes, nor, but for
// two bytes a message that rounding adds, with the number of messages of the same bytes.

#include <hyperparallel/hardware/cost.hpp>
#include <hyperparallel/support/fixed_string.hpp>

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 {

/// A level that joins every rank.
inline constexpr int unbounded_group = INT32_MAX;

/// The share of the bandwidth that messages of `bytes` reach.
struct size_share {
  std::int64_t bytes = 0;  ///< 0: there is none, nor behind it
  efficiency share{};
  friend constexpr bool operator==(const size_share&, const size_share&) = default;
};
inline constexpr int max_size_shares = 4;

struct link_level {
  short_text name{};
  int group = unbounded_group;               ///< ranks [i·group, (i+1)·group) are joined
  std::int64_t bandwidth = 0;                ///< bytes per second, one direction, of one device on this level
  std::int64_t latency = 0;                  ///< picoseconds
  size_share by_size[max_size_shares] = {};  ///< the smallest message first; none: all messages reach the bandwidth
  friend constexpr bool operator==(const link_level&, const link_level&) = default;
};

/// What is wrong with shares by size.
enum class size_share_code : unsigned char {
  ok,
  share_is_not_in_0_to_1,
  sizes_do_not_rise,
  shares_fall,
  longer_is_faster,  ///< the longer message would occupy the link for less
};
namespace detail {

struct size_share_status {
  size_share_code code = size_share_code::ok;
  int at = 0;  ///< the share to blame
  friend constexpr bool operator==(const size_share_status&, const size_share_status&) = default;
};

/// Bytes at the whole bandwidth that `bytes` at a share take as long as, rounded up.
constexpr wide_unsigned bytes_at_share(std::int64_t bytes, efficiency share) {
  const auto parts = static_cast<wide_unsigned>(share.parts_per_million);
  return (static_cast<wide_unsigned>(bytes) * 1'000'000 + parts - 1) / parts;
}
constexpr std::int64_t saturated(wide_unsigned n) {
  return n > static_cast<wide_unsigned>(INT64_MAX) ? INT64_MAX : static_cast<std::int64_t>(n);
}

/// Whether the shares of a level keep the laws. O(1).
constexpr size_share_status check_shares(const link_level& level) {
  for (int i = 0; i < max_size_shares && level.by_size[i].bytes != 0; ++i) {
    const size_share now = level.by_size[i], before = i == 0 ? size_share{0, now.share} : level.by_size[i - 1];
    if (now.share.parts_per_million < 1 || now.share.parts_per_million > full_efficiency.parts_per_million)
      return {size_share_code::share_is_not_in_0_to_1, i};
    if (now.bytes <= before.bytes) return {size_share_code::sizes_do_not_rise, i};
    if (now.share.parts_per_million < before.share.parts_per_million) return {size_share_code::shares_fall, i};
    if (detail::bytes_at_share(now.bytes, now.share) < detail::bytes_at_share(before.bytes, before.share))
      return {size_share_code::longer_is_faster, i};
  }
  return {};
}

/// Bytes at the whole bandwidth that `messages` equal messages of `bytes` together occupy the level as long as: `bytes` where
/// no shares are stated. INT64_MAX where it is more. Domain: `check_shares` is ok; messages, bytes ≥ 0. O(1).
constexpr std::int64_t occupied_bytes(const link_level& level, std::int64_t messages, std::int64_t bytes) {
  if (level.by_size[0].bytes == 0 || bytes <= 0) return bytes;
  using wide = detail::wide_unsigned;
  const wide count = static_cast<wide>(messages < 1 ? 1 : messages), all = static_cast<wide>(bytes);
  wide occupied = 0;
  for (int i = 0; i < max_size_shares && level.by_size[i].bytes != 0; ++i) {
    const size_share upper = level.by_size[i];
    const wide size = static_cast<wide>(upper.bytes), end = detail::bytes_at_share(upper.bytes, upper.share);
    if (all > count * size) {
      occupied = count * end + detail::bytes_at_share(static_cast<std::int64_t>(all - count * size), upper.share);
      continue;
    }
    if (i == 0) return detail::saturated(detail::bytes_at_share(bytes, upper.share));
    const size_share lower = level.by_size[i - 1];
    const wide from = static_cast<wide>(lower.bytes), begin = detail::bytes_at_share(lower.bytes, lower.share);
    occupied = count * begin + ((end - begin) * (all - count * from) + size - from - 1) / (size - from);
    break;
  }
  return detail::saturated(occupied);
}

/// Time for which `messages` equal messages of `amount` · `bytes_each` bytes together occupy the level. Domain: as
/// `occupied_bytes`. O(1).
constexpr time_cost occupied_time(const link_level& level, std::int64_t messages, std::int64_t amount,
                                  std::int64_t bytes_each) {
  if (level.by_size[0].bytes == 0) return work_time(amount, bytes_each, 1, level.bandwidth);
  const checked_extent bytes = checked_multiply(amount, bytes_each);
  if (bytes.overflow) return {cost_code::overflow, longest_time};
  return work_time(occupied_bytes(level, messages, bytes.value), 1, 1, level.bandwidth);
}

}  // namespace detail

/// Time of one message. 0 bytes still pay the latency: a signal is a message. Domain: bytes ≥ 0. O(1).
constexpr time_cost transfer_time(const link_level& level, std::int64_t bytes) {
  return then(latencies(1, level.latency), detail::occupied_time(level, 1, bytes, 1));
}

}}  // namespace hyperparallel::v0_2
