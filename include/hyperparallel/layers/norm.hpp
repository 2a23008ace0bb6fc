// SPDX-License-Identifier: Apache-2.0
#pragma once
// A norm whose kind is chosen at run time.
//
//   norm_layer{"attention_norm", 1e-5, norm_form::layer}(m, x)        as layer_norm_layer{"attention_norm", 1e-5}(m, x)

#include <hyperparallel/layers/layer_norm.hpp>
#include <hyperparallel/layers/rms_norm.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class norm_form : unsigned char { rms, layer };

struct norm_layer {
  const char* name = "norm";
  double epsilon = 1e-6;
  norm_form form = norm_form::rms;

  constexpr int operator()(model_builder& m, int x) const {
    return form == norm_form::rms ? rms_norm_layer{name, epsilon}(m, x) : layer_norm_layer{name, epsilon}(m, x);
  }
};

/// Elements of its parameters.
constexpr extent_t parameters_of(norm_form f, extent_t hidden) { return f == norm_form::rms ? hidden : 2 * hidden; }

}}  // namespace hyperparallel::v0_2
