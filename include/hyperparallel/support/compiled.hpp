// SPDX-License-Identifier: Apache-2.0
#pragma once
// Header-only or compiled: where the bodies of functions are.
//
// Header-only is the default. With HYPERPARALLEL_COMPILED, which the CMake target hyperparallel::compiled sets, headers
// declare and the static library defines: a unit that includes them compiles neither run time nor planners again.
//
//   <header>.ipp           bodies that belong to <header>.hpp, each behind HYPERPARALLEL_BODY. Header-only, the header
//                          includes it at its end; compiled, a unit of src/ does.
//   HYPERPARALLEL_JSON_BODY  the same for bodies that need nlohmann-json: the library has them where that was found when
//                          it was built (HYPERPARALLEL_COMPILED_JSON), and the header includes them everywhere else.
//   HYPERPARALLEL_TWIN(f)  first line of a constexpr function that is also called at run time: such a call goes to f,
//                          the same function in the library; constant evaluation goes on with the next line.
//
// Law: all units of a program are compiled in one mode. Both give the same bits.

#ifdef HYPERPARALLEL_COMPILED
#define HYPERPARALLEL_BODY
#define HYPERPARALLEL_TWIN(...) \
  if (!__builtin_is_constant_evaluated()) return __VA_ARGS__
#else
#define HYPERPARALLEL_BODY inline
#define HYPERPARALLEL_TWIN(...) static_cast<void>(0)
#endif

#ifdef HYPERPARALLEL_COMPILED_JSON
#define HYPERPARALLEL_JSON_BODY
#else
#define HYPERPARALLEL_JSON_BODY inline
#endif

namespace hyperparallel { inline namespace v0_2 {

/// Whether this unit takes the bodies from the library.
#ifdef HYPERPARALLEL_COMPILED
inline constexpr bool is_compiled = true;
#else
inline constexpr bool is_compiled = false;
#endif

}}  // namespace hyperparallel::v0_2
