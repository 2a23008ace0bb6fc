// SPDX-License-Identifier: Apache-2.0
// Indexes, layouts and maps of checkpoints: each text is read or refused in one line; a layout cuts a tensor into slices that cover it; a
// plan under any layout and any map is refused in one line, or every tensor of it is proved.

#include <nlohmann/json.hpp>

#include <hyperparallel/checkpoint/tensor_set.hpp>
#include <hyperparallel/io/json_text.hpp>

#include "reshard/layout_text.hpp"
#include "reshard/plan.hpp"
#include "reshard/source_view.hpp"

#include "target.hpp"

namespace hp = hyperparallel;
namespace rs = hp_tool::reshard;

namespace {

std::vector<rs::model_tensor> model() {
  const auto t = [](const char* name, std::vector<std::int64_t> extents) {
    return rs::model_tensor{name, "BF16", std::move(extents), {}};
  };
  std::vector<rs::model_tensor> all = {t("model.embed_tokens.weight", {10, 8}), t("model.norm.weight", {8})};
  for (const char* layer : {"model.layers.0.", "model.layers.1."}) {
    const std::string at = layer;
    for (const auto& [name, rows] : {std::pair("q_proj", 16), std::pair("k_proj", 8), std::pair("v_proj", 8)})
      all.push_back(t((at + "self_attn." + name + ".weight").c_str(), {rows, 8}));
    for (const char* e : {"mlp.experts.0.up_proj.weight", "mlp.experts.1.up_proj.weight"})
      all.push_back(t((at + e).c_str(), {4, 8}));
  }
  return all;
}

/// Each tensor whole in one file.
rs::set_view whole_source(const std::vector<rs::model_tensor>& all) {
  rs::set_view v{all, {}, {}};
  int number = 0;
  for (rs::model_tensor& m : v.tensors) {
    rs::set_piece p;
    p.tensor = number++;
    std::int64_t stride = 1;
    for (std::size_t d = m.extents.size(); d-- > 0; stride *= m.extents[d]) {
      p.view.insert(p.view.begin(), {m.extents[d]});
      p.place.box.insert(p.place.box.begin(), {0, m.extents[d]});
      p.place.stride.insert(p.place.stride.begin(), stride);
    }
    m.pieces.push_back(std::move(p));
  }
  return v;
}

const rs::numbers& sizes() {
  static const rs::numbers all =
      rs::completed_sizes({{"query_heads", 4}, {"key_heads", 2}, {"head_dim", 4}, {"rope_dim", 2}});
  return all;
}

template <class Work>
void plan_or_refuse(const Work& work) {
  try {
    const rs::reshard_plan p = work();
    fuzz::hold(p.certificate.proved_tensors == p.certificate.target_tensors, "every tensor is proved");
  } catch (const rs::layout_error& e) {
    fuzz::hold_one_line(e.what());
  } catch (const rs::view_error& e) {
    fuzz::hold_one_line(e.what());
  } catch (const rs::plan_error& e) {
    fuzz::hold_one_line(e.what());
  } catch (const hp::io_error& e) {
    fuzz::hold_one_line(e.what());
  }
}

rs::reshard_plan plan(const rs::set_layout& l, const rs::layout_map& m) {
  const std::vector<rs::model_tensor> all = model();
  const rs::dtype_list dtypes(all.size(), "BF16");
  return rs::plan_reshard(whole_source(all), rs::make_target_view(all, dtypes, {l, m, sizes()}), {}, {}, {"*"});
}

rs::layout_map same() {
  return {.name = "hf", .rules = {}, .local = {}, .keeps_others = true, .head = "", .head_tied_to = "", .text = ""};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = fuzz::text_of(data + 1, size - 1);
  if (data[0] % 4 == 0) {
    fuzz::read_or_refuse(
        [&] { return rs::parse_set_index(hp::parse_json_object(text, fuzz::file, "the index", 16), fuzz::file); });
  } else if (data[0] % 4 == 1) {
    const auto l = fuzz::read_or_refuse(
        [&] { return rs::layout_of_json(hp::parse_json_object(text, fuzz::file, "the layout", 8), fuzz::file); });
    if (!l || l->ranks() > 64) return 0;
    const std::string written = rs::layout_json(*l).dump();
    const rs::set_layout again =
        rs::layout_of_json(hp::parse_json_object(written, fuzz::file, "the layout", 8), fuzz::file);
    fuzz::hold(rs::layout_json(again).dump() == written, "what is written is read as the same");
    plan_or_refuse([&] { return plan(*l, same()); });
  } else if (data[0] % 4 == 2) {
    const auto m = fuzz::read_or_refuse([&] { return rs::parse_layout_map(text, fuzz::file); });
    if (!m) return 0;
    for (const char* layout : {"whole", "tp=2", "ep=2,pp=2"})
      plan_or_refuse([&] { return plan(rs::parse_short_layout(layout, fuzz::file), *m); });
  } else {
    fuzz::read_or_refuse([&] { return rs::parse_short_layout(text, fuzz::file); });
  }
  return 0;
}
