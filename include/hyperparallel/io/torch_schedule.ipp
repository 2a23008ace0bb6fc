// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of torch_schedule.hpp; see support/compiled.hpp.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <hyperparallel/io/text_file.hpp>
#include <hyperparallel/io/torch_schedule.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY torch_table_error::torch_table_error(const std::string& reason)
    : std::runtime_error(reason), row(0), column(0), rank(-1) {}

HYPERPARALLEL_BODY torch_table_error::torch_table_error(int row_, int column_, const std::string& reason)
    : std::runtime_error("row " + std::to_string(row_) + ", column " + std::to_string(column_) + " (rank " +
                         std::to_string(row_ - 1) + "): " + reason),
      row(row_),
      column(column_),
      rank(row_ - 1) {}

namespace detail {

/// Reads the cells of a table, and knows where it is.
class torch_cell_reader {
 public:
  torch_cell_reader(torch_table::row& to, int row) : to_(to), row_(row) {}

  void read(std::string_view cell) {
    ++column_;
    cell_ = rest_ = cell;
    if (cell.empty()) {
      to_.emplace_back();
    } else if (cell.front() == '(') {
      read_pair();
    } else {
      to_.emplace_back(action());
      if (!rest_.empty()) refuse("garbage after " + std::string(cell_.substr(0, cell_.size() - rest_.size())));
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    constexpr std::size_t most_shown = 60;
    const std::string shown = quoted_path(cell_.substr(0, most_shown)) + (cell_.size() > most_shown ? "…" : "");
    throw torch_table_error(row_, column_, shown + " is no action: " + reason);
  }
  std::string_view take(bool (*belongs)(char)) {
    std::size_t size = 0;
    while (size < rest_.size() && belongs(rest_[size])) ++size;
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  int number(const std::string& what) {
    constexpr std::size_t most_digits = 9;
    const std::string_view digits = take([](char c) { return c >= '0' && c <= '9'; });
    if (digits.empty()) refuse("the " + what + " is missing");
    if (digits.size() > most_digits) refuse("the " + what + " has more than 9 digits");
    if (digits.size() > 1 && digits.front() == '0') refuse("the " + what + " begins with 0");
    int n = 0;
    for (const char c : digits) n = 10 * n + (c - '0');
    return n;
  }
  pipeline_action action() {
    if (rest_.find('\0') != std::string_view::npos) refuse("it holds a NUL byte");
    if (rest_.find('"') != std::string_view::npos) refuse("it holds a quote, and torch writes none");
    pipeline_action a;
    a.stage = number("stage");
    const std::string_view letters = take([](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
    if (letters.empty()) refuse("no kind stands behind the stage");
    int kind = 0;
    while (kind <= static_cast<int>(action_kind::reduce_gradient) &&
           letters != action_letters(static_cast<action_kind>(kind)))
      ++kind;
    if (kind > static_cast<int>(action_kind::reduce_gradient))
      refuse("unknown kind " + std::string(letters.substr(0, 20)) +
             "; known: F, I, W, B, SEND_F, RECV_F, SEND_B, RECV_B, UNSHARD, RESHARD, REDUCE_GRAD");
    a.kind = static_cast<action_kind>(kind);
    if (has_micro_batch(a.kind))
      a.micro_batch = number("micro-batch");
    else if (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9')
      refuse(std::string(letters) + " has no micro-batch");
    return a;
  }
  void read_pair() {
    constexpr std::string_view end = ")OVERLAP_F_B";
    rest_.remove_prefix(1);
    pipeline_action forward = action();
    if (!rest_.starts_with(';')) refuse("a pair is (F;B)OVERLAP_F_B");
    rest_.remove_prefix(1);
    const pipeline_action gradient = action();
    if (rest_ != end) refuse("a pair ends with )OVERLAP_F_B");
    const bool is_gradient = gradient.kind == action_kind::input_gradient || gradient.kind == action_kind::backward;
    if (forward.kind != action_kind::forward || !is_gradient) refuse("a pair is an F and behind it an I or B");
    forward.kind = action_kind::overlapped_forward;
    to_.emplace_back(forward);
    to_.emplace_back(gradient);
  }

  torch_table::row& to_;
  int row_, column_ = 0;
  std::string_view cell_, rest_;
};

/// The parts of F, I and W that an action does, as bits.
inline int torch_parts_of(action_kind k) {
  constexpr std::array<int, 5> parts = {1, 2, 4, 6, 1};  // F, I, W, B, overlapped F
  return is_compute(k) ? parts[static_cast<std::size_t>(k)] : 0;
}
inline pipeline_action torch_part(int part, int stage, int micro_batch) {
  constexpr action_kind kinds[] = {action_kind::forward, action_kind::input_gradient, action_kind::weight_gradient};
  return {kinds[part], stage, micro_batch};
}

/// Calls `f(rank, position, action)` for each action, in the order of the text, until it returns false.
template <class F>
void for_torch_actions(const torch_table& table, const F& f) {
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    int position = 0;
    for (const auto& cell : table.rows[r])
      if (cell && !f(static_cast<int>(r), position++, *cell)) return;
  }
}

/// The rank of each copy of each stage by the forwards of the table; of one without any, by what else it has; −1: nothing.
inline std::vector<int> torch_ranks_of_stages(const torch_table& table, int stages, int micro_batches, int copies) {
  const auto size = static_cast<std::size_t>(stages * copies);
  std::vector<int> by_forward(size, -1), by_any(size, -1);
  for_torch_actions(table, [&](int rank, int, const pipeline_action& a) {
    const int k = std::min(a.micro_batch, micro_batches - 1);
    const auto copy = static_cast<std::size_t>(a.stage * copies + k / (micro_batches / copies));
    if (torch_parts_of(a.kind) == 1 && by_forward[copy] < 0) by_forward[copy] = rank;
    if (by_any[copy] < 0) by_any[copy] = rank;
    return true;
  });
  for (std::size_t copy = 0; copy < size; ++copy)
    if (by_forward[copy] < 0) by_forward[copy] = by_any[copy];
  return by_forward;
}

/// Infers where stages lie: twice where the halves of the micro-batches run through the same ranks in opposite order.
inline void infer_torch_ranks(const torch_table& table, pipeline_schedule& s) {
  const auto put = [&](const std::vector<int>& ranks, int copies) {
    s.copies = copies;
    for (const int rank : ranks) s.rank_of_stage.push(rank);
  };
  if (s.micro_batches % 2 == 0) {
    const std::vector<int> twice = torch_ranks_of_stages(table, s.stages, s.micro_batches, 2);
    bool mirrored = true, same = true;
    for (std::size_t i = 0; i < twice.size(); ++i) {
      mirrored = mirrored && twice[i] >= 0 && twice[i] == twice[twice.size() - 1 - i];
      same = same && twice[i] == twice[i ^ 1];
    }
    if (mirrored && !same) return put(twice, 2);
  }
  put(torch_ranks_of_stages(table, s.stages, s.micro_batches, 1), 1);
}

/// The first action that no rank runs, by the rank of its stage, micro-batch and stage.
inline pipeline_status torch_missing(const torch_table& table, const pipeline_schedule& s) {
  std::vector<std::tuple<int, int, int, int>> there;  // rank, micro-batch, stage, part
  bool splits = false, is_whole = false;              // there is an I or W, there is a B
  for_torch_actions(table, [&](int, int, const pipeline_action& a) {
    splits = splits || a.kind == action_kind::input_gradient || a.kind == action_kind::weight_gradient;
    is_whole = is_whole || a.kind == action_kind::backward;
    for (int part = 0; part < 3; ++part)
      if ((torch_parts_of(a.kind) >> part) % 2 == 1 && a.micro_batch < s.micro_batches)
        there.emplace_back(s.rank_of(a), a.micro_batch, a.stage, part);
    return true;
  });
  std::sort(there.begin(), there.end());
  there.erase(std::unique(there.begin(), there.end()), there.end());
  std::vector<std::vector<int>> stages_of(static_cast<std::size_t>(s.ranks * s.copies));  // rank, copy → stages
  for (int i = 0; i < s.rank_of_stage.size; ++i)
    stages_of[static_cast<std::size_t>(s.rank_of_stage[i] * s.copies + i % s.copies)].push_back(i / s.copies);
  auto at = there.begin();
  for (int list = 0; list < s.ranks * s.copies; ++list) {
    const std::vector<int>& stages = stages_of[static_cast<std::size_t>(list)];
    const int r = list / s.copies, first = list % s.copies * s.share();
    for (int k = first; k < first + s.share() && !stages.empty(); ++k)
      for (const int t : stages)
        for (int part = 0; part < 3; ++part, ++at)
          if (at == there.end() || *at != std::tuple(r, k, t, part)) {
            pipeline_action missing = torch_part(part, t, k);
            if (part > 0 && is_whole && !splits) missing.kind = action_kind::backward;  // as the table would write it
            return {.code = pipeline_code::action_is_missing, .rank = r, .action = missing};
          }
  }
  return {};
}

/// The first action out of range, on a wrong rank or done already. Precondition: none is missing.
inline pipeline_status torch_foreign(const torch_table& table, const pipeline_schedule& s) {
  std::vector<unsigned char> done(static_cast<std::size_t>(s.stages) * static_cast<std::size_t>(s.micro_batches), 0);
  pipeline_status status;
  for_torch_actions(table, [&](int rank, int position, const pipeline_action& a) {
    const auto refuse = [&](pipeline_code code, int needed = 0) {
      status = {.code = code, .rank = rank, .position = position, .action = a, .needed = needed};
      return false;
    };
    if (a.micro_batch >= s.micro_batches) return refuse(pipeline_code::action_is_out_of_range);
    if (has_micro_batch(a.kind) ? s.rank_of(a) != rank : !s.lies_on(a.stage, rank))
      return refuse(pipeline_code::action_is_on_a_wrong_rank, s.rank_of(a));
    unsigned char& parts = done[static_cast<std::size_t>(a.stage * s.micro_batches + a.micro_batch)];
    if ((parts & torch_parts_of(a.kind)) != 0) return refuse(pipeline_code::action_stands_twice);
    parts = static_cast<unsigned char>(parts | torch_parts_of(a.kind));
    return true;
  });
  return status;
}

}  // namespace detail

HYPERPARALLEL_BODY torch_table parse_torch_table(std::string_view text) {
  if (text.empty()) throw torch_table_error("the table is empty");
  if (text.size() > largest_torch_table)
    throw torch_table_error("the table is larger than " + std::to_string(largest_torch_table) + " bytes");
  const auto commas = static_cast<std::size_t>(std::count(text.begin(), text.end(), ','));
  if (commas >= most_torch_cells)
    throw torch_table_error("the table has more than " + std::to_string(most_torch_cells) + " cells");
  torch_table table;
  while (!text.empty()) {
    const std::size_t size = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, size);
    const bool ended = size < text.size();
    text.remove_prefix(size + (ended ? 1 : 0));
    if (ended && line.ends_with('\r')) line.remove_suffix(1);
    torch_table::row& row = table.rows.emplace_back();
    const int number = static_cast<int>(table.rows.size());
    if (line.empty()) throw torch_table_error(number, 1, "the row is empty: each rank runs something");
    detail::torch_cell_reader reader(row, number);
    for (;;) {
      const std::size_t comma = line.find(',');
      reader.read(line.substr(0, comma));
      if (comma == std::string_view::npos) break;
      line.remove_prefix(comma + 1);
    }
  }
  return table;
}

HYPERPARALLEL_BODY torch_table read_torch_table(const std::string& path) {
  const std::vector<unsigned char> bytes =
      read_bytes(path, {empty_file::refused, static_cast<std::int64_t>(largest_torch_table)});
  return parse_torch_table({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

HYPERPARALLEL_BODY std::string write_torch_table(const torch_table& table) {
  std::string text;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const torch_table::row& row = table.rows[r];
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += ',';
      if (!row[i]) continue;
      if (row[i]->kind > action_kind::reduce_gradient)
        throw torch_table_error(static_cast<int>(r) + 1, static_cast<int>(i) + 1,
                                std::string("torch has no action ") + text_of(*row[i]).text);
      if (row[i]->kind != action_kind::overlapped_forward) {
        text += text_of(*row[i]).text;
        continue;
      }
      text += std::string("(") + text_of(*row[i]).text + ";";
      text += std::string(text_of(row[i + 1].value()).text) + ")OVERLAP_F_B";
      ++i;
    }
    text += "\r\n";
  }
  return text;
}

HYPERPARALLEL_BODY torch_table torch_table_of(const pipeline_schedule& schedule) {
  torch_table table;
  for (int r = 0; r < schedule.ranks; ++r) {
    torch_table::row& row = table.rows.emplace_back();
    for (int at = schedule.first[r]; at < schedule.first[r + 1]; ++at)
      if (schedule.action[at] == idle_slot)
        row.emplace_back();
      else
        row.emplace_back(schedule.coding().action(schedule.action[at]));
  }
  return table;
}

HYPERPARALLEL_BODY torch_schedule schedule_of(const torch_table& table, std::optional<stage_placement> placement,
                                              int micro_batches) {
  torch_schedule out;
  pipeline_schedule& s = out.schedule;
  s.ranks = static_cast<int>(table.rows.size());
  s.micro_batches = micro_batches;
  std::vector<int> present;  // stages
  detail::for_torch_actions(table, [&](int, int, const pipeline_action& a) {
    present.push_back(a.stage);
    if (micro_batches == 0) s.micro_batches = std::max(s.micro_batches, a.micro_batch + 1);
    return true;
  });
  if (present.empty() || s.micro_batches < 1) {
    out.status.code = pipeline_code::sizes_are_not_positive;
    return out;
  }
  std::sort(present.begin(), present.end());
  present.erase(std::unique(present.begin(), present.end()), present.end());
  // Each rank holds as many stages as any other where their places are given.
  const int largest = present.back(), chunks = placement ? largest / s.ranks + 1 : 1;
  s.stages = placement ? chunks * s.ranks : largest + 1;
  for (int t = 0; t < s.stages; ++t)
    if (t >= static_cast<int>(present.size()) || present[static_cast<std::size_t>(t)] != t) {
      out.status = {.code = pipeline_code::action_is_missing,
                    .rank = placement ? rank_of_stage(*placement, s.ranks, t) : -1,
                    .action = detail::torch_part(0, t, 0)};
      return out;
    }
  if (placement) {
    s.copies = copies_of_stages(*placement);
    s.rank_of_stage = detail::ranks_of_stages(*placement, s.ranks, chunks);
  } else {
    detail::infer_torch_ranks(table, s);
  }
  if (s.micro_batches % s.copies != 0) {
    out.status = {.code = pipeline_code::directions_do_not_divide, .needed = s.copies};
    return out;
  }
  out.status = detail::torch_missing(table, s);
  if (out.status.ok()) out.status = detail::torch_foreign(table, s);
  if (!out.status.ok()) return out;
  for (const torch_table::row& row : table.rows) {
    s.first.push(s.action.size);
    for (const auto& cell : row) s.action.push(cell ? s.coding().code(*cell) : idle_slot);
  }
  s.first.push(s.action.size);
  return out;
}

}}  // namespace hyperparallel::v0_2
