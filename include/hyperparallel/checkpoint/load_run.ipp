// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of load_run.hpp; see support/compiled.hpp.

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <hyperparallel/checkpoint/load_run.hpp>
#include <hyperparallel/checkpoint/run_slices.hpp>
#include <hyperparallel/checkpoint/strided_box.hpp>
#include <hyperparallel/checkpoint/tensor_set.hpp>
#include <hyperparallel/checkpoint/tensor_slices.hpp>
#include <hyperparallel/io/checkpoint.hpp>
#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/io/safetensors.hpp>
#include <hyperparallel/io/tensor_entry.hpp>
#include <hyperparallel/strategy/sharded_program.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/transfer/copy_boxes.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard { namespace detail {

/// Blocks of a set for the ranks whose memory is here.
class block_reader {
 public:
  block_reader(const tensor_set& set, const sharded_program& p) : set_(set), p_(p) {}

  /// Reads all. Throws checkpoint_error where the tensors are not those of the program.
  std::vector<loaded_block> read(const std::vector<bool>& here, int threads) {
    const std::vector<sliced_tensor> there = slices_of(set_);
    check(there);
    for (const int t : detail::kept_tensors(p_))
      hyperparallel::detail::visit_homes(p_, t, [&](int v) {
        const int part = hyperparallel::detail::part_of_value(p_, v), first = first_rank_of(p_, part);
        for (int r = 0; r < hyperparallel::detail::ranks_of_part(p_, part); ++r)
          if (here[static_cast<std::size_t>(first + r)]) add_block(t, v, first + r, box_of(p_, v, r));
      });
    struct job {
      const sliced_tensor* tensor;
      const tensor_slice* slice;
      std::vector<loaded_block*> to;
    };
    std::vector<job> jobs;
    for (const sliced_tensor& t : there)
      for (const tensor_slice& s : t.slices) {
        job j{&t, &s, {}};
        for (const std::unique_ptr<loaded_block>& b : of_tensor_[t.name])
          if (intersection_of(detail::index_box_of(b->part), s.box)) j.to.push_back(b.get());
        if (!j.to.empty()) jobs.push_back(std::move(j));
      }
    files_.resize(set_.files.size());
    for (const job& j : jobs) open(static_cast<std::size_t>(j.slice->file));
    detail::on_threads(jobs.size(), threads, [&](std::size_t i) { read(*jobs[i].tensor, *jobs[i].slice, jobs[i].to); });
    std::vector<loaded_block> all;
    for (auto& [name, blocks] : of_tensor_)
      for (const std::unique_ptr<loaded_block>& b : blocks) all.push_back(std::move(*b));
    return all;
  }

 private:
  void check(const std::vector<sliced_tensor>& there) const {
    std::map<std::string_view, const sliced_tensor*> found;
    for (const sliced_tensor& t : there) found[t.name] = &t;
    std::vector<std::string> lines;
    for (const int t : detail::kept_tensors(p_)) {
      const std::string name = p_.graph.name_of_tensor(t), wanted = detail::dtype_of(p_.graph.tensor[t].type);
      const std::vector<std::int64_t> extents = detail::extents_of_tensor(p_.graph, t);
      const auto at = found.find(name);
      if (at == found.end()) {
        lines.push_back(hyperparallel::detail::tensor_title(name) + ", " +
                        hyperparallel::detail::typed_extents(wanted, extents) + ", is missing");
        continue;
      }
      if (at->second->dtype != wanted || at->second->extents != extents)
        lines.push_back(hyperparallel::detail::tensor_title(name) + " is " +
                        hyperparallel::detail::typed_extents(at->second->dtype, at->second->extents) +
                        ", expected is " + hyperparallel::detail::typed_extents(wanted, extents));
      found.erase(at);
    }
    for (const sliced_tensor& t : there)
      if (found.contains(t.name))
        lines.push_back(hyperparallel::detail::tensor_title(t.name) + ", " +
                        hyperparallel::detail::typed_extents(t.dtype, t.extents) + ", is not expected");
    if (!lines.empty()) throw checkpoint_error(set_.path, std::move(lines));
  }

  void add_block(int t, int v, int rank, const box& part) {
    auto& all = of_tensor_[p_.graph.name_of_tensor(t)];
    const auto bytes = volume_of(detail::index_box_of(part)) * bytes_of(p_.graph.tensor[t].type);
    all.push_back(std::make_unique<loaded_block>(
        loaded_block{v, rank, part, std::vector<std::byte>(static_cast<std::size_t>(bytes))}));
  }

  /// Opens a file again. Throws io_error where it is another one meanwhile.
  void open(std::size_t file) {
    if (files_[file]) return;
    files_[file] = std::make_unique<hyperparallel::detail::safetensors_file>(set_.files[file].path);
    if (files_[file]->checksums() != set_.files[file].checksums ||
        files_[file]->header().metadata != set_.files[file].metadata)
      throw io_error("read", set_.files[file].path, "it was written again while it was read");
  }

  void read(const sliced_tensor& t, const tensor_slice& s, const std::vector<loaded_block*>& to) const {
    const auto file = static_cast<std::size_t>(s.file);
    const tensor_entry& e = set_.files[file].tensors[static_cast<std::size_t>(s.tensor)];
    std::vector<std::byte> elements(static_cast<std::size_t>(e.end - e.begin));
    files_[file]->read(t.name, elements);
    const int bytes = hyperparallel::detail::dtype_bits(t.dtype) / 8;
    const box from = detail::box_of_index(s.box);
    for (loaded_block* const b : to) {
      const box both = detail::box_of_index(*intersection_of(detail::index_box_of(b->part), s.box));
      copy_box(copy_between(from, b->part, both, bytes), elements.data(), b->elements.data());
    }
  }

  const tensor_set& set_;
  const sharded_program& p_;
  std::map<std::string, std::vector<std::unique_ptr<loaded_block>>, std::less<>> of_tensor_;
  std::vector<std::unique_ptr<hyperparallel::detail::safetensors_file>> files_;
};

HYPERPARALLEL_JSON_BODY loaded_set load_set(const std::string& path, const sharded_program& p,
                                            const std::vector<bool>& here, int threads) {
  const tensor_set set = open_tensor_set(path);
  loaded_set loaded;
  loaded.run.texts = set.files[0].metadata;
  run_texts& texts = loaded.run.texts;
  const std::string steps = texts["steps"];
  const auto [end, error] = std::from_chars(steps.data(), steps.data() + steps.size(), loaded.run.steps);
  if (error != std::errc() || end != steps.data() + steps.size() || loaded.run.steps < 0)
    throw io_error("load", path, "the text \"steps\" is no number of steps: " + quoted_path(steps));
  loaded.blocks = block_reader(set, p).read(here, threads);
  loaded.statement = "steps " + steps + "\nset " + texts[set_key];
  for (const char* key : {"steps", set_key, "format"}) texts.erase(key);
  return loaded;
}

}}}}  // namespace hyperparallel::v0_2::reshard::detail
