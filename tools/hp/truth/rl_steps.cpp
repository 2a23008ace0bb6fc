// SPDX-License-Identifier: Apache-2.0
// The body of rl_steps.hpp.

#include "rl_steps.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include <hyperparallel/planner/rl_step.hpp>

#include "book.hpp"

namespace truth {

namespace {

/// Rows of one controller's step: those of a model with the same config.
struct controller_run {
  std::vector<int> rows{};
  const published_row* first = nullptr;
  std::map<std::string, double> seconds{};  ///< by quantity, the last of several
  bool is_fit = false, is_asynchronous = false;
  double of(const char* quantity) const {
    const auto at = seconds.find(quantity);
    return at == seconds.end() ? 0.0 : at->second;
  }
  int devices() const { return static_cast<int>(first->run.devices); }
};

constexpr const char* step_name = "rl_step_s";

/// A phase that the trainer computes.
bool is_of_training(const std::string& quantity) {
  return quantity.starts_with("rl_") && quantity.ends_with("_s") && !quantity.starts_with("rl_gen") &&
         quantity != step_name;
}

/// Generation itself: without what wakes the engine, where that is printed.
double generation_of(const controller_run& r) {
  const double itself = r.of("rl_generate_sequences_s");
  return itself > 0 ? itself : r.of("rl_gen_s");
}

/// Whether runs differ in devices and in how they hand over alone. What one of them does not print does not tell them apart.
bool is_same_setting(const published_row& a, const published_row& b) {
  if (a.family != b.family || a.model.name != b.model.name || a.device != b.device) return false;
  for (const char* name : {"algorithm", "engine", "max_response", "train_batch", "n", "ppo_mini_batch"}) {
    const json &of_a = field(a.config(), name), &of_b = field(b.config(), name);
    if (!is_silent(of_a) && !is_silent(of_b) && of_a != of_b) return false;
  }
  return true;
}

/// The split that a row prints; of 0 devices where it prints none.
hp::rl_split split_in(const published_row& r) {
  const hp::rl_split s{static_cast<int>(size_in(r.config(), {"trainer"}).or_else(0)),
                       static_cast<int>(size_in(r.config(), {"rollout"}).or_else(0))};
  return s.trainer > 0 && s.rollout > 0 ? s : hp::rl_split{0, 0};
}

class step_judge {
 public:
  explicit step_judge(truth_book& b) : book(b) { find_runs(); }

  void judge() {
    for (const controller_run& r : runs) {
      try {
        r.is_asynchronous ? judge_asynchronous(r) : judge_synchronous(r);
      } catch (const not_predicted& e) {
        for (const int i : r.rows) {
          at(i).predicted = 0;
          at(i).said.why_not = e.what();
        }
      }
    }
  }

 private:
  judged_row& at(int i) { return book.rows[static_cast<std::size_t>(i)]; }

  void find_runs() {
    std::map<std::string, std::size_t> known;
    for (int i = 0; i < static_cast<int>(book.rows.size()); ++i) {
      const published_row& r = at(i).row;
      if (at(i).cls.cls != row_class::ratio || !is_of_a_step(r.quantity)) continue;
      const std::string key = r.family + '\n' + r.model.name + '\n' + r.config().dump() + '\n' + r.device;
      const auto [place, fresh] = known.try_emplace(key, runs.size());
      if (fresh) runs.emplace_back().first = &r;
      controller_run& run = runs[place->second];
      run.rows.push_back(i);
      run.seconds[r.quantity] = r.value;
      run.is_fit = run.is_fit || r.is_fit();
      const std::string mode = lower_case(text_in(r.config(), "mode"));
      run.is_asynchronous =
          contains(mode, "async") || contains(mode, "off") || (mode.empty() && r.config().contains("rollout"));
    }
  }

  /// The sum of its phases; they are what asynchronous runs are predicted from.
  void judge_synchronous(const controller_run& r) {
    double sum = r.of("rl_gen_s") > 0 ? r.of("rl_gen_s") : generation_of(r);
    if (sum == 0) throw not_predicted("a synchronous step without its generation");
    for (const auto& [name, seconds] : r.seconds) sum += is_of_training(name) ? seconds : 0.0;
    for (const int i : r.rows) {
      if (at(i).row.quantity != step_name) continue;
      at(i).predicted = sum;
      at(i).measured = at(i).row.value;
      at(i).said.fix = "the sum of its phases";
    }
  }

  std::vector<const controller_run*> references_of(const controller_run& r) const {
    std::vector<const controller_run*> out;
    for (const controller_run& other : runs)
      if (!other.is_asynchronous && other.is_fit && other.devices() > 0 && generation_of(other) > 0 &&
          is_same_setting(*r.first, *other.first))
        out.push_back(&other);
    if (out.empty()) throw not_predicted("no synchronous run of its model and settings is beside it");
    return out;
  }

  /// Through what `seconds_of_run` says of the references; of none that says something nothing.
  template <class Seconds>
  static hp::rl_phase phase_of(const std::vector<const controller_run*>& references, double fixed_share,
                               const Seconds& seconds_of_run) {
    std::vector<hp::rl_point> points;
    for (const controller_run* r : references)
      if (const double s = seconds_of_run(*r); s > 0) points.push_back({static_cast<double>(r->devices()), s});
    return points.empty() ? hp::rl_phase{} : hp::fitted_phase(points, fixed_share);
  }

  /// The phases that the trainer of an asynchronous run has: those that it prints, else all but the log-probabilities that the generator
  /// gives of its own tokens where it is fully asynchronous.
  static std::set<std::string> trained_phases(const controller_run& r,
                                              const std::vector<const controller_run*>& references, bool is_full) {
    std::set<std::string> own, all;
    for (const auto& [name, seconds] : r.seconds)
      if (is_of_training(name)) own.insert(name);
    for (const controller_run* other : references)
      for (const auto& [name, seconds] : other->seconds)
        if (is_of_training(name) && !(is_full && name == "rl_old_log_prob_s")) all.insert(name);
    return own.empty() ? all : own;
  }

  struct told_split {
    hp::rl_split split{};
    const char* why = "";  ///< where the row does not say it
  };

  /// Where the row does not say it: the split of the other runs on as many devices, where they have one, else the best.
  told_split split_of(const controller_run& r, int devices, const hp::rl_phases& phases,
                      const hp::rl_handover& how) const {
    if (const hp::rl_split own = split_in(*r.first); own.trainer > 0) return {own};
    std::set<std::pair<int, int>> of_others;
    for (const controller_run& other : runs)
      if (other.devices() == devices && is_same_setting(*r.first, *other.first))
        if (const hp::rl_split s = split_in(*other.first); s.trainer > 0) of_others.insert({s.trainer, s.rollout});
    if (of_others.size() == 1)
      return {{of_others.begin()->first, of_others.begin()->second}, "as the other runs have them"};
    return {hp::best_split(phases, devices, how), "which take least"};
  }

  /// What may be generated ahead: the row's, one batch of a run that is a step off, else all that runs of the model have.
  std::vector<double> stalenesses_of(const controller_run& r, bool is_full, std::vector<std::string>& open) const {
    if (!is_full) return {1.0};
    if (const json& own = field(r.first->config(), "staleness"); own.is_number())
      return {std::max(own.get<double>(), 0.0)};
    std::set<double> of_others;
    for (const controller_run& other : runs)
      if (other.first->family == r.first->family && other.first->model.name == r.first->model.name)
        if (const json& v = field(other.first->config(), "staleness"); v.is_number())
          of_others.insert(std::max(v.get<double>(), 0.0));
    if (of_others.empty()) of_others = {0.0, 1.0};
    open.push_back(fmt::format("staleness from {} to {}", *of_others.begin(), *of_others.rbegin()));
    return {of_others.begin(), of_others.end()};
  }

  /// Hand-overs to the trainer between two of weights: those that make up a batch.
  static int chunks_of(const published_row& r) {
    const json& c = r.config();
    const auto size = [&](const char* name) { return size_in(c, {name}).or_else(0); };
    const hp::extent_t at_once = size("require_batches") * size("ppo_mini_batch"), batch = size("train_batch");
    if (at_once > 0 && batch >= at_once) return static_cast<int>(batch / at_once);
    return static_cast<int>(std::max(size("sync_steps"), hp::extent_t{1}));
  }

  void judge_asynchronous(const controller_run& r) {
    const std::vector<const controller_run*> references = references_of(r);
    const bool is_full = contains(lower_case(text_in(r.first->config(), "mode")), "fully");
    prediction said;
    hp::rl_phases phases;
    phases.generation = phase_of(references, hp::waiting_share(longest_over_mean), generation_of);
    std::map<std::string, hp::rl_phase> trained;
    for (const std::string& name : trained_phases(r, references, is_full)) {
      const hp::rl_phase p =
          phase_of(references, 0, [&](const controller_run& other) { return other.of(name.c_str()); });
      if (p.on(1) == 0) throw not_predicted("the synchronous runs do not print " + name);
      trained[name] = p;
      phases.training.fixed += p.fixed;
      phases.training.work += p.work;
    }
    if (phases.training.on(1) == 0) throw not_predicted("the synchronous runs print no phase of the trainer");
    const hp::rl_split own = split_in(*r.first);
    const double devices = r.devices() > 0 ? r.devices() : own.trainer + own.rollout;
    if (devices < 2) throw not_predicted("no devices");
    phases.rest = phase_of(references, 1, [](const controller_run& other) {
                    double left = other.of(step_name) - other.of("rl_gen_s");
                    for (const auto& [name, seconds] : other.seconds) left -= is_of_training(name) ? seconds : 0.0;
                    return other.of("rl_gen_s") > 0 ? left : 0.0;
                  }).on(devices);
    hp::rl_handover how{.chunks = is_full ? chunks_of(*r.first) : 1,
                        .partial = field(r.first->config(), "partial") == json(true),
                        .by_whole_batch = !is_full};
    double least = 0, most = 0;
    hp::rl_split split;
    const std::vector<double> stalenesses = stalenesses_of(r, is_full, said.open);
    for (const double staleness : stalenesses) {
      how.staleness = staleness;
      const told_split found = split_of(r, static_cast<int>(devices), phases, how);
      split = found.split;
      const double t = hp::asynchronous_step(phases, split, how);
      least = least == 0 ? t : std::min(least, t);
      most = std::max(most, t);
      if (staleness == stalenesses.back() && *found.why != 0)
        said.open.push_back(fmt::format("trainer {} and generator {}, {}", split.trainer, split.rollout, found.why));
    }
    if (least != most) said.open.push_back(fmt::format("a step from {:.4g} to {:.4g} s", least, most));
    const double step = (least + most) / 2, update = phases.training.on(split.trainer);
    said.fix = fmt::format("trainer {}, generator {}, {} chunk{}", split.trainer, split.rollout, how.chunks,
                           how.chunks == 1 ? "" : "s");
    double synchronous = 0;
    for (const controller_run* other : references)
      if (other->devices() == r.devices() && other->of(step_name) > 0) synchronous = other->of(step_name);
    for (const int i : r.rows) {
      at(i).said = said;
      const std::string& quantity = at(i).row.quantity;
      double predicted = step;
      if (const auto phase = trained.find(quantity); phase != trained.end())
        predicted = phase->second.on(split.trainer);
      if (quantity == "rl_generate_sequences_s")
        predicted = hp::generator_seconds(phases.generation, split.rollout, how);
      if (quantity == "rl_gen_s") predicted = std::max(step - phases.rest - update, 0.0);
      const bool is_step = quantity == step_name;
      compare(book, i,
              {.figure = is_step ? rl_figure::step : rl_figure::phase,
               .predicted = predicted,
               .measured = at(i).row.value,
               .synchronous = is_step ? synchronous : 0.0,
               .group = is_step ? group_of(r) : -1});
    }
  }

  /// Alternatives: the asynchronous runs of a model and settings on as many devices.
  int group_of(const controller_run& r) const {
    for (int i = 0; i < static_cast<int>(runs.size()); ++i) {
      const controller_run& other = runs[static_cast<std::size_t>(i)];
      if (other.is_asynchronous && other.devices() == r.devices() && is_same_setting(*r.first, *other.first)) return i;
    }
    return -1;
  }

  truth_book& book;
  std::vector<controller_run> runs{};
};

}  // namespace

void judge_steps(truth_book& book) { step_judge(book).judge(); }

}  // namespace truth
