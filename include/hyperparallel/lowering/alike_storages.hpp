// SPDX-License-Identifier: Apache-2.0
#pragma once
// Storages of a folded program that the same blocks use in the same way: whatever a planner of memory tiers decides of
// one, it may decide of all.
//
// What lives within one repetition of one block only belongs to no group: it is the block's temporaries, told as the
// most of it that is alive at once. Laws: groups and temporaries hold every storage that is used, and every home; two
// storages of a group are used by the same blocks in the same way, have the same class, and the same pin. Source: use-
// definition chains over blocks. O(accesses + storages · groups).

#include <hyperparallel/offload/offload_program.hpp>
#include <hyperparallel/strategy/address_plan.hpp>
#include <hyperparallel/strategy/storage_uses.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What a user says of a storage.
struct tier_pin {
  offload_control control = offload_control::automatic;
  int tier = -1;
  friend constexpr bool operator==(const tier_pin&, const tier_pin&) = default;
};

namespace detail {

/// How a block uses a storage. Of a storage with one instance for each repetition: by the block's same repetition, by
/// the next one that it is carried to, or by another segment's. `by_first | by_last`: by every repetition of these.
enum block_use : unsigned char {
  own_read = 1,
  own_write = 2,
  next_read = 4,
  next_write = 8,
  by_first = 16,
  by_last = 32,
  outside_write = 64
};

}  // namespace detail

struct alike_storages {
  int storage = -1;  ///< the largest one
  int storages = 0;
  extent_t bytes = 0, largest = 0;  ///< of one repetition, rounded up to what addresses are aligned to
  memory_class kind = memory_class::buffers;
  int segment = -1;
  bool persistent = false;  ///< holds its value from one step to the next
  bool carried = false;     ///< left for the next repetition; `backward`: for the one before
  bool backward = false;
  int first_block = 0, last_block = -1;  ///< of those that use it
  tier_pin pin{};
  std::uint64_t hash = 0;  ///< of its uses
};

/// `pin` is of each storage of the program, empty: none.
class storage_groups {
 public:
  growing_array<alike_storages> group;
  growing_array<extent_t> temporaries;  ///< of each block, bytes

  constexpr storage_groups(const sharded_program& given, const storage_uses& used, const program_moves& sorted,
                           const growing_array<tier_pin>& pinned)
      : p(given), of(used), moves(sorted), pin(pinned) {
    note_uses();
    form_groups();
    measure_temporaries();
  }

  /// block_use bits.
  constexpr unsigned char uses(int storage, int block) const { return use_.item[storage * of.blocks.size + block]; }

 private:
  constexpr unsigned char& use_at(int s, int block) { return use_.item[s * of.blocks.size + block]; }

  constexpr void note_uses() {
    use_.resize(p.storage.size * of.blocks.size, 0);
    const value_lists& values = of.values;
    for (int b = 0; b < of.blocks.size; ++b)
      for (int i = of.blocks.item[b].begin; i < of.blocks.item[b].end; ++i)
        for (int k = values.begin.item[i]; k < values.begin.item[i + 1]; ++k)
          note_use(values.value.item[k], b, of.blocks.item[b].segment, k >= values.written.item[i]);
  }
  constexpr void note_use(int v, int b, int segment, bool written) {
    const int s = of.values.storage.item[v], tensor = of.values.tensor.item[v];
    if (of.use.item[s].segment == segment) {
      use_at(s, b) |= written ? detail::own_write : detail::own_read;
      return;
    }
    int outside = detail::by_first | detail::by_last;
    if (segment >= 0 && of.is_carried_in(tensor, segment)) {
      outside = tensor == p.graph.segment.item[segment].carried_in ? detail::by_first : detail::by_last;
      if (const int carried = of.carried_storage(v, segment); carried >= 0)
        use_at(carried, b) |= written ? detail::next_write : detail::next_read;
    }
    use_at(s, b) |= static_cast<unsigned char>(outside | (written ? detail::outside_write : 0));
  }

  /// What is handed on to another repetition is used by its block, too.
  constexpr bool is_within(int s) const {
    const storage_use& u = of.use.item[s];
    if (of.resident.item[s] || u.first < 0) return false;
    const int b = of.block_of.item[u.first];
    return b == of.block_of.item[u.last] && (uses(s, b) & ~(detail::own_read | detail::own_write)) == 0 &&
           u.next_last < 0;
  }

  constexpr void form_groups() {
    within_.resize(p.storage.size, false);
    for (int s = 0; s < p.storage.size; ++s) {
      if (p.storage.item[s].bytes == 0 || p.storage.item[s].tier > 0) continue;
      within_.item[s] = is_within(s);
      if (within_.item[s]) continue;
      alike_storages g;
      g.storage = s;
      g.kind = of.class_of(s);
      g.segment = of.use.item[s].segment;
      g.persistent = of.resident.item[s];
      const int tensor = p.storage.item[s].tensor;
      if (g.segment >= 0) {
        g.backward = tensor == p.graph.segment.item[g.segment].gradient_out;
        g.carried = g.backward || tensor == p.graph.segment.item[g.segment].carried_out;
      }
      if (pin.size > 0) g.pin = pin[s];
      // Whoever runs the program reads it, or writes it anew each time: it stays.
      if (g.persistent && (!p.storage.item[s].home || g.kind == memory_class::inputs))
        g.pin = {offload_control::keep, -1};
      add_to_group(s, g);
    }
  }
  constexpr void add_to_group(int s, alike_storages g) {
    const unsigned char* const row = use_.item + s * of.blocks.size;
    for (int b = 0; b < of.blocks.size; ++b) {
      g.hash = g.hash * 131 + row[b];
      if (row[b] == 0) continue;
      if (g.last_block < 0) g.first_block = b;
      g.last_block = b;
    }
    if (g.last_block < 0 && !g.persistent) return;
    int at = 0;
    while (at < group.size && (group.item[at].hash != g.hash || !used_alike(group.item[at], g))) ++at;
    if (at == group.size) group.push(g);
    alike_storages& all = group[at];
    const extent_t bytes = detail::aligned(p.storage.item[s].bytes);
    ++all.storages;
    all.bytes += bytes;
    if (bytes <= all.largest) return;
    all.largest = bytes;
    all.storage = s;
  }

  /// Of two with one hash.
  constexpr bool used_alike(const alike_storages& a, const alike_storages& b) const {
    if (a.first_block != b.first_block || a.last_block != b.last_block || a.segment != b.segment || a.kind != b.kind ||
        a.persistent != b.persistent || a.backward != b.backward || a.carried != b.carried || a.pin != b.pin)
      return false;
    const unsigned char *const row = use_.item + a.storage * of.blocks.size, *const other =
                                                                                 use_.item + b.storage * of.blocks.size;
    int same = a.first_block;
    while (same <= a.last_block && row[same] == other[same]) ++same;
    return same > a.last_block;
  }

  /// The most of what lives within one repetition of a block that is alive at once.
  constexpr void measure_temporaries() {
    temporaries.resize(of.blocks.size, 0);
    growing_array<extent_t> change(p.step.size + 1, 0);
    for (int s = 0; s < p.storage.size; ++s) {
      if (!within_.item[s]) continue;
      change.item[of.use.item[s].first] += detail::aligned(p.storage.item[s].bytes);
      change.item[of.use.item[s].last + 1] -= detail::aligned(p.storage.item[s].bytes);
    }
    extent_t alive = 0;
    for (int i = 0; i < p.step.size; ++i) {
      alive += change.item[i];
      const extent_t staged =
          p.step.item[i].is_move ? detail::aligned(kind_of(moves, p.step.item[i].index).staged_bytes) : 0;
      extent_t& most = temporaries.item[of.block_of.item[i]];
      most = larger(most, alive + staged);
    }
  }

  const sharded_program& p;
  const storage_uses& of;
  const program_moves& moves;
  const growing_array<tier_pin>& pin;
  growing_array<unsigned char> use_;  ///< of each storage, by block
  growing_array<bool> within_;        ///< of each storage: whether it is one of the temporaries
};

}}  // namespace hyperparallel::v0_2
