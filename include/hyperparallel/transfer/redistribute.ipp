// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of redistribute.hpp; see support/compiled.hpp.

#include <atomic>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>

#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/transfer/redistribute.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY arena_redistribution::arena_redistribution(const layout_value& source, const layout_value& target,
                                                              const shape& s, moved_element element,
                                                              const copy_options& options, target_blocks blocks)
    : arena_redistribution(planned_tensor(source, target, s, element), options, blocks) {}

HYPERPARALLEL_BODY arena_redistribution::arena_redistribution(const planned_tensor& tensor, const copy_options& options,
                                                              target_blocks blocks)
    : tensor_(tensor) {
  if (plan().code != move_code::ok)
    throw std::invalid_argument("the planner refuses this redistribution, code " +
                                std::to_string(static_cast<int>(plan().code)));
  if (plan().step_count == 0) throw std::invalid_argument("the plan has no step, so it does not name its layouts");
  if (!tensor_.element.has_type && tensor_.needs_type())
    throw std::invalid_argument("the plan reduces or fills, which needs the element's data_type");
  const planned_flow planned(tensor_.flow, machine(), {});
  const verify_status safe = planned.verify();
  if (safe.code != verify_code::ok) throw std::invalid_argument(to_text(safe.code));
  for (int b = 1; b < tensor_.stages(); ++b)
    if (static_cast<std::size_t>(tensor_.positions(b)) > received_.size())
      received_.resize(static_cast<std::size_t>(tensor_.positions(b)));
  allocate(planned, blocks == target_blocks::in_source);
  if (blocks == target_blocks::own) {
    for (int i = 0; i < plan().step_count; ++i)
      step_.push_back(detail::make_owned<parallel_copy>(schedule_of_step(i), options));
    return;
  }
  step_.push_back(detail::make_owned<parallel_copy>(copy_schedule{}, options));
}

HYPERPARALLEL_BODY copy_schedule arena_redistribution::schedule_of_step(int step) {
  detail::light_vector<copy_record> copies;
  detail::light_vector<fold_record> folds;
  detail::light_vector<detail::light_vector<const std::byte*>> terms;
  for (int p = 0; p < tensor_.positions(step + 1); ++p) {
    const receiver_records of = records_of(plan(), step, p, tensor_.element);
    received_[static_cast<std::size_t>(p)] += of.received;
    std::byte* const target = block(step + 1, p);
    for (const step_record& r : of.record) {
      if (r.terms == 1) {
        copies.push_back({r.copy, block(step, *of.senders(r)), target});
        continue;
      }
      detail::light_vector<const std::byte*>& sources = terms.emplace_back();
      for (int t = 0; t < r.terms; ++t) sources.push_back(block(step, of.senders(r)[t]));
      folds.push_back({r.copy, sources, target, of.fold});
    }
    if (of.fill.elements > 0) fills_.push_back({of.fill, target});
  }
  return copy_schedule(copies, folds);
}

HYPERPARALLEL_BODY run_result arena_redistribution::run(const progress& watch) {
  cancelled_.store(false, std::memory_order_relaxed);
  for (const auto& [fill, block] : fills_) fill.write(block);
  part_of_run part{watch, 0, total()};
  for (const detail::owned<parallel_copy>& step : step_) {
    progress seen = watch;
    if (watch.report != nullptr) {
      seen.report = &part_of_run::report;
      seen.user = &part;
    }
    if (step->run(seen) == run_result::cancelled || cancelled_.load(std::memory_order_relaxed))
      return run_result::cancelled;
    part.before += step->schedule().bytes();
  }
  return run_result::complete;
}

HYPERPARALLEL_BODY void arena_redistribution::cancel() noexcept {
  cancelled_.store(true, std::memory_order_relaxed);
  for (const detail::owned<parallel_copy>& step : step_) step->cancel();
}

HYPERPARALLEL_BODY std::int64_t arena_redistribution::finished() const {
  std::int64_t sum = 0;
  for (const detail::owned<parallel_copy>& step : step_) sum += step->finished();
  return sum;
}

HYPERPARALLEL_BODY std::int64_t arena_redistribution::total() const {
  std::int64_t bytes = 0;
  for (const detail::owned<parallel_copy>& step : step_) bytes += step->schedule().bytes();
  return bytes;
}

HYPERPARALLEL_BODY machine_shape arena_redistribution::machine() const {
  machine_shape m;
  for (int b = 0; b < tensor_.stages(); ++b)
    for (int p = 0; p < tensor_.positions(b); ++p)
      if (tensor_.flow.rank_of(b, p) >= m.ranks) m.ranks = tensor_.flow.rank_of(b, p) + 1;
  m.queues[static_cast<int>(resource::link)] = 1;
  return m;
}

HYPERPARALLEL_BODY void arena_redistribution::allocate(const planned_flow& planned, bool in_source) {
  const dynamic_taskflow& flow = planned.flow();
  std::int64_t bytes[] = {0};
  for (int i = 0; i < flow.size.slots; ++i)
    if (!in_source || i < tensor_.positions(0)) bytes[0] = larger(bytes[0], flow.slot[i].offset + flow.slot[i].bytes);
  const int ranks = planned.schedule().machine.ranks;
  arenas_ = arena_set(ranks, bytes);
  for (int r = 0; r < ranks; ++r) prefer_huge_pages(arenas_.address(r, 0, 0), bytes[0]);
  for (int b = 0, i = 0; b < tensor_.stages(); ++b) {
    block_.emplace_back();
    for (int p = 0; p < tensor_.positions(b); ++p, ++i) {
      if (in_source && b > 0) {
        block_.back().push_back(part_of_source(p));
        continue;
      }
      arenas_.place(flow.slot[i]);
      block_.back().push_back(arenas_.address(flow.slot[i]));
    }
  }
}

HYPERPARALLEL_BODY std::byte* arena_redistribution::part_of_source(int position) const {
  const move_step& step = plan().step[0];
  const step_receiver r = receiver_of(step, plan().shape, position);
  const box held = tensor_.flow.frame(0, position), wanted = tensor_.flow.frame(1, position);
  const bool keeps = plan().step_count == 1 && r.terms == 1 && step.filled == 0 && step.target_ranks.count == 0;
  const strided_copy run = keeps && intersection(held, wanted) == wanted
                               ? flatten(copy_between(held, wanted, wanted, tensor_.element.bytes))
                               : strided_copy{1};
  if (run.dims > 0)
    throw std::invalid_argument("the target block of rank " + std::to_string(position) +
                                " is not one run of its source block, so the move cannot be done in place");
  return block(0, position) + run.source_start;
}

}}  // namespace hyperparallel::v0_2
