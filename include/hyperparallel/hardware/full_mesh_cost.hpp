// SPDX-License-Identifier: Apache-2.0
#pragma once
// Collectives on a two-dimensional full mesh: x·y ranks, each with a private link to the x-1 others of its row (level
// `along_x`) and to the y-1 others of its column (level `along_y`). UB-Mesh racks are built so.
//
// One order goes through one dimension and then the other and leaves half of the links idle in each stage. Two orders
// at once cut the buffer and send both parts at the same time. Law: with x = y and equal links the two orders together
// reach the injection bound (1 - 1/x²) n b / (2(x-1)) for all-gather, and m b/x, the bound for all-to-all (peers off
// row and column need two hops); one order takes about twice as long. A dimension of one rank drops out.

#include <hyperparallel/hardware/cost.hpp>
#include <hyperparallel/hardware/link.hpp>

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 {

struct full_mesh_2d {
  int x = 1;  ///< ranks of a row
  int y = 1;  ///< ranks of a column
  link_level along_x{};
  link_level along_y{};
};

namespace detail {

constexpr cost_code domain_of(const full_mesh_2d& m, std::int64_t bytes) {
  if (m.x < 1 || m.y < 1) return cost_code::count_is_not_positive;
  if (bytes < 0) return cost_code::amount_is_negative;
  if (m.along_x.bandwidth < 1 || m.along_y.bandwidth < 1) return cost_code::rate_is_not_positive;
  if (m.along_x.latency < 0 || m.along_y.latency < 0) return cost_code::latency_is_negative;
  return cost_code::ok;
}

/// A stage in which each private link of a dimension of `ranks` carries bytes / divisor.
constexpr time_cost mesh_stage(const link_level& link, int ranks, std::int64_t bytes, std::int64_t divisor) {
  if (ranks == 1) return {};
  if (link.by_size[0].bytes != 0) return transfer_time(link, ceil_divide(bytes, divisor));
  return then(latencies(1, link.latency), work_time(bytes, 1, divisor, link.bandwidth));
}

/// The slower of the two latencies: both orders share their stages.
constexpr std::int64_t shared_latency(const full_mesh_2d& m) { return larger(m.along_x.latency, m.along_y.latency); }

/// All-gather of n bytes along y and then x: a_y + n b_y/(xy) + a_x + n b_x/x. O(1).
constexpr time_cost all_gather_y_then_x(const full_mesh_2d& m, std::int64_t bytes) {
  if (const cost_code code = detail::domain_of(m, bytes); code != cost_code::ok) return {code, 0};
  const std::int64_t ranks = std::int64_t{m.x} * m.y;
  return then(detail::mesh_stage(m.along_y, m.y, bytes, ranks), detail::mesh_stage(m.along_x, m.x, bytes, m.x));
}

}  // namespace detail

/// The same along x and then y. O(1).
constexpr time_cost all_gather_x_then_y(const full_mesh_2d& m, std::int64_t bytes) {
  return detail::all_gather_y_then_x({m.y, m.x, m.along_y, m.along_x}, bytes);
}

/// The better of the two orders. Equals reduce-scatter, its mirror. O(1).
constexpr time_cost all_gather_one_order(const full_mesh_2d& m, std::int64_t bytes) {
  return faster(detail::all_gather_y_then_x(m, bytes), all_gather_x_then_y(m, bytes));
}

/// Both orders at once, the share f = x b_y / (x b_y + y b_x) going y then x so that the second stages end together.
/// With B the bandwidths: stage 1 is n max(x B_x/B_y, y B_y/B_x) / (xy (x B_x + y B_y)), stage 2 is n / (x B_x + y
/// B_y). Never slower than one order, latencies being equal. Domain: x B_x + y B_y fits 64 bits, or `overflow`. O(1).
constexpr time_cost all_gather_two_orders(const full_mesh_2d& m, std::int64_t bytes) {
  if (const cost_code code = detail::domain_of(m, bytes); code != cost_code::ok) return {code, 0};
  if (m.x == 1 || m.y == 1) return all_gather_one_order(m, bytes);
  const checked_extent row = checked_multiply(m.x, m.along_x.bandwidth);
  const checked_extent column = checked_multiply(m.y, m.along_y.bandwidth);
  const checked_extent both = checked_add(row.value, column.value);
  if (row.overflow || column.overflow || both.overflow) return {cost_code::overflow, longest_time};
  const std::int64_t ranks = std::int64_t{m.x} * m.y;
  // (x B_x / B_y) and (y B_y / B_x) in lowest terms keep the products small.
  const std::int64_t row_divisor = greatest_common_divisor(row.value, m.along_y.bandwidth);
  const std::int64_t column_divisor = greatest_common_divisor(column.value, m.along_x.bandwidth);
  const checked_extent row_ranks = checked_multiply(ranks, m.along_y.bandwidth / row_divisor);
  const checked_extent column_ranks = checked_multiply(ranks, m.along_x.bandwidth / column_divisor);
  if (row_ranks.overflow || column_ranks.overflow) return {cost_code::overflow, longest_time};
  const time_cost first = slower(work_time(bytes, row.value / row_divisor, row_ranks.value, both.value),
                                 work_time(bytes, column.value / column_divisor, column_ranks.value, both.value));
  const time_cost last = work_time(bytes, 1, 1, both.value);
  return then(latencies(2, detail::shared_latency(m)), then(first, last));
}

namespace detail {

/// All-to-all of m local bytes in one order: a_x + a_y + m (b_x/x + b_y/y). O(1).
constexpr time_cost all_to_all_one_order(const full_mesh_2d& m, std::int64_t bytes) {
  if (const cost_code code = detail::domain_of(m, bytes); code != cost_code::ok) return {code, 0};
  return then(detail::mesh_stage(m.along_x, m.x, bytes, m.x), detail::mesh_stage(m.along_y, m.y, bytes, m.y));
}

}  // namespace detail

/// All-to-all with half of the buffer in each order: 2a + m max(b_x/x, b_y/y), the load of the busier links, so no
/// share other than one half is better. O(1).
constexpr time_cost all_to_all_two_orders(const full_mesh_2d& m, std::int64_t bytes) {
  if (const cost_code code = detail::domain_of(m, bytes); code != cost_code::ok) return {code, 0};
  if (m.x == 1 || m.y == 1) return detail::all_to_all_one_order(m, bytes);
  return then(latencies(2, detail::shared_latency(m)),
              slower(work_time(bytes, 1, m.x, m.along_x.bandwidth), work_time(bytes, 1, m.y, m.along_y.bandwidth)));
}

/// What the links of one rank must at least carry in an all-gather of n bytes: (1 - 1/(xy)) n over all its links at
/// once. O(1).
constexpr time_cost all_gather_bound(const full_mesh_2d& m, std::int64_t bytes) {
  if (const cost_code code = detail::domain_of(m, bytes); code != cost_code::ok) return {code, 0};
  const std::int64_t ranks = std::int64_t{m.x} * m.y;
  if (ranks == 1) return {};
  const checked_extent row = checked_multiply(m.x - 1, m.along_x.bandwidth);
  const checked_extent column = checked_multiply(m.y - 1, m.along_y.bandwidth);
  const checked_extent both = checked_add(row.value, column.value);
  if (row.overflow || column.overflow || both.overflow) return {cost_code::overflow, longest_time};
  return work_time(bytes, ranks - 1, ranks, both.value);
}

}}  // namespace hyperparallel::v0_2
