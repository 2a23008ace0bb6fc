// SPDX-License-Identifier: Apache-2.0
#pragma once
// Alternating repetitions on a machine that others use too: every variant runs once in every round, so that a slow
// drift of the machine meets all of them alike, and a sample counts only if nobody else wanted a core.
//
// A sample starts when no foreign task is runnable and is repeated, five times at most, if one is runnable at its end.
// Waiting and repeating stop when their allowance is used up; `disturbed` counts the samples that stayed so.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

inline double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Nanoseconds that `run` takes.
template <class Run>
double time_ns(const Run& run) {
  const double start = now_ns();
  run();
  return now_ns() - start;
}

/// The sample below which `share` of them lie. Domain: at least one sample, 0 ≤ share < 1.
inline double quantile(std::vector<double> samples, double share) {
  const auto place = samples.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(samples.size()));
  std::nth_element(samples.begin(), place, samples.end());
  return *place;
}

/// Domain: at least one sample.
inline double median(std::vector<double> samples) { return quantile(std::move(samples), 0.5); }

inline double minimum(const std::vector<double>& samples) { return *std::min_element(samples.begin(), samples.end()); }

class quiet_gate {
 public:
  /// `allowance`: seconds that waiting and repeated samples may take all together. `neighbours`: tasks of others that
  /// always run, as part of what is measured.
  explicit quiet_gate(double allowance, int neighbours = 0) : allowance_(allowance * 1e9), neighbours_(neighbours) {}

  /// One sample of `measure`, which returns its own figure.
  double sample(const std::function<double()>& measure) {
    double figure = 0;
    bool quiet = false;
    for (int attempt = 0; attempt < 6 && !quiet; ++attempt) {
      if (attempt > 0 && allowance_ <= 0) break;
      wait_until_quiet(50);
      const double start = now_ns();
      figure = measure();
      if (attempt > 0) allowance_ -= now_ns() - start;
      quiet = wait_until_quiet(4);  // threads of the variant itself need a moment until they sleep
    }
    ++samples_;
    if (!quiet) ++disturbed_;
    return figure;
  }

  int samples() const { return samples_; }
  int disturbed() const { return disturbed_; }

 private:
  bool alone() const {
    int runnable = 1;
    if (std::FILE* const f = std::fopen("/proc/loadavg", "r")) {
      if (std::fscanf(f, "%*f %*f %*f %d", &runnable) != 1) runnable = 1;
      std::fclose(f);
    }
    return runnable <= 1 + neighbours_;
  }

  bool wait_until_quiet(int looks) {
    for (; looks > 0; --looks) {
      if (alone()) return true;
      if (allowance_ <= 0) return false;
      allowance_ -= time_ns([] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
    }
    return false;
  }

  double allowance_;  ///< nanoseconds left
  int neighbours_;
  int samples_ = 0;
  int disturbed_ = 0;
};

class alternation {
 public:
  explicit alternation(quiet_gate& gate) : gate_(gate) {}

  /// Returns the variant's number.
  std::size_t add(std::function<double()> measure) {
    variant_.push_back({std::move(measure), {}});
    return variant_.size() - 1;
  }

  /// One round more, whose samples do not count, comes first.
  void run(int rounds) {
    for (variant& v : variant_) v.measure();
    for (int r = 0; r < rounds; ++r)
      for (variant& v : variant_) v.figure.push_back(gate_.sample(v.measure));
  }

  double median(std::size_t v) const { return bench::median(variant_[v].figure); }
  double minimum(std::size_t v) const { return bench::minimum(variant_[v].figure); }

  /// How many times `b` takes as long as `a`, round by round.
  std::vector<double> ratios(std::size_t a, std::size_t b) const {
    std::vector<double> ratio;
    for (std::size_t r = 0; r < variant_[a].figure.size(); ++r)
      ratio.push_back(variant_[b].figure[r] / variant_[a].figure[r]);
    return ratio;
  }

 private:
  struct variant {
    std::function<double()> measure;
    std::vector<double> figure;
  };
  quiet_gate& gate_;
  std::vector<variant> variant_;
};

}  // namespace bench
