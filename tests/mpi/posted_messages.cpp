// SPDX-License-Identifier: Apache-2.0
#include "posted_messages.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include <hyperparallel/mpi/channel.hpp>

namespace {

using tested::posted_messages;

/// Without sleeping: sleeps last at least as long as the system likes.
void be_late() {
  if (!posted_messages::late || posted_messages::random() % 8 != 0) return;
  ++posted_messages::delays;
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(posted_messages::random() % 100);
  while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
}

void note_send(int count, MPI_Datatype type, int to, int tag) {
  if (tag != hyperparallel::detail::mpi_channel::data_tag) return;
  int size = 0;
  MPI_Type_size(type, &size);
  const auto place = static_cast<std::size_t>(to);
  if (posted_messages::bytes.size() <= place) posted_messages::bytes.resize(place + 1);
  posted_messages::bytes[place] += std::int64_t{size} * count;
}

/// The bytes of a block. MPICH packs nothing from MPI_BOTTOM: addresses of its type are counted from the lowest one.
void pack(const void* block, int count, MPI_Datatype type, MPI_Comm comm, std::vector<char>& to) {
  MPI_Aint low = 0, extent = 0;
  MPI_Type_get_true_extent(type, &low, &extent);
  const MPI_Aint back = block == MPI_BOTTOM ? -low : 0;
  MPI_Datatype shifted = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed_block(1, 1, &back, type, &shifted);
  MPI_Type_commit(&shifted);
  int bytes = 0, place = 0;
  MPI_Pack_size(count, shifted, comm, &bytes);
  to.resize(static_cast<std::size_t>(bytes));
  const void* const first = block == MPI_BOTTOM ? reinterpret_cast<const void*>(low) : block;
  MPI_Pack(first, count, shifted, to.data(), bytes, &place, comm);
  to.resize(static_cast<std::size_t>(place));
  MPI_Type_free(&shifted);
}

/// The bytes of the message, one bit of them another, where this is the one; they stay to the end.
std::vector<char>* damaged_bytes(const void* block, int count, MPI_Datatype type, int tag, MPI_Comm comm) {
  if (tag != hyperparallel::detail::mpi_channel::data_tag || count == 0) return nullptr;
  if (posted_messages::sent++ != posted_messages::damaged) return nullptr;
  static std::deque<std::vector<char>> kept;
  std::vector<char>& packed = kept.emplace_back();
  pack(block, count, type, comm, packed);
  const std::uint64_t bit = posted_messages::drawn % (8 * packed.size());
  packed[bit / 8] = static_cast<char>(packed[bit / 8] ^ (1 << bit % 8));
  return &packed;
}

}  // namespace

// These are called in place of the library's, whose other name begins with a P.
extern "C" int MPI_Isend(const void* block, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  be_late();
  note_send(count, type, to, tag);
  if (const std::vector<char>* const other = damaged_bytes(block, count, type, tag, comm); other != nullptr)
    return PMPI_Isend(other->data(), static_cast<int>(other->size()), MPI_PACKED, to, tag, comm, request);
  return PMPI_Isend(block, count, type, to, tag, comm, request);
}
extern "C" int MPI_Issend(const void* block, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                          MPI_Request* request) {
  be_late();
  note_send(count, type, to, tag);
  return PMPI_Issend(block, count, type, to, tag, comm, request);
}
extern "C" int MPI_Irecv(void* block, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  be_late();
  return PMPI_Irecv(block, count, type, from, tag, comm, request);
}
