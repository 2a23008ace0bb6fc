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
// Errors: io_error, checkpoint_error; over processes the same mpi_error on all. O(bytes). Its bodies need nlohmann-json.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <hyperparallel/checkpoint/load_run.hpp>
#include <hyperparallel/checkpoint/run_place.hpp>
#include <hyperparallel/checkpoint/run_slices.hpp>
#include <hyperparallel/checkpoint/step_folders.hpp>
#include <hyperparallel/io/safetensors.hpp>
#include <hyperparallel/strategy/sharded_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct run_checkpoint_options {
  int keep = 3;     ///< sets; older ones are removed when a new one is complete
  int threads = 0;  ///< of a process, that read or write; 0: as many as it has cores, at most 8
  std::map<std::string, std::int64_t> sizes{};  ///< of the model, for `hp reshard`: head_dim, key_heads, …
};

namespace reshard { namespace detail {

/// A set of a run: what of it the ranks have whose memory is here.
class written_set {
 public:
  written_set(std::string folder, run_checkpoint_options options);

  step_folders& folders() { return folders_; }
  const step_folders& folders() const { return folders_; }
  int threads() const { return options_.threads; }
  std::int64_t step() const { return step_; }
  /// What messages call it.
  std::string title() const { return "checkpoint of step " + std::to_string(step_); }
  const std::vector<written_block>& blocks_of(int rank) const { return slices_.blocks[static_cast<std::size_t>(rank)]; }

  /// The set of a step. The program is the same each time.
  void plan(const sharded_program& p, std::int64_t step);
  /// What all processes have to say of a set with these texts. Throws io_error where one has a key of the set's own.
  std::string statement_of(const run_texts& texts) const;
  void set_texts(const run_texts& texts, int number);

  void clear() { files_.clear(); }
  /// The elements of a rank's blocks, where they are or copied.
  void take(const sharded_program& p, int rank, const std::vector<const std::byte*>& elements, bool copied);
  /// Writes the files of the ranks here.
  void write() const;
  /// Makes a set of what was written.
  void commit();

 private:
  struct file {
    std::string path;
    std::vector<hyperparallel::detail::tensor_source> tensors;
    std::vector<std::byte> copy;
  };

  run_checkpoint_options options_;
  step_folders folders_;
  run_slices slices_;
  std::int64_t step_ = 0;
  run_texts texts_;
  std::vector<file> files_;
};

}}  // namespace reshard::detail

template <class Run>
class run_checkpoints {
  using world_type = std::remove_cvref_t<decltype(std::declval<Run&>().world())>;
  using place_type = reshard::run_place<world_type>;

 public:
  /// `run` must outlive it.
  run_checkpoints(std::string folder, Run& run, run_checkpoint_options options = {})
      : run_(run), place_(run.world()), set_(std::move(folder), std::move(options)) {}
  run_checkpoints(const run_checkpoints&) = delete;
  run_checkpoints& operator=(const run_checkpoints&) = delete;
  /// Waits for the thread. Over processes, a set that no call has completed is left out.
  ~run_checkpoints() {
    if (writer_.joinable()) writer_.join();
  }

  /// Makes the folder and holds its lock now, so that what cannot be written is refused before training.
  void open() {
    place_.together("folder of checkpoints", [&] {
      if (place_.process() == 0) set_.folders().open();
      return "folder " + set_.folders().path();
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
  std::vector<std::int64_t> steps() const { return set_.folders().steps(); }
  /// Goes on from the newest set; nothing where there is none. The run is as before where it throws.
  std::optional<loaded_run> load() {
    wait();
    std::int64_t step = set_.folders().newest();
    // Of several processes, one may have looked before another wrote.
    if constexpr (place_type::is_spread) step = place_.least(static_cast<int>(step));
    if (step < 0) return {};
    return load(step);
  }
  std::optional<loaded_run> load(std::int64_t step) {
    wait();
    return load_run(set_.folders().path_of(step), run_, set_.threads());
  }

 private:
  void begin(const run_texts& texts, bool copied) {
    wait();
    set_.plan(run_.world().program(), run_.steps());
    place_.together(set_.title(), [&] {
      std::string statement = set_.statement_of(texts);
      for (const int t : reshard::detail::kept_tensors(run_.world().program())) run_.world().home_of(t);
      if (place_.process() == 0) set_.folders().begin(set_.step());
      return statement;
    });
    set_.set_texts(texts, place_.random_number());
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
    set_.clear();
    for (int r = 0; r < ranks_of(p); ++r) {
      if (!world.hosts(r)) continue;
      std::vector<const std::byte*> elements;
      for (const reshard::written_block& b : set_.blocks_of(r)) elements.push_back(world.block_of(b.value, r));
      set_.take(p, r, elements, copied);
    }
  }

  /// Writes the files; in one process the set is complete then. Keeps what is thrown.
  void write() noexcept {
    if (error_) return;
    try {
      set_.write();
      if constexpr (!place_type::is_spread) set_.commit();
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  /// What is written becomes a set, or nothing.
  void settle() {
    is_writing_ = false;
    set_.clear();
    try {
      place_.together(set_.title() + ", written", [&] {
        if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
        return std::string();
      });
      if constexpr (place_type::is_spread)
        place_.together(set_.title() + ", complete", [&] {
          if (place_.process() == 0) set_.commit();
          return std::string();
        });
    } catch (...) {
      if (place_.process() == 0) set_.folders().discard(set_.step());
      throw;
    }
  }

  Run& run_;
  place_type place_;
  reshard::detail::written_set set_;  ///< that is being written
  std::thread writer_;
  std::atomic<bool> done_{true};
  bool is_writing_ = false;
  std::exception_ptr error_;
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED_JSON
#include <hyperparallel/checkpoint/run_checkpoints.ipp>
#endif
