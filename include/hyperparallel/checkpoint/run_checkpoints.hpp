// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checkpoints of a run: each rank writes and reads its own slices, in parallel, while training goes on.
//
//   hp::run_checkpoints kept("runs", run);            // a model_run, of one process or of several over MPI
//   kept.load();                                      // the newest set, whatever strategy wrote it; nothing where there is none
//   while (…) {
//     run.train_step(feed);
//     if (run.steps() % 100 == 0) kept.save_later();  // copies, then trains on while a thread writes
//     kept.poll();
//   }
//   kept.wait();
//
// A set has parameters, masters and states in the types they are stored in, the steps done and texts of the caller. It is a folder
// (step_folders.hpp) of files of ranks with a manifest (tensor_slices.hpp), which `hp reshard` reads as well.
//
// Laws: a run that goes on from a set has the bits of one that was not interrupted, under the same strategy; under any other strategy, cut
// into stages and number of ranks it begins with the same parameters and states. A set that is being written counts when all of it is
// durable, and until then the one before does: killed at any moment, the folder has whole sets alone. What `save_later` keeps is the run
// at its call. An error of its thread is thrown by the next call.
// Over processes every call is collective, and a set is completed within a call: `save`, `save_later`, `poll` or `wait`.
// Errors: io_error, checkpoint_error; over processes the same mpi_error on all. Needs nlohmann-json on the include path. O(bytes).

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <hyperparallel/checkpoint/load_run.hpp>
#include <hyperparallel/checkpoint/run_slices.hpp>
#include <hyperparallel/checkpoint/step_folders.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct run_checkpoint_options {
  int keep = 3;     ///< sets; older ones are removed when a new one is complete
  int threads = 0;  ///< of a process, that read or write; 0: as many as it has cores, at most 8
  std::map<std::string, std::int64_t> sizes{};  ///< of the model, for `hp reshard`: head_dim, key_heads, …
};

template <class Run>
class run_checkpoints {
  using world_type = std::remove_cvref_t<decltype(std::declval<Run&>().world())>;
  using place_type = reshard::run_place<world_type>;

 public:
  /// `run` must outlive it.
  run_checkpoints(std::string folder, Run& run, run_checkpoint_options options = {})
      : run_(run), options_(std::move(options)), place_(run.world()), folders_(std::move(folder)) {
    if (options_.threads <= 0)
      options_.threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 8u));
  }
  run_checkpoints(const run_checkpoints&) = delete;
  run_checkpoints& operator=(const run_checkpoints&) = delete;
  /// Waits for the thread. Over processes, a set that no call has completed is left out.
  ~run_checkpoints() {
    if (writer_.joinable()) writer_.join();
  }

  /// Makes the folder and holds its lock now, so that what cannot be written is refused before training.
  void open() {
    place_.together("folder of checkpoints", [&] {
      if (place_.process() == 0) folders_.open();
      return "folder " + folders_.path();
    });
  }

  /// Keeps the run as it is; the set is complete when this returns.
  void save(const run_texts& texts = {}) {
    begin(texts, false);
    write();
    settle();
  }
  /// Copies the run and returns; a thread writes the set.
  void save_later(const run_texts& texts = {}) {
    begin(texts, true);
    done_ = false;
    try {
      writer_ = std::thread([this] {
        write();
        done_.store(true, std::memory_order_release);
      });
    } catch (...) {  // thrown on every process by the next collective call
      error_ = std::current_exception();
      done_ = true;
    }
  }
  /// Completes the set that is being written, where it can be without waiting. Returns whether none is being written any more.
  bool poll() {
    if (!is_writing_) return true;
    const bool is_done = done_.load(std::memory_order_acquire);
    if (place_.least(is_done ? 1 : 0) == 0) return false;
    wait();
    return true;
  }
  /// Waits until the set that is being written is complete.
  void wait() {
    if (!is_writing_) return;
    if (writer_.joinable()) writer_.join();
    settle();
  }

  /// Steps whose sets can be loaded, rising.
  std::vector<std::int64_t> steps() const { return folders_.steps(); }
  /// Goes on from the newest set; nothing where there is none. The run is as before where it throws.
  std::optional<loaded_run> load() {
    wait();
    std::int64_t step = folders_.newest();
    // Of several processes, one may have looked before another wrote.
    if constexpr (place_type::is_spread) step = place_.least(static_cast<int>(step));
    if (step < 0) return {};
    return load(step);
  }
  std::optional<loaded_run> load(std::int64_t step) {
    wait();
    return load_run(folders_.path_of(step), run_, options_.threads);
  }

 private:
  struct file {
    std::string path;
    std::vector<detail::tensor_source> tensors;
    std::vector<std::byte> copy;
  };

  void begin(const run_texts& texts, bool copied) {
    wait();
    if (slices_.files.empty()) slices_ = reshard::detail::slices_of_run(run_.world().program());
    step_ = run_.steps();
    const std::string round = "checkpoint of step " + std::to_string(step_);
    place_.together(round, [&] {
      std::string statement = "folder " + folders_.path();
      for (const auto& [key, text] : texts) {
        if (key == "steps" || key == reshard::detail::set_key || key == "format")
          throw io_error("write", folders_.path(), "the text " + quoted_path(key) + " is reserved");
        statement += "\n" + key + " " + text;
      }
      for (const int t : reshard::detail::kept_tensors(run_.world().program())) run_.world().home_of(t);
      if (place_.process() == 0) folders_.begin(step_);
      return statement;
    });
    texts_ = texts;
    texts_["steps"] = std::to_string(step_);
    texts_[reshard::detail::set_key] = detail::checksum_text(static_cast<std::uint64_t>(place_.random_number()));
    is_writing_ = true;
    done_ = true;
    error_ = nullptr;
    try {
      take_blocks(copied);
    } catch (...) {  // no memory for copies: thrown on every process by the next collective call
      error_ = std::current_exception();
    }
  }

  /// The elements of each rank here, where they are or copied.
  void take_blocks(bool copied) {
    const auto& world = run_.world();
    const sharded_program& p = world.program();
    files_.clear();
    for (int r = 0; r < ranks_of(p); ++r) {
      const auto& blocks = slices_.blocks[static_cast<std::size_t>(r)];
      if (blocks.empty() || !world.hosts(r)) continue;
      const int number = slices_.file[static_cast<std::size_t>(r)];
      file f{folders_.partial_path(step_) + "/" + slices_.files[static_cast<std::size_t>(number)], {}, {}};
      std::size_t bytes = 0, at = 0;
      const auto bytes_of_block = [&](const reshard::written_block& b) {
        return static_cast<std::size_t>(volume(b.part) * bytes_of(p.graph.tensor[b.tensor].type));
      };
      for (const reshard::written_block& b : blocks) bytes += bytes_of_block(b);
      if (copied) f.copy.resize(bytes);
      for (const reshard::written_block& b : blocks) {
        std::span<const std::byte> elements(world.block_of(b.value, r), bytes_of_block(b));
        if (copied) {
          std::copy(elements.begin(), elements.end(), f.copy.begin() + static_cast<std::ptrdiff_t>(at));
          elements = std::span<const std::byte>(f.copy).subspan(at, elements.size());
          at += elements.size();
        }
        f.tensors.push_back({p.graph.name_of_tensor(b.tensor), reshard::detail::dtype_of(p.graph.tensor[b.tensor].type),
                             reshard::detail::extents_of_box(reshard::detail::index_box_of(b.part)), elements});
      }
      files_.push_back(std::move(f));
    }
  }

  /// Writes the files; in one process the set is complete then. Keeps what is thrown.
  void write() noexcept {
    if (error_) return;
    try {
      reshard::detail::on_threads(files_.size(), options_.threads, [&](std::size_t i) {
        detail::write_safetensors(files_[i].path, files_[i].tensors, texts_);
      });
      if constexpr (!place_type::is_spread) commit();
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  void commit() {
    nlohmann::json d = {{"format", "hyperparallel.set.1"},
                        {"files", slices_.files},
                        {"tensors", reshard::detail::slices_json(slices_.tensors)},
                        {reshard::detail::set_key, texts_.at(reshard::detail::set_key)},
                        {"sizes", options_.sizes}};
    folders_.commit(step_, d.dump(1) + "\n", options_.keep);
  }

  /// What is written becomes a set, or nothing.
  void settle() {
    is_writing_ = false;
    files_.clear();
    try {
      const std::string round = "checkpoint of step " + std::to_string(step_);
      place_.together(round + ", written", [&] {
        if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
        return std::string();
      });
      if constexpr (place_type::is_spread)
        place_.together(round + ", complete", [&] {
          if (place_.process() == 0) commit();
          return std::string();
        });
    } catch (...) {
      if (place_.process() == 0) folders_.discard(step_);
      throw;
    }
  }

  Run& run_;
  run_checkpoint_options options_;
  place_type place_;
  reshard::step_folders folders_;
  reshard::run_slices slices_;
  std::int64_t step_ = 0;
  run_texts texts_;  ///< of the set that is being written
  std::vector<file> files_;
  std::thread writer_;
  std::atomic<bool> done_{true};
  bool is_writing_ = false;
  std::exception_ptr error_;
};

}}  // namespace hyperparallel::v0_2
