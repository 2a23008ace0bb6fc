// SPDX-License-Identifier: Apache-2.0
// parse_model_config. Of a model that is read: its parameters can be counted, and of a small plan either the degree is named
// that cannot be, or the plan is not counted, or it has memory and a time.

#include <hyperparallel/io/model_config.hpp>
#include <hyperparallel/layers/decoder_parameters.hpp>
#include <hyperparallel/planner/estimate.hpp>
#include <hyperparallel/planner/known_hardware.hpp>

#include "target.hpp"

namespace hp = hyperparallel;

/// More layers that differ take the estimate seconds.
constexpr hp::extent_t most_layers = 64;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const std::optional<hp::model_config> c =
      fuzz::read_or_refuse([&] { return hp::parse_model_config(text, fuzz::file); });
  if (!c) return 0;
  const hp::extent_t total = hp::parameters_of(c->model).total(), active = hp::active_parameters_of(c->model).total();
  fuzz::hold(total > 0 && active > 0 && active <= total, "a model has parameters, and no more active ones");
  if (c->model.layers > most_layers) return 0;
  // Degrees and sizes come from the text, too, so that a mutation changes them.
  std::uint64_t n = 14695981039346656037u;
  for (std::size_t i = 0; i < size; ++i) n = (n ^ data[i]) * 1099511628211u;
  const auto pick = [&](int count) {
    const int picked = static_cast<int>(n % static_cast<std::uint64_t>(count));
    n /= static_cast<std::uint64_t>(count);
    return picked;
  };
  hp::decoder_plan p{
      .tp = 1 << pick(3), .pp = 1 << pick(2), .dp = 1 << pick(2), .cp = 1 << pick(2), .ep = 1 << pick(3)};
  p.zero = pick(4);
  p.micro_batches = 1 << pick(3);
  p.recomputed = pick(2) == 1;
  p.sequence_parallel = pick(2) == 1;
  p.batch = hp::extent_t{p.dp} * p.ep * p.micro_batches << pick(3);
  p.sequence = hp::extent_t{1} << (3 + pick(15));
  if (!hp::check_plan(c->model, p, static_cast<int>(hp::device_count_of(p))).ok()) return 0;
  const hp::known_hardware& h = hp::hardware_presets[0];
  hp::plan_prices prices(h.device, h.links);
  const hp::plan_estimate e = hp::estimate_plan(c->model, p, prices);
  if (e.evaluation.code == hp::cost_code::overflow) return 0;
  fuzz::hold(e.ok(), "a plan that can be and is counted has a price");
  fuzz::hold(e.evaluation.time > 0 && e.bound <= e.evaluation.time && e.evaluation.memory > 0,
             "a plan takes memory and at least its bound on time");
  hp::extent_t kinds = e.passing;
  for (const hp::extent_t bytes : e.held) kinds += bytes;
  fuzz::hold(kinds == e.evaluation.memory, "kinds add up to the memory");
  return 0;
}
