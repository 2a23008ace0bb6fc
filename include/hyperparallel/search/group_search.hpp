// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which modules share a group of ranks, how many ranks each group gets and under which strategy: the plan of sub-models whose
// step takes the least time by the clock of its plan, with a certificate of what was passed over and by which bound.
//
//   const hp::group_search r = hp::search_groups(graph, modules, 8, hp::h100::device, hp::on_topology(hp::h100::topology));
//   r.best[0].plan, r.best[0].times.makespan
//   r.certificate.lower_bound                   no plan of the space that fits takes less
//
// The space: every partition of the modules into groups, the groups one behind the other in the order of their first modules;
// every number of ranks of each; every strategy of the list on so many ranks. Every set of modules is measured on
// every number of ranks under every strategy, once: what its operators compute there is a bound of each plan in which they are a
// group (module_times.hpp). Plans are played by rising bounds, the largest of their groups', until it is no less than the best
// step. Nothing is ever passed over for another reason but by `limits.played` and the caller, and then the certificate says so.
//
// Laws: the best plan is that of least time of all plans of the space that fit into the memory, where the certificate is
// complete; its lower bound holds as long as `law_breaks` is 0, and is the best time where it is complete. What a plan computes is
// compared with its bound whenever it is played. Errors: `groups` where the modules are none of the graph, `hardware`; no plan where
// none is accepted or fits. Complexity: 2^modules · devices · strategies partitionings, and a clock for each plan played.

#include <hyperparallel/search/group_result.hpp>
#include <hyperparallel/strategy/interval_packing.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Gives a plan its times and memory by the clock; false where it is refused or has no price.
constexpr bool play_groups(const graph& g, found_groups& f, const device_value& d, const interconnect& links) {
  const submodel_program p = partition(g, f.plan);
  if (!p.ok()) return false;
  const lowered_program l = lower_training(p.program, {.topology = links});
  if (!l.status.ok()) return false;
  f.times = times_of_parts(l, d);
  f.memory = l.addresses.high_water[0];
  return f.times.ok();
}

namespace detail {

/// A set of modules on ranks under a strategy.
struct timed_group {
  unsigned modules = 0;
  int ranks = 0;
  int strategy = 0;  ///< of the names
  extent_t time = 0;
};

template <class Progress>
class group_searcher {
 public:
  constexpr group_searcher(const graph& of, const group_table& t, int machine, const device_value& d,
                           const interconnect& net, const group_limits& most, const Progress& say)
      : g_(of), modules_(t), devices_(machine), device_(d), links_(net), limits_(most), goes_on_(say) {
    for (const short_text& s : most.strategies) names_.push(s);
    if (names_.empty())
      for (const char* s : {"zero1", "zero3", "tp", "dp-tp"}) names_.push(short_text(s));
    if (limits_.memory == 0) limits_.memory = device_.tier[0].bytes;
  }

  constexpr group_search run() {
    out_.hardware = check_hardware(device_, links_, devices_);
    if (modules_.placed.size > most_searched_modules)
      out_.groups = {.code = submodel_code::modules_are_too_many,
                     .given = modules_.placed.size,
                     .expected = most_searched_modules};
    else
      out_.groups = cut_by_modules(g_, on_one_group(modules_, 1)).status;
    out_.certificate.complete = out_.groups.ok() && out_.hardware.ok();
    if (!out_.certificate.complete) return static_cast<group_search&&>(out_);
    measure_all();
    list_all();
    play_all();
    return static_cast<group_search&&>(out_);
  }

 private:
  constexpr strategy_value strategy_of(const timed_group& m) const {
    return strategy_called(m.ranks == 1 ? "single" : names_.item[m.strategy].text, m.ranks).strategy;
  }

  /// The modules of each set on ranks of their own, all others on one rank behind them.
  constexpr submodel_plan plan_of(const growing_array<timed_group>& groups, unsigned others) const {
    submodel_plan plan;
    plan.table.world = 0;
    growing_array<short_text> group_of(modules_.placed.size);
    const auto put = [&](unsigned set, int ranks, const strategy_value& s) {
      short_text name;
      for (int m = 0, first = 1; m < modules_.placed.size; ++m)
        if (set >> m & 1) {
          if (first-- == 1) name = modules_.placed.item[m].name;  // a group is called as its first module
          group_of[m] = name;
        }
      add_group(plan.table, name.text, rank_range{plan.table.world, plan.table.world + ranks - 1});
      plan.table.world += ranks;
      plan.strategy.push(s);
    };
    for (const timed_group& m : groups) put(m.modules, m.ranks, strategy_of(m));
    if (others != 0) put(others, 1, strategy_called("single", 1).strategy);
    for (int m = 0; m < modules_.placed.size; ++m) {
      placed_module placed = modules_.placed.item[m];
      placed.group = group_of[m];
      plan.table.placed.push(placed);
    }
    return plan;
  }

  constexpr void measure_all() {
    const unsigned all = (1U << modules_.placed.size) - 1;
    measured_.resize(static_cast<int>(all) + 1);
    for (unsigned set = 1; set <= all; ++set)
      for (int ranks = 1; ranks <= devices_; ++ranks)
        for (int s = 0; s < (ranks == 1 ? 1 : names_.size); ++s) {
          if (!goes_on_(out_)) return stop();
          growing_array<timed_group> one;
          one.push({set, ranks, s, 0});
          const module_times t = times_of_modules(g_, plan_of(one, all & ~set), device_);
          ++out_.certificate.measured;
          if (!t.groups.ok()) out_.certificate.why = t.groups.code;
          if (!t.ok()) out_.certificate.strategy = t.program.code;
          for (int m = 0; m < t.of.size; ++m)
            if (set >> m & 1) one.item[0].time += t.of.item[m].step(g_.micro_batches);
          if (t.ok()) measured_[static_cast<int>(set)].push(one.item[0]);
        }
  }

  /// Visits plans: groups of the modules that are left, on the devices that are left; none whose bound is `limit` or more.
  /// `visit(bound)` looks at chosen_.
  template <class Visit>
  constexpr void visit_plans(unsigned left, int devices, extent_t bound, const extent_t& limit, const Visit& visit) {
    if (left == 0) return visit(bound);
    const unsigned lowest = left & (~left + 1), rest = left & ~lowest;
    for (unsigned more = rest;; more = (more - 1) & rest) {  // the group of the first module, with every set of others
      for (const timed_group& m : measured_[static_cast<int>(lowest | more)]) {
        const extent_t longest = larger(bound, m.time);
        if (m.ranks > devices || longest >= limit) continue;
        chosen_.push(m);
        visit_plans(rest & ~more, devices - m.ranks, longest, limit, visit);
        chosen_.resize(chosen_.size - 1);
      }
      if (more == 0) return;
    }
  }

  /// Plans of the modules that are left on at most so many devices, by numbers alone.
  constexpr extent_t count_plans(unsigned left, int devices) {
    if (left == 0) return 1;
    extent_t& known = counted_[static_cast<int>(left) * (devices_ + 1) + devices];
    if (known >= 0) return known;
    const unsigned lowest = left & (~left + 1), rest = left & ~lowest;
    extent_t sum = 0;
    for (unsigned more = rest;; more = (more - 1) & rest) {
      for (const timed_group& m : measured_[static_cast<int>(lowest | more)])
        if (m.ranks <= devices) sum += count_plans(rest & ~more, devices - m.ranks);
      if (more == 0) break;
    }
    counted_[static_cast<int>(left) * (devices_ + 1) + devices] = sum;
    return sum;
  }

  static constexpr extent_t partitions_of(int modules) {  // Bell's triangle
    extent_t row[most_searched_modules + 1] = {1};
    for (int n = 1; n < modules; ++n) {
      extent_t next[most_searched_modules + 1] = {row[n - 1]};
      for (int k = 1; k <= n; ++k) next[k] = next[k - 1] + row[k - 1];
      for (int k = 0; k <= n; ++k) row[k] = next[k];
    }
    return row[modules - 1];
  }

  /// Lists plans by rising bounds: first the least bound there is, whose step is played, then all with less than that step.
  constexpr void list_all() {
    const unsigned all = (1U << modules_.placed.size) - 1;
    group_certificate& c = out_.certificate;
    c.partitions = partitions_of(modules_.placed.size);
    counted_.resize((static_cast<int>(all) + 1) * (devices_ + 1), -1);
    c.plans = count_plans(all, devices_);
    for (int tries = 0; tries < most_seeds && !out_.ok(); ++tries) {  // one that fits
      extent_t least = longest_time;
      growing_array<timed_group> found;
      visit_plans(all, devices_, 0, least, [&](extent_t bound) {
        if (is_seed(chosen_)) return;
        least = bound;
        found = chosen_;
      });
      if (found.empty()) return;
      seeds_.push(found);
      enter(found, least);
    }
    visit_plans(all, devices_, 0, best_, [&](extent_t bound) {
      if (is_seed(chosen_)) return;
      if (listed_.size == limits_.listed) {
        untried_ = smaller(untried_, bound);
        return;
      }
      order_.push(listed_.size);
      bound_.push(-bound);
      listed_.push(chosen_);
    });
  }

  constexpr void play_all() {
    group_certificate& c = out_.certificate;
    sort_by_falling(order_, bound_);
    int next = 0;
    for (; next < order_.size; ++next) {
      const extent_t bound = -bound_.item[order_.item[next]];
      if (bound >= best_) break;
      if (c.played >= limits_.played || !goes_on_(out_)) {
        untried_ = smaller(untried_, bound);
        break;
      }
      enter(listed_.item[order_.item[next]], bound);
    }
    c.complete = c.complete && untried_ >= best_ && c.law_breaks == 0;
    if (c.law_breaks == 0 && !stopped_) c.lower_bound = untried_ < best_ ? untried_ : out_.ok() ? best_ : 0;
    if (c.complete) c.by_bound = c.plans - c.played;
  }

  constexpr bool is_seed(const growing_array<timed_group>& groups) const {
    for (const growing_array<timed_group>& s : seeds_) {
      bool same = s.size == groups.size;
      for (int k = 0; same && k < s.size; ++k)
        same = s.item[k].modules == groups.item[k].modules && s.item[k].ranks == groups.item[k].ranks &&
               s.item[k].strategy == groups.item[k].strategy;
      if (same) return true;
    }
    return false;
  }

  /// Plays a plan and enters it where its time belongs.
  constexpr void enter(const growing_array<timed_group>& groups, extent_t bound) {
    group_certificate& c = out_.certificate;
    found_groups f;
    f.plan = plan_of(groups, 0);
    f.plan.table.world = devices_;
    f.bound = bound;
    ++c.played;
    if (!play_groups(g_, f, device_, links_)) {
      ++c.refused;
      return;
    }
    for (int k = 0; k < groups.size; ++k) c.law_breaks += f.times.computed.item[k] < groups.item[k].time;
    if (f.memory > limits_.memory) {
      c.least_memory = c.too_large++ == 0 ? f.memory : smaller(c.least_memory, f.memory);
      return;
    }
    int at = 0;
    while (at < out_.best.size && out_.best.item[at].times.makespan <= f.times.makespan) ++at;
    growing_array<found_groups> all;
    for (int i = 0; i < at; ++i) all.push(out_.best.item[i]);
    all.push(f);
    for (int i = at; i < out_.best.size && all.size < most_found_groups; ++i) all.push(out_.best.item[i]);
    if (all.size > most_found_groups) all.resize(most_found_groups);
    out_.best = static_cast<growing_array<found_groups>&&>(all);
    best_ = out_.best.item[0].times.makespan;
  }

  constexpr void stop() {
    stopped_ = true;
    untried_ = 0;
    out_.certificate.complete = false;
  }

  static constexpr int most_seeds = 16;

  const graph& g_;
  const group_table& modules_;
  int devices_;
  const device_value& device_;
  const interconnect& links_;
  group_limits limits_;
  const Progress& goes_on_;
  growing_array<short_text> names_;
  growing_array<growing_array<timed_group>> measured_;  ///< of each set of modules
  growing_array<extent_t> counted_;
  growing_array<timed_group> chosen_;
  growing_array<growing_array<timed_group>> seeds_, listed_;
  growing_array<int> order_;
  growing_array<extent_t> bound_;
  extent_t best_ = longest_time, untried_ = longest_time;
  bool stopped_ = false;
  group_search out_{};
};

}  // namespace detail

/// `goes_on(search)` is asked before each measurement and each clock, and false ends the search with what it has.
template <class GoesOn>
constexpr group_search search_groups(const graph& g, const group_table& modules, int devices,
                                     const device_value& device, const interconnect& links, const group_limits& limits,
                                     const GoesOn& goes_on) {
  return detail::group_searcher<GoesOn>(g, modules, devices, device, links, limits, goes_on).run();
}
constexpr group_search search_groups(const graph& g, const group_table& modules, int devices,
                                     const device_value& device, const interconnect& links,
                                     const group_limits& limits = {}) {
  return search_groups(g, modules, devices, device, links, limits, [](const group_search&) { return true; });
}

}}  // namespace hyperparallel::v0_2
