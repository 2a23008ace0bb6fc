// SPDX-License-Identifier: Apache-2.0
#pragma once
// A kernel on a box of the loops of a call, within the blocks that the call holds: how a tile of an operator is computed.
//
// A kernel takes dense blocks of exactly its box (operator_call.hpp). Of a smaller box the operands are read where they lie
// if the box is one run of their block, else packed before the kernel; results likewise, unpacked after it. Laws: the
// kernel sees the call of that box, so a box is computed with the bits of a device that has no more; what lies in the
// blocks outside the box is neither read nor written. A result may be the memory of an operand. Packing takes O(elements of
// the box), and memory that stays the thread's. Domain: the box lies in that of the call.

#include <cstddef>
#include <cstring>
#include <vector>

#include <hyperparallel/kernels/widened_kernel.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Bytes of an element in each block of a call.
struct block_elements {
  int operand[max_operands] = {};
  int result[max_results] = {};
};

/// The elements of a box in a block: rows of `run` bytes, `count[d]` of them with `step[d]` bytes between, dims outside in.
struct box_rows {
  int dims = 0;
  extent_t count[max_dims] = {}, step[max_dims] = {};
  extent_t first = 0;  ///< bytes before the first row
  extent_t run = 0;
  extent_t rows = 1;
};

inline box_rows rows_of_box(const operator_call& block, const operator_call& box, const tensor_factors& t,
                            int element) {
  box_rows r;
  r.run = element;
  extent_t step = element;  // bytes from one index of the dim to the next
  bool whole = true;        // all dims inside are
  for (int d = t.rank - 1; d >= 0; --d) {
    const loop_span &all = block.loop[t.term[d]], &part = box.loop[t.term[d]];
    r.first += (part.begin - all.begin) * step;
    if (whole) {
      r.run *= part.extent;
    } else if (part.extent != 1) {
      for (int k = r.dims++; k > 0; --k) {
        r.count[k] = r.count[k - 1];
        r.step[k] = r.step[k - 1];
      }
      r.count[0] = part.extent;
      r.step[0] = step;
      r.rows *= part.extent;
    }
    whole = whole && part.extent == all.extent;
    step *= all.extent;
  }
  return r;
}

/// Calls visit(bytes before a row in the block) for each row, in the order of a dense block of the box.
template <class Visit>
void for_each_row(const box_rows& r, const Visit& visit) {
  extent_t index[max_dims] = {}, at = r.first;
  for (extent_t left = r.rows; left > 0; --left) {
    visit(at);
    for (int d = r.dims - 1; d >= 0; --d) {
      at += r.step[d];
      if (++index[d] < r.count[d]) break;
      at -= r.count[d] * r.step[d];
      index[d] = 0;
    }
  }
}

/// Memory for block `use` of a box, which stays the thread's.
inline std::byte* packing_memory(int use, extent_t bytes) {
  static thread_local std::vector<std::byte> memory[max_operands + max_results];
  std::vector<std::byte>& m = memory[use];
  if (m.size() < static_cast<std::size_t>(bytes)) m.resize(static_cast<std::size_t>(bytes));
  return m.data();
}

inline const void* pack(const box_rows& r, const void* block, std::byte* dense) {
  std::byte* to = dense;
  for_each_row(r, [&](extent_t at) {
    std::memcpy(to, static_cast<const std::byte*>(block) + at, static_cast<std::size_t>(r.run));
    to += r.run;
  });
  return dense;
}

inline void unpack(const box_rows& r, const void* dense, void* block) {
  const std::byte* from = static_cast<const std::byte*>(dense);
  for_each_row(r, [&](extent_t at) {
    std::memcpy(static_cast<std::byte*>(block) + at, from, static_cast<std::size_t>(r.run));
    from += r.run;
  });
}

/// Calls `run` on the box `loop` of the loops of `block`, whose blocks hold elements of these bytes.
inline void run_on_box(const typed_kernel& run, const operator_call& block, const loop_span (&loop)[max_factors],
                       const block_elements& bytes) {
  operator_call box = block;
  for (int l = 0; l < block.rule->factor_count; ++l) box.loop[l] = loop[l];
  detail::box_rows made[max_results];
  const factor_rule& rule = *block.rule;
  for (int i = 0; i < rule.operand_count; ++i) {
    const detail::box_rows r = detail::rows_of_box(block, box, rule.operand[i], bytes.operand[i]);
    box.operand[i] = r.rows == 1 ? static_cast<const std::byte*>(block.operand[i]) + r.first
                                 : detail::pack(r, block.operand[i], detail::packing_memory(i, r.rows * r.run));
  }
  for (int i = 0; i < rule.result_count; ++i) {
    detail::box_rows& r = made[i] = detail::rows_of_box(block, box, rule.result[i], bytes.result[i]);
    box.result[i] = r.rows == 1 ? static_cast<std::byte*>(block.result[i]) + r.first
                                : detail::packing_memory(max_operands + i, r.rows * r.run);
  }
  run(box);
  for (int i = 0; i < rule.result_count; ++i)
    if (made[i].rows != 1) detail::unpack(made[i], box.result[i], block.result[i]);
}

}}}  // namespace hyperparallel::v0_2::detail
