// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of a table by number: token and position embeddings.
// Where the table's rows are sharded, each device gives its own rows and zeros: the result is a pending sum.

#include <hyperparallel/operators/operator_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace ops {

/// Numbers, d result -> d table.
struct embed_gradient {
  static constexpr const char *name = "embed_gradient", *text = "*,*h->vh";
  static constexpr int flops_per_point = 0;
  static constexpr unsigned indices = 0b01;
  static constexpr char index_below = 'v';
};

/// Numbers, table -> rows.
struct embed {
  static constexpr const char *name = "embed", *text = "*,vh->*h";
  static constexpr int flops_per_point = 0;
  static constexpr unsigned indices = 0b01, gathered = 0b10;
  static constexpr char index_below = 'v';
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<embed_gradient>("x0,g0>1");
  }
};

}}}  // namespace hyperparallel::v0_2::ops
