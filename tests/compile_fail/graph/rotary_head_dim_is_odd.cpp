// SPDX-License-Identifier: Apache-2.0
// Rotary positions, which turn pairs of elements, on heads of seven.
// expect: diag::model_cannot_be_built<
// expect: last_dim_is_no_multiple
// expect: extent<7>
// expect: extent<2>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/program.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using whole = hp::strategy<mesh>;

template <hp::extent_t HeadDim>
struct text {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 4), sequence = m.dim("seq", 8);
    const int tokens = m.index_input("tokens", {batch, sequence}), labels = m.index_input("labels", {batch, sequence});
    const int x = hp::token_embedding{.vocabulary = 32, .hidden = 16}(m, tokens);
    const hp::attention_layer attention{.query_heads = 8, .key_heads = 4, .head_dim = HeadDim, .rope_base = 1e4};
    hp::language_head{.vocabulary = 32}(m, attention(m, x), labels);
  }
};

static_assert(hp::valid_train_step<text<8>, whole, hp::adamw, hp::matrix384>);
static_assert(!hp::valid_train_step<text<7>, whole, hp::adamw, hp::matrix384>);

#ifdef NEGATIVE
using step = hp::train_step<text<7>, whole, hp::adamw, hp::matrix384>;
#else
using step = hp::train_step<text<8>, whole, hp::adamw, hp::matrix384>;
#endif

constexpr hp::extent_t parameters = step::parameters;
constexpr hp::proof proved = step::verified;
constexpr bool small = hp::fits_alive<step>();
