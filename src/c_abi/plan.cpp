// SPDX-License-Identifier: Apache-2.0
// The C border of plans, include/hyperparallel_plan.h: what comes in becomes values of the library, what is thrown a
// status and a line. Header-only code with hidden symbols, so that the shared library stands beside any other copy.
#include <hyperparallel_plan.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <hyperparallel/interop/copy_list.hpp>
#include <hyperparallel/interop/written_layout.hpp>
#include <hyperparallel/report/format_mesh.hpp>

namespace hp = hyperparallel;
using hp::interop::copy_list;
using hp::interop::listed_block;
using hp::interop::detail::copy_list_code;

static_assert(HYPERPARALLEL_PLAN_DIMS == hp::max_dims);

struct hyperparallel_plan {
  int dims;
  hp::extent_t element_bytes;
  copy_list list;
};

namespace {

/// A refusal on its way to the border.
struct refusal : std::runtime_error {
  hyperparallel_status status;
  refusal(hyperparallel_status why, const std::string& text) : std::runtime_error(text), status(why) {}
};

[[noreturn]] void refuse(hyperparallel_status why, const std::string& text) { throw refusal(why, text); }

template <class Struct>
void check_struct(const Struct* given, const std::string& name) {
  if (given == nullptr) refuse(HYPERPARALLEL_BAD_ARGUMENT, name + " is NULL");
  if (given->struct_size < sizeof(Struct))
    refuse(HYPERPARALLEL_BAD_ARGUMENT, name + ": struct_size is " + std::to_string(given->struct_size) + "; expected " +
                                           std::to_string(sizeof(Struct)) + " or more");
}

void check_pointer(const void* given, const std::string& name) {
  if (given == nullptr) refuse(HYPERPARALLEL_BAD_ARGUMENT, name + " is NULL");
}

/// A mesh with the rank of each position.
struct read_mesh {
  hp::mesh_value mesh{};
  std::vector<int> listed{};

  hp::rank_list ranks() const {
    if (listed.empty()) return hp::all_ranks(mesh.shape);
    return {static_cast<int>(listed.size()), listed.data()};
  }
};

read_mesh mesh_of(const hyperparallel_mesh* given, const std::string& name) {
  check_struct(given, name);
  if (given->axis_count < 0 || given->axis_count > hp::max_axes)
    refuse(HYPERPARALLEL_BAD_MESH,
           name + ": " + std::to_string(given->axis_count) + " axes; expected 0 to " + std::to_string(hp::max_axes));
  if (given->axis_count > 0) {
    check_pointer(given->axis_names, name + ": axis_names");
    check_pointer(given->axis_sizes, name + ": axis_sizes");
  }
  for (int a = 0; a < given->axis_count; ++a)
    check_pointer(given->axis_names[a], name + ": axis_names[" + std::to_string(a) + "]");
  const hp::mesh_result r = hp::make_mesh(given->axis_names, given->axis_count, given->axis_sizes, given->axis_count);
  if (r.status.code != hp::mesh_code::ok)
    refuse(HYPERPARALLEL_BAD_MESH, name + ": " + hp::to_text(r.status.code) + " (axis '" +
                                       hp::interop::one_line(given->axis_names[r.status.axis]) + "' of size " +
                                       std::to_string(given->axis_sizes[r.status.axis]) + ")");
  if (r.mesh.interleaved)
    refuse(HYPERPARALLEL_BAD_MESH,
           name + ": axis " + hp::detail::interleaved_axis + " counts copies on one device, no ranks");
  read_mesh m{r.mesh, {}};
  if (given->ranks != nullptr) m.listed.assign(given->ranks, given->ranks + hp::position_count(r.mesh.shape));
  const hp::rank_list_status ranks = hp::check_rank_list(r.mesh.shape, m.ranks());
  if (ranks.code != hp::rank_list_code::ok) refuse(HYPERPARALLEL_BAD_MESH, name + ": ranks: " + hp::to_text(ranks));
  return m;
}

hp::shape shape_of(const hyperparallel_tensor* given) {
  check_struct(given, "tensor");
  if (given->dims < 0 || given->dims > hp::max_dims)
    refuse(HYPERPARALLEL_BAD_ARGUMENT,
           "tensor: " + std::to_string(given->dims) + " dims; expected 0 to " + std::to_string(hp::max_dims));
  if (given->dims > 0) check_pointer(given->extents, "tensor: extents");
  if (given->element_bytes < 1)
    refuse(HYPERPARALLEL_BAD_ARGUMENT,
           "tensor: element_bytes is " + std::to_string(given->element_bytes) + "; expected 1 or more");
  hp::shape s;
  s.rank = given->dims;
  for (int d = 0; d < s.rank; ++d) {
    s.extent[d] = given->extents[d];
    if (s.extent[d] < 0)
      refuse(HYPERPARALLEL_BAD_ARGUMENT,
             "tensor: extent " + std::to_string(s.extent[d]) + " of dim " + std::to_string(d) + " is negative");
  }
  return s;
}

/// Bytes of all blocks of either side stay within 64 bits.
void check_bytes(const hp::shape& s, hp::extent_t element_bytes, int ranks) {
  const hp::checked_extent n = hp::element_count(s);
  const hp::checked_extent bytes = hp::checked_multiply(n.value, element_bytes);
  if (n.overflow || bytes.overflow || hp::checked_multiply(bytes.value, ranks).overflow)
    refuse(HYPERPARALLEL_TOO_LARGE, "tensor " + hp::to_text(s) + " of " + std::to_string(element_bytes) +
                                        " bytes an element on " + std::to_string(ranks) +
                                        " ranks: the bytes leave 64 bits");
}

hp::layout_value layout_of(const char* text, const std::string& name, const hp::mesh_value& mesh, const hp::shape& s) {
  check_pointer(text, name);
  const std::string line = hp::interop::one_line(text);
  if (line.find("artial(") != std::string::npos)  // partial(tp: sum), Partial(sum); no name of an axis has brackets
    refuse(HYPERPARALLEL_IS_PARTIAL, name + " '" + hp::interop::text_error::shortened(line) +
                                         "': it is partial, and a list of copies adds nothing up; expected a layout "
                                         "whose terms have been reduced");
  return hp::interop::read_layout(name, line, mesh, s);
}

hyperparallel_status status_of(copy_list_code code) {
  switch (code) {
    case copy_list_code::a_side_is_partial:
      return HYPERPARALLEL_IS_PARTIAL;
    case copy_list_code::ranks_are_refused:
      return HYPERPARALLEL_BAD_MESH;
    case copy_list_code::too_many_copies:
      return HYPERPARALLEL_TOO_LARGE;
    case copy_list_code::shapes_differ:
    case copy_list_code::a_layout_is_refused:
      break;
  }
  return HYPERPARALLEL_BAD_LAYOUT;
}

hyperparallel_plan* make(const hyperparallel_mesh* source_mesh, const char* source_layout,
                         const hyperparallel_mesh* target_mesh, const char* target_layout,
                         const hyperparallel_tensor* tensor) {
  const read_mesh from = mesh_of(source_mesh, "source mesh");
  const read_mesh to = target_mesh == nullptr ? from : mesh_of(target_mesh, "target mesh");
  const hp::shape s = shape_of(tensor);
  check_bytes(s, tensor->element_bytes, std::max(from.ranks().count, to.ranks().count));
  const hp::layout_value source = layout_of(source_layout, "source layout", from.mesh, s);
  const hp::layout_value target = layout_of(target_layout, "target layout", to.mesh, s);
  return new hyperparallel_plan{s.rank, tensor->element_bytes,
                                hp::interop::list_copies({source, s, from.ranks()}, {target, s, to.ranks()})};
}

/// Runs `work` and turns what it throws into a status, and a line in `why`.
template <class Work>
hyperparallel_status at_the_border(char* why, std::size_t why_size, const Work& work) noexcept {
  const auto say = [&](hyperparallel_status status, const char* text) {
    if (why != nullptr && why_size > 0) {
      const std::size_t n = std::min(std::strlen(text), why_size - 1);
      std::memcpy(why, text, n);
      why[n] = '\0';
    }
    return status;
  };
  try {
    work();
    return say(HYPERPARALLEL_OK, "");
  } catch (const refusal& e) {
    return say(e.status, e.what());
  } catch (const hp::interop::text_error& e) {
    return say(HYPERPARALLEL_BAD_LAYOUT, e.what());
  } catch (const hp::interop::detail::copy_list_error& e) {
    return say(status_of(e.code), e.what());
  } catch (const std::bad_alloc&) {
    return say(HYPERPARALLEL_NO_MEMORY, "out of memory");
  } catch (const std::exception& e) {
    return say(HYPERPARALLEL_FAILED, e.what());
  } catch (...) {
    return say(HYPERPARALLEL_FAILED, "unknown failure");
  }
}

/// What is asked of a plan. The caller's struct keeps its size and what it has behind the members of this version.
template <class Struct>
hyperparallel_status answer(Struct* out, Struct filled) {
  filled.struct_size = out->struct_size;
  *out = filled;
  return HYPERPARALLEL_OK;
}

template <class Struct>
bool can_answer(const hyperparallel_plan* plan, const Struct* out) {
  return plan != nullptr && out != nullptr && out->struct_size >= sizeof(Struct);
}

void write_box(const hp::box& b, int64_t (&begin)[HYPERPARALLEL_PLAN_DIMS],
               int64_t (&extents)[HYPERPARALLEL_PLAN_DIMS]) {
  for (int d = 0; d < b.rank; ++d) {
    begin[d] = b.dim[d].begin;
    extents[d] = b.dim[d].end - b.dim[d].begin;
  }
}

hyperparallel_status block_at(const hyperparallel_plan* plan, std::vector<listed_block> copy_list::* side,
                              int32_t position, hyperparallel_block* out) {
  if (!can_answer(plan, out) || position < 0) return HYPERPARALLEL_BAD_ARGUMENT;
  const std::vector<listed_block>& blocks = plan->list.*side;
  if (static_cast<std::size_t>(position) >= blocks.size()) return HYPERPARALLEL_BAD_ARGUMENT;
  const listed_block& b = blocks[static_cast<std::size_t>(position)];
  hyperparallel_block filled{};
  filled.rank = b.rank;
  filled.dims = plan->dims;
  write_box(b.part, filled.begin, filled.extents);
  filled.bytes = hp::volume(b.part) * plan->element_bytes;
  filled.received_bytes = b.received * plan->element_bytes;
  filled.least_bytes = b.least * plan->element_bytes;
  return answer(out, filled);
}

}  // namespace

int32_t hyperparallel_plan_abi(void) { return HYPERPARALLEL_PLAN_ABI; }

hyperparallel_status hyperparallel_plan_make(const hyperparallel_mesh* source_mesh, const char* source_layout,
                                             const hyperparallel_mesh* target_mesh, const char* target_layout,
                                             const hyperparallel_tensor* tensor, hyperparallel_plan** plan, char* why,
                                             size_t why_size) {
  if (plan != nullptr) *plan = nullptr;
  return at_the_border(why, why_size, [&] {
    check_pointer(plan, "plan");
    *plan = make(source_mesh, source_layout, target_mesh, target_layout, tensor);
  });
}

void hyperparallel_plan_free(hyperparallel_plan* plan) { delete plan; }

hyperparallel_status hyperparallel_plan_summary(const hyperparallel_plan* plan, hyperparallel_summary* summary) {
  if (!can_answer(plan, summary)) return HYPERPARALLEL_BAD_ARGUMENT;
  const copy_list& list = plan->list;
  hyperparallel_summary filled{};
  filled.kind = hp::name_of(list.kind);
  filled.copies = static_cast<int64_t>(list.copies.size());
  filled.source_blocks = static_cast<int32_t>(list.source.size());
  filled.target_blocks = static_cast<int32_t>(list.target.size());
  filled.received_bytes = list.received_total * plan->element_bytes;
  filled.least_bytes = list.least_total * plan->element_bytes;
  filled.most_received_bytes = list.received_maximum * plan->element_bytes;
  filled.most_least_bytes = list.least_maximum * plan->element_bytes;
  const bool stays = list.received_total == 0 && list.least_total == 0;
  filled.ratio = stays ? 1 : static_cast<double>(list.received_total) / static_cast<double>(list.least_total);
  return answer(summary, filled);
}

hyperparallel_status hyperparallel_plan_copy(const hyperparallel_plan* plan, int64_t index, hyperparallel_copy* copy) {
  if (!can_answer(plan, copy) || index < 0) return HYPERPARALLEL_BAD_ARGUMENT;
  if (static_cast<std::size_t>(index) >= plan->list.copies.size()) return HYPERPARALLEL_BAD_ARGUMENT;
  const hp::interop::listed_copy& c = plan->list.copies[static_cast<std::size_t>(index)];
  hyperparallel_copy filled{};
  filled.sender = c.sender;
  filled.receiver = c.receiver;
  filled.dims = plan->dims;
  write_box(c.part, filled.begin, filled.extents);
  filled.source_offset = c.source.offset;
  filled.target_offset = c.target.offset;
  std::copy_n(c.source.along, plan->dims, filled.source_strides);
  std::copy_n(c.target.along, plan->dims, filled.target_strides);
  return answer(copy, filled);
}

hyperparallel_status hyperparallel_plan_source_block(const hyperparallel_plan* plan, int32_t position,
                                                     hyperparallel_block* block) {
  return block_at(plan, &copy_list::source, position, block);
}

hyperparallel_status hyperparallel_plan_target_block(const hyperparallel_plan* plan, int32_t position,
                                                     hyperparallel_block* block) {
  return block_at(plan, &copy_list::target, position, block);
}
