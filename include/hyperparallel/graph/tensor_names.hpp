// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which names a graph under construction has given out: a hash table of tensors with open addresses.
//
// Law: `insert` is true exactly where no tensor inserted before has the same name. Expected O(length of the name), so
// that a model of thousands of tensors is built in linear time, in a constant evaluation too.

#include <hyperparallel/graph/graph.hpp>

namespace hyperparallel { inline namespace v0_2 {

class tensor_names {
 public:
  /// Enters tensor `t` of `g`; false where its name was there.
  constexpr bool insert(const graph& g, int t) {
    if (2 * count_ >= slot_.size) {
      const growing_array<int> before = slot_;
      slot_.clear();
      slot_.resize(before.size == 0 ? 128 : 4 * before.size, -1);
      for (const int known : before)
        if (known >= 0) slot_[place_of(g, known)] = known;
    }
    const int place = place_of(g, t);
    if (slot_[place] >= 0) return false;
    slot_[place] = t;
    ++count_;
    return true;
  }

 private:
  /// Where a tensor of this name is, or the free slot where it belongs.
  constexpr int place_of(const graph& g, int t) const {
    const char* const name = g.name_of_tensor(t);
    unsigned hash = 2166136261u;  // FNV-1a
    for (const char* c = name; *c != '\0'; ++c) hash = (hash ^ static_cast<unsigned char>(*c)) * 16777619u;
    int place = static_cast<int>(hash & static_cast<unsigned>(slot_.size - 1));
    while (slot_[place] >= 0 && !detail::same_text(name, g.name_of_tensor(slot_[place])))
      place = (place + 1) & (slot_.size - 1);
    return place;
  }

  growing_array<int> slot_;
  int count_ = 0;
};

}}  // namespace hyperparallel::v0_2
