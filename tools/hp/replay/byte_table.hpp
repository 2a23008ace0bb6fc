// SPDX-License-Identifier: Apache-2.0
#pragma once
// The table of moves: what the plan of a vector receives, what any plan must, what ours does. As text and as JSON.
//
// Bytes of elements as the vector types them, one byte each where it does not. "-" where a vector states no plan, or
// the bound of the busiest rank is no matter of boxes; ">=" where it states a part of its plan, whose rest counts with
// the least.

#include <cmath>
#include <iomanip>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "../json_output.hpp"
#include "verdict.hpp"

namespace replay {

class byte_table {
 public:
  void add(std::string id, const byte_figures& f) {
    if (f.known) rows_.emplace_back(std::move(id), f);
  }

  /// One line a move. Received bytes: of the busiest rank, and of all ranks.
  void print(std::ostream& out) const {
    if (rows_.empty()) return;
    const char* const heads[] = {"theirs max", "theirs sum", "bound max", "bound sum", "ours max", "ours sum", "ratio"};
    for (const char* head : heads) out << std::setw(13) << head;
    out << "  vector\n";
    for (const auto& [id, f] : rows_) {
      const bool part = f.at_least;
      for (const std::string& cell :
           {amount(f.theirs.maximum, part), amount(f.theirs.total, part), amount(f.bound.maximum),
            amount(f.bound.total), amount(f.ours.maximum), amount(f.ours.total), ratio_text(f)})
        out << std::setw(13) << cell;
      out << "  " << id << '\n';
    }
  }

  /// One line a file.
  void summarise(std::ostream& out) const {
    if (rows_.empty()) return;
    const totals t = add_up();
    out << "  " << rows_.size() << " moves: ours = bound in " << t.ours_at;
    if (t.stated > 0) out << "; theirs stated in " << t.stated << ", = bound in " << t.theirs_at;
    if (t.compared > 0)
      out << "; theirs / ours " << std::fixed << std::setprecision(2) << t.mean << " (geometric mean of " << t.compared
          << "), at most " << t.worst;
    if (t.needless > 0) out << "; " << t.needless << " where only theirs receives";
    out << '\n';
  }

  /// The lines of both as JSON: `moves`, and what they amount to. null: not known.
  hp_tool::json document() const {
    using hp_tool::json;
    const auto known = [](std::int64_t bytes) { return bytes < 0 ? json() : json(bytes); };
    json moves = json::array();
    for (const auto& [id, f] : rows_)
      moves.push_back({{"id", id},
                       {"theirs_max_bytes", known(f.theirs.maximum)},
                       {"theirs_sum_bytes", known(f.theirs.total)},
                       {"theirs_at_least", f.at_least},
                       {"bound_max_bytes", known(f.bound.maximum)},
                       {"bound_sum_bytes", known(f.bound.total)},
                       {"ours_max_bytes", known(f.ours.maximum)},
                       {"ours_sum_bytes", known(f.ours.total)},
                       {"ratio", f.theirs.total < 0 || f.ours.total == 0 ? json() : json(ratio_of(f))}});
    const totals t = add_up();
    return {{"moves", std::move(moves)},
            {"ours_at_bound", t.ours_at},
            {"theirs_stated", t.stated},
            {"theirs_at_bound", t.theirs_at},
            {"compared", t.compared},
            {"ratio_mean", t.compared > 0 ? json(t.mean) : json()},
            {"ratio_worst", t.compared > 0 ? json(t.worst) : json()},
            {"only_theirs_receives", t.needless}};
  }

 private:
  /// `mean` is the geometric one of theirs over ours, where both receive.
  struct totals {
    long ours_at = 0, stated = 0, theirs_at = 0, needless = 0, compared = 0;
    double mean = 1, worst = 1;
  };
  totals add_up() const {
    totals t;
    double logs = 0;
    for (const auto& [id, f] : rows_) {
      t.ours_at += is_bound(f.ours, f.bound) ? 1 : 0;
      if (f.theirs.total < 0) continue;
      ++t.stated;
      t.theirs_at += is_bound(f.theirs, f.bound) ? 1 : 0;
      if (f.ours.total == 0) {
        t.needless += f.theirs.total > 0 ? 1 : 0;
        continue;
      }
      const double ratio = ratio_of(f);
      ++t.compared;
      logs += std::log(ratio);
      t.worst = ratio > t.worst ? ratio : t.worst;
    }
    if (t.compared > 0) t.mean = std::exp(logs / static_cast<double>(t.compared));
    return t;
  }
  static bool is_bound(const received_bytes& a, const received_bytes& bound) {
    return a.total == bound.total && (bound.maximum < 0 || a.maximum == bound.maximum);
  }
  static double ratio_of(const byte_figures& f) {
    return static_cast<double>(f.theirs.total) / static_cast<double>(f.ours.total);
  }
  static std::string amount(std::int64_t bytes, bool at_least = false) {
    if (bytes < 0) return "-";
    return (at_least ? ">=" : "") + std::to_string(bytes);
  }
  static std::string ratio_text(const byte_figures& f) {
    if (f.theirs.total < 0) return "-";
    if (f.ours.total == 0) return f.theirs.total == 0 ? "1.00" : "inf";
    const std::int64_t hundredths = std::llround(100 * ratio_of(f));
    const std::string cents = std::to_string(hundredths % 100);
    return std::to_string(hundredths / 100) + (cents.size() == 1 ? ".0" : ".") + cents;
  }

  std::vector<std::pair<std::string, byte_figures>> rows_{};
};

}  // namespace replay
