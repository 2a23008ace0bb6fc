// SPDX-License-Identifier: Apache-2.0
// The body of source_view.hpp.

#include "source_view.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include <hyperparallel/checkpoint/tensor_set.hpp>

#include "element_type.hpp"
#include "rank_folders.hpp"
#include "slice_cutter.hpp"

namespace hp_tool::reshard {

namespace {

/// Larger extents, of tensors without elements, are refused.
constexpr std::int64_t largest_extent = std::int64_t{1} << 46;

class source_reader {
 public:
  source_reader(const tensor_set& s, const source_request& r) : s_(s), r_(r), ranks_(ranks_of_files(s, r.layout)) {}

  set_view read() {
    for (const set_file& f : s_.files)
      for (const tensor_entry& t : f.tensors) names_.insert(t.name);
    for (std::size_t f = 0; f < s_.files.size(); ++f)
      for (std::size_t t = 0; t < s_.files[f].tensors.size(); ++t) match(static_cast<int>(f), static_cast<int>(t));
    number_layers();
    for (const found& one : found_) take(one);
    for (std::size_t i = 0; i < view_.tensors.size(); ++i) place(i);
    return std::move(view_);
  }

 private:
  /// A tensor of a file with its rule.
  struct found {
    int file, tensor;
    const map_rule* rule;  ///< null: the same on both sides
    numbers captured;
  };
  /// A part of it that is, or has, a slice of a model's tensor.
  struct slice {
    const found* of;
    map_part part;
    tensor_view view;
    numbers extents, strides;
    std::int64_t offset;
    std::vector<std::int64_t> local;
    joined_cut cut;
  };

  const set_file& file_of(const found& o) const { return s_.files[static_cast<std::size_t>(o.file)]; }
  const tensor_entry& entry_of(const found& o) const { return file_of(o).tensors[static_cast<std::size_t>(o.tensor)]; }
  [[noreturn]] void refuse(const found& o, const std::string& why) const {
    throw io_error("read", file_of(o).path, why);
  }

  void match(int f, int t) {
    const tensor_entry& e = s_.files[static_cast<std::size_t>(f)].tensors[static_cast<std::size_t>(t)];
    for (const std::string& glob : r_.left_out)
      if (is_glob_of(glob, e.name)) {
        if (dropped_[e.name]++ == 0) view_.notes.push_back(tensor_title(e.name) + " is left out, as was asked");
        return;
      }
    for (const map_rule& rule : r_.map.rules)
      if (auto captured = rule.theirs.matched(state_name(e.name).tensor, r_.sizes);
          captured && is_meant(rule, *captured, e)) {
        found_.push_back({f, t, &rule, std::move(*captured)});
        return;
      }
    if (r_.map.keeps_others) {
      found_.push_back({f, t, nullptr, {}});
      return;
    }
    throw io_error("read", s_.files[static_cast<std::size_t>(f)].path,
                   tensor_title(e.name) + " has no rule in the map " + quoted_path(r_.map.name) +
                       "; --leave-out names what is not to be carried over");
  }

  /// Of rules of one name the one with as many dims, and with what it stands beside.
  bool is_meant(const map_rule& rule, const numbers& captured, const tensor_entry& e) const {
    if (!rule.is.dims.empty() && rule.is.dims.size() != e.extents.size()) return false;
    if (!rule.beside) return true;
    const auto name = rule.beside->filled(captured, r_.sizes);
    return name && names_.contains(*name);
  }

  /// First numbers of the layers of each stage and of the experts of each rank, where ranks count their own.
  void number_layers() {
    const std::int64_t stages = r_.layout.size_of("pp");
    first_layer_.assign(static_cast<std::size_t>(stages) + 1, 0);
    for (const found& o : found_) {
      const auto layer = o.captured.find("layer"), expert = o.captured.find("expert");
      if (layer != o.captured.end()) {
        std::int64_t& count = first_layer_[static_cast<std::size_t>(stage_of(o)) + 1];
        count = std::max(count, layer->second + 1);
      }
      if (expert != o.captured.end()) local_experts_ = std::max(local_experts_, expert->second + 1);
    }
    for (std::size_t i = 1; i < first_layer_.size(); ++i) first_layer_[i] += first_layer_[i - 1];
  }
  std::int64_t rank_of(const found& o) const { return ranks_[static_cast<std::size_t>(o.file)]; }
  std::int64_t stage_of(const found& o) const { return r_.layout.coordinate(rank_of(o), "pp"); }

  void take(const found& o) {
    const tensor_entry& e = entry_of(o);
    const std::string what = tensor_title(e.name);
    for (const std::int64_t extent : e.extents)
      if (extent > largest_extent) refuse(o, what + " has the extent " + std::to_string(extent));
    try {
      std::vector<std::int64_t> shape = in_units(e.extents, e.dtype, what);
      static const map_part same{};
      if (o.rule == nullptr) {
        add(o, same, plain_view(shape.size()), e.name, numbers_of(shape), 0, shape);
        return;
      }
      const map_rule& rule = *o.rule;
      numbers captured = o.captured;
      if (r_.map.local.contains("layer") && captured.contains("layer"))
        captured["layer"] += first_layer_[static_cast<std::size_t>(stage_of(o))];
      if (r_.map.local.contains("expert") && captured.contains("expert"))
        captured["expert"] += local_experts_ * r_.layout.coordinate(rank_of(o), "ep");
      joined_cut cut;
      if (rule.is_cut_joined && !r_.has_gaps) {  // its shards are of one size
        std::vector<std::string> parts;
        for (const map_part& p : rule.parts) parts.push_back(p.hf.filled(captured, r_.sizes).value_or(p.hf.text()));
        for (std::size_t d = 0; d < shape.size(); ++d) shape[d] *= r_.layout.shards_of(parts[0], d, rank_of(o)).count;
        cut = {joined_slice(r_.layout, parts, shape, rank_of(o)), shape, file_of(o).path, e.name};
      }
      const bool plain = rule.is.dims.empty();
      const tensor_view is = plain ? plain_view(shape.size()) : rule.is;
      numbers known = r_.sizes, extents;
      std::int64_t joined = 0;
      for (const map_part& p : rule.parts) joined += joined_extent(p, r_.sizes, what);
      if (!rule.join.empty()) known[rule.join] = joined;
      extents = solve_view(is, shape, known, what);
      const std::string stacked = rule.stacked();
      std::int64_t offset = 0;
      const numbers strides = strides_of(is, extents, r_.has_gaps || cut.is_cut());
      for (const map_part& p : rule.parts) {
        numbers of_part = extents;
        if (!rule.join.empty()) of_part[rule.join] = joined_extent(p, r_.sizes, what);
        const std::int64_t count = stacked.empty() ? 1 : extents.find(stacked)->second;
        const std::int64_t first = stacked == "expert" ? count * r_.layout.coordinate(rank_of(o), "ep") : 0;
        for (std::int64_t k = 0; k < count; ++k) {
          numbers named = captured;
          if (!stacked.empty()) named[stacked] = first + k;
          const auto name = p.hf.filled(named, r_.sizes);
          if (!name) refuse(o, what + " has no name in " + quoted_path(p.hf.text()));
          add(o, p, plain ? is : p.view, *name, of_part,
              offset + (stacked.empty() ? 0 : k * strides.find(stacked)->second),
              local_of(p, plain ? is : p.view, of_part, what), &strides, cut);
        }
        if (!rule.join.empty()) offset += joined_extent(p, r_.sizes, what) * strides.find(rule.join)->second;
      }
    } catch (const view_error& error) {
      refuse(o, error.what());
    }
  }
  std::vector<std::int64_t> local_of(const map_part& p, const tensor_view& view, numbers extents,
                                     const std::string& what) const {
    if (!p.taken.empty()) extents[p.taken] = extent_before_taking(p, r_.sizes, what);
    return extents_of(view, extents);
  }
  static numbers numbers_of(const std::vector<std::int64_t>& shape) {
    numbers n;
    for (std::size_t d = 0; d < shape.size(); ++d) n["#" + std::to_string(d)] = shape[d];
    return n;
  }

  void add(const found& o, const map_part& part, const tensor_view& view, std::string name, const numbers& extents,
           std::int64_t offset, std::vector<std::int64_t> local, const numbers* strides = nullptr,
           joined_cut cut = {}) {
    if (r_.is_tied && name == "lm_head.weight") {
      name = "model.embed_tokens.weight";
      const std::string note =
          "tensor 'lm_head.weight' is tied to 'model.embed_tokens.weight': where both are there, the first is read";
      if (std::find(view_.notes.begin(), view_.notes.end(), note) == view_.notes.end()) view_.notes.push_back(note);
    }
    const std::string& of_file = entry_of(o).name;
    if (o.rule != nullptr) name = state_name(of_file).of(name);
    const auto [at, is_new] = place_.emplace(name, view_.tensors.size());
    if (is_new) {
      view_.tensors.push_back({name, entry_of(o).dtype, {}, {}});
      slices_.emplace_back();
    }
    if (view_.tensors[at->second].dtype != entry_of(o).dtype)
      refuse(o, tensor_title(entry_of(o).name) + " is " + entry_of(o).dtype + ", elsewhere " + tensor_title(name) +
                    " is " + view_.tensors[at->second].dtype);
    const numbers in_file = strides != nullptr ? *strides : strides_of(view, extents, r_.has_gaps);
    slices_[at->second].push_back({&o, part, view, extents, in_file, offset, std::move(local), std::move(cut)});
  }

  void place(std::size_t i) {
    model_tensor& m = view_.tensors[i];
    const std::size_t rank = slices_[i][0].local.size();
    std::vector<std::int64_t> whole(rank, 0);
    const element_unit unit = unit_of(m.dtype);
    try {
      for (std::size_t d = 0; d < rank; ++d) {
        std::map<std::int64_t, std::int64_t> shard;
        for (const slice& c : slices_[i]) {
          if (c.local.size() != rank)
            refuse(*c.of, tensor_title(m.name) + " has another number of dims than elsewhere");
          shard[c.cut.is_cut() ? 0 : r_.layout.shards_of(m.name, d, rank_of(*c.of)).index] = c.local[d];
        }
        const std::int64_t count = slices_[i][0].cut.is_cut() ? 1 : r_.layout.shards_of(m.name, d, 0).count;
        if (static_cast<std::int64_t>(shard.size()) != count)
          refuse(*slices_[i][0].of, tensor_title(m.name) + " has " + std::to_string(count) + " shards of dim " +
                                        std::to_string(d) + ", the files hold " + std::to_string(shard.size()));
        for (const auto& [index, extent] : shard) whole[d] += extent;
      }
      std::vector<std::int64_t> kept = whole;
      const map_rule* const rule = slices_[i][0].of->rule;
      if (rule != nullptr && rule->rows_multiple && r_.sizes.contains("vocabulary")) {
        kept[0] = r_.sizes.find("vocabulary")->second;
        if (kept[0] > whole[0])
          refuse(*slices_[i][0].of, tensor_title(m.name) + " has " + std::to_string(whole[0]) +
                                        " rows, the vocabulary " + std::to_string(kept[0]));
        if (kept[0] < whole[0])
          view_.notes.push_back(tensor_title(m.name) + ": " + std::to_string(whole[0] - kept[0]) +
                                " rows of padding behind " + std::to_string(kept[0]) + " are left out");
      }
      m.extents = kept;
      if (rank > 0) m.extents.back() *= unit.elements;
      for (const slice& c : slices_[i]) {
        const index_box box = c.cut.is_cut() ? whole_box(whole) : r_.layout.slice_of(m.name, whole, rank_of(*c.of));
        for (std::size_t d = 0; d < rank; ++d)
          if (box[d].extent() != c.local[d])
            refuse(*c.of, tensor_title(m.name) + " has " + hp::detail::extents_text(c.local) + " here, by the layout " +
                              r_.layout.text() + " dim " + std::to_string(d) + " has " +
                              std::to_string(box[d].extent()));
        if (volume_of(box) == 0) continue;
        set_piece p =
            piece_of(c.part, c.view, c.extents, c.strides, c.offset, whole, box, r_.sizes, tensor_title(m.name));
        p.file = c.of->file;
        p.tensor = c.of->tensor;
        if (kept != whole) {  // rows of a plain view
          p.view[0] = {kept[0]};
          p.place.box[0].end = std::min(p.place.box[0].end, kept[0]);
          if (p.place.box[0].begin >= p.place.box[0].end) continue;
        }
        check_packed(p, m.dtype, tensor_title(m.name));
        c.cut.append(m.pieces, std::move(p));
      }
    } catch (const view_error& e) {
      refuse(*slices_[i][0].of, e.what());
    } catch (const layout_error& e) {
      refuse(*slices_[i][0].of, e.what());
    }
  }

  const tensor_set& s_;
  const source_request& r_;
  std::vector<std::int64_t> ranks_;
  std::vector<found> found_;
  std::vector<std::int64_t> first_layer_;
  std::int64_t local_experts_ = 0;
  set_view view_;
  std::map<std::string, std::size_t, std::less<>> place_;
  std::vector<std::vector<slice>> slices_;
  std::map<std::string, int> dropped_;
  std::set<std::string> names_;  ///< of all tensors of all files
};

}  // namespace

set_view read_source_view(const tensor_set& s, const source_request& r) { return source_reader(s, r).read(); }

}  // namespace hp_tool::reshard
