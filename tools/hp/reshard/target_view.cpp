// SPDX-License-Identifier: Apache-2.0
// The body of target_view.hpp.

#include "target_view.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "element_type.hpp"
#include "map_instances.hpp"
#include "rank_folders.hpp"
#include "slice_cutter.hpp"

namespace hp_tool::reshard {

namespace {

class target_writer {
 public:
  target_writer(const std::vector<model_tensor>& source, const dtype_list& dtypes, const target_request& r) : r_(r) {
    for (std::size_t i = 0; i < source.size(); ++i) {
      out_.view.tensors.push_back({source[i].name, dtypes[i], source[i].extents, {}});
      layers_ = std::max(layers_, layer_of(source[i].name).value_or(-1) + 1);
      experts_ = std::max(experts_, expert_of(source[i].name).value_or(-1) + 1);
      names_.emplace(source[i].name, i);
    }
    if (!r_.layout.stages.empty() && r_.layout.layers_of(r_.layout.size_of("pp") - 1, layers_).end != layers_)
      throw layout_error("'stages' are of " +
                         std::to_string(r_.layout.layers_of(r_.layout.size_of("pp") - 1, layers_).end) +
                         " layers, the model has " + std::to_string(layers_));
    // A head that is tied is written on the last of several stages, which has no table of its own.
    if (r_.is_tied && r_.layout.size_of("pp") > 1 && !r_.map.head.empty() && !names_.contains(r_.map.head))
      if (const auto table = names_.find(r_.map.head_tied_to); table != names_.end())
        names_.emplace(r_.map.head, table->second);
  }

  target_view write() {
    map_instances found = instances_of(names_, r_.map, r_.sizes);
    instances_ = std::move(found.instances);
    out_.not_carried = std::move(found.not_carried);
    for (std::int64_t rank = 0; rank < r_.layout.ranks(); ++rank) write_rank(rank);
    return std::move(out_);
  }

 private:
  /// A tensor of one rank.
  struct local_tensor {
    const map_instance* of;
    tensor_entry entry;
    std::vector<std::pair<std::size_t, set_piece>> pieces;  ///< of which tensor of the model
    std::vector<index_range> constants;
  };

  std::string name_on(const map_instance& one, std::int64_t rank) const {
    if (one.rule == nullptr) return one.parts[0].begin()->second.first;
    numbers local = one.captured;
    if (r_.map.local.contains("layer") && local.contains("layer"))
      local["layer"] -= r_.layout.layers_of(r_.layout.coordinate(rank, "pp"), layers_).begin;
    if (r_.map.local.contains("expert") && local.contains("expert"))
      local["expert"] -= r_.layout.experts_of(rank, experts_).begin;
    const auto name = one.rule->theirs.filled(local, r_.sizes);
    if (!name) throw layout_error(quoted_path(one.rule->theirs.text()) + " lacks a number");
    return one.before + *name + one.after;
  }

  /// Names and numbers of tensors of the model, of each part of a rule.
  using held_parts = std::vector<std::vector<std::pair<std::string, std::size_t>>>;
  /// The slice of a tensor of the model that a rank has, as a part of a tensor of the framework.
  struct rank_part {
    const map_part* part;
    tensor_view view;
    numbers extents;
    std::vector<std::int64_t> whole;
    index_box slice;
    std::size_t tensor;
    std::int64_t at;  ///< place in the stack
  };

  static const map_rule& rule_of(const map_instance& one) {
    static const map_rule unchanged{};
    return one.rule != nullptr ? *one.rule : unchanged;
  }

  held_parts parts_held_by(const map_instance& one, std::int64_t rank) const {
    held_parts held(one.parts.size());
    for (std::size_t p = 0; p < one.parts.size(); ++p)
      for (const auto& [at, tensor] : one.parts[p])
        if (r_.layout.holds(tensor.first, rank, layers_, experts_)) held[p].push_back(tensor);
    for (std::size_t p = 1; p < held.size(); ++p)
      if (held[p].size() != held[0].size())
        throw layout_error("the layout parts " +
                           quoted_path(held[0].empty() ? rule_of(one).parts[0].hf.text() : held[0][0].first) +
                           " from " + quoted_path(rule_of(one).parts[p].hf.text()));
    return held;
  }

  /// Adds padding to the constants of `t`. `extent`: how much of a joined dim the part has.
  rank_part part_on_rank(const map_rule& rule, const map_part& part, std::int64_t extent, std::size_t number,
                         std::int64_t rank, const std::string& what, local_tensor& t) const {
    const model_tensor& m = out_.view.tensors[number];
    rank_part q{&part, rule.is.dims.empty() ? plain_view(m.extents.size()) : part.view,
                {},    in_units(m.extents, m.dtype, tensor_title(m.name)),
                {},    number,
                0};
    std::vector<std::int64_t> padded = q.whole;
    if (rule.rows_multiple) pad(padded, rule, m.name);
    q.slice = rule.is_cut_joined ? whole_box(padded) : r_.layout.slice_of(m.name, padded, rank);
    if (padded != q.whole) {
      t.constants.push_back(
          {std::max(q.slice[0].begin, q.whole[0]) - q.slice[0].begin, q.slice[0].end - q.slice[0].begin});
      q.whole = padded;
    }
    numbers known = r_.sizes;
    if (!rule.join.empty()) known[rule.join] = extent;
    if (!part.taken.empty()) known[part.taken] = extent_before_taking(part, r_.sizes, what);
    q.extents = solve_view(q.view, extents_of_box(q.slice), known, tensor_title(m.name));
    q.extents.erase(part.taken);
    for (const std::string& as : part.taken_as) q.extents[as] = extent_named(r_.sizes, as, what);
    return q;
  }

  /// The tensor of an instance that a rank has, if it has any.
  bool make(const map_instance& one, std::int64_t rank, local_tensor& t) const {
    static const map_part same{};
    const map_rule& rule = rule_of(one);
    const held_parts held = parts_held_by(one, rank);
    if (held[0].empty()) return false;
    const std::string title = name_on(one, rank), what = tensor_title(title);
    const model_tensor& first = out_.view.tensors[held[0][0].second];
    numbers extents;  // of the tensor's names
    std::vector<rank_part> all;
    std::int64_t joined = 0;
    for (std::size_t p = 0; p < held.size(); ++p) {
      const map_part& part = one.rule != nullptr ? rule.parts[p] : same;
      const std::int64_t extent = rule.join.empty() ? 1 : joined_extent(part, r_.sizes, what);
      for (std::size_t k = 0; k < held[p].size(); ++k) {
        const model_tensor& m = out_.view.tensors[held[p][k].second];
        if (m.dtype != first.dtype)
          throw view_error(what + " joins " + tensor_title(m.name) + ", which is " + m.dtype + ", with " + first.dtype);
        all.push_back(part_on_rank(rule, part, extent, held[p][k].second, rank, what, t));
        all.back().at = static_cast<std::int64_t>(k);
        note_extents(extents, all.back().extents, rule.join, what);
      }
      joined += extent;
    }
    const std::string stacked = one.rule != nullptr ? rule.stacked() : "";
    if (!rule.join.empty()) extents[rule.join] = joined;
    if (!stacked.empty()) extents[stacked] = static_cast<std::int64_t>(held[0].size());
    const tensor_view is = rule.is.dims.empty() ? plain_view(all[0].slice.size()) : rule.is;
    t.of = &one;
    t.entry = {title, first.dtype, reshard::extents_of(is, extents), 0, 0};
    const numbers strides = strides_of(is, extents, rule.is_cut_joined);
    joined_cut cut;
    if (rule.is_cut_joined) {
      std::vector<std::string> parts;
      for (const auto& part : held) parts.push_back(part[0].first);
      cut = {joined_slice(r_.layout, parts, t.entry.extents, rank), t.entry.extents, title, title};
      t.entry.extents = extents_of_box(cut.slice);
    }
    if (!t.entry.extents.empty()) t.entry.extents.back() *= unit_of(first.dtype).elements;
    place_parts(all, rule, stacked, strides, cut, what, t);
    return true;
  }

  /// Where each part lies in the tensor of the framework.
  void place_parts(const std::vector<rank_part>& all, const map_rule& rule, const std::string& stacked,
                   const numbers& strides, const joined_cut& cut, const std::string& what, local_tensor& t) const {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const rank_part& q = all[i];
      if (i > 0 && q.part != all[i - 1].part && !rule.join.empty())
        offset += joined_extent(*all[i - 1].part, r_.sizes, what) * strides.find(rule.join)->second;
      if (volume_of(q.slice) == 0) continue;
      set_piece piece = piece_of(*q.part, q.view, q.extents, strides,
                                 offset + (stacked.empty() ? 0 : q.at * strides.find(stacked)->second), q.whole,
                                 q.slice, r_.sizes, what);
      const std::vector<std::int64_t> whole = in_units(out_.view.tensors[q.tensor].extents, t.entry.dtype, what);
      if (whole != q.whole) {  // rows of a plain view
        for (index_range& c : t.constants)
          c = {c.begin * strides.find("#0")->second, c.end * strides.find("#0")->second};
        piece.view[0] = {whole[0]};
        piece.place.box[0].end = std::min(piece.place.box[0].end, whole[0]);
        if (piece.place.box[0].begin >= piece.place.box[0].end) continue;
      }
      check_packed(piece, t.entry.dtype, what);
      std::vector<set_piece> pieces;
      cut.append(pieces, std::move(piece));
      for (set_piece& one : pieces) t.pieces.push_back({q.tensor, std::move(one)});
    }
  }

  void pad(std::vector<std::int64_t>& extents, const map_rule& rule, const std::string& name) const {
    const auto multiple = rule.rows_multiple->value(r_.sizes);
    if (!multiple || *multiple < 1 || *multiple > std::int64_t{1} << 40)
      throw view_error(tensor_title(name) + ": the size " + rule.rows_multiple->text +
                       " is not known; say it with --sizes");
    extents[0] = (extents[0] + *multiple - 1) / *multiple * *multiple;
  }

  void write_rank(std::int64_t rank) {
    std::vector<local_tensor> all;
    std::set<std::string> names;
    for (const map_instance& one : instances_) {
      local_tensor t{};
      if (!make(one, rank, t)) continue;
      if (!names.insert(t.entry.name).second)
        throw layout_error(tensor_title(t.entry.name) + " would be written twice");
      all.push_back(std::move(t));
    }
    // Larger elements first: each tensor then begins at a multiple of its element's size.
    std::vector<std::pair<int, std::size_t>> order;
    for (std::size_t i = 0; i < all.size(); ++i) order.push_back({-hp::detail::dtype_bits(all[i].entry.dtype), i});
    std::sort(order.begin(), order.end());
    const std::size_t first = out_.files.size();
    out_.files.push_back(
        {"", r_.one_file ? "model.safetensors" : file_of_rank(r_.layout, rank, r_.map.name), 0, {}, {}, 0, 0, {}});
    std::int64_t at = 0;
    for (const auto& [bits, number_of] : order) {
      local_tensor& t = all[number_of];
      const std::int64_t bytes = hp::detail::entry_bytes("write", out_.files.back().name, t.entry);
      if (splits() && at > 0 && at + bytes > r_.largest_file) {
        out_.files.push_back({"", "", 0, {}, {}, 0, 0, {}});
        at = 0;
      }
      set_file& f = out_.files.back();
      t.entry.begin = at;
      t.entry.end = at += bytes;
      const int file = static_cast<int>(out_.files.size()) - 1, number = static_cast<int>(f.tensors.size());
      for (auto& [tensor, piece] : t.pieces) {
        piece.file = file;
        piece.tensor = number;
        out_.view.tensors[tensor].pieces.push_back(std::move(piece));
      }
      for (const index_range& c : t.constants)
        if (c.begin < c.end) out_.view.constants.push_back({file, number, c.begin, c.end});
      f.tensors.push_back(std::move(t.entry));
    }
    if (!splits()) return;
    const std::size_t count = out_.files.size() - first;
    for (std::size_t i = 0; i < count; ++i) {
      char name[64] = "model.safetensors";
      if (count > 1) std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", i + 1, count);
      out_.files[first + i].name = name;
    }
  }

  /// Whether the tensors go into several files with an index where they are large.
  bool splits() const { return r_.layout.ranks() == 1 && !r_.one_file && r_.map.name != "megatron"; }

  const target_request& r_;
  std::int64_t layers_ = 0, experts_ = 0;
  std::map<std::string, std::size_t> names_;
  std::vector<map_instance> instances_;
  target_view out_;
};

}  // namespace

target_view make_target_view(const std::vector<model_tensor>& source, const dtype_list& dtypes,
                             const target_request& r) {
  for (const layout_axis& a : r.layout.axes)
    if (r.map.name == "megatron" && a.name != "tp" && a.name != "pp" && a.name != "ep")
      throw layout_error("Megatron-LM's folders have no place for the axis " + quoted_path(a.name) +
                         "; known: tp, pp, ep");
  return target_writer(source, dtypes, r).write();
}

}  // namespace hp_tool::reshard
