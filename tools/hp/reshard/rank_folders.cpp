// SPDX-License-Identifier: Apache-2.0
// The body of rank_folders.hpp.

#include "rank_folders.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>

#include <hyperparallel/checkpoint/tensor_set.hpp>

#include "layout_text.hpp"

namespace hp_tool::reshard {

namespace {

/// The numbers of mp_rank_00_001/…; -1 for what is none.
std::vector<std::int64_t> numbers_of_folder(std::string_view file) {
  std::vector<std::int64_t> all;
  std::string_view left = file.substr(std::string_view("mp_rank_").size());
  left = left.substr(0, left.find('/'));
  while (!left.empty()) {
    const std::size_t end = std::min(left.find('_'), left.size());
    std::int64_t value = end > 0 && end < 10 ? 0 : -1;
    for (std::size_t i = 0; value >= 0 && i < end; ++i)
      value = left[i] >= '0' && left[i] <= '9' ? value * 10 + (left[i] - '0') : -1;
    all.push_back(value);
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return all;
}

std::string folder_of_rank(const set_layout& l, std::int64_t rank) {
  char name[96];
  const auto at = [&](const char* axis) { return static_cast<int>(l.coordinate(rank, axis)); };
  int n = std::snprintf(name, sizeof name, "mp_rank_%02d", at("tp"));
  for (const char* axis : {"pp", "ep"})
    if (l.size_of(axis) > 1) n += std::snprintf(name + n, sizeof name - static_cast<std::size_t>(n), "_%03d", at(axis));
  return name;
}

}  // namespace

std::string file_of_rank(const set_layout& l, std::int64_t rank, std::string_view map) {
  if (map == "megatron") return folder_of_rank(l, rank) + "/model.safetensors";
  std::string name = "rank";
  for (const layout_axis& a : l.axes) name += "_" + a.name + std::to_string(l.coordinate(rank, a.name));
  return l.ranks() == 1 ? "model.safetensors" : name + ".safetensors";
}

set_layout layout_of_folders(const tensor_set& s) {
  std::int64_t most[3] = {0, 0, 0};
  for (const set_file& f : s.files) {
    const std::vector<std::int64_t> given = numbers_of_folder(f.name);
    for (std::size_t i = 0; i < std::min<std::size_t>(3, given.size()); ++i) most[i] = std::max(most[i], given[i]);
  }
  std::string text = "tp=" + std::to_string(most[0] + 1);
  if (most[1] > 0) text += ",pp=" + std::to_string(most[1] + 1);
  if (most[2] > 0) text += ",ep=" + std::to_string(most[2] + 1);
  return parse_short_layout(text, "names of folders");
}

std::vector<std::int64_t> ranks_of_files(const tensor_set& s, const set_layout& l) {
  std::vector<std::int64_t> ranks(s.files.size(), 0);
  if (s.form == set_form::whole) {
    if (l.ranks() != 1)
      throw io_error("read", s.path,
                     "it is a whole checkpoint, not one of " + std::to_string(l.ranks()) + " ranks, " + l.text());
    return ranks;
  }
  if (static_cast<std::int64_t>(s.files.size()) != l.ranks())
    throw io_error("read", s.path,
                   "it has files of " + std::to_string(s.files.size()) + " ranks, the layout " + l.text() + " has " +
                       std::to_string(l.ranks()) + "; say the right one with --from");
  std::vector<bool> seen(s.files.size(), false);
  for (std::size_t f = 0; f < s.files.size(); ++f) {
    if (s.form == set_form::ranks) {
      ranks[f] = static_cast<std::int64_t>(f);
      continue;
    }
    // A number is left out where its axis has one place.
    std::vector<const char*> named = {"tp"};
    if (l.size_of("pp") > 1) named.push_back("pp");
    if (l.size_of("ep") > 1) named.push_back("ep");
    std::vector<std::int64_t> given = numbers_of_folder(s.files[f].name);
    bool good = std::find(given.begin(), given.end(), -1) == given.end();
    if (given.size() == named.size() + 1 && named.size() < 3 && given.back() == 0)
      given.pop_back();  // a 0 that is written all the same
    good = good && given.size() == named.size();
    std::int64_t rank = 0;
    for (const layout_axis& a : l.axes) {
      std::int64_t at = 0;
      for (std::size_t i = 0; good && i < named.size(); ++i)
        if (a.name == named[i]) at = given[i];
      good = good && at < a.size;
      rank = rank * a.size + at;
    }
    if (!good || seen[static_cast<std::size_t>(rank)])
      throw io_error("read", s.files[f].path, "its folder is not that of one rank of " + l.text());
    seen[static_cast<std::size_t>(rank)] = true;
    ranks[f] = rank;
  }
  return ranks;
}

}  // namespace hp_tool::reshard
