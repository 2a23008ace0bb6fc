// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random periods for planners of memory tiers, and the budgets that are of interest for them.

#include <hyperparallel/offload/use_chains.hpp>

#include <algorithm>
#include <random>
#include <vector>

namespace random_periods {

namespace hp = hyperparallel;

struct program_shape {
  int operators = 12;
  int most_gaps = 8;  ///< programs with more are drawn again
  int tiers = 2;
  bool collectives = false;
  bool movable = false;  ///< some operators
  bool half_duplex = false;
  bool persistent = true;  ///< some storages
  bool scarce_tiers = false;
  bool recompute = true;  ///< of some storages, some with operands
  int accesses = 3;       ///< at most, of one storage
};

/// The source of all that is random.
class draw {
 public:
  explicit draw(unsigned seed) : bits_(seed) {}
  int below(int n) { return n <= 1 ? 0 : static_cast<int>(bits_() % static_cast<unsigned>(n)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::mt19937 bits_;
};

/// A period longer than any that can be searched through.
inline program_shape long_shape(draw& d, int most_operators) {
  program_shape shape;
  shape.operators = d.between(14, most_operators);
  shape.most_gaps = 1000;
  shape.accesses = d.between(2, 5);
  shape.collectives = d.one_in(3);
  shape.half_duplex = d.one_in(4);
  return shape;
}

inline int add_storage(hp::offload_program& p, hp::extent_t bytes, bool persistent,
                       const std::vector<hp::storage_access>& accesses) {
  hp::offload_storage s;
  s.bytes = bytes;
  s.persistent = persistent;
  s.first_access = p.access.size;
  s.access_count = static_cast<int>(accesses.size());
  s.label = p.storage.size;
  for (const hp::storage_access& a : accesses) p.access.push(a);
  return p.storage.push(s);
}

/// The smallest and the largest budget of interest: what one operator needs, and what all need without any plan.
struct budget_range {
  hp::extent_t least = 0, most = 0;
};

inline budget_range budgets_of(const hp::offload_program& p) {
  budget_range r;
  const hp::use_chains c = hp::chains_of(p);
  const auto live = hp::live_bytes(p);
  for (int q = 0; q < p.op.size; ++q) {
    hp::extent_t away = 0;
    for (const hp::storage_gap& g : c.gap)
      if (hp::covers(g, q)) away += p.storage[g.storage].bytes;
    r.least = std::max(r.least, live[q] - away);
    r.most = std::max(r.most, live[q]);
  }
  return r;
}

/// A random period whose budget lies between what one operator needs and what all need.
inline hp::offload_program random_program(draw& d, const program_shape& shape) {
  for (;;) {
    hp::offload_program p;
    const int n = std::max(3, shape.operators - d.below(3));
    const int links = shape.half_duplex ? 1 : 2;
    for (int l = 0; l < links * std::max(1, shape.tiers - 1); ++l) {
      const int rate = d.between(1, 3);
      p.link.push({1'000'000'000'000 / rate, d.one_in(3) ? d.between(1, 9) : 0});
    }
    p.tier.push({1, -1, -1});
    for (int t = 1; t < shape.tiers; ++t) {
      const int first = d.one_in(3) && t > 1 ? 0 : (t - 1) * links;
      p.tier.push({1'000'000, first, first + links - 1});
    }
    for (int q = 0; q < n; ++q) {
      const bool collective = shape.collectives && d.one_in(4);
      p.op.push({d.between(10, 99), collective ? d.below(p.link.size) : -1, shape.movable && d.one_in(3)});
    }
    const bool mirror = d.one_in(2);  // forward and backward, or anything
    for (int q = 0; q < n; ++q) {
      std::vector<hp::storage_access> accesses{{q, false, true}};
      int last = q;
      const int more = d.between(1, shape.accesses - 1);
      for (int k = 0; k < more; ++k) {
        const int op = mirror ? (k == 0 ? q + 1 : n - 1 - q) : last + (d.one_in(2) ? 1 : d.between(2, n));
        if (op <= last || op >= n) continue;
        const bool writes = d.one_in(6);
        accesses.push_back({op, !writes || d.one_in(2), writes});
        last = op;
      }
      const int s = add_storage(p, d.between(5, 44), false, accesses);
      if (shape.recompute && d.one_in(2)) {
        p.storage[s].recompute = p.op[q].duration;
        p.storage[s].first_operand = p.operand.size;
        if (s > 0 && d.one_in(2)) {
          p.operand.push(d.below(s));
          p.storage[s].operand_count = 1;
        }
      }
    }
    for (int i = shape.persistent ? d.below(std::max(2, n / 3)) : 0; i > 0; --i) {
      std::vector<hp::storage_access> accesses;
      for (int op = d.below(n); op < n && static_cast<int>(accesses.size()) < shape.accesses; op += d.between(1, n)) {
        const bool writes = d.one_in(4);
        accesses.push_back({op, !writes || d.one_in(2), writes});
      }
      add_storage(p, d.between(5, 44), true, accesses);
    }
    const int gaps = hp::gaps_of(p).size;
    const budget_range r = budgets_of(p);
    if (gaps > shape.most_gaps || gaps < 2 || r.least >= r.most) continue;
    p.tier[0].capacity = r.least + (r.most - r.least) * d.below(95) / 100;
    if (shape.scarce_tiers)
      for (int t = 1; t < shape.tiers; ++t) p.tier[t].capacity = 10 + (r.most - r.least) * d.between(10, 200) / 100;
    return p;
  }
}

}  // namespace random_periods
