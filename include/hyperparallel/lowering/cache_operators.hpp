// SPDX-License-Identifier: Apache-2.0
#pragma once
// Puts cache operators into a program: what leaves tier 0 between two uses is stored, detached and prefetched by steps
// of the program itself, so that addresses, lowering, proof and execution know of them as of any other step.
//
// Every stay of a storage in tier 0 becomes a storage of its own, with an address of its own; its copy in a slower tier
// is another one. A home may lie in a slower tier, so that the program begins without it; one in tier 0 may leave in
// between and comes back to where it was. Laws: the steps of the program keep their order and read the values that they
// read before; `check_program` holds for the result if it did for the program; without actions but steps the program is
// what it was. What is computed again goes into new storages. O(actions + steps · operands).

#include <hyperparallel/strategy/lifetimes.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// `release`: what the storage holds is not used any more, but keeps its memory up to here. It becomes no step. What move
/// m stages has the number storages + m.
enum class cache_action_kind : unsigned char { step, store, detach, prefetch, recompute, release, enter };

namespace detail {

/// Whether the action becomes a step.
constexpr bool makes_step(cache_action_kind k) {
  return k != cache_action_kind::release && k != cache_action_kind::enter;
}

}  // namespace detail

/// `enter`: what follows in the parts of step `index`, up to their next step, belongs to its phase; else to that of
/// the part's step before. `index` is a step of the program, or the storage that the operator works on; `tier` is
/// where it is stored.
struct cache_action {
  cache_action_kind kind = cache_action_kind::step;
  int index = 0;
  int tier = 1;
  friend constexpr bool operator==(const cache_action&, const cache_action&) = default;
};

enum class cache_insertion_code : unsigned char {
  ok,
  step_reads_what_is_not_here,  ///< `action` is the step
  store_of_what_is_not_here,
  detach_without_a_copy,
  prefetch_without_a_copy,
  prefetch_of_what_is_here,
  nothing_computes_it,  ///< `action` recomputes a home or what a move has made
  home_is_not_back,     ///< at the end the latest value is not where the home is
};

constexpr const char* to_text(cache_insertion_code c) {
  constexpr const char* texts[] = {"ok",
                                   "a step reads a storage that is not in tier 0",
                                   "a store of a storage that is not in tier 0",
                                   "a detach of a storage whose copy in a slower tier is not valid",
                                   "a prefetch of a storage whose copy in a slower tier is not valid",
                                   "a prefetch of a storage that is in tier 0",
                                   "no operator computes the storage",
                                   "the latest value of a home is not there at the end"};
  return texts[static_cast<int>(c)];
}

/// The first action that cannot be.
struct cache_insertion_status {
  cache_insertion_code code = cache_insertion_code::ok;
  int action = -1;
  int storage = -1;
  friend constexpr bool operator==(const cache_insertion_status&, const cache_insertion_status&) = default;
};

namespace detail {

class cache_inserter {
 public:
  /// `home_tier` of each storage: where a home lies, 0 for anything else.
  constexpr cache_inserter(const sharded_program& p, const growing_array<int>& home_tier,
                           const growing_array<cache_action>& actions)
      : from_(p), to_(p) {
    to_.step.clear();
    state_.resize(p.storage.size);
    for (int s = 0; s < p.storage.size; ++s) state_[s].stay = s;
    for (const cache_action& a : actions)
      if (a.kind == cache_action_kind::detach) ++state_[a.index].detaches;
    for (int t = 0; t < p.home.size; ++t)
      visit_homes(p, t, [&](int home) {
        const int s = p.value[home].storage;
        storage_state& one = state_[s];
        one.held = home;
        to_.storage[s].tier = home_tier[s];
        (home_tier[s] > 0 ? one.copy : one.here) = home;
        if (home_tier[s] == 0) return;
        one.copy_storage = s;
        one.stay = -1;
      });
    at_.resize(parts_of(p));
  }

  constexpr void add(const cache_action& a) {
    switch (a.kind) {
      case cache_action_kind::step:
        return step(a.index);
      case cache_action_kind::store:
        return store(a.index, a.tier);
      case cache_action_kind::detach:
        return detach(a.index);
      case cache_action_kind::prefetch:
        return prefetch(a.index);
      case cache_action_kind::recompute:
        return recompute(a.index);
      case cache_action_kind::release:
        return release(a.index);
      case cache_action_kind::enter:
        return enter(from_.step[a.index], true);
    }
  }
  constexpr void end() {
    for (int s = 0; s < state_.size; ++s)
      if (to_.storage[s].home && (is_kept_home(s) ? state_[s].here : state_[s].copy) < 0)
        refuse(cache_insertion_code::home_is_not_back, s);
  }
  constexpr cache_insertion_code code() const { return code_; }
  constexpr int storage_at_fault() const { return fault_; }
  constexpr sharded_program take() { return static_cast<sharded_program&&>(to_); }

 private:
  struct storage_state {
    int held = -1;          ///< value of the given program that it holds
    int here = -1;          ///< the same in tier 0, a value of the new program
    int copy = -1;          ///< the same in a slower tier; -1: none, or an older value
    int stay = -1;          ///< storage of the present stay in tier 0, or of the next one that a step begins
    int copy_storage = -1;  ///< in the slower tier
    int maker = -1;         ///< compute that made what is held
    int detaches = 0;       ///< that are still to come
    bool arrives = false;   ///< a prefetch has begun, and no step has read since
  };

  constexpr void refuse(cache_insertion_code c, int storage) {
    if (code_ != cache_insertion_code::ok) return;
    code_ = c;
    fault_ = storage;
  }
  constexpr storage_state& of(int value) { return state_[from_.value[value].storage]; }

  constexpr int read(int value) {
    storage_state& s = of(value);
    if (s.here < 0 || s.held != value)
      refuse(cache_insertion_code::step_reads_what_is_not_here, from_.value[value].storage);
    if (s.arrives) to_.storage[s.copy_storage].held = to_.step.size - 1;
    s.arrives = false;
    return s.here;
  }
  constexpr void write(int value, int maker) {
    storage_state& s = of(value);
    if (s.stay < 0) s.stay = next_stay(from_.value[value].storage);
    to_.value[value].storage = s.stay;
    s.held = s.here = value;
    s.copy = -1;
    s.maker = maker;
  }
  /// Memory like that of the storage, in a tier.
  constexpr int add_storage(int storage, int tier) {
    program_storage one = from_.storage[storage];
    one.home = false;
    one.tier = tier;
    return to_.storage.push(one);
  }
  constexpr bool is_kept_home(int storage) const { return to_.storage[storage].home && to_.storage[storage].tier == 0; }
  /// A kept home is at home in its first stay and in its last.
  constexpr int next_stay(int storage) {
    return is_kept_home(storage) && state_[storage].detaches == 0 ? storage : add_storage(storage, 0);
  }
  /// A value like the held one, in another storage.
  constexpr int value_in(const storage_state& s, int storage) {
    program_value v = from_.value[s.held];
    v.storage = storage;
    return to_.value.push(v);
  }
  /// A step that stands with the last one of the storage's part.
  constexpr void push(bool is_move, int index, int storage) {
    program_step s = at_[from_.storage[storage].part];
    s.is_move = is_move;
    s.index = index;
    to_.step.push(s);
  }

  /// Who hands something over is where it was, unless the action says so.
  constexpr void enter(const program_step& s, bool both = false) {
    at_[part_of_step(from_, s)] = s;
    if (both && s.is_move) at_[part_of_value(from_, from_.move[s.index].source)] = s;
  }
  constexpr void step(int number) {
    const program_step& s = from_.step[number];
    enter(s);
    if (s.is_move) {
      program_move& m = to_.move[s.index];
      m.source = read(m.source);
      write(m.target, -1);
    } else {
      program_compute& c = to_.compute[s.index];
      const graph_operator& op = to_.graph.op[c.op];
      for (int i = 0; i < op.operand_count; ++i) c.operand[i] = read(c.operand[i]);
      for (int r = 0; r < op.result_count; ++r) write(c.result[r], s.index);
    }
    to_.step.push(s);
  }

  constexpr void store(int storage, int tier) {
    storage_state& s = state_[storage];
    if (s.here < 0) return refuse(cache_insertion_code::store_of_what_is_not_here, storage);
    if (to_.storage[storage].home && to_.storage[storage].tier == tier) s.copy_storage = storage;
    if (s.copy_storage < 0 || to_.storage[s.copy_storage].tier != tier) s.copy_storage = add_storage(storage, tier);
    s.copy = value_in(s, s.copy_storage);
    push(true, to_.move.push({s.here, s.copy, -1}), storage);
  }
  constexpr void detach(int storage) {
    storage_state& s = state_[storage];
    if (s.copy < 0 || s.here < 0) return refuse(cache_insertion_code::detach_without_a_copy, storage);
    push(true, to_.move.push({s.here, s.copy, -1, true}), storage);
    s.here = s.stay = -1;
    --s.detaches;
  }
  constexpr void prefetch(int storage) {
    storage_state& s = state_[storage];
    if (s.copy < 0) return refuse(cache_insertion_code::prefetch_without_a_copy, storage);
    if (s.here >= 0) return refuse(cache_insertion_code::prefetch_of_what_is_here, storage);
    s.stay = next_stay(storage);
    s.here = value_in(s, s.stay);
    push(true, to_.move.push({s.copy, s.here, -1}), storage);
    s.arrives = true;
  }
  /// Runs once more what made the storage's value; its other results are nobody's.
  constexpr void recompute(int storage) {
    storage_state& s = state_[storage];
    if (s.maker < 0) return refuse(cache_insertion_code::nothing_computes_it, storage);
    const int maker = s.maker;
    program_compute again = from_.compute[maker];
    const graph_operator& op = to_.graph.op[again.op];
    for (int i = 0; i < op.operand_count; ++i) again.operand[i] = read(again.operand[i]);
    for (int r = 0; r < op.result_count; ++r) {
      const int made = again.result[r], home = from_.value[made].storage;
      program_value v = from_.value[made];
      v.storage = add_storage(home, 0);
      again.result[r] = to_.value.push(v);
      if (home != storage) continue;
      s.stay = v.storage;
      s.here = again.result[r];
    }
    push(false, to_.compute.push(again), storage);
  }

  constexpr void release(int storage) {
    if (storage >= from_.storage.size) {
      to_.move[storage - from_.storage.size].held = to_.step.size - 1;
      return;
    }
    if (const int stay = state_[storage].stay; stay >= 0) to_.storage[stay].held = to_.step.size - 1;
  }

  const sharded_program& from_;
  sharded_program to_;
  growing_array<storage_state> state_;
  growing_array<program_step> at_;  // of each part: its last step
  cache_insertion_code code_ = cache_insertion_code::ok;
  int fault_ = -1;
};

}  // namespace detail

/// The program with what `actions` say. Where `status` is not ok the program is what was made before the fault.
constexpr sharded_program insert_cache_operators(const sharded_program& p, const growing_array<int>& home_tier,
                                                 const growing_array<cache_action>& actions,
                                                 cache_insertion_status& status) {
  detail::cache_inserter inserter(p, home_tier, actions);
  status = {};
  for (int i = 0; i < actions.size && status.code == cache_insertion_code::ok; ++i) {
    inserter.add(actions[i]);
    if (i + 1 == actions.size) inserter.end();
    if (inserter.code() != cache_insertion_code::ok) status = {inserter.code(), i, inserter.storage_at_fault()};
  }
  return inserter.take();
}

}}  // namespace hyperparallel::v0_2
