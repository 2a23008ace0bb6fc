// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pipeline schedule as a picture in text, one line a rank:
//
//   1F1B: 2 ranks, 2 stages, 3 micro-batches
//   makespan 12, bubble 3 (25.0 %), of the longest rank 3 (25.0 %); at most 2 chunk activations on a rank
//   0 |F0F1....B0--F2B1--..B2--| peak 2
//   1 |..F0B0--F1B1--F2B2--....| peak 1
//
// Laws: where a unit of time is one column or more, each box has as many columns as its time; otherwise a column shows what
// takes most of it. A label that has no room loses the chunk, then the micro-batch, and never shows a part of a number.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/report/draw_pipeline.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace report {

struct pipeline_text_options {
  int width = 120;  ///< of a line; the picture has at least 16 columns of it
};

namespace detail {

/// One unit of time is `columns` columns, or one column is `units` units; one of the two is 1.
struct text_scale {
  int columns = 1;
  std::int64_t units = 1;
};

inline std::string base_36(int n) {
  std::string out;
  for (; n > 0 || out.empty(); n /= 36) out.insert(out.begin(), "0123456789abcdefghijklmnopqrstuvwxyz"[n % 36]);
  return out;
}

/// Labels of actions in as many columns as there are.
class pipeline_labels {
 public:
  explicit pipeline_labels(const pipeline_drawing& d) : d_(d) {}

  /// Columns of the longest label of one action.
  int columns() const { return 1 + static_cast<int>(base_36(d_.micro_batches - 1).size()) + (d_.chunks > 2); }
  std::string of(const pipeline_box& b, std::size_t room) const {
    if (!b.is_pair) return longest_of({whole(b.action), short_form(b.action), letter(b.action)}, room);
    return longest_of({whole(b.action) + "+" + whole(b.beside), short_form(b.action) + short_form(b.beside),
                       letter(b.action) + letter(b.beside), "+"},
                      room);
  }

 private:
  static std::string longest_of(const std::vector<std::string>& forms, std::size_t room) {
    for (const std::string& form : forms)
      if (form.size() <= room) return form;
    return "";
  }
  std::string letter(const pipeline_action& a) const {
    const char capital = action_letters(a.kind)[0];
    return {d_.chunks == 2 && d_.chunk_of(a) == 1 ? static_cast<char>(capital - 'A' + 'a') : capital};
  }
  std::string short_form(const pipeline_action& a) const { return letter(a) + base_36(a.micro_batch); }
  std::string whole(const pipeline_action& a) const {
    return (d_.chunks > 2 ? base_36(d_.chunk_of(a)) : "") + short_form(a);
  }

  const pipeline_drawing& d_;
};

/// So many columns for a unit that the shortest action has room for its label; fewer where the picture would be too wide.
inline text_scale scale_of(const pipeline_drawing& d, int wanted, int columns) {
  std::int64_t shortest = 0;
  for (const std::vector<pipeline_box>& row : d.row)
    for (const pipeline_box& b : row)
      if (b.takes_time() && (shortest == 0 || b.end - b.start < shortest)) shortest = b.end - b.start;
  if (shortest == 0) return {};
  const std::int64_t makespan = d.account.makespan;
  std::int64_t each = ceil_divide(std::int64_t{wanted}, shortest);
  while (each > 1 && makespan > columns / each) --each;
  return {static_cast<int>(each), makespan <= columns ? 1 : ceil_divide(makespan, std::int64_t{columns})};
}

/// The picture of one rank; counts the boxes that have no column.
inline std::string text_row(const pipeline_drawing& d, const std::vector<pipeline_box>& row, const text_scale& scale,
                            int& unseen) {
  const std::int64_t total = d.account.makespan * scale.columns;
  const std::size_t columns = static_cast<std::size_t>(ceil_divide(total, scale.units));
  std::vector<int> shown(columns, -1);
  std::vector<std::int64_t> most(columns, 0), idle(columns, scale.units);
  if (columns > 0) idle.back() = total - scale.units * (static_cast<std::int64_t>(columns) - 1);
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!row[i].takes_time()) continue;
    const std::int64_t start = row[i].start * scale.columns, end = row[i].end * scale.columns;
    for (std::int64_t c = start / scale.units; c * scale.units < end; ++c) {
      const std::int64_t from = larger(start, c * scale.units), next = (c + 1) * scale.units;
      const std::int64_t met = (end < next ? end : next) - from;
      const std::size_t column = static_cast<std::size_t>(c);
      idle[column] -= met;
      if (met <= most[column]) continue;
      most[column] = met;
      shown[column] = static_cast<int>(i);
    }
  }
  for (std::size_t c = 0; c < columns; ++c)
    if (idle[c] > most[c]) shown[c] = -1;
  const pipeline_labels labels(d);
  std::string out(columns, '.');
  int seen = 0, boxes = 0;
  for (std::size_t c = 0, next = 0; c < columns; c = next) {
    for (next = c + 1; next < columns && shown[next] == shown[c];) ++next;
    if (shown[c] < 0) continue;
    std::string label = labels.of(row[static_cast<std::size_t>(shown[c])], next - c);
    label.resize(next - c, '-');
    out.replace(c, next - c, label);
    ++seen;
  }
  for (const pipeline_box& b : row) boxes += b.takes_time();
  unseen += boxes - seen;
  return out;
}

inline std::string text_legend(const pipeline_drawing& d, const text_scale& scale, int unseen) {
  bool used[hyperparallel::detail::action_kinds] = {};
  int timeless = 0;
  for (const std::vector<pipeline_box>& row : d.row)
    for (const pipeline_box& b : row) {
      used[static_cast<int>(b.action.kind)] |= b.takes_time();
      if (b.is_pair) used[static_cast<int>(b.beside.kind)] |= b.takes_time();
      timeless += !b.takes_time();
    }
  const auto has = [&used](action_kind k) { return used[static_cast<int>(k)]; };
  std::string out = "F forward";
  if (has(action_kind::backward)) out += ", B backward";
  if (has(action_kind::input_gradient)) out += ", I gradient of the input";
  if (has(action_kind::weight_gradient)) out += ", W gradient of the weights";
  if (has(action_kind::recompute)) out += ", R recomputation";
  out += ", then the micro-batch in base 36; - goes on, . idle\n";
  if (d.chunks == 2) out += "capitals: the rank's first chunk, small letters: its second\n";
  if (d.chunks > 2) out += "before the letter: the rank's chunk\n";
  if (has(action_kind::overlapped_forward)) out += "F+B: a forward and a backward that run together\n";
  if (scale.units == 1)
    out += fmt::format("{} column{} a unit of time\n", scale.columns, scale.columns == 1 ? "" : "s");
  else
    out += fmt::format("a column is {} units of time and shows what takes most of it\n", scale.units);
  if (unseen > 0) out += fmt::format("{} actions have no column of their own\n", unseen);
  if (timeless > 0) out += fmt::format("{} actions take no time and are not drawn\n", timeless);
  return out;
}

}  // namespace detail

/// The picture with title, figures and legend, each line ended by a line break. O(entries + ranks · width).
inline std::string draw_pipeline_text(const pipeline_drawing& d, const pipeline_text_options& options = {}) {
  constexpr int fewest_columns = 16;
  const std::size_t digits = std::to_string(d.ranks - 1).size();
  std::vector<std::string> behind;
  std::size_t taken = 0;
  for (int r = 0; r < d.ranks; ++r) {
    behind.push_back("| peak " + d.amount_text(d.peak(r)));
    taken = behind.back().size() > taken ? behind.back().size() : taken;
  }
  const int room = options.width - static_cast<int>(digits + 2 + taken);
  const int wanted = detail::pipeline_labels(d).columns();
  const detail::text_scale scale = detail::scale_of(d, wanted, room < fewest_columns ? fewest_columns : room);
  std::string out = title_of(d) + "\n" + figures_of(d) + "\n";
  int unseen = 0;
  for (int r = 0; r < d.ranks; ++r) {
    const std::size_t at = static_cast<std::size_t>(r);
    out += fmt::format("{:>{}} |{}{}\n", r, digits, detail::text_row(d, d.row[at], scale, unseen), behind[at]);
  }
  return out + detail::text_legend(d, scale, unseen);
}

}}}  // namespace hyperparallel::v0_2::report
