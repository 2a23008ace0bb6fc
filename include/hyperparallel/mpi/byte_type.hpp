// SPDX-License-Identifier: Apache-2.0
#pragma once
// MPI datatypes for the bytes that a strided copy reads or writes.
//
// Everything is made of MPI_BYTE, so that the two sides of a message match whenever their byte counts do, however
// differently they lie in memory. Counts of MPI are int; longer runs are nests of 1 GiB. Law: sending `count` bytes
// through such a type moves them in the order of the copy's loops.

#include <cstdint>
#include <utility>
#include <vector>

#include <hyperparallel/mpi/error.hpp>
#include <hyperparallel/transfer/copy_boxes.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// A datatype that is freed with its owner. Freeing is local and what is in flight keeps the type alive.
class byte_type {
 public:
  byte_type() = default;
  explicit byte_type(MPI_Datatype type) : type_(type) {}
  byte_type(byte_type&& other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
  byte_type& operator=(byte_type&& other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }
  ~byte_type() {
    if (type_ != MPI_DATATYPE_NULL && mpi_is_running()) MPI_Type_free(&type_);
  }

  MPI_Datatype get() const { return type_; }
  void commit() { check_mpi(MPI_Type_commit(&type_), "MPI_Type_commit"); }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

inline constexpr std::int64_t longest_run = std::int64_t{1} << 30;

/// `types[i]` at byte `at[i]`.
inline byte_type struct_type(const std::vector<byte_type>& types, const std::vector<MPI_Aint>& at) {
  const std::vector<int> one(types.size(), 1);
  std::vector<MPI_Datatype> member;
  for (const byte_type& t : types) member.push_back(t.get());
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_create_struct(static_cast<int>(types.size()), one.data(), at.data(), member.data(), &type),
            "MPI_Type_create_struct");
  return byte_type(type);
}

/// `bytes` > 0 in a row.
inline byte_type run_type(std::int64_t bytes) {
  const auto contiguous = [](std::int64_t count, MPI_Datatype of) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    check_mpi(MPI_Type_contiguous(static_cast<int>(count), of, &type), "MPI_Type_contiguous");
    return byte_type(type);
  };
  if (bytes <= longest_run) return contiguous(bytes, MPI_BYTE);
  const byte_type gibibyte = contiguous(longest_run, MPI_BYTE);
  byte_type whole = contiguous(bytes / longest_run, gibibyte.get());
  if (bytes % longest_run == 0) return whole;
  std::vector<byte_type> parts;
  parts.push_back(std::move(whole));
  parts.push_back(contiguous(bytes % longest_run, MPI_BYTE));
  return struct_type(parts, {0, static_cast<MPI_Aint>(bytes - bytes % longest_run)});
}

/// The bytes of a nest of loops with these steps, from its first one. Domain: `copy.run` > 0.
inline byte_type loops_type(const strided_copy& copy, const std::int64_t* step) {
  byte_type type = run_type(copy.run);
  for (int d = copy.dims - 1; d >= 0; --d) {
    MPI_Datatype outer = MPI_DATATYPE_NULL;
    check_mpi(
        MPI_Type_create_hvector(static_cast<int>(copy.count[d]), 1, static_cast<MPI_Aint>(step[d]), type.get(), &outer),
        "MPI_Type_create_hvector");
    type = byte_type(outer);
  }
  return type;
}

}}}  // namespace hyperparallel::v0_2::detail
