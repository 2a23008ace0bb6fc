// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random numbers by key: the value depends on (seed, stream, index) and on nothing else.
//
// Law: however a tensor is split over ranks, element i of stream s is the same number, so every layout of a randomly
// created tensor holds the same values. There is no state to advance. Source: the finaliser of SplitMix64 (Steele, Lea,
// Flood, OOPSLA 2014), applied to each part of the key in turn.

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace detail

constexpr std::uint64_t keyed_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return detail::mix_bits(detail::mix_bits(detail::mix_bits(seed) ^ stream) ^ index);
}

/// Uniform in [-1, 1): a multiple of 2^-23, so it is exact in float on every machine.
constexpr float keyed_uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return static_cast<float>(keyed_bits(seed, stream, index) >> 40) * (1.0F / 8388608.0F) - 1.0F;
}

namespace detail {

/// A sequence of them: the n-th number drawn is that of index n. What one call draws after the other, by any law.
struct keyed_sequence {
  std::uint64_t seed = 0, drawn = 0;

  constexpr std::uint64_t operator()() { return keyed_bits(seed, 0, drawn++); }
};

}  // namespace detail

}}  // namespace hyperparallel::v0_2
