// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the blocks of a move lie: for each tensor, stage and rank one row-major block in its process's memory.
//
// Stage 0 is the source, the last stage the target, those between are what the steps leave to the next. Offsets are
// arithmetic on the plan alone, so every process knows where the blocks of every other are. Law: blocks do not overlap
// and begin on cache lines. With a shared window a process reaches the blocks of all processes of its host, else only
// its own.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <hyperparallel/exec/arena.hpp>
#include <hyperparallel/exec/huge_pages.hpp>
#include <hyperparallel/mpi/statement.hpp>
#include <hyperparallel/mpi/world.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// A window of memory that all processes of a host reach. Made and freed collectively, right after an agreement.
class shared_window {
 public:
  shared_window(const mpi_world& world, std::int64_t bytes)
      : base_(static_cast<std::size_t>(world.processes_on_host())) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");  // each segment on the memory of its own process
    void* own = nullptr;
    const int code =
        MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes + arena::alignment), 1, info, world.host(), &own, &window_);
    MPI_Info_free(&info);
    check_mpi(code, "MPI_Win_allocate_shared");
    MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
    check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
    for (std::size_t i = 0; i < base_.size(); ++i) {
      MPI_Aint size = 0;
      int unit = 0;
      void* first = nullptr;
      check_mpi(MPI_Win_shared_query(window_, static_cast<int>(i), &size, &unit, &first), "MPI_Win_shared_query");
      // Segments begin anywhere in a page, at the same place of it in every process's view.
      const std::size_t past = reinterpret_cast<std::uintptr_t>(first) % arena::alignment;
      base_[i] = static_cast<std::byte*>(first) + (arena::alignment - past) % arena::alignment;
    }
  }
  shared_window(const shared_window&) = delete;
  shared_window& operator=(const shared_window&) = delete;

  ~shared_window() {
    if (window_ == MPI_WIN_NULL || !mpi_is_running()) return;
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }

  std::byte* base(int number_on_host) const { return base_[static_cast<std::size_t>(number_on_host)]; }

  /// Makes what others have written visible, and own writes visible to them, around an agreement.
  void synchronise() const { check_mpi(MPI_Win_sync(window_), "MPI_Win_sync"); }

 private:
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<std::byte*> base_;  ///< by number on the host
};

}  // namespace detail

class move_blocks {
 public:
  /// Collective over the host; `shared` asks for a window. Domain: every plan has a step, all processes have agreed on
  /// the tensors. Throws mpi_error, std::bad_alloc.
  move_blocks(const mpi_world& world, const std::vector<planned_tensor>& tensors, bool shared) : world_(world) {
    std::vector<std::int64_t> used(static_cast<std::size_t>(world.processes()));
    for (const planned_tensor& t : tensors) {
      first_.push_back(static_cast<int>(stage_.size()));
      for (int stage = 0; stage <= t.plan().step_count; ++stage) {
        std::vector<entry>& blocks = stage_.emplace_back(static_cast<std::size_t>(world.ranks()));
        for (int p = 0; p < t.positions(stage); ++p) {
          const int rank = t.flow.rank_of(stage, p);
          std::int64_t& end = used[static_cast<std::size_t>(world.process_of(rank))];
          const std::int64_t bytes = volume(t.flow.frame(stage, p)) * t.element.bytes;
          blocks[static_cast<std::size_t>(rank)] = {end, bytes};
          end += ceil_divide(bytes, arena::alignment) * arena::alignment;
        }
      }
    }
    const std::int64_t own = used[static_cast<std::size_t>(world.process())];
    if (shared)
      window_ = std::make_unique<detail::shared_window>(world, own);
    else
      memory_ = arena(own);
    prefer_huge_pages(shared ? window_->base(world.number_on_host(world.process())) : memory_.data(), own);
  }

  /// Whether this process can read and write the blocks of `rank`.
  bool reaches(int rank) const {
    return world_.hosts(rank) || (window_ != nullptr && world_.number_on_host(world_.process_of(rank)) >= 0);
  }

  /// The block of `rank`, or null where it is not reached.
  std::byte* address(int tensor, int stage, int rank) const {
    if (!reaches(rank)) return nullptr;
    std::byte* const base =
        window_ != nullptr ? window_->base(world_.number_on_host(world_.process_of(rank))) : memory_.data();
    return base + at(tensor, stage, rank).offset;
  }
  std::int64_t bytes(int tensor, int stage, int rank) const { return at(tensor, stage, rank).bytes; }

  void synchronise() const {
    if (window_ != nullptr) window_->synchronise();
  }

 private:
  struct entry {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
  };
  const entry& at(int tensor, int stage, int rank) const {
    return stage_[static_cast<std::size_t>(first_[static_cast<std::size_t>(tensor)] + stage)]
                 [static_cast<std::size_t>(rank)];
  }

  mpi_world world_;
  std::vector<int> first_;                 ///< stage 0 of each tensor
  std::vector<std::vector<entry>> stage_;  ///< by stage, by rank
  arena memory_;
  std::unique_ptr<detail::shared_window> window_;
};

}}  // namespace hyperparallel::v0_2
