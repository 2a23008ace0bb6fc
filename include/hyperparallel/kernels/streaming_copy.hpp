// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copying one contiguous run, with ordinary or with streaming stores.
//
// An ordinary store first reads the cache line that it writes and later evicts another line, so a copy into memory that
// nobody reads soon moves three bytes for one. Streaming (non-temporal) stores skip the read and the cache. Measured,
// they win once the targets of a whole move exceed about half the last-level cache, and lose several times over below
// it; hence the choice belongs to the move, not to the run. Hardware fetches ahead within a page only, so a long walk
// gains another tenth where it says what it reads some pages later.
// Law: both kinds leave the same bytes, and nothing outside the target run is written. Streaming stores are weakly
// ordered: who has issued them calls `store_fence` before it tells another thread that the data is there.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#if defined(__AVX__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>  // all of immintrin.h takes a compiler a third of a second
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace hyperparallel { inline namespace v0_2 {

enum class store_kind : unsigned char {
  cached,     ///< std::memcpy
  streaming,  ///< non-temporal where the target machine has them, else the same
};

/// Whether `store_kind::streaming` differs from `cached` on this target.
#if defined(__SSE2__)
namespace detail {

inline constexpr bool has_streaming_stores = true;

}  // namespace detail
#else
namespace detail {

inline constexpr bool has_streaming_stores = false;

}  // namespace detail
#endif

namespace detail {

/// What Linux tells about the first core's caches, 0 where it tells nothing. It is asked first, because the C library
/// counts the caches of a whole package, of which a virtual machine may have a twelfth.
inline std::int64_t cache_bytes_by_kernel() noexcept {
  std::int64_t largest = 0;
#if defined(__linux__)
  char path[] = "/sys/devices/system/cpu/cpu0/cache/index0/size";
  for (char& digit = path[sizeof path - 7]; digit < '8'; ++digit) {
    std::FILE* const file = std::fopen(path, "r");
    if (file == nullptr) break;
    long long size = 0;
    char unit = ' ';
    if (std::fscanf(file, "%lld%c", &size, &unit) >= 1) {
      if (unit == 'K') size <<= 10;
      if (unit == 'M') size <<= 20;
      if (size > largest) largest = size;
    }
    std::fclose(file);
  }
#endif
  return largest;
}

/// Bytes of the largest cache that the system reports; 32 MiB where it reports none. Reads files: once a move.
inline std::int64_t last_level_cache_bytes() noexcept {
  if (const std::int64_t bytes = detail::cache_bytes_by_kernel(); bytes > 0) return bytes;
  long bytes = 0;
#if defined(_SC_LEVEL3_CACHE_SIZE)
  bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
#if defined(_SC_LEVEL2_CACHE_SIZE)
  if (bytes <= 0) bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
  return bytes > 0 ? static_cast<std::int64_t>(bytes) : std::int64_t{32} << 20;
}

}  // namespace detail

/// The stores for a move whose targets have `target_bytes` together: streaming from `streaming_from` bytes on, which if
/// negative is half the last-level cache.
inline store_kind stores_for(std::int64_t target_bytes, std::int64_t streaming_from = -1) noexcept {
  const std::int64_t from = streaming_from >= 0 ? streaming_from : detail::last_level_cache_bytes() / 2;
  return detail::has_streaming_stores && target_bytes >= from ? store_kind::streaming : store_kind::cached;
}

/// Orders the streaming stores that this thread has issued before everything that it does next.
inline void store_fence() noexcept {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

namespace detail {

inline constexpr std::int64_t store_line = 64;  ///< bytes that streaming stores must fill at once to skip the read

#if defined(__SSE2__)
/// Whole lines to a target on a line boundary, with the widest streaming stores that the compiler may use.
inline void stream_lines(std::byte* target, const std::byte* source, std::int64_t lines, std::int64_t ahead) noexcept {
  for (; lines > 0; --lines, target += store_line, source += store_line) {
    __builtin_prefetch(source + ahead, 0, 0);  // read once: keep it out of the caches behind the first
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(target), _mm512_loadu_si512(source));
#elif defined(__AVX__)
    const auto* const from = reinterpret_cast<const __m256i*>(source);
    auto* const to = reinterpret_cast<__m256i*>(target);
    const __m256i a = _mm256_loadu_si256(from), b = _mm256_loadu_si256(from + 1);
    _mm256_stream_si256(to, a);
    _mm256_stream_si256(to + 1, b);
#else
    const auto* const from = reinterpret_cast<const __m128i*>(source);
    auto* const to = reinterpret_cast<__m128i*>(target);
    const __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
    const __m128i c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);
    _mm_stream_si128(to, a);
    _mm_stream_si128(to + 1, b);
    _mm_stream_si128(to + 2, c);
    _mm_stream_si128(to + 3, d);
#endif
  }
}
#endif

}  // namespace detail

/// Copies `bytes` ≥ 0. Domain: the runs do not overlap; `ahead` bytes behind each byte read lies another of the same
/// block, which will be read soon: streaming fetches it. Lines that the run fills only in part are stored ordinarily,
/// so that a line shared with a neighbouring run is never written both ways.
inline void copy_run(std::byte* target, const std::byte* source, std::int64_t bytes, store_kind stores,
                     [[maybe_unused]] std::int64_t ahead = 0) noexcept {
#if defined(__SSE2__)
  if (stores == store_kind::streaming) {
    const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(target) % detail::store_line);
    const std::int64_t head = past == 0 ? 0 : detail::store_line - past;
    const std::int64_t lines = (bytes - head) / detail::store_line;
    if (lines > 0) {
      if (head > 0) std::memcpy(target, source, static_cast<std::size_t>(head));
      detail::stream_lines(target + head, source + head, lines, ahead);
      const std::int64_t done = head + lines * detail::store_line;
      if (done < bytes) std::memcpy(target + done, source + done, static_cast<std::size_t>(bytes - done));
      return;
    }
  }
#else
  static_cast<void>(stores);
#endif
  if (bytes > 0) std::memcpy(target, source, static_cast<std::size_t>(bytes));
}

}}  // namespace hyperparallel::v0_2
