// SPDX-License-Identifier: Apache-2.0
#pragma once
// Holds the kernel of an operator with operands against the operator's rule and its words for partial operands.
//
// In this order: (1) the kernel writes every element of its results, from its operands alone; (2) for every factor that
// may be sharded, the kernel on pieces gives the pieces of the kernel on the whole, and their reduction where a result
// lacks the factor; the same of all these factors cut at once; (3) a tile, a box of factors that all results have, within
// the blocks of the whole, gives these elements with the bits of the whole and touches no other; (4) two terms of operands
// that may be partial, each through the kernel, reduce to the kernel of their reduction.

#include <set>

#include <hyperparallel/check/tile_check.hpp>
#include <hyperparallel/exec/status_text.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// A factor and where its pieces begin; the last entry is its extent.
struct factor_pieces {
  int factor = 0;
  std::vector<extent_t> begin;
};

class rule_check {
 public:
  rule_check(const kernel_probe& probe, const operator_check_options& options, sample_numbers& random)
      : probe_(probe), options_(options), random_(random) {}

  std::string complaint;      ///< what differs; empty where the rule is kept
  std::set<std::string> cut;  ///< factors whose pieces were asked

  void run() {
    check_memory();
    std::vector<factor_pieces> all;
    for (int f = 0; f < probe_.rule().factor_count && complaint.empty(); ++f) {
      const extent_t extent = probe_.op().loop[f].extent;
      if (is_whole(probe_.rule(), f) || !is_used(probe_.rule(), f) || extent < 2) continue;
      cut.insert(name_of_factor(probe_.rule().factor[f]));
      check_pieces({pieces_of(f, 2)});
      if (extent > 2 && complaint.empty()) check_pieces({pieces_of(f, 3)});
      if (all.size() < 6) all.push_back(pieces_of(f, 2));
    }
    if (all.size() > 1 && complaint.empty()) check_pieces(all);
    if (complaint.empty()) complaint = tile_check(probe_, random_).complaint_of(whole_);
    for (int op = 1; op < reduce_op_count && complaint.empty(); ++op) check_words(static_cast<reduce_op>(op));
  }

  static bool is_used(const factor_rule& rule, int f) {
    bool used = false;
    for (int i = 0; i < rule.operand_count; ++i) used = used || has_factor(rule.operand[i], f);
    for (int r = 0; r < rule.result_count; ++r) used = used || has_factor(rule.result[r], f);
    return used;
  }

 private:
  static std::size_t at(extent_t i) { return static_cast<std::size_t>(i); }

  static double reduced(reduce_op op, double a, double b) {
    switch (op) {
      case reduce_op::max:
        return std::max(a, b);
      case reduce_op::min:
        return std::min(a, b);
      case reduce_op::prod:
        return a * b;
      case reduce_op::avg:
        return (a + b) / 2;
      case reduce_op::all:
        return a != 0 && b != 0 ? 1 : 0;
      case reduce_op::any:
        return a != 0 || b != 0 ? 1 : 0;
      case reduce_op::none:
        return a;
      default:
        return a + b;
    }
  }
  bool agree(double a, double b) const {
    return a == b || std::abs(a - b) <= options_.tolerance * std::max(1.0, std::abs(b));
  }
  sampled_results run_box(const operator_call& c, const std::vector<sampled_block>& operands) {
    probe_memory memory;
    const sampled_results made = probe_.run(c, operands, memory);
    if (complaint.empty()) complaint = memory.fault;
    return made;
  }

  // ---- memory ----

  void check_memory() {
    probe_memory first{1.5, -77, 4.5, {}}, second{-2.25, -78, -3.5, {}};
    whole_ = probe_.run(probe_.whole(), probe_.operand, first);
    const sampled_results again = probe_.run(probe_.whole(), probe_.operand, second);
    complaint = first.fault;
    for (std::size_t r = 0; r < whole_.size(); ++r) {
      const bool numbers = is_in(probe_.value().index_results, static_cast<int>(r));
      for (std::size_t e = 0; e < whole_[r].size() && complaint.empty(); ++e) {
        const double a = whole_[r][e], b = again[r][e];
        const std::string element = "element " + std::to_string(e) + " of result " + std::to_string(r);
        if (numbers ? a == first.number && b == second.number : a == first.value && b == second.value)
          complaint = element + " is left unwritten";
        else if (std::isnan(a) && std::isnan(b))
          complaint = element + " is nan: operator_check_options bounds the values of operands";
        else if (a != b)
          complaint =
              element + " differs between two runs: it depends on what its memory held, or on more than the operands";
      }
    }
  }

  // ---- the rule ----

  /// Random pieces; of one extent where their mean is asked.
  factor_pieces pieces_of(int f, extent_t count) {
    const extent_t extent = probe_.op().loop[f].extent;
    const bool equal = probe_.rule().factor[f].op == reduce_op::avg;
    if (equal && extent % count != 0) count = extent;
    factor_pieces p{f, {0}};
    for (extent_t n = 1; n < count; ++n) {
      const extent_t room = extent - p.begin.back() - (count - n);
      p.begin.push_back(equal ? n * (extent / count) : p.begin.back() + 1 + random_.below(room));
    }
    p.begin.push_back(extent);
    return p;
  }

  /// Every box of the pieces, joined.
  void check_pieces(const std::vector<factor_pieces>& cuts) {
    sampled_results joined;
    std::vector<std::vector<bool>> met;
    for (const std::vector<double>& all : whole_) {
      joined.emplace_back(all.size(), std::nan(""));
      met.emplace_back(all.size(), false);
    }
    std::vector<std::size_t> box(cuts.size(), 0);
    for (bool more = true; more && complaint.empty();) {
      operator_call c = probe_.whole();
      for (std::size_t n = 0; n < cuts.size(); ++n) {
        loop_span& loop = c.loop[cuts[n].factor];
        loop.begin = cuts[n].begin[box[n]];
        loop.extent = cuts[n].begin[box[n] + 1] - loop.begin;
      }
      const sampled_results part = run_box(c, probe_.operand);
      for (int r = 0; r < probe_.op().result_count; ++r) join_box(cuts, c, r, part[at(r)], joined[at(r)], met[at(r)]);
      more = false;
      for (std::size_t n = cuts.size(); n-- > 0 && !more;) {
        more = ++box[n] + 1 < cuts[n].begin.size();
        if (!more) box[n] = 0;
      }
    }
    for (int r = 0; r < probe_.op().result_count; ++r) compare(cuts, r, joined[at(r)]);
  }

  /// Adds a box's block of result `r` to what boxes before it left there. A factor that the result lacks without a
  /// reduction is one that it does not depend on: each of its pieces gives the whole, and the first one's counts.
  void join_box(const std::vector<factor_pieces>& cuts, const operator_call& c, int r, const std::vector<double>& block,
                std::vector<double>& joined, std::vector<bool>& met) {
    const tensor_factors& t = probe_.rule().result[r];
    reduce_op op = reduce_op::none;
    bool repeats = false;
    double share = 1;
    for (const factor_pieces& p : cuts) {
      if (has_factor(t, p.factor)) continue;
      const reduce_op own = probe_.rule().factor[p.factor].op;
      if (own == reduce_op::none) repeats = repeats || c.loop[p.factor].begin > 0;
      if (own != reduce_op::none) op = own == reduce_op::avg ? reduce_op::sum : own;
      if (own == reduce_op::avg) share /= static_cast<double>(p.begin.size() - 1);
    }
    for_each_element(c, t, [&](std::size_t inside, std::size_t local) {
      const double x = share * block[local];
      if (repeats && op == reduce_op::none && complaint.empty() && !agree(x, joined[inside]))
        complaint = "result " + std::to_string(r) + " lacks factor" + names_of(cuts) +
                    " without a reduction, yet a piece gives " + std::to_string(x) + ", another " +
                    std::to_string(joined[inside]);
      if (repeats) return;
      joined[inside] = met[inside] ? reduced(op, joined[inside], x) : x;
      met[inside] = true;
    });
  }

  void compare(const std::vector<factor_pieces>& cuts, int r, const std::vector<double>& joined) {
    bool lacks = false;
    std::size_t boxes = 1;
    for (const factor_pieces& p : cuts) {
      lacks = lacks ||
              (!has_factor(probe_.rule().result[r], p.factor) && probe_.rule().factor[p.factor].op != reduce_op::none);
      boxes *= p.begin.size() - 1;
    }
    const std::vector<double>& all = whole_[at(r)];
    for (std::size_t e = 0; e < joined.size() && complaint.empty(); ++e)
      if (!agree(joined[e], all[e]))
        complaint = "result " + std::to_string(r) + " of " +
                    (boxes == 2   ? "two"
                     : boxes == 3 ? "three"
                                  : std::to_string(boxes)) +
                    " pieces along factor" + names_of(cuts) + (lacks ? ", reduced," : "") + " is " +
                    std::to_string(joined[e]) + ", of the whole " + std::to_string(all[e]);
  }
  std::string names_of(const std::vector<factor_pieces>& cuts) const {
    std::string s = cuts.size() > 1 ? "s" : "";
    for (std::size_t n = 0; n < cuts.size(); ++n)
      s.append(n == 0 ? " " : ", ").append(name_of_factor(probe_.rule().factor[cuts[n].factor]));
    return s;
  }

  // ---- partial operands ----

  /// What the words say of operands that are partial by `op`: each alone, or all of a group together.
  void check_words(reduce_op op) {
    const int operands = probe_.op().operand_count;
    const auto word = [&](int i) { return word_of(probe_.rule().partials, i, op); };
    unsigned group = 0;
    for (int i = 0; i < operands && complaint.empty(); ++i) {
      if (word(i).mode != partial_mode::refuses && probe_.holds_numbers(i))
        complaint = "operand " + std::to_string(i) + " holds numbers, yet may be partial by " + name_of(op);
      else if (word(i).mode == partial_mode::each)
        check_terms(1u << i, op, word(i).out);
      else if (word(i).mode == partial_mode::together)
        group |= 1u << i;
    }
    if (group == 0 || !complaint.empty()) return;
    int first = 0;
    while (!is_in(group, first)) ++first;
    check_terms(group, op, word(first).out);
  }

  /// Two terms of each operand of `group`, reduced before or after. An operand that joins has its value in the first term
  /// and the identity in the other.
  void check_terms(unsigned group, reduce_op op, reduce_op out) {
    std::vector<sampled_block> a = probe_.operand, b = probe_.operand, both = probe_.operand;
    for (int i = 0; i < probe_.op().operand_count; ++i) {
      const bool joins = word_of(probe_.rule().partials, i, op).mode == partial_mode::joins;
      if (is_in(group, i)) b[at(i)].value = probe_.term_of(i, random_);
      if (joins && !is_idempotent(op)) b[at(i)].value.assign(b[at(i)].value.size(), op == reduce_op::prod ? 1.0 : 0.0);
      for (std::size_t e = 0; e < both[at(i)].value.size() && is_in(group, i); ++e)
        both[at(i)].value[e] = reduced(op, a[at(i)].value[e], b[at(i)].value[e]);
    }
    const operator_call whole = probe_.whole();
    const sampled_results of_a = run_box(whole, a), of_b = run_box(whole, b), of_both = run_box(whole, both);
    for (std::size_t r = 0; r < of_both.size(); ++r)
      for (std::size_t e = 0; e < of_both[r].size() && complaint.empty(); ++e) {
        const double joined = reduced(out, of_a[r][e], of_b[r][e]);
        if (!agree(joined, of_both[r][e]))
          complaint = "result " + std::to_string(r) + " of two terms of the operands " + digits(group) +
                      ", partial by " + name_of(op) + ", is " + std::to_string(joined) + ", of their " + name_of(op) +
                      " " + std::to_string(of_both[r][e]);
      }
  }
  static std::string digits(unsigned group) {
    std::string s;
    for (int i = 0; i < max_operands; ++i)
      if (is_in(group, i)) s.append(s.empty() ? "" : ", ").append(std::to_string(i));
    return s;
  }

  const kernel_probe& probe_;
  const operator_check_options& options_;
  sample_numbers& random_;
  sampled_results whole_;
};

}}}  // namespace hyperparallel::v0_2::detail
