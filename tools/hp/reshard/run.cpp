// SPDX-License-Identifier: Apache-2.0
// The body of run.hpp.

#include "run.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "box_transfer.hpp"
#include "element_type.hpp"
#include "journal.hpp"
#include "scaled_blocks.hpp"
#include "source_files.hpp"

namespace hp_tool::reshard {

namespace {

/// Runs a plan once.
class reshard_run {
 public:
  reshard_run(const std::vector<set_file>& source, const reshard_plan& plan, partial_set& partial,
              const reshard_limits& limits, const reshard_progress& progress)
      : plan_(plan),
        partial_(partial),
        threads_(limits.threads),
        progress_(progress),
        works_(works_of(plan, limits)),
        source_(source, plan, works_),
        target_(plan.files, partial) {
    for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
      const tensor_plan& t = plan_.tensors[i];
      const std::int64_t bytes = unit_of(t.source_dtype).bytes, tiles = works_[i].tiles.count();
      const std::int64_t step =
          std::max<std::int64_t>(1, journalled_bytes / std::max<std::int64_t>(1, works_[i].units * bytes));
      for (std::int64_t at = 0; at < tiles; at += step) items_.push_back({i, at, std::min(at + step, tiles)});
      total_ += t.volume() * bytes;
      scales_.push_back(t.scales ? std::make_unique<tensor_scales>() : nullptr);
      if (t.scales) scales_.back()->left = static_cast<std::size_t>((tiles + step - 1) / step);
      if (works_[i].has_short_runs)
        for (const file_box& b : t.targets) target_.read_again(b.file, b.tensor);
    }
  }

  void run(const std::vector<side_file>& beside) {
    recall();
    write_constants();
    run_items();
    source_.check();
    target_.finish(beside);
    partial_.finish();
  }

 private:
  struct item {
    std::size_t tensor;
    std::int64_t first, end;  ///< tiles
  };
  struct tensor_scales {
    std::once_flag made;
    std::unique_ptr<scaled_blocks> blocks;
    item_sums read;                   ///< checksums of what was read of them, which the first item keeps
    std::atomic<std::size_t> left{};  ///< items; behind the last one they are dropped
  };
  struct thread_state {
    std::vector<std::byte> tile, converted, run;
    item_sums read, written;
  };

  /// Takes up what the journal says is done.
  void recall() {
    is_done_.assign(items_.size(), false);
    for (const std::string& line : partial_.done()) {
      const std::optional<journalled_item> kept = read_item(line);
      if (!kept || kept->number >= static_cast<std::int64_t>(items_.size())) continue;
      const auto number = static_cast<std::size_t>(kept->number);
      if (is_done_[number]) continue;
      is_done_[number] = true;
      for (const journalled_sum& one : kept->sums)
        if (!(one.is_read ? source_.combine(one.file, one.tensor, one.part)
                          : target_.combine(one.file, one.tensor, one.part)))
          throw io_error("read", partial_.path_of("../journal"), "a line names a tensor that is not there");
      const item& i = items_[number];
      for (std::int64_t t = i.first; t < i.end; ++t)
        finished_ += volume_of(works_[i.tensor].tiles.box(t)) * unit_of(plan_.tensors[i.tensor].source_dtype).bytes;
    }
  }

  /// Of zeros the remainder is 0, wherever they lie: a checksum needs no part of them.
  void write_constants() {
    const std::vector<std::byte> zeros(1 << 16, std::byte{0});
    for (const constant_range& c : plan_.constants) {
      const std::int64_t unit = unit_of(target_.entry(c.file, c.tensor).dtype).bytes;
      for (std::int64_t at = c.begin * unit; at < c.end * unit;) {
        const std::int64_t n = std::min(c.end * unit - at, static_cast<std::int64_t>(zeros.size()));
        write_all(target_.number(c.file), target_.path(c.file), zeros.data(), static_cast<std::size_t>(n),
                  target_.begin(c.file, c.tensor) + at);
        at += n;
      }
    }
  }

  void run_items() {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> stop{false};
    std::exception_ptr first_error;
    std::mutex lock;
    const auto work = [&] {
      try {
        thread_state state;
        for (std::size_t i = next++; i < items_.size() && !stop; i = next++) {
          if (is_done_[i]) {
            end_of_item(items_[i].tensor);
            continue;
          }
          state.read.clear();
          state.written.clear();
          if (!run_item(items_[i], state, stop)) return;
          end_of_item(items_[i].tensor);
          const std::lock_guard held(lock);
          keep(i, state);
        }
      } catch (...) {
        const std::lock_guard held(lock);
        if (!first_error) first_error = std::current_exception();
        stop = true;
      }
    };
    std::vector<std::thread> others;
    for (int i = 1; i < threads_; ++i) others.emplace_back(work);
    work();
    for (std::thread& t : others) t.join();
    if (first_error) std::rethrow_exception(first_error);
  }

  void keep(std::size_t number, const thread_state& s) {
    for (const auto& [place, sum] : s.read) source_.combine(place.first, place.second, sum.part());
    for (const auto& [place, sum] : s.written) target_.combine(place.first, place.second, sum.part());
    partial_.keep(line_of_item(number, s.read, s.written));
  }

  void end_of_item(std::size_t tensor) {
    if (scales_[tensor] && --scales_[tensor]->left == 0) scales_[tensor]->blocks.reset();
  }

  /// False where another thread's error ended it.
  bool run_item(const item& i, thread_state& s, const std::atomic<bool>& stop) {
    const tensor_plan& t = plan_.tensors[i.tensor];
    if (t.scales) {
      const bool is_read = t.scales->is_read();
      std::call_once(scales_[i.tensor]->made, [&] { is_read ? read_scales(i.tensor) : make_scales(i.tensor, s); });
      if (i.first == 0 && is_read) s.read.insert(scales_[i.tensor]->read.begin(), scales_[i.tensor]->read.end());
      if (i.first == 0 && !is_read) write_scales(i.tensor, s);
    }
    for (std::int64_t tile = i.first; tile < i.end; ++tile) {
      if (stop) return false;
      const index_box box = works_[i.tensor].tiles.box(tile);
      std::byte* memory = read_tile(t, box, s);
      if (t.source_dtype != t.target_dtype) memory = converted(i.tensor, box, memory, s);
      const std::vector<std::int64_t> strides = tensor_tiles::strides(box);
      for (const file_box& target : t.targets)
        if (const auto both = intersection_of(target.place.box, box))
          write_part(t.target_dtype, target, *both, strides,
                     memory + tensor_tiles::place_in(box, *both, strides) * unit_of(t.target_dtype).bytes, s);
      const std::int64_t done = finished_ += volume_of(box) * unit_of(t.source_dtype).bytes;
      if (progress_) progress_(done, total_);
    }
    return true;
  }

  std::byte* read_tile(const tensor_plan& t, const index_box& box, thread_state& s, bool is_first = true) {
    return source_.read_boxes(t.sources, t.source_dtype, box, s.tile, s.run, is_first ? &s.read : nullptr);
  }

  std::byte* converted(std::size_t tensor, const index_box& box, const std::byte* memory, thread_state& s) const {
    const tensor_plan& t = plan_.tensors[tensor];
    const std::int64_t count = volume_of(box);
    std::byte* const to = room(s.converted, count * unit_of(t.target_dtype).bytes);
    const std::int64_t first = works_[tensor].tiles.first_unit(box);
    if (t.scales && t.scales->is_read())
      scales_[tensor]->blocks->apply(t.source_dtype, memory, t.target_dtype, to, first, count);
    else if (t.scales)
      scales_[tensor]->blocks->convert(t.source_dtype, memory, t.target_dtype, to, first, count);
    else
      convert_elements(t.source_dtype, memory, t.target_dtype, to, static_cast<std::size_t>(count));
    return to;
  }

  /// Writes a box whose first unit is at `memory`.
  void write_part(std::string_view dtype, const file_box& target, const index_box& box,
                  const std::vector<std::int64_t>& strides, std::byte* memory, thread_state& s) {
    const std::int64_t unit = unit_of(dtype).bytes;
    const placed_box part = target.place.part(box);
    const transfer_shape shape(box, part.stride, strides);
    std::byte* const run = shape.is_in_place ? nullptr : room(s.run, shape.run * unit);
    const tensor_entry& e = target_.entry(target.file, target.tensor);
    piecewise_checksum* const sum =
        target_.is_read_again(target.file, target.tensor)
            ? nullptr
            : &s.written.try_emplace({target.file, target.tensor}, e.end - e.begin).first->second;
    const std::int64_t begin = target_.begin(target.file, target.tensor);
    write_box(target_.number(target.file), target_.path(target.file), begin + part.offset * unit, shape, unit, memory,
              run, [&](std::int64_t at, const std::byte* bytes, std::size_t count) {
                if (sum != nullptr) sum->add(at - begin, {bytes, count});
              });
  }

  void read_scales(std::size_t tensor) {
    const tensor_plan& t = plan_.tensors[tensor];
    const index_box all = whole_box(t.scales->extents);
    std::vector<std::byte> memory, between;
    const std::byte* const bytes =
        source_.read_boxes(t.scales->sources, t.scales->dtype, all, memory, between, &scales_[tensor]->read);
    auto blocks = std::make_unique<scaled_blocks>(t.extents[0], t.extents[1], t.scales->grid);
    blocks->set(t.scales->dtype, bytes);
    scales_[tensor]->blocks = std::move(blocks);
  }

  void make_scales(std::size_t tensor, thread_state& s) {
    const tensor_plan& t = plan_.tensors[tensor];
    const std::int64_t columns = t.extents.back(), rows = t.volume() / columns;
    auto blocks = std::make_unique<scaled_blocks>(rows, columns, t.scales->grid);
    for (std::int64_t tile = 0; tile < works_[tensor].tiles.count(); ++tile) {
      const index_box box = works_[tensor].tiles.box(tile);
      blocks->see(t.source_dtype, read_tile(t, box, s, false), works_[tensor].tiles.first_unit(box), volume_of(box),
                  t.name);
    }
    blocks->finish(t.target_dtype);
    scales_[tensor]->blocks = std::move(blocks);
  }

  void write_scales(std::size_t tensor, thread_state& s) {
    const scale_plan& plan = *plan_.tensors[tensor].scales;
    const std::span<const float> values = scales_[tensor]->blocks->scales();
    std::vector<std::byte> bytes(4 * values.size());
    std::memcpy(bytes.data(), values.data(), bytes.size());
    const index_box all = whole_box(plan.extents);
    const std::vector<std::int64_t> strides = tensor_tiles::strides(all);
    for (const file_box& target : plan.targets)
      write_part("F32", target, target.place.box, strides,
                 bytes.data() + 4 * tensor_tiles::place_in(all, target.place.box, strides), s);
  }

  const reshard_plan& plan_;
  partial_set& partial_;
  int threads_;
  const reshard_progress& progress_;
  std::vector<tensor_work> works_;
  source_files source_;
  target_files target_;
  std::vector<item> items_;
  std::vector<bool> is_done_;
  std::vector<std::unique_ptr<tensor_scales>> scales_;
  std::int64_t total_ = 0;
  std::atomic<std::int64_t> finished_{0};
};

}  // namespace

void run_plan(const std::vector<set_file>& source, const reshard_plan& plan, partial_set& partial,
              const reshard_limits& limits, const std::vector<side_file>& beside, const reshard_progress& progress) {
  reshard_run(source, plan, partial, limits, progress).run(beside);
}

}  // namespace hp_tool::reshard
