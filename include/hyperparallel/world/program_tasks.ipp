// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of program_tasks.hpp; see support/compiled.hpp.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/kernels/steady_time.hpp>
#include <hyperparallel/price/clock.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/world/program_tasks.hpp>
#include <hyperparallel/world/task_checks.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

HYPERPARALLEL_BODY void check_block(const sharded_program& p, const graph_operator& op, int value, int rank,
                                    extent_t elements) {
  const extent_t held = volume(box_of(p, value, rank));
  if (elements == held) return;
  throw program_error(std::string("operator \"") + p.graph.text_at(op.name) + "\" works on " +
                      std::to_string(elements) + " elements of \"" + p.graph.name_of_tensor(p.value[value].tensor) +
                      "\", rank " + std::to_string(rank) + " has " + std::to_string(held));
}

}  // namespace detail

HYPERPARALLEL_BODY std::string name_of_step(const sharded_program& p, int step) {
  const step_tile& t = p.step[step].tile;
  const std::string name = detail::name_of_whole_step(p, step);
  if (t.dim < 0) return name;
  const std::string text = name + ", tile " + std::to_string(t.index + 1) + " of " + std::to_string(t.count) + " of " +
                           p.graph.name_of_dim(t.dim);
  return t.inner.dim < 0 ? text : text + " and " + p.graph.name_of_dim(t.inner.dim);
}

HYPERPARALLEL_BODY std::string detail::name_of_whole_step(const sharded_program& p, int step) {
  if (p.step[step].is_move)
    return std::string(name_of(cache_operator_of(p, p.move[p.step[step].index]))) + " of " +
           p.graph.name_of_tensor(p.value[p.move[p.step[step].index].target].tensor);
  const graph_operator& op = p.graph.op[p.compute[p.step[step].index].op];
  return std::string(p.graph.text_at(op.name)) + " (" + p.graph.value_of(op).name + ")";
}

namespace detail {

HYPERPARALLEL_BODY tile_kernel kernel_of_step(const sharded_program& p, int step, kernel_choice choose,
                                              data_type computes) {
  const graph_operator& op = p.graph.op[p.compute[p.step[step].index].op];
  tile_kernel tiled;
  tiled.tile = p.step[step].tile;
  if (tiled.tile.dim >= 0) tiled.loop = loop_of_tile(op, tiled.tile);
  if (tiled.tile.inner.dim >= 0) tiled.inner_loop = loop_of_tile(op, inner_of(tiled.tile));
  typed_kernel& k = tiled.kernel;
  k.function = choose(op.kind);
  if (k.function == nullptr)
    throw program_error("operator " + name_of_step(p, step) +
                        " has no kernel; a user's come with program_options::kernels = kernels_of<T, operators<...>>");
  bool narrow = false;
  const auto type_of = [&](int tensor) {
    const data_type type = p.graph.tensor[tensor].type;
    narrow = narrow || detail::is_widened(type, computes);
    return type;
  };
  for (int i = 0; i < op.operand_count; ++i)
    tiled.bytes.operand[i] = bytes_of(k.types.operand[i] = type_of(op.operand[i]));
  for (int r = 0; r < op.result_count; ++r) tiled.bytes.result[r] = bytes_of(k.types.result[r] = type_of(op.result[r]));
  if (narrow) k.widened = &run_widened<float>;
  return tiled;
}

HYPERPARALLEL_BODY operator_call call_of(const sharded_program& p, const program_memory& memory, int step, int rank) {
  const program_compute& c = p.compute[p.step[step].index];
  const graph_operator& op = p.graph.op[c.op];
  const int own = part_of_step(p, p.step[step]);
  const mesh_shape& m = mesh_of_part(p, own);
  const coordinate at = coordinates_of(m, rank - first_rank_of(p, own));
  operator_call call;
  call.attributes = &op;
  call.rule = &p.graph.rule_of(op);
  for (int l = 0; l < op.loop_count; ++l) {
    const interval part = loop_interval(op, c.placement, m, at, l);
    call.loop[l] = {part.begin, part.end - part.begin, op.loop[l].extent};
  }
  for (int i = 0; i < op.operand_count; ++i) {
    detail::check_block(p, op, c.operand[i], position_of(m, at), call.operand_elements(i));
    call.operand[i] = memory.block(c.operand[i], rank);
  }
  for (int i = 0; i < op.result_count; ++i) {
    detail::check_block(p, op, c.result[i], position_of(m, at), call.result_elements(i));
    call.result[i] = memory.block(c.result[i], rank);
  }
  return call;
}

}  // namespace detail

/// Those records cut to a part of a cut along the dim at place `d`. Domain: no fill.
HYPERPARALLEL_BODY receiver_records detail::records_in_tile(const receiver_records& all, const step_tile& cut, int d,
                                                            int receiver) {
  receiver_records some = all;
  some.record.clear();
  some.sender.clear();
  some.received = 0;
  for (const step_record& r : all.record)
    detail::visit_intervals(cut, r.part.dim[d].begin, r.part.dim[d].end, [&](extent_t from, extent_t to) {
      step_record one = r;
      one.part.dim[d] = {from, to};
      one.first_term = static_cast<int>(some.sender.size());
      one.copy = flatten(copy_between(one.held, some.wanted, one.part, some.element_bytes));
      for (int k = 0; k < r.terms; ++k) {
        some.sender.push_back(all.senders(r)[k]);
        if (some.sender.back() != receiver) some.received += some.bytes(one);
      }
      some.record.push_back(one);
    });
  return some;
}

namespace detail {

HYPERPARALLEL_BODY receiver_records records_of_move(const sharded_program& p, const move_pulls& pulls, int step,
                                                    int row, int rank) {
  const program_move& m = p.move[p.step[step].index];
  const step_tile& tile = p.step[step].tile;
  const graph_tensor& tensor = p.graph.tensor[p.value[m.source].tensor];
  if (pulls.parts.count == 0)
    return whole_block_records(pulls.sender[rank], local_bytes(p, m.target),
                               pulls.sender[rank] == rank && !is_hand_over(p, m));
  receiver_records all = records_of(pulls.parts, pulls.row, row, rank, tensor.type);
  const tile_parts parts(tile);
  for (const step_tile& cut : parts.cut)
    if (cut.dim >= 0) all = detail::records_in_tile(all, cut, place_of_dim(tensor, cut.dim), rank);
  return all;
}

HYPERPARALLEL_BODY detail::light_vector<move_task> transfers_of(const sharded_program& p, const program_pulls& pulls,
                                                                const program_memory& memory, int step) {
  const int number = p.step[step].index;
  const program_move& m = p.move[number];
  const move_pulls& how = pulls.of(number);
  detail::light_vector<move_task> tasks;
  const int part = part_of_step(p, p.step[step]), first = first_rank_of(p, part), ranks = ranks_of_part(p, part);
  if (m.detaches) {
    const auto nothing = [](int) -> std::byte* { return nullptr; };
    for (int r = 0; r < ranks; ++r) tasks.emplace_back(receiver_records{}, nothing, nullptr);
    return tasks;
  }
  for (int i = 0; i < how.row.size; ++i) {
    const int from = place_read(p, pulls.moves, number, how.row[i]);
    const int to = place_written(p, pulls.moves, number, how.row[i]);
    const auto block = [&](int sender) { return memory.address(from, memory.first_rank(m.source) + sender); };
    for (int r = 0; r < ranks; ++r)
      tasks.emplace_back(records_of_move(p, how, step, i, r), block, memory.address(to, first + r));
  }
  return tasks;
}

}  // namespace detail

HYPERPARALLEL_BODY std::vector<std::int64_t> received_by_level(const sharded_program& p, const program_pulls& pulls,
                                                               unsigned phases) {
  const interconnect& links = pulls.moves.links;
  if (links.kind != interconnect_kind::topology) return {};
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(links.topology.level_count)), most(bytes), one(bytes);
  for (int step = 0; step < p.step.size; ++step) {
    const program_step& s = p.step[step];
    if (!s.is_move || !is_in(s.phase, phases) || p.move[s.index].detaches) continue;
    const move_pulls& how = pulls.of(s.index);
    for (int row = 0; row < how.row.size; ++row) {
      std::fill(most.begin(), most.end(), 0);
      const int from = first_rank_of(p, detail::part_of_value(p, p.move[s.index].source)),
                part = detail::part_of_step(p, s);
      for (int rank = 0; rank < detail::ranks_of_part(p, part); ++rank) {
        std::fill(one.begin(), one.end(), 0);
        const receiver_records all = detail::records_of_move(p, how, step, row, rank);
        for (const step_record& r : all.record)
          for (int t = 0; t < r.terms; ++t)
            detail::visit_links(links, detail::rank_on(links, {}, from + all.senders(r)[t]),
                                detail::rank_on(links, {}, first_rank_of(p, part) + rank),
                                [&](int level) { one[static_cast<std::size_t>(level)] += all.bytes(r); });
        for (std::size_t l = 0; l < one.size(); ++l) most[l] = std::max(most[l], one[l]);
      }
      for (std::size_t l = 0; l < most.size(); ++l) bytes[l] += most[l];
    }
  }
  return bytes;
}

HYPERPARALLEL_BODY detail::program_tasks::program_tasks(const sharded_program& p, const program_pulls& pulls,
                                                        const program_memory& memory, kernel_choice choose,
                                                        const std::vector<offload_link>& tier_link, bool measured,
                                                        data_type computes)
    : ranks_(static_cast<std::size_t>(memory.ranks())), link_(tier_link), copies_(2 * ranks_) {
  for (int s = 0; s < p.step.size; ++s) {
    step_work& work = *step_.emplace_back(detail::make_owned<step_work>());
    work.training_step = &training_step_;
    work.checks = &checks_;
    work.step = s;
    work.ranks = memory.ranks();
    work.first_rank = first_rank_of(p, detail::part_of_step(p, p.step[s]));
    work.part_ranks = detail::ranks_of_part(p, detail::part_of_step(p, p.step[s]));
    work.micro_batch = p.step[s].micro_batch;
    work.name = name_of_step(p, s);
    if (p.step[s].is_move) {
      work.move = detail::transfers_of(p, pulls, memory, s);
      pace_copies(p, s, work);
    } else {
      work.kernel = detail::kernel_of_step(p, s, choose, computes);
      for (int r = 0; r < work.part_ranks; ++r) work.call.push_back(detail::call_of(p, memory, s, work.first_rank + r));
    }
    if (measured) work.spent.resize(work.move.size() + work.call.size());
  }
}

HYPERPARALLEL_BODY std::vector<std::int64_t> detail::program_tasks::durations() const {
  std::vector<std::int64_t> all;
  for (const detail::owned<step_work>& s : step_) {
    std::int64_t nanoseconds = 0;
    for (const time_spent& t : s->spent) nanoseconds += t.median();
    all.push_back(nanoseconds * 1000 / s->part_ranks);
  }
  return all;
}

HYPERPARALLEL_BODY run_record detail::program_tasks::last_of(const lowered_run& run) const {
  run_record all{&run};
  std::int64_t first = detail::steady_nanoseconds();
  for (const plan_row& row : run.plan.row) {
    const step_work& work = *step_[static_cast<std::size_t>(row.step)];
    for (int r = 0; r < work.part_ranks; ++r) {
      const time_spent& t = work.spent[work.place_of(row.first_item + work.first_rank + r)];
      if (t.times > 0) first = std::min(first, t.begin);
      all.task.push_back(t.times > 0 ? task_record{t.begin, t.begin + t.last(), 0} : task_record{});
    }
  }
  for (task_record& t : all.task)
    if (t.worker >= 0) t.start -= first, t.end -= first;
  return all;
}

HYPERPARALLEL_BODY std::int64_t detail::program_tasks::received(int step, int rank) const {
  const step_work& work = *step_[static_cast<std::size_t>(step)];
  const int place = rank - work.first_rank;
  std::int64_t bytes = 0;
  if (place < 0 || place >= work.part_ranks) return 0;
  for (std::size_t i = static_cast<std::size_t>(place); i < work.move.size();
       i += static_cast<std::size_t>(work.part_ranks))
    bytes += work.move[i].received();
  return bytes;
}

HYPERPARALLEL_BODY void detail::program_tasks::compute(const kernel_call& c) {
  const step_work& work = *static_cast<const step_work*>(c.user);
  operator_call call = work.call[work.place_of(c.item)];
  call.step = detail::number_of_call(*work.training_step, work.micro_batch);
  if (*work.checks != nullptr)
    (*work.checks)->compute(work.step, c.item % work.ranks, *work.training_step, work.kernel, call);
  else
    work.kernel(call);
}

HYPERPARALLEL_BODY void detail::program_tasks::move(const kernel_call& c) {
  const step_work& work = *static_cast<const step_work*>(c.user);
  const detail::move_task& task = work.move[work.place_of(c.item)];
  if (*work.checks != nullptr)
    (*work.checks)->move(work.step, c.item / work.ranks, c.item % work.ranks, *work.training_step, task);
  else
    task.run();
}

HYPERPARALLEL_BODY void detail::program_tasks::timed(const kernel_call& c) {
  step_work& work = *static_cast<step_work*>(c.user);
  const std::int64_t begin = detail::steady_nanoseconds();
  work.body()(c);
  time_spent& t = work.spent[work.place_of(c.item)];
  t.begin = begin;
  t.nanoseconds[t.times++ % time_spent::kept] = detail::steady_nanoseconds() - begin;
}

HYPERPARALLEL_BODY void detail::program_tasks::paced_copy(const kernel_call& c) {
  const step_work& work = *static_cast<const step_work*>(c.user);
  work.queue[c.rank].carry(*work.link, work.bytes, c, [&] { move(c); });
}

HYPERPARALLEL_BODY void detail::program_tasks::paced(const kernel_call& c) {
  const step_work& work = *static_cast<const step_work*>(c.user);
  work.pace[c.rank].last(work.lasts[static_cast<std::size_t>(c.item / work.ranks)], c, [&] { work.own_body()(c); });
}

HYPERPARALLEL_BODY void detail::program_tasks::set_pace(const lowered_program& l, const lowered_run& run,
                                                        const run_pace& pace) {
  const row_prices price = prices_of_rows(l, run, pace.device);
  if (price.code != cost_code::ok)
    throw program_error(price.code == cost_code::ranks_are_not_connected
                            ? "pace: moves have no price, for program_options::topology does not join the ranks"
                            : "pace: a step has no price on the device, whose rates do not cover its types");
  paced_.resize(static_cast<std::size_t>(resource_count) * ranks_);
  for (int i = 0; i < run.plan.row.size; ++i) {
    const plan_row& row = run.plan.row[i];
    step_work& work = *step_[static_cast<std::size_t>(row.step)];
    work.lasts.push_back(price.duration[i] * pace.slower / 1000);
    work.pace = paced_.data() + static_cast<std::size_t>(row.kind) * ranks_;
  }
}

HYPERPARALLEL_BODY void detail::program_tasks::pace_copies(const sharded_program& p, int step, step_work& work) {
  const program_move& m = p.move[p.step[step].index];
  const cache_operator kind = cache_operator_of(p, m);
  if (kind != cache_operator::prefetch && kind != cache_operator::store) return;
  const bool in = kind == cache_operator::prefetch;
  const std::size_t slower = static_cast<std::size_t>(detail::tier_of(p, in ? m.source : m.target));
  if (slower > link_.size()) return;
  work.link = &link_[slower - 1];
  work.bytes = local_bytes(p, m.target);
  work.queue = copies_.data() + (in ? 0 : ranks_);
}

}}  // namespace hyperparallel::v0_2
