// SPDX-License-Identifier: Apache-2.0
#pragma once
// A11: how much memory a long sequence needs, and how long one fits, where the cache of keys and values may leave.
//
// A period prefills one chunk over a sequence that is cached: one operator a layer, the attention of the chunk, reads
// its layer's blocks; weights and all else stay, and are what 61.2 GB leave beside the cache of 71K tokens. Other work
// of a layer is left out: it would hide more copies. Latency counts as equal where the plan takes at most 1 % more than
// operators alone. Which model it was no source says; its cache of 0.5 MiB a token and the chunk are chosen so that two
// numbers come out: a calibration. The planner is a search, not a proof, and a plan that it lacks for one budget it may have for
// a smaller one: what is printed has a plan, and is where bisection ends, not where no better one could be.

#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "anchor.hpp"
#include "offload_parameters.hpp"
#include "offload_published.hpp"
#include "offload_trace.hpp"

namespace tables {

class long_sequence {
 public:
  long_sequence(const offload_parameters& p, const hp::device_value& device) : p_(p), device_(device) {}

  std::int64_t token_bytes() const { return 4 * p_.cache_layers.value * p_.cache_width.value; }
  std::int64_t cache_bytes(int sequence) const { return token_bytes() * 1024 * sequence; }
  std::int64_t memory() const { return std::llround(published::peak_before * 1e9); }
  /// What stays: all of the published peak but the cache.
  std::int64_t other_bytes() const { return memory() - cache_bytes(published::sequence_before); }

  /// Whether a plan of equal latency exists; where it does, `peak` is the plan's.
  bool fits(int sequence, std::int64_t budget, std::int64_t& peak) const {
    const hp::offload_program program = program_of(sequence, budget);
    const hp::planned_offload r = hp::plan_offload(program, {.effort = 1'000'000});
    if (r.status.code != hp::offload_code::ok) throw std::logic_error(to_text(r.status.code));
    if (!r.certificate.feasible || r.certificate.time > most_time(program)) return false;
    peak = r.certificate.peak[0];
    return true;
  }
  /// By bisection, to 0.1 GB.
  std::int64_t least_peak(int sequence) const {
    std::int64_t low = other_bytes(), high = memory(), peak = high;
    while (high - low > hp::gigabyte / 10) {
      const std::int64_t middle = (low + high) / 2;
      (fits(sequence, middle, peak) ? high : low) = middle;
    }
    return peak;
  }
  /// By bisection, in units of 1024 tokens.
  int longest() const {
    int low = published::sequence_before, high = 4 * low;
    for (std::int64_t peak = 0; high - low > 1;) {
      const int middle = (low + high) / 2;
      (fits(middle, memory(), peak) ? low : high) = middle;
    }
    return low;
  }

 private:
  static std::int64_t most_time(const hp::offload_program& program) {
    return std::llround(static_cast<double>(operator_time(program)) * (1 + published::planned_exposed / 100));
  }
  hp::offload_program program_of(int sequence, std::int64_t budget) const {
    offload_trace t(budget, p_.link());
    const int layers = p_.cache_layers.value, blocks = p_.cache_blocks.value;
    // Scores, and their product with the values.
    const hp::time_cost attention = hp::matmul_time(device_, p_.cache_chunk.value, 2 * 1024 * std::int64_t{sequence},
                                                    p_.cache_width.value, device_.gmm_cold, device_.aic);
    for (int l = 0; l < layers; ++l) t.add_operator(attention.picoseconds);
    hp::offload_storage& other = t.add_storage(other_bytes(), {{.op = 0, .reads = true}});
    other.persistent = true;
    other.control = hp::offload_control::keep;
    for (int l = 0; l < layers; ++l)
      for (int b = 0; b < blocks; ++b)
        t.add_storage(cache_bytes(sequence) / layers / blocks, {{.op = l, .reads = true}}).persistent = true;
    return t.program;
  }

  offload_parameters p_;
  hp::device_value device_;
};

inline anchor_rows longest_sequence(const offload_parameters& p, const hp::device_value& device) {
  using namespace published;
  const long_sequence s(p, device);
  const auto gigabytes = [](std::int64_t bytes) { return static_cast<double>(bytes) * 1e-9; };
  const double peak = gigabytes(s.least_peak(sequence_before));
  const auto saved = [](double after) { return 100 * (after / peak_before - 1); };
  return {{"A11",
           fmt::format("{}K tokens: cache; weights and all else are {:.1f} GB", sequence_before,
                       gigabytes(s.other_bytes())),
           "GB", std::nullopt, gigabytes(s.cache_bytes(sequence_before)), criterion::printed, 0, 1},
          {"A11",
           fmt::format("{}K tokens, planned: least peak at equal latency, {:+.1f} % (theirs {:+.1f} %)",
                       sequence_before, saved(peak), saved(peak_after)),
           "GB", peak_after, peak, criterion::relative, 0.03, 1, standing::calibration},
          {"A11", fmt::format("planned: longest sequence in {:g} GB at equal latency", peak_before), "K tokens",
           sequence_after, static_cast<double>(s.longest()), criterion::relative, 0.03, 0, standing::calibration}};
}

}  // namespace tables
