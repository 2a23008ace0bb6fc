// SPDX-License-Identifier: Apache-2.0
#pragma once
// What pictures of several subcommands are made of, see report/page.hpp for their JSON.

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <hyperparallel/report/draw_layout.hpp>

#include "json_output.hpp"

namespace hp_tool {

/// Each text once, by number.
class numbered_texts {
 public:
  std::size_t number_of(const std::string& text) {
    const auto [at, is_new] = number_.try_emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return at->second;
  }
  json take() { return json(std::move(texts_)); }

 private:
  std::unordered_map<std::string, std::size_t> number_;
  std::vector<std::string> texts_;
};

/// Who holds what: a cell for each piece of the two dims that are cut most.
inline json layout_picture(const std::string& title, const hyperparallel::layout_value& layout,
                           const hyperparallel::mesh_value& mesh, const hyperparallel::shape& shape,
                           const hyperparallel::rank_list& ranks) {
  const hyperparallel::report::layout_grid g = hyperparallel::report::grid_of(layout, mesh, shape, ranks);
  json columns = json::array(), values = json::array();
  for (std::size_t j = 0; j < g.interval.size(); ++j)
    columns.push_back(g.interval[j] + (g.coordinates[j].empty() ? "" : " ") + g.coordinates[j]);
  for (const std::vector<std::string>& row : g.cell) values.push_back(std::vector<int>(row.size(), 1));
  const auto dim = [](int d) { return d < 0 ? std::string() : "dim " + std::to_string(d); };
  return {{"kind", "matrix"},
          {"title", title},
          {"about", "In each piece the ranks that hold it.\n" + g.notes},
          {"unit", ""},
          {"row_name", dim(g.row_dim)},
          {"column_name", dim(g.column_dim)},
          {"rows", g.row},
          {"columns", std::move(columns)},
          {"values", std::move(values)},
          {"texts", g.cell}};
}

}  // namespace hp_tool
