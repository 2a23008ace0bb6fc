// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a call that is refused says.

#include <exception>
#include <string>

namespace tested {

/// The text of the `Error` that `call` throws, "no error" where it throws none. Other exceptions pass.
template <class Error = std::exception, class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace tested
