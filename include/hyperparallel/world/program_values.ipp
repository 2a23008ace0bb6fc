// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of program_values.hpp; see support/compiled.hpp.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/world/block_sums.hpp>
#include <hyperparallel/world/program_memory.hpp>
#include <hyperparallel/world/program_tasks.hpp>
#include <hyperparallel/world/program_values.hpp>
#include <hyperparallel/world/refused_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <class World, class T>
int program_values<World, T>::ranks() const {
  return memory_->ranks();
}

template <class World, class T>
int program_values<World, T>::tensor(const std::string& name) const {
  const int t = find_tensor(program().graph, name.c_str());
  if (t < 0) throw program_error(detail::text_of_unknown_tensor(program().graph, name));
  return t;
}

template <class World, class T>
void program_values<World, T>::clear(int t) {
  if (program().home[t] < 0) throw program_error(label(t) + " is read by no step and has no place");
  detail::visit_homes(program(), t, [&](int v) {
    memory_->clear(v);
    if (sums_ != nullptr) sums_->take(v);
    valid(program().value[v].storage) = true;
  });
}

template <class World, class T>
std::vector<T> program_values<World, T>::get(int t) const {
  std::vector<T> whole(count(t));
  self().read(t, [&] { return value_to_read(t, detail::data_type_of<T>); }, whole.data());
  return whole;
}

template <class World, class T>
std::vector<std::int32_t> program_values<World, T>::get_index(int t) const {
  std::vector<std::int32_t> whole(count(t));
  self().read(t, [&] { return value_to_read(t, data_type::i32); }, whole.data());
  return whole;
}

template <class World, class T>
bool program_values<World, T>::hosts(int rank) const {
  return memory_->hosts(rank);
}

template <class World, class T>
int program_values<World, T>::home_of(int t) const {
  const int home = program().home[t];
  if (home < 0 || !valid_[static_cast<std::size_t>(program().value[home].storage)])
    throw program_error(label(t) + " has no value between steps");
  return home;
}

template <class World, class T>
const std::byte* program_values<World, T>::block_of(int value, int rank) const {
  if (sums_ != nullptr) sums_->check(value, rank);
  return memory_->block(value, rank);
}

template <class World, class T>
void program_values<World, T>::check_bits(int value) const {
  if (sums_ != nullptr) sums_->check(value);
}

template <class World, class T>
void program_values<World, T>::keep_sums(detail::block_sums* sums) {
  sums_ = sums;
  for (int t = 0; t < program().home.size && sums != nullptr; ++t)
    detail::visit_homes(program(), t, [&](int v) {
      if (valid(program().value[v].storage)) sums->take(v);
    });
}

template <class World, class T>
void program_values<World, T>::set_block(int value, int rank, std::span<const std::byte> elements) {
  if (!elements.empty()) std::memcpy(memory_->block(value, rank), elements.data(), elements.size());
  if (sums_ != nullptr) sums_->take(value, rank);
  valid(program().value[value].storage) = true;
}

template <class World, class T>
T program_values<World, T>::monitor(int i) const {
  if (i < 0 || i >= lowered_.monitors)
    throw program_error("monitor " + std::to_string(i) + " of " + std::to_string(lowered_.monitors));
  return get(program().graph.monitor[i]).front();
}

template <class World, class T>
std::vector<std::int64_t> program_values<World, T>::received_by_level(unsigned phases) const {
  return hyperparallel::received_by_level(program(), lowered_.pulls, phases);
}

template <class World, class T>
void program_values<World, T>::clear_accumulated() {
  for (const graph_operator& op : program().graph.op)
    if (program().graph.value_of(op).accumulates && is_used(op.operand[0])) clear(op.operand[0]);
}

template <class World, class T>
std::int64_t program_values<World, T>::high_water(int rank, int tier) const {
  return memory_->high_water(rank, tier);
}

template <class World, class T>
int program_values<World, T>::tiers() const {
  return memory_->tiers();
}

template <class World, class T>
program_values<World, T>::~program_values() = default;

template <class World, class T>
program_values<World, T>::program_values(lowered_program&& l, const std::vector<int>& hosted,
                                         overflow_response overflow)
    : lowered_(std::move(l)),
      slots_(detail::slots_of(program(), lowered_.pulls.moves, lowered_.addresses)),
      memory_(detail::make_owned<program_memory>(program(), slots_, hosted)),
      training_(check_training(program().graph)),
      overflow_(overflow) {
  if (lowered_.watches_gradients) watched_gradients_ = detail::gradients_that_may_overflow(program());
  index_range_.resize(static_cast<std::size_t>(program().graph.tensor.size));
  for (int t = 0; t < program().graph.tensor.size; ++t)
    if (program().home[t] >= 0 && program().graph.tensor[t].type == data_type::i32)
      index_range_[static_cast<std::size_t>(t)] = index_range_of(program().graph, t);
  valid_.assign(static_cast<std::size_t>(program().storage.size), false);
  received_.assign(static_cast<std::size_t>(ranks()), 0);
  for (int t = 0; t < program().home.size; ++t)
    if (program().graph.tensor[t].kind == graph_tensor_kind::state)
      detail::visit_homes(program(), t, [&](int v) { valid(program().value[v].storage) = true; });
}

template <class World, class T>
bool program_values<World, T>::gradients_are_finite() const {
  if (overflow_ == overflow_response::ignore) return true;
  const int all = watched_gradients_.size;
  const int first = self().least_of_all(detail::first_overflow(program(), *memory_, watched_gradients_));
  if (first == all) return true;
  if (overflow_ == overflow_response::skip) return false;
  const int t = program().value[watched_gradients_[first]].tensor;
  throw program_error(label(t) +
                      " is not finite: gradients are stored in 16 bits, and the step ends before its update; "
                      "program_options::overflow says what to do instead");
}

template <class World, class T>
int program_values<World, T>::value_to_read(int t, data_type type) const {
  if (const data_type stored = program().graph.tensor[t].type; stored != type && !is_read_as(stored, type))
    throw program_error(label(t) + " has elements of type " + name_of(stored) + ", asked as " + name_of(type));
  int found = program().home[t];
  if (found >= 0 && valid_[static_cast<std::size_t>(program().value[found].storage)]) return found;
  found = -1;
  for (int v = 0; v < program().value.size; ++v) {
    const program_value& one = program().value[v];
    if (one.tensor != t || !valid_[static_cast<std::size_t>(one.storage)]) continue;
    if (found < 0 || (is_partial(program().value[found].layout) && !is_partial(one.layout))) found = v;
  }
  if (found < 0)
    throw program_error(label(t) +
                        " has no value: nothing has written it, or its memory was used again; keep it "
                        "by program_options::keep, or keeping_value of a step");
  return found;
}

template <class World, class T>
std::string program_values<World, T>::label(int t) const {
  return std::string(name_of(program().graph.tensor[t].kind)) + " \"" + program().graph.name_of_tensor(t) + "\"";
}

template <class World, class T>
void program_values<World, T>::set_home(int t, data_type type, const void* whole, std::size_t elements) {
  const int home = program().home[t];
  if (home < 0) throw program_error(label(t) + " is read by no step and has no place");
  const data_type stored = program().graph.tensor[t].type;
  if (stored != type && !is_read_as(stored, type))
    throw program_error(label(t) + " has elements of type " + name_of(stored) + ", given " + name_of(type));
  if (elements != count(t))
    throw program_error(label(t) + " has " + std::to_string(count(t)) + " elements, given " + std::to_string(elements));
  if (is_partial(program().value[home].layout)) throw program_error(label(t) + " is a sum of terms and cannot be set");
  if (type == data_type::i32) check_indices(t, static_cast<const std::int32_t*>(whole));
  const bool fed = fed_ >= 0 && program().unrolled && program().graph.tensor[t].kind == graph_tensor_kind::input;
  const auto scatter = [&](const std::byte* elements_stored) {
    detail::visit_homes(program(), t, [&](int v) {
      if (fed && v != home + fed_) return;
      memory_->scatter(v, elements_stored);
      if (sums_ != nullptr) sums_->take(v);
      valid(program().value[v].storage) = true;
    });
  };
  if (stored == type) {
    scatter(static_cast<const std::byte*>(whole));
  } else {  // rounded once
    std::vector<std::byte> narrow(elements * static_cast<std::size_t>(bytes_of(stored)));
    detail::visit_float(stored, [&]<class Storage>(std::type_identity<Storage>) {
      for (std::size_t e = 0; e < elements; ++e)
        reinterpret_cast<Storage*>(narrow.data())[e] = kernels::store<Storage>(static_cast<const T*>(whole)[e]);
    });
    scatter(narrow.data());
  }
}

template <class World, class T>
T program_values<World, T>::sum_of_losses() const {
  const sharded_program& p = program();
  const int loss = p.graph.loss;
  if (!p.unrolled) return get(loss).front();
  std::vector<int> value(static_cast<std::size_t>(p.graph.micro_batches), -1);  // whole ones rather than terms
  for (const program_step& s : p.step)
    detail::visit_values(p, s, [&](int v, bool written) {
      int& own = value[static_cast<std::size_t>(s.micro_batch)];
      if (written && p.value[v].tensor == loss && (own < 0 || !is_partial(p.value[v].layout))) own = v;
    });
  T sum = 0, one = 0;
  for (const int v : value) {
    self().read(loss, [&] { return v; }, &one);
    sum += one;
  }
  return sum;
}

template <class World, class T>
void program_values<World, T>::check_number_of(std::int64_t step) {
  if (step < 1) throw program_error("training step " + std::to_string(step) + ": steps count from 1");
}

template <class World, class T>
void program_values<World, T>::check_training_step(std::int64_t step) const {
  if (training_.code != graph_code::ok)
    throw program_error("steps of this graph would not train it: " + text_of_refusal(program().graph, training_));
  check_number_of(step);
}

template <class World, class T>
std::string program_values<World, T>::place_text(const shape& s, extent_t element) {
  std::string text;
  for (int d = s.rank - 1; d >= 0; element /= s.extent[d--])
    text = std::to_string(element % s.extent[d]) + (text.empty() ? "" : ", ") + text;
  return "[" + text + "]";
}

template <class World, class T>
void program_values<World, T>::check_indices(int t, const std::int32_t* whole) const {
  const index_range& r = index_range_[static_cast<std::size_t>(t)];
  for (std::size_t i = 0; i < count(t); ++i)
    if (!r.has(whole[i]))
      throw program_error(label(t) + " is " + std::to_string(whole[i]) + " at " +
                          place_text(program().graph.tensor[t].shape, static_cast<extent_t>(i)) + ", expected " +
                          (r.or_negative ? "at most " : "0 to ") + std::to_string(r.limit - 1) +
                          (r.or_negative ? ", or a negative number for no label" : "") + " (read by operator \"" +
                          program().graph.name_of_op(r.op) + "\")");
}

template <class World, class T>
void program_values<World, T>::refuse_to_read(int value) const {
  const int t = program().value[value].tensor;
  throw program_error(label(t) + (program().home[t] == value ? " was not set" : " has no value yet"));
}

}}  // namespace hyperparallel::v0_2
