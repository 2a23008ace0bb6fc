// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of worker_share.hpp; see support/compiled.hpp.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/exec/worker_share.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

HYPERPARALLEL_BODY std::vector<int> balanced_runs(const std::vector<std::int64_t>& load, int parts) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (const std::int64_t l : load) {
    low = l > low ? l : low;
    high += l;
  }
  const int n = static_cast<int>(load.size());
  std::vector<int> part(load.size(), 0);
  const auto fits = [&](std::int64_t limit) {
    int p = 0;
    std::int64_t sum = 0;
    for (int i = 0; i < n; ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      const bool one_each = n - i <= parts - 1 - p;  // enough parts left for every remaining item to have its own
      if (i > 0 && (sum + load[at] > limit || one_each)) {
        sum = 0;
        if (++p == parts) return false;
      }
      sum += load[at];
      part[at] = p;
    }
    return true;
  };
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (fits(middle))
      high = middle;
    else
      low = middle + 1;
  }
  fits(low);
  return part;
}

HYPERPARALLEL_BODY worker_share share_queues(const plan_view& p, const executor_options& options) {
  std::vector<int> cores = allowed_cores();
  const int available = allowed_core_count(cores);
  const int asked = options.threads > 0 ? options.threads : available;
  std::vector<std::int64_t> load;
  std::vector<int> used, copying;
  detail::light_vector<std::pair<int, std::size_t>> beside;  ///< queue, and which of `used` it goes with
  for (int q = 0; q < p.size.queues; ++q) {
    const auto [kind, sum] = p.use[q];
    if (sum == 0) continue;
    if (options.copy_workers && (kind == resource::copy_in || kind == resource::copy_out)) {
      copying.push_back(q);
      continue;
    }
    if (options.copy_workers && kind == resource::host && !used.empty()) {
      beside.push_back({q, used.size() - 1});
      continue;
    }
    load.push_back(sum);
    used.push_back(q);
  }
  const std::vector<int> part = balanced_runs(load, asked < max_workers ? asked : max_workers);
  worker_share share;
  share.workers = share.sharing = part.empty() ? 1 : part.back() + 1;
  share.worker_of.assign(detail::at(p.size.queues), 0);
  for (std::size_t i = 0; i < used.size(); ++i) share.worker_of[detail::at(used[i])] = part[i];
  for (const auto& [q, i] : beside) share.worker_of[detail::at(q)] = part[i];
  const bool roomy = share.workers <= available;
  share.spin = roomy && copying.empty() ? options.spin : 0;
  if (options.pin && roomy && static_cast<int>(cores.size()) >= share.workers) share.cores = std::move(cores);
  // What wakes up now and then stays off the cores of those who compute, where there are others.
  std::vector<int> spare;
  for (std::size_t i = detail::at(share.workers); i < share.cores.size(); ++i) spare.push_back(share.cores[i]);
  for (std::size_t i = 0; i < copying.size(); ++i) {
    share.worker_of[detail::at(copying[i])] = share.workers++;
    if (share.cores.empty()) continue;
    share.cores.resize(detail::at(share.workers), -1);
    share.cores.back() = spare.empty() ? -1 : spare[i % spare.size()];
  }
  return share;
}

}}}  // namespace hyperparallel::v0_2::detail
