// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pipeline schedules in the files of torch.distributed.pipelining: comma-separated, a row for each rank, no header.
//
//   0F0,0F1,,,0B0,0B1        a cell is stage, kind and micro-batch; an empty one is an idle slot
//   ,1F0,1B0,1F1,1B1         2UNSHARD, 2RESHARD and 2REDUCE_GRAD have no micro-batch
//   (3F2;0B0)OVERLAP_F_B     a forward and the I or B that it runs together with
//
// Torch ends each row with "\r\n", the last too, and quotes nothing. What is written is byte for byte that; "\n" and a last
// row without an end are read as well. Laws: what is read is written back byte for byte, but for the ends of rows; all else
// is one error that names row, column and rank.
//
// Reference: torch.distributed.pipelining.schedules, _Action.from_str, _dump_csv and _load_csv.

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/pipeline/schedule.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Larger texts and tables are refused.
inline constexpr std::size_t largest_torch_table = std::size_t{64} << 20;
inline constexpr std::size_t most_torch_cells = std::size_t{1} << 24;

/// A row is the list of a rank; a cell without an action is an idle slot. A pair is two cells, the `overlapped_forward` and
/// behind it the I or B.
struct torch_table {
  using row = std::vector<std::optional<pipeline_action>>;
  std::vector<row> rows;
  friend bool operator==(const torch_table&, const torch_table&) = default;
};

/// "row 2, column 5 (rank 1): '2F0xyz' is no action: garbage after 2F0". Law: what() holds no line break.
struct torch_table_error : std::runtime_error {
  int row, column;  ///< of the cell in the text, both counted from 1; 0: concerns none
  int rank;         ///< −1: none

  explicit torch_table_error(const std::string& reason);
  torch_table_error(int row_, int column_, const std::string& reason);
};

/// The table of a text. Throws torch_table_error. O(bytes).
torch_table parse_torch_table(std::string_view text);

/// The table of a file. Throws io_error where it cannot be read, and torch_table_error.
torch_table read_torch_table(const std::string& path);

/// The text of a table. Throws torch_table_error of an action that torch does not know: offloads, reloads, recomputation.
/// Precondition: behind each `overlapped_forward` stands an I or B.
std::string write_torch_table(const torch_table& table);

/// The rows of a schedule, idle slots included.
torch_table torch_table_of(const pipeline_schedule& schedule);

/// The schedule of a table, or why it is none.
struct torch_schedule {
  pipeline_status status{};
  pipeline_schedule schedule{};
};

/// The schedule that `table` holds, with its idle slots. Stages lie as `placement` says; without one, where the table runs
/// their forwards: on two ranks each where the halves of the micro-batches run through the same ranks in opposite order. There are as many micro-batches as the largest says, unless given. The status says first of all which
/// action no rank runs, then which one stands on a wrong rank, out of range or twice; that the ranks all end is what a
/// replay proves. O(cells · log cells).
torch_schedule schedule_of(const torch_table& table, std::optional<stage_placement> placement = {},
                           int micro_batches = 0);

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/io/torch_schedule.ipp>
#endif
