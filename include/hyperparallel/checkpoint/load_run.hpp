// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run that goes on from a set of files, whatever strategy wrote it.
//
//   hp::load_run("runs/step_000000000100", run);      // a set of slices, a folder of Hugging Face's form, one file
//
// Each process reads every slice that has anything of its ranks' once, whole, and holds it against its checksum; then the ranks get their
// boxes of it.
//
// Laws: what is loaded are the bits that were kept; where a load throws, the run is as before. Errors: io_error, checkpoint_error with
// every difference. O(bytes); a load takes as much memory as the ranks' parameters and states have, and a slice for each thread.

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <hyperparallel/checkpoint/run_place.hpp>
#include <hyperparallel/checkpoint/run_slices.hpp>
#include <hyperparallel/io/checkpoint.hpp>
#include <hyperparallel/io/safetensors.hpp>
#include <hyperparallel/transfer/copy_boxes.hpp>

namespace hyperparallel { inline namespace v0_2 {

using run_texts = std::map<std::string, std::string>;

/// What was loaded.
struct loaded_run {
  std::int64_t steps = 0;
  run_texts texts;
};

namespace reshard { namespace detail {

/// Blocks of a set for the ranks whose memory is here, read but not yet given to the run.
template <class World>
class loaded_blocks {
 public:
  /// Reads all. Throws checkpoint_error where the tensors are not those of the run.
  loaded_blocks(const tensor_set& set, const World& world, int threads) : set_(set), p_(world.program()) {
    const std::vector<sliced_tensor> there = slices_of(set);
    check(there);
    for (const int t : detail::kept_tensors(p_))
      hyperparallel::detail::visit_homes(p_, t, [&](int v) {
        const int part = hyperparallel::detail::part_of_value(p_, v), first = first_rank_of(p_, part);
        for (int r = 0; r < hyperparallel::detail::ranks_of_part(p_, part); ++r)
          if (world.hosts(first + r)) add_block(t, v, first + r, box_of(p_, v, r));
      });
    struct job {
      const sliced_tensor* tensor;
      const tensor_slice* slice;
      std::vector<block*> to;
    };
    std::vector<job> jobs;
    for (const sliced_tensor& t : there)
      for (const tensor_slice& s : t.slices) {
        job j{&t, &s, {}};
        for (const std::unique_ptr<block>& b : of_tensor_[t.name])
          if (intersection_of(detail::index_box_of(b->part), s.box)) j.to.push_back(b.get());
        if (!j.to.empty()) jobs.push_back(std::move(j));
      }
    files_.resize(set.files.size());
    for (const job& j : jobs) open(static_cast<std::size_t>(j.slice->file));
    detail::on_threads(jobs.size(), threads, [&](std::size_t i) { read(*jobs[i].tensor, *jobs[i].slice, jobs[i].to); });
  }

  /// Gives the run all of it.
  void give(World& world) const {
    for (const auto& [name, blocks] : of_tensor_)
      for (const std::unique_ptr<block>& b : blocks) world.set_block(b->value, b->rank, b->elements);
  }

 private:
  struct block {
    int value, rank;
    box part;
    std::vector<std::byte> elements;
  };

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
    all.push_back(
        std::make_unique<block>(block{v, rank, part, std::vector<std::byte>(static_cast<std::size_t>(bytes))}));
  }

  /// Opens a file again. Throws io_error where it is another one meanwhile.
  void open(std::size_t file) {
    if (files_[file]) return;
    files_[file] = std::make_unique<hyperparallel::detail::safetensors_file>(set_.files[file].path);
    if (files_[file]->checksums() != set_.files[file].checksums ||
        files_[file]->header().metadata != set_.files[file].metadata)
      throw io_error("read", set_.files[file].path, "it was written again while it was read");
  }

  void read(const sliced_tensor& t, const tensor_slice& s, const std::vector<block*>& to) const {
    const auto file = static_cast<std::size_t>(s.file);
    const tensor_entry& e = set_.files[file].tensors[static_cast<std::size_t>(s.tensor)];
    std::vector<std::byte> elements(static_cast<std::size_t>(e.end - e.begin));
    files_[file]->read(t.name, elements);
    const int bytes = hyperparallel::detail::dtype_bits(t.dtype) / 8;
    const box from = detail::box_of_index(s.box);
    for (block* const b : to) {
      const box both = detail::box_of_index(*intersection_of(detail::index_box_of(b->part), s.box));
      copy_box(copy_between(from, b->part, both, bytes), elements.data(), b->elements.data());
    }
  }

  const tensor_set& set_;
  const sharded_program& p_;
  std::map<std::string, std::vector<std::unique_ptr<block>>, std::less<>> of_tensor_;
  std::vector<std::unique_ptr<hyperparallel::detail::safetensors_file>> files_;
};

}}  // namespace reshard::detail

/// Goes on from any set of whole tensors or slices: a folder of a step, a file. Collective where the run's processes are; the run is as
/// before where it throws.
template <class Run>
loaded_run load_run(const std::string& path, Run& run, int threads = 1) {
  auto& world = run.world();
  using world_type = std::remove_cvref_t<decltype(world)>;
  reshard::tensor_set set;
  std::optional<reshard::detail::loaded_blocks<world_type>> blocks;
  loaded_run loaded;
  reshard::run_place<world_type>(world).together("load of a checkpoint", [&] {
    set = reshard::detail::open_tensor_set(path);
    loaded.texts = set.files[0].metadata;
    const std::string steps = loaded.texts["steps"];
    const auto [end, error] = std::from_chars(steps.data(), steps.data() + steps.size(), loaded.steps);
    if (error != std::errc() || end != steps.data() + steps.size() || loaded.steps < 0)
      throw io_error("load", path, "the text \"steps\" is no number of steps: " + quoted_path(steps));
    blocks.emplace(set, world, threads);
    return "steps " + steps + "\nset " + loaded.texts[reshard::detail::set_key];
  });
  blocks->give(world);
  run.set_steps(loaded.steps);
  for (const char* key : {"steps", reshard::detail::set_key, "format"}) loaded.texts.erase(key);
  return loaded;
}

}}  // namespace hyperparallel::v0_2
