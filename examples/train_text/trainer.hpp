// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small mixture-of-experts language model over bytes under one strategy: training, validation, checkpoints.

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <hyperparallel/checkpoint/run_checkpoints.hpp>
#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include "../models/small_moe.hpp"
#include "budget.hpp"
#include "options.hpp"
#include "pipeline.hpp"
#include "text.hpp"

namespace train_text {

inline hp::graph forward_graph(const train_options& o) {
  const hp::data_type type = o.doubles ? hp::f64 : hp::f32;
  hp::model_builder m({.activation = type, .parameter = type, .unrolled = true});
  models::build_small_moe(m, {.batch = o.batch,
                              .sequence = o.sequence,
                              .layers = o.layers,
                              .hidden = o.hidden,
                              .query_heads = 16,
                              .key_heads = 8,
                              .head_dim = o.hidden / 8,
                              .expert_width = o.hidden});
  return m.graph;
}

inline hp::graph training_graph(const train_options& o, int micro_batches) {
  hp::graph g = forward_graph(o);
  g.micro_batches = micro_batches;
  hp::differentiate(g);
  hp::append_optimizer(g, {.rate = o.rate});
  return g;
}

inline int micro_batches_of(const train_options& o, const chosen_strategy& c) {
  return o.micro_batches > 0 ? o.micro_batches : c.is_pipeline ? 2 * c.pipeline.stages() : 1;
}

template <class T>
class trainer {
 public:
  trainer(const train_options& o, std::vector<std::uint8_t> text, const chosen_strategy& s)
      : options_(o),
        text_(std::move(text)),
        micro_batches_(micro_batches_of(o, s)),
        run_(program_of(training_graph(o, micro_batches_), s), budgeted(o, s)),
        judge_(forward_graph(o), s.strategy, run_options(o)),
        kept_(o.checkpoint, run_) {
    if (!o.checkpoint.empty()) kept_.open();  // what cannot be written is refused before training
    const std::size_t least = static_cast<std::size_t>(o.batch) * static_cast<std::size_t>(o.sequence) + 1;
    held_ = std::max(static_cast<std::size_t>(o.validation_bytes), least);
    if (text_.size() < held_ + least)
      throw std::invalid_argument("the text has " + std::to_string(text_.size()) + " bytes, " +
                                  std::to_string(held_ + least) + " are needed");
  }

  std::int64_t steps() const { return run_.steps(); }
  const hp::program_world<T>& world() { return run_.world(); }
  std::int64_t tokens_per_step() const { return std::int64_t{options_.batch} * options_.sequence * micro_batches_; }
  std::span<const std::uint8_t> training() const { return std::span(text_).first(text_.size() - held_); }
  std::span<const std::uint8_t> validation() const { return std::span(text_).last(held_); }

  /// One step on the batches of that number; the loss before it.
  double step() {
    return static_cast<double>(run_.train_step([&](int micro) {
      const std::int64_t number = run_.steps() * micro_batches_ + micro;
      feed(run_, random_batch(training(), static_cast<std::size_t>(options_.batch),
                              static_cast<std::size_t>(options_.sequence), options_.seed,
                              static_cast<std::uint64_t>(number)));
    }));
  }

  /// Mean cross entropy over the validation part, in nats a byte, balance loss excluded.
  double validate() {
    const hp::graph& g = judge_.model();
    for (int p = 0; p < g.tensor.size; ++p)
      if (g.tensor[p].kind == hp::graph_tensor_kind::parameter)
        judge_.world().set(p, run_.world().get(std::string(g.name_of_tensor(p))));
    const std::size_t length = static_cast<std::size_t>(options_.sequence);
    const std::size_t rows = static_cast<std::size_t>(options_.batch), all = (held_ - 1) / (rows * length);
    double sum = 0;
    for (std::size_t b = 0; b < all; ++b) {
      token_batch batch;
      for (std::size_t r = 0; r < rows; ++r) append_row(batch, validation(), (b * rows + r) * length, length);
      feed(judge_, batch);
      judge_.world().run_micro();
      sum += static_cast<double>(judge_.world().monitor(0));
    }
    return sum / static_cast<double>(all);
  }

  /// Keeps the run as it is, while it trains on.
  void save() { kept_.save_later(); }
  /// Waits until what is kept is complete.
  void finish_saving() { kept_.wait(); }
  /// Goes on from a set, or from the newest of a folder of sets, whatever strategy wrote it.
  void load(const std::string& path) {
    const hp::reshard::step_folders folder(path);
    hp::load_run(folder.newest() < 0 ? path : folder.path_of(folder.newest()), run_);
  }

 private:
  static hp::model_run_options run_options(const train_options& o) {
    hp::model_run_options r;
    r.seed = o.seed;
    r.program.execution.threads = o.threads;
    for (const std::string& check : o.checks) {
      r.program.checks.tasks = r.program.checks.tasks || check == "tasks";
      r.program.checks.moves = r.program.checks.moves || check == "moves";
      r.program.checks.state = r.program.checks.state || check == "state";
    }
    r.program.checks.share = o.check_share;
    return r;
  }
  static hp::sharded_program program_of(const hp::graph& g, const chosen_strategy& s) {
    return s.is_pipeline ? hp::partitioned(g, s.strategy, s.pipeline) : hp::partitioned(g, s.strategy);
  }
  static hp::model_run_options budgeted(const train_options& o, const chosen_strategy& s) {
    hp::model_run_options r = run_options(o);
    r.program.tiles = o.tiles;
    r.program.most_tiles = o.most_tiles;
    if (!o.hbm_budget.empty())
      r.program.budget = budget_of<T>(o, program_of(training_graph(o, micro_batches_of(o, s)), s), r);
    return r;
  }
  static void feed(hp::model_run<T>& run, const token_batch& b) {
    run.world().set("tokens", std::span<const std::int32_t>(b.tokens));
    run.world().set("labels", std::span<const std::int32_t>(b.labels));
  }
  train_options options_;
  std::vector<std::uint8_t> text_;
  std::size_t held_ = 0;
  int micro_batches_ = 1;
  hp::model_run<T> run_;
  hp::model_run<T> judge_;  ///< forward alone
  hp::run_checkpoints<hp::model_run<T>> kept_;
};

}  // namespace train_text
