// SPDX-License-Identifier: Apache-2.0
#pragma once
// A8: routing skew, on the rank that receives the most. It gets r times its balanced rows, through plans whose capacity
// is static and whose rows come at run time: tiles without rows signal all the same.
//
//   linear law   an expert layer slows down with r, somewhat less where parts of it do not grow: T(r) ≤ r · T(1)
//   buckets      the smallest capacity that holds the step, against one plan for the worst case, whose queues are
//                balanced with tiles that stay empty
//   hot expert   a rank's expert gets four times its rows and the others less: queues frozen for balanced rows against
//                queues frozen for this histogram

#include <algorithm>

#include <hyperparallel/lowering/moe_buckets.hpp>

#include "planner.hpp"

namespace tables {

inline constexpr int skew_ep = 8;
inline constexpr hp::histogram_buckets<7> skew_buckets{{1000, 1250, 1500, 2000, 3000, 4000, 6000}};

inline hp::moe_options skew_options(const parameters& p, hp::moe_pass pass) {
  hp::moe_options o = module_options(p, pass, p.prompt_hop.value);
  o.scope = hp::moe_scope::layer;
  o.even_exchange = false;
  o.tiling.gate_up_columns = o.tiling.down_columns = 512;
  o.tiling.weight_columns = 1024;
  return o;
}

/// Milliseconds of a step with `rows` on the bucket's frozen queues.
template <class Rows>
double skewed_run(const hp::moe_buckets<7>& buckets, int bucket, const Rows& rows) {
  const hp::simulation_result r = buckets.run(bucket, rows);
  if (r.code != hp::simulation_code::ok) throw std::logic_error("skew: the plan does not run");
  return milliseconds(r.makespan);
}

/// Least and greatest T(r) / (r · T(1)), and the greatest gain of the bucket's plan over the worst case's, over r =
/// 1, 1.125, … 6.
struct skew_figures {
  double least = 1, greatest = 1, gain = 1;
};

inline skew_figures sweep_skew(const hp::moe_buckets<7>& buckets) {
  skew_figures out;
  const int balanced = static_cast<int>(buckets.capacity(0)), worst = 6;
  const auto time = [&](int bucket, int rows) {
    return skewed_run(buckets, bucket, [rows](int, int) { return rows; });
  };
  const double one = time(0, balanced);
  for (int eighths = 8; eighths <= 48; ++eighths) {
    const int rows = balanced * eighths / 8, bucket = buckets.choose(rows).bucket;
    const double chosen = time(bucket, rows), linear = chosen * 8 / (eighths * one);
    out.least = std::min(out.least, linear);
    out.greatest = std::max(out.greatest, linear);
    out.gain = std::max(out.gain, time(worst, rows) / chosen);
  }
  return out;
}

/// One expert of the rank gets four times its balanced rows, the others the rest: time of queues frozen for balanced
/// rows over that of queues frozen for this histogram by the better policy.
inline double hot_expert_gain(const parameters& p, const hp::moe_buckets<7>& buckets, const hp::moe_options& o,
                              int hot) {
  const int balanced = static_cast<int>(buckets.capacity(0)), experts = published::local_experts;
  const auto rows_of = [&](int expert, int) {
    return expert == hot ? 4 * balanced : (experts - 4) * balanced / (experts - 1);
  };
  const hp::moe_plan& plan = buckets.plan(buckets.choose(4 * balanced).bucket);
  const std::int64_t overhead = p.task_overhead.value;
  const std::vector<int> rows = hp::block_rows(plan, rows_of);
  const std::vector<int> even = hp::block_rows(plan, [balanced](int, int) { return balanced; });
  const hp::chain_builder real{hp::chain_with_rows(plan, overhead, rows)};
  const hp::planned_flow blind(hp::chain_builder{hp::chain_with_rows(plan, overhead, even)}, hp::moe_machine(o, 1),
                               {o.policy, o.synchronisation});
  const std::int64_t unaware = hp::simulate_frozen(blind, real, o.synchronisation).makespan;
  std::int64_t aware = unaware;
  for (const hp::priority policy : {hp::priority::reference_order, hp::priority::upward_rank}) {
    hp::planned_flow flow(real, hp::moe_machine(o, 1), {policy, o.synchronisation});
    aware = std::min(aware, checked_run(flow, "hot expert").makespan);
  }
  return static_cast<double>(unaware) / static_cast<double>(aware);
}

inline anchor_rows skew(const parameters& p) {
  anchor_rows rows;
  const auto add = [&rows](const std::string& what, double ours, criterion c, double limit) {
    rows.push_back({"A8", what, "x", std::nullopt, ours, c, limit, 4});
  };
  for (const hp::moe_pass pass : passes) {
    const hp::moe_options o = skew_options(p, pass);
    const hp::moe_buckets<7> buckets(published_layer(skew_ep), skew_ep, p.device(true), p.all_to_all(), o,
                                     skew_buckets);
    if (!buckets.status().ok()) throw std::logic_error("skew: no plan for a bucket");
    const skew_figures f = sweep_skew(buckets);
    const std::string name = fmt::format("EP{} {}, r = 1 … 6", skew_ep, name_of(pass));
    add(name + ": most of T(r) / (r T(1))", f.greatest, criterion::at_most, 1);
    add(name + ": least of T(r) / (r T(1))", f.least, criterion::at_least, 0.85);
    add(name + ": worst-case plan / the bucket's", f.gain, criterion::above, 1);
    for (const int hot : {0, published::local_experts - 1})
      add(fmt::format("EP{} {}, expert {} with 4 x its rows: queues for balanced rows / for these", skew_ep,
                      name_of(pass), hot),
          hot_expert_gain(p, buckets, o, hot), criterion::at_least, 1);
  }
  return rows;
}

}  // namespace tables
