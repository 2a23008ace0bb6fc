// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vectors of tokens and of positions.
//
//   token_embedding      ids (batch, seq) of i32 -> (batch, seq, hidden); "name.weight" (vocab, hidden)
//   position_embedding   x (batch, seq, hidden) -> x + a learned vector of each position; "name.weight" (seq, hidden), or
//                        with `rows`, of which the first are read, (positions, hidden)
//
// The sum over the rows of the table is a reduction, so a table whose rows are sharded gives partial vectors.

#include <hyperparallel/layers/layer_input.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct token_embedding {
  const char* name = "embedding";
  extent_t vocabulary = 0;
  extent_t hidden = 0;

  constexpr int operator()(model_builder& m, int ids) const {
    const int vocab_dim = m.dim("vocab", vocabulary), hidden_dim = m.dim("hidden", hidden);
    const int table = m.scope(name, [&] { return m.parameter("weight", {vocab_dim, hidden_dim}); });
    return m.apply<ops::embed>(name, {ids, table});
  }
};

struct position_embedding {
  const char* name = "position";
  extent_t rows = 0;  ///< of the table, at least one for each position; 0: as many

  constexpr int operator()(model_builder& m, int x) const {
    const token_dims d = detail::token_dims_of(m, name, x);
    if (!d.valid) return -1;
    const int repeated = m.scope(name, [&] {
      const int positions = rows > 0 ? m.dim("positions", rows) : d.sequence;
      int table = m.parameter("weight", {positions, d.hidden}, first_value::drawn);
      if (rows > 0)
        table = m.apply<ops::slice>("read", {table},
                                    {.text = "Ph->Sh", .created = {{'S', d.sequence}}, .created_count = 1});
      return m.apply<ops::broadcast>("repeated", {table},
                                     {.text = "sh->bsh", .created = {{'b', d.batch}}, .created_count = 1});
    });
    return m.sum(name, x, repeated);
  }
};

}}  // namespace hyperparallel::v0_2
