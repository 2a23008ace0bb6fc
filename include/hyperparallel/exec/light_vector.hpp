// SPDX-License-Identifier: Apache-2.0
#pragma once
// A row of elements that grows: what std::vector is to a private member or a local of a body, at a fifth of what it costs a
// compiler. Each std::vector<X> of which a body grows a copy takes g++ 30 ms of everybody who includes the header.
//
// It has the part of std::vector's interface that such bodies use, under the same names. What a user reads or writes stays
// a std::vector.
// Laws: elements [0, size) are constructed and keep their order; a copy is deep; growing doubles, so n elements that are
// pushed move fewer than 2n. An element may be pushed into the row that holds it. Moves of elements do not throw.

#include <cstddef>
#include <initializer_list>
#include <new>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

template <class T>
class light_vector {
 public:
  light_vector() = default;
  explicit light_vector(std::size_t count) { resize(count); }
  light_vector(std::size_t count, const T& value) { resize(count, value); }
  light_vector(std::initializer_list<T> values) {
    reserve(values.size());
    for (const T& x : values) add(x);
  }
  light_vector(const light_vector& other) {
    reserve(other.size_);
    for (const T& x : other) add(x);
  }
  light_vector(light_vector&& other) noexcept : item_(other.item_), size_(other.size_), capacity_(other.capacity_) {
    other.forget();
  }
  light_vector& operator=(light_vector other) noexcept {
    release();
    item_ = other.item_;
    size_ = other.size_;
    capacity_ = other.capacity_;
    other.forget();
    return *this;
  }
  ~light_vector() { release(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return item_; }
  const T* data() const { return item_; }
  T* begin() { return item_; }
  T* end() { return item_ + size_; }
  const T* begin() const { return item_; }
  const T* end() const { return item_ + size_; }
  T& operator[](std::size_t i) { return item_[i]; }
  const T& operator[](std::size_t i) const { return item_[i]; }
  const T& front() const { return item_[0]; }
  T& back() { return item_[size_ - 1]; }
  const T& back() const { return item_[size_ - 1]; }

  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(static_cast<T&&>(value)); }
  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    if (size_ < capacity_) return add(static_cast<Arguments&&>(arguments)...);
    T made(static_cast<Arguments&&>(arguments)...);  // an argument may lie in the row
    reserve(capacity_ < 4 ? 4 : 2 * capacity_);
    return add(static_cast<T&&>(made));
  }
  void pop_back() { shrink(size_ - 1); }
  void insert(T* before, const T& value) {
    std::size_t i = static_cast<std::size_t>(before - item_);
    for (emplace_back(value); i < size_ - 1; ++i) {
      T last = static_cast<T&&>(back());
      back() = static_cast<T&&>(item_[i]);
      item_[i] = static_cast<T&&>(last);
    }
  }
  /// Room for `count` elements in all.
  void reserve(std::size_t count) {
    if (count <= capacity_) return;
    light_vector larger;
    larger.item_ = static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t{alignof(T)}));
    larger.capacity_ = count;
    for (T& x : *this) larger.add(static_cast<T&&>(x));
    *this = static_cast<light_vector&&>(larger);
  }
  void resize(std::size_t count) {
    shrink(count);
    reserve(count);
    while (size_ < count) add();
  }
  /// `value` lies outside the row.
  void resize(std::size_t count, const T& value) {
    shrink(count);
    reserve(count);
    while (size_ < count) add(value);
  }
  void clear() noexcept { shrink(0); }
  /// A copy of [first, end), which lies outside the row.
  void assign(const T* first, const T* end) {
    clear();
    reserve(static_cast<std::size_t>(end - first));
    while (first != end) add(*first++);
  }

 private:
  template <class... Arguments>
  T& add(Arguments&&... arguments) {
    T* const made = ::new (static_cast<void*>(item_ + size_)) T(static_cast<Arguments&&>(arguments)...);
    ++size_;
    return *made;
  }
  void release() noexcept {
    shrink(0);
    ::operator delete(static_cast<void*>(item_), std::align_val_t{alignof(T)});
  }
  void shrink(std::size_t count) noexcept {
    while (size_ > count) item_[--size_].~T();
  }
  void forget() noexcept {
    item_ = nullptr;
    size_ = capacity_ = 0;
  }

  T* item_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}}}  // namespace hyperparallel::v0_2::detail
