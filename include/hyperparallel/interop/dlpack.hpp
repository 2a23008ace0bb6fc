// SPDX-License-Identifier: Apache-2.0
#pragma once
// The structs of DLPack 1 as they lie in memory, and its element types as those of the library.
//
// Declared here, in a namespace of their own, so that a program may include any dlpack.h before or after: a pointer is
// handed over by reinterpret_cast, since sizes and offsets are the published ones, which the assertions hold.
// Names of Python: a capsule "dltensor_versioned" holds a managed_tensor_versioned, "dltensor" a managed_tensor.
// Source: the C ABI that https://dmlc.github.io/dlpack/latest/c_api.html publishes.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <hyperparallel/layout/tensor.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace interop {

enum class exchange_code : unsigned char {
  owner_is_missing,
  tensor_is_missing,
  version_differs,
  device_is_not_the_host,
  element_type_is_unknown,
  element_types_differ,
  elements_have_lanes,
  dims_are_too_many,
  dims_differ,
  extent_is_negative,
  extents_differ,
  stride_is_not_positive,
  strides_leave_64_bits,
  strides_leave_gaps,
  data_is_missing,
  data_is_not_aligned,
  tensor_is_read_only,
  layout_is_partial,
  position_is_outside_the_mesh,
  blocks_differ_in_number,
  value_is_an_input,
};

constexpr const char* name_of(exchange_code code) {
  return hyperparallel::detail::enum_name(
      "owner_is_missing\0tensor_is_missing\0version_differs\0device_is_not_the_host\0element_type_is_unknown\0"
      "element_types_differ\0elements_have_lanes\0dims_are_too_many\0dims_differ\0extent_is_negative\0extents_differ\0"
      "stride_is_not_positive\0strides_leave_64_bits\0strides_leave_gaps\0data_is_missing\0"
      "data_is_not_aligned\0tensor_is_read_only\0layout_is_partial\0position_is_outside_the_mesh\0"
      "blocks_differ_in_number\0value_is_an_input",
      code);
}

/// Why a tensor is not handed over: the name of the code, and what there is beside what is expected.
struct exchange_error : std::runtime_error {
  exchange_code code;
  exchange_error(exchange_code why, const std::string& what)
      : std::runtime_error(std::string(name_of(why)) + ": " + what), code(why) {}
};

namespace dlpack {

/// Equal majors have one layout in memory; a minor adds numbers to the enumerations.
struct version {
  std::uint32_t major;
  std::uint32_t minor;
};
/// What is exported uses nothing that came later.
inline constexpr version own_version{1, 0};

struct device {
  std::int32_t type;
  std::int32_t number;
};
inline constexpr std::int32_t host = 1;

struct element {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
  friend constexpr bool operator==(const element&, const element&) = default;
};

struct tensor {
  void* data;
  dlpack::device device;
  std::int32_t dims;
  dlpack::element element;
  std::int64_t* extents;
  std::int64_t* strides;  ///< in elements; before version 1.2 null: row-major without gaps
  std::uint64_t byte_offset;
};

struct managed_tensor {
  dlpack::tensor tensor;
  void* context;
  void (*deleter)(managed_tensor*);  ///< null: nothing to do
};

/// A bit of `flags`.
inline constexpr std::uint64_t read_only = 1;

struct managed_tensor_versioned {
  dlpack::version version;
  void* context;
  void (*deleter)(managed_tensor_versioned*);
  std::uint64_t flags;
  dlpack::tensor tensor;
};

static_assert(sizeof(void*) != 8 || (sizeof(tensor) == 48 && offsetof(tensor, dims) == 16 &&
                                     offsetof(tensor, element) == 20 && offsetof(tensor, byte_offset) == 40));
static_assert(sizeof(void*) != 8 || (sizeof(managed_tensor) == 64 && offsetof(managed_tensor, deleter) == 56));
static_assert(sizeof(void*) != 8 ||
              (sizeof(managed_tensor_versioned) == 80 && offsetof(managed_tensor_versioned, deleter) == 16 &&
               offsetof(managed_tensor_versioned, flags) == 24 && offsetof(managed_tensor_versioned, tensor) == 32));
static_assert(sizeof(version) == 8 && sizeof(device) == 8 && sizeof(element) == 4);

/// In the order of `data_type`.
inline constexpr element elements[] = {{6, 8, 1},  {0, 8, 1},  {0, 16, 1}, {0, 32, 1}, {0, 64, 1},
                                       {2, 16, 1}, {4, 16, 1}, {2, 32, 1}, {2, 64, 1}};
static_assert(sizeof(elements) / sizeof(element) == static_cast<std::size_t>(data_type::f64) + 1);

constexpr element element_of(data_type type) { return elements[static_cast<int>(type)]; }

/// Throws exchange_error where the library has no such elements.
inline data_type type_of(const element& e) {
  const std::string bits = std::to_string(e.bits) + " bits";
  if (e.lanes != 1)
    throw exchange_error(exchange_code::elements_have_lanes, std::to_string(e.lanes) + " lanes; expected 1");
  for (int t = 0; t <= static_cast<int>(data_type::f64); ++t)
    if (elements[t] == e) return static_cast<data_type>(t);
  constexpr const char* kinds[] = {"a signed integer", "an unsigned integer", "a float",  "an opaque handle",
                                   "a bfloat",         "a complex number",    "a boolean"};
  const std::string kind = e.code < 7 ? std::string(kinds[e.code]) : "number format " + std::to_string(e.code);
  throw exchange_error(exchange_code::element_type_is_unknown,
                       kind + " of " + bits + "; expected boolean, i8, i16, i32, i64, f16, bf16, f32 or f64");
}

/// Throws exchange_error for memory that a program on the host cannot read.
inline void check_device(const device& d) {
  constexpr const char* names[] = {"",       "CPU",    "CUDA",    "CUDA host", "OpenCL",    "",          "",
                                   "Vulkan", "Metal",  "VPI",     "ROCm",      "ROCm host", "extension", "CUDA managed",
                                   "oneAPI", "WebGPU", "Hexagon", "MAIA",      "Trainium"};
  if (d.type == host) return;
  const bool known = d.type > 0 && d.type < static_cast<int>(sizeof(names) / sizeof(*names));
  const std::string name = known && *names[d.type] != '\0' ? std::string(" (") + names[d.type] + ")" : std::string();
  throw exchange_error(exchange_code::device_is_not_the_host, "device type " + std::to_string(d.type) + name +
                                                                  ", device " + std::to_string(d.number) +
                                                                  "; expected 1 (CPU): copy it to the host first");
}

}  // namespace dlpack

}}}  // namespace hyperparallel::v0_2::interop
