// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of run_checkpoints.hpp; see support/compiled.hpp.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <hyperparallel/checkpoint/run_checkpoints.hpp>
#include <hyperparallel/checkpoint/run_slices.hpp>
#include <hyperparallel/checkpoint/strided_box.hpp>
#include <hyperparallel/checkpoint/tensor_set.hpp>
#include <hyperparallel/checkpoint/tensor_slices.hpp>
#include <hyperparallel/io/checksum.hpp>
#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/io/safetensors.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace reshard { namespace detail {

HYPERPARALLEL_JSON_BODY written_set::written_set(std::string folder, run_checkpoint_options options)
    : options_(std::move(options)), folders_(std::move(folder)) {
  if (options_.threads <= 0)
    options_.threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 8u));
}

HYPERPARALLEL_JSON_BODY void written_set::plan(const sharded_program& p, std::int64_t step) {
  if (slices_.files.empty()) slices_ = slices_of_run(p);
  step_ = step;
}

HYPERPARALLEL_JSON_BODY std::string written_set::statement_of(const run_texts& texts) const {
  std::string statement = "folder " + folders_.path();
  for (const auto& [key, text] : texts) {
    if (key == "steps" || key == set_key || key == "format")
      throw io_error("write", folders_.path(), "the text " + quoted_path(key) + " is reserved");
    statement += "\n" + key + " " + text;
  }
  return statement;
}

HYPERPARALLEL_JSON_BODY void written_set::set_texts(const run_texts& texts, int number) {
  texts_ = texts;
  texts_["steps"] = std::to_string(step_);
  texts_[set_key] = hyperparallel::detail::checksum_text(static_cast<std::uint64_t>(number));
}

HYPERPARALLEL_JSON_BODY void written_set::take(const sharded_program& p, int rank,
                                               const std::vector<const std::byte*>& elements, bool copied) {
  const std::vector<written_block>& blocks = blocks_of(rank);
  if (blocks.empty()) return;
  const int number = slices_.file[static_cast<std::size_t>(rank)];
  file f{folders_.partial_path(step_) + "/" + slices_.files[static_cast<std::size_t>(number)], {}, {}};
  std::size_t bytes = 0, at = 0;
  const auto bytes_of_block = [&](const written_block& b) {
    return static_cast<std::size_t>(volume(b.part) * bytes_of(p.graph.tensor[b.tensor].type));
  };
  for (const written_block& b : blocks) bytes += bytes_of_block(b);
  if (copied) f.copy.resize(bytes);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const written_block& b = blocks[i];
    std::span<const std::byte> block(elements[i], bytes_of_block(b));
    if (copied) {
      std::copy(block.begin(), block.end(), f.copy.begin() + static_cast<std::ptrdiff_t>(at));
      block = std::span<const std::byte>(f.copy).subspan(at, block.size());
      at += block.size();
    }
    f.tensors.push_back({p.graph.name_of_tensor(b.tensor), dtype_of(p.graph.tensor[b.tensor].type),
                         extents_of_box(index_box_of(b.part)), block});
  }
  files_.push_back(std::move(f));
}

HYPERPARALLEL_JSON_BODY void written_set::write() const {
  on_threads(files_.size(), options_.threads, [&](std::size_t i) {
    hyperparallel::detail::write_safetensors(files_[i].path, files_[i].tensors, texts_);
  });
}

HYPERPARALLEL_JSON_BODY void written_set::commit() {
  nlohmann::json d = {{"format", "hyperparallel.set.1"},
                      {"files", slices_.files},
                      {"tensors", slices_json(slices_.tensors)},
                      {set_key, texts_.at(set_key)},
                      {"sizes", options_.sizes}};
  folders_.commit(step_, d.dump(1) + "\n", options_.keep);
}

}}}}  // namespace hyperparallel::v0_2::reshard::detail
