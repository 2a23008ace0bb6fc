// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small text table in ASCII: a header with units, a rule, rows.
//
//   report::table t({"operator", "time [ms]", "MiB"});
//   t.row({"GMM1", "1.250", "384.0"});
//
// Laws: all lines of a table are equally wide up to trailing blanks, which are cut; a column is as wide as its widest
// cell; cells that are numbers (with a unit or not) stand right, others left, and a header stands like its column.
// Widths count characters, not bytes.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hyperparallel { inline namespace v0_2 { namespace report {

namespace detail {

/// Characters of a UTF-8 text: bytes that do not continue one.
inline std::size_t text_width(std::string_view text) {
  std::size_t n = 0;
  for (const char c : text) n += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return n;
}

}  // namespace detail

class table {
 public:
  explicit table(std::vector<std::string> header) : header_(std::move(header)) {}

  /// Adds a row; missing cells are empty, cells beyond the header are dropped.
  table& row(std::vector<std::string> cells) {
    cells.resize(header_.size());
    rows_.push_back(std::move(cells));
    return *this;
  }

  std::size_t columns() const { return header_.size(); }
  std::size_t rows() const { return rows_.size(); }

  /// Header, rule and rows, each ended by a line break. O(bytes).
  std::string text() const {
    std::vector<std::size_t> width(columns(), 0);
    std::vector<bool> right(columns(), !rows_.empty());
    for (std::size_t c = 0; c < columns(); ++c) {
      width[c] = detail::text_width(header_[c]);
      for (const std::vector<std::string>& r : rows_) {
        width[c] = width[c] < detail::text_width(r[c]) ? detail::text_width(r[c]) : width[c];
        right[c] = right[c] && is_number(r[c]);
      }
    }
    std::string out;
    line(out, header_, width, right);
    std::vector<std::string> rule;
    for (const std::size_t w : width) rule.emplace_back(w, '-');
    line(out, rule, width, right);
    for (const std::vector<std::string>& r : rows_) line(out, r, width, right);
    return out;
  }

 private:
  static bool is_number(const std::string& cell) {
    const std::size_t digit = cell.empty() ? 0 : cell.find_first_not_of("+-");
    return cell.empty() || (digit < 2 && cell[digit] >= '0' && cell[digit] <= '9') || cell == "-";
  }

  static void line(std::string& out, const std::vector<std::string>& cells, const std::vector<std::size_t>& width,
                   const std::vector<bool>& right) {
    std::string text;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string blanks(width[c] - detail::text_width(cells[c]), ' ');
      if (c > 0) text += "  ";
      text += right[c] ? blanks + cells[c] : cells[c] + blanks;
    }
    text.resize(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  }

  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

}}}  // namespace hyperparallel::v0_2::report
