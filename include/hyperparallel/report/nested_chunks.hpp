// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chunks of a padded dim that several axes shard: flat here, one ceil chunk a piece; nested in DTensor, where each axis in turn
// cuts the chunk of the one before.
//
//   hp::report::nested_text(layout, shape, "source")     a line for each dim whose chunks DTensor has otherwise, or nothing
//
// Laws: both are the extent in all, and the same where the extent divides or one axis shards it. O(pieces).

#include <string>
#include <vector>

#include <hyperparallel/layout/layout_value.hpp>
#include <hyperparallel/report/text_formatter.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace report {

namespace detail {

inline std::vector<extent_t> flat_chunks(extent_t extent, extent_t pieces) {
  const extent_t chunk = ceil_divide(extent, pieces);
  std::vector<extent_t> all;
  for (extent_t begin = 0; pieces > 0; --pieces, begin += chunk)
    all.push_back(smaller(chunk, larger(extent - begin, 0)));
  return all;
}

/// Of axes of these sizes, the outermost first.
inline std::vector<extent_t> nested_chunks(extent_t extent, const std::vector<extent_t>& sizes) {
  std::vector<extent_t> all{extent};
  for (const extent_t size : sizes) {
    std::vector<extent_t> finer;
    for (const extent_t each : all)
      for (const extent_t part : flat_chunks(each, size)) finer.push_back(part);
    all = finer;
  }
  return all;
}

inline std::string chunks_text(const std::vector<extent_t>& chunks) {
  constexpr std::size_t most = 16;
  std::string out;
  for (std::size_t i = 0; i < chunks.size() && i < most; ++i) out += (i == 0 ? "" : "/") + std::to_string(chunks[i]);
  return chunks.size() > most ? out + "/…" : out;
}

}  // namespace detail

/// A line for each dim whose chunks DTensor has otherwise.
inline std::string nested_text(const layout_value& l, const shape& shape, const char* side) {
  constexpr extent_t most_pieces = 1 << 16;
  std::string out;
  for (int d = 0; d < l.rank; ++d) {
    if (!is_padded(l, d) || shards_of(l, d) > most_pieces) continue;
    std::vector<extent_t> sizes;
    for (int i = 0; i < l.cut_count; ++i)
      if (l.cut[i].dim == d) sizes.push_back(l.cut[i].size);
    const std::vector<extent_t> ours = detail::flat_chunks(shape.extent[d], shards_of(l, d)),
                                theirs = detail::nested_chunks(shape.extent[d], sizes);
    if (ours != theirs)
      out += fmt::format("dim {} of the {} is in flat chunks, {}; DTensor nests those of its axes, {}\n", d, side,
                         detail::chunks_text(ours), detail::chunks_text(theirs));
  }
  return out;
}

}}}  // namespace hyperparallel::v0_2::report
