// SPDX-License-Identifier: Apache-2.0
// The body of rl_rows.hpp.

#include "rl_rows.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <hyperparallel/layers/decoder_parameters.hpp>
#include <hyperparallel/planner/rl_step.hpp>

#include "book.hpp"
#include "devices.hpp"
#include "rl_sizes.hpp"
#include "rl_steps.hpp"

namespace truth {

namespace {

std::string system_of(const published_row& r) { return lower_case(text_in(r.config(), "system")); }
bool is_asynchronous(const published_row& r) { return contains(system_of(r), "async"); }

/// The synchronous system of the same model: of the same name, else one that is called so, else any.
const published_row* synchronous_system_of(const published_row& r, const truth_book& book) {
  const auto maker = [](const published_row& p) { return system_of(p).substr(0, system_of(p).find(' ')); };
  const auto likeness = [&](const published_row& p) {
    return contains(system_of(p), "synchronous") ? maker(p) == maker(r) ? 2 : 1 : 0;
  };
  const published_row* found = nullptr;
  for (const judged_row& other : book.rows) {
    const published_row& p = other.row;
    if (p.quantity != r.quantity || p.family != r.family || p.model.name != r.model.name || is_asynchronous(p))
      continue;
    if (p.run.devices != r.run.devices || p.device != r.device) continue;
    if (found == nullptr || likeness(p) > likeness(*found)) found = &p;
  }
  if (found == nullptr) throw not_predicted("no synchronous system of its model is beside it");
  return found;
}

/// Devices that take least leave the work of both sides, of which neither waits: what is saved is the wait for the longest response.
void judge_hours(truth_book& book, int i) {
  judged_row& r = book.rows[static_cast<std::size_t>(i)];
  const double measured = r.row.value / synchronous_system_of(r.row, book)->value;
  if (!is_asynchronous(r.row)) {  // as the reference is
    r.predicted = 1;
    r.measured = measured;
    return;
  }
  r.said.open.push_back(fmt::format("generation has {} of a synchronous step, its longest response {} times the mean",
                                    generation_share, longest_over_mean));
  const double ratio = 1 - generation_share * hp::waiting_share(longest_over_mean);
  compare(book, i, {.figure = rl_figure::hours, .predicted = ratio, .measured = measured, .synchronous = 1});
}

hp::extent_t size_of(const published_row& r, const char* name) { return size_in(r.config(), {name}).or_else(0); }

/// All tensors whole, one after the other.
bool is_plain_way(const published_row& r) {
  return field(r.config(), "checkpoint_engine") == json(false) ||
         contains(lower_case(text_in(r.config(), "backend")), "full");
}

/// Seconds in which the generator's devices take their parts of the weights in bf16, each by its fastest link; 0: devices or model are
/// not known.
double weights_bound(judged_row& r) {
  const hp::extent_t takers = size_of(r.row, "rollout");
  if (!r.row.model.ok() || takers == 0 || preset_of(r.row.device) == nullptr) return 0;
  std::vector<std::string> of_preset;
  const hp::known_hardware h = hardware_of(r.row.source.at("hardware"), r.row.device, of_preset);
  if (h.links.kind != hp::interconnect_kind::topology) return 0;
  std::int64_t fastest = 0;
  for (int l = 0; l < h.links.topology.level_count; ++l)
    fastest = std::max(fastest, h.links.topology.level[l].bandwidth);
  const hp::decoder d = decoder_of(r.row.model, 1).model;
  if (fastest <= 0 || !hp::parameters_fit(d)) return 0;
  const double bytes = 2 * static_cast<double>(hp::parameters_of(d).total());
  const double bound = bytes / static_cast<double>(takers) / static_cast<double>(fastest);
  r.said.open.push_back(fmt::format("at least {:.2g} s for {:.4g} bytes", bound, bytes));
  return bound;
}

/// Two passes over the same bytes, one after the other: from shards to whole tensors, and from there to the generators. What overlaps
/// them takes as long as one; what sends the changed part alone has the first.
void judge_weights(truth_book& book, int i) {
  judged_row& r = book.rows[static_cast<std::size_t>(i)];
  const published_row* reference = nullptr;
  for (const judged_row& other : book.rows) {
    const published_row& p = other.row;
    if (p.quantity != r.row.quantity || p.family != r.row.family || p.model.name != r.row.model.name) continue;
    if (!is_plain_way(p) || size_of(p, "trainer") != size_of(r.row, "trainer")) continue;
    if (size_of(p, "rollout") == size_of(r.row, "rollout")) reference = &p;
  }
  const double bound = weights_bound(r);
  if (reference == nullptr && bound == 0) throw not_predicted("no plain way of the same weights is beside it");
  rl_comparison c{.figure = rl_figure::weights, .measured = r.row.value, .bound = bound};
  if (reference != nullptr && !is_plain_way(r.row)) {
    c.predicted = 0.5;
    c.measured = r.row.value / reference->value;
    c.synchronous = 1;
  }
  compare(book, i, c);
}

/// Of several quantities of a run the printed time is held. Runs of a model on one kind of device are alternatives.
void judge_sizes(truth_book& book, int i) {
  judged_row& r = book.rows[static_cast<std::size_t>(i)];
  const auto is_time = [](const published_row& p) { return p.quantity == "rl_step_time"; };
  const sized_step s = sized_step_of(r.row);
  r.said.fix = s.fix;
  r.said.open = s.open;
  r.predicted = s.seconds;
  int group = -1;
  for (int j = 0; j < static_cast<int>(book.rows.size()); ++j) {
    const published_row& p = book.rows[static_cast<std::size_t>(j)].row;
    if (!is_time(p) || p.family != r.row.family || p.model.name != r.row.model.name || p.device != r.row.device)
      continue;
    if (group < 0) group = j;
    if (r.measured == 0 && p.config() == r.row.config()) r.measured = p.value;
  }
  if (is_time(r.row))
    compare(book, i,
            {.figure = rl_figure::sized_step, .predicted = s.seconds, .measured = r.row.value, .group = group});
}

void judge_other(truth_book& book, int i) {
  const published_row& r = book.rows[static_cast<std::size_t>(i)].row;
  if (r.quantity == "rl_training_hours") return judge_hours(book, i);
  if (r.quantity == "weight_sync_s") return judge_weights(book, i);
  if (has_layouts(r)) return judge_sizes(book, i);
  throw not_predicted("no rule for its quantity");
}

}  // namespace

void compare(truth_book& book, int row, rl_comparison c) {
  judged_row& r = book.rows[static_cast<std::size_t>(row)];
  c.row = row;
  r.predicted = c.predicted;
  r.measured = c.measured;
  book.reinforcement.push_back(c);
}

void judge_reinforcement(truth_book& book) {
  judge_steps(book);
  for (int i = 0; i < static_cast<int>(book.rows.size()); ++i) {
    judged_row& r = book.rows[static_cast<std::size_t>(i)];
    if (r.cls.cls != row_class::ratio || !is_reinforcement(r.row) || is_of_a_step(r.row.quantity)) continue;
    try {
      judge_other(book, i);
    } catch (const not_predicted& e) {
      r.predicted = 0;
      r.said.why_not = e.what();
    }
  }
}

}  // namespace truth
