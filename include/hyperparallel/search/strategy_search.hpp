// SPDX-License-Identifier: Apache-2.0
#pragma once
// Strategy search: the plan of least time within the memory of a device, over all meshes, options and candidates of
// strategy_candidates.hpp, with a certificate.
//
//   const search_result r = search_strategies(graphs, count, device, topology, 768, limits);
//
// Graphs are variants of one step of training (micro-batches, recomputation) among which the search chooses too. Each
// frame, a mesh with its options, is measured part by part (segment_costs.hpp): the plans that this takes are timed as
// wholes, then those that are best where nothing overlaps, by the choice graph, then every other whose parts keep
// neither queue busy for as long as plans take that are known. Frames that cannot hold the model's states, or whose
// matrix work alone takes longer than that, are passed over; but the first that cannot hold them are measured until one
// is legal, so that memory is blamed only where degrees are not at fault. A plan fits where the bytes alive at once do; addresses
// need a little more (address_plan.hpp).
//
// Laws: the winner's time is the least of all plans of the space that fit, named strategies included; it is what
// evaluate_plan says, and without a pipeline what an account of its program says (`times.total`); it is at least the
// certificate's lower bound, and equal where the search is complete. What the bound speaks of is told by the
// certificate (result.hpp).
//
// The folder search/: strategies of a given program. Candidates for each tensor (strategy_candidates.hpp), what segments of a
// program cost under each (segment_costs.hpp), chains of choices and their solver (choice_chain.hpp), and what was found,
// with its certificate (result.hpp). Plans of a decoder, from its sizes alone, are in planner/.

#include <hyperparallel/lowering/named_plans.hpp>
#include <hyperparallel/search/frame_bounds.hpp>
#include <hyperparallel/search/plan_choices.hpp>
#include <hyperparallel/search/result.hpp>
#include <hyperparallel/strategy/ring_attention.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

template <class Progress>
class frame_search {
 public:
  constexpr frame_search(const graph* of, int count, const device_value& d, const interconnect& net, int machine,
                         const search_limits& most, extent_t memory, const Progress& say)
      : graphs(of),
        graph_count(count),
        device(d),
        links(net),
        devices(machine),
        limits(most),
        budget(memory),
        report(say) {}

  constexpr search_result run() {
    result.certificate.budget = budget;
    result.certificate.devices = devices;
    result.certificate.limits = limits;
    for (int i = 0; i < graph_count; ++i) result.certificate.extents.add(graphs[i]);
    result.hardware = check_hardware(device, links, devices);
    if (!result.hardware.ok()) {
      result.certificate.complete = false;
      return result;
    }
    for (now = 0; now < graph_count; ++now) {
      plan_prices prices(device, links);
      price = &prices;
      work = matrix_work_of(graphs[now], device);
      ring_degree = 0;
      core_frame.dp = 0;
      visit_frames(graphs[now], devices, limits, [&](const plan_frame& f) { search_frame(f); });
    }
    if (limits.named) compete();
    result.certificate.complete = covered && untried == longest_time;
    if (covered && result.ok()) result.certificate.lower_bound = smaller(untried, result.plan.item[0].evaluation.time);
    return result;
  }

 private:
  static constexpr int best_choices_asked = 8;
  static constexpr int most_rows = 4096;

  constexpr extent_t worst_time() const {
    return result.plan.full() ? result.plan.item[most_found_plans - 1].evaluation.time : longest_time;
  }

  constexpr void plan_graph(const plan_frame& f) {
    const int degree = f.context == context_form::ring ? f.cp : 1;
    if (degree == ring_degree) return;
    ring_degree = degree;
    planned = graphs[now];
    if (degree > 1) planned = rotate_attention(graphs[now], degree);
    parts = find_parts(planned);
  }

  constexpr void search_frame(const plan_frame& f) {
    search_certificate& told = result.certificate;
    const bool some_are_legal = told.has_legal_frames();
    ++told.frames;
    report(search_progress{now, f, told.frames, result.ok() ? result.plan.item[0].evaluation.time : 0});
    if (time_bound(work, graphs[now].micro_batches, f, devices, device) >= worst_time() ||
        (same_core(f, core_frame) && core_bound >= worst_time())) {
      ++told.frames_too_slow;
      return;
    }
    const extent_t held = memory_bound(graphs[now], f);
    if (held > budget && some_are_legal) return pass_over_large(held);
    plan_graph(f);
    plan_space space;
    fill_space(space, planned, parts, f, limits.reduced);
    segment_costs costs(graphs[now], planned, parts, space, *price);
    costs.measure_all([&](const measured_plan& m) { enter_measured(space, m); });
    told.partitionings += costs.partitionings();
    if (!costs.rules_fit || !space.names_suffice) covered = false;
    if (!costs.alive() || costs.partitionings() == 0) return refuse_frame(costs);
    if (held > budget) return pass_over_large(held);
    core_frame = f;
    core_bound = costs.least_core();
    count_plans(costs);
    choice_answer answer(costs.size(), best_choices_asked);
    find_best_variants(costs, budget, answer);
    if (answer.code == choice_search_code::impossible) return refuse_frame(costs);
    if (answer.code == choice_search_code::over_budget) return pass_over_large(answer.least_memory);
    note_memory(answer.least_memory);
    for (int b = 0; answer.code == choice_search_code::ok && b < answer.count; ++b)
      try_choice(costs, space, answer.choice.item + b * costs.size());
    int tried = 0;
    visit_rows(costs, budget, worst_time(), [&](const int* chosen, extent_t& limit) {
      if (++tried > most_rows) {
        untried = smaller(untried, costs.least_busy());
        return false;
      }
      try_choice(costs, space, chosen);
      limit = worst_time();
      return true;
    });
  }

  /// A frame that the partitioner refuses with every candidate.
  constexpr void refuse_frame(const segment_costs& costs) {
    search_certificate& told = result.certificate;
    ++told.frames_refused;
    told.refused = costs.refused;
    told.refused_dim = told.refused.dim < 0 ? short_text() : short_text(planned.name_of_dim(told.refused.dim));
  }
  /// A frame that holds at least `bytes` on a device, more than there are.
  constexpr void pass_over_large(extent_t bytes) {
    note_memory(bytes);
    ++result.certificate.frames_too_large;
  }

  constexpr void note_memory(extent_t bytes) { note(result.certificate.least_memory, bytes); }
  static constexpr void note(extent_t& least, extent_t bytes) {
    if (bytes > 0) least = smaller(least, bytes);
  }

  /// Whether a plan has a price and fits; otherwise the certificate has what it lacks.
  constexpr bool can_be_used(const plan_evaluation& e) {
    search_certificate& told = result.certificate;
    if (e.code != cost_code::ok) told.price = e.code;
    if (e.ok() && e.memory > budget) note(told.least_peak, e.memory);
    return e.ok() && e.memory <= budget;
  }

  constexpr void count_plans(const segment_costs& costs) {
    extent_t plans = 1;
    for (int b = 0; b < costs.size(); ++b) {
      extent_t alive = 0;
      for (int c = 0; c < costs.block[b].candidates; ++c) alive += costs.is_alive(b, c) ? 1 : 0;
      plans *= alive;
    }
    result.certificate.plans += plans;
  }

  /// Times the whole plan of a choice, unless measuring or an earlier row has.
  constexpr void try_choice(const segment_costs& costs, const plan_space& space, const int* chosen) {
    int choice[max_model_parts] = {};
    busy_times expected{};
    for (int b = 0; b < costs.size(); ++b) {
      costs.read_candidate(b, costs.variant[b][chosen[b]].candidate, choice);
      expected += costs.variant[b][chosen[b]].busy;
    }
    if (expected.bound() >= worst_time() || costs.was_measured(choice)) return;
    strategy_value s;
    compose(space, choice, s);
    const sharded_program program = partition(graphs[now], s);
    ++result.certificate.partitionings;
    const pipeline_form form(graphs[now], space.frame.pipeline);
    if (program.status.code != strategy_code::ok ||
        busy_of(program, form, priced_program(program, *price)) != expected) {
      ++result.certificate.law_breaks;
      covered = false;
    }
    enter_choice(space, choice, s, program);
  }

  constexpr void enter_measured(const plan_space& space, const measured_plan& m) {
    if (m.busy.bound() < worst_time() && m.memory <= budget) enter_choice(space, m.choice.item, m.strategy, m.program);
  }

  /// Times a plan by the clock of accounts, and notes it where it fits.
  constexpr void enter_choice(const plan_space& space, const int* choice, const strategy_value& s,
                              const sharded_program& program) {
    found_plan p;
    p.strategy = s;
    p.frame = space.frame;
    p.graph = now;
    for (int i = 0; i < space.parts; ++i) p.family.push(space.candidate[i][choice[i]].name);
    p.evaluation = evaluate_program(program, space.frame.pipeline, *price);
    if (can_be_used(p.evaluation)) enter_plan(result.plan, p);
  }

  /// Strategies by name, with all degrees.
  constexpr void compete() {
    for (now = 0; now < graph_count; ++now) {
      plan_prices prices(device, links);
      price = &prices;
      for (int p = 1; p <= limits.pipeline && p <= devices; ++p)
        if (devices % p == 0 && pipeline_form(graphs[now], p).fits())
          visit_named_strategies(devices / p, [&](const strategy_value& s) { enter_named(s, p); });
    }
  }

  /// Partitions are evaluated in full only where their compute and what they certainly hold leave a chance.
  constexpr void enter_named(const strategy_value& s, int pipeline) {
    const sharded_program program = partition(graphs[now], s);
    if (program.status.code != strategy_code::ok) return;
    ++result.certificate.named;
    const pipeline_form form(graphs[now], pipeline);
    extent_t held = 0;
    visit_kept_memory(program, form, [&](int, int, extent_t bytes) { held += bytes; });
    note_memory(held);
    if (held > budget) return;
    extent_t least = 0;
    for (const program_step& x : program.step)
      if (!x.is_move && !joins_numbers(program, x))
        least += form.busy(x.segment, x.phase)
                     .of(price->of_compute(program, x.index).time.picoseconds * times_of(program, x));
    const extent_t best = result.best_named.empty() ? longest_time : result.best_named.item[0].evaluation.time;
    if (least >= best) return;
    found_plan p;
    p.strategy = s;
    p.frame.pipeline = pipeline;
    p.graph = now;
    p.named = true;
    p.evaluation = evaluate_program(program, pipeline, *price);
    if (!can_be_used(p.evaluation) || p.evaluation.time >= best) return;
    result.best_named.size = 0;
    result.best_named.push(p);
    enter_plan(result.plan, p);
  }

  const graph* graphs;
  int graph_count;
  const device_value& device;
  const interconnect links;
  int devices;
  const search_limits& limits;
  extent_t budget;
  const Progress& report;
  int now = 0;
  plan_prices* price = nullptr;
  matrix_work work{};
  plan_frame core_frame{};  ///< the last one that was measured
  extent_t core_bound = 0;
  int ring_degree = 0;
  graph planned;
  model_parts parts;
  bool covered = true;              ///< whether every plan was measured or bounded
  extent_t untried = longest_time;  ///< no plan that was left takes less
  search_result result{};
};

}  // namespace detail

/// The best plans of `devices` devices, joined by a topology or a full mesh, for one of the graphs. `report` hears of each frame.
template <class Links, class Progress>
constexpr search_result search_strategies(const graph* graphs, int count, const device_value& device,
                                          const Links& links, int devices, const search_limits& limits, extent_t memory,
                                          const Progress& report) {
  return detail::frame_search<Progress>(graphs, count, device, interconnect_of(links), devices, limits, memory, report)
      .run();
}

/// The same within the whole of tier 0, silently.
template <class Links>
constexpr search_result search_strategies(const graph* graphs, int count, const device_value& device,
                                          const Links& links, int devices, const search_limits& limits = {}) {
  return search_strategies(graphs, count, device, links, devices, limits, device.tier[0].bytes,
                           [](const search_progress&) {});
}

}}  // namespace hyperparallel::v0_2
