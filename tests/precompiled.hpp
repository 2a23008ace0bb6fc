// SPDX-License-Identifier: Apache-2.0
// What nearly every test includes and nobody here writes: compiled once (tests/unit.cmake). Nothing of the library is
// among it, so that a changed header builds what includes it and no more.
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
