// SPDX-License-Identifier: Apache-2.0
#pragma once
// What becomes of each tensor of a model: the boxes that are read and written, with a certificate.
//
//   reshard_plan p = plan_reshard(source_view, target_view, scaled, block, left_out);
//   p.certificate.bytes_read, .bytes_written, .constant_bytes, .proved_tensors
//
// Of copies in several files the first is read. Laws: each element of a tensor is read from one place, and written to each place that the
// target has for it; each byte of a target's tensor comes from one byte of a source, a scale that is computed, or a constant, which is
// proved by coverage_proof.hpp from the plan alone; scales that are read are all read, and are consumed. Errors: plan_error, one line that names the tensor. O(boxes of a tensor, squared).

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stored_scales.hpp"
#include "target_view.hpp"

namespace hp_tool::reshard {

/// Elements of a tensor in a tensor of a file.
struct file_box {
  int file = 0, tensor = 0;
  placed_box place;  ///< in units
};

/// Numbers that what is stored is multiplied by. They are read where the source stores them, and else made from the tensor and written.
struct scale_plan {
  scale_grid grid;
  std::vector<std::int64_t> extents;  ///< of the scales
  std::string dtype = "F32";
  std::vector<file_box> sources, targets;
  bool is_read() const { return !sources.empty(); }
  std::int64_t volume() const;
};

struct tensor_plan {
  std::string name, source_dtype, target_dtype;
  std::vector<std::int64_t> extents;  ///< of the model's tensor, in units
  std::vector<std::int64_t> dims;     ///< its factors, in which the boxes are
  std::vector<file_box> sources;      ///< disjoint, all of the tensor
  std::vector<file_box> targets;
  std::optional<scale_plan> scales{};
  std::int64_t volume() const;
};

struct reshard_certificate {
  std::int64_t tensors = 0;           ///< of the model
  std::int64_t target_tensors = 0;    ///< of the files that are written
  std::int64_t proved_tensors = 0;    ///< of these
  std::int64_t bytes_read = 0;        ///< each byte of a source that is read, once
  std::int64_t bytes_read_again = 0;  ///< to find scales
  std::int64_t applied_scales = 0;    ///< tensors of scales that are read and are no tensors of the target
  std::int64_t bytes_of_copies = 0;   ///< of sources that are not read, as others hold the same elements
  std::int64_t bytes_written = 0;     ///< with constants
  std::int64_t constant_bytes = 0;
};

struct reshard_plan {
  std::vector<tensor_plan> tensors;
  std::vector<constant_range> constants;
  std::vector<set_file> files;  ///< of the target
  std::vector<std::string> notes;
  reshard_certificate certificate;
};

/// `scaled` are the numbers of tensors that are stored with scales, which are tensors of the target too, NAME_scale_inv, without a
/// source, behind those of the source and in that order. `applied` are scales of weights of the source. Tensors that `left_out` names
/// need no place in the target.
reshard_plan plan_reshard(const set_view& source, target_view target, const std::vector<std::size_t>& scaled,
                          scale_grid grid, const std::vector<std::string>& left_out,
                          const std::map<std::string, stored_scales>& applied = {});

}  // namespace hp_tool::reshard
