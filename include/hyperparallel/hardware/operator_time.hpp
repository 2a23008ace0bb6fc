// SPDX-License-Identifier: Apache-2.0
#pragma once
// Time of an operator of PyTorch on a GPU, by the shares that measured ones reach (measured_shares.hpp).
//
//   const hp::operator_rates r = hp::rates_of(hp::h100::device);
//   hp::measured_product_time(r, 4096, 4096, 14336, hp::product_pass::forward).picoseconds
//
// A shape that was not measured has the mean share of those that were, weighted by the inverse third power of the squared distance: of products
// in doublings of rows, inner length and columns of what is computed, another pass being one doubling away; of attention in
// doublings of sequence, heads and width of a head. Sizes beyond the tables are taken as at their edges. No product is above
// `sustained_product_share`, and none is faster than its operands pass memory. On a device that is no H100 the shares are of its own peaks, and at most
// what its products reach in a step: `measured` is not set, and the time is called scaled.
//
// Laws: never below the roofline of the data sheet; twice a size takes no less; exact integers, so constants equal run time. O(shapes of a table).

#include <hyperparallel/hardware/device.hpp>
#include <hyperparallel/hardware/measured_shares.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What is computed: the output from input and weight, the gradient of the input, or that of the weight.
enum class product_pass : unsigned char { forward, of_input, of_weight };

struct operator_rates {
  std::int64_t matrix = 1;            ///< bf16 operations a second, by data sheet
  std::int64_t memory = 1;            ///< bytes a second, by data sheet
  bool measured = false;              ///< the device is one that operators were measured on
  efficiency most = full_efficiency;  ///< of the peak, what no product reaches more than
  constexpr efficiency within(efficiency share) const {
    return share.parts_per_million < most.parts_per_million ? share : most;
  }
};

namespace detail {

/// H100 SXM with HBM3 has the rates that were measured; all others scale. Precondition: `check` says ok. O(1).
constexpr operator_rates rates_of(const device_value& d) {
  const std::int64_t matrix = d.matrix_flops[static_cast<int>(number_format::bfloat16)], memory = d.tier[0].bandwidth;
  const bool measured = matrix == 989 * teraflops && memory == 3350 * gigabyte;
  return {larger(matrix, std::int64_t{1}), memory, measured,
          measured || d.gmm_cold.parts_per_million == 0 ? full_efficiency : d.gmm_cold};
}

/// Parts of a doubling in which distances are counted.
inline constexpr std::int64_t parts_of_doubling = 64;

/// parts_of_doubling · log₂ x, rounded down. Domain: x in [1, 2^62). O(1).
constexpr std::int64_t doublings(std::int64_t x) {
  std::int64_t whole = 0;
  for (std::int64_t rest = x; rest > 1; rest /= 2) ++whole;
  constexpr std::uint64_t one = std::uint64_t{1} << 30;
  const auto wide = static_cast<std::uint64_t>(x);
  std::uint64_t mantissa = whole > 30 ? wide >> (whole - 30) : wide << (30 - whole);
  std::int64_t parts = whole;
  for (std::int64_t unit = 1; unit < parts_of_doubling; unit *= 2) {
    mantissa = (mantissa * mantissa) >> 30;
    parts *= 2;
    if (mantissa < 2 * one) continue;
    mantissa /= 2;
    ++parts;
  }
  return parts;
}

constexpr std::int64_t doublings_within(std::int64_t x, std::int64_t least, std::int64_t most) {
  return doublings(x < least ? least : x < most ? x : most);
}

constexpr std::int64_t squared(std::int64_t x) { return x * x; }

/// A mean of shares, the near ones first.
class mean_share {
 public:
  /// Of a shape at a squared distance in parts of a doubling; a share of 0 was not measured.
  constexpr void add(std::int64_t distance, std::int64_t share) {
    if (share == 0) return;
    const std::int64_t d = distance + squared(parts_of_doubling) / 20;
    const std::int64_t weight = (std::int64_t{1} << 58) / (d * d * d) + 1;
    weights += weight;
    shares += weight * share;
  }
  constexpr efficiency value(std::int64_t most = 10'000) const {
    const std::int64_t mean = weights > 0 ? shares / weights : 1;
    return {100 * smaller(mean, most)};
  }

 private:
  std::int64_t weights = 0, shares = 0;
};

inline constexpr std::int64_t least_side = 256, most_side = 131'072;

struct product_sides {
  std::int64_t rows = 1, inner = 1, columns = 1;
};
constexpr product_sides sides_of(std::int64_t tokens, std::int64_t inner, std::int64_t columns, product_pass pass) {
  if (pass == product_pass::forward) return {tokens, inner, columns};
  if (pass == product_pass::of_input) return {tokens, columns, inner};
  return {columns, tokens, inner};
}
constexpr product_sides logarithms_of(const product_sides& s) {
  return {doublings_within(s.rows, least_side, most_side), doublings_within(s.inner, least_side, most_side),
          doublings_within(s.columns, least_side, most_side)};
}
constexpr std::int64_t distance_between(const product_sides& a, const product_sides& b) {
  return squared(a.rows - b.rows) + squared(a.inner - b.inner) + squared(a.columns - b.columns);
}

constexpr time_cost memory_time(const operator_rates& r, std::int64_t bytes, std::int64_t share) {
  if (bytes == 0) return {};
  return then(work_time(bytes, 1, 1, r.memory, {100 * share}), {cost_code::ok, kernel_edges});
}

/// A measured product by the logarithms of its shape.
struct product_entry {
  product_sides at{};
  product_pass pass = product_pass::forward;
  std::int64_t share = 0;
};
struct product_entries {
  static constexpr int count = 12 * static_cast<int>(sizeof(h100_products) / sizeof(h100_products[0]));
  product_entry entry[count] = {};
  constexpr product_entries() {
    product_entry* next = entry;
    const auto add = [&](const measured_products& m, std::int64_t tokens, product_pass pass, std::int64_t share) {
      *next++ = {logarithms_of(sides_of(tokens, m.inner, m.columns, pass)), pass, share};
    };
    for (const measured_products& m : h100_products) {
      for (int i = 0; i < 6; ++i) add(m, forward_tokens[i], product_pass::forward, m.forward[i]);
      for (int i = 0; i < 3; ++i) add(m, gradient_tokens[i], product_pass::of_input, m.of_input[i]);
      for (int i = 0; i < 3; ++i) add(m, gradient_tokens[i], product_pass::of_weight, m.of_weight[i]);
    }
  }
};
inline constexpr product_entries h100_entries{};

/// The share of the peak that a product reaches where memory does not bound it. Sizes are at least 1. O(shapes).
constexpr efficiency product_share(std::int64_t tokens, std::int64_t inner, std::int64_t columns, product_pass pass) {
  const detail::product_sides asked = detail::logarithms_of(detail::sides_of(tokens, inner, columns, pass));
  detail::mean_share mean;
  for (const detail::product_entry& e : detail::h100_entries.entry)
    mean.add(detail::distance_between(asked, e.at) + (e.pass == pass ? 0 : detail::squared(detail::parts_of_doubling)),
             e.share);
  return mean.value(sustained_product_share);
}

}  // namespace detail

/// A pass over memory that reads and writes so many bytes, 16 bits or more an element, in order. O(1).
constexpr time_cost streamed_time(const operator_rates& r, std::int64_t bytes) {
  return detail::memory_time(r, bytes, detail::pass_share);
}
namespace detail {

/// A pass by rows or by halves of rows: norms, rotations. O(1).
constexpr time_cost streamed_rows_time(const operator_rates& r, std::int64_t bytes) {
  return detail::memory_time(r, bytes, row_pass_share);
}
constexpr time_cost loss_time(const operator_rates& r, std::int64_t bytes) {
  return detail::memory_time(r, bytes, loss_share);
}
/// A fused optimizer's pass over states, parameters and gradients. O(1).
constexpr time_cost update_time(const operator_rates& r, std::int64_t bytes) {
  return detail::memory_time(r, bytes, update_share);
}

}  // namespace detail

/// A product in bf16, of tokens × inner and columns × inner. O(shapes).
constexpr time_cost measured_product_time(const operator_rates& r, std::int64_t tokens, std::int64_t inner,
                                          std::int64_t columns, product_pass pass) {
  return slower(work_time(2 * tokens * inner, columns, 1, r.matrix,
                          r.within(detail::product_share(tokens, inner, columns, pass))),
                streamed_time(r, 2 * (tokens * inner + inner * columns + tokens * columns)));
}

namespace detail {

/// The share of the peak of as many products as groups, which have equal parts of the slots. Sizes are at least 1. O(shapes).
constexpr efficiency grouped_share(std::int64_t groups, std::int64_t slots, std::int64_t inner, std::int64_t columns) {
  detail::mean_share mean;
  const auto each = [](std::int64_t of, std::int64_t by) { return detail::doublings_within(of / by, 64, 4096); };
  const auto side = [](std::int64_t n) { return detail::doublings_within(n, 512, 32'768); };
  const auto count = [](std::int64_t n) { return detail::doublings_within(n, 1, 256); };
  for (const measured_group& m : h100_groups)
    mean.add(detail::squared(each(slots, groups) - each(m.slots, m.groups)) +
                 detail::squared(side(inner) - side(m.inner)) + detail::squared(side(columns) - side(m.columns)) +
                 detail::squared(count(groups) - count(m.groups)) / 4,
             m.share);
  return mean.value();
}

}  // namespace detail
constexpr time_cost grouped_time(const operator_rates& r, std::int64_t groups, std::int64_t slots, std::int64_t inner,
                                 std::int64_t columns) {
  return slower(work_time(2 * slots * inner, columns, 1, r.matrix,
                          r.within(detail::grouped_share(groups, slots, inner, columns))),
                streamed_time(r, 2 * (slots * inner + groups * inner * columns + slots * columns)));
}

namespace detail {

/// The share of the peak that causal attention of so many heads reaches, those of all sequences. Sizes are at least 1. O(shapes).
constexpr efficiency attention_share(std::int64_t heads, std::int64_t sequence, std::int64_t head_dim, bool backward) {
  detail::mean_share mean;
  const auto length = [](std::int64_t n) { return detail::doublings_within(n, 512, 65'536); };
  const auto count = [](std::int64_t n) { return detail::doublings_within(n, 2, 512); };
  const auto width = [](std::int64_t n) { return detail::doublings_within(n, 32, 256); };
  for (const measured_attention& m : h100_attention)
    mean.add(2 * detail::squared(length(sequence) - length(m.sequence)) +
                 detail::squared(count(heads) - count(m.heads)) / 4 +
                 16 * detail::squared(width(head_dim) - width(m.head_dim)),
             backward ? m.backward : m.forward);
  return mean.value();
}

}  // namespace detail
/// Half the square. O(shapes).
constexpr time_cost attention_time(const operator_rates& r, std::int64_t heads, std::int64_t sequence,
                                   std::int64_t head_dim, bool backward) {
  const std::int64_t tensors = heads * sequence * head_dim;
  return slower(work_time((backward ? 5 : 2) * tensors, sequence, 1, r.matrix,
                          r.within(detail::attention_share(heads, sequence, head_dim, backward))),
                streamed_time(r, (backward ? 16 : 8) * tensors));
}

}}  // namespace hyperparallel::v0_2
