// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pointer that owns one object on the heap, whose type may be incomplete everywhere but where it is made.
//
//   detail::owned<state> state_;                       // in a class of a header that only declares `state`
//   state_ = detail::make_owned<state>(arguments…);    // in its body, where `state` is defined
//
// It takes the place of std::unique_ptr in classes that front headers declare: <memory> costs a compiler a fifth of
// <regex>, streams and all.
// Laws: what makes the object also says how it is destroyed; an object is destroyed once, by its last owner, unless it is
// released; moved from, an owner has nothing. No owner is copied.

namespace hyperparallel { inline namespace v0_2 { namespace detail {

template <class T>
class owned {
 public:
  owned() = default;
  owned(T* object, void (*destroy)(T*) noexcept) : object_(object), destroy_(destroy) {}
  owned(owned&& other) noexcept : object_(other.release()), destroy_(other.destroy_) {}
  owned& operator=(owned&& other) noexcept {
    if (this == &other) return *this;
    reset();
    destroy_ = other.destroy_;
    object_ = other.release();
    return *this;
  }
  ~owned() { reset(); }

  T* get() const { return object_; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

  void reset() noexcept {
    if (T* const object = release()) destroy_(object);
  }
  /// The object, which nothing owns from here on.
  T* release() noexcept {
    T* const object = object_;
    object_ = nullptr;
    return object;
  }

 private:
  T* object_ = nullptr;
  void (*destroy_)(T*) noexcept = nullptr;
};

/// Of an array whose elements began as T{}. It does not know how many there are.
template <class T>
class owned<T[]> : public owned<T> {
 public:
  using owned<T>::owned;
  T& operator[](decltype(sizeof(T)) i) const { return this->get()[i]; }
};

template <class T, class... Arguments>
owned<T> make_owned(Arguments&&... arguments) {
  return {new T(static_cast<Arguments&&>(arguments)...), [](T* object) noexcept { delete object; }};
}
template <class T>
owned<T[]> make_owned_array(decltype(sizeof(T)) count) {
  return {new T[count]{}, [](T* first) noexcept { delete[] first; }};
}

}}}  // namespace hyperparallel::v0_2::detail
