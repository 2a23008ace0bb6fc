// SPDX-License-Identifier: Apache-2.0
#pragma once
// A world of a taskflow: the memory of all simulated ranks and the executor of one program over it.
//
// The program may be a constant of the compiler or built a moment ago; the world copies what it needs of it. It knows
// no model: operations are numbers bound to kernels, tensors are slots. Laws: nothing runs that has not been proved
// safe, unless the caller says `unchecked`; every slot of the program lies inside its arena before anything runs; a
// world whose run failed can run again on the same memory.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <hyperparallel/exec/arena.hpp>
#include <hyperparallel/exec/executor.hpp>
#include <hyperparallel/taskflow/storage.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct taskflow_world_options {
  /// Bytes of each tier of every rank. Empty: each tier is as large as its highest slot needs on any rank.
  std::span<const std::int64_t> tier_bytes{};
  executor_options execution{};
};

namespace detail {

template <class Flow>
std::vector<std::int64_t> needed_tier_bytes(const Flow& f) {
  std::vector<std::int64_t> bytes;
  for (int i = 0; i < f.size.slots; ++i) {
    const slot& s = f.slot[i];
    if (s.tier < 0) continue;
    if (at(s.tier) >= bytes.size()) bytes.resize(at(s.tier) + 1, 0);
    if (s.offset + s.bytes > bytes[at(s.tier)]) bytes[at(s.tier)] = s.offset + s.bytes;
  }
  return bytes;
}

}  // namespace detail

template <class Profile = no_profile>
class basic_taskflow_world {
 public:
  /// Binds and proves the plan, allocates the arenas, places every slot. Throws bind_error, unsafe_plan_error,
  /// arena_error (a slot does not fit).
  template <class Flow, class Schedule>
  basic_taskflow_world(const Flow& f, const Schedule& s, const taskflow_world_options& options = {})
      : slots_(f.slot, f.slot + f.size.slots), executor_(f, s, options.execution) {
    lay_out(f, s.machine.ranks, options);
  }

  /// The same without proof: for a plan that has been proved elsewhere, or that the caller knows to be safe.
  template <class Flow, class Schedule>
  basic_taskflow_world(unchecked_t, const Flow& f, const Schedule& s, const taskflow_world_options& options = {})
      : slots_(f.slot, f.slot + f.size.slots), executor_(unchecked, f, s, options.execution) {
    lay_out(f, s.machine.ranks, options);
  }

  /// The same for a plan that the compiler has lowered; it is not copied.
  template <const auto& Flow, const auto& Schedule, execution_options Options>
  explicit basic_taskflow_world(constant_plan<Flow, Schedule, Options> p, const taskflow_world_options& options = {})
      : slots_(Flow.slot, Flow.slot + Flow.size.slots), executor_(p, options.execution) {
    lay_out(Flow, Schedule.machine.ranks, options);
  }

  /// The same for a plan that the compiler has proved, too.
  template <class Taskflow, execution_options Options>
  explicit basic_taskflow_world(proved_plan<Taskflow, Options> p, const taskflow_world_options& options = {})
      : slots_(p.flow.slot, p.flow.slot + p.flow.size.slots), executor_(p, options.execution) {
    lay_out(p.flow, p.schedule.machine.ranks, options);
  }

  int ranks() const { return arenas_.ranks(); }
  int slots() const { return static_cast<int>(slots_.size()); }
  const arena_set& arenas() const { return arenas_; }

  /// Domain of the three: 0 ≤ number < slots().
  const slot& slot_at(int number) const { return slots_[static_cast<std::size_t>(number)]; }
  std::byte* address(int number) const { return arenas_.address(slot_at(number)); }
  template <class T>
  std::span<T> data(int number) const {
    return arenas_.template span<T>(slot_at(number));
  }

  const program_names& names() const { return executor_.names(); }
  std::string slot_name(int number) const { return hyperparallel::detail::slot_name(executor_.names(), number); }
  std::string operation_name(int number) const { return hyperparallel::operation_name(executor_.names(), number); }

  /// See executor: `bind`, `run` and what it throws, `cancel`, `finished`, `profile`.
  void bind(int operation, kernel k, void* user = nullptr) { executor_.bind(operation, k, user); }
  run_result run(const progress& watch = {}) { return executor_.run(watch); }
  void cancel() noexcept { executor_.cancel(); }
  std::int64_t finished() const { return executor_.finished(); }
  int tasks() const { return executor_.tasks(); }
  int threads() const { return executor_.threads(); }
  const Profile& profile() const { return executor_.profile(); }

 private:
  template <class Flow>
  void lay_out(const Flow& f, int ranks, const taskflow_world_options& options) {
    if (options.tier_bytes.empty())
      arenas_ = arena_set(ranks, detail::needed_tier_bytes(f));
    else
      arenas_ = arena_set(ranks, options.tier_bytes);
    for (const slot& one : slots_) arenas_.place(one);
  }

  std::vector<slot> slots_;
  arena_set arenas_;
  executor<Profile> executor_;
};

using taskflow_world = basic_taskflow_world<>;
using profiled_taskflow_world = basic_taskflow_world<record_profile>;

}}  // namespace hyperparallel::v0_2
