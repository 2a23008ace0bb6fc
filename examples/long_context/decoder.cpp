// SPDX-License-Identifier: Apache-2.0

#include "decoder.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include <hyperparallel/kernels/attention.hpp>
#include <hyperparallel/kernels/gemm.hpp>
#include <hyperparallel/kernels/keyed_random.hpp>
#include <hyperparallel/kernels/normalization.hpp>
#include <hyperparallel/kernels/rope.hpp>
#include <hyperparallel/kernels/swiglu.hpp>

namespace long_context {

namespace {

constexpr std::int64_t group = heads / key_heads;

using view = hp::tensor_view<float>;
using const_view = hp::tensor_view<const float>;

/// out[rows × columns] = x[rows × terms] · w. Returns what lies behind w.
const float* multiply(std::int64_t rows, std::int64_t columns, std::int64_t terms, const float* x, const float* w,
                      float* out, hp::gemm_mode mode = hp::gemm_mode::overwrite) {
  hp::gemm(rows, columns, terms, x, terms, w, columns, out, columns, mode);
  return w + terms * columns;
}

void normalize(std::int64_t rows, float* x, float* out) {
  hp::kernels::rms_norm(view{x, {rows, hidden}}, const_view{nullptr, hp::shape(hidden)}, view{out, {rows, hidden}},
                        1e-6);
}

/// Rows of all heads to heads of all rows.
void split_heads(std::int64_t rows, const float* from, float* to) {
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t r = 0; r < rows; ++r) std::copy_n(from + (r * heads + h) * dim, dim, to + (h * rows + r) * dim);
}

void join_heads(std::int64_t rows, const float* from, float* to) {
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t r = 0; r < rows; ++r) std::copy_n(from + (h * rows + r) * dim, dim, to + (r * heads + h) * dim);
}

/// Rows of keys, or of values, to each head's place in a block, from position `first` of the block on.
void write_rows(std::int64_t rows, std::int64_t first, const float* from, float* block) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t m = 0; m < key_heads; ++m)
      std::copy_n(from + (r * key_heads + m) * dim, dim, block + (m * block_positions + first + r) * dim);
}

}  // namespace

struct decoder::buffers {
  float *x, *normed, *query, *split, *result, *part, *key, *value, *lse, *lse_part, *gate_up, *gated, *logits;

  explicit buffers(float* at) {
    const auto take = [&at](std::int64_t size) {
      float* const taken = at;
      at += size;
      return taken;
    };
    x = take(chunk * hidden);
    normed = take(chunk * hidden);
    query = take(chunk * query_width);
    split = take(chunk * query_width);
    result = take(chunk * query_width);
    part = take(chunk * query_width);
    key = take(chunk * key_width);
    value = take(chunk * key_width);
    lse = take(chunk * heads);
    lse_part = take(chunk * heads);
    gate_up = take(chunk * 2 * ffn);
    gated = take(chunk * ffn);
    logits = take(vocabulary);
  }
};

decoder::decoder(hp::offload_session& session, kv_cache& cache, int layers, std::uint64_t seed)
    : session_(session), cache_(cache), seed_(seed) {
  embedding_ = random_weights("embedding", 0, table_size);
  head_ = random_weights("head", 1, table_size);
  for (int l = 0; l < layers; ++l) layer_.push_back(random_weights("layers", 2 + l, layer_size));
  activations_ = session.add("activations", activations_size * std::int64_t{sizeof(float)});
  session.use(activations_, hp::tensor_access::overwrite);
}

hp::session_tensor decoder::random_weights(const char* name, int number, std::int64_t size) {
  const hp::session_tensor t =
      session_.add(std::string(name) + "." + std::to_string(number), size * std::int64_t{sizeof(float)});
  const hp::use_guard u = session_.use(t, hp::tensor_access::overwrite);
  const float scale = std::sqrt(3.0F / static_cast<float>(hidden));
  std::uint64_t index = 0;
  for (float& w : u.as<float>()) w = scale * hp::keyed_uniform(seed_, static_cast<std::uint64_t>(number), index++);
  return t;
}

void decoder::append(std::span<const int> tokens) {
  const auto rows = static_cast<std::int64_t>(tokens.size());
  const hp::use_guard activations = session_.use(activations_, hp::tensor_access::update);
  const buffers b(activations.as<float>().data());
  {
    const hp::use_guard table = session_.use(embedding_);
    float* to = b.x;
    for (const int t : tokens) to = std::copy_n(table.as<const float>().data() + t * hidden, hidden, to);
  }
  for (int l = 0; l < static_cast<int>(layer_.size()); ++l) {
    const hp::use_guard weights = session_.use(layer_[static_cast<std::size_t>(l)]);
    const float* w = weights.as<const float>().data();
    normalize(rows, b.x, b.normed);
    w = multiply(rows, query_width, hidden, b.normed, w, b.query);
    w = multiply(rows, key_width, hidden, b.normed, w, b.key);
    w = multiply(rows, key_width, hidden, b.normed, w, b.value);
    attend(l, rows, b);
    w = multiply(rows, hidden, query_width, b.query, w, b.x, hp::gemm_mode::accumulate);
    feed_forward(w, rows, b);
  }
  last_row_ = rows - 1;
}

/// From the query, key and value of new rows to the result of attention, in the query's place.
void decoder::attend(int layer, std::int64_t rows, const buffers& b) {
  const std::int64_t first = cache_.positions(layer), end = first + rows;
  const hp::kernels::rope_options turn{.first_position = first};
  const view query{b.query, {rows, heads, dim}}, key{b.key, {rows, key_heads, dim}};
  hp::kernels::rope(query, query, 0, turn);
  hp::kernels::rope(key, key, 0, turn);
  {
    const hp::use_guard block = cache_.open(layer);
    float* const keys = block.as<float>().data();
    write_rows(rows, first % block_positions, b.key, keys);
    write_rows(rows, first % block_positions, b.value, keys + key_width * block_positions);
  }
  cache_.close(layer, rows);

  split_heads(rows, b.query, b.split);
  for (std::int64_t n = 0; n < blocks_for(end); ++n) {
    const std::int64_t from = n * block_positions, count = std::min(end - from, block_positions);
    float* const out = n == 0 ? b.result : b.part;
    float* const lse = n == 0 ? b.lse : b.lse_part;
    {
      const hp::use_guard block = cache_.read(layer, n);
      const float* keys = block.as<const float>().data();
      const float* values = keys + key_width * block_positions;
      for (std::int64_t m = 0; m < key_heads; ++m) {
        // A single token sees all there is, so the heads of a group may be one head's queries.
        const hp::shape queries = rows == 1 ? hp::shape{1, 1, group, dim} : hp::shape{1, group, rows, dim};
        const hp::shape cached{1, 1, count, dim};
        const std::int64_t at = m * group * rows;
        hp::kernels::attention(view{b.split + at * dim, queries}, const_view{keys + m * block_positions * dim, cached},
                               const_view{values + m * block_positions * dim, cached}, view{out + at * dim, queries},
                               lse + at, {.causal = rows > 1, .query_offset = first, .key_offset = from});
      }
    }
    cache_.leave(layer, n);
    const view all{b.result, {heads, rows, dim}};
    if (n > 0) hp::kernels::merge_attention(all, b.lse, view{b.part, all.extents}, b.lse_part, all, b.lse);
  }
  join_heads(rows, b.result, b.query);
}

void decoder::feed_forward(const float* weights, std::int64_t rows, const buffers& b) {
  normalize(rows, b.x, b.normed);
  weights = multiply(rows, 2 * ffn, hidden, b.normed, weights, b.gate_up);
  hp::swiglu(rows, ffn, b.gate_up, 2 * ffn, b.gated, ffn);
  multiply(rows, hidden, ffn, b.gated, weights, b.x, hp::gemm_mode::accumulate);
}

std::vector<float> decoder::logits() {
  const hp::use_guard activations = session_.use(activations_, hp::tensor_access::update), head = session_.use(head_);
  const buffers b(activations.as<float>().data());
  normalize(1, b.x + last_row_ * hidden, b.normed);
  multiply(1, vocabulary, hidden, b.normed, head.as<const float>().data(), b.logits);
  return {b.logits, b.logits + vocabulary};
}

}  // namespace long_context
