// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes of tier 0 of one device over the steps of a program, by class: the peak, what it is made of, the most of each
// class.
//
//   parameters    homes of parameters              activations   what forward and backward make, gradients of it too
//   gradients     of parameters, accumulated too   buffers       what moves write and do not leave for backward, blocks
//   states        other homes but inputs                         between steps of moves, temporaries of the update
//   inputs        homes of inputs
//
// Segments: what a repetition leaves for backward or for the update is counted for every repetition, what it makes and
// ends is counted once, parameters and states `repeats` times. Law: the account of a folded program is the account of
// the program with its repetitions written out; where no segment repeats, the peak with an alignment of 64 is the alive
// maximum of address_plan.hpp. The bytes alive in repetition r are linear in r between the first two repetitions and
// the last two, and linear in the number of repetitions; so five repetitions stand for any number, the middle one is
// weighted and no maximum is taken in it. Units: bytes. O(storages + steps + moves · kinds of moves).

#include <hyperparallel/model/address_plan.hpp>

namespace hyperparallel {

enum class memory_class : unsigned char { parameters, gradients, states, activations, buffers, inputs };
inline constexpr int memory_class_count = 6;

constexpr const char* name_of(memory_class c) {
  constexpr const char* names[] = {"parameters", "gradients", "states", "activations", "buffers", "inputs"};
  return names[static_cast<int>(c)];
}

struct memory_account {
  extent_t peak = 0;
  int peak_step = -1;                          ///< of the program: the first one with that much
  extent_t at_peak[memory_class_count] = {};   ///< adds up to the peak
  extent_t most[memory_class_count] = {};      ///< of each class by itself, in any step
  extent_t resident[memory_class_count] = {};  ///< alive always: what is left between two steps of training
  friend constexpr bool operator==(const memory_account&, const memory_account&) = default;
};

namespace detail {

/// Steps of one phase and segment that stand together, repeated.
struct step_block {
  int begin = 0, end = 0;
  int segment = -1;
  bool reversed = false;  ///< the last repetition runs first
  int time = 0;           ///< of the first step of the first repetition
  int repetitions = 1;    ///< written out
};

/// Who uses a storage. Places are in `sharded_program::step`, times in the written-out program.
struct storage_use {
  int segment = -1;                           ///< whose repetitions each have one
  int first = -1, last = -1;                  ///< places, anywhere
  int own_first = -1, own_last = -1;          ///< places in its segment
  int next_last = -1;                         ///< place in its segment, of the repetition that it is carried to
  int first_outside = -1, last_outside = -1;  ///< times
};

class memory_walk {
 public:
  constexpr memory_walk(const sharded_program& given, const program_moves& sorted, extent_t rounding)
      : p(given), moves(sorted), alignment(rounding) {
    lay_out_time();
    find_segments();
    find_uses();
  }

  constexpr memory_account run() {
    change.resize((times + 1) * memory_class_count, 0);
    change_within.resize((p.step.size + 1) * memory_class_count, 0);
    for (int s = 0; s < p.storage.size; ++s) add_storage(s);
    for (int i = 0; i < p.step.size; ++i) {
      if (!p.step[i].is_move) continue;
      const extent_t between = kind_of(moves, p.step[i].index).between;
      if (between > 0)
        add_within(memory_class::buffers, i, i, rounded(between * bytes_of(type_of_move(p.step[i].index))));
    }
    return take_maxima();
  }

 private:
  static constexpr int written_out = 5;  ///< repetitions that stand for any number; the middle one is `middle`
  static constexpr int middle = 2;

  constexpr extent_t rounded(extent_t bytes) const { return (bytes + alignment - 1) / alignment * alignment; }
  constexpr data_type type_of_move(int m) const { return p.graph.tensor[p.value[p.move[m].source].tensor].type; }
  constexpr int repetitions_of(int segment) const {
    const extent_t n = repeats_of(p.graph, segment);
    return n < written_out ? static_cast<int>(n) : written_out;
  }

  constexpr void lay_out_time() {
    block_of.resize(p.step.size, 0);
    for (int i = 0; i < p.step.size; ++i) {
      const program_step& s = p.step[i];
      if (i == 0 || s.segment != p.step[i - 1].segment || s.phase != p.step[i - 1].phase)
        blocks.push({i, i, s.segment, s.phase == graph_phase::backward, 0, repetitions_of(s.segment)});
      block_of[i] = blocks.size - 1;
      blocks.last().end = i + 1;
    }
    for (step_block& b : blocks) {
      b.time = times;
      times += (b.end - b.begin) * b.repetitions;
    }
  }
  /// Of step `i` in repetition `r`.
  constexpr int time_of(int i, int r) const {
    const step_block& b = blocks[block_of[i]];
    return b.time + (b.reversed ? b.repetitions - 1 - r : r) * (b.end - b.begin) + i - b.begin;
  }

  constexpr bool is_carried_in(int tensor, int segment) const {
    return tensor == p.graph.segment[segment].carried_in || tensor == p.graph.segment[segment].gradient_in;
  }

  /// A storage belongs to the segment that makes its tensor, or makes something of what it carries; a home to its
  /// tensor's.
  constexpr void find_segments() {
    use.resize(p.storage.size);
    resident.resize(p.storage.size, false);
    for (int s = 0; s < p.storage.size; ++s) {
      resident[s] = p.storage[s].home;
      if (p.storage[s].home) use[s].segment = p.graph.tensor[p.storage[s].tensor].segment;
    }
    for (int i = 0; i < p.step.size; ++i) {
      const int segment = p.step[i].segment;
      visit_values(p, p.step[i], [&](int v, bool written) {
        const int tensor = p.value[v].tensor, s = p.value[v].storage;
        if (use[s].first < 0) use[s].first = i;
        use[s].last = i;
        if (!written || p.storage[s].home || segment < 0) return;
        if (p.graph.tensor[tensor].segment == segment || is_carried_in(tensor, segment)) use[s].segment = segment;
      });
    }
    for (int v = 0; v < p.value.size; ++v)
      if (p.value[v].storage >= 0 && is_shown(p.graph, p.value[v].tensor)) resident[p.value[v].storage] = true;
  }

  /// The storage that a repetition leaves for the next one in place of value `v`, which the first one reads.
  constexpr int carried_storage(int v, int segment) const {
    const graph_segment& s = p.graph.segment[segment];
    const int out = p.value[v].tensor == s.carried_in ? s.carried_out : s.gradient_out;
    int found = -1;
    for (int w = 0; w < p.value.size; ++w) {
      if (p.value[w].tensor != out || use[p.value[w].storage].segment != segment) continue;
      found = p.value[w].storage;
      if (p.value[w].layout == p.value[v].layout) break;
    }
    return found;
  }

  constexpr void find_uses() {
    for (int i = 0; i < p.step.size; ++i) visit_values(p, p.step[i], [&](int v, bool) { note_use_of(v, i); });
  }
  constexpr void note_use_of(int v, int i) {
    const step_block& b = blocks[block_of[i]];
    storage_use& u = use[p.value[v].storage];
    if (b.segment >= 0 && u.segment == b.segment) {
      if (u.own_first < 0) u.own_first = i;
      u.own_last = i;
      return;
    }
    int first = 0, last = b.repetitions - 1;  // repetitions that use it
    if (b.reversed) {
      first = last;
      last = 0;
    }
    if (b.segment >= 0 && is_carried_in(p.value[v].tensor, b.segment)) {
      first = last = p.value[v].tensor == p.graph.segment[b.segment].carried_in ? 0 : b.repetitions - 1;
      const int carried = carried_storage(v, b.segment);
      if (carried >= 0) use[carried].next_last = i;
    }
    if (u.first_outside < 0) u.first_outside = time_of(i, first);
    if (time_of(i, last) > u.last_outside) u.last_outside = time_of(i, last);
  }

  constexpr memory_class class_of(int s) const {
    const graph& g = p.graph;
    const graph_tensor& t = g.tensor[p.storage[s].tensor];
    if (t.kind == graph_tensor_kind::gradient)
      return t.source >= 0 && g.tensor[t.source].kind == graph_tensor_kind::parameter ? memory_class::gradients
                                                                                      : memory_class::activations;
    if (p.storage[s].home) {
      if (t.kind == graph_tensor_kind::parameter) return memory_class::parameters;
      return t.kind == graph_tensor_kind::input ? memory_class::inputs
             : accumulates(s)                   ? memory_class::gradients
                                                : memory_class::states;
    }
    if (t.kind != graph_tensor_kind::activation) return memory_class::buffers;
    if (use[s].first < 0 || !p.step[use[s].first].is_move) return memory_class::activations;
    const bool is_left = p.step[use[s].first].phase == graph_phase::forward &&
                         (p.step[use[s].last].phase != graph_phase::forward ||
                          (use[s].next_last >= 0 && p.step[use[s].next_last].phase != graph_phase::forward));
    return is_left ? memory_class::activations : memory_class::buffers;
  }
  /// Whether gradients are summed up in it. Its last user is their reader or their sum.
  constexpr bool accumulates(int s) const {
    const int tensor = p.storage[s].tensor;
    for (int i = use[s].first; i >= 0 && i <= use[s].last; ++i) {
      if (p.step[i].is_move) continue;
      const graph_operator& o = p.graph.op[p.compute[p.step[i].index].op];
      if (o.operand_count > 0 && o.operand[0].tensor == tensor) return o.kind == model_op::accumulate;
    }
    return false;
  }

  constexpr void add(memory_class c, int first, int last, extent_t bytes) {
    change[first * memory_class_count + static_cast<int>(c)] += bytes;
    change[(last + 1) * memory_class_count + static_cast<int>(c)] -= bytes;
  }
  /// In every repetition from step `first` to step `last` of one block.
  constexpr void add_within(memory_class c, int first, int last, extent_t bytes) {
    change_within[first * memory_class_count + static_cast<int>(c)] += bytes;
    if (last + 1 < blocks[block_of[first]].end)
      change_within[(last + 1) * memory_class_count + static_cast<int>(c)] -= bytes;
  }

  constexpr void add_storage(int s) {
    if (p.storage[s].tier > 0) return;
    const storage_use& u = use[s];
    const memory_class c = class_of(s);
    const extent_t bytes = rounded(p.storage[s].bytes);
    if (resident[s]) {
      always.resident[static_cast<int>(c)] += bytes * repeats_of(p.graph, u.segment);
      return;
    }
    if (u.first < 0) return;
    if (u.segment < 0) return add(c, u.first_outside, u.last_outside, bytes);
    if (u.next_last < 0 && u.last_outside < 0 && block_of[u.own_first] == block_of[u.own_last])
      return add_within(c, u.own_first, u.own_last, bytes);
    const extent_t repeats = repeats_of(p.graph, u.segment);
    const int count = repetitions_of(u.segment);
    if (repeats <= written_out || u.next_last < 0)
      return add_repetitions(c, s, count, repeats - count + 1, false, bytes);
    // What is carried over the middle has two forms: as one of five, and as one of four without it.
    add_repetitions(c, s, count, 1, false, bytes * (repeats - count + 1));
    add_repetitions(c, s, count, 1, true, bytes * (count - repeats));
  }

  /// One storage a repetition, the middle one of weight `middle_weight`. With `skips` it is left out.
  constexpr void add_repetitions(memory_class c, int s, int count, extent_t middle_weight, bool skips, extent_t bytes) {
    const storage_use& u = use[s];
    const graph_segment& segment = p.graph.segment[u.segment];
    const int tensor = p.storage[s].tensor;
    const bool backward = tensor == segment.gradient_out, carried = tensor == segment.carried_out;
    for (int r = 0; r < count; ++r) {
      if (skips && r == middle) continue;
      int last = time_of(u.own_last, r), next = backward ? r - 1 : r + 1;
      if (skips && next == middle) next += next - r;
      if (u.next_last >= 0 && next >= 0 && next < count && time_of(u.next_last, next) > last)
        last = time_of(u.next_last, next);
      if ((!backward && !carried) || r == (backward ? 0 : count - 1))
        if (u.last_outside > last) last = u.last_outside;
      add(c, time_of(u.own_first, r), last, bytes * (r == middle ? middle_weight : 1));
    }
  }

  constexpr memory_account take_maxima() {
    memory_account a = always;
    extent_t alive[memory_class_count] = {};
    for (int c = 0; c < memory_class_count; ++c) alive[c] = a.most[c] = a.at_peak[c] = a.resident[c];
    for (int c = 0; c < memory_class_count; ++c) a.peak += alive[c];
    int time = 0;
    for (const step_block& b : blocks) {
      const bool weighted = repeats_of(p.graph, b.segment) > written_out;
      for (int r = 0; r < b.repetitions; ++r) {
        extent_t within[memory_class_count] = {};
        for (int i = b.begin; i < b.end; ++i, ++time) {
          extent_t held[memory_class_count] = {}, total = 0;
          for (int c = 0; c < memory_class_count; ++c) {
            alive[c] += change[time * memory_class_count + c];
            within[c] += change_within[i * memory_class_count + c];
            total += held[c] = alive[c] + within[c];
          }
          if (weighted && r == middle) continue;
          for (int c = 0; c < memory_class_count; ++c)
            if (held[c] > a.most[c]) a.most[c] = held[c];
          if (total <= a.peak && a.peak_step >= 0) continue;
          a.peak = total;
          a.peak_step = i;
          for (int c = 0; c < memory_class_count; ++c) a.at_peak[c] = held[c];
        }
      }
    }
    return a;
  }

  const sharded_program& p;
  const program_moves& moves;
  extent_t alignment;
  growing_array<step_block> blocks;
  growing_array<int> block_of;
  int times = 0;
  growing_array<storage_use> use;
  growing_array<bool> resident;
  growing_array<extent_t> change;         ///< of each class at each time
  growing_array<extent_t> change_within;  ///< of each class at each step, in every repetition of its block alone
  memory_account always{};
};

}  // namespace detail

/// The account of a program's device, whose moves are sorted. Sizes are rounded up to multiples of `alignment`.
constexpr memory_account memory_account_of(const sharded_program& p, const program_moves& moves,
                                           extent_t alignment = 1) {
  return detail::memory_walk(p, moves, alignment).run();
}
constexpr memory_account memory_account_of(const sharded_program& p, extent_t alignment = 1) {
  return memory_account_of(p, kinds_of_moves(p), alignment);
}

}  // namespace hyperparallel
