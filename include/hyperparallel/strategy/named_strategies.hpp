// SPDX-License-Identifier: Apache-2.0
#pragma once
// Strategies by name, for command lines and comparisons: `strategy_called("zero3", 8)`.
//
// A name stands for its axes and its rules. Degrees are given, or the ranks' prime factors are dealt to the axes, the
// last axis first, the largest factor first. O(rules).

#include <initializer_list>
#include <span>

#include <hyperparallel/strategy/sharded_program.hpp>
#include <hyperparallel/strategy/strategies.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct strategy_result {
  strategy_status status{};
  strategy_value strategy{};
};

inline constexpr int most_named_axes = 4;

struct named_strategy {
  const char* name;
  const char* about;
  int axis_count;
  const char* axis[most_named_axes];
  void (*add)(strategy_value&);
};

namespace detail {

// A name's rules speak of its own axes.
inline constexpr named_strategy named_strategy_table[] = {
    {"single", "every device computes everything", 1, {"replica"}, [](strategy_value&) {}},
    {"dp", "data parallel", 1, {"dp"}, [](strategy_value& s) { add_data_parallel(s, "dp"); }},
    {"zero1", "data parallel, optimizer states sharded", 1, {"dp"}, [](strategy_value& s) { add_zero(s, "dp", 1); }},
    {"zero2", "and gradients", 1, {"dp"}, [](strategy_value& s) { add_zero(s, "dp", 2); }},
    {"zero3", "and parameters", 1, {"dp"}, [](strategy_value& s) { add_zero(s, "dp", 3); }},
    {"hsdp1",
     "hybrid sharded, level 1: parameters and states",
     2,
     {"replica", "shard"},
     [](strategy_value& s) { add_hybrid_sharded(s, "replica", "shard", 1); }},
    {"hsdp2",
     "level 2: and gradients",
     2,
     {"replica", "shard"},
     [](strategy_value& s) { add_hybrid_sharded(s, "replica", "shard", 2); }},
    {"hsdp3",
     "level 3: parameters gathered again in backward",
     2,
     {"replica", "shard"},
     [](strategy_value& s) { add_hybrid_sharded(s, "replica", "shard", 3); }},
    {"tp", "tensor parallel: columns, then rows", 1, {"tp"}, [](strategy_value& s) { add_tensor_parallel(s, "tp"); }},
    {"tp-sp",
     "with the sequence sharded between blocks",
     1,
     {"tp"},
     [](strategy_value& s) {
       add_tensor_parallel(s, "tp");
       add_sequence_parallel(s, "tp");
     }},
    {"vocab", "vocabulary parallel", 1, {"tp"}, [](strategy_value& s) { add_vocabulary_parallel(s, "tp"); }},
    {"2d", "2D tensor parallel", 2, {"x", "y"}, [](strategy_value& s) { add_tensor_2d(s, "x", "y"); }},
    {"summa", "SUMMA", 2, {"row", "column"}, [](strategy_value& s) { add_summa(s, "row", "column"); }},
    {"2.5d",
     "SUMMA, repeated over depth",
     3,
     {"depth", "row", "column"},
     [](strategy_value& s) {
       add_data_parallel(s, "depth");
       add_summa(s, "row", "column");
     }},
    {"3d",
     "3D tensor parallel",
     3,
     {"x", "y", "z"},
     [](strategy_value& s) {
       add_tensor_2d(s, "x", "y");
       add_zero(s, "z", 3);
     }},
    {"ulysses", "context parallel by all-to-all", 1, {"cp"}, [](strategy_value& s) { add_ulysses(s, "cp"); }},
    {"gathered",
     "context parallel with gathered keys and values",
     1,
     {"cp"},
     [](strategy_value& s) { add_gathered_context(s, "cp"); }},
    {"ring", "context parallel with rotating keys and values", 1, {"cp"}, [](strategy_value& s) { add_ring(s, "cp"); }},
    {"two-level",
     "ring outside, all-to-all inside",
     2,
     {"ring", "cp"},
     [](strategy_value& s) {
       add_ring(s, "ring");
       add_ulysses(s, "cp");
     }},
    {"ep",
     "expert parallel on the data axis",
     1,
     {"ep"},
     [](strategy_value& s) {
       add_expert_parallel(s, "ep");
       add_data_parallel(s, "ep");
     }},
    {"tp-ep",
     "tensor parallel, experts whole on the same axis",
     1,
     {"tp"},
     [](strategy_value& s) {
       add_replicated_expert_parallel(s, "tp");
       add_tensor_parallel(s, "tp");
     }},
    {"ep-tp",
     "expert parallel, tensor parallel inside",
     2,
     {"ep", "tp"},
     [](strategy_value& s) {
       add_expert_parallel(s, "ep");
       add_data_parallel(s, "ep");
       add_tensor_parallel(s, "tp");
     }},
    {"dp-tp",
     "data and tensor parallel with sequence parallel",
     2,
     {"dp", "tp"},
     [](strategy_value& s) {
       add_data_parallel(s, "dp");
       add_tensor_parallel(s, "tp");
       add_sequence_parallel(s, "tp");
     }},
    {"zero3-tp",
     "fully sharded and tensor parallel",
     2,
     {"dp", "tp"},
     [](strategy_value& s) {
       add_zero(s, "dp", 3);
       add_tensor_parallel(s, "tp");
     }},
    {"dp-ep",
     "data parallel, experts on an inner axis",
     2,
     {"dp", "ep"},
     [](strategy_value& s) {
       add_data_parallel(s, "dp");
       add_expert_parallel(s, "ep");
       add_data_parallel(s, "ep");
     }},
    {"dp-tp-ep-cp",
     "data, tensor, expert and context parallel",
     3,
     {"ep", "cp", "tp"},
     [](strategy_value& s) {
       add_expert_parallel(s, "ep");
       add_data_parallel(s, "ep");
       add_tensor_parallel(s, "tp");
       add_gathered_context(s, "cp");
     }},
};

/// Deals the prime factors of `ranks` to the axes, largest factor first, to the axis that has least, the last of
/// equals.
constexpr void deal_ranks(int ranks, int axes, int* degree) {
  int factor[32] = {}, count = 0;
  for (int f = 2; ranks > 1; ++f)
    for (; ranks % f == 0; ranks /= f) factor[count++] = f;
  for (int a = 0; a < axes; ++a) degree[a] = 1;
  while (count > 0) {
    int least = axes - 1;
    for (int a = axes - 1; a >= 0; --a)
      if (degree[a] < degree[least]) least = a;
    degree[least] *= factor[--count];
  }
}

}  // namespace detail

inline constexpr int named_strategy_count =
    static_cast<int>(sizeof(detail::named_strategy_table) / sizeof(detail::named_strategy_table[0]));

constexpr const named_strategy& named_strategy_at(int i) { return detail::named_strategy_table[i]; }

/// The name that is most like `name`, see `characters_that_differ`; the first of equals. O(names · length²).
constexpr const char* nearest_strategy(const char* name) {
  const auto name_at = [](int i) { return detail::named_strategy_table[i].name; };
  return name_at(detail::nearest_name_of(named_strategy_count, name_at, name));
}

namespace detail {

constexpr strategy_result strategy_called_here(const char* name, int ranks, const int* degrees, int count) {
  strategy_result r;
  r.strategy.name = short_text(name);
  for (const named_strategy& one : named_strategy_table) {
    if (!same_text(one.name, name)) continue;
    int degree[4] = {1, 1, 1, 1};
    extent_t product = 1;
    if (count == 0 && ranks > 0) deal_ranks(ranks, one.axis_count, degree);
    for (int a = 0; a < one.axis_count; ++a) {
      if (a < count) degree[a] = degrees[a];
      product *= degree[a] > 0 ? degree[a] : 0;
    }
    if (product != ranks || ranks < 1 || (count != 0 && count != one.axis_count)) {
      r.strategy.refused = r.status = {strategy_code::ranks_do_not_factor, -1, -1, -1, -1, -1, ranks, product};
      return r;
    }
    r.strategy.mesh = make_mesh(one.axis, one.axis_count, degree, one.axis_count).mesh;
    one.add(r.strategy);
    return r;
  }
  r.strategy.refused.code = r.status.code = strategy_code::name_is_unknown;
  return r;
}
strategy_result strategy_called_in_library(const char* name, int ranks, const int* degrees, int count);

}  // namespace detail

/// The strategy of that name for `ranks` devices, its axes of the given degrees (outer first) or dealt.
/// Fails with `name_is_unknown`, or `ranks_do_not_factor` (`extent` ranks, `pieces` the product of degrees); the
/// strategy then has the name and the reason, and every graph is refused under it.
constexpr strategy_result strategy_called(const char* name, int ranks, const int* degrees, int count) {
  HYPERPARALLEL_TWIN(detail::strategy_called_in_library(name, ranks, degrees, count));
  return detail::strategy_called_here(name, ranks, degrees, count);
}
/// The same of an array, a vector, …; without degrees they are dealt.
constexpr strategy_result strategy_called(const char* name, int ranks, std::span<const int> degrees = {}) {
  return strategy_called(name, ranks, degrees.data(), static_cast<int>(degrees.size()));
}
/// `strategy_called("dp-tp", 8, {4, 2})`.
constexpr strategy_result strategy_called(const char* name, int ranks, std::initializer_list<int> degrees) {
  return strategy_called(name, ranks, std::span<const int>(degrees.begin(), degrees.size()));
}

}}  // namespace hyperparallel::v0_2
