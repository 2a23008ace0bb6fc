// SPDX-License-Identifier: Apache-2.0
#pragma once
// An array that grows: the storage of values whose size only their construction tells, graphs and programs.
//
// It lives inside one constant evaluation as it does at run time: what such an evaluation keeps must be copied into
// arrays of fixed size before it ends (transient allocation, C++20 [expr.const]). Hot loops read the public pointer.
// Laws: elements [0, size) are constructed and keep their order; a copy is deep; growing doubles, so n elements that are
// pushed, or added by `resize` one after the other, move fewer than 2n, and none at all after `reserve(n)`. A first
// `resize` and `reserve` take no more room than they are asked for.

namespace hyperparallel { inline namespace v0_2 {

template <class T>
class growing_array {
 public:
  T* item = nullptr;
  int size = 0;

  constexpr growing_array() = default;
  /// So many elements that are `value`.
  constexpr explicit growing_array(int count, const T& value = T{}) { resize(count, value); }
  constexpr growing_array(const growing_array& other) { assign(other); }
  constexpr growing_array(growing_array&& other) noexcept
      : item(other.item), size(other.size), capacity_(other.capacity_) {
    other.forget();
  }
  constexpr growing_array& operator=(const growing_array& other) {
    if (this == &other) return *this;
    size = 0;
    assign(other);
    return *this;
  }
  constexpr growing_array& operator=(growing_array&& other) noexcept {
    if (this == &other) return *this;
    delete[] item;
    item = other.item;
    size = other.size;
    capacity_ = other.capacity_;
    other.forget();
    return *this;
  }
  constexpr ~growing_array() { delete[] item; }

  constexpr T& operator[](int i) { return item[i]; }
  constexpr const T& operator[](int i) const { return item[i]; }
  constexpr T* begin() { return item; }
  constexpr T* end() { return item + size; }
  constexpr const T* begin() const { return item; }
  constexpr const T* end() const { return item + size; }
  constexpr bool empty() const { return size == 0; }
  /// How many elements fit before it grows.
  constexpr int capacity() const { return capacity_; }
  constexpr T& last() { return item[size - 1]; }
  constexpr const T& last() const { return item[size - 1]; }

  /// Appends and returns the place of the new element. References into the array end when it grows.
  constexpr int push(const T& value) {
    if (size == capacity_) {
      const T kept = value;  // `value` may lie in the array
      reserve(capacity_ < 8 ? 8 : 2 * capacity_);
      item[size] = kept;
    } else {
      item[size] = value;
    }
    return size++;
  }
  /// Room for `count` elements in all.
  constexpr void reserve(int count) {
    if (count <= capacity_) return;
    T* const larger_one = allocate(static_cast<decltype(sizeof(T))>(count));
    for (int i = 0; i < size; ++i) larger_one[i] = static_cast<T&&>(item[i]);
    take(larger_one, count);
  }
  /// `count` elements; new ones are `value`, those beyond `count` are gone.
  constexpr void resize(int count, const T& value = T{}) {
    if (count > capacity_) reserve(count < 2 * capacity_ ? 2 * capacity_ : count);
    for (int i = size; i < count; ++i) item[i] = value;
    size = count;
  }
  constexpr void clear() { size = 0; }

  friend constexpr bool operator==(const growing_array& a, const growing_array& b) {
    if (a.size != b.size) return false;
    for (int i = 0; i < a.size; ++i)
      if (!(a.item[i] == b.item[i])) return false;
    return true;
  }

 private:
  // Numbers stay without a value until they are pushed: giving each one costs a constant evaluation as much as a push.
  static constexpr T* allocate(decltype(sizeof(T)) count) {
    if constexpr (__is_trivial(T))
      return new T[count];
    else
      return new T[count]{};
  }
  constexpr void take(T* room, int count) {
    delete[] item;
    item = room;
    capacity_ = count;
  }
  /// In place of nothing, or of elements that are not needed any more.
  constexpr void assign(const growing_array& other) {
    if (other.size > capacity_) take(allocate(static_cast<decltype(sizeof(T))>(other.size)), other.size);
    for (int i = 0; i < other.size; ++i) item[i] = other.item[i];
    size = other.size;
  }
  constexpr void forget() {
    item = nullptr;
    size = capacity_ = 0;
  }

  int capacity_ = 0;
};

}}  // namespace hyperparallel::v0_2
