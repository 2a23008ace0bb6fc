// SPDX-License-Identifier: Apache-2.0
#pragma once
// A strategy that has a mesh and no rule yet.

#include <hyperparallel/strategy/strategy.hpp>

#include <initializer_list>

namespace programs {

namespace hp = hyperparallel;

inline hp::strategy_value strategy_on(std::initializer_list<hp::axis> axes) {
  hp::strategy_value s;
  const char* names[hp::max_axes] = {};
  int sizes[hp::max_axes] = {}, n = 0;
  for (const hp::axis& a : axes) {
    names[n] = a.label.text;
    sizes[n++] = a.size;
  }
  s.mesh = hp::make_mesh(names, n, sizes, n).mesh;
  return s;
}

}  // namespace programs
