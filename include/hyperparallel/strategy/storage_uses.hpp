// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where each storage of a folded program is used: in which steps, of which repetitions, and to which class it belongs.
//
// Steps of one phase and segment stand together: a *block*, which runs once for each repetition of its segment, in
// backward the last repetition first. A storage of a segment exists once for each repetition; what a repetition leaves
// for the next one (`carried_out`, `gradient_out`) is used by both. Times count steps of the program with at most
// `written_out` repetitions of each segment. O(storages + accesses · values).

#include <hyperparallel/strategy/value_lists.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class memory_class : unsigned char { parameters, gradients, states, activations, buffers, inputs };
inline constexpr int memory_class_count = 6;

constexpr const char* name_of(memory_class c) {
  return detail::enum_name("parameters\0gradients\0states\0activations\0buffers\0inputs", c);
}

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

/// Of one program, which must outlive it.
class storage_uses {
 public:
  static constexpr int written_out = 5;  ///< repetitions that stand for any number
  growing_array<step_block> blocks;
  growing_array<int> block_of;  ///< of each step
  int times = 0;
  growing_array<storage_use> use;
  growing_array<bool> resident;  ///< lives from the first step to the last
  value_lists values;

  constexpr explicit storage_uses(const sharded_program& given) : values(given), p(given) {
    lay_out_time();
    find_segments();
    find_uses();
  }

  constexpr int repetitions_of(int segment) const {
    const extent_t n = detail::repeats_of(p.graph, segment);
    return n < written_out ? static_cast<int>(n) : written_out;
  }

  /// Of step `i` in repetition `r`.
  constexpr int time_of(int i, int r) const {
    const step_block& b = blocks.item[block_of.item[i]];
    return b.time + (b.reversed ? b.repetitions - 1 - r : r) * (b.end - b.begin) + i - b.begin;
  }

  constexpr bool is_carried_in(int tensor, int segment) const {
    return tensor == p.graph.segment.item[segment].carried_in || tensor == p.graph.segment.item[segment].gradient_in;
  }
  /// The storage that a repetition leaves for the next one in place of value `v`, which the first one reads.
  constexpr int carried_storage(int v, int segment) const {
    const graph_segment& s = p.graph.segment.item[segment];
    const int out = values.tensor.item[v] == s.carried_in ? s.carried_out : s.gradient_out;
    int found = -1;
    for (const int w : handed_on_) {
      const int storage = values.storage.item[w];
      if (values.tensor.item[w] != out || use.item[storage].segment != segment) continue;
      found = storage;
      if (p.value.item[w].layout == p.value.item[v].layout) break;
    }
    return found;
  }

  constexpr memory_class class_of(int s) const {
    const graph& g = p.graph;
    const graph_tensor& t = g.tensor.item[p.storage.item[s].tensor];
    if (t.kind == graph_tensor_kind::gradient)
      return t.source >= 0 && g.tensor.item[t.source].kind == graph_tensor_kind::parameter ? memory_class::gradients
                                                                                           : memory_class::activations;
    if (p.storage.item[s].home) {
      if (t.kind == graph_tensor_kind::parameter) return memory_class::parameters;
      return t.kind == graph_tensor_kind::input ? memory_class::inputs
             : accumulates(s)                   ? memory_class::gradients
                                                : memory_class::states;
    }
    if (t.kind != graph_tensor_kind::activation) return memory_class::buffers;
    if (use.item[s].first < 0 || !p.step.item[use.item[s].first].is_move) return memory_class::activations;
    const bool is_left =
        p.step.item[use.item[s].first].phase == graph_phase::forward &&
        (p.step.item[use.item[s].last].phase != graph_phase::forward ||
         (use.item[s].next_last >= 0 && p.step.item[use.item[s].next_last].phase != graph_phase::forward));
    return is_left ? memory_class::activations : memory_class::buffers;
  }
  /// Whether gradients are summed up in it. Its last user is their reader or their sum.
  constexpr bool accumulates(int s) const {
    const int tensor = p.storage.item[s].tensor;
    for (int i = use.item[s].first; i >= 0 && i <= use.item[s].last; ++i) {
      if (p.step.item[i].is_move) continue;
      const graph_operator& o = p.graph.op.item[p.compute.item[p.step.item[i].index].op];
      if (o.operand_count > 0 && o.operand[0] == tensor) return p.graph.value_of(o).accumulates;
    }
    return false;
  }

 private:
  constexpr void lay_out_time() {
    block_of.resize(p.step.size, 0);
    for (int i = 0; i < p.step.size; ++i) {
      const program_step& s = p.step.item[i];
      if (i == 0 || s.segment != p.step.item[i - 1].segment || s.phase != p.step.item[i - 1].phase)
        blocks.push({i, i, s.segment, s.phase == graph_phase::backward, 0, repetitions_of(s.segment)});
      block_of.item[i] = blocks.size - 1;
      blocks.last().end = i + 1;
    }
    for (step_block& b : blocks) {
      b.time = times;
      times += (b.end - b.begin) * b.repetitions;
    }
  }
  /// A storage belongs to the segment that makes its tensor, or makes something of what it carries; a home to its
  /// tensor's.
  constexpr void find_segments() {
    use.resize(p.storage.size);
    resident.resize(p.storage.size, false);
    for (int s = 0; s < p.storage.size; ++s) {
      resident.item[s] = p.storage.item[s].home;
      if (p.storage.item[s].home) use.item[s].segment = p.graph.tensor.item[p.storage.item[s].tensor].segment;
    }
    for (const step_block& b : blocks)
      for (int i = b.begin; i < b.end; ++i)
        for (int k = values.begin.item[i]; k < values.begin.item[i + 1]; ++k) {
          const int v = values.value.item[k], s = values.storage.item[v];
          storage_use& u = use.item[s];
          if (u.first < 0) u.first = i;
          u.last = i;
          if (b.segment < 0 || k < values.written.item[i] || resident.item[s]) continue;
          const int tensor = values.tensor.item[v];
          if (p.graph.tensor.item[tensor].segment == b.segment || is_carried_in(tensor, b.segment))
            u.segment = b.segment;
        }
    for (int v = 0; v < values.storage.size; ++v) {
      const int s = values.storage.item[v], tensor = values.tensor.item[v];
      if (s >= 0 && detail::is_shown(p.graph, tensor)) resident.item[s] = true;
      for (const graph_segment& one : p.graph.segment)
        if (tensor == one.carried_out || tensor == one.gradient_out) handed_on_.push(v);
    }
  }

  constexpr void find_uses() {
    for (const step_block& b : blocks)
      for (int i = b.begin; i < b.end; ++i)
        for (int k = values.begin.item[i]; k < values.begin.item[i + 1]; ++k) {
          const int v = values.value.item[k];
          storage_use& u = use.item[values.storage.item[v]];
          if (b.segment < 0 || u.segment != b.segment) {
            note_use_outside(v, i, b, u);
            continue;
          }
          if (u.own_first < 0) u.own_first = i;
          u.own_last = i;
        }
  }
  constexpr void note_use_outside(int v, int i, const step_block& b, storage_use& u) {
    int first = 0, last = b.repetitions - 1;  // repetitions that use it
    if (b.reversed) {
      first = last;
      last = 0;
    }
    const int tensor = values.tensor.item[v];
    if (b.segment >= 0 && is_carried_in(tensor, b.segment)) {
      first = last = tensor == p.graph.segment.item[b.segment].carried_in ? 0 : b.repetitions - 1;
      const int carried = carried_storage(v, b.segment);
      if (carried >= 0) use.item[carried].next_last = i;
    }
    if (u.first_outside < 0) u.first_outside = time_of(i, first);
    if (const int time = time_of(i, last); time > u.last_outside) u.last_outside = time;
  }

  const sharded_program& p;
  growing_array<int> handed_on_;  ///< values that a repetition leaves for another
};

}}  // namespace hyperparallel::v0_2
