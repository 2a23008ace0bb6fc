// SPDX-License-Identifier: Apache-2.0
#pragma once
// Eight ranks on the processes of a test, in an order that no sorting gives; and fills that tell every byte apart.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <hyperparallel/layout/tensor_map.hpp>
#include <hyperparallel/mpi.hpp>

#include "support/all_layouts.hpp"

namespace mpi_worlds {

namespace hp = hyperparallel;
using namespace std::chrono_literals;

inline int processes() {
  int n = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  return n;
}

/// Homes of eight ranks: on three processes 4, 3 and 1 of them.
inline std::vector<int> homes_of_eight() {
  switch (processes()) {
    case 8:
      return {5, 0, 3, 1, 7, 2, 6, 4};
    case 4:
      return {2, 0, 1, 3, 3, 1, 0, 2};
    case 3:
      return {1, 0, 0, 2, 1, 1, 0, 1};
    default:
      return {0, 0, 0, 0, 0, 0, 0, 0};
  }
}

/// A way to move: a transport, and how many processes share memory.
struct way {
  hp::mpi_transport transport;
  int processes_per_host;
};

/// The last one mixes windows and messages.
inline const std::vector<way>& ways() {
  static const std::vector<way> all{{hp::mpi_transport::automatic, 0},
                                    {hp::mpi_transport::derived_types, 0},
                                    {hp::mpi_transport::packed, 0},
                                    {hp::mpi_transport::automatic, 3}};
  return all;
}

inline hp::mpi_world eight_ranks(int processes_per_host = 0) {
  return {MPI_COMM_WORLD, homes_of_eight(), hp::mpi_options{.timeout = 60s, .processes_per_host = processes_per_host}};
}

/// An object of N bytes.
template <int N>
struct element {
  unsigned char byte[N];
};

/// Calls `visit(element<N>{})` for the N that is given.
template <class Visit>
void with_element(int bytes, const Visit& visit) {
  switch (bytes) {
    case 1:
      return visit(element<1>{});
    case 2:
      return visit(element<2>{});
    case 4:
      return visit(element<4>{});
    case 8:
      return visit(element<8>{});
    case 12:
      return visit(element<12>{});
    default:
      return visit(element<16>{});
  }
}

/// Writes the elements of a box of a tensor of two dims: byte j of an element depends on its number, j and `salt`.
template <class Element>
void write_elements(std::span<Element> block, const hp::box& b, const hp::shape& s, unsigned salt) {
  std::size_t at = 0;
  for (hp::extent_t r = b.dim[0].begin; r < b.dim[0].end; ++r)
    for (hp::extent_t c = b.dim[1].begin; c < b.dim[1].end; ++c, ++at)
      for (unsigned j = 0; j < sizeof(Element); ++j) {
        const auto number = static_cast<unsigned>(r * s.extent[1] + c);
        block[at].byte[j] = static_cast<unsigned char>((number * 16 + j) * 2654435761U >> 13 ^ salt);
      }
}

inline hp::box slice(const hp::layout_value& l, const hp::shape& s, int rank) {
  return hp::slice_at(l, s, hp::coordinates_of(l.mesh, rank));
}

}  // namespace mpi_worlds
