// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention and its gradient by their definition, one score at a time in double.

#include "operator_cases.hpp"

namespace kernel_test {

/// q [b, s, m, g, D], k [b, T, m, D], v [b, T, m, E] and what belongs to them.
struct attention_sizes {
  extent_t b, s, m, g, d, t, e;
  bool causal;
  double scale;

  letter_extents letters() const {
    std::mt19937 random(0);
    letter_extents l("", random);
    for (const auto& [letter, extent] : std::initializer_list<std::pair<char, extent_t>>{
             {'b', b}, {'s', s}, {'m', m}, {'g', g}, {'D', d}, {'T', t}, {'E', e}})
      l.of[static_cast<int>(letter)] = extent;
    return l;
  }
  case_options options() const { return {{causal ? 1 : 0}, {scale}}; }
};

struct attention_values {
  std::vector<double> o, lse, dq, dk, dv;
};

/// `d_out` may be empty: then there are no gradients.
inline attention_values attention_by_definition(const attention_sizes& z, const std::vector<double>& q,
                                                const std::vector<double>& k, const std::vector<double>& v,
                                                const std::vector<double>& d_out) {
  attention_values r;
  r.o.resize(at(z.b * z.s * z.m * z.g * z.e));
  r.lse.resize(at(z.b * z.s * z.m * z.g));
  r.dq.resize(q.size());
  r.dk.resize(k.size());
  r.dv.resize(v.size());
  for (extent_t b = 0; b < z.b; ++b)
    for (extent_t s = 0; s < z.s; ++s)
      for (extent_t m = 0; m < z.m; ++m)
        for (extent_t g = 0; g < z.g; ++g) {
          const extent_t row = ((b * z.s + s) * z.m + m) * z.g + g, seen = z.causal ? std::min(s + 1, z.t) : z.t;
          std::vector<double> p(at(seen));
          double most = -std::numeric_limits<double>::infinity(), total = 0, drift = 0;
          const auto key = [&](extent_t t, extent_t width) { return at(((b * z.t + t) * z.m + m) * width); };
          for (extent_t t = 0; t < seen; ++t) {
            for (extent_t d = 0; d < z.d; ++d) p[at(t)] += z.scale * q[at(row * z.d + d)] * k[key(t, z.d) + at(d)];
            most = std::max(most, p[at(t)]);
          }
          for (const double x : p) total += std::exp(x - most);
          r.lse[at(row)] = most + std::log(total);
          for (extent_t t = 0; t < seen; ++t) {
            p[at(t)] = std::exp(p[at(t)] - r.lse[at(row)]);
            for (extent_t e = 0; e < z.e; ++e) r.o[at(row * z.e + e)] += p[at(t)] * v[key(t, z.e) + at(e)];
          }
          if (d_out.empty()) continue;
          for (extent_t e = 0; e < z.e; ++e) drift += d_out[at(row * z.e + e)] * r.o[at(row * z.e + e)];
          for (extent_t t = 0; t < seen; ++t) {
            double dp = 0;
            for (extent_t e = 0; e < z.e; ++e) {
              dp += d_out[at(row * z.e + e)] * v[key(t, z.e) + at(e)];
              r.dv[key(t, z.e) + at(e)] += p[at(t)] * d_out[at(row * z.e + e)];
            }
            const double ds = p[at(t)] * (dp - drift) * z.scale;
            for (extent_t d = 0; d < z.d; ++d) {
              r.dq[at(row * z.d + d)] += ds * k[key(t, z.d) + at(d)];
              r.dk[key(t, z.d) + at(d)] += ds * q[at(row * z.d + d)];
            }
          }
        }
  return r;
}

inline const char* const attention_text = "bsmgD,bTmD,bTmE->bsmgE,bsmg";
inline const char* const attention_gradient_text = "bsmgE,bsmgD,bTmD,bTmE,bsmgE,bsmg->bsmgD,bTmD,bTmE";

}  // namespace kernel_test
