// SPDX-License-Identifier: Apache-2.0
// The body of reshard.hpp.

#include "reshard.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <hyperparallel/checkpoint/tensor_set.hpp>
#include <hyperparallel/checkpoint/tensor_slices.hpp>
#include <hyperparallel/io/checksum.hpp>
#include <hyperparallel/io/text_file.hpp>

#include "layout_text.hpp"
#include "named_input.hpp"
#include "rank_folders.hpp"
#include "sliced_source.hpp"
#include "source_view.hpp"

namespace hp_tool::reshard {

namespace {

/// A configuration without what it says of scales, where no tensor of 8 bits is left.
std::string without_quantization(std::string text, const std::vector<set_file>& files) {
  for (const set_file& f : files)
    for (const tensor_entry& t : f.tensors)
      if (is_eight_bits(t.dtype)) return text;
  nlohmann::ordered_json d = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!d.is_object()) return text;
  std::size_t erased = d.erase("quantization_config");
  if (d.contains("text_config") && d["text_config"].is_object())
    erased += d["text_config"].erase("quantization_config");
  return erased > 0 ? d.dump(2) + "\n" : text;
}

std::vector<side_file> files_beside(const prepared_reshard& p, const tensor_set& source, const layout_map& map,
                                    const numbers& sizes) {
  std::vector<side_file> beside;
  if (p.is_one_file) return beside;
  // What a folder of Hugging Face has beside its tensors.
  for (const char* name : {"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json",
                           "tokenizer.model", "special_tokens_map.json", "added_tokens.json", "vocab.json",
                           "merges.txt", "chat_template.jinja", "preprocessor_config.json"}) {
    const std::string file = path_beside(folder_of(source), name);
    if (file.empty()) continue;
    const std::vector<unsigned char> bytes = read_bytes(file);
    std::string text(bytes.begin(), bytes.end());
    if (name == std::string_view("config.json") && p.plan.certificate.applied_scales > 0)
      text = without_quantization(std::move(text), p.plan.files);
    beside.push_back({name, std::move(text)});
  }
  if (p.to.ranks() > 1 || map.name != "hf") {
    nlohmann::json d = {{"format", "hyperparallel.set.1"},
                        {"layout", layout_json(p.to)},
                        {"files", nlohmann::json::array()},
                        {"sizes", sizes}};
    d["map"] = is_named_map(map.name) ? nlohmann::json(map.name) : nlohmann::json::parse(map.text);
    for (const set_file& f : p.plan.files) d["files"].push_back(f.name);
    beside.push_back({set_manifest, d.dump(1) + "\n"});
  } else if (p.plan.files.size() > 1) {
    nlohmann::json names = nlohmann::json::object();
    std::int64_t bytes = 0;
    for (const set_file& f : p.plan.files)
      for (const tensor_entry& t : f.tensors) {
        names[t.name] = f.name;
        bytes += t.end - t.begin;
      }
    beside.push_back(
        {"model.safetensors.index.json",
         nlohmann::json{{"metadata", {{"total_size", bytes}}}, {"weight_map", std::move(names)}}.dump(1) + "\n"});
  }
  return beside;
}

/// Texts of the source's headers go into each header of the target: steps and seeds of a training, say. Where files disagree, the first
/// file's count.
void carry_texts(prepared_reshard& p) {
  std::map<std::string, std::string> texts;
  for (const set_file& f : p.source)
    for (const auto& [key, text] : f.metadata)
      if (const auto [at, is_new] = texts.emplace(key, text); !is_new && at->second != text)
        p.plan.notes.push_back("the text " + quoted_path(key) + " of " + quoted_path(f.name) +
                               " differs from that of an earlier file, which is kept");
  texts["format"] = "pt";  // what transformers asks for
  for (set_file& f : p.plan.files) f.metadata = texts;
}

/// Identifies a conversion: a checksum of the headers of both sides, of what was asked, and of how the work is cut.
std::string fingerprint_of(const prepared_reshard& p, const layout_map& from, const layout_map& to,
                           const numbers& sizes) {
  checksum sum;
  const auto add = [&](std::string_view text) {
    sum.add(text);
    sum.add(std::string_view("\0", 1));
  };
  for (const set_file& f : p.source) {
    add(f.name + " " + std::to_string(f.bytes) + " " + std::to_string(f.changed));
    for (const tensor_entry& t : f.tensors)
      add(t.name + hp::detail::typed_extents(t.dtype, t.extents) + std::to_string(t.begin));
  }
  for (const set_file& f : p.plan.files) {
    add(f.name);
    for (const auto& [key, text] : f.metadata) add(key + "=" + text);
    for (const tensor_entry& t : f.tensors)
      add(t.name + hp::detail::typed_extents(t.dtype, t.extents) + std::to_string(t.begin));
  }
  add(layout_json(p.from).dump() + layout_json(p.to).dump() + from.text + to.text + nlohmann::json(sizes).dump());
  for (const side_file& f : p.beside) add(f.name + f.text);
  for (const tensor_work& w : works_of(p.plan, p.request.limits)) add(std::to_string(w.units));
  for (const tensor_plan& t : p.plan.tensors)
    add(t.name + t.target_dtype +
        (t.scales ? std::to_string(t.scales->grid.rows) + "," + std::to_string(t.scales->grid.columns) : ""));
  return hp::detail::checksum_text(sum.value());
}

/// How the source lies over its ranks: as --from says, as its manifest or its folders do, or whole.
set_layout source_layout(const reshard_request& r, const tensor_set& s) {
  if (!r.from.empty() && lists_slices(s))
    throw io_error("read", r.source, "its manifest says where each slice is; --from has nothing to add");
  if (!r.from.empty()) return layout_called(r.from, "--from");
  if (lists_slices(s)) return parse_short_layout("whole", "--from");
  if (s.manifest.is_object() && s.manifest.contains("layout"))
    return layout_of_json(s.manifest["layout"], r.source + "/" + set_manifest);
  if (s.form == set_form::megatron_ranks) return layout_of_folders(s);
  if (s.form == set_form::ranks)
    throw io_error("read", r.source,
                   "it has " + std::to_string(s.files.size()) +
                       " files and neither index nor manifest; --from says the layout of its ranks");
  return parse_short_layout("whole", "--from");
}

/// The names and orders that the source has: as --from-map says, as its manifest does, or those that its tensors' names are of.
layout_map source_map(const reshard_request& r, const tensor_set& s, bool is_whole) {
  if (!r.from_map.empty()) return map_called(r.from_map);
  if (s.manifest.is_object() && s.manifest.contains("map")) {
    const nlohmann::json& m = s.manifest["map"];
    const std::string manifest = r.source + "/" + set_manifest;
    if (m.is_string() && m.get<std::string>().ends_with(".json"))
      throw io_error("read", manifest, "'map' names a file");
    return m.is_string() ? map_called(m.get<std::string>()) : parse_layout_map(m.dump(), manifest);
  }
  if (lists_slices(s) && r.to_map.empty() && is_whole)
    return map_called("hf");  // whole tensors of whole names: all stays as it is called
  return map_called(map_of_names(s));
}

prepared_reshard prepare(const reshard_request& r) {
  tensor_set set = open_tensor_set(r.source);
  prepared_reshard p{r, set.files, {}, {}, "", "", {}, {}, "", r.target.ends_with(".safetensors")};
  p.from = source_layout(r, set);
  if (set.form == set_form::ranks && p.from.ranks() == 1) set.form = set_form::whole;
  p.to = layout_called(r.to.empty() ? "whole" : r.to, "--to");
  if (p.is_one_file && p.to.ranks() > 1)
    throw io_error("write", r.target,
                   "one file does not hold the " + std::to_string(p.to.ranks()) + " ranks of " + p.to.text());
  const layout_map from = source_map(r, set, p.to.ranks() == 1);
  const layout_map to = r.to_map.empty() ? from : map_called(r.to_map);
  p.from_map = from.name;
  p.to_map = to.name;

  numbers sizes = known_sizes(r.sizes, set);
  const bool is_tied = sizes.contains("tied") && sizes["tied"] != 0;
  const scale_grid block = block_of(sizes);
  source_request asked{lists_slices(set) ? set_layout{} : p.from, from, completed_sizes(sizes), r.left_out, is_tied};
  keep_whole(asked.layout, set, block);
  set_view source = lists_slices(set) ? read_sliced_view(set, asked) : read_source_view(set, asked);
  chosen_types chosen = choose_types(r, source.tensors, asked.layout, block);
  set_layout laid = p.to;
  const std::vector<model_tensor> tensors = target_tensors(source.tensors, laid, to, block, chosen);
  numbers target_sizes = sizes;
  if (to.name == "megatron") target_sizes.emplace("vocabulary_multiple", 128 * p.to.size_of("tp"));
  for (const model_tensor& t : source.tensors)
    if (t.name == "model.embed_tokens.weight" && t.extents.size() == 2) target_sizes["vocabulary"] = t.extents[0];
  target_view target = make_target_view(
      tensors, chosen.dtypes, {laid, to, completed_sizes(target_sizes), r.largest_file, p.is_one_file, is_tied});
  p.plan = plan_reshard(source, std::move(target), chosen.scaled, chosen.made, r.left_out, chosen.applied);
  carry_texts(p);
  numbers kept = target_sizes;
  kept.erase("vocabulary_multiple");  // it goes with the number of ranks
  p.beside = files_beside(p, set, to, kept);
  p.fingerprint = fingerprint_of(p, from, to, target_sizes);
  return p;
}

/// Every error as one kind.
template <class Work>
auto as_reshard_error(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const io_error& e) {
    throw reshard_error(e.what());
  } catch (const layout_error& e) {
    throw reshard_error(e.what());
  } catch (const view_error& e) {
    throw reshard_error(e.what());
  } catch (const plan_error& e) {
    throw reshard_error(e.what());
  }
}

}  // namespace

prepared_reshard prepare_reshard(const reshard_request& r) {
  return as_reshard_error([&] { return prepare(r); });
}

void execute_reshard(const prepared_reshard& p, const reshard_progress& progress) {
  as_reshard_error([&] {
    partial_set partial(p.request.target, p.fingerprint, p.is_one_file);
    run_plan(p.source, p.plan, partial, p.request.limits, p.beside, progress);
  });
}

}  // namespace hp_tool::reshard
