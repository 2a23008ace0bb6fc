// SPDX-License-Identifier: Apache-2.0
#pragma once
// Activation functions of elements. Costs count a transcendental as four operations.

#include <hyperparallel/operators/operator_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// dy, gate, up -> d gate, d up.
struct swiglu_gradient {
  static constexpr const char *name = "swiglu_gradient", *text = "*,*,*->*,*";
  static constexpr int flops_per_point = 10;
};
/// silu(gate) · up. Source: Shazeer, "GLU Variants Improve Transformer", 2020.
struct swiglu {
  static constexpr const char *name = "swiglu", *text = "*,*->*";
  static constexpr unsigned linear = 0b10;
  static constexpr int flops_per_point = 6;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<swiglu_gradient>("g0,x0,x1>01");
  }
};

/// dy, x -> dx.
struct silu_gradient {
  static constexpr const char *name = "silu_gradient", *text = "*,*->*";
  static constexpr int flops_per_point = 8;
};
/// x · sigmoid(x).
struct silu {
  static constexpr const char *name = "silu", *text = "*->*";
  static constexpr int flops_per_point = 5;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<silu_gradient>("g0,x0>0");
  }
};

/// dy, x -> dx.
struct softplus_gradient {
  static constexpr const char *name = "softplus_gradient", *text = "*,*->*";
  static constexpr int flops_per_point = 5;
};
/// log(1 + e^x).
struct softplus {
  static constexpr const char *name = "softplus", *text = "*->*";
  static constexpr partial_words partials = partial_algebra::rises;
  static constexpr int flops_per_point = 9;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<softplus_gradient>("g0,x0>0");
  }
};

/// dy, x -> dx.
struct squared_relu_gradient {
  static constexpr const char *name = "squared_relu_gradient", *text = "*,*->*";
  static constexpr int flops_per_point = 3;
};
/// max(x, 0)². Source: So et al., "Primer", 2021.
struct squared_relu {
  static constexpr const char *name = "squared_relu", *text = "*->*";
  static constexpr partial_words partials = partial_algebra::rises;
  static constexpr int flops_per_point = 2;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<squared_relu_gradient>("g0,x0>0");
  }
};

/// dy, x -> dx.
struct gelu_gradient {
  static constexpr const char *name = "gelu_gradient", *text = "*,*->*";
  static constexpr int flops_per_point = 14;
};
/// x · Φ(x), by the error function. Source: Hendrycks & Gimpel, "Gaussian Error Linear Units", 2016.
struct gelu {
  static constexpr const char *name = "gelu", *text = "*->*";
  static constexpr int flops_per_point = 7;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<gelu_gradient>("g0,x0>0");
  }
};

/// dy, x -> dx.
struct gelu_tanh_gradient {
  static constexpr const char *name = "gelu_tanh_gradient", *text = "*,*->*";
  static constexpr int flops_per_point = 16;
};
/// The same by tanh, as GPT-2 and Gemma have it. Source: Hendrycks & Gimpel, 2016, section 2.
struct gelu_tanh {
  static constexpr const char *name = "gelu_tanh", *text = "*->*";
  static constexpr int flops_per_point = 10;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<gelu_tanh_gradient>("g0,x0>0");
  }
};

/// dy, gate, up -> d gate, d up.
struct geglu_gradient {
  static constexpr const char *name = "geglu_gradient", *text = "*,*,*->*,*";
  static constexpr int flops_per_point = 18;
};
/// gelu_tanh(gate) · up. Source: Shazeer, 2020.
struct geglu {
  static constexpr const char *name = "geglu", *text = "*,*->*";
  static constexpr int flops_per_point = 11;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<geglu_gradient>("g0,x0,x1>01");
  }
};

/// dy, gate, up -> d gate, d up.
struct clamped_swiglu_gradient {
  static constexpr const char *name = "clamped_swiglu_gradient", *text = "*,*,*->*,*";
  static constexpr int flops_per_point = 14;
};
/// With g = min(gate, limit) and u = up between -limit and limit: g · sigmoid(steepness · g) · (u + 1). real[0] = limit,
/// real[1] = steepness. Source: the gpt-oss model card, 2025.
struct clamped_swiglu {
  static constexpr const char *name = "clamped_swiglu", *text = "*,*->*";
  static constexpr int flops_per_point = 10;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<clamped_swiglu_gradient>("g0,x0,x1>01");
  }
};

/// dy, y -> dx.
struct sigmoid_gradient {
  static constexpr const char *name = "sigmoid_gradient", *text = "*,*->*";
  static constexpr int flops_per_point = 3;
};
struct sigmoid {
  static constexpr const char *name = "sigmoid", *text = "*->*";
  static constexpr partial_words partials = partial_algebra::rises;
  static constexpr int flops_per_point = 5;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<sigmoid_gradient>("g0,y0>0");
  }
};

/// dy, y -> dx.
struct relu_gradient {
  static constexpr const char *name = "relu_gradient", *text = "*,*->*";
};
/// The larger of x and 0; its slope at 0 is 0.
struct relu {
  static constexpr const char *name = "relu", *text = "*->*";
  static constexpr partial_words partials = partial_algebra::rises;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<relu_gradient>("g0,y0>0");
  }
};

/// dy, y -> dx.
struct tanh_gradient {
  static constexpr const char *name = "tanh_gradient", *text = "*,*->*";
  static constexpr int flops_per_point = 3;
};
struct tanh {
  static constexpr const char *name = "tanh", *text = "*->*";
  static constexpr partial_words partials = partial_algebra::rises;
  static constexpr int flops_per_point = 4;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<tanh_gradient>("g0,y0>0");
  }
};

}}}  // namespace hyperparallel::v0_2::ops
