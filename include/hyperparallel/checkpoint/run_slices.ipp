// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of run_slices.hpp; see support/compiled.hpp.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <hyperparallel/checkpoint/run_slices.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/world/program_error.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard { namespace detail {

HYPERPARALLEL_JSON_BODY index_box index_box_of(const box& b) {
  index_box out;
  for (int d = 0; d < b.rank; ++d) out.push_back({b.dim[d].begin, b.dim[d].end});
  return out;
}

HYPERPARALLEL_JSON_BODY box box_of_index(const index_box& b) {
  box out;
  out.rank = static_cast<int>(b.size());
  for (std::size_t d = 0; d < b.size(); ++d) out.dim[d] = {b[d].begin, b[d].end};
  return out;
}

HYPERPARALLEL_JSON_BODY std::vector<int> kept_tensors(const sharded_program& p) {
  const graph& g = p.graph;
  std::vector<int> all;
  std::vector<bool> accumulates(static_cast<std::size_t>(g.tensor.size));
  for (const graph_operator& op : g.op)
    if (g.value_of(op).accumulates) accumulates[static_cast<std::size_t>(op.operand[0])] = true;
  for (int t = 0; t < g.tensor.size; ++t)
    if ((g.tensor[t].kind == graph_tensor_kind::parameter || g.tensor[t].kind == graph_tensor_kind::state) &&
        g.tensor[t].replaces < 0 && p.home[t] >= 0 && !accumulates[static_cast<std::size_t>(t)])
      all.push_back(t);
  return all;
}

HYPERPARALLEL_JSON_BODY std::vector<std::int64_t> extents_of_tensor(const graph& g, int t) {
  const shape& s = g.tensor[t].shape;
  return {s.extent, s.extent + s.rank};
}

HYPERPARALLEL_JSON_BODY void on_threads(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::mutex lock;
  std::exception_ptr error;
  const auto take = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < count;) try {
        work(i);
      } catch (...) {
        const std::lock_guard held(lock);
        if (!error) error = std::current_exception();
        next = count;
      }
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min(count, static_cast<std::size_t>(std::max(1, threads))); ++i)
    others.emplace_back(take);
  take();
  for (std::thread& t : others) t.join();
  if (error) std::rethrow_exception(error);
}

HYPERPARALLEL_JSON_BODY run_slices slices_of_run(const sharded_program& p) {
  const auto ranks = static_cast<std::size_t>(ranks_of(p));
  run_slices s{{}, {}, std::vector<int>(ranks, -1), std::vector<std::vector<written_block>>(ranks)};
  std::vector<std::int64_t> bytes(ranks, 0);
  std::vector<std::vector<std::size_t>> writers;  // of the slices of each tensor
  for (const int t : detail::kept_tensors(p)) {
    const int v = p.home[t];
    if (is_partial(p.value[v].layout))
      throw program_error(std::string("\"") + p.graph.name_of_tensor(t) + "\" is a sum of terms and is not kept");
    const int part = hyperparallel::detail::part_of_value(p, v), first = first_rank_of(p, part);
    std::vector<std::pair<box, std::vector<int>>> holders;
    std::map<std::vector<std::int64_t>, std::size_t> places;
    for (int r = 0; r < hyperparallel::detail::ranks_of_part(p, part); ++r) {
      const box b = box_of(p, v, r);
      std::vector<std::int64_t> key;
      for (int d = 0; d < b.rank; ++d) key.insert(key.end(), {b.dim[d].begin, b.dim[d].end});
      const auto [at, is_new] = places.emplace(std::move(key), holders.size());
      if (is_new) holders.push_back({b, {}});
      holders[at->second].second.push_back(first + r);
    }
    sliced_tensor& tensor = s.tensors.emplace_back();
    tensor = {
        p.graph.name_of_tensor(t), detail::dtype_of(p.graph.tensor[t].type), detail::extents_of_tensor(p.graph, t), {}};
    writers.emplace_back();
    for (const auto& [b, of] : holders) {
      const index_box wide = detail::index_box_of(b);
      if (volume_of(wide) == 0) continue;
      const auto writer = static_cast<std::size_t>(*std::min_element(of.begin(), of.end(), [&](int a, int c) {
        return bytes[static_cast<std::size_t>(a)] < bytes[static_cast<std::size_t>(c)];
      }));
      bytes[writer] += volume_of(wide) * bytes_of(p.graph.tensor[t].type);
      s.blocks[writer].push_back({t, v, b});
      tensor.slices.push_back({0, -1, wide});
      writers.back().push_back(writer);
    }
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    if (s.blocks[r].empty()) continue;
    s.file[r] = static_cast<int>(s.files.size());
    std::string digits = std::to_string(r);
    digits.insert(0, digits.size() < 5 ? 5 - digits.size() : 0, '0');
    s.files.push_back("rank_" + digits + ".safetensors");
  }
  for (std::size_t t = 0; t < s.tensors.size(); ++t)
    for (std::size_t i = 0; i < writers[t].size(); ++i) s.tensors[t].slices[i].file = s.file[writers[t][i]];
  return s;
}

}}}}  // namespace hyperparallel::v0_2::reshard::detail
