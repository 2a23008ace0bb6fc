// SPDX-License-Identifier: Apache-2.0
// The body of plan.hpp.

#include "plan.hpp"

#include <algorithm>
#include <utility>

#include "coverage_proof.hpp"
#include "element_type.hpp"

namespace hp_tool::reshard {

namespace {

/// Boxes of pieces in the refinement `to` of their views.
std::vector<file_box> refined_boxes(const std::vector<set_piece>& pieces, const factored_dims& to) {
  std::vector<file_box> all;
  for (const set_piece& p : pieces)
    for (placed_box& b : refine_box(p.place, p.view, to)) all.push_back({p.file, p.tensor, std::move(b)});
  return all;
}

/// Of boxes that overlap each element once, in the first that has it.
std::vector<file_box> without_copies(const std::vector<file_box>& all) {
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

std::int64_t units_of(const std::vector<file_box>& all) {
  std::int64_t n = 0;
  for (const file_box& b : all) n += volume_of(b.place.box);
  return n;
}

tensor_plan plan_tensor(const model_tensor& source, const model_tensor& target) {
  tensor_plan p{
      source.name, source.dtype, target.dtype, in_units(source.extents, source.dtype, tensor_title(source.name)),
      {},          {},           {},           {}};
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
          throw plan_error(tensor_title(source.name) + ": the views of source and target have factors of dim " +
                           std::to_string(d) + " that do not divide one another");
        view[d] = *finer;
      }
  for (const auto& factors : view) p.dims.insert(p.dims.end(), factors.begin(), factors.end());
  p.sources = without_copies(refined_boxes(source.pieces, view));
  p.targets = refined_boxes(target.pieces, view);
  return p;
}

/// Pieces of scales, whose dims no view has parted.
std::vector<file_box> boxes_of_scales(const model_tensor& scales) {
  factored_dims view;
  for (const std::int64_t e : scales.extents) view.push_back({e});
  return refined_boxes(scales.pieces, view);
}

scale_plan plan_to_read(const stored_scales& s) {
  scale_plan p{s.grid, s.tensor.extents, s.tensor.dtype, without_copies(boxes_of_scales(s.tensor)), {}};
  if (units_of(p.sources) != p.volume())
    throw plan_error(tensor_title(s.tensor.name) + " has " + std::to_string(p.volume()) + " units, the files hold " +
                     std::to_string(units_of(p.sources)));
  return p;
}

strided_set set_of(const placed_box& b) {
  strided_set s{b.offset, {}};
  for (std::size_t d = 0; d < b.box.size(); ++d) s.dims.push_back({b.box[d].extent(), b.stride[d]});
  return s;
}

/// Adds a proof of every target's tensor to the certificate. Throws plan_error where one is not tiled by its pieces and constants.
void prove_plan(reshard_plan& p) {
  std::vector<std::vector<std::vector<strided_set>>> sets(p.files.size());
  for (std::size_t f = 0; f < p.files.size(); ++f) sets[f].resize(p.files[f].tensors.size());
  const auto of = [&](int file, int tensor) -> std::vector<strided_set>& {
    return sets[static_cast<std::size_t>(file)][static_cast<std::size_t>(tensor)];
  };
  for (const tensor_plan& t : p.tensors) {
    for (const file_box& b : t.targets) of(b.file, b.tensor).push_back(set_of(b.place));
    if (t.scales)
      for (const file_box& b : t.scales->targets) of(b.file, b.tensor).push_back(set_of(b.place));
  }
  for (const constant_range& c : p.constants) of(c.file, c.tensor).push_back({c.begin, {{c.end - c.begin, 1}}});
  for (std::size_t f = 0; f < p.files.size(); ++f)
    for (std::size_t t = 0; t < p.files[f].tensors.size(); ++t) {
      const tensor_entry& e = p.files[f].tensors[t];
      if (!tiles((e.end - e.begin) / unit_of(e.dtype).bytes, std::move(sets[f][t])))
        throw plan_error(tensor_title(e.name) + " of " + quoted_path(p.files[f].name) +
                         " would not be written exactly once in all its bytes");
      ++p.certificate.proved_tensors;
    }
}

}  // namespace

std::int64_t scale_plan::volume() const {
  std::int64_t n = 1;
  for (const std::int64_t e : extents) n *= e;
  return n;
}

std::int64_t tensor_plan::volume() const {
  std::int64_t n = 1;
  for (const std::int64_t d : dims) n *= d;
  return n;
}

reshard_plan plan_reshard(const set_view& source, target_view target, const std::vector<std::size_t>& scaled,
                          scale_grid grid, const std::vector<std::string>& left_out,
                          const std::map<std::string, stored_scales>& applied) {
  reshard_plan p;
  p.notes = source.notes;
  const auto may_drop = [&](const std::string& name) {
    return std::any_of(left_out.begin(), left_out.end(),
                       [&](const std::string& glob) { return is_glob_of(glob, name); });
  };
  std::int64_t held = 0;
  for (std::size_t i = 0; i < source.tensors.size(); ++i) {
    const model_tensor &from = source.tensors[i], &to = target.view.tensors[i];
    tensor_plan t = plan_tensor(from, to);
    const std::int64_t volume = t.volume(), bytes = unit_of(from.dtype).bytes;
    if (units_of(t.sources) != volume)
      throw plan_error(tensor_title(t.name) + " has " + std::to_string(volume) + " units, the files hold " +
                       std::to_string(units_of(t.sources)));
    const std::int64_t written = units_of(without_copies(t.targets));
    if (written != volume) {
      if (!may_drop(t.name))
        throw plan_error(tensor_title(t.name) + " is not carried over" +
                         (written == 0 ? ": no rule of the target's map writes it" : " in all its elements") +
                         "; --leave-out allows that");
      p.notes.push_back(tensor_title(t.name) + " is left out, as was asked");
      if (written == 0) continue;
    }
    for (const set_piece& piece : from.pieces) held += volume_of(piece.place.box) * bytes;
    p.certificate.bytes_read += volume * bytes;
    p.certificate.bytes_written += units_of(t.targets) * unit_of(to.dtype).bytes;
    if (const auto at = std::find(scaled.begin(), scaled.end(), i); at != scaled.end()) {
      const model_tensor& scales =
          target.view.tensors[source.tensors.size() + static_cast<std::size_t>(at - scaled.begin())];
      t.scales = scale_plan{grid, scales.extents, "F32", {}, boxes_of_scales(scales)};
      p.certificate.bytes_read_again += volume * bytes;
      p.certificate.bytes_written += units_of(t.scales->targets) * 4;
    }
    if (const auto s = applied.find(t.name); s != applied.end()) {
      const std::int64_t each = unit_of(s->second.tensor.dtype).bytes;
      for (const set_piece& piece : s->second.tensor.pieces) held += volume_of(piece.place.box) * each;
      if (volume > 0) t.scales = plan_to_read(s->second);
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

}  // namespace hp_tool::reshard
