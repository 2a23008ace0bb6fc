// SPDX-License-Identifier: Apache-2.0
#pragma once
// What becomes of each tensor of a model: the boxes that are read and written, with a certificate.
//
//   hp::reshard::reshard_plan p = hp::reshard::plan_reshard(source_view, target_view, scaled, block, left_out);
//   p.certificate.bytes_read, .bytes_written, .constant_bytes, .proved_tensors
//
// Of copies in several files the first is read. Laws: each element of a tensor is read from one place, and written to each place that the
// target has for it; each byte of a target's tensor comes from one byte of a source, a scale that is computed, or a constant, which is
// proved by coverage_proof.hpp from the plan alone; scales that are read are all read, and are consumed. Errors: plan_error, one line that names the tensor. O(boxes of a tensor, squared).

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/checkpoint/coverage_proof.hpp>
#include <hyperparallel/checkpoint/stored_scales.hpp>
#include <hyperparallel/checkpoint/target_view.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

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
  std::int64_t volume() const {
    std::int64_t n = 1;
    for (const std::int64_t e : extents) n *= e;
    return n;
  }
};

struct tensor_plan {
  std::string name, source_dtype, target_dtype;
  std::vector<std::int64_t> extents;  ///< of the model's tensor, in units
  std::vector<std::int64_t> dims;     ///< its factors, in which the boxes are
  std::vector<file_box> sources;      ///< disjoint, all of the tensor
  std::vector<file_box> targets;
  std::optional<scale_plan> scales{};

  std::int64_t volume() const {
    std::int64_t n = 1;
    for (const std::int64_t d : dims) n *= d;
    return n;
  }
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

namespace detail {

/// Boxes of pieces in the refinement `to` of their views.
inline std::vector<file_box> refined_boxes(const std::vector<set_piece>& pieces, const factored_dims& to) {
  std::vector<file_box> all;
  for (const set_piece& p : pieces)
    for (placed_box& b : refine_box(p.place, p.view, to)) all.push_back({p.file, p.tensor, std::move(b)});
  return all;
}

/// Of boxes that overlap each element once, in the first that has it.
inline std::vector<file_box> without_copies(const std::vector<file_box>& all) {
  std::vector<file_box> kept;
  for (const file_box& one : all) {
    std::vector<index_box> left = {one.place.box};
    for (std::size_t i = 0; i < kept.size() && !left.empty(); ++i) {
      std::vector<index_box> next;
      for (index_box& b : left) {
        if (const auto both = intersection_of(b, kept[i].place.box))
          append_difference(next, std::move(b), *both);
        else
          next.push_back(std::move(b));
      }
      left = std::move(next);
    }
    for (const index_box& b : left) kept.push_back({one.file, one.tensor, one.place.part(b)});
  }
  return kept;
}

inline std::int64_t volume_of(const std::vector<file_box>& all) {
  std::int64_t n = 0;
  for (const file_box& b : all) n += reshard::detail::volume_of(b.place.box);
  return n;
}

inline tensor_plan plan_tensor(const model_tensor& source, const model_tensor& target) {
  tensor_plan p{source.name,  source.dtype,
                target.dtype, in_units(source.extents, source.dtype, detail::tensor_title(source.name)),
                {},           {},
                {},           {}};
  bool is_empty = false;
  for (const std::int64_t e : p.extents) is_empty = is_empty || e == 0;
  if (is_empty) {
    p.dims = {0};
    return p;
  }
  factored_dims view;
  for (const std::int64_t e : p.extents) view.push_back({e});
  for (const std::vector<set_piece>* pieces : {&source.pieces, &target.pieces})
    for (const set_piece& piece : *pieces)
      for (std::size_t d = 0; d < view.size(); ++d) {
        const auto finer = refined(view[d], piece.view[d]);
        if (!finer)
          throw plan_error(detail::tensor_title(source.name) + ": the views of source and target have factors of dim " +
                           std::to_string(d) + " that do not divide one another");
        view[d] = *finer;
      }
  for (const auto& factors : view) p.dims.insert(p.dims.end(), factors.begin(), factors.end());
  p.sources = without_copies(refined_boxes(source.pieces, view));
  p.targets = refined_boxes(target.pieces, view);
  return p;
}

/// Pieces of scales, whose dims no view has parted.
inline std::vector<file_box> boxes_of_scales(const model_tensor& scales) {
  factored_dims view;
  for (const std::int64_t e : scales.extents) view.push_back({e});
  return refined_boxes(scales.pieces, view);
}
inline scale_plan plan_to_read(const stored_scales& s) {
  scale_plan p{s.grid, s.tensor.extents, s.tensor.dtype, without_copies(boxes_of_scales(s.tensor)), {}};
  if (volume_of(p.sources) != p.volume())
    throw plan_error(detail::tensor_title(s.tensor.name) + " has " + std::to_string(p.volume()) +
                     " units, the files hold " + std::to_string(volume_of(p.sources)));
  return p;
}

inline strided_set set_of(const placed_box& b) {
  strided_set s{b.offset, {}};
  for (std::size_t d = 0; d < b.box.size(); ++d) s.dims.push_back({b.box[d].extent(), b.stride[d]});
  return s;
}

}  // namespace detail

/// Adds a proof of every target's tensor to the certificate. Throws plan_error where one is not tiled by its pieces and constants.
inline void prove_plan(reshard_plan& p) {
  std::vector<std::vector<std::vector<strided_set>>> sets(p.files.size());
  for (std::size_t f = 0; f < p.files.size(); ++f) sets[f].resize(p.files[f].tensors.size());
  const auto of = [&](int file, int tensor) -> std::vector<strided_set>& {
    return sets[static_cast<std::size_t>(file)][static_cast<std::size_t>(tensor)];
  };
  for (const tensor_plan& t : p.tensors) {
    for (const file_box& b : t.targets) of(b.file, b.tensor).push_back(detail::set_of(b.place));
    if (t.scales)
      for (const file_box& b : t.scales->targets) of(b.file, b.tensor).push_back(detail::set_of(b.place));
  }
  for (const constant_range& c : p.constants) of(c.file, c.tensor).push_back({c.begin, {{c.end - c.begin, 1}}});
  for (std::size_t f = 0; f < p.files.size(); ++f)
    for (std::size_t t = 0; t < p.files[f].tensors.size(); ++t) {
      const tensor_entry& e = p.files[f].tensors[t];
      if (!tiles((e.end - e.begin) / unit_of(e.dtype).bytes, std::move(sets[f][t])))
        throw detail::plan_error(detail::tensor_title(e.name) + " of " + quoted_path(p.files[f].name) +
                                 " would not be written exactly once in all its bytes");
      ++p.certificate.proved_tensors;
    }
}

namespace detail {

/// `scaled` are the numbers of tensors that are stored with scales, which are tensors of the target too, NAME_scale_inv, without a
/// source, behind those of the source and in that order. `applied` are scales of weights of the source. Tensors that `left_out` names
/// need no place in the target.
inline reshard_plan plan_reshard(const set_view& source, target_view target, const std::vector<std::size_t>& scaled,
                                 scale_grid grid, const std::vector<std::string>& left_out,
                                 const std::map<std::string, stored_scales>& applied = {}) {
  reshard_plan p;
  p.notes = source.notes;
  const auto may_drop = [&](const std::string& name) {
    return std::any_of(left_out.begin(), left_out.end(),
                       [&](const std::string& glob) { return is_glob_of(glob, name); });
  };
  std::int64_t held = 0;
  for (std::size_t i = 0; i < source.tensors.size(); ++i) {
    const model_tensor &from = source.tensors[i], &to = target.view.tensors[i];
    tensor_plan t = detail::plan_tensor(from, to);
    const std::int64_t volume = t.volume(), bytes = unit_of(from.dtype).bytes;
    if (detail::volume_of(t.sources) != volume)
      throw plan_error(detail::tensor_title(t.name) + " has " + std::to_string(volume) + " units, the files hold " +
                       std::to_string(detail::volume_of(t.sources)));
    const std::int64_t written = detail::volume_of(detail::without_copies(t.targets));
    if (written != volume) {
      if (!may_drop(t.name))
        throw plan_error(detail::tensor_title(t.name) + " is not carried over" +
                         (written == 0 ? ": no rule of the target's map writes it" : " in all its elements") +
                         "; --leave-out allows that");
      p.notes.push_back(detail::tensor_title(t.name) + " is left out, as was asked");
      if (written == 0) continue;
    }
    for (const set_piece& piece : from.pieces) held += volume_of(piece.place.box) * bytes;
    p.certificate.bytes_read += volume * bytes;
    p.certificate.bytes_written += detail::volume_of(t.targets) * unit_of(to.dtype).bytes;
    if (const auto at = std::find(scaled.begin(), scaled.end(), i); at != scaled.end()) {
      const model_tensor& scales =
          target.view.tensors[source.tensors.size() + static_cast<std::size_t>(at - scaled.begin())];
      t.scales = scale_plan{grid, scales.extents, "F32", {}, detail::boxes_of_scales(scales)};
      p.certificate.bytes_read_again += volume * bytes;
      p.certificate.bytes_written += detail::volume_of(t.scales->targets) * 4;
    }
    if (const auto s = applied.find(t.name); s != applied.end()) {
      const std::int64_t each = unit_of(s->second.tensor.dtype).bytes;
      for (const set_piece& piece : s->second.tensor.pieces) held += volume_of(piece.place.box) * each;
      if (volume > 0) t.scales = detail::plan_to_read(s->second);
      p.certificate.bytes_read += (t.scales ? t.scales->volume() : 0) * each;
      ++p.certificate.applied_scales;
    }
    p.tensors.push_back(std::move(t));
  }
  p.certificate.bytes_of_copies = std::max<std::int64_t>(held - p.certificate.bytes_read, 0);
  p.certificate.tensors = static_cast<std::int64_t>(p.tensors.size());
  p.constants = std::move(target.view.constants);
  p.files = std::move(target.files);
  for (const constant_range& c : p.constants)
    p.certificate.constant_bytes +=
        (c.end - c.begin) *
        unit_of(p.files[static_cast<std::size_t>(c.file)].tensors[static_cast<std::size_t>(c.tensor)].dtype).bytes;
  p.certificate.bytes_written += p.certificate.constant_bytes;
  for (const set_file& f : p.files) p.certificate.target_tensors += static_cast<std::int64_t>(f.tensors.size());
  prove_plan(p);
  return p;
}

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::reshard
