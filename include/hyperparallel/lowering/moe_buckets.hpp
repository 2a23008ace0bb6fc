// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans of one MoE layer for several capacities, and the one that a step's token histogram takes.
//
// A capacity is the rows that one source may send to one expert. Each capacity is a plan of its own: tiles, events,
// frozen queues. A step counts the rows of each (source, expert) pair, takes the greatest over all devices and asks
// `choose`: O(1). The rows of a block then arrive with it; tiles beyond them take their share of time and signal all
// the same.
//
// Laws: a step never loses a row: the chosen plan's capacity is at least the greatest count, and a count that no bucket
// holds is `no_bucket_holds_it`; with the last limit at `dropless_pair_limit` there is none such. Rows change durations
// and nothing else: the flow with rows has the tasks, events and slots of the flow without.

#include <hyperparallel/lowering/moe_program.hpp>
#include <hyperparallel/lowering/planned_flow.hpp>
#include <hyperparallel/mpmd/moe_chain.hpp>
#include <hyperparallel/mpmd/schedule_buckets.hpp>
#include <hyperparallel/support/owned.hpp>

#include <vector>

namespace hyperparallel { inline namespace v0_2 {

/// The limit, in 1/1000 of the balanced count, that holds whatever a router does: a token chooses an expert once at
/// most, so one source sends no expert more rows than it has tokens. Rounded up.
constexpr std::int64_t dropless_pair_limit(const moe_layer& layer) {
  return ceil_divide(std::int64_t{1000} * layer.experts, layer.top_k);
}

/// Rows of every block of `p` on one device: `rows_of_pair(local expert, step)` are those that the device's peer in
/// that step of the rotation sends to the expert; step 0 are its own. Law: a pair's blocks hold its rows, none lost.
/// Domain: 0 ≤ rows ≤ `p.rows_per_pair`. O(blocks).
template <class Rows>
std::vector<int> block_rows(const moe_plan& p, const Rows& rows_of_pair) {
  std::vector<int> rows(static_cast<std::size_t>(blocks_per_rank(p)));
  for (int b = 0; b < blocks_per_rank(p); ++b) {
    const moe_block at = block_at(p, b);
    const row_range own = rows_of_chunk(p, rows_of_pair(at.expert, at.rotation), at.chunk);
    rows[static_cast<std::size_t>(b)] = own.end - own.begin;
  }
  return rows;
}

/// The chain of `p` whose blocks hold `rows`; a tile without any still takes `overhead`. `rows` stays the caller's.
inline tile_chain chain_with_rows(const moe_plan& p, std::int64_t overhead, const std::vector<int>& rows) {
  moe_chain m = describe_moe(p);
  tile_space& blocks = m.chain.space[m.chain.tensor[m.tensor.received].space];
  m.chain.overhead = overhead;
  blocks.rows = rows.data();
  blocks.row_block = p.tiling.row_block;
  return m.chain;
}

/// Runs the frozen queues of `planned` with the durations of `real`, another filling of the same flow.
/// O(tasks + waits + signals).
template <class Build>
simulation_result simulate_frozen(const planned_flow& planned, const Build& real, std::int64_t synchronisation) {
  const taskflow_size size = measure(real);
  owned_taskflow f(size);
  real(f);
  seal(f);
  owned_timeline line(size.tasks);
  owned_simulation_scratch x(size, queue_count(planned.schedule().machine));
  return simulate(f, planned.schedule(), {synchronisation, false}, line, x);
}

/// Of the layer first, then of the device and its prices, then of the buckets.
struct moe_buckets_status {
  moe_code layer = moe_code::ok;
  device_status device{};
  cost_code price = cost_code::ok;
  bucket_choice buckets{};
  constexpr bool ok() const {
    return layer == moe_code::ok && device.code == device_code::ok && price == cost_code::ok &&
           buckets.code == bucket_code::ok;
  }
  friend constexpr bool operator==(const moe_buckets_status&, const moe_buckets_status&) = default;
};

template <int Buckets>
class moe_buckets {
 public:
  /// Plans every bucket; `status()` says why there is none. `options.rows_per_pair` is not read; the lag is that of
  /// the balanced plan and stays the same number of experts.
  /// O(Buckets · (build + schedule)).
  moe_buckets(const moe_layer& layer, int devices, const device_value& device, const expert_all_to_all_fit& fit,
              const moe_options& options, const histogram_buckets<Buckets>& limits)
      : options_(options), overhead_(device.task_overhead) {
    status_.layer = check(layer, devices).code;
    status_.device = check(device);
    if (!status_.ok()) return;
    const extent_t balanced = routed_rows(layer) / layer.experts / devices;
    selector_ = select_from(limits, balanced);
    status_.buckets = selector_.status;
    if (!status_.ok()) return;
    for (int b = 0; b < Buckets; ++b) {
      moe_options o = options;
      o.rows_per_pair = static_cast<int>(selector_.rows[b]);
      o.tiling.lag = static_cast<int>(extent_t{options.tiling.lag} * tiles_of(o.rows_per_pair, o.tiling.row_block) /
                                      tiles_of(balanced, o.tiling.row_block));
      const moe_plan_result made = make_moe_plan(layer, devices, 1, device, fit, o);
      status_.price = made.price;
      if (!status_.ok()) return;
      plans_.push_back(made.plan);
      flows_.push_back(detail::make_owned<planned_flow>(moe_builder{plans_.back()}, moe_machine(o, 1),
                                                        schedule_options{o.policy, o.synchronisation}));
    }
  }

  const moe_buckets_status& status() const { return status_; }

  /// The bucket for a step whose fullest (source, expert) pair has `rows`. O(1).
  bucket_choice choose(std::int64_t rows) const { return bucket_index(selector_, rows); }
  /// The bucket for the counts of all pairs. O(entries).
  template <class Count>
  bucket_choice choose(const Count* count, int entries) const {
    return bucket_index(selector_, count, entries);
  }

  /// Domain of all below: ok() and 0 ≤ bucket < Buckets.
  std::int64_t capacity(int bucket) const { return selector_.rows[bucket]; }
  const moe_plan& plan(int bucket) const { return plans_[static_cast<std::size_t>(bucket)]; }
  const planned_flow& flow(int bucket) const { return *flows_[static_cast<std::size_t>(bucket)]; }

  /// A step whose pairs have `rows_of_pair(local expert, step)` rows on this device, on the bucket's frozen queues.
  template <class Rows>
  simulation_result run(int bucket, const Rows& rows_of_pair) const {
    const std::vector<int> rows = block_rows(plan(bucket), rows_of_pair);
    return simulate_frozen(flow(bucket), chain_builder{chain_with_rows(plan(bucket), overhead_, rows)},
                           options_.synchronisation);
  }

 private:
  moe_options options_;
  std::int64_t overhead_;
  moe_buckets_status status_{};
  bucket_selector<Buckets> selector_{};
  std::vector<moe_plan> plans_;
  std::vector<detail::owned<planned_flow>> flows_;
};

}}  // namespace hyperparallel::v0_2
